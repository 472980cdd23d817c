"""Helm values: of charts known by their values' shape, and of other charts with GPU blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = (":",)
TRIGGERS = ()
READS = ("plain",)
CLAIMS = ("guess",)

NAMED = re.compile(
    r"(?:^|/)(?:[\w.-]*[-_.])?values(?:[-_.][\w.-]*)?\.[a-z0-9]+$|(?:^|/)(?:helm[-_])?values/[^/]+$", re.IGNORECASE
)
OF_OBJECTS = frozenset({"metadata", "spec"})
SCENARIO = frozenset({"common", "model", "decode", "prefill", "modelservice", "standalone", "vllmCommon", "router"})
BENCHMARK = "llm-d-benchmark scenario"


def claims(document: Document) -> Claim:
    """Claim a file of values by its name or its content.

    It is a guess: a chart decides the keys of its values.
    """
    data = document.data
    if document.format not in ("yaml", "json") or not isinstance(data, dict):
        return Claim.NONE
    if "apiVersion" in data or not _may_be_values(document, data):
        return Claim.NONE
    found = _is_scenario(data) or NAMED.search(document.path) or _has_values(document)
    return Claim.GUESS.where(found)


def kind(document: Document) -> str:
    data = document.data
    return BENCHMARK if isinstance(data, dict) and _is_scenario(data) else "Helm values"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    from gpulint.adapters import charts  # objects of Kubernetes, which come here first, need none of them

    if kind(document) != BENCHMARK:
        yield from charts.find_workloads(document, repository)


def problems(document: Document) -> Iterator[Problem]:
    from gpulint.adapters import charts

    yield from charts.problems(charts.Values(document))


def _may_be_values(document: Document, data: dict[str, object]) -> bool:
    """Return whether a document may be values.

    Values may have a `kind` if the file is named as values; any other file with one is an object.
    """
    return "kind" not in data or (bool(NAMED.search(document.path)) and not OF_OBJECTS & data.keys())


def _has_values(document: Document) -> bool:
    """Return whether a file has values of a known chart, or blocks that request GPUs."""
    from gpulint.adapters import charts
    from gpulint.adapters.charts import generic

    values = charts.Values(document)
    return bool(charts.sections(values)) or generic.fits(values)


def _is_scenario(data: dict[str, object]) -> bool:
    """Return whether a file is a scenario of llm-d-benchmark.

    That is a list of stacks whose values it renders itself.
    """
    listed = data.get("scenario")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return any(SCENARIO & entry.keys() for entry in entries)
