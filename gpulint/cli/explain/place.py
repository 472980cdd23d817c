"""Explain a line of a file: its findings or its workload, with inputs, basis, formulas, sources and the smallest change."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.cli import fact_search
from gpulint.cli.explain.parts import Code, Explanation, Listing, Part, Table, Text, make_sentence, render_reference
from gpulint.facts import basis
from gpulint.facts.formulas import find_formulas, list_parameters
from gpulint.facts.glossary import glossary
from gpulint.pipeline import evaluate, run
from gpulint.pipeline.session import Session
from gpulint.policy.rules import memory_verdict
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report import verdicts
from gpulint.report.escaping import safe
from gpulint.report.formats import finding_lines, suggestion_lines
from gpulint.report.formats.terminal_view import View
from gpulint.report.model import Finding, Location, Report, RoleSummary, WorkloadSummary
from gpulint.source.repository import Source

DEPTH = 2
"""The steps of a computation that are listed for a finding. A workload has its steps among its facts."""
VIEW = View(width=108)
SOURCE = re.compile(r"^Source: (.*?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)


class Place(NamedTuple):
    """A line of a file."""

    path: str
    line: int


def read_place(name: str) -> Place | None:
    """Return the line that FILE:LINE or FILE:LINE:COLUMN names; None for any other name."""
    match = re.fullmatch(r"(?P<path>.+?):(?P<line>\d+)(?::\d+)?", name)
    return Place(match["path"], int(match["line"])) if match else None


def explain(place: Place, session: Session) -> Iterator[Explanation]:
    """Yield the explanation of each finding at a line, else that of the workload around it."""
    sources = [entry for entry in run.find_sources(session, (place.path,)) if isinstance(entry, Source)]
    report = run.check_files(session, sources)
    roles = [role for source in sources for role in evaluate.file(source, session.tree, session.given).roles]
    findings = [finding for finding in report.open if _covers(finding, place.line)]
    for finding in findings:
        facts = _find_role(roles, finding.workload, finding.role)
        yield _explain_finding(finding, facts, _find_summary(report, finding.workload, finding.role))
    if not findings and (around := _find_around(report, place.line)) is not None:
        workload, summary = around
        yield _explain_role(workload, summary, _find_role(roles, workload.name, summary.name))


def _covers(finding: Finding, line: int) -> bool:
    places = (finding.location, *(related.location for related in finding.related))
    return any(_is_at(place, line) for place in places if place.path == finding.location.path)


def _is_at(place: Location, line: int) -> bool:
    return place.line <= line <= max(place.line, place.end_line)


def _find_role(roles: Iterable[EvaluatedRole], workload: str, role: str) -> EvaluatedRole | None:
    return next((entry for entry in roles if entry.owner == (workload, role)), None)


def _find_summary(report: Report, workload: str, role: str) -> RoleSummary | None:
    found = (entry for known in report.workloads if known.name == workload for entry in known.roles)
    return next((entry for entry in found if entry.name == role), None)


def _find_around(report: Report, line: int) -> tuple[WorkloadSummary, RoleSummary] | None:
    """Return the last workload that begins at or above a line, with its first role."""
    above = [workload for workload in report.workloads if workload.roles and workload.location.line <= line]
    last = max(above, key=lambda workload: workload.location.line, default=None)
    return (last, last.roles[0]) if last else None


# ---- what is shown


def _explain_finding(finding: Finding, role: EvaluatedRole | None, summary: RoleSummary | None) -> Explanation:
    where = f"{safe(finding.location.path)}:{finding.location.line}"
    parts: list[Part] = [Code("The finding", "\n".join(finding_lines.render_full((finding,), VIEW, explained=True)))]
    parts += _list_computation(role, [fact.name for fact in finding.facts], DEPTH)
    parts += _describe_change(finding, summary)
    marks = (("", where), ("rule", render_reference("rule", finding.rule)))
    return Explanation(where, "line", make_sentence(safe(finding.message)), marks, tuple(parts))


def _explain_role(workload: WorkloadSummary, summary: RoleSummary, role: EvaluatedRole | None) -> Explanation:
    where = f"{safe(workload.location.path)}:{workload.location.line}"
    name = safe(finding_lines.name_owner(workload.name, summary.name))
    parts = [*_list_computation(role, [fact.name for fact in summary.facts], 1), *_describe_margin(summary, role)]
    parts += _describe_open(summary)
    words = make_sentence(f"{name}: {safe(summary.verdict)}")
    return Explanation(where, "line", words, (("", f"workload {name}"),), tuple(parts))


def _list_computation(role: EvaluatedRole | None, names: Sequence[str], depth: int) -> Iterator[Part]:
    """Yield the inputs with their basis, and the formulas with their sources."""
    if role is None or not names:
        return
    every = [*_expand(role, names, depth)]
    values = fact_search.find_values(role, [glossary()[name] for name in every]).facts
    known = [fact for fact in values if fact.scenarios is not None and fact.how != fact_search.UNSTATED]
    known = [fact for fact in known if fact.printed != units.human(None, "")]
    formulas = {name: formula for name in every if (formula := _find_formula(role, name)) is not None}
    bases = {entry.fact: entry.basis for entry in basis.list_known(role.facts, [fact.quantity.name for fact in known])}
    rows = tuple(
        (
            fact.quantity.name,
            fact.printed,
            bases.get(fact.quantity.name, "computed"),
            safe(_describe_source(fact, formulas)),
        )
        for fact in known
    )
    yield Table("Inputs", ("fact", "value", "basis", "source"), rows)
    shown = {name: formula for name, formula in formulas.items() if any(fact.quantity.name == name for fact in known)}
    if shown:
        yield Listing("Formulas", tuple(_describe_formula(name, formula) for name, formula in shown.items()))
    if missing := [fact for fact in values if fact.scenarios is None]:
        needs = dict.fromkeys(need for fact in missing for need in fact.needs)
        yield Text(f"Missing: {', '.join(needs)}.")


def _describe_source(fact: fact_search.FactValue, formulas: dict[str, Callable[..., object]]) -> str:
    """Return the source of a value; empty if a formula computes it, which is listed below the table."""
    return "" if fact.quantity.name in formulas and "." in fact.how and " " not in fact.how else fact.how


def _expand(role: EvaluatedRole, names: Iterable[str], depth: int) -> Iterator[str]:
    """Yield facts and what they are computed from, each once, the nearest first."""
    seen: dict[str, None] = {}
    level = [name for name in names if name in glossary()]
    for _ in range(depth):
        seen |= dict.fromkeys(level)
        formulas = filter(None, (_find_formula(role, name) for name in level))
        level = [name for formula in formulas for name in list_parameters(formula) if name not in seen]
        level = [name for name in dict.fromkeys(level) if name in glossary()]
    yield from seen


def _find_formula(role: EvaluatedRole, name: str) -> Callable[..., object] | None:
    """Return the formula of a fact: that of the role's engine, else the general one; None if a file declares the fact."""
    field = role.facts.role.fields.get(name)
    if field is not None and field.origins:
        return None
    engine = role.facts.role.text("engine")
    own = find_formulas(engine) if engine else {}
    return own.get(name) or find_formulas(None).get(name)


def _describe_formula(name: str, formula: Callable[..., object]) -> str:
    """Return what a formula computes, its equation and its source."""
    document = inspect.cleandoc(formula.__doc__ or "")
    equation = next((part for part in document.split("\n\n")[1:2] if "=" in part), "")
    source = SOURCE.search(document)
    parts = (
        " ".join(document.split("\n\n")[0].split()),
        " ".join(equation.split()),
        f"source: {' '.join(source[1].split())}" if source else "",
    )
    return f"{name}: {'; '.join(part.rstrip('.') for part in parts if part)}"


# ---- what would change the verdict


def _describe_change(finding: Finding, summary: RoleSummary | None) -> Iterator[Part]:
    """Yield the first suggestion: the smallest change after which the finding is gone."""
    for suggestion in finding.suggestions[:1]:
        edits = (suggestion_lines.render_edit(edit, finding.location) for edit in suggestion.edits)
        yield Listing(
            "Smallest change after which the finding is gone",
            (suggestion_lines.render_suggestion(suggestion), *edits),
        )
    if not finding.suggestions:
        yield Text("No change of one or two values passes the same rules.")
    if summary is not None:
        yield from _describe_open(summary)


def _describe_margin(summary: RoleSummary, role: EvaluatedRole | None) -> Iterator[Part]:
    """Yield by how much the memory that a fitting role needs may grow."""
    if role is None or verdicts.sort_verdict(summary.verdict) != verdicts.FIT:
        return
    name = memory_verdict.list_headroom_facts(role.facts)[0]
    ends = role.facts.ends(name)
    least = min(map(memory_verdict.to_number, ends)) if ends else 0.0
    if least > 0:
        amount = units.human(least, glossary()[name].unit)
        yield Text(f"The verdict changes once a GPU needs {amount} more, in the worst case of {name}.")


def _describe_open(summary: RoleSummary) -> Iterator[Part]:
    """Yield what the verdict depends on, and the hardware that a role needs."""
    for decision in summary.open:
        fitting = f"; fits with {', '.join(decision.fits_with)}" if decision.fits_with else ""
        yield Text(
            make_sentence(
                f"Open: {safe(decision.name)}, which {safe(decision.decider)} settles "
                f"({', '.join(map(safe, decision.members))}){fitting}; {safe(decision.source)}"
            )
        )
    if summary.smallest:
        yield Listing("Smallest hardware that fits", tuple(suggestion_lines.render_fits(summary.smallest)))
