"""Findings in the order of a report: the most severe first, and those that say the same together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from gpulint.report.escaping import count, safe
from gpulint.report.model import FacilitySummary, Finding, Location, Severity

NAMED = 3
"""The number of further components that are named."""
PLACES_MAX = 12
"""Further places that are all listed; of more, the first `PLACES_SHOWN` are."""
PLACES_SHOWN = 3
NOTES_MAX = 3
"""Different notes of one rule that are shown; the further ones are counted."""


class Folded(NamedTuple):
    """The notes of one rule that are only counted."""

    rule: str
    findings: Sequence[Finding]


def fold_notes(groups: Sequence[Sequence[Finding]]) -> tuple[list[Sequence[Finding]], list[Folded]]:
    """Split groups into those that are shown, and the notes beyond the first different ones of their rule."""
    shown: list[Sequence[Finding]] = []
    further: dict[str, list[Finding]] = {}
    seen: Counter[str] = Counter()
    for same in groups:
        rule = same[0].rule
        seen[rule] += same[0].severity is Severity.NOTE
        if seen[rule] > NOTES_MAX and same[0].severity is Severity.NOTE:
            further.setdefault(rule, []).extend(same)
        else:
            shown.append(same)
    return shown, [Folded(rule, found) for rule, found in further.items()]


def render_folded(folded: Folded) -> str:
    """Return one line for the notes of a rule that are only counted."""
    files = {finding.location.path for finding in folded.findings}
    number = count(len(folded.findings), "further note")
    return f"note[{folded.rule}]: {number} of this rule in {count(len(files), 'file')} (--all lists them)"


def group(findings: Iterable[Finding], facilities: Iterable[FacilitySummary]) -> list[list[Finding]]:
    """Group the findings that say the same, and those about several components of a facility; the most severe first."""
    named = {(facility.location.path, facility.name) for facility in facilities}
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        is_component = (finding.location.path, finding.workload) in named
        groups.setdefault(_identify_component(finding) if is_component else identify(finding), []).append(finding)
    return sorted(groups.values(), key=lambda same: (-same[0].severity, -same[0].confidence))


def identify(finding: Finding) -> tuple[object, ...]:
    """Return what a finding says, wherever it is."""
    return finding.rule, finding.severity, finding.confidence, finding.message


def _identify_component(finding: Finding) -> tuple[object, ...]:
    """Return what a finding says, without the component's name."""
    return finding.workload, finding.rule, finding.severity, finding.confidence, finding.location.path, finding.nameless


def render_others(findings: Sequence[Finding], first: Finding, everything: bool) -> Iterator[str]:
    """Yield a line about further findings that say the same: their locations, or their components.

    Of many locations only the first are listed, unless `everything` is.
    """
    if not findings:
        return
    if findings[0].message == first.message:
        if len(findings) > PLACES_MAX and not everything:
            shown = _list_places([entry.location for entry in findings[:PLACES_SHOWN]], _folder(first.location))
            files = {entry.location.path for entry in findings}
            total = f"{count(len(findings), 'further place')} in {count(len(files), 'file')}"
            yield f"      also at {total} (--all lists them): {'; '.join(shown)} …"
            return
        yield f"      also {'; '.join(_list_places([entry.location for entry in findings], _folder(first.location)))}"
        return
    named = [f"{safe(finding.role)} ({finding.location.line})" for finding in findings[:NAMED]]
    further = f" and {len(findings) - NAMED} more" if len(findings) > NAMED else ""
    yield f"  the same in {', '.join(named)}{further}"


def _list_places(places: Iterable[Location], folder: str) -> Iterator[str]:
    """Yield each file with its lines; the folder is stated where it changes."""
    for path, same in groupby(places, key=lambda place: place.path):
        lines = dict.fromkeys(str(place.line) for place in same)
        inside = path.rpartition("/")[0] == folder
        folder = path.rpartition("/")[0]
        yield f"{safe(path.rpartition('/')[2] if inside else path)}:{','.join(lines)}"


def _folder(place: Location) -> str:
    return place.path.rpartition("/")[0]
