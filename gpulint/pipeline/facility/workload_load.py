"""Loads: what the workloads of a run put on the pools of a facility, and on the racks and rooms of their servers.

Services always run, all at once, and so their least counts for sure; jobs wait for one another. An object that two files hold
counts once, and what may run in several pools counts for none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facility.model import Part, PartFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import budgets
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules import facility as facilities
from gpulint.policy.rules.identity import OF_BUDGET
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Related, Spent, Subject
from gpulint.workload import Field, Workload

LARGEST = 5
WAITING = (
    *("Job", "JobSet", "Workflow", "Task", "Run", "AppWrapper", "SparkApplication"),
    *("Pod", "RayCluster", "Notebook", "Template", "Runtime"),
)
"""What the kinds of objects end in that run to an end, that nobody keeps running, or that others are made of."""
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
"""Facts that a run says of a facility, and no file: rules about them are judged once every file is read."""
SOURCE = "the files of this run"


class Placed(NamedTuple):
    """A role that runs in one pool: the place of its count, its least and its likely GPUs, and whether it always runs.

    `each` are those of one instance; `sure` says that it takes no more than that.
    """

    workload: str
    identity: tuple[str, ...]
    place: Location
    pool: str
    least: float
    likely: float
    always: bool
    each: float
    sure: bool

    @property
    def counted(self) -> float:
        """What counts of it: of a service what always runs, of a job what it takes while it runs."""
        return self.least if self.always else self.likely


class Total(NamedTuple):
    """What is placed on one pool: GPUs of services, of all jobs and of the largest, and who takes them."""

    service: float
    queued: float
    largest: float
    takers: tuple[Placed, ...]


def placed(judged: Iterable[tuple[Workload, Facts]]) -> Iterator[Placed]:
    """The roles of a file that run in one pool of the facility, each GPU once."""
    counted: set[Location] = set()
    for workload, known in judged:
        pools = known.role.value("facility_pools")
        if known.role.text("part_of") or not isinstance(pools, tuple) or len(pools) != 1:
            continue
        count = known.role.fields.get("gpus_per_pod")
        place = (count.origins[0] if count and count.origins else known.role.anchor).location()
        if place in counted:
            continue
        counted.add(place)
        least, likely, sure = _gpus(known)
        kind = _text(known, "object_kind")
        whose = (kind, _text(known, "object_namespace")) if kind else (place.path,)
        named = (*whose, workload.name, known.role.name)
        yield Placed(
            workload.name, named, place, str(pools[0]), least, likely, _always(workload, known), _each(known), sure
        )


def _gpus(known: Facts) -> tuple[float, float, bool]:
    """The least GPUs that a role takes, those that it likely takes, and whether it takes no more."""
    found = known.worlds("workload_gpus")
    if isinstance(found, Missing):
        fewest = budgets.fewest(known)
        return fewest, fewest, False
    taken = min(value for value in (*found, found.likely) if isinstance(value, int | float))
    floor, replicas = known.likely("replicas_least"), known.likely("replicas")
    if isinstance(floor, int | float) and isinstance(replicas, int | float) and replicas > 0:
        return taken * min(floor, replicas) / replicas, taken, floor >= replicas and not known.likely("replicas_most")
    return taken, taken, True


def _each(known: Facts) -> float:
    """The GPUs of one instance: of an array of jobs, those of one."""
    return 0.0 if known.role.text("mig_profile") else known.number("gpus_per_replica") or 0.0


def _text(known: Facts, name: str) -> str:
    value = known.likely(name)
    return value if isinstance(value, str) else ""


def _always(workload: Workload, known: Facts) -> bool:
    """Whether a role is part of a service that runs all the time, and waits in no queue."""
    labels = known.likely("labels")
    return is_kept_running(workload.kind, _text(known, "object_kind"), labels if isinstance(labels, Mapping) else {})


def is_kept_running(purpose: str, kind: str, labels: Mapping[str, str]) -> bool:
    """Whether an object is a service that something keeps running, and that waits in no queue."""
    queued = any("queue" in key for key in labels)
    return purpose == "inference" and bool(kind) and not kind.endswith(WAITING) and not queued


# ---- judging


def judged(
    root: PartFacts, found: Sequence[Placed], rules: Iterable[Rule], thresholds: Mapping[str, float]
) -> list[tuple[Finding, Facts]]:
    """What the rules about sums over workloads say of a facility, each finding with the facts behind it."""
    about = [rule for rule in rules if rule.target.scope == "facility" and _is_of_a_run(rule)]
    if not about or not found:
        return []
    totals = _totals(root, found)
    loaded = facilities.facts_of(_loaded(root, totals), thresholds)
    said = facilities.judged(loaded, about)
    each = [(_finding(verdict, one, totals), one.known) for one in said for verdict in one.outcome.verdicts]
    return list(_gathered(each))


def _gathered(each: Iterable[tuple[Finding, PartFacts]]) -> Iterator[tuple[Finding, Facts]]:
    """Findings, those of one rule at one place about several parts as one that names the others."""
    alike: dict[object, list[tuple[Finding, PartFacts]]] = {}
    for one, known in each:
        alike.setdefault((one.rule, one.severity, one.location), []).append((one, known))
    for (first, known), *others in alike.values():
        names = [other.role.name for _, other in others]
        said = (facilities.so_in(names),) if names else ()
        yield first._replace(arithmetic=(*first.arithmetic, *said)), known.facts


def under(root: PartFacts, found: Sequence[Placed]) -> Part:
    """A facility under what is placed on its pools."""
    return _loaded(root, _totals(root, found))


def _totals(root: PartFacts, found: Sequence[Placed]) -> dict[str, Total]:
    """What is placed on each pool of a facility."""
    return {one.role.name: _total(one.role.name, found) for one in root.of_kind("pool")}


def _is_of_a_run(rule: Rule) -> bool:
    return any(name in SUMMED for name in rule.facts)


def _total(pool: str, found: Sequence[Placed]) -> Total:
    """What is placed on a pool; of one object that several files hold, what takes most."""
    single: dict[tuple[str, ...], Placed] = {}
    for one in found:
        if one.pool == pool and one.counted >= (known.counted if (known := single.get(one.identity)) else 0):
            single[one.identity] = one
    takers = sorted(single.values(), key=lambda one: (-one.counted, one.place.path, one.place.line))
    jobs = [one for one in takers if not one.always]
    largest = max((min(one.each, one.likely) for one in jobs), default=0.0)
    always = sum(one.least for one in takers if one.always)
    return Total(always, sum(one.likely for one in jobs), largest, tuple(takers))


def _loaded(known: PartFacts, totals: Mapping[str, Total]) -> Part:
    """A part, and those that it holds, with what is placed on its pool or on the pools of its servers."""
    here = [total for name in _pools(known) if (total := totals.get(name)) is not None]
    fields: dict[str, Field] = {}
    if here and known.kind in ("pool", "server"):
        fields |= _of_pool(here[0])
    if known.kind == "server" and here:
        held = _held(known)
        fields |= {} if held is None else {"pool_gpus_held": Field(held, source=SOURCE)}
    takers = [taker for total in here for taker in total.takers]
    if takers and known.kind not in ("server", "feed"):
        fields["placed_workloads"] = Field(_listed(takers), source=SOURCE)
    return Part(known.kind, known.role.having(**fields), tuple(_loaded(one, totals) for one in known.below))


def _pools(known: PartFacts) -> tuple[str, ...]:
    """The pools that a part is, belongs to, or holds servers of."""
    if known.kind == "pool":
        return (known.role.name,)
    servers = (known,) if known.kind == "server" else known.of_kind("server")
    names = (one.likely("pool") for one in servers)
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))


def _of_pool(total: Total) -> dict[str, Field]:
    said = {
        "pool_service_gpus": total.service,
        "pool_queued_gpus": total.queued,
        "pool_largest_job_gpus": total.largest,
    }
    return {name: Field(value, source=SOURCE) for name, value in said.items()}


def _held(server: PartFacts) -> float | None:
    """The GPUs of the whole pool that a server belongs to."""
    name = server.likely("pool")
    pool = next((one for one in server.root().of_kind("pool") if one.role.name == name), None)
    return pool.number("held_gpus") if pool else None


def spent(root: PartFacts, found: Sequence[Placed], whole: bool, unread: int) -> Iterator[Spent]:
    """How much of each pool of a facility is taken, of those on which anything is placed."""
    for name, total in _totals(root, found).items():
        pool = next(one for one in root.of_kind("pool") if one.role.name == name)
        held = pool.number("held_gpus")
        if not total.takers or held is None:
            continue
        reason = _untold(total, held, whole, unread)
        verdict = "exceeded" if total.service > held else "cannot tell" if reason else "within"
        place = pool.role.anchor.location()
        called = f"pool {name} of {root.role.name}"
        yield Spent(called, "gpus", held, total.service, verdict, reason, len(total.takers), place)


def _untold(total: Total, held: float, whole: bool, unread: int) -> str:
    """Why what services take is only the least that the pool carries; empty where it is all."""
    unsure = sum(not one.sure for one in total.takers)
    if unsure:
        return f"{unsure} of {len(total.takers)} workloads may take more"
    if total.queued and total.service + total.queued > held:
        return f"what does not always run asks for {units.human(total.queued, 'gpus')} more"
    if not whole:
        return "the run reads some files only"
    return f"{unread} files that ask for GPUs are not read" if unread else ""


def _listed(takers: Sequence[Placed]) -> str:
    """The largest takers and what is left beside them, in words."""
    ordered = sorted(takers, key=lambda one: (-one.counted, one.place.path, one.place.line))
    told = [
        f"{units.human(one.counted, 'gpus')} {one.workload} ({one.place.path}{'' if one.always else ', at times'})"
        for one in ordered[:LARGEST]
    ]
    if beside := ordered[LARGEST:]:
        total = sum(one.counted for one in beside)
        told.append(f"{units.human(total, 'gpus')} in {len(beside)} other{'s' if len(beside) > 1 else ''}")
    return " + ".join(told)


def _finding(verdict: check.Verdict, said: facilities.Said, totals: Mapping[str, Total]) -> Finding:
    """The finding at the count of the largest taker, with the part of the facility beside it."""
    known = said.known
    found = check.finding(verdict, said.owner, known.facts)
    takers = [taker for name in _pools(known) for taker in totals[name].takers if name in totals]
    first = max(takers, key=lambda one: (one.always, one.counted), default=None)
    if first is None:
        return found
    quantity = next((name for name in verdict.rule.at if name in glossary()), "")
    services = sum(totals[name].service for name in _pools(known) if name in totals)
    where = "/".join((known.root().role.name, *known.path()))
    return found._replace(
        location=first.place,
        label=f"largest of {len(takers)} in {where}: {units.human(first.counted, 'gpus')}",
        related=(Related(f"the {known.kind} {known.role.name}", known.role.anchor.location()),),
        workload=first.workload,
        role="",
        fingerprint=check.fingerprint(verdict.rule.name, where, quantity),
        subject=Subject(f"{OF_BUDGET}{known.kind} {where}", quantity, f"{services:g} GPUs"),
    )
