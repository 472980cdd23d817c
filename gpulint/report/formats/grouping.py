"""Alike: what is said of several parts of a facility in the same words, told once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpulint.report.formats.escaping import safe
from gpulint.report.model import FacilitySummary, Finding

NAMED = 3
"""So many of the others are named."""


def together(findings: Iterable[Finding], facilities: Iterable[FacilitySummary]) -> list[list[Finding]]:
    """Findings, those together that say the same of several parts of a facility."""
    named = {(one.location.path, one.name) for one in facilities}
    told: dict[object, list[Finding]] = {}
    for one in findings:
        of_part = (one.location.path, one.workload) in named
        told.setdefault(_same(one) if of_part else id(one), []).append(one)
    return list(told.values())


def _same(one: Finding) -> tuple[object, ...]:
    """What is said, without the names of whom it is said."""
    return one.workload, one.rule, one.severity, one.confidence, one.location.path, one.nameless


def others(findings: Sequence[Finding]) -> Iterator[str]:
    """A line about the further findings that say the same."""
    if findings:
        told = [f"{safe(one.role)} ({one.location.line})" for one in findings[:NAMED]]
        further = f" and {len(findings) - NAMED} more" if len(findings) > NAMED else ""
        yield f"  the same in {', '.join(told)}{further}"
