"""The closing lines of a report: totals, and what was skipped or not evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gpulint import units
from gpulint.report.escaping import count, safe
from gpulint.report.model import (
    Comparison,
    FacilitySummary,
    Report,
    RoleSummary,
    Severity,
    Skip,
    Spent,
    WorkloadSummary,
)
from gpulint.report.report import STATING_GPUS, SUSPICIOUS
from gpulint.report.verdicts import NOT_EVALUATED

NAMED_MAX = 8
NAMED_COMPONENTS_MAX = 2
"""The same limit for the components of a facility, which are many and alike."""
FOREIGN = frozenset({"own program", "image default"})
"""Who decides the network of a program that gpulint does not know."""


def render_line(report: Report) -> str:
    """Return the numbers of files, workloads and findings on one line."""
    parts = [count(report.files, "file"), count(len(report.workloads), "workload"), count_findings(report)]
    return ", ".join([*parts, *_count_suppressed(report)])


def _count_suppressed(report: Report) -> Iterator[str]:
    """Yield the numbers of suppressed findings by reason, or what --no-ignores reveals."""
    waivers = [finding.suppressed for finding in report.findings if finding.suppressed is not None]
    files = Counter(
        waiver.location.path for waiver in waivers if waiver.kind == "baseline" and waiver.location is not None
    )
    before = sum(waiver.kind == "base" for waiver in waivers)
    if others := len(waivers) - before - files.total():
        yield f"{others} suppressed"
    yield from (f"{number:,} accepted by {safe(path)}" for path, number in sorted(files.items()))
    if before:
        yield f"{before:,} existed before"
    if report.unsilenced:
        yield f"{report.unsilenced:,} of them suppressed without --no-ignores"


def count_findings(report: Report) -> str:
    """Return the numbers of open findings by severity."""
    counts = Counter(finding.severity for finding in report.open)
    return ", ".join(count(counts[level], level.word) for level in reversed(Severity) if counts[level]) or "no findings"


def render_closing(report: Report) -> Iterator[str]:
    """Yield the totals, and what was skipped and why."""
    yield render_line(report)
    yield from render_remarks(report)


def render_remarks(report: Report) -> Iterator[str]:
    """Yield the budgets, the facilities, and what was not checked and why."""
    yield from map(render_budget, report.budgets)
    yield from map(render_facility, select_facilities(report))
    yield from _count_unchecked(report.skipped)
    yield from (f"not written {safe(path)}: {safe(reason)}" for path, reason in report.unwritten)
    yield from render_failures(report)
    roles = [role for workload in select_workloads(report) for role in workload.roles]
    if unknown := sum(not role.engine and not role.part_of for role in roles):
        yield (
            f"{unknown} of {count(len(roles), 'role')} {'runs' if unknown == 1 else 'run'} an engine that gpulint does not know; "
            "only engine-independent rules were applied"
        )


def _count_unchecked(skipped: Sequence[Skip]) -> Iterator[str]:
    """Yield how many files were not checked, by reason, with the places of those that may state GPUs or can fail the gate."""
    paths: dict[str, list[str]] = {}
    for skip in skipped:
        place = f"{skip.path}:{skip.line}" if skip.cause in STATING_GPUS else skip.path
        paths.setdefault(skip.reason, []).append(place)
    named = {skip.reason for skip in skipped if skip.cause in SUSPICIOUS or skip.cause in STATING_GPUS}
    for reason, files in sorted(paths.items()):
        listed = [
            *map(safe, files[:NAMED_MAX]),
            *([f"{len(files) - NAMED_MAX} more"] if len(files) > NAMED_MAX else []),
        ]
        which = f" ({', '.join(listed)})" if reason in named else ""
        yield f"not checked: {len(files)} × {safe(reason)}{which}"


def select_workloads(report: Report) -> Sequence[WorkloadSummary]:
    """Return all workloads, or those that a compared change touches and that the selected rules are about."""
    touched = report.workloads if report.comparison is None else _select_changed(report, report.comparison)
    if not report.narrowed:
        return touched
    found = {(finding.location.path, finding.workload) for finding in report.open}
    return [
        workload
        for workload in touched
        if (workload.location.path, workload.name) in found or any(role.not_evaluated for role in workload.roles)
    ]


def _select_changed(report: Report, comparison: Comparison) -> Sequence[WorkloadSummary]:
    changed = {(change.path, change.kind, change.workload) for change in comparison.changes}
    changed |= {(finding.location.path, "", finding.workload) for finding in report.open}
    return [
        workload
        for workload in report.workloads
        if {
            (workload.location.path, workload.kind, workload.name),
            (workload.location.path, "", workload.name),
        }
        & changed
    ]


def select_known(workloads: Iterable[WorkloadSummary]) -> Iterator[tuple[WorkloadSummary, RoleSummary]]:
    """Yield the roles that run an engine or trainer that gpulint knows; nothing is asked about the others."""
    for workload in workloads:
        for role in workload.roles:
            foreign = any(entry.quantity == "architecture" and entry.category in FOREIGN for entry in role.explained)
            if role.engine and not foreign:
                yield workload, role


def select_facilities(report: Report) -> Sequence[FacilitySummary]:
    """Return all facilities, or those with findings in a comparison."""
    if report.comparison is None:
        return report.facilities
    paths = {finding.location.path for finding in report.open}
    return [facility for facility in report.facilities if facility.location.path in paths]


def render_failures(report: Report) -> Iterator[str]:
    """Yield a line for each internal error."""
    for failure in report.failures:
        yield f"internal error in {safe(failure.path)} while {failure.doing}: {safe(failure.error)}"


def render_budget(spent: Spent) -> str:
    """Return how much of a budget is used, and why the total is incomplete."""
    amount, limit = (units.human(value, spent.unit) for value in (spent.least, spent.limit))
    prefix = "at least " if spent.verdict == NOT_EVALUATED else ""
    reason = f" ({safe(spent.reason)})" if spent.verdict == NOT_EVALUATED else ""
    return f"budget {safe(spent.budget)}: {prefix}{amount.removesuffix(' GPUs')} of {limit}, {spent.verdict}{reason}"


def render_facility(summary: FacilitySummary) -> str:
    """Return the number of racks, and how many exceed a limit or are unknown."""
    from gpulint.report.racks import layout

    servers = sum(rack.servers for rack in summary.racks)
    parts = [count(len(summary.racks), "rack"), count(servers, "server")]
    worst = [layout.find_worst(rack) for rack in summary.racks]
    over = sum(verdict in layout.OVER for verdict in worst)
    expected = sum(verdict.startswith("likely") for verdict in worst)
    parts += [f"{over or 'none'} over a limit"] + ([f"{expected} likely over one"] if expected else [])
    if unknown := worst.count(NOT_EVALUATED):
        parts.append(f"{unknown} unknown")
    areas = Counter(area.kind for area in summary.areas if any(meter.verdict in layout.OVER for meter in area.meters))
    parts += [f"{count(number, kind)} over its own limit" for kind, number in areas.items()]
    return f"facility {safe(summary.name)}: {', '.join(parts)}"


def count_not_evaluated(report: Report) -> str:
    """Return the number of checks that lacked a fact; empty if none did."""
    number = sum(len(role.not_evaluated) for workload in select_workloads(report) for role in workload.roles)
    number += sum(len(check.parts) for facility in select_facilities(report) for check in facility.not_evaluated)
    return f"not evaluated: {count(number, 'check')}" if number else ""


def render_change(comparison: Comparison) -> str:
    """Return what a change adds, how many findings it resolves and how many hints it adds on one line."""
    from gpulint.report.formats import comparison as formats_comparison

    resolved = {"fixed": len(comparison.gone), "no longer evaluated": len(comparison.untold)}
    parts = [f"{count(number, 'finding')} {word}" for word, number in resolved.items() if number]
    parts += [f"{count(len(comparison.hints), 'hint')} added or changed"] if comparison.hints else []
    return ", ".join((f"change from {safe(comparison.base)}: {formats_comparison.render_sentence(comparison)}", *parts))


def render_short(report: Report) -> Iterator[str]:
    """Yield the closing lines, each as a single line."""
    if report.comparison:
        yield render_change(report.comparison)
    yield from render_closing(report)
    if missing := count_not_evaluated(report):
        yield missing


def render_needs(report: Report) -> Iterator[str]:
    """Yield the most needed facts, who needs them, and how to supply them."""
    rules: Counter[str] = Counter()
    owners: dict[str, dict[str, str]] = {}
    for need, owner, why in _list_missing(report):
        rules[need] += 1
        owners.setdefault(need, {})[owner] = why
    if not rules:
        return
    parts = {part for facility in select_facilities(report) for check in facility.not_evaluated for part in check.parts}
    yield f"{count_not_evaluated(report)}{_count_foreign(report) or '; to evaluate them, add'}"
    for need, number in rules.most_common():
        names = [safe(f"{name}, {why}" if why else name) for name, why in owners[need].items()]
        limit = NAMED_COMPONENTS_MAX if owners[need].keys() <= parts else NAMED_MAX
        listed = "; ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
        yield f"  {need} ({count(number, 'check')}: {listed}): {report.asks.get(need, '')}".rstrip(": ")


def _count_foreign(report: Report) -> str:
    """Return how many checks are about programs that gpulint does not know."""
    workloads = select_workloads(report)
    every = sum(len(role.not_evaluated) for workload in workloads for role in workload.roles)
    left = every - sum(len(role.not_evaluated) for _, role in select_known(workloads))
    return f", {left:,} of them of programs that gpulint does not know; to evaluate the others, add" if left else ""


def _list_missing(report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield the fact that each check lacked, its workload, and why the fact is unknown."""
    for workload, role in select_known(select_workloads(report)):
        for check in role.not_evaluated:
            yield from ((need, workload.name, role.unknown.get(need, "")) for need in check.needs)
    for facility in select_facilities(report):
        for lack in facility.not_evaluated:
            yield from ((need, part, "") for part in lack.parts for need in lack.needs)
