"""Argo CD: the chart values inside an Application or ApplicationSet, as a mapping, a text, or single parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters import charts, kubernetes
from gpulint.adapters.charts import values as chart
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects import embedded as nested
from gpulint.adapters.objects import synthetic as tree
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("argoproj.io",)

KINDS = frozenset({("argoproj.io", "Application"), ("argoproj.io", "ApplicationSet")})
SPECS: tuple[Path, ...] = (("spec",), ("spec", "template", "spec"))
STEP = re.compile(r"(?P<name>(?:\\.|[^.\[\]\\])+)|\[(?P<index>\d{1,4})\]|\.")
"""One step of a parameter's name: `worker.env[0].value`, where `\\.` is a dot of the name."""
Steps = tuple[str | int, ...]


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """What the charts make of the values that the sources hold."""
    for source in _sources(document):
        values = _values(document, source)
        if values is not None:
            for workload in charts.workloads(values, repository, _chart(document, source)):
                name = _release(document, source) if workload.name == chart.folder(document) else ""
                yield replace(workload, name=name or workload.name, adapter="argo_cd", document=document, path=source)


def _release(document: Document, source: Path) -> str:
    """The name under which the chart is installed: the Application's own, unless it states another."""
    paths: tuple[Path, ...] = ((*source, "helm", "releaseName"), ("metadata", "name"))
    return next((text for path in paths if isinstance(text := document.get(path), str)), "")


def _sources(document: Document) -> Iterator[Path]:
    for spec in SPECS:
        if isinstance(document.get((*spec, "source")), dict):
            yield (*spec, "source")
        listed = document.get((*spec, "sources"))
        for at in range(len(listed) if isinstance(listed, list) else 0):
            yield (*spec, "sources", at)


def _chart(document: Document, source: Path) -> str:
    """The name of the chart, or of the folder that holds it."""
    texts = (document.get((*source, key)) for key in ("chart", "path"))
    return next((text for text in texts if isinstance(text, str)), "").rstrip("/").rpartition("/")[2]


def _values(document: Document, source: Path) -> Values | None:
    """The mapping, else the text, with the parameters on top, as Argo CD's `helm` has them."""
    helm = (*source, "helm")
    root: Node | None = None
    if isinstance(document.get((*helm, "valuesObject")), dict):
        root = document.node((*helm, "valuesObject"))
    elif (inner := nested.document(document, (*helm, "values"))) is not None and isinstance(inner.data, dict):
        root = inner.root
    at = tree.place(document, helm)
    for steps, key, value in _parameters(document, helm):
        root = _set(root, steps, key, value, at)
    return Values(tree.document(document, root, at)) if root is not None else None


def _parameters(document: Document, helm: Path) -> Iterator[tuple[Steps, Node, Node]]:
    """Each parameter: the path that its name is, and its value as `--set` would read it."""
    listed = document.get((*helm, "parameters"))
    for at, parameter in enumerate(listed if isinstance(listed, list) else ()):
        path = (*helm, "parameters", at)
        key, value = document.node((*path, "name")), document.node((*path, "value"))
        steps = _steps(str(parameter.get("name"))) if isinstance(parameter, dict) else ()
        if steps and key is not None and value is not None and value.kind == "scalar":
            plain = document.get((*path, "forceString")) is not True
            yield steps, key, _typed(value) if plain else value


def _steps(name: str) -> Steps:
    found: list[str | int] = []
    for step in STEP.finditer(name):
        if step["index"] is not None:
            found.append(int(step["index"]))
        elif step["name"]:
            found.append(re.sub(r"\\(.)", r"\1", step["name"]))
    return tuple(found)


def _typed(value: Node) -> Node:
    """The text between the quotes, read as a number or a switch where it is one."""
    inside = 1 if value.style in ("'", '"') else 0
    return Node("scalar", value.start + inside, value.end - inside, value.value, "" if value.value else value.style)


def _set(root: Node | None, steps: Steps, key: Node, value: Node, at: Node) -> Node:
    """A tree with a value put at a path; what stood there before is replaced, what is missing is made."""
    if not steps:
        return value
    step, *rest = steps
    if isinstance(step, int):
        items = list(root.value) if root is not None and root.kind == "sequence" else []
        items += [tree.written(None, at)] * (step + 1 - len(items)) if step < len(items) + 100 else []
        if step < len(items):
            items[step] = _set(items[step], tuple(rest), key, value, at)
        return Node("sequence", at.start, at.end, items)
    pairs = list(root.value) if root is not None and root.kind == "mapping" else []
    before = next((item for name, item in pairs if name.value == step), None)
    changed = _set(before, tuple(rest), key, value, at)
    kept = [(name, item) for name, item in pairs if name.value != step]
    return Node("mapping", at.start, at.end, [*kept, (tree.word(step, key), changed)])
