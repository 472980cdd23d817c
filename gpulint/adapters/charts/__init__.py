"""Charts: identify the chart of a values file by its shape, and build the chart's objects."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType

from gpulint.adapters.charts.values import Values
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Workload

__all__ = ["Values", "find_workloads", "problems", "sections", "workloads"]

Section = tuple[Values, ModuleType]


@functools.cache
def _import_charts() -> tuple[ModuleType, ...]:
    """Import the known charts, in the order in which they are tried: few files are values."""
    from gpulint.adapters.charts import (
        app_template,
        gpu_recipes,
        jupyterhub,
        kubeai,
        modelservice,
        ollama,
        platform,
        production_stack,
        ray_cluster,
        vllm_basic,
    )

    return (
        production_stack,
        modelservice,
        vllm_basic,
        gpu_recipes,
        kubeai,
        ray_cluster,
        ollama,
        jupyterhub,
        app_template,
        platform,
    )


def find_workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of a file of values: of the chart that it lies in, as rendered, else by its shape."""
    from gpulint.adapters.charts.templates import chart as located

    folder = located.find_folder(document.path, repository)
    if folder is None:
        yield from workloads(Values(document), repository)
        return
    from gpulint.adapters.charts import templates

    yield from templates.find_workloads(document, folder, repository)


def workloads(values: Values, repository: Repository, name: str = "") -> Iterator[Workload]:
    """Yield the workloads of values: of known charts, and of other blocks that request GPUs.

    `name` is the name of the chart, if it is stated.
    """
    from gpulint.adapters.charts import generic, platform

    if name in platform.NAMES:
        return
    known_sections = sections(values)
    for section, chart in known_sections:
        yield from chart.workloads(section, repository)
    paths = [section.path for section, _ in known_sections]
    for block in generic.blocks(values):
        if not any(block.path[: len(path)] == path for path in paths):
            yield from generic.workloads(values, block, repository)


def problems(values: Values) -> Iterator[Problem]:
    """Yield the problems of values of a chart whose templates are known."""
    for section, chart in sections(values):
        yield from getattr(chart, "problems", _find_no_problems)(section)


def sections(values: Values) -> list[Section]:
    """Return the values as a whole if a known chart has them, else those of its sub-charts.

    Sub-charts' values are under their names. A chart that uses app-template's library may have
    sub-charts next to controllers of its own.
    """
    from gpulint.adapters.charts import app_template, platform

    whole = _find_chart(values)
    if whole is not None and whole is not app_template:
        return [(values, whole)]
    inner = [values.descend(key) for key, part in values.entries().items() if isinstance(part, dict)]
    used = [section for section in inner if section.get("enabled") is not False]
    charts = [(section, part) for section in used if (part := _find_chart(section))]
    parts = [(section, part) for section, part in charts if part is not platform]
    return [(values, whole), *parts] if whole is not None else parts


def _find_chart(values: Values) -> ModuleType | None:
    return next((chart for chart in _import_charts() if chart.fits(values)), None)


def _find_no_problems(values: Values) -> Iterator[Problem]:
    yield from ()
