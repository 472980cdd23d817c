"""The charts of the repository: their values, templates and subcharts, read as data."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.charts.templates import syntax, value
from gpulint.adapters.charts.templates.value import UNKNOWN, Value
from gpulint.source import excess
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Origin

DESCRIPTIONS = ("Chart.yaml", "Chart.yml")
VALUES = ("values.yaml", "values.yml")
TEMPLATES_MAX, BYTES_MAX, CHARTS_MAX, NESTED_MAX = 300, 3_000_000, 60, 4
RELEASE = "release-name"
"""The name of a release that nothing states, as `helm template` has it."""
KUBERNETES = "v1.33.0"
"""The release of Kubernetes that templates ask about; it decides API versions only (kubernetes.io/releases, 2025-04-23)."""
LOCAL = "file://"


class Chart(NamedTuple):
    """A chart: its folder and description, its own values, its templates by path, and its subcharts by name."""

    folder: str
    description: Document
    values: Value
    templates: Mapping[str, str]
    subcharts: tuple[tuple[str, Chart], ...]

    @property
    def name(self) -> str:
        """The name that Chart.yaml states."""
        return str(self.description.get(("name",)))


class Instance(NamedTuple):
    """A chart with the values that it is installed with."""

    chart: Chart
    values: Value


def find_folder(path: str, repository: Repository) -> str | None:
    """Return the folder of the chart that a file lies in; None if it lies in none."""
    folder = posixpath.dirname(path)
    for _ in range(posixpath.normpath(path).count("/") + 1):
        if find_description(folder, repository):
            return folder
        if folder in ("", "/", "."):
            return None
        folder = posixpath.dirname(folder)
    return None


def find_description(folder: str, repository: Repository) -> str | None:
    """Return the path of the Chart.yaml in a folder."""
    paths = (posixpath.join(folder, name) for name in DESCRIPTIONS)
    return next((path for path in paths if repository.exists(path)), None)


def find_parent(folder: str, repository: Repository) -> str | None:
    """Return the folder of the chart that has the one in a folder as a subchart in its `charts`."""
    above = posixpath.dirname(folder)
    if posixpath.basename(above) != "charts":
        return None
    parent = posixpath.dirname(above)
    return parent if find_description(parent, repository) else None


def find_values(folder: str, repository: Repository) -> Document | None:
    """Return the chart's own values."""
    for name in VALUES:
        path = posixpath.join(folder, name)
        found = repository.read_documents(path) if repository.exists(path) else ()
        if len(found) == 1 and isinstance(found[0].data, dict):
            return found[0]
    return None


def load(folder: str, repository: Repository, own: Document | None = None, depth: int = NESTED_MAX) -> Chart | None:
    """Return the chart in a folder, with a document instead of its values if one is given; None if it is none."""
    path = find_description(folder, repository)
    described = repository.read_documents(path) if path else ()
    if len(described) != 1 or not isinstance(described[0].get(("name",)), str):
        return None
    stated = own or find_values(folder, repository)
    return Chart(
        folder,
        described[0],
        value.read(stated) if stated is not None else Value({}),
        dict(_read_templates(folder, repository)),
        tuple(_load_subcharts(folder, described[0], repository, depth - 1)) if depth > 0 else (),
    )


def _read_templates(folder: str, repository: Repository) -> Iterator[tuple[str, str]]:
    size = 0
    for number, path in enumerate(sorted(repository.list_files(posixpath.join(folder, "templates")))):
        if excess.is_over(number + 1, TEMPLATES_MAX, "a chart has more than {} templates"):
            return
        if "/tests/" in path or not path.endswith((".yaml", ".yml", ".tpl", ".txt")):
            continue
        content = repository.read(path) or b""
        size += len(content)
        if excess.is_over(size, BYTES_MAX, "a chart has more than {} bytes of templates"):
            return
        yield path, content.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _load_subcharts(
    folder: str, description: Document, repository: Repository, depth: int
) -> Iterator[tuple[str, Chart]]:
    """Yield the subcharts that the repository has, each by the name that its values are under."""
    dependencies = list_dependencies(description, folder, repository)
    for number, (name, place) in enumerate(_find_subcharts(folder, dependencies, repository)):
        if excess.is_over(number + 1, CHARTS_MAX, "a chart has more than {} subcharts"):
            return
        chart = load(place, repository, depth=depth)
        if chart is not None:
            listed = [entry for entry in dependencies if entry.get("name") == chart.name]
            aliases = [str(entry.get("alias") or chart.name) for entry in listed]
            for alias in aliases or [name]:
                yield alias, chart


def _find_subcharts(
    folder: str, dependencies: Sequence[Mapping[str, object]], repository: Repository
) -> Iterator[tuple[str, str]]:
    base = posixpath.join(folder, "charts")
    found = {}
    for path in repository.list_files(base):
        parts = posixpath.relpath(path, base).split("/")
        if len(parts) == 2 and parts[1] in DESCRIPTIONS:
            found[parts[0]] = posixpath.dirname(path)
    for entry in dependencies:
        name, place = str(entry.get("name")), str(entry.get("repository") or "")
        if place.startswith(LOCAL) and name not in found:
            found[name] = posixpath.normpath(posixpath.join(folder, place.removeprefix(LOCAL)))
    yield from sorted(found.items())


def list_dependencies(description: Document, folder: str, repository: Repository) -> list[Mapping[str, object]]:
    """Return the dependencies that Chart.yaml, or requirements.yaml of older charts, lists."""
    path = posixpath.join(folder, "requirements.yaml")
    further = repository.read_documents(path) if repository.exists(path) else ()
    listed = [document.get(("dependencies",)) for document in (description, *further)]
    return [entry for entries in listed if isinstance(entries, list) for entry in entries if isinstance(entry, dict)]


def install(chart: Chart, over: Sequence[Value], repository: Repository) -> list[Instance]:
    """Return the chart and its enabled subcharts with their values, the given ones merged over their own."""
    values = functools.reduce(value.merge, over, chart.values)
    return list(_install(chart, value.copy(values), repository))


def _install(chart: Chart, values: Value, repository: Repository) -> Iterator[Instance]:
    dependencies = list_dependencies(chart.description, chart.folder, repository)
    inner = []
    for name, subchart in chart.subcharts:
        if not _is_enabled(name, subchart, dependencies, values):
            continue
        given = values.entries.get(name, Value({}))
        merged = value.merge(subchart.values, given) if isinstance(given.data, dict) else subchart.values
        shared = value.merge(merged.entries.get("global", Value({})), values.entries.get("global", Value({})))
        scoped = Value({**merged.entries, "global": shared}, merged.origin)
        values.entries[name] = scoped
        inner.append((subchart, scoped))
    values.entries.setdefault("global", Value({}))
    yield Instance(chart, values)
    for subchart, scoped in inner:
        yield from _install(subchart, scoped, repository)


def _is_enabled(name: str, chart: Chart, dependencies: Sequence[Mapping[str, object]], values: Value) -> bool:
    """Return whether the condition, else the tags, of a dependency hold."""
    listed = [entry for entry in dependencies if name in (entry.get("alias"), entry.get("name"), chart.name)]
    for entry in listed:
        for path in str(entry.get("condition") or "").split(","):
            found = values
            for key in path.strip().split("."):
                found = found.entries.get(key, Value())
            if isinstance(found.data, bool):
                return found.data
        tags = entry.get("tags")
        stated = values.entries.get("tags", Value({})).entries
        switches = {stated[str(tag)].data for tag in (tags if isinstance(tags, list) else ()) if str(tag) in stated}
        if False in switches and True not in switches:
            return False
    return True


def build_context(instance: Instance, release: str) -> Value:
    """Return what a template gets: values, and the built-in objects as `helm template` has them."""
    description = instance.chart.description
    data = description.data if isinstance(description.data, dict) else {}
    described = {
        key[:1].upper() + key[1:]: value.build(inner, Origin(description, (key,))) for key, inner in data.items()
    }
    numbers = KUBERNETES.lstrip("v").split(".")
    version = {"Version": KUBERNETES, "GitVersion": KUBERNETES, "Major": numbers[0], "Minor": numbers[1]}
    return value.mapping(
        {
            "Values": instance.values,
            "Chart": Value(described),
            "Release": {
                "Name": release,
                "Namespace": "default",
                "Service": "Helm",
                "IsInstall": True,
                "IsUpgrade": False,
                "Revision": 1,
            },
            "Capabilities": value.mapping({"KubeVersion": version, "APIVersions": UNKNOWN}),
            "Template": {"BasePath": f"{instance.chart.name}/templates", "Name": f"{instance.chart.name}/templates"},
            "Files": UNKNOWN,
            "Subcharts": UNKNOWN,
        }
    )


@functools.lru_cache(maxsize=256)
def parse(text: str) -> syntax.Template | None:
    """Return a template; None if it cannot be parsed."""
    try:
        return syntax.parse(text)
    except (syntax.SyntaxProblem, RecursionError):
        return None
