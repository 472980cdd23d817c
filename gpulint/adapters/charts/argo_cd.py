"""Argo CD: the chart values in an Application or ApplicationSet.

They are a mapping, a text, or single parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters import charts, kubernetes
from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import embedded, synthetic
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("argoproj.io",)
TRIGGERS = ()

KINDS = frozenset({("argoproj.io", "Application"), ("argoproj.io", "ApplicationSet")})
SPECS: tuple[Path, ...] = (("spec",), ("spec", "template", "spec"))
STEP = re.compile(r"(?P<name>(?:\\.|[^.\[\]\\])+)|\[(?P<index>\d{1,4})\]|\.")
r"""One step of a parameter's name, as in `worker.env[0].value`; `\\.` is a dot in a name."""
Steps = tuple[str | int, ...]


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads that the charts create from the values of the sources."""
    for source in _find_sources(document):
        values = _read_values(document, source)
        if values is not None:
            for workload in charts.workloads(values, repository, _name_chart(document, source)):
                name = _name_release(document, source) if workload.name == charts_values.folder(document) else ""
                yield replace(workload, name=name or workload.name, adapter="argo_cd", document=document, path=source)


def _name_release(document: Document, source: Path) -> str:
    """Return the release name of the chart: the stated one, else the Application's own."""
    paths: tuple[Path, ...] = ((*source, "helm", "releaseName"), ("metadata", "name"))
    return next((text for path in paths if isinstance(text := document.get(path), str)), "")


def _find_sources(document: Document) -> Iterator[Path]:
    for spec in SPECS:
        if isinstance(document.get((*spec, "source")), dict):
            yield (*spec, "source")
        listed = document.get((*spec, "sources"))
        for at in range(len(listed) if isinstance(listed, list) else 0):
            yield (*spec, "sources", at)


def _name_chart(document: Document, source: Path) -> str:
    """Return the name of the chart, or of its folder."""
    texts = (document.get((*source, key)) for key in ("chart", "path"))
    return next((text for text in texts if isinstance(text, str)), "").rstrip("/").rpartition("/")[2]


def _read_values(document: Document, source: Path) -> Values | None:
    """Return the mapping, else the text, with the parameters on top, as Argo CD's `helm` does."""
    helm = (*source, "helm")
    root: Node | None = None
    if isinstance(document.get((*helm, "valuesObject")), dict):
        root = document.node((*helm, "valuesObject"))
    elif (inner := embedded.document(document, (*helm, "values"))) is not None and isinstance(inner.data, dict):
        root = inner.root
    at = synthetic.place(document, helm)
    for steps, key, value in _read_parameters(document, helm):
        root = _insert(root, steps, key, value, at)
    return Values(synthetic.document(document, root, at)) if root is not None else None


def _read_parameters(document: Document, helm: Path) -> Iterator[tuple[Steps, Node, Node]]:
    """Yield each parameter: the path in its name, and its value as `--set` would read it."""
    listed = document.get((*helm, "parameters"))
    for at, parameter in enumerate(listed if isinstance(listed, list) else ()):
        path = (*helm, "parameters", at)
        key, value = document.node((*path, "name")), document.node((*path, "value"))
        steps = _parse_steps(str(parameter.get("name"))) if isinstance(parameter, dict) else ()
        if steps and key is not None and value is not None and value.kind == "scalar":
            plain = document.get((*path, "forceString")) is not True
            yield steps, key, _strip_quotes(value) if plain else value


def _parse_steps(name: str) -> Steps:
    steps: list[str | int] = []
    for step in STEP.finditer(name):
        if step["index"] is not None:
            steps.append(int(step["index"]))
        elif step["name"]:
            steps.append(re.sub(r"\\(.)", r"\1", step["name"]))
    return tuple(steps)


def _strip_quotes(value: Node) -> Node:
    """Return the text between the quotes, to be read as a number or boolean if it is one."""
    inside = 1 if value.style in ("'", '"') else 0
    return Node("scalar", value.start + inside, value.end - inside, value.value, "" if value.value else value.style)


def _insert(root: Node | None, steps: Steps, key: Node, value: Node, at: Node) -> Node:
    """Return a tree with a value at a path.

    An earlier value is replaced, and missing parents are created.
    """
    if not steps:
        return value
    step, *rest = steps
    if isinstance(step, int):
        items = list(root.value) if root is not None and root.kind == "sequence" else []
        items += [synthetic.build_node(None, at)] * (step + 1 - len(items)) if step < len(items) + 100 else []
        if step < len(items):
            items[step] = _insert(items[step], tuple(rest), key, value, at)
        return Node("sequence", at.start, at.end, items)
    pairs = list(root.value) if root is not None and root.kind == "mapping" else []
    before = next((item for name, item in pairs if name.value == step), None)
    changed = _insert(before, tuple(rest), key, value, at)
    kept = [(name, item) for name, item in pairs if name.value != step]
    return Node("mapping", at.start, at.end, [*kept, (synthetic.word(step, key), changed)])
