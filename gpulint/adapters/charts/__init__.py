"""Charts: which chart values are of, by their shape, and what it makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from gpulint.adapters.charts import (
    app_template,
    generic,
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
from gpulint.adapters.charts.values import Values
from gpulint.source.documents import Problem
from gpulint.source.repository import Repository
from gpulint.workload import Workload

__all__ = ["Values", "problems", "sections", "workloads"]

KNOWN: tuple[ModuleType, ...] = (
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
Section = tuple[Values, ModuleType]


def workloads(values: Values, repository: Repository, name: str = "") -> Iterator[Workload]:
    """The workloads of values, of a chart of that name: of its known parts, and of what else asks for GPUs."""
    if name in platform.NAMES:
        return
    known = sections(values)
    for section, chart in known:
        yield from chart.workloads(section, repository)
    paths = [section.path for section, _ in known]
    for block in generic.blocks(values):
        if not any(block.path[: len(path)] == path for path in paths):
            yield from generic.workloads(values, block, repository)


def problems(values: Values) -> Iterator[Problem]:
    """What is wrong with values of a chart whose templates are known."""
    for section, chart in sections(values):
        yield from getattr(chart, "problems", _none)(section)


def sections(values: Values) -> list[Section]:
    """The values as a whole where they are of a known chart, else those of its sub-charts, which stand under their names.

    What is built on app-template's library may hold sub-charts beside controllers of its own.
    """
    whole = _chart(values)
    if whole is not None and whole is not app_template:
        return [(values, whole)]
    inner = [values.below(key) for key, part in values.entries().items() if isinstance(part, dict)]
    used = [section for section in inner if section.get("enabled") is not False]
    found = [(section, part) for section in used if (part := _chart(section))]
    parts = [(section, part) for section, part in found if part is not platform]
    return [(values, whole), *parts] if whole is not None else parts


def _chart(values: Values) -> ModuleType | None:
    return next((chart for chart in KNOWN if chart.fits(values)), None)


def _none(values: Values) -> Iterator[Problem]:
    yield from ()
