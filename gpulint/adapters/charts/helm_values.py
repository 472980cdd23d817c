"""Helm values: of charts known by their values' shape, and of other charts with GPU blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = (":",)
TRIGGERS = ()
READS = ("plain",)

NAMED = re.compile(
    r"(?:^|/)(?:[\w.-]*[-_.])?values(?:[-_.][\w.-]*)?\.[a-z0-9.]+$|(?:^|/)(?:helm[-_])?values/[^/]+$", re.IGNORECASE
)
FOREIGN = frozenset(
    {
        *("services", "mig-configs", "jobs", "on", "spec", "containers", "steps", "stages", "workflow", "pipeline"),
        *("cluster_name", "available_node_types", "blueprint_name", "deployment_groups", "model_name", "trt_llm"),
        *("run", "setup", "type", "compute_config", "base_model", "trainer", "_component_", "distributed_type"),
        *("fleet", "machine", "tasks"),
    }
)
"""Top-level keys of other formats.

They belong to compose, CI, Ray's and other launchers' files, Truss, SkyPilot, dstack and trainers.
"""
ALWAYS_FOREIGN = frozenset({"services", "mig-configs", "jobs", "tasks"})
OF_OBJECTS = frozenset({"metadata", "spec"})
SCENARIO = frozenset({"common", "model", "decode", "prefill", "modelservice", "standalone", "vllmCommon", "router"})
BENCHMARK = "llm-d-benchmark scenario"


def claims(document: Document) -> bool:
    data = document.data
    if document.format not in ("yaml", "json") or not isinstance(data, dict):
        return False
    if "apiVersion" in data or ALWAYS_FOREIGN & data.keys() or not _may_be_values(document, data):
        return False
    return _is_scenario(data) or bool(NAMED.search(document.path)) or _has_values(document, data)


def kind(document: Document) -> str:
    data = document.data
    return BENCHMARK if isinstance(data, dict) and _is_scenario(data) else "Helm values"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    from gpulint.adapters import charts  # objects of Kubernetes, which come here first, need none of them

    if kind(document) != BENCHMARK:
        yield from charts.workloads(charts.Values(document), repository)


def problems(document: Document) -> Iterator[Problem]:
    from gpulint.adapters import charts

    yield from charts.problems(charts.Values(document))


def _may_be_values(document: Document, data: dict[str, object]) -> bool:
    """Return whether a document may be values.

    Values may have a `kind` if the file is named as values; any other file with one is an object.
    """
    return "kind" not in data or (bool(NAMED.search(document.path)) and not OF_OBJECTS & data.keys())


def _has_values(document: Document, data: dict[str, object]) -> bool:
    """Return whether a file has values of a known chart, or blocks that request GPUs."""
    from gpulint.adapters import charts
    from gpulint.adapters.charts import generic

    values = charts.Values(document)
    return bool(charts.sections(values)) or (not FOREIGN & data.keys() and generic.fits(values))


def _is_scenario(data: dict[str, object]) -> bool:
    """Return whether a file is a scenario of llm-d-benchmark.

    That is a list of stacks whose values it renders itself.
    """
    listed = data.get("scenario")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return any(SCENARIO & entry.keys() for entry in entries)
