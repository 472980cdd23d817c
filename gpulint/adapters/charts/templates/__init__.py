"""Templates: the objects that a chart of the repository creates from its values, as `helm template` would write them.

Charts are evaluated as data, with bounds; nothing is started. Each file of values has its own objects: the chart's values
by themselves, and every further file over them. An object is located at the values that decide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import adapters
from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.templates import chart as charts
from gpulint.adapters.charts.templates import rendered, value
from gpulint.adapters.charts.templates.chart import Chart
from gpulint.adapters.charts.templates.evaluation import Evaluator, LimitExceeded, NotInstallable
from gpulint.adapters.charts.templates.rendered import RenderedFile
from gpulint.adapters.charts.templates.value import Value
from gpulint.source import excess
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Role, Workload

NOTES = "NOTES.txt"


class Rendering(NamedTuple):
    """The files of a chart as rendered, and the names of the subcharts that the repository does not have.

    `is_complete` is False if a template could not be read, so that objects may be missing.
    """

    files: tuple[RenderedFile, ...]
    missing: tuple[Path, ...]
    is_complete: bool


def find_workloads(document: Document, folder: str, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of a file of values that lies in the chart in a folder.

    Subcharts that the repository does not have, and charts that cannot be rendered, are read by the shape of their values.
    """
    from gpulint.adapters import charts as known_charts

    values = charts_values.Values(document)
    if not _fits(document, folder, repository):
        yield from known_charts.workloads(values, repository)
        return
    own = charts.find_values(folder, repository)
    default: Rendering | None = None
    if own is not None and own.path == document.path:
        rendering = render(folder, repository, own=document)
        if not decides_defaults(document, repository):
            return
    else:
        rendering = render(folder, repository, (value.read(document),))
        default = render(folder, repository)
    found = list(workloads(rendering, document, (), repository, default)) if rendering else []
    yield from found
    for workload in known_charts.workloads(values, repository):
        if rendering is None or (not found and not rendering.is_complete) or workload.path[:1] in rendering.missing:
            yield workload


def render(
    folder: str, repository: Repository, over: Sequence[Value] = (), own: Document | None = None, release: str = ""
) -> Rendering | None:
    """Return what the chart in a folder renders to with values over its own; None if it cannot be rendered."""
    chart = charts.load(folder, repository, own)
    if chart is None or not (chart.templates or chart.subcharts):
        return None
    try:
        files = tuple(_render_files(chart, over, repository, release or charts.RELEASE))
    except NotInstallable:
        files = ()
    except LimitExceeded as limit:
        excess.note(str(limit))
        return None
    named = {str(entry.get("name")) for entry in charts.list_dependencies(chart.description, folder, repository)}
    missing = named - {inner.name for _, inner in chart.subcharts}
    return Rendering(files, tuple((name,) for name in sorted(missing)), not any(file.is_broken for file in files))


def _render_files(chart: Chart, over: Sequence[Value], repository: Repository, release: str) -> Iterator[RenderedFile]:
    instances = charts.install(chart, over, repository)
    defined: dict[str, tuple[object, ...]] = {}
    for instance in reversed(instances):
        for text in instance.chart.templates.values():
            if (template := charts.parse(text)) is not None:
                defined |= template.defined
    evaluator = Evaluator(defined)
    for instance in instances:
        context = charts.build_context(instance, release)
        for path, text in instance.chart.templates.items():
            if path.rsplit("/", 1)[-1].startswith("_") or path.endswith((NOTES, ".tpl")):
                continue
            template = charts.parse(text)
            written = evaluator.render(template.nodes, context) if template else ()
            file = rendered.assemble(path, text, instance.chart.folder, written)
            yield file if template else file._replace(is_broken=True)


def _fits(document: Document, folder: str, repository: Repository) -> bool:
    """Return whether a file below the folder of a chart has a key that the chart's own values or templates know."""
    chart = charts.load(folder, repository)
    if chart is None or not isinstance(document.data, dict):
        return False
    known = {*chart.values.entries, "global", *(name for name, _ in chart.subcharts)}
    known |= {str(entry.get("name")) for entry in charts.list_dependencies(chart.description, folder, repository)}
    templates = "\n".join(chart.templates.values())
    return any(str(key) in known or f".Values.{key}" in templates for key in document.data)


def workloads(
    rendering: Rendering, owner: Document, path: Path, repository: Repository, unless: Rendering | None = None
) -> Iterator[Workload]:
    """Yield the workloads of rendered objects that take GPUs, as those of the document that decides them.

    An object that another rendering has as well is left out.
    """
    every = tuple(document for file in rendering.files for document in file.documents)
    known = [document.data for file in unless.files for document in file.documents] if unless else []
    for file in rendering.files:
        for document in file.documents:
            if not isinstance(document.data, dict) or document.data in known:
                continue
            if rendered.is_dynamic(file, document):
                document.beside = every
                yield from _read(file, document, owner, path, repository)


def _read(
    file: RenderedFile, document: Document, owner: Document, path: Path, repository: Repository
) -> Iterator[Workload]:
    gaps = list(dict.fromkeys(rendered.find_gaps(file, document)))
    for read in adapters.read(document, repository):
        if not any(map(_concerns_gpus, read.roles)):
            continue
        reason = f"nothing in the repository decides {gaps[0]}" if gaps else ""
        workload = charts_values.open_workload(read, reason) if reason else read
        roles = tuple(rendered.relocate(charts_values.explain_unknowns(role), file, owner) for role in workload.roles)
        roles = tuple(_name_model(role, owner) for role in roles)
        anchor = next((role.anchor for role in roles if role.anchor.document is owner), None)
        where = anchor.path if anchor is not None else path
        yield replace(workload, adapter="helm_values", document=owner, path=where, roles=roles)


def _name_model(role: Role, owner: Document) -> Role:
    """Return the role of an engine with the model that the values beside its settings name, if its arguments name none."""
    from gpulint.adapters.charts import generic

    if not role.text("engine") or role.fields.get("checkpoint") is not None or role.anchor.document is not owner:
        return role
    named = generic.find_model([charts_values.Values(owner, role.anchor.path)])
    return role.having(checkpoint=named) if named else role


def _concerns_gpus(role: Role) -> bool:
    gpus = role.fields.get("gpus_per_pod")
    return gpus is not None and gpus.value not in (0, None) and bool(gpus.origins or role.text("accelerator_resource"))


def decides_defaults(document: Document, repository: Repository) -> bool:
    """Return whether the objects of a chart's defaults are those of this file of values.

    They are those of the outermost chart's values, if these concern GPUs, else those of the subchart's.
    """
    folder = charts.find_folder(document.path, repository)
    return folder is not None and _find_owner(folder, repository) == document.path


def find_template_workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads that a template renders to by default, if no file of values owns them."""
    folder = charts.find_folder(document.path, repository)
    if folder is None or _find_owner(folder, repository) is not None:
        return
    rendering = render(folder, repository)
    if rendering is not None:
        own = tuple(file for file in rendering.files if file.path == document.path)
        yield from workloads(rendering._replace(files=own), document, (), repository)


def _find_owner(folder: str, repository: Repository) -> str | None:
    """Return the file of values that owns the objects of a chart's defaults."""
    parent = charts.find_parent(folder, repository)
    above = _find_owner(parent, repository) if parent is not None else None
    if above is not None:
        return above
    own = charts.find_values(folder, repository)
    return own.path if own is not None and adapters.mentions_gpus(own.text) else None
