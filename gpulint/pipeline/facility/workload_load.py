"""Allocation: GPU and power allocation of workloads to pools, racks and rooms.

Services run all the time and all at once, so their minimum is certain. Jobs wait for one another.
An object in two files counts once, and a workload that may run in several pools counts for none of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facility.model import Component, ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import budgets
from gpulint.policy.rules import evaluate, facility
from gpulint.policy.rules.identity import BUDGET_PREFIX
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Related, Spent, Subject
from gpulint.report.verdicts import NOT_EVALUATED
from gpulint.workload import Field, Workload

LARGEST = 5
WAITING = (
    *("Job", "JobSet", "Workflow", "Task", "Run", "AppWrapper", "SparkApplication"),
    *("Pod", "RayCluster", "Notebook", "Template", "Runtime"),
)
"""Endings of the kinds of objects that run to completion, that nothing keeps running, or that are
templates.
"""
SUMMED = frozenset(
    {
        "pool_service_gpus",
        "pool_queued_gpus",
        "placed_load_w",
        "placed_load_va",
        "placed_cooled_heat_w",
        "placed_room_heat_w",
        "placed_workloads",
    }
)
"""Facts of a facility that come from a run.

Rules about them are evaluated after every file is read.
"""
SOURCE = "the files of this run"


class Allocation(NamedTuple):
    """A role that runs in one pool: the location of its count, its minimum and expected GPUs, and
    whether it always runs.

    `each` is the GPUs of one instance; `sure` is set if the role takes no more than that.
    """

    workload: str
    identity: tuple[str, ...]
    place: Location
    pool: str
    least: float
    expected: float
    always: bool
    each: float
    sure: bool

    @property
    def gpus(self) -> float:
        """The GPUs that count: the minimum of a service, the expected number of a job while it
        runs.
        """
        return self.least if self.always else self.expected


class PoolAllocation(NamedTuple):
    """Allocation of one pool: GPUs of services, of all jobs and of the largest job, and the
    workloads that take them.
    """

    service: float
    queued: float
    largest: float
    takers: tuple[Allocation, ...]


def allocate(judged: Iterable[tuple[Workload, Facts]]) -> Iterator[Allocation]:
    """Yield the roles of a file that run in one pool of the facility. Each GPU counts once."""
    counted: set[Location] = set()
    for workload, facts in judged:
        pools = facts.role.value("facility_pools")
        if facts.role.text("part_of") or not isinstance(pools, tuple) or len(pools) != 1:
            continue
        count = facts.role.fields.get("gpus_per_pod")
        place = (count.origins[0] if count and count.origins else facts.role.anchor).location()
        if place in counted:
            continue
        counted.add(place)
        least, expected, sure = _count_gpus(facts)
        kind = _find_text(facts, "object_kind")
        whose = (kind, _find_text(facts, "object_namespace")) if kind else (place.path,)
        named = (*whose, workload.name, facts.role.name)
        always, instance_gpus = _runs_always(workload, facts), _count_instance_gpus(facts)
        yield Allocation(workload.name, named, place, str(pools[0]), least, expected, always, instance_gpus, sure)


def _count_gpus(facts: Facts) -> tuple[float, float, bool]:
    """Return the minimum and the expected GPUs of a role, and whether that is all."""
    found = facts.scenarios("workload_gpus")
    if isinstance(found, Missing):
        fewest = budgets.count_minimum_gpus(facts)
        return fewest, fewest, False
    taken = min(value for value in (*found, found.expected) if isinstance(value, int | float))
    floor, replicas = facts.expected("replicas_least"), facts.expected("replicas")
    if isinstance(floor, int | float) and isinstance(replicas, int | float) and replicas > 0:
        return taken * min(floor, replicas) / replicas, taken, floor >= replicas and not facts.expected("replicas_most")
    return taken, taken, True


def _count_instance_gpus(facts: Facts) -> float:
    """Return the GPUs of one instance; for an array of jobs, those of one job."""
    return 0.0 if facts.role.text("mig_profile") else facts.number("gpus_per_replica") or 0.0


def _find_text(facts: Facts, name: str) -> str:
    value = facts.expected(name)
    return value if isinstance(value, str) else ""


def _runs_always(workload: Workload, facts: Facts) -> bool:
    """Return whether a role belongs to a service that runs all the time and waits in no queue."""
    labels = facts.expected("labels")
    return is_kept_running(
        workload.kind, _find_text(facts, "object_kind"), labels if isinstance(labels, Mapping) else {}
    )


def is_kept_running(purpose: str, kind: str, labels: Mapping[str, str]) -> bool:
    """Return whether an object is a service that is kept running and waits in no queue."""
    queued = any("queue" in key for key in labels)
    return purpose == "inference" and bool(kind) and not kind.endswith(WAITING) and not queued


# ---- evaluation


def evaluate_pools(
    root: ComponentFacts, found: Sequence[Allocation], rules: Iterable[Rule], thresholds: Mapping[str, float]
) -> list[tuple[Finding, Facts]]:
    """Evaluate the rules about allocation on a facility; return each finding with its facts."""
    about = [rule for rule in rules if rule.target.scope == "facility" and _is_of_a_run(rule)]
    if not about or not found:
        return []
    totals = _sum_pools(root, found)
    loaded = facility.resolve_facts(_load_component(root, totals), thresholds)
    evaluations = facility.evaluate_component(loaded, about)
    pairs = [
        (_build_finding(verdict, evaluation, totals), evaluation.known)
        for evaluation in evaluations
        for verdict in evaluation.outcome.verdicts
    ]
    return list(_merge_findings(pairs))


def _merge_findings(pairs: Iterable[tuple[Finding, ComponentFacts]]) -> Iterator[tuple[Finding, Facts]]:
    """Yield findings, with those of one rule at one location merged into one that names the other
    components.
    """
    alike: dict[object, list[tuple[Finding, ComponentFacts]]] = {}
    for finding, known in pairs:
        alike.setdefault((finding.rule, finding.severity, finding.location), []).append((finding, known))
    for (first, known), *others in alike.values():
        names = [other.role.name for _, other in others]
        others_named = (facility.name_components(names),) if names else ()
        yield first._replace(arithmetic=(*first.arithmetic, *others_named)), known.facts


def load_facility(root: ComponentFacts, found: Sequence[Allocation]) -> Component:
    """Return a facility with the allocation of its pools."""
    return _load_component(root, _sum_pools(root, found))


def _sum_pools(root: ComponentFacts, found: Sequence[Allocation]) -> dict[str, PoolAllocation]:
    """Return the allocation of each pool of a facility."""
    return {pool.role.name: _sum_pool(pool.role.name, found) for pool in root.list_components("pool")}


def _is_of_a_run(rule: Rule) -> bool:
    return any(name in SUMMED for name in rule.facts)


def _sum_pool(pool: str, found: Sequence[Allocation]) -> PoolAllocation:
    """Return the allocation of a pool.

    Of one object in several files, the largest count is used.
    """
    single: dict[tuple[str, ...], Allocation] = {}
    for allocation in found:
        earlier = single.get(allocation.identity)
        if allocation.pool == pool and allocation.gpus >= (earlier.gpus if earlier else 0):
            single[allocation.identity] = allocation
    takers = sorted(
        single.values(), key=lambda allocation: (-allocation.gpus, allocation.place.path, allocation.place.line)
    )
    jobs = [allocation for allocation in takers if not allocation.always]
    largest = max((min(job.each, job.expected) for job in jobs), default=0.0)
    always = sum(allocation.least for allocation in takers if allocation.always)
    return PoolAllocation(always, sum(job.expected for job in jobs), largest, tuple(takers))


def _load_component(facts: ComponentFacts, totals: Mapping[str, PoolAllocation]) -> Component:
    """Return a component and its children with the allocation of its pool or its servers' pools."""
    here = [total for name in _find_pools(facts) if (total := totals.get(name)) is not None]
    fields: dict[str, Field] = {}
    if here and facts.kind in ("pool", "server"):
        fields |= _build_pool_fields(here[0])
    if facts.kind == "server" and here:
        pool_size = _find_pool_size(facts)
        fields |= {} if pool_size is None else {"pool_gpus_held": Field(pool_size, source=SOURCE)}
    takers = [taker for total in here for taker in total.takers]
    if takers and facts.kind not in ("server", "feed"):
        fields["placed_workloads"] = Field(_list_takers(takers), source=SOURCE)
    return Component(
        facts.kind, facts.role.having(**fields), tuple(_load_component(component, totals) for component in facts.below)
    )


def _find_pools(facts: ComponentFacts) -> tuple[str, ...]:
    """Return the pools that a component is, belongs to, or has servers of."""
    if facts.kind == "pool":
        return (facts.role.name,)
    servers = (facts,) if facts.kind == "server" else facts.list_components("server")
    names = (server.expected("pool") for server in servers)
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))


def _build_pool_fields(total: PoolAllocation) -> dict[str, Field]:
    values = {
        "pool_service_gpus": total.service,
        "pool_queued_gpus": total.queued,
        "pool_largest_job_gpus": total.largest,
    }
    return {name: Field(value, source=SOURCE) for name, value in values.items()}


def _find_pool_size(server: ComponentFacts) -> float | None:
    """Return the GPUs of the whole pool that a server belongs to."""
    name = server.expected("pool")
    pool = next((pool for pool in server.root().list_components("pool") if pool.role.name == name), None)
    return pool.number("held_gpus") if pool else None


def measure(root: ComponentFacts, found: Sequence[Allocation], whole: bool, unread: int) -> Iterator[Spent]:
    """Yield how much of each pool of a facility is taken, for pools with an allocation."""
    for name, total in _sum_pools(root, found).items():
        pool = next(pool for pool in root.list_components("pool") if pool.role.name == name)
        pool_size = pool.number("held_gpus")
        if not total.takers or pool_size is None:
            continue
        reason = _explain_minimum(total, pool_size, whole, unread)
        verdict = "exceeded" if total.service > pool_size else NOT_EVALUATED if reason else "within"
        place = pool.role.anchor.location()
        called = f"pool {name} of {root.role.name}"
        yield Spent(called, "gpus", pool_size, total.service, verdict, reason, len(total.takers), place)


def _explain_minimum(total: PoolAllocation, pool_size: float, whole: bool, unread: int) -> str:
    """Return why the GPUs of services are only a minimum; empty if they are all."""
    unsure = sum(not taker.sure for taker in total.takers)
    if unsure:
        return f"{unsure} of {len(total.takers)} workloads may use more"
    if total.queued and total.service + total.queued > pool_size:
        return f"jobs request {units.human(total.queued, 'gpus')} more"
    if not whole:
        return "only part of the repository was checked"
    if not unread:
        return ""
    return f"{'1 file that requests GPUs was' if unread == 1 else f'{unread} files that request GPUs were'} not read"


def _list_takers(takers: Sequence[Allocation]) -> str:
    """Return the largest workloads and the remainder in words."""
    ordered = sorted(takers, key=lambda taker: (-taker.gpus, taker.place.path, taker.place.line))
    parts = [
        f"{units.human(taker.gpus, 'gpus')} {taker.workload} ({_describe_place(taker)})" for taker in ordered[:LARGEST]
    ]
    if beside := ordered[LARGEST:]:
        total = sum(taker.gpus for taker in beside)
        parts.append(f"{units.human(total, 'gpus')} in {len(beside)} other workload{'s' if len(beside) > 1 else ''}")
    return " + ".join(parts)


def _describe_place(taker: Allocation) -> str:
    return taker.place.path if taker.always else f"{taker.place.path}; not always running"


def _build_finding(
    verdict: evaluate.Verdict, evaluation: facility.Evaluation, totals: Mapping[str, PoolAllocation]
) -> Finding:
    """Return the finding at the count of the largest workload, related to the component."""
    known = evaluation.known
    found = evaluate.make_finding(verdict, evaluation.owner, known.facts)
    takers = [taker for name in _find_pools(known) for taker in totals[name].takers if name in totals]
    first = max(takers, key=lambda taker: (taker.always, taker.gpus), default=None)
    if first is None:
        return found
    quantity = next((name for name in verdict.rule.at if name in glossary()), "")
    services = sum(totals[name].service for name in _find_pools(known) if name in totals)
    where = "/".join((known.root().role.name, *known.path()))
    return found._replace(
        location=first.place,
        label=budgets.describe_largest(len(takers), f" in {where}", units.human(first.gpus, "gpus")),
        related=(Related(f"{known.kind} {known.role.name}", known.role.anchor.location()),),
        workload=first.workload,
        role="",
        fingerprint=evaluate.fingerprint(verdict.rule.name, where, quantity),
        subject=Subject(f"{BUDGET_PREFIX}{known.kind} {where}", quantity, f"{services:g} GPUs"),
    )
