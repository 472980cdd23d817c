"""The workloads of a report as a table that fits the terminal, and what was assumed about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpulint.report import verdicts
from gpulint.report.escaping import count, safe
from gpulint.report.formats import suggestion_lines, totals
from gpulint.report.formats.terminal_layout import lay_out, wrap
from gpulint.report.formats.terminal_view import View
from gpulint.report.model import Aim, RoleSummary, WorkloadSummary

COLUMNS = ("workload", "architecture", "accelerator", "parallelism", "verdict", "headroom", "cost")
OPTIONAL = ("cost", "parallelism", "headroom", "architecture", "accelerator")
"""The columns that may be left out, in this order."""
ROLES_MAX = 12
"""A report with more roles lists only those that need a decision, up to this number, unless asked for all."""
Rows = Sequence[tuple[WorkloadSummary, RoleSummary]]


def render_workloads(workloads: Sequence[WorkloadSummary], view: View) -> Iterator[str]:
    """Yield the table and, if it lists all workloads, the notes on them, each as one block of lines."""
    every = [(workload, role) for workload in workloads for role in workload.roles]
    if not every:
        return
    listed = every if view.everything else _select(every)
    lines = [*_table(listed, view)] if listed else []
    if left := len(every) - len(listed):
        lines.append(f"{'and ' if listed else ''}{_describe_rest(every, listed, left)} (--all lists them)")
    yield "\n".join(lines)
    notes = [] if left else [*_notes(listed), *_prices(listed)]
    if notes:
        yield "\n".join(view.paint_numbers(part) for line in notes for part in wrap(line, view.width))


def _select(every: Rows) -> Rows:
    """Return the roles that need a decision, the failing ones first; all of a short list."""
    if len(every) <= ROLES_MAX:
        return every
    return [
        (workload, role)
        for outcome in verdicts.DECISIONS
        for workload, role in every
        if verdicts.sort_verdict(role.verdict) == outcome
    ][:ROLES_MAX]


def _describe_rest(every: Rows, listed: Rows, left: int) -> str:
    """Return how many roles are not listed, and how many of them need a decision."""
    decisions = sum(verdicts.sort_verdict(role.verdict) in verdicts.DECISIONS for _, role in every)
    open_ones = decisions - sum(verdicts.sort_verdict(role.verdict) in verdicts.DECISIONS for _, role in listed)
    noun = count(left, "role")
    return f"{noun} more, {open_ones} of which need a decision" if open_ones else f"{noun} that need no decision"


def _table(listed: Rows, view: View) -> Iterator[str]:
    """Yield aligned rows, grouped by path if there are several files."""
    has_several_files = len({workload.location.path for workload, _ in listed}) > 1
    indent = "  " if has_several_files else ""
    table = lay_out(COLUMNS, [_row(*pair) for pair in listed], view.width - len(indent), OPTIONAL)
    yield from (view.paint(indent + line, "1") for line in table.head)
    last = ""
    for (workload, role), lines in zip(listed, table.rows, strict=True):
        if has_several_files and workload.location.path != last:
            last = workload.location.path
            yield view.paint_place(f"{safe(last)}:", workload.location)
        style = totals.STYLES.get(verdicts.sort_verdict(role.verdict), "")
        yield from (indent + _paint_row(line, role, style, view) for line in lines)
    if table.left_out:
        yield f"left out at this width: {', '.join(table.left_out)} (in --format json)"


def _paint_row(line: str, role: RoleSummary, style: str, view: View) -> str:
    """Return a row with its verdict in colour."""
    if not view.colour or not style or safe(role.verdict) not in line:
        return view.paint_numbers(line)
    before, verdict, after = line.rpartition(safe(role.verdict))
    return view.paint_numbers(before) + view.paint(verdict, style) + view.paint_numbers(after)


def _row(workload: WorkloadSummary, role: RoleSummary) -> tuple[str, ...]:
    name = workload.name if len(workload.roles) == 1 else f"{workload.name}/{role.name}"
    cells = (name, role.architecture, role.accelerator, role.parallelism, role.verdict, role.headroom, role.cost)
    return tuple(map(safe, cells))


# ---- notes


def _notes(listed: Rows) -> Iterator[str]:
    """Yield the objectives of each role, what its work costs, and the hardware that fits."""
    for workload, role in listed:
        for objective in role.objectives:
            yield f"{safe(workload.name)}: {_objective(objective)}"
        if role.cost_of_work:
            yield f"{safe(workload.name)}: {role.cost_of_work}"
        hardware = suggestion_lines.render_hardware(role.fits_on, role.borderline, role.too_small, role.smallest)
        yield from (f"{safe(workload.name)} {text}" for text in hardware)


def _prices(listed: Rows) -> Iterator[str]:
    """Yield the sources, regions and ages of the prices."""
    if sources := dict.fromkeys(role.prices for _, role in listed if role.prices):
        yield f"cost at {safe(', '.join(sources))}"


def _objective(aim: Aim) -> str:
    """Return an objective with its expected and best value, or the facts needed to evaluate it."""
    target = f"{aim.objective} target {aim.wanted}"
    best = f", best case {aim.at_best}" if aim.at_best else ""
    if not aim.expected:
        return f"{target}{best}: not evaluated, state {', '.join(aim.needs)}"
    return f"{target}, expected {aim.expected}{best}: {aim.verdict}"


def list_assumptions(workloads: Iterable[WorkloadSummary], most: int) -> Iterator[str]:
    """Yield what was assumed, the most common first, up to a number of lines; 0: all."""
    owners: dict[str, dict[str, None]] = {}
    for workload in workloads:
        for role in workload.roles:
            for assumption in role.assumptions:
                owners.setdefault(assumption, {})[workload.name] = None
    ranked = sorted(owners, key=lambda assumption: -len(owners[assumption]))
    shown = ranked if not most or len(ranked) <= most else ranked[: most - 1]
    for assumption in shown:
        name, *others = owners[assumption]
        further = f" and {len(others)} more" if others else ""
        yield f"assumed for {safe(name)}{further}: {safe(assumption)}"
    if left := len(ranked) - len(shown):
        yield f"{count(left, 'assumption')}{' more' if shown else ''} (--all lists them)"
