"""Smallest hardware: the accelerator, count and layout that fits if a spec names no accelerator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines
from gpulint.catalog import hardware, offers, resource_names
from gpulint.catalog.offers import EVERYTHING, Offer
from gpulint.facts.model import Facts, Missing
from gpulint.policy.conditions import cel
from gpulint.policy.rules import evaluate, taken_memory
from gpulint.policy.rules.evaluate import Outcome
from gpulint.policy.rules.rule import Rule, load_shipped
from gpulint.report.model import Fit, GpuMemory, Scenarios, Severity
from gpulint.suggestions.serving import changes
from gpulint.workload import Field, Unknown, Value

COUNTS = (1, 2, 4, 8)
"""GPUs of one machine to try if no count is declared."""
COUNTS_OF_NODES = (16, 32, 64, 128, 256)
"""GPUs of several nodes to try for a training run that no machine holds."""
NODE_GPUS = 8
OPEN = frozenset({"accelerator", "gpus_per_pod", "gpus_per_replica", "tensor_parallel"})
"""Inputs that may be missing: the accelerator, the GPU count, and the ranks."""
SHARED = ("mig_profile", "sharing")
"""Quantities of partitioned or shared GPUs, for which no accelerator is proposed."""
FILLED = 0.98
"""Maximum share of memory for weights before the formulas are computed."""
HALF = ("half", "float16", "fp16")
CAPABILITIES = frozenset({"compute_capability", "vendor"})
"""Facts of an accelerator that rules compare, beside those whose names end in `_capability`."""
AXES = ("tensor_parallel", "pipeline_parallel", "data_parallel")


class Layout(NamedTuple):
    """The GPUs, the GPUs per pod, the tensor parallel ranks, whether the file declares it, and the
    fields it sets.
    """

    gpus: int
    gpus_per_pod: int
    tensor_parallel: int
    stated: bool
    fields: Mapping[str, Field]


class PricedAccelerator(NamedTuple):
    """An accelerator, and an available machine that holds it."""

    product: hardware.Accelerator
    offer: Offer

    def cost_usd_per_hour(self, gpus: int) -> float | None:
        """Return the cost of so many of the machine's GPUs, as their share of it."""
        whole = self.offer.cost_usd_per_hour
        return None if whole is None else whole * gpus / self.offer.node_gpus

    def order(self, gpus: int) -> tuple[float, int, str, str, str, str]:
        """Sort by cost, then by memory, then by name."""
        cost = self.cost_usd_per_hour(gpus)
        offer = self.offer
        memory = find_memory_bytes(self.product)
        return math.inf if cost is None else cost, memory, self.product.id, offer.cloud, offer.instance_type, offer.pool


class Request(NamedTuple):
    """The requested role, its traced facts, a further condition on an accelerator, the fact that must not be negative, and
    the part of the memory that alone counts.
    """

    known: Facts
    traced: Facts
    accepted: Callable[[Facts], bool]
    left: str
    part: str


def find_smallest(
    facts: Facts, offered: Sequence[Offer], accepted: Callable[[Facts], bool] = lambda _: True, part: str = ""
) -> tuple[Fit, ...]:
    """Return what fits even in the worst scenario: the cheapest first (without prices the smallest
    memory), then other counts on smaller GPUs.

    `part` is weights or states if not all that a role holds counts. Return nothing if the
    accelerator is known or other inputs are missing.
    """
    asked = Request(
        facts, facts.start_trace(), accepted, taken_memory.LEFT.get(part) or find_headroom_fact(facts), part
    )
    if not _is_answerable(asked):
        return ()
    found = _find_fits(asked, offered)
    clouds = {fit.prices.partition(" ")[0] for fit in found if fit.prices and not fit.pool}
    if len(clouds) > 1:
        found = _find_fits_in_one_cloud(asked, offered, found, clouds)
    given = changes.find_count(facts, "gpus_per_replica")
    return tuple(fit._replace(given_gpus=given) if given and fit.gpus > given else fit for fit in found)


def _find_fits_in_one_cloud(
    asked: Request, offered: Sequence[Offer], found: Sequence[Fit], clouds: Iterable[str]
) -> tuple[Fit, ...]:
    """Return the fits of the cloud that offers most of those found, then of the cheapest."""
    wanted = {(fit.accelerator, fit.gpus) for fit in found}
    listed = [
        _find_fits(asked, [offer for offer in offered if offer.pool or offer.cloud == cloud])
        for cloud in sorted(clouds)
    ]
    return max(
        (fits for fits in listed if fits),
        key=lambda fits: (
            len(wanted & {(fit.accelerator, fit.gpus) for fit in fits}),
            -(fits[0].cost_usd_per_hour or math.inf),
        ),
    )


def _find_fits(asked: Request, offered: Sequence[Offer]) -> tuple[Fit, ...]:
    """Return what fits of some offers: on one machine, else on several."""
    facts, cards = asked.known, _list_cards(asked.known, offered)
    found = _sort_fits(_search_layouts(asked, cards, _list_layouts(facts)))
    return found or _sort_fits(itertools.islice(_search_layouts(asked, cards, _list_node_layouts(facts)), 1))


def find_headroom_fact(facts: Facts) -> str:
    """Return the name of the fact for the memory left on a GPU, or in an engine's share of it."""
    return "training_room" if engines.is_training(facts.role) else "headroom"


def list_accelerators(facts: Facts, offered: Sequence[Offer]) -> list[hardware.Accelerator]:
    """Return the available accelerators of the vendor that the role requests, smallest memory
    first.

    GPUs on hosts with Arm processors are included, unless a team declares what it has.
    """
    maker, had = find_vendor(facts), {offer.accelerator for offer in offered}
    if facts.role.available._replace(today="") == EVERYTHING:
        had |= {node.accelerator for node in hardware.list_nodes() if find_cloud(facts) in (None, node.cloud)}
    found = [
        accelerator
        for accelerator in hardware.list_accelerators()
        if accelerator.id in had and accelerator.vendor == maker
    ]
    return sorted(found, key=lambda product: (find_memory_bytes(product), product.id))


def find_cloud(facts: Facts) -> str | None:
    """Return the cloud of the file; None if any is possible."""
    cloud = facts.expected("cloud")
    return cloud if isinstance(cloud, str) else None


def find_vendor(facts: Facts) -> str:
    """Return the vendor of the GPUs that a role requests."""
    return resource_names.find_vendor(facts.role.text("accelerator_resource")) or "nvidia"


def find_memory_bytes(product: hardware.Accelerator | None) -> int:
    """Return the memory of an accelerator, as CUDA reports it if that is known."""
    return (product.cuda_memory_bytes or product.driver_memory_bytes or 0) if product else 0


def _is_answerable(asked: Request) -> bool:
    facts = asked.known
    left = facts.scenarios(asked.left)
    if not isinstance(left, Missing) or "accelerator" not in left.names or not left.names <= OPEN:
        return False
    whole = facts.role.value("device") in (None, "gpu") and not any(facts.role.value(name) for name in SHARED)
    return whole and facts.expected("gpus_per_replica") != 0


def _search_layouts(asked: Request, cards: Sequence[PricedAccelerator], layouts: Iterable[Layout]) -> Iterator[Fit]:
    """Yield the cheapest accelerator of each layout, if it is smaller than those of fewer GPUs."""
    largest = math.inf
    for layout in layouts:
        smaller = [card for card in _find_best_machines(cards, layout) if find_memory_bytes(card.product) < largest]
        if found := next(_find_fitting(smaller, layout, asked), None):
            yield found
            largest = find_memory_bytes(hardware.accelerator(found.accelerator))
            if layout.stated:
                return


def _find_best_machines(cards: Sequence[PricedAccelerator], layout: Layout) -> tuple[PricedAccelerator, ...]:
    """Return the best machine of each accelerator that holds a pod, cheapest first."""
    best: dict[str, PricedAccelerator] = {}
    for card in sorted(cards, key=lambda card: card.order(layout.gpus)):
        if card.offer.node_gpus >= layout.gpus_per_pod:
            best.setdefault(card.product.id, card)
    return tuple(best.values())


def _list_layouts(facts: Facts) -> Iterator[Layout]:
    """Yield the declared layout, and those of one machine if the count is open or no accelerator
    fits.
    """
    gpus, pods = changes.find_count(facts, "gpus_per_replica"), changes.find_count(facts, "pods_per_replica") or 1
    ranks, stages, copies = (changes.find_count(facts, name) or 1 for name in AXES)
    whole = gpus or ranks * stages * copies
    if gpus or whole > 1:
        in_pod = (changes.find_count(facts, "gpus_per_pod") if gpus else None) or whole // pods
        yield Layout(whole, in_pod, ranks, True, {} if gpus else _build_counts(whole))
    alone = pods == 1 and (engines.is_training(facts.role) or whole == ranks)
    for count in COUNTS if alone else ():
        if count > (whole if gpus or whole > 1 else 0) and _divides(facts, count):
            yield _build_layout(count, facts)


def _list_node_layouts(facts: Facts) -> Iterator[Layout]:
    """Yield the layouts of a training run on several nodes, if nothing states its count."""
    if not engines.is_training(facts.role) or changes.find_count(facts, "gpus_per_replica"):
        return
    for count in COUNTS_OF_NODES:
        fields = {
            **_build_counts(count),
            "gpus_per_pod": Field(NODE_GPUS),
            "pods_per_replica": Field(count // NODE_GPUS),
        }
        yield Layout(count, NODE_GPUS, 1, False, fields)


def _build_layout(count: int, facts: Facts) -> Layout:
    """Return a layout of one machine: tensor parallel ranks of a server, data-parallel ranks in
    training.
    """
    if engines.is_training(facts.role):
        return Layout(count, count, 1, False, _build_counts(count))
    return Layout(count, count, count, False, {**_build_counts(count), "tensor_parallel": Field(count)})


def _build_counts(gpus: int) -> Mapping[str, Field]:
    return {"gpus_per_pod": Field(gpus), "gpus_per_replica": Field(gpus), "pods_per_replica": Field(1)}


def _divides(facts: Facts, count: int) -> bool:
    heads = changes.find_count(facts, "attention_heads")
    return engines.is_training(facts.role) or heads is None or heads % count == 0


def _list_cards(facts: Facts, offered: Sequence[Offer]) -> list[PricedAccelerator]:
    """Return each offer of the requested vendor whose accelerator supports the number format."""
    had = ((offer, hardware.accelerator(offer.accelerator)) for offer in offered)
    maker = find_vendor(facts)
    return [
        PricedAccelerator(product, offer)
        for offer, product in had
        if product and product.vendor == maker and _computes(product, facts)
    ]


def _computes(product: hardware.Accelerator, facts: Facts) -> bool:
    """Return whether an accelerator supports the checkpoint's format, or the file casts it.

    Those of AMD and Intel do.
    """
    cast = any(facts.role.text(name) in HALF for name in ("weight_dtype", "training_dtype"))
    return (
        cast
        or facts.role.value("takes_either_half") is True
        or product.vendor != "nvidia"
        or not changes.loses_bfloat16(facts, product)
    )


def _find_fitting(cards: Sequence[PricedAccelerator], layout: Layout, asked: Request) -> Iterator[Fit]:
    """Yield the accelerators that fit in every scenario and that no rule rejects."""
    for card in cards:
        if not _holds_the_weights(card, layout, asked.known):
            continue
        role = asked.known.role.having(**layout.fields, accelerator=Field(card.product.id))
        if role.value("takes_either_half") is True and changes.loses_bfloat16(asked.known, card.product):
            role = role.having(training_dtype=Field(HALF[1]))
        tried = asked.traced.variant(role)
        left = tried.scenarios(asked.left)
        if not isinstance(left, Missing) and _fits_every_scenario(left) and asked.accepted(tried):
            yield _build_fit(card, layout, left, taken_memory.measure(tried, asked.part))


def _build_fit(card: PricedAccelerator, layout: Layout, left: Scenarios[Value], memory: GpuMemory | None) -> Fit:
    offer, cost = card.offer, card.cost_usd_per_hour(layout.gpus)
    listed = f"{offer.cloud} {offer.region} {offer.price_date}".strip() if cost is not None else ""
    return Fit(
        accelerator=card.product.id,
        name=card.product.name,
        gpus=layout.gpus,
        tensor_parallel=layout.tensor_parallel,
        headroom=Scenarios(*left),  # type: ignore[arg-type]
        cost_usd_per_hour=cost,
        prices=listed,
        pool=offer.pool,
        memory=memory,
    )


def _fits_every_scenario(left: Scenarios[Value]) -> bool:
    return all(isinstance(value, int | float) and value >= 0 for value in left)


def _holds_the_weights(card: PricedAccelerator, layout: Layout, facts: Facts) -> bool:
    weights = facts.expected("weight_bytes")
    if engines.is_training(facts.role) or not isinstance(weights, int | float):
        return True
    return weights <= FILLED * find_memory_bytes(card.product) * layout.gpus


def _sort_fits(found: Iterator[Fit]) -> tuple[Fit, ...]:
    """Return the smallest first and the others by count."""
    fits = tuple(found)
    if not fits:
        return ()
    first = min(fits, key=_sort_key)
    return (first, *(fit for fit in fits if fit is not first))


def _sort_key(fit: Fit) -> tuple[float, int, int]:
    cost = math.inf if fit.cost_usd_per_hour is None else fit.cost_usd_per_hour
    return cost, find_memory_bytes(hardware.accelerator(fit.accelerator)) * fit.gpus, fit.gpus


# ---- every accelerator that a role fits on


class Fitting(NamedTuple):
    """The accelerators that a role fits on in every scenario, in some, and in none; one that cannot
    run it is not listed.

    `smallest` is the accelerator, count and layout to take, and others of another count.
    """

    fits: tuple[str, ...] = ()
    borderline: tuple[str, ...] = ()
    too_small: tuple[str, ...] = ()
    smallest: tuple[Fit, ...] = ()


def find_fitting(
    facts: Facts, outcome: Outcome, rules: Sequence[Rule], smallest: Sequence[Fit] | None = None
) -> Fitting:
    """Return how a role that names no accelerator fits on each one that is available; `smallest` if it is known already."""
    accelerator = facts.role.value("accelerator")
    if accelerator is not None and not isinstance(accelerator, Unknown):
        return Fitting()
    left = facts.scenarios(find_headroom_fact(facts))
    if not isinstance(left, Missing) or "accelerator" not in left.names:
        return Fitting()
    offered = offers.list_offers(facts.role.available, find_cloud(facts))
    listed = Fitting()
    if left.names == {"accelerator"}:
        listed = _try_accelerators(facts, outcome, list_accelerators(facts, offered))
    if smallest is not None:
        return listed._replace(smallest=tuple(smallest))
    severe = tuple(rule for rule in rules if rule.severity is Severity.ERROR)
    found = find_smallest(facts, offered, lambda tried: adds_no_error(severe, tried, outcome))
    return listed._replace(smallest=found)


def _try_accelerators(facts: Facts, outcome: Outcome, candidates: Sequence[hardware.Accelerator]) -> Fitting:
    """Try each accelerator in the layout that the file declares."""
    name = "training_room_bytes" if engines.is_training(facts.role) else "headroom_bytes"
    fits: list[str] = []
    borderline: list[str] = []
    too_small: list[str] = []
    unevaluated = False
    rules = tuple(_find_capability_rules(outcome))
    traced = facts.start_trace()
    for product in candidates:
        tried = traced.variant(facts.role.having(accelerator=Field(product.id)))
        left = tried.scenarios(name)
        if isinstance(left, Missing):
            continue
        if _number(left.best) < 0:
            too_small.append(product.name)
            continue
        after = evaluate.evaluate(rules, tried)
        unevaluated |= bool(after.not_evaluated)
        if not after.holding and not after.not_evaluated:
            (fits if _number(left.worst) >= 0 else borderline).append(product.name)
    if unevaluated and not fits and not borderline:
        return Fitting()
    return Fitting(tuple(fits), tuple(borderline), tuple(too_small))


def adds_no_error(rules: Sequence[Rule], tried: Facts, before: Outcome) -> bool:
    """Whether no error holds that did not hold before, and every capability of the accelerator is
    known.
    """
    after = evaluate.evaluate(rules, tried)
    return after.holding <= before.holding and not any(_needs_capability(entry.rule) for entry in after.not_evaluated)


def _find_capability_rules(outcome: Outcome) -> Iterator[Rule]:
    """Yield the error rules that were not evaluated and compare a capability of the accelerator."""
    for entry in outcome.not_evaluated:
        rule = load_shipped().get(entry.rule)
        if rule is not None and rule.severity is Severity.ERROR and _needs_capability(entry.rule):
            yield rule


def _needs_capability(name: str) -> bool:
    """Whether a shipped rule compares a capability of the accelerator."""
    rule = load_shipped().get(name)
    return rule is not None and any(map(_is_capability, cel.find_names(rule.when)))


def _is_capability(name: str) -> bool:
    return name in CAPABILITIES or name.endswith("_capability")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
