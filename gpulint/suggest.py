"""Alternatives: small changes of a role, kept only if the same rules, run again, have nothing new to say in any world."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines, facts, hardware, units
from gpulint.facts import Facts, Missing
from gpulint.findings import Edit, Suggestion
from gpulint.policy import check
from gpulint.policy.check import Outcome, Verdict
from gpulint.policy.rule import Rule
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

PRINTED = 3
TRIED = 24
GPUS_OF_A_NODE = (1, 2, 4, 8)


class Move(NamedTuple):
    """A change to try: what to call it, the quantities it sets, and what it gives up."""

    title: str
    values: Mapping[str, Value]
    gives_up: str = ""


def alternatives(
    verdict: Verdict, outcome: Outcome, workload: Workload, known: Facts, rules: Sequence[Rule]
) -> tuple[Suggestion, ...]:
    """Up to three changes after which the rule is evaluated, holds in no world, and nothing else is new."""
    accepted: list[tuple[Move, Facts]] = []
    tried = 0
    for kind in verdict.rule.change:
        for move in _moves(kind, known):
            if tried == TRIED:
                break
            tried += 1
            changed = facts.of(_applied(known.role, move.values), known.resolved)
            if _cures(verdict.rule, outcome, check.judged(check.matching(rules, workload, changed.role), changed)):
                accepted.append((move, changed))
                break
    accepted.sort(key=lambda pair: len(pair[0].values))
    return tuple(_suggestion(move, known, changed) for move, changed in accepted[:PRINTED])


def _cures(rule: Rule, before: Outcome, after: Outcome) -> bool:
    lacking = {one.rule for one in before.not_evaluated}
    if rule.name in after.holding or any(one.rule not in lacking for one in after.not_evaluated):
        return False
    severities = {verdict.rule.name: verdict.severity for verdict in before.verdicts}
    return all(verdict.severity <= severities.get(verdict.rule.name, 0) for verdict in after.verdicts)


def _applied(role: Role, values: Mapping[str, Value]) -> Role:
    """The role with a move's values in place, and everything that follows from them."""
    fields = {name: _restated(role, name, value) for name, value in values.items()}
    if "gpus_per_pod" in values:
        fields.update(_counted(role, values["gpus_per_pod"]))
    if "max_model_len" in values:
        fields["max_model_len_stated"] = Field(True)
        fields["max_model_len_fitted"] = Field(False)
    if "accelerator" in values:
        fields["instance_type"] = Field(None)
    return role.having(**fields)


def _restated(role: Role, name: str, value: Value) -> Field:
    field = role.fields.get(name)
    return Field(value, field.origins if field else (), source="suggested")


def _counted(role: Role, gpus: Value) -> dict[str, Field]:
    """The counts that follow from a pod's; pods of other roles in the same instance keep theirs."""
    whole, now, pods = (role.value(name) for name in ("gpus_per_replica", "gpus_per_pod", "pods_per_replica"))
    known = all(isinstance(count, int | float) and math.isfinite(count) for count in (whole, now, pods, gpus))
    total: Value | Unknown = round(whole + (gpus - now) * pods) if known else Unknown("pods of a replica")  # type: ignore[arg-type,operator]
    fields = {"gpus_per_replica": Field(total), "gpu_count_whole": Field(True)}
    for side in ("gpu_limit", "gpu_request"):
        if role.value(side) is not None:
            fields[side] = _restated(role, side, gpus)
    return fields


# ---- moves, by the quantity a rule says may change


def _moves(quantity: str, known: Facts) -> Iterator[Move]:
    by_quantity: Mapping[str, Callable[[Facts], Iterator[Move]]] = {
        "tensor_parallel": _tensor_parallel,
        "gpus_per_pod": _gpus,
        "data_parallel": _data_parallel,
        "max_model_len": _max_model_len,
        "kv_cache_dtype": _kv_cache_dtype,
        "quantization": _quantization,
        "weight_dtype": _weight_dtype,
        "accelerator": _accelerator,
        "mig_profile": _mig_profile,
        "gpu_limit": _gpu_limit,
        "gpu_request": _gpu_request,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else iter(())


def _tensor_parallel(known: Facts) -> Iterator[Move]:
    """Other tensor parallel sizes on the GPUs that the instance already has."""
    now, gpus = _whole(known, "tensor_parallel"), _whole(known, "gpus_per_replica")
    stages, copies = _whole(known, "pipeline_parallel"), _whole(known, "data_parallel")
    if not (now and gpus and stages and copies):
        return
    full = gpus // (stages * copies)
    sizes = dict.fromkeys([full, *(2**power for power in range(full.bit_length() - 1, -1, -1))])
    for size in sizes:
        if size not in (0, now):
            slower = "" if size > now else "memory and speed of the ranks given up"
            yield Move(f"tensor parallel {size} on the {gpus} GPUs given", {"tensor_parallel": size}, slower)
    pods = gpus // (_whole(known, "gpus_per_pod") or gpus)
    if pods > 1 and full % pods == 0 and full // pods != now:
        values = {"tensor_parallel": full // pods, "pipeline_parallel": stages * pods}
        title = f"tensor parallel {full // pods} in each pod, pipeline parallel {stages * pods} over them"
        yield Move(title, values, "latency of a single sequence")


def _gpus(known: Facts) -> Iterator[Move]:
    """Other GPU counts: as many as the parallelism occupies, else with tensor parallel to match."""
    now = known.likely("gpus_per_pod")
    if not isinstance(now, int | float):
        return
    if now != int(now):
        whole = math.ceil(now)
        yield Move(f"{whole} whole GPU{'s' if whole > 1 else ''}", {"gpus_per_pod": whole})
        return
    occupied, pods = _whole(known, "parallel_size"), _whole(known, "pods_per_replica")
    if occupied and pods and occupied % pods == 0 and now != occupied // pods <= GPUS_OF_A_NODE[-1]:
        word = "used" if occupied < now * pods else "needed"
        yield Move(f"ask for the {occupied // pods} GPUs that are {word}", {"gpus_per_pod": occupied // pods})
    if (known.likely("pipeline_parallel"), known.likely("data_parallel"), pods) != (1, 1, 1):
        return
    for count in _counts(int(now), _whole(known, "fitting_tensor_parallel")):
        if count not in (now, occupied):
            gives_up = "" if count > now else "the bandwidth of the other GPUs"
            title = f"{count} GPU{'s' if count > 1 else ''} with tensor parallel {count}"
            yield Move(title, {"gpus_per_pod": count, "tensor_parallel": count}, gives_up)


def _counts(now: int, fitting: int | None) -> list[int]:
    """GPU counts of a node: from the smallest that fits when fewer do, else the nearest to the present one first."""
    if fitting and fitting < now:
        return [count for count in GPUS_OF_A_NODE if count >= fitting]
    return sorted(GPUS_OF_A_NODE, key=lambda count: (abs(math.log2(count / max(now, 1))), -count))


def _data_parallel(known: Facts) -> Iterator[Move]:
    """Fill the GPUs given with further copies."""
    gpus, pods = _whole(known, "gpus_per_replica"), known.likely("pods_per_replica")
    ranks = (_whole(known, "tensor_parallel") or 0) * (_whole(known, "pipeline_parallel") or 0)
    if gpus and ranks and pods == 1 and gpus % ranks == 0 and gpus // ranks > 1:
        copies = gpus // ranks
        yield Move(f"data parallel {copies}: {copies} copies on the {gpus} GPUs given", {"data_parallel": copies})


def _max_model_len(known: Facts) -> Iterator[Move]:
    """The longest round sequence length that fits in the adverse world and that the checkpoint knows."""
    trained = _whole(known, "trained_context")
    fitting = known.worlds("kv_cache_tokens")
    limits = [trained] if trained else []
    if not isinstance(fitting, Missing):
        limits.append(int(fitting.adverse))  # type: ignore[arg-type]
    now = _whole(known, "max_model_len")
    longest = min(limits, default=0)
    for length in _round_lengths(longest):
        if now is None or length < now:
            yield Move(f"sequences of at most {length:,} tokens", {"max_model_len": length}, "longer sequences")


def _round_lengths(longest: int) -> Iterator[int]:
    """Lengths 2^k and 3·2^(k−1) up to a limit, and the limit itself if it is one, longest first, three of them."""
    lengths = sorted({size for power in range(9, 24) for size in (2**power, 3 * 2 ** (power - 1))}, reverse=True)
    yield from itertools.islice((length for length in lengths if length <= longest), 3)


def _kv_cache_dtype(known: Facts) -> Iterator[Move]:
    if str(known.likely("kv_cache_dtype")).startswith("fp8"):
        yield Move("KV cache in 16 bits", {"kv_cache_dtype": "auto"}, "half of the KV cache's tokens")
    elif _at_least(known, "compute_capability", 8.9):
        yield Move("KV cache in FP8", {"kv_cache_dtype": "fp8"}, "a little accuracy over long contexts")


def _quantization(known: Facts) -> Iterator[Move]:
    if _at_least(known, "compute_capability", 8.9) and known.likely("bytes_per_weight") == 2.0:
        yield Move("weights in FP8, quantised at load", {"quantization": "fp8"}, "a little accuracy")


def _weight_dtype(known: Facts) -> Iterator[Move]:
    yield Move("weights in float16", {"weight_dtype": "half"}, "the range of bfloat16")


def _accelerator(known: Facts) -> Iterator[Move]:
    """Other products of the same maker that the file can name, cheapest first: as many of them, else one."""
    now = hardware.accelerator(known.role.text("accelerator"))
    gpus, weights = _whole(known, "gpus_per_pod"), known.likely("weight_bytes")
    if now is None or not gpus or not isinstance(weights, int | float):
        return
    alone = known.likely("fitting_tensor_parallel") == 1 and gpus > 1
    for product, _ in _priced(now, known.role):
        count = 1 if alone else gpus
        memory = product.cuda_memory_bytes or product.driver_memory_bytes or 0
        if product.id == now.id or memory * count < weights:
            continue
        values: dict[str, Value] = {"accelerator": product.id}
        if alone:
            values.update(gpus_per_pod=1, tensor_parallel=1, pipeline_parallel=1)
        yield Move(f"{count} × {product.name}", values, _slower(now, product, gpus, count))


def _slower(now: hardware.Accelerator, other: hardware.Accelerator, gpus: int, count: int) -> str:
    """What another product gives up: the direct link between several, and memory bandwidth."""
    lost = []
    if count > 1 and (other.link_domain_gpus or 1) < count <= (now.link_domain_gpus or 1):
        lost.append(f"the direct link between the GPUs ({now.link})")
    before, after = (now.memory_bytes_per_s or 0) * gpus, (other.memory_bytes_per_s or 0) * count
    if after < before:
        lost.append(f"memory bandwidth ({units.human(before, 'bytes_per_s')} to {units.human(after, 'bytes_per_s')})")
    return " and ".join(lost)


def _priced(now: hardware.Accelerator, role: Role) -> list[tuple[hardware.Accelerator, float]]:
    """Products that the same cloud rents out and the file's own label can name, by the price of one."""
    found = []
    cloud = _cloud(role)
    for product in hardware.accelerators():
        if product.vendor != now.vendor or _relabelled(role, product.id) is None:
            continue
        node = hardware.cheapest(product.id, 1, cloud)
        if node and node.cost_usd_per_hour is not None:
            found.append((product, node.cost_usd_per_hour / node.node_gpus))
    return sorted(found, key=lambda pair: (pair[1], pair[0].id))


def _cloud(role: Role) -> str | None:
    """The cloud that the place that names the accelerator belongs to."""
    field = role.fields.get("accelerator")
    if field is None or not field.origins:
        return None
    return hardware.cloud_of(_label_key(field.origins[0]), field.origins[0].text())


def _mig_profile(known: Facts) -> Iterator[Move]:
    now = known.likely("device_memory_bytes")
    for profile, memory in hardware.slices(known.role.text("accelerator")):
        if isinstance(now, int | float) and memory > now and "+" not in profile and ".me" not in profile:
            values: dict[str, Value] = {"mig_profile": profile}
            if (_whole(known, "tensor_parallel") or 1) > 1:
                values.update(gpus_per_pod=1, tensor_parallel=1)
            yield Move(f"{'one' if 'gpus_per_pod' in values else 'a'} slice of {profile}", values)


def _gpu_limit(known: Facts) -> Iterator[Move]:
    count = _whole(known, "gpu_request")
    if count:
        yield Move(f"a limit of {count}", {"gpu_limit": count})


def _gpu_request(known: Facts) -> Iterator[Move]:
    count = _whole(known, "gpu_limit")
    if count:
        yield Move(f"a request of {count}, as the limit", {"gpu_request": count})


def _whole(known: Facts, name: str) -> int | None:
    value = known.likely(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _at_least(known: Facts, name: str, least: float) -> bool:
    value = known.likely(name)
    return isinstance(value, int | float) and value >= least


# ---- what a move would write


def _suggestion(move: Move, before: Facts, after: Facts) -> Suggestion:
    edits = tuple(edit for name, value in move.values.items() for edit in _edits(before.role, name, value))
    shown = tuple(fact for name in ("headroom", "kv_cache_tokens") if (fact := after.shown(name)))
    old, new = _machine(before.role), _machine(after.role)
    if old is None or new is None:
        return Suggestion(move.title, edits, shown, move.gives_up)
    prices = ", ".join(dict.fromkeys(f"{one.cloud} {one.price_region} {one.price_date}" for one in (old, new)))
    return Suggestion(move.title, edits, shown, move.gives_up, _cost(before.role, old), _cost(after.role, new), prices)


def _edits(role: Role, name: str, value: Value) -> Iterator[Edit]:
    """The text that states a quantity now and would state its new value, at each of its places."""
    field = role.fields.get(name)
    if field is None or not field.origins:
        yield from _additions(role, name, value)
        return
    for origin in field.origins:
        old = origin.text()
        if (new := _rewritten(role, name, old, value, origin)) != old:
            yield Edit(name, origin.location(), old, new)


def _additions(role: Role, name: str, value: Value) -> Iterator[Edit]:
    if name == "gpu_limit":
        request = role.fields["gpu_request"].origins[0]
        yield Edit(name, request.location(), "", f"limits: {{{request.path[-1]}: {value}}}")
    elif name in ("tensor_parallel", "pipeline_parallel") and value == 1:
        return
    elif role.arguments and role.arguments.key:
        yield Edit(name, role.arguments.location(), "", f"{name}: {value}")
    elif (argument := engines.spelled(role.text("engine"), name, value)) is not None:
        yield Edit(name, role.arguments.location() if role.arguments else None, "", argument)
    elif name == "accelerator":
        yield Edit(name, None, role.text("accelerator"), str(value))


def _rewritten(role: Role, name: str, old: str, value: Value, origin: Origin) -> str:
    if name == "accelerator":
        return _relabelled(role, str(value)) or str(value)
    if name == "mig_profile":
        return f"{old.rpartition('-')[0]}-{value}"
    flag, equals, _ = old.partition("=")
    return f"{flag}={value}" if equals and flag.startswith("-") else str(value)


def _relabelled(role: Role, product: str) -> str | None:
    """How the place that names the accelerator would name another; None when it cannot."""
    field = role.fields.get("accelerator")
    if field is None or not field.origins:
        return product
    origin = field.origins[0]
    keys = [str(part) for part in origin.path if isinstance(part, str)]
    if keys[-1] == "gpulint/accelerator" or keys[-1] == "accelerator":
        return product
    key = _label_key(origin)
    if key.endswith("/instance-type"):
        return _other_machine(role, origin.text(), product)
    values = [value for (label, value), named in hardware.labels().items() if label == key and named == product]
    return min(values, key=lambda value: (len(value), value), default=None)


def _label_key(origin: Origin) -> str:
    """The label that a selector or affinity value belongs to."""
    if isinstance(origin.path[-1], str):
        return origin.path[-1]
    return str(origin.document.get((*origin.path[:-2], "key")))


def _other_machine(role: Role, now: str, product: str) -> str | None:
    machine, gpus = hardware.node(now), role.value("gpus_per_pod")
    if machine is None or not isinstance(gpus, int):
        return None
    other = hardware.cheapest(product, gpus, machine.cloud)
    return other.instance_type if other else None


def _machine(role: Role) -> hardware.Node | None:
    """The cheapest priced machine type that holds the GPUs of one pod."""
    gpus = role.value("gpus_per_pod")
    if not isinstance(gpus, int) or gpus == 0:
        return None
    return hardware.cheapest(role.text("accelerator"), gpus, _cloud(role))


def _cost(role: Role, machine: hardware.Node) -> float | None:
    """List price of the GPUs of one instance: their share of the machines that hold them."""
    gpus, pods = role.value("gpus_per_pod"), role.value("pods_per_replica")
    if not isinstance(gpus, int) or not isinstance(pods, int) or machine.cost_usd_per_hour is None:
        return None
    return machine.cost_usd_per_hour * gpus / machine.node_gpus * pods
