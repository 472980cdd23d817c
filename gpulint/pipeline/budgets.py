"""Budgets: what the workloads of a run take together, against the limits of their organisation's
policy.

The sum over known values is a minimum. If it exceeds the budget, that is an error whatever else is
unknown. Below the budget, nothing is reported unless every file was read and every part of the sum
is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facts import resolver
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline.summary import costs
from gpulint.policy.config.governance import Budget, PolicyRequirements
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.identity import BUDGET_PREFIX
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Related, Spent, Subject
from gpulint.report.verdicts import NOT_EVALUATED
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

LARGEST = 5


class Measure(NamedTuple):
    """What a budget limits, as names of facts: the limit, the amount counted and spent, the
    consumers, and the fact of one role.
    """

    limit: str
    counted: str
    spent: str
    consumers: str
    of_role: str


MEASURES = (
    Measure("gpu_budget", "counted_gpus", "spent_gpus", "gpu_consumers", "workload_gpus"),
    Measure(
        *("cost_budget_usd_per_hour", "counted_usd_per_hour", "spent_usd_per_hour", "cost_consumers"),
        "cost_usd_per_hour",
    ),
    Measure("power_budget_w", "counted_w", "spent_w", "power_consumers", "power_w"),
)


class Consumer(NamedTuple):
    """A role that takes GPUs: the location of its count, the minimum of each measure, and the
    missing inputs.
    """

    workload: str
    place: Location
    budgets: tuple[str, ...]
    least: Mapping[str, float]
    needs: Mapping[str, frozenset[str]]


def find_consumers(judged: Sequence[tuple[Workload, Facts]], governance: PolicyRequirements) -> Iterator[Consumer]:
    """Yield the roles of a file that take GPUs.

    Each GPU counts once: roles that run side by side share theirs.
    """
    counted: set[Location] = set()
    for workload, known in judged:
        count = known.role.fields.get("gpus_per_pod")
        if known.role.text("part_of") or known.role.text("device") not in ("", "gpu"):
            continue
        place = (count.origins[0] if count and count.origins else known.role.anchor).location()
        if place not in counted:
            counted.add(place)
            yield _build_consumer(workload, known, place, governance)


def _build_consumer(workload: Workload, known: Facts, place: Location, governance: PolicyRequirements) -> Consumer:
    team = _find_team(known, governance.team_label)
    mine = tuple(budget.place for budget in governance.budgets if team is None or budget.team in ("", team))
    least: dict[str, float] = {}
    needs: dict[str, frozenset[str]] = {}
    for measure in MEASURES:
        found = known.scenarios(measure.of_role)
        if measure.of_role == "cost_usd_per_hour" and not costs.is_placed(known):
            found = Missing(frozenset({"instance_type"}))
        if isinstance(found, Missing):
            needs[measure.counted] = found.names
            least[measure.counted] = count_minimum_gpus(known) if measure.counted == "counted_gpus" else 0.0
        else:
            least[measure.counted] = min(_read_number(value) for value in found)
    if team is None:
        least, needs = {}, dict.fromkeys((measure.counted for measure in MEASURES), frozenset({"labels"}))
    return Consumer(workload.name, place, mine, least, needs)


def _find_team(known: Facts, label: str) -> str | None:
    """Return the team that a workload names, empty if it names none; None if that is unknown."""
    for key in (label, f"gpulint/{label}"):
        for name in ("labels", "annotations"):
            stated = known.expected(name)
            if isinstance(stated, Missing):
                return None
            if isinstance(stated, Mapping) and stated.get(key):
                return stated[key]
    return ""


def count_minimum_gpus(known: Facts) -> float:
    """Return the GPUs of the replicas that always run, if their fixed number is not declared."""
    gpus, least = known.expected("gpus_per_replica"), known.expected("replicas_least")
    whole = known.role.value("mig_profile") is None and known.role.value("sharing") is None
    return _read_number(gpus) * _read_number(least) if whole else 0.0


def _read_number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


# ---- evaluation


def evaluate_budgets(
    budgets: Iterable[Budget], found: Sequence[Consumer], rules: Iterable[Rule], unread: int
) -> tuple[list[tuple[Finding, Facts]], list[Spent]]:
    """Return the findings about exceeded budgets with their facts, and how much of every budget is
    taken.
    """
    about = [rule for rule in rules if rule.target.scope == "repository"]
    findings: list[tuple[Finding, Facts]] = []
    spent: list[Spent] = []
    for budget in budgets:
        mine = [consumer for consumer in found if budget.place in consumer.budgets]
        known = resolver.resolve(_build_role(budget, mine, unread), None)
        outcome = evaluate.evaluate(about, known)
        findings += [(_build_finding(verdict, known, budget, mine), known) for verdict in outcome.verdicts]
        spent += _measure_use(budget, mine, known)
    return findings, spent


def _build_role(budget: Budget, mine: Sequence[Consumer], unread: int) -> Role:
    """Return a budget as a role that declares its limits and what its workloads take."""
    origin = budget.origin or Origin(documents.load("gpulint.yaml", b"{}").documents[0], ())
    fields: dict[str, Field] = {"budget_name": Field(budget.name)}
    for measure, limit in zip(MEASURES, (budget.gpus, budget.usd_per_hour, budget.power_w), strict=True):
        if limit is None:
            continue
        total = sum(consumer.least.get(measure.counted, 0) for consumer in mine)
        fields[measure.limit] = Field(limit, (origin,))
        fields[measure.counted] = Field(total)
        fields[measure.spent] = Field(_explain_minimum(measure, mine, budget.whole, unread) or total)
        fields[measure.consumers] = Field(_list_consumers(measure, mine))
    return Role(budget.name, origin, fields)


def _explain_minimum(measure: Measure, mine: Sequence[Consumer], whole: bool, unread: int) -> Value | Unknown:
    """Return why the sum is only a minimum; None if it is complete."""
    open_ended = [consumer for consumer in mine if measure.counted in consumer.needs]
    if open_ended:
        lacking = sorted(name for consumer in open_ended for name in consumer.needs[measure.counted])[0]
        return Unknown(f"{len(open_ended)} of {len(mine)} workloads could not be counted", lacking=lacking)
    if not whole:
        return Unknown("only part of the repository was checked", lacking="whole_run")
    if not unread:
        return None
    files = "1 file that requests GPUs was" if unread == 1 else f"{unread} files that request GPUs were"
    return Unknown(f"{files} not read", lacking="whole_run")


def _list_consumers(measure: Measure, mine: Sequence[Consumer]) -> str:
    """Return the largest consumers and the remainder in words."""
    unit = glossary()[measure.counted].unit
    ordered = _sort_consumers(measure, mine)
    parts = [
        f"{_render_amount(consumer, measure, unit)} {consumer.workload} ({consumer.place.path})"
        for consumer in ordered[:LARGEST]
    ]
    if beside := ordered[LARGEST:]:
        total = sum(consumer.least[measure.counted] for consumer in beside)
        parts.append(f"{units.human(total, unit)} in {len(beside)} other workload{'s' if len(beside) > 1 else ''}")
    return " + ".join(parts)


def _render_amount(consumer: Consumer, measure: Measure, unit: str) -> str:
    return units.human(consumer.least[measure.counted], unit)


def describe_largest(workloads: int, where: str, amount: str) -> str:
    """Return the label of the largest workload of several, or of the only one, with what it takes.

    >>> describe_largest(1, "", "12 GPUs"), describe_largest(3, " in hall-1", "12 GPUs")
    ('the only workload: 12 GPUs', 'largest of 3 workloads in hall-1: 12 GPUs')
    """
    return (f"largest of {workloads} workloads" if workloads > 1 else "the only workload") + f"{where}: {amount}"


def _sort_consumers(measure: Measure, mine: Sequence[Consumer]) -> list[Consumer]:
    taking = (consumer for consumer in mine if consumer.least.get(measure.counted))
    return sorted(
        taking, key=lambda consumer: (-consumer.least[measure.counted], consumer.place.path, consumer.place.line)
    )


def _build_finding(verdict: evaluate.Verdict, known: Facts, budget: Budget, mine: Sequence[Consumer]) -> Finding:
    """Return the finding at the largest consumer's count, related to the budget's line."""
    rule = verdict.rule
    measure = next((measure for measure in MEASURES if {*measure} & {*rule.at, *rule.facts}), MEASURES[0])
    first = next(iter(_sort_consumers(measure, mine)), None)
    gpus = sum(consumer.least.get(MEASURES[0].counted, 0) for consumer in mine)
    place = known.role.anchor.location()
    return evaluate.make_finding(verdict, _build_owner(known.role), known)._replace(
        location=first.place if first else place,
        label=describe_largest(
            len(mine), "", _render_amount(first, measure, glossary()[measure.counted].unit or "gpus")
        )
        if first
        else "",
        related=(Related(f"budget of {budget.name}", place),) if first else (),
        workload=first.workload if first else "",
        role="",
        fingerprint=evaluate.fingerprint(rule.name, budget.name, measure.counted),
        subject=Subject(BUDGET_PREFIX + budget.name, measure.counted, f"{gpus:g} GPUs"),
    )


def _build_owner(role: Role) -> Workload:
    return Workload(role.name, "budget", "policy", role.anchor.document, (), (role,))


def _measure_use(budget: Budget, mine: Sequence[Consumer], known: Facts) -> Iterator[Spent]:
    """Yield how much of each limit of a budget is taken."""
    for measure in MEASURES:
        limit, least = known.role.value(measure.limit), known.role.value(measure.counted)
        if not isinstance(limit, int | float) or not isinstance(least, int | float):
            continue
        unsure = known.role.value(measure.spent)
        reason = unsure.reason if isinstance(unsure, Unknown) else ""
        verdict = "exceeded" if least > limit else NOT_EVALUATED if reason else "within"
        place = known.role.anchor.location()
        yield Spent(
            budget.name, glossary()[measure.limit].unit or "gpus", limit, least, verdict, reason, len(mine), place
        )
