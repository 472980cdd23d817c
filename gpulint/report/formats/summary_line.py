"""Counts: what a report comes to, line by line, and what was not looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpulint import units
from gpulint.report.formats.escaping import counted, safe
from gpulint.report.model import Comparison, FacilitySummary, Report, Severity, Spent, WorkloadSummary

NAMED = 8
NAMED_PARTS = 2
"""Of a facility, whose parts are many and alike."""
UNTOLD = "cannot tell"


def line(report: Report) -> str:
    """Files, workloads and findings in one line."""
    parts = [counted(report.files, "file"), counted(len(report.workloads), "workload"), found(report)]
    return ", ".join([*parts, *_silenced(report)])


def _silenced(report: Report) -> Iterator[str]:
    """How many findings do not count, by who says so; or how many would not, where nothing is to be ignored."""
    waivers = [one.suppressed for one in report.findings if one.suppressed is not None]
    files = Counter(one.location.path for one in waivers if one.kind == "baseline" and one.location is not None)
    before = sum(one.kind == "base" for one in waivers)
    if others := len(waivers) - before - files.total():
        yield f"{others} suppressed"
    yield from (f"{number:,} accepted by {safe(path)}" for path, number in sorted(files.items()))
    if before:
        yield f"{before:,} stood before"
    if report.unsilenced:
        yield f"{report.unsilenced:,} of them silenced without --no-ignores"


def found(report: Report) -> str:
    """The findings that nothing suppresses, by severity."""
    counts = Counter(finding.severity for finding in report.open)
    return (
        ", ".join(counted(counts[level], level.word) for level in reversed(Severity) if counts[level]) or "no findings"
    )


def closing(report: Report) -> Iterator[str]:
    """The counts, and what was not looked at and why."""
    yield line(report)
    yield from map(budget, report.budgets)
    yield from map(facility, rooms(report))
    for reason, number in sorted(Counter(skip.reason for skip in report.skipped).items()):
        yield f"skipped: {number} × {safe(reason)}"
    yield from faults(report)
    roles = [role for workload in touched(report) for role in workload.roles]
    if unread := sum(not role.engine and not role.part_of for role in roles):
        yield f"no engine that gpulint reads: {unread} of {counted(len(roles), 'role')}; only rules for any program applied"


def touched(report: Report) -> Sequence[WorkloadSummary]:
    """All workloads; of a comparison those that the change touches."""
    if report.comparison is None:
        return report.workloads
    changed = {(one.path, one.kind, one.workload) for one in report.comparison.changes}
    changed |= {(one.location.path, "", one.workload) for one in report.open}
    return [
        one
        for one in report.workloads
        if {(one.location.path, one.kind, one.name), (one.location.path, "", one.name)} & changed
    ]


def rooms(report: Report) -> Sequence[FacilitySummary]:
    """All facilities; of a comparison those in whose files something is found."""
    if report.comparison is None:
        return report.facilities
    paths = {one.location.path for one in report.open}
    return [one for one in report.facilities if one.location.path in paths]


def faults(report: Report) -> Iterator[str]:
    """A line for each fault of ours."""
    for failure in report.failures:
        yield f"internal error in {safe(failure.path)} while {failure.doing}: {safe(failure.error)}"


def budget(one: Spent) -> str:
    """How much of a budget is taken, and why more cannot be told."""
    least, limit = (units.human(amount, one.unit) for amount in (one.least, one.limit))
    known = "at least " if one.verdict == UNTOLD else ""
    why = f" ({safe(one.reason)})" if one.verdict == UNTOLD else ""
    return f"budget {safe(one.budget)}: {known}{least.removesuffix(' GPUs')} of {limit}, {one.verdict}{why}"


def facility(one: FacilitySummary) -> str:
    """How many racks a facility has, and how many of them are over a limit or cannot be told."""
    from gpulint.report.racks import layout as racks

    servers = sum(rack.servers for rack in one.racks)
    parts = [counted(len(one.racks), "rack"), counted(servers, "server")]
    worst = [racks.worst(rack) for rack in one.racks]
    over = sum(verdict in racks.OVER for verdict in worst)
    likely = sum(verdict.startswith("likely") for verdict in worst)
    parts += [f"{over or 'none'} over a limit"] + ([f"{likely} likely over one"] if likely else [])
    if untold := worst.count(UNTOLD):
        parts.append(f"{untold} cannot be told")
    areas = Counter(area.kind for area in one.areas if any(meter.verdict in racks.OVER for meter in area.meters))
    parts += [f"{counted(number, kind)} over a limit of its own" for kind, number in areas.items()]
    return f"facility {safe(one.name)}: {', '.join(parts)}"


def lacking(report: Report) -> str:
    """How many checks lacked a fact; empty where none did."""
    number = sum(len(role.not_evaluated) for workload in touched(report) for role in workload.roles)
    number += sum(len(one.parts) for facility in rooms(report) for one in facility.not_evaluated)
    return f"not evaluated: {counted(number, 'check')}" if number else ""


def change(comparison: Comparison) -> str:
    """What a change adds, and how many findings it ends, in one line."""
    from gpulint.report.formats import comparison as delta

    ended = {"fixed": len(comparison.gone), "no longer told": len(comparison.untold)}
    said = [f"{counted(number, 'finding')} {word}" for word, number in ended.items() if number]
    return ", ".join((f"change from {safe(comparison.base)}: {delta.sentence(comparison)}", *said))


def short(report: Report) -> Iterator[str]:
    """The closing lines where each has to be one."""
    if report.comparison:
        yield change(report.comparison)
    yield from closing(report)
    if missing := lacking(report):
        yield missing


def needs(report: Report) -> Iterator[str]:
    """What was missing most, whom it concerns, and how to supply it."""
    rules: Counter[str] = Counter()
    owners: dict[str, dict[str, str]] = {}
    for need, owner, why in _missing(report):
        rules[need] += 1
        owners.setdefault(need, {})[owner] = why
    if not rules:
        return
    parts = {part for facility in rooms(report) for one in facility.not_evaluated for part in one.parts}
    yield f"{lacking(report)}; to have them, add"
    for need, number in rules.most_common():
        names = [safe(f"{name}, {why}" if why else name) for name, why in owners[need].items()]
        most = NAMED_PARTS if owners[need].keys() <= parts else NAMED
        shown = "; ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
        yield f"  {need} ({counted(number, 'check')}: {shown}): {report.asks.get(need, '')}".rstrip(": ")


def _missing(report: Report) -> Iterator[tuple[str, str, str]]:
    """What each check lacked, of whom, and why it is not known."""
    for workload in touched(report):
        for role in workload.roles:
            for one in role.not_evaluated:
                yield from ((need, workload.name, role.unknown.get(need, "")) for need in one.needs)
    for facility in rooms(report):
        for lack in facility.not_evaluated:
            yield from ((need, part, "") for part in lack.parts for need in lack.needs)
