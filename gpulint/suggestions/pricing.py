"""The list price of a role before and after a candidate, and the suggestion that shows it."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.catalog import hardware, offers
from gpulint.catalog.offers import Offer
from gpulint.facts.model import Facts
from gpulint.report.model import Suggestion
from gpulint.suggestions import edits
from gpulint.suggestions.edits import accelerator_names
from gpulint.suggestions.generators import Candidate
from gpulint.workload import Role

HEADROOM = ("headroom", "kv_cache_tokens", "training_room")
"""The facts that a suggestion shows after its change."""


def build_suggestion(candidate: Candidate, before: Facts, after: Facts, cloud: str | None = None) -> Suggestion:
    """Return a candidate as a suggestion, with its edits, the headroom that it leaves and both list
    prices: those of one cloud if it is given.
    """
    written = edits.write_values(before.role, candidate.values) or ()
    shown = tuple(fact for name in HEADROOM if (fact := after.report(name)))
    machines = _find_machines(before.role, after.role, cloud)
    costs = [_sum_cost(facts, machine) for facts, machine in zip((before, after), machines, strict=True)]
    listed = (offers.describe_price(machine, before.role.available.today) for machine in machines if machine)
    prices = ", ".join(dict.fromkeys(filter(None, listed)))
    return Suggestion(
        candidate.title, written, shown, candidate.trade_off, costs[0], costs[1], prices, candidate.values
    )


def raises_cost(suggestion: Suggestion) -> bool:
    """Whether both list prices are known, and the later one is higher."""
    before, after = suggestion.cost_before_usd_per_hour, suggestion.cost_after_usd_per_hour
    return before is not None and after is not None and after > before


def find_common_cloud(before: Role, others: Sequence[Role]) -> str | None:
    """Return the one cloud whose prices a table of options shows: the one that has most of them, then the cheapest.

    None where the file or the settings decide it, or where no cloud has today's machine.
    """
    if _find_stated_cloud(before) or before.available.pools or before.available.pools_only:
        return None
    offered = offers.list_offers(before.available, accelerator=before.text("accelerator"))
    totals: dict[str, tuple[int, float]] = {}
    for cloud in sorted({offer.cloud for offer in offered if offer.cloud}):
        costs = [_find_listed_cost(role, cloud) for role in (before, *others)]
        known = [cost for cost in costs if cost is not None]
        if costs[0] is not None:
            totals[cloud] = -len(known), sum(known)
    return min(totals, key=lambda cloud: totals[cloud], default=None)


def _find_listed_cost(role: Role, cloud: str) -> float | None:
    """Return the price of a pod's share of the cheapest machine of one cloud that holds it."""
    machine, gpus = _find_machine(role, cloud), role.value("gpus_per_pod")
    if machine is None or machine.cost_usd_per_hour is None or not isinstance(gpus, int):
        return None
    return machine.cost_usd_per_hour * gpus / machine.node_gpus


def _find_stated_cloud(role: Role) -> str | None:
    node = hardware.node(role.text("instance_type"))
    return accelerator_names.find_cloud(role) or role.text("cloud") or (node.cloud if node else None)


def _find_machines(before: Role, after: Role, common: str | None) -> tuple[Offer | None, Offer | None]:
    """Return the machines before and after; if the file fits any cloud, those of the common cloud, else of the cheapest
    that has both.
    """
    cloud = common or _find_stated_cloud(before)
    pair = _find_machine(before, cloud), _find_machine(after, cloud)
    if cloud or (pair[1] and pair[1].pool):
        return pair
    clouds = {
        offer.cloud
        for offer in offers.list_offers(after.available, accelerator=after.text("accelerator"))
        if offer.cloud
    }
    pairs = [(_find_machine(before, name), _find_machine(after, name)) for name in sorted(clouds)]
    both = [(new.cost_usd_per_hour, old, new) for old, new in pairs if old and new and old.cloud == new.cloud]
    priced = [(cost, old, new) for cost, old, new in both if cost is not None and old.cost_usd_per_hour is not None]
    return min(priced, key=lambda entry: entry[0])[1:] if priced else pair


def _find_machine(role: Role, cloud: str | None) -> Offer | None:
    """Return the machine of the pods: that of their pool or type, else the cheapest one that holds
    a pod.
    """
    gpus = role.value("gpus_per_pod")
    if not isinstance(gpus, int) or gpus == 0:
        return None
    accelerator, machine, pool = (role.text(name) for name in ("accelerator", "instance_type", "node_pool"))
    if not (accelerator or machine or pool):
        return None
    return offers.select_machine(role.available, accelerator, gpus, machine, pool, cloud)


def _sum_cost(facts: Facts, machine: Offer | None) -> float | None:
    """Return the price of all replicas, or of one if their number is not declared: their share of
    the machines.
    """
    role, share = facts.role, facts.expected("slice_share")
    gpus, pods, replicas = (facts.expected(name) for name in ("gpus_per_pod", "pods_per_replica", "replicas"))
    if not isinstance(gpus, int) or not isinstance(pods, int) or not isinstance(share, int | float):
        return None
    if machine is None or machine.cost_usd_per_hour is None:
        return None
    whole = role.value("whole_node") is True or role.value("whole_machine") is True
    machines_per_pod = 1 if whole else gpus * share / machine.node_gpus
    return machine.cost_usd_per_hour * machines_per_pod * pods * (replicas if isinstance(replicas, int) else 1)
