"""Costs: cost, power and emissions of a role, if its machine and site are known."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint import engines, units
from gpulint.catalog import hardware, offers
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts
from gpulint.report.model import Fact, Figures

OF_ANY = ("cost_usd_per_hour", "spot_usd_per_hour", "power_w", "energy_usd_per_hour", "co2_kg_per_hour")
OF_SERVING = ("delivered_tokens_per_s", "cost_usd_per_million_tokens")
OF_TRAINING = ("training_cost_usd", "training_cost_usd_per_billion_tokens", "training_energy_j")
REQUEST = frozenset({"request_prompt_tokens", "request_output_tokens"})
LOAD = frozenset({"target_concurrency", "target_tokens_per_s", "target_requests_per_s"})
RUN = frozenset({"max_steps", "training_total_tokens"})
"""Inputs that are needed to compute the speed of a server or the length of a run, which takes time.
"""


def list_facts(facts: Facts) -> Iterator[Fact]:
    """Yield the known facts of cost and energy."""
    if not _pays(facts):
        return
    for name in (*(OF_ANY if is_placed(facts) else ("power_w",)), *_list_work_facts(facts)):
        if fact := facts.report(name):
            yield fact


def describe_hourly_cost(facts: Facts) -> str:
    """Return the hourly cost of a role in words, with the spot price if known; empty if unknown."""
    if not _pays(facts) or not is_placed(facts):
        return ""
    on_demand, spot = (facts.expected(name) for name in ("cost_usd_per_hour", "spot_usd_per_hour"))
    if not isinstance(on_demand, int | float):
        return ""
    beside = f", spot {units.human(spot, 'usd_per_hour')}" if isinstance(spot, int | float) else ""
    return units.human(on_demand, "usd_per_hour") + beside


def resolve_figures(facts: Facts) -> Figures | None:
    """Return what a role takes, as numbers;

    None if it has no GPU or another role counts its hardware.
    """
    if not _pays(facts):
        return None
    room = "training_room" if engines.is_training(facts.role) else "headroom"
    return Figures(
        gpus=_find_number(facts, "workload_gpus"),
        cost_usd_per_hour=_find_number(facts, "cost_usd_per_hour") if is_placed(facts) else None,
        power_w=_find_number(facts, "power_w"),
        headroom=_find_number(facts, room),
    )


def _find_number(facts: Facts, name: str) -> float | None:
    value = facts.expected(name)
    return float(value) if isinstance(value, int | float) else None


def describe_cost_of_work(facts: Facts) -> str:
    """Return the cost of a million tokens or of the run in words; empty if unknown."""
    names = _list_work_facts(facts) if describe_hourly_cost(facts) else ()
    if names == OF_TRAINING:
        return f"{run} for the run" if (run := _render_interval(facts, "training_cost_usd")) else ""
    tokens = _render_interval(facts, "cost_usd_per_million_tokens") if names else ""
    load = "stated" if LOAD & facts.role.fields.keys() else "full"
    return f"{tokens} at the {load} load" if tokens else ""


def describe_prices(facts: Facts) -> str:
    """Return the source, region and age of the prices behind the cost; empty if there are none."""
    offer = facts.offer() if describe_hourly_cost(facts) else None
    return offers.describe_price(offer, facts.role.available.today) if offer else ""


def _pays(facts: Facts) -> bool:
    """Return whether a role has accelerators of its own that no other role counts."""
    return facts.role.value("device") in (None, "gpu") and not facts.role.text("part_of")


def is_placed(facts: Facts) -> bool:
    """Return whether it is known where a role runs.

    Without a cloud, a pool or a known machine type, there is no cost.
    """
    role, offer = facts.role, facts.offer()
    if offer is not None and (offer.own or offer.pool):
        return True
    if stated := role.text("instance_type"):
        return hardware.node(stated) is not None
    return bool(role.text("cloud") or role.available.clouds)


def _list_work_facts(facts: Facts) -> tuple[str, ...]:
    stated = facts.role.fields.keys()
    if engines.is_training(facts.role):
        return OF_TRAINING if RUN & stated else ()
    return OF_SERVING if stated >= REQUEST and is_placed(facts) else ()


def _render_interval(facts: Facts, name: str) -> str:
    ends = facts.ends(name)
    if ends is None:
        return ""
    low, high = (units.human(end, glossary()[name].unit) for end in ends)
    return low if low == high else f"{low.split(' ')[0]} to {high}"
