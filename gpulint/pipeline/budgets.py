"""Budgets: what the workloads of a run take together, against what their organisation's policy gives them.

A sum over what is known is the least that they take: beyond the budget it is an error whatever else is unknown, below it
nothing is said unless every file was read and every part of the sum is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facts import resolver as facts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline.summary import costs
from gpulint.policy.config.governance import Budget, Governance
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules.identity import OF_BUDGET
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Related, Spent, Subject
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

LARGEST = 5


class Measure(NamedTuple):
    """What a budget limits: the facts of its limit, of what is counted and spent, and of who takes most; of a role the fact."""

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
    """A role that takes GPUs: the place of its count, the least of each measure, and what would tell all of it."""

    workload: str
    place: Location
    budgets: tuple[str, ...]
    least: Mapping[str, float]
    needs: Mapping[str, frozenset[str]]


def consumers(judged: Sequence[tuple[Workload, Facts]], governance: Governance) -> Iterator[Consumer]:
    """The roles of a file that take GPUs, each GPU once: roles that run beside one another share theirs."""
    counted: set[Location] = set()
    for workload, known in judged:
        count = known.role.fields.get("gpus_per_pod")
        if known.role.text("part_of") or known.role.value("device") not in (None, "gpu"):
            continue
        place = (count.origins[0] if count and count.origins else known.role.anchor).location()
        if place not in counted:
            counted.add(place)
            yield _consumer(workload, known, place, governance)


def _consumer(workload: Workload, known: Facts, place: Location, governance: Governance) -> Consumer:
    team = _team(known, governance.team_label)
    mine = tuple(one.place for one in governance.budgets if team is None or one.team in ("", team))
    least: dict[str, float] = {}
    needs: dict[str, frozenset[str]] = {}
    for one in MEASURES:
        found = known.worlds(one.of_role)
        if one.of_role == "cost_usd_per_hour" and not costs.placed(known):
            found = Missing(frozenset({"instance_type"}))
        if isinstance(found, Missing):
            needs[one.counted] = found.names
            least[one.counted] = fewest(known) if one.counted == "counted_gpus" else 0.0
        else:
            least[one.counted] = min(_number(value) for value in found)
    if team is None:
        least, needs = {}, dict.fromkeys((one.counted for one in MEASURES), frozenset({"labels"}))
    return Consumer(workload.name, place, mine, least, needs)


def _team(known: Facts, label: str) -> str | None:
    """The team that a workload names, empty where it names none; None where that cannot be told."""
    for key in (label, f"gpulint/{label}"):
        for name in ("labels", "annotations"):
            stated = known.likely(name)
            if isinstance(stated, Missing):
                return None
            if isinstance(stated, Mapping) and stated.get(key):
                return stated[key]
    return ""


def fewest(known: Facts) -> float:
    """GPUs of the replicas that always run, where their fixed number is not stated."""
    each, least = known.likely("gpus_per_replica"), known.likely("replicas_least")
    whole = known.role.value("mig_profile") is None and known.role.value("sharing") is None
    return _number(each) * _number(least) if whole else 0.0


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


# ---- judging


def judged(
    budgets: Iterable[Budget], found: Sequence[Consumer], rules: Iterable[Rule], unread: int
) -> tuple[list[tuple[Finding, Facts]], list[Spent]]:
    """The findings about budgets that are exceeded, with what they rest on, and of every budget how much of it is taken."""
    about = [rule for rule in rules if rule.target.scope == "repository"]
    findings: list[tuple[Finding, Facts]] = []
    spent: list[Spent] = []
    for budget in budgets:
        mine = [one for one in found if budget.place in one.budgets]
        known = facts.of(_role(budget, mine, unread), None)
        outcome = check.judged(about, known)
        findings += [(_finding(verdict, known, budget, mine), known) for verdict in outcome.verdicts]
        spent += _spent(budget, mine, known)
    return findings, spent


def _role(budget: Budget, mine: Sequence[Consumer], unread: int) -> Role:
    """A budget as a role that states its limits and what its workloads take."""
    origin = budget.origin or Origin(documents.load("gpulint.yaml", b"{}").documents[0], ())
    fields: dict[str, Field] = {"budget_name": Field(budget.name)}
    for one, limit in zip(MEASURES, (budget.gpus, budget.usd_per_hour, budget.power_w), strict=True):
        if limit is None:
            continue
        total = sum(each.least.get(one.counted, 0) for each in mine)
        fields[one.limit] = Field(limit, (origin,))
        fields[one.counted] = Field(total)
        fields[one.spent] = Field(_unsure(one, mine, budget.whole, unread) or total)
        fields[one.consumers] = Field(_listed(one, mine))
    return Role(budget.name, origin, fields)


def _unsure(one: Measure, mine: Sequence[Consumer], whole: bool, unread: int) -> Value | Unknown:
    """Why the sum is only the least that is taken; None where it is all."""
    open_ended = [each for each in mine if one.counted in each.needs]
    if open_ended:
        lacking = sorted(name for each in open_ended for name in each.needs[one.counted])[0]
        return Unknown(f"{len(open_ended)} of {len(mine)} workloads cannot be counted", lacking=lacking)
    if not whole:
        return Unknown("the run reads some files only", lacking="whole_run")
    return Unknown(f"{unread} files that ask for GPUs are not read", lacking="whole_run") if unread else None


def _listed(one: Measure, mine: Sequence[Consumer]) -> str:
    """The largest consumers and what is left beside them, in words."""
    unit = glossary()[one.counted].unit
    ordered = _ordered(one, mine)
    told = [f"{_amount(each, one, unit)} {each.workload} ({each.place.path})" for each in ordered[:LARGEST]]
    if beside := ordered[LARGEST:]:
        total = sum(each.least[one.counted] for each in beside)
        told.append(f"{units.human(total, unit)} in {len(beside)} other{'s' if len(beside) > 1 else ''}")
    return " + ".join(told)


def _amount(each: Consumer, one: Measure, unit: str) -> str:
    return units.human(each.least[one.counted], unit)


def _ordered(one: Measure, mine: Sequence[Consumer]) -> list[Consumer]:
    taking = (each for each in mine if each.least.get(one.counted))
    return sorted(taking, key=lambda each: (-each.least[one.counted], each.place.path, each.place.line))


def _finding(verdict: check.Verdict, known: Facts, budget: Budget, mine: Sequence[Consumer]) -> Finding:
    """The finding at the largest consumer's count, with the budget's line beside it."""
    rule = verdict.rule
    one = next((each for each in MEASURES if {*each} & {*rule.at, *rule.facts}), MEASURES[0])
    first = next(iter(_ordered(one, mine)), None)
    gpus = sum(each.least.get(MEASURES[0].counted, 0) for each in mine)
    place = known.role.anchor.location()
    return check.finding(verdict, _nobody(known.role), known)._replace(
        location=first.place if first else place,
        label=f"largest of {len(mine)}: {_amount(first, one, glossary()[one.counted].unit)}" if first else "",
        related=(Related(f"the budget of {budget.name}", place),) if first else (),
        workload=first.workload if first else "",
        role="",
        fingerprint=check.fingerprint(rule.name, budget.name, one.counted),
        subject=Subject(OF_BUDGET + budget.name, one.counted, f"{gpus:g} GPUs"),
    )


def _nobody(role: Role) -> Workload:
    return Workload(role.name, "budget", "policy", role.anchor.document, (), (role,))


def _spent(budget: Budget, mine: Sequence[Consumer], known: Facts) -> Iterator[Spent]:
    """How much of each limit of a budget is taken."""
    for one in MEASURES:
        limit, least = known.role.value(one.limit), known.role.value(one.counted)
        if not isinstance(limit, int | float) or not isinstance(least, int | float):
            continue
        unsure = known.role.value(one.spent)
        reason = unsure.reason if isinstance(unsure, Unknown) else ""
        verdict = "exceeded" if least > limit else "cannot tell" if reason else "within"
        place = known.role.anchor.location()
        yield Spent(budget.name, glossary()[one.limit].unit or "gpus", limit, least, verdict, reason, len(mine), place)
