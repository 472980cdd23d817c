"""Serving candidates: whole shapes of a server (GPU, count, ranks, number format, instances)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import gpu_sharing, hardware, offers, tables
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.edits import accelerator_names
from gpulint.suggestions.generators import Candidate, generates
from gpulint.suggestions.serving import changes
from gpulint.suggestions.serving.changes import GPUS_OF_A_NODE, find_count, rank_by_price
from gpulint.workload import Value

FILLED = 0.92
"""Share of GPU memory that weights may take in a candidate. No engine leaves more to them."""
SLICE_FILLED = 0.8
"""The same share for a slice, whose context and workspace are as large as on a whole GPU."""
PLAIN = re.compile(r"[1-4]g\.\d+gb")
"""Profiles without media extensions that are smaller than a whole GPU."""
COUNTS_TRIED = 2
"""GPU counts tried per accelerator: the smallest that holds the weights, and the next for the KV
cache.
"""
BESIDE_THE_BUS = 4
"""Ranks from which vLLM's guide to parallelism advises pipeline stages if GPUs have no direct link.
"""
ACCURACY = "slightly lower accuracy"
SPARE_REQUESTS = 2
"""Minimum ratio of the longest sequence to the typical request, so that longer requests still pass.
"""


CLIENTS = (8, 4, 2)
"""Numbers of programs that may share a GPU. More would leave too little for each."""
TAKEN = 0.9
"""Share of GPU memory that all of its programs take together."""
SHARE_FILLED = 0.4
"""Share of one program's part of a GPU that weights may take.

Contexts and workspaces do not shrink with the part.
"""
SMALL_BYTES = 8 * units.GIB
"""Largest weights of a model that may share a GPU: about four billion parameters in 16 bits."""
OBJECTIVES = (
    *("target_tpot_s", "target_ttft_s"),
    *("target_tokens_per_s", "target_requests_per_s", "target_concurrency"),
)
"""Objectives whose values are unknown on a shared GPU."""
MEASURES_ITS_OWN = (0, 9, 2)
"""The first release in which vLLM does not count the memory of other programs as its own:
github.com/vllm-project/vllm/pull/18974.
"""
ALONE = (
    "no isolation and a varying speed: other programs run on the same GPU. The node pool must allow sharing, "
    "and the programs must not start at the same time"
)
"""Programs that start together count each other's memory:
github.com/vllm-project/vllm/issues/55827.
"""


class Shape(NamedTuple):
    """An accelerator with the GPUs of a pod, the pods, the stages, the number format and the list
    price.
    """

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
"""Function that lists shapes from the facts, the present accelerator and the bytes of all weights.
"""


def propose_shapes(facts: Facts) -> Iterator[Candidate]:
    """Yield every shape whose GPUs, slices or shares hold the weights, cheapest first, as changes
    of the present one.
    """
    return _propose(facts, (_list_whole_gpus, _list_slices, _list_shared))


@generates("accelerator", order=1)
def propose_whole_gpus(facts: Facts) -> Iterator[Candidate]:
    """Yield the same for whole GPUs only."""
    return _propose(facts, (_list_whole_gpus,))


def _propose(facts: Facts, kinds: Sequence[Kind]) -> Iterator[Candidate]:
    now, pods = hardware.accelerator(facts.role.text("accelerator")), find_count(facts, "pods_per_replica")
    weights = facts.expected("weight_bytes")
    if now is None or not pods or not isinstance(weights, int | float):
        return
    if facts.role.text("mig_profile"):
        return  # rules about slices propose their own changes
    for shape in sorted((shape for kind in kinds for shape in kind(facts, now, weights)), key=_sort_key):
        values = {name: value for name, value in _build_values(shape, facts).items() if facts.expected(name) != value}
        if values:
            yield Candidate(_render_title(shape), values, _describe_trade_off(shape, now, facts))


def _sort_key(shape: Shape) -> tuple[float, int, int, str, str]:
    return shape.cost_usd_per_hour, shape.gpus * shape.pods, shape.stages, shape.card.id, shape.quantization


def _list_whole_gpus(facts: Facts, now: hardware.Accelerator, weights: float) -> Iterator[Shape]:
    cloud, heads = accelerator_names.find_cloud(facts.role), find_count(facts, "attention_heads")
    for product in _list_products(now, facts):
        memory = product.cuda_memory_bytes or product.driver_memory_bytes or 0
        for (quantization, share), pods in itertools.product(_list_formats(facts, product), _list_pods(facts)):
            least = weights * share / (FILLED * memory * pods) if memory else math.inf
            counts = (count for count in GPUS_OF_A_NODE if count >= least and (heads is None or heads % count == 0))
            machines = (
                (count, offers.find_cheapest(facts.role.available, product.id, count, cloud)) for count in counts
            )
            available = [
                (count, machine) for count, machine in machines if machine or (count == 1 and product.id == now.id)
            ]
            for count, machine in available[:COUNTS_TRIED]:
                cost = _find_price(machine, count) * pods
                for stages in _list_stages(product, count, pods):
                    yield Shape(product, count, pods, stages, quantization, cost)


def _list_slices(facts: Facts, now: hardware.Accelerator, weights: float) -> Iterator[Shape]:
    """Yield the smallest MIG slices of the present or another accelerator that hold the weights,
    one instance on each.
    """
    cloud = accelerator_names.find_cloud(facts.role)
    for product in (product for product in _list_products(now, facts) if product.mig):
        machine = offers.find_cheapest(facts.role.available, product.id, 1, cloud)
        for quantization, share in _list_formats(facts, product):
            large = (name for name, memory in hardware.slices(product.id) if weights * share <= SLICE_FILLED * memory)
            for profile in itertools.islice((name for name in large if PLAIN.fullmatch(name)), COUNTS_TRIED):
                parts = hardware.slices_per_card(profile, product.id) or 1
                if parts > 1:
                    yield Shape(product, 1, 1, 1, quantization, _find_price(machine, 1) / parts, profile)


def _list_shared(facts: Facts, now: hardware.Accelerator, weights: float) -> Iterator[Shape]:
    """Yield the present GPU shared with other programs, by the two largest numbers of clients that
    hold the weights.
    """
    memory = now.cuda_memory_bytes or now.driver_memory_bytes or 0
    if not _may_share(facts) or weights > SMALL_BYTES:
        return
    machine = offers.find_cheapest(facts.role.available, now.id, 1, accelerator_names.find_cloud(facts.role))
    fitting = (count for count in CLIENTS if weights <= SHARE_FILLED * memory * TAKEN / count)
    for clients in itertools.islice(fitting, COUNTS_TRIED):
        yield Shape(now, 1, 1, 1, "", _find_price(machine, 1) / clients, clients=clients)


def _may_share(facts: Facts) -> bool:
    """Return whether it is one program on one GPU that measures its own memory and has no
    objective.
    """
    role = facts.role
    release = tables.release(role.text("engine_version"))
    measured = role.text("engine") == "vllm" and release is not None and release >= MEASURES_ITS_OWN
    alone = [find_count(facts, name) for name in ("gpus_per_pod", "pods_per_replica", "replicas", "engines_on_card")]
    aimless = not any(isinstance(facts.expected(name), int | float) for name in OBJECTIVES)
    in_turns = gpu_sharing.parse_strategy(role.text("sharing")) in ("", gpu_sharing.TURNS)
    further = any(isinstance(facts.expected(name), int | float) for name in ("replicas_most", "kv_cache_memory_bytes"))
    return measured and aimless and in_turns and alone == [1] * 4 and not further


def _find_price(machine: offers.Offer | None, gpus: int) -> float:
    """Return the price of so many GPUs of a machine. An unknown price counts as infinite."""
    if machine is None or machine.cost_usd_per_hour is None:
        return math.inf
    return machine.cost_usd_per_hour * gpus / machine.node_gpus


def _list_pods(facts: Facts) -> Iterator[int]:
    """Yield one pod.

    For an instance of several pods, also yield the present number and twice that.
    """
    yield 1
    now = find_count(facts, "pods_per_replica") or 1
    if now > 1:
        yield from (now, 2 * now)


def _list_stages(product: hardware.Accelerator, gpus: int, pods: int) -> Iterator[int]:
    """Yield one stage per pod, and two if the GPUs of a pod connect over the host's bus."""
    yield pods
    if gpus >= BESIDE_THE_BUS and (product.link_domain_gpus or 1) < gpus:
        yield 2 * pods


def _list_products(now: hardware.Accelerator, facts: Facts) -> Iterator[hardware.Accelerator]:
    """Yield the present accelerator and those that the file can name."""
    found = [product for product, _ in rank_by_price(now, facts.role)]
    yield now
    for product in found:
        if product.id != now.id and not changes.is_unsupported(facts, product):
            yield product


def _list_formats(facts: Facts, product: hardware.Accelerator) -> Iterator[tuple[str, float]]:
    """Yield the stored format, and FP8 for 16-bit weights if the GPU supports it, with the share of
    bytes left.
    """
    yield "", 1.0
    if facts.expected("bytes_per_weight") == 2.0 and (product.compute_capability or 0) >= 8.9:
        yield "fp8", 0.5


def _build_share(shape: Shape, facts: Facts) -> Mapping[str, Value]:
    """Return the values for a shared GPU: the number of clients and one client's part of the
    memory.
    """
    if not shape.clients:
        return {}
    now, most = facts.expected("gpu_memory_utilization"), math.floor(TAKEN / shape.clients * 100) / 100
    taken = min(now, most) if isinstance(now, int | float) else most
    return {"sharing": gpu_sharing.describe(gpu_sharing.TURNS, shape.clients), "gpu_memory_utilization": taken}


def _build_values(shape: Shape, facts: Facts) -> Mapping[str, Value]:
    values: dict[str, Value] = {
        "accelerator": shape.card.id,
        "gpus_per_pod": shape.gpus,
        "pods_per_replica": shape.pods,
        "tensor_parallel": shape.ranks,
        "pipeline_parallel": shape.stages,
        "data_parallel": 1,
    }
    more: dict[str, Value] = {"quantization": shape.quantization, "mig_profile": shape.profile}
    return {**values, **{name: value for name, value in more.items() if value}, **_build_share(shape, facts)}


def _render_title(shape: Shape) -> str:
    parts = [f"a {shape.profile} slice of {shape.card.name}" if shape.profile else f"{shape.gpus} × {shape.card.name}"]
    if shape.clients:
        parts = [f"{shape.card.name} time-shared by {shape.clients} programs"]
    if shape.pods > 1:
        parts.append(f"{shape.pods} pods")
    if shape.ranks > 1:
        parts.append(f"tensor parallel {shape.ranks}")
    if shape.stages > 1:
        parts.append(f"pipeline parallel {shape.stages}")
    if shape.quantization:
        parts.append("weights in FP8, quantised at load")
    return ", ".join(parts)


def _describe_trade_off(shape: Shape, now: hardware.Accelerator, facts: Facts) -> str:
    gpus = (find_count(facts, "gpus_per_pod") or 1) * (find_count(facts, "pods_per_replica") or 1)
    if shape.profile:
        rest = "only a part of the GPU, and its node must be partitioned into MIG slices"
        return " and ".join(filter(None, (ACCURACY if shape.quantization else "", rest)))
    if shape.clients:
        return ALONE
    slower = changes.describe_slowdown(now, shape.card, gpus, shape.gpus * shape.pods)
    return " and ".join(filter(None, (slower, ACCURACY if shape.quantization else "")))


def fit_requests(move: Candidate, changed: Facts) -> Candidate | None:
    """Return a shape that is too small with sequences cut to what fits.

    None means that typical requests would come too close to the limit.
    """
    prompt, output = (changed.expected(name) for name in ("request_prompt_tokens", "request_output_tokens"))
    if not isinstance(prompt, int | float) or not isinstance(output, int | float) or "max_model_len" in move.values:
        return None
    for cut in changes.propose_max_model_len(changed):
        if int(str(cut.values["max_model_len"])) >= SPARE_REQUESTS * (prompt + output):
            lost = " and ".join(filter(None, (move.trade_off, cut.trade_off)))
            return Candidate(f"{move.title}, {cut.title}", {**move.values, **cut.values}, lost)
    return None


def fit_load(move: Candidate, changed: Facts) -> Candidate | None:
    """Return a shape with the instances that carry the load in the worst scenario;

    None if today's number does.
    """
    now = find_count(changed, "replicas")
    needed = [count for count in _count_instances(changed) if count]
    if not now or not needed or max(needed) == now:
        return None
    replicas = max(needed)
    named = f"{replicas} replica{'' if replicas == 1 else 's'} of {move.title}"
    return Candidate(named, {**move.values, "replicas": replicas}, move.trade_off)


def _count_instances(facts: Facts) -> Iterator[int]:
    """Yield the number of instances that each declared load needs."""
    from gpulint.suggestions.serving.layouts import LOADS

    now = find_count(facts, "replicas") or 1
    for load, carried in LOADS:
        wanted, given = (facts.scenarios(name) for name in (load, carried))
        if isinstance(wanted, Missing) or isinstance(given, Missing):
            continue
        if isinstance(wanted.worst, int | float) and isinstance(given.worst, int | float) and given.worst > 0:
            yield math.ceil(wanted.worst * now / given.worst)
