"""Costs: what a role costs, draws and emits, as far as its machine and its site are known."""

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
"""What has to be stated so that the speed of a server or the length of a run can be told, which takes time to work out."""


def shown(known: Facts) -> Iterator[Fact]:
    """The facts of cost and energy that can be told."""
    if not _pays(known):
        return
    for name in (*(OF_ANY if placed(known) else ("power_w",)), *_of_work(known)):
        if fact := known.shown(name):
            yield fact


def per_hour(known: Facts) -> str:
    """What a role costs an hour, in words, and on spot where that is known; empty where nobody knows."""
    if not _pays(known) or not placed(known):
        return ""
    on_demand, spot = (known.likely(name) for name in ("cost_usd_per_hour", "spot_usd_per_hour"))
    if not isinstance(on_demand, int | float):
        return ""
    beside = f", spot {units.human(spot, 'usd_per_hour')}" if isinstance(spot, int | float) else ""
    return units.human(on_demand, "usd_per_hour") + beside


def figures(known: Facts) -> Figures | None:
    """What a role takes, as numbers; None of one whose hardware another role counts, or that has no GPU."""
    if not _pays(known):
        return None
    room = "training_room" if engines.trains(known.role) else "headroom"
    return Figures(
        gpus=_number(known, "workload_gpus"),
        cost_usd_per_hour=_number(known, "cost_usd_per_hour") if placed(known) else None,
        power_w=_number(known, "power_w"),
        headroom=_number(known, room),
    )


def _number(known: Facts, name: str) -> float | None:
    value = known.likely(name)
    return float(value) if isinstance(value, int | float) else None


def of_work(known: Facts) -> str:
    """What a million tokens of answers, or the run, cost, in words; empty where that cannot be told."""
    names = _of_work(known) if per_hour(known) else ()
    if names == OF_TRAINING:
        return f"{run} for the run" if (run := _interval(known, "training_cost_usd")) else ""
    tokens = _interval(known, "cost_usd_per_million_tokens") if names else ""
    load = "stated" if LOAD & known.role.fields.keys() else "full"
    return f"{tokens} at the {load} load" if tokens else ""


def prices(known: Facts) -> str:
    """Whose prices the cost of a role is of, where and how old; empty where there is none."""
    offer = known.offer() if per_hour(known) else None
    return offers.listing(offer, known.role.available.today) if offer else ""


def _pays(known: Facts) -> bool:
    """Whether a role has accelerators of its own that are counted with no other's."""
    return known.role.value("device") in (None, "gpu") and not known.role.text("part_of")


def placed(known: Facts) -> bool:
    """Whether it is known where a role runs: the cheapest machine of any cloud, or of a type unheard of, is nobody's cost."""
    role, offer = known.role, known.offer()
    if offer is not None and (offer.own or offer.pool):
        return True
    if stated := role.text("instance_type"):
        return hardware.node(stated) is not None
    return bool(role.text("cloud") or role.available.clouds)


def _of_work(known: Facts) -> tuple[str, ...]:
    stated = known.role.fields.keys()
    if engines.trains(known.role):
        return OF_TRAINING if RUN & stated else ()
    return OF_SERVING if stated >= REQUEST and placed(known) else ()


def _interval(known: Facts, name: str) -> str:
    ends = known.ends(name)
    if ends is None:
        return ""
    low, high = (units.human(end, glossary()[name].unit) for end in ends)
    return low if low == high else f"{low.split(' ')[0]} to {high}"
