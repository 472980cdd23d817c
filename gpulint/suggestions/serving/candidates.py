"""Candidates: the whole shapes that a server could have instead: card, count, ranks, number format, instances."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import gpu_sharing as shares
from gpulint.catalog import hardware, offers
from gpulint.catalog import tables as catalog
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.edits import accelerator_names as labels
from gpulint.suggestions.serving import changes as moves
from gpulint.suggestions.serving.changes import GPUS_OF_A_NODE, Move, count_of, priced
from gpulint.workload import Value

FILLED = 0.92
"""Share of a card that weights may take before its formulas are asked: what no engine leaves to them is not tried."""
SLICE_FILLED = 0.8
"""The same share of a slice, whose context and workspace are those of a whole card."""
PLAIN = re.compile(r"[1-4]g\.\d+gb")
"""Profiles without media extensions, of less than a whole card."""
COUNTS_TRIED = 2
"""GPU counts of a card that are tried: the smallest that holds the weights, and the next for the KV cache."""
BESIDE_THE_BUS = 4
"""Ranks from which vLLM's guide to parallelism advises stages where cards have no direct link."""
ACCURACY = "a little accuracy"
SPARE_REQUESTS = 2
"""How many times the usual request the longest sequence must stay, so that longer ones than usual still pass."""


CLIENTS = (8, 4, 2)
"""Programs that are to share a card: more have too little of it each."""
TAKEN = 0.9
"""Share of a card that all of its programs take together."""
SHARE_FILLED = 0.4
"""Share of one's part of a card that weights may take: contexts and workspaces do not become smaller with it."""
SMALL_BYTES = 8 * units.GIB
"""Weights of a network that is worth no card of its own: about four billion in 16 bits."""
OBJECTIVES = (
    *("target_tpot_s", "target_ttft_s"),
    *("target_tokens_per_s", "target_requests_per_s", "target_concurrency"),
)
"""How fast a card is for one of several programs is not known, nor whether it keeps these."""
MEASURES_ITS_OWN = (0, 9, 2)
"""The release from which vLLM does not take what other programs hold for its own: github.com/vllm-project/vllm/pull/18974."""
ALONE = (
    "isolation and a steady speed: other programs run on the same card, which the node pool has to allow, "
    "and which must not start at the same moment"
)
"""Programs that start together count each other's memory: github.com/vllm-project/vllm/issues/55827."""


class Shape(NamedTuple):
    """One card, how many of it each pod of an instance has, how ranks share them, in which number format, at what list price."""

    card: hardware.Accelerator
    gpus: int
    pods: int
    stages: int
    quantization: str
    cost_usd_per_hour: float
    profile: str = ""
    clients: int = 0

    @property
    def ranks(self) -> int:
        """Tensor parallel ranks of each stage."""
        return self.gpus * self.pods // self.stages


Kind = Callable[[Facts, hardware.Accelerator, float], Iterator[Shape]]
"""Lists shapes by today's facts, today's card and the bytes of all weights."""


def serving(known: Facts) -> Iterator[Move]:
    """Every shape whose cards, or whose part of one, hold the weights, cheapest first, as changes of the present one."""
    return _moves(known, (_shapes, _slices, _shared))


def cards(known: Facts) -> Iterator[Move]:
    """The same of whole cards."""
    return _moves(known, (_shapes,))


def _moves(known: Facts, kinds: Sequence[Kind]) -> Iterator[Move]:
    now, pods = hardware.accelerator(known.role.text("accelerator")), count_of(known, "pods_per_replica")
    weights = known.likely("weight_bytes")
    if now is None or not pods or not isinstance(weights, int | float):
        return
    if known.role.text("mig_profile"):
        return  # a rule about slices says what may change
    for shape in sorted((shape for kind in kinds for shape in kind(known, now, weights)), key=_order):
        values = {name: value for name, value in _values(shape, known).items() if known.likely(name) != value}
        if values:
            yield Move(_title(shape), values, _lost(shape, now, known))


def _order(one: Shape) -> tuple[float, int, int, str, str]:
    return one.cost_usd_per_hour, one.gpus * one.pods, one.stages, one.card.id, one.quantization


def _shapes(known: Facts, now: hardware.Accelerator, weights: float) -> Iterator[Shape]:
    cloud, heads = labels.cloud(known.role), count_of(known, "attention_heads")
    for product in _products(now, known):
        memory = product.cuda_memory_bytes or product.driver_memory_bytes or 0
        for (quantization, share), pods in itertools.product(_formats(known, product), _pods(known)):
            least = weights * share / (FILLED * memory * pods) if memory else math.inf
            counts = (one for one in GPUS_OF_A_NODE if one >= least and (heads is None or heads % one == 0))
            machines = ((count, offers.cheapest(known.role.available, product.id, count, cloud)) for count in counts)
            held = [(count, machine) for count, machine in machines if machine or (count == 1 and product.id == now.id)]
            for count, machine in held[:COUNTS_TRIED]:
                cost = _price(machine, count) * pods
                for stages in _stages(product, count, pods):
                    yield Shape(product, count, pods, stages, quantization, cost)


def _slices(known: Facts, now: hardware.Accelerator, weights: float) -> Iterator[Shape]:
    """The smallest slices of a card, today's or another, that hold the weights: a whole instance on each."""
    cloud = labels.cloud(known.role)
    for product in (one for one in _products(now, known) if one.mig):
        machine = offers.cheapest(known.role.available, product.id, 1, cloud)
        for quantization, share in _formats(known, product):
            large = (name for name, memory in hardware.slices(product.id) if weights * share <= SLICE_FILLED * memory)
            for profile in itertools.islice((name for name in large if PLAIN.fullmatch(name)), COUNTS_TRIED):
                parts = hardware.slices_per_card(profile, product.id) or 1
                if parts > 1:
                    yield Shape(product, 1, 1, 1, quantization, _price(machine, 1) / parts, profile)


def _shared(known: Facts, now: hardware.Accelerator, weights: float) -> Iterator[Shape]:
    """Today's card in turns with others: as many as leave room for the weights, and the next number of them."""
    memory = now.cuda_memory_bytes or now.driver_memory_bytes or 0
    if not _may_share(known) or weights > SMALL_BYTES:
        return
    machine = offers.cheapest(known.role.available, now.id, 1, labels.cloud(known.role))
    fitting = (count for count in CLIENTS if weights <= SHARE_FILLED * memory * TAKEN / count)
    for clients in itertools.islice(fitting, COUNTS_TRIED):
        yield Shape(now, 1, 1, 1, "", _price(machine, 1) / clients, clients=clients)


def _may_share(known: Facts) -> bool:
    """Whether it is one program on one card that measures its own memory, in turns if it shares, without an objective."""
    role = known.role
    release = catalog.release(role.text("engine_version"))
    measured = role.text("engine") == "vllm" and release is not None and release >= MEASURES_ITS_OWN
    alone = [count_of(known, name) for name in ("gpus_per_pod", "pods_per_replica", "replicas", "engines_on_card")]
    aimless = not any(isinstance(known.likely(name), int | float) for name in OBJECTIVES)
    in_turns = shares.strategy(role.text("sharing")) in ("", shares.TURNS)
    further = any(isinstance(known.likely(name), int | float) for name in ("replicas_most", "kv_cache_memory_bytes"))
    return measured and aimless and in_turns and alone == [1] * 4 and not further


def _price(machine: offers.Offer | None, gpus: int) -> float:
    """The share of a machine that so many of its cards are; not established is dearer than anything."""
    if machine is None or machine.cost_usd_per_hour is None:
        return math.inf
    return machine.cost_usd_per_hour * gpus / machine.node_gpus


def _pods(known: Facts) -> Iterator[int]:
    """One pod; where the instance is a group of them, also as many as today and twice as many."""
    yield 1
    now = count_of(known, "pods_per_replica") or 1
    if now > 1:
        yield from (now, 2 * now)


def _stages(product: hardware.Accelerator, gpus: int, pods: int) -> Iterator[int]:
    """A stage for each pod; two where the cards of a pod meet over the host's bus."""
    yield pods
    if gpus >= BESIDE_THE_BUS and (product.link_domain_gpus or 1) < gpus:
        yield 2 * pods


def _products(now: hardware.Accelerator, known: Facts) -> Iterator[hardware.Accelerator]:
    """The cards that the file can name, and today's."""
    found = [product for product, _ in priced(now, known.role)]
    yield now
    for product in found:
        if product.id != now.id and not moves.unsuited(known, product):
            yield product


def _formats(known: Facts, product: hardware.Accelerator) -> Iterator[tuple[str, float]]:
    """As they are stored, and 16-bit weights in 8 bits where the card computes in them: with the share of bytes that is left."""
    yield "", 1.0
    if known.likely("bytes_per_weight") == 2.0 and (product.compute_capability or 0) >= 8.9:
        yield "fp8", 0.5


def _share(shape: Shape, known: Facts) -> Mapping[str, Value]:
    """So many clients, and no more of the card's memory than one's part."""
    if not shape.clients:
        return {}
    now, most = known.likely("gpu_memory_utilization"), math.floor(TAKEN / shape.clients * 100) / 100
    taken = min(now, most) if isinstance(now, int | float) else most
    return {"sharing": shares.named(shares.TURNS, shape.clients), "gpu_memory_utilization": taken}


def _values(shape: Shape, known: Facts) -> Mapping[str, Value]:
    values: dict[str, Value] = {
        "accelerator": shape.card.id,
        "gpus_per_pod": shape.gpus,
        "pods_per_replica": shape.pods,
        "tensor_parallel": shape.ranks,
        "pipeline_parallel": shape.stages,
        "data_parallel": 1,
    }
    more: dict[str, Value] = {"quantization": shape.quantization, "mig_profile": shape.profile}
    return {**values, **{name: value for name, value in more.items() if value}, **_share(shape, known)}


def _title(shape: Shape) -> str:
    parts = [f"a slice {shape.profile} of {shape.card.name}" if shape.profile else f"{shape.gpus} × {shape.card.name}"]
    if shape.clients:
        parts = [f"{shape.card.name} shared by {shape.clients} programs in turns"]
    if shape.pods > 1:
        parts.append(f"{shape.pods} pods")
    if shape.ranks > 1:
        parts.append(f"tensor parallel {shape.ranks}")
    if shape.stages > 1:
        parts.append(f"pipeline parallel {shape.stages}")
    if shape.quantization:
        parts.append("weights in FP8, quantised at load")
    return ", ".join(parts)


def _lost(shape: Shape, now: hardware.Accelerator, known: Facts) -> str:
    gpus = (count_of(known, "gpus_per_pod") or 1) * (count_of(known, "pods_per_replica") or 1)
    if shape.profile:
        rest = "the rest of the card, which its node has to be cut into slices for"
        return " and ".join(filter(None, (ACCURACY if shape.quantization else "", rest)))
    if shape.clients:
        return ALONE
    slower = moves.slower(now, shape.card, gpus, shape.gpus * shape.pods)
    return " and ".join(filter(None, (slower, ACCURACY if shape.quantization else "")))


def for_requests(move: Move, changed: Facts) -> Move | None:
    """A shape that is too small, with sequences cut to what fits; None where the stated requests come near that."""
    prompt, output = (changed.likely(name) for name in ("request_prompt_tokens", "request_output_tokens"))
    if not isinstance(prompt, int | float) or not isinstance(output, int | float) or "max_model_len" in move.values:
        return None
    for cut in moves.moves("max_model_len", changed):
        if int(str(cut.values["max_model_len"])) >= SPARE_REQUESTS * (prompt + output):
            lost = " and ".join(filter(None, (move.gives_up, cut.gives_up)))
            return Move(f"{move.title}, {cut.title}", {**move.values, **cut.values}, lost)
    return None


def for_load(move: Move, changed: Facts) -> Move | None:
    """A shape with the instances that carry the stated load in the adverse world; None where today's number does."""
    now = count_of(changed, "replicas")
    needed = [count for count in _instances(changed) if count]
    if not now or not needed or max(needed) == now:
        return None
    replicas = max(needed)
    named = f"{replicas} replica{'' if replicas == 1 else 's'} of {move.title}"
    return Move(named, {**move.values, "replicas": replicas}, move.gives_up)


def _instances(known: Facts) -> Iterator[int]:
    """Instances that each stated load needs."""
    from gpulint.suggestions.serving.layouts import LOADS

    now = count_of(known, "replicas") or 1
    for load, carried in LOADS:
        wanted, given = (known.worlds(name) for name in (load, carried))
        if isinstance(wanted, Missing) or isinstance(given, Missing):
            continue
        if isinstance(wanted.adverse, int | float) and isinstance(given.adverse, int | float) and given.adverse > 0:
            yield math.ceil(wanted.adverse * now / given.adverse)
