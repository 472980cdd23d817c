"""Group findings that say the same about several components of a facility."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpulint.report.escaping import safe
from gpulint.report.model import FacilitySummary, Finding

NAMED = 3
"""The number of further components that are named."""


def group(findings: Iterable[Finding], facilities: Iterable[FacilitySummary]) -> list[list[Finding]]:
    """Group the findings that say the same about several components of a facility."""
    named = {(facility.location.path, facility.name) for facility in facilities}
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        is_component = (finding.location.path, finding.workload) in named
        groups.setdefault(_identity(finding) if is_component else id(finding), []).append(finding)
    return list(groups.values())


def _identity(finding: Finding) -> tuple[object, ...]:
    """Return what a finding says, without the component's name."""
    return finding.workload, finding.rule, finding.severity, finding.confidence, finding.location.path, finding.nameless


def render_others(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line about further findings that say the same."""
    if findings:
        named = [f"{safe(finding.role)} ({finding.location.line})" for finding in findings[:NAMED]]
        further = f" and {len(findings) - NAMED} more" if len(findings) > NAMED else ""
        yield f"  the same in {', '.join(named)}{further}"
