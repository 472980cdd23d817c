"""Cheaper accelerators: prices of hardware that does the same work, against what is used."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.catalog import hardware


def card_price_ratio(
    accelerator: str,
    cloud: str | None,
    instance_type: str | None,
    copy_bytes: float,
    checkpoint_dtype: str | None = None,
) -> float:
    """List price of this GPU relative to the cheapest GPU that holds one replica.

    card_price_ratio = price of one present GPU / min of price of one GPU with memory ≥ copy_bytes / 0.8

    Args:
        accelerator: id of the present GPU. cloud, instance_type: where it is rented, if stated; else the
        least ratio of all clouds that list the GPU. copy_bytes: weights and one longest sequence [bytes].
        checkpoint_dtype: format of the weights, where it is known; bfloat16 wants compute capability 8.0.
    Returns:
        ratio of prices of one GPU, its share of the machine; 1 where no price or no cheaper GPU is listed.
    Validity: list prices of the catalog, on demand; GPUs of other vendors are not considered.

    >>> round(card_price_ratio("h100-sxm-80gb", "gcp", None, 5e9, "bfloat16"), 1)  # an L4
    15.6
    >>> card_price_ratio("l4", "gcp", None, 5e9, "bfloat16")
    1.0

    Source: catalog/nodes.csv, each price with its region, date and source. A fifth of the GPU free is our choice: the
        alternative is checked by every rule.
    """
    return _minimum_over_clouds(
        max((other.now / other.price for other in others), default=1.0)
        for others in _find_others(accelerator, cloud, instance_type, copy_bytes, checkpoint_dtype)
    )


def load_price_ratio(
    accelerator: str,
    cloud: str | None,
    instance_type: str | None,
    copy_bytes: float,
    weight_bytes: float,
    load_share: float,
    target_tpot_s: float | None,
    checkpoint_dtype: str | None = None,
) -> float:
    """List price of this GPU relative to the cheapest GPU that carries the declared load.

    load_price_ratio = price of one present GPU / min of price of one GPU with memory ≥ copy_bytes / 0.8, bandwidth and
        dense 16-bit peak ≥ 3 · load_share of the present GPU's, and weight_bytes / bandwidth ≤ target_tpot_s / 3

    Args:
        as of card_price_ratio. weight_bytes: of the model [bytes]. load_share: of what the present GPUs carry.
        target_tpot_s: time per token that is wanted, where it is stated [s].
    Returns:
        ratio; 1 where no price or no such GPU is listed.

    >>> round(load_price_ratio("h100-sxm-80gb", "gcp", None, 17e9, 16e9, 0.02, 0.2, "bfloat16"), 1)  # an L4
    15.6
    >>> round(load_price_ratio("h100-sxm-80gb", "gcp", None, 17e9, 16e9, 0.02, 0.05, "bfloat16"), 1)  # an A100 40GB
    3.0
    >>> load_price_ratio("h100-sxm-80gb", "gcp", None, 17e9, 16e9, 0.3, 0.05, "bfloat16")
    1.0

    Source: as card_price_ratio. The third of the time and of the resources is our choice: it only says which GPUs are proposed.
    """
    card = hardware.accelerator(accelerator)
    slowest = math.inf if target_tpot_s is None else target_tpot_s / _RESERVE
    least = [_RESERVE * load_share * (rate or math.inf) for rate in _rates(card)] if card else [math.inf]
    return _minimum_over_clouds(
        max(
            (
                other.now / other.price
                for other in others
                if _read_s(weight_bytes, other.card) <= slowest
                and all((rate or 0) >= wanted for rate, wanted in zip(_rates(other.card), least, strict=False))
            ),
            default=1.0,
        )
        for others in _find_others(accelerator, cloud, instance_type, copy_bytes, checkpoint_dtype)
    )


def work_price_ratio(
    accelerator: str,
    cloud: str | None,
    instance_type: str | None,
    copy_bytes: float,
    weight_bytes: float,
    checkpoint_dtype: str | None = None,
) -> float:
    """Cost of the same work on this GPU relative to the best other GPU that holds one replica.
    The smallest ratio over bandwidth, arithmetic and memory counts, since any of them may be the
    bottleneck.

    work_price_ratio = max over GPUs of min over (bandwidth, dense 16-bit peak, memory beyond one replica) of
        (price / resource of the present GPU) / (price / resource of the other)

    Args:
        as of card_price_ratio. weight_bytes: of the model [bytes], which the other GPU must read for a token of a
        single answer within 30 ms.
    Returns:
        ratio; 1 where no other GPU is cheaper for all three, or no price is listed.
        If no cloud is stated, the minimum over all clouds.
    Validity: nominal bandwidth and dense peaks. A GPU that is cheaper for one resource only may be the right one: an H100
        gives more bandwidth for a dollar than an L4 where its price is low.

    >>> round(work_price_ratio("h100-sxm-80gb", "gcp", None, 5.2e9, 5.0e9, "bfloat16"), 1)
    1.4
    >>> work_price_ratio("h100-sxm-80gb", "aws", None, 5.2e9, 5.0e9, "bfloat16")
    1.0

    Source: work per money instead of price per hour: bandwidth binds decoding, arithmetic prompts, memory the sequences at
        once (Pope et al., Efficiently Scaling Transformer Inference, 2022, section 2). 30 ms a token: MLCommons, MLPerf
        Inference v5.1, Llama 3.1 8B, interactive scenario.
    """
    card = hardware.accelerator(accelerator)
    return _minimum_over_clouds(
        max(
            (
                _minimum_ratio(card, other, copy_bytes)
                for other in others
                if _read_s(weight_bytes, other.card) <= _INTERACTIVE_S
            ),
            default=1.0,
        )
        for others in _find_others(accelerator, cloud, instance_type, copy_bytes, checkpoint_dtype)
    )


def training_price_ratio(
    accelerator: str,
    cloud: str | None,
    instance_type: str | None,
    training_needed_bytes: float,
    training_dtype: str | None = None,
) -> float:
    """Cost of a training run's arithmetic on this GPU relative to another that holds its step.

    training_price_ratio = max over GPUs of (price / dense 16-bit peak of the present GPU) / (price / peak of the other)

    Args:
        accelerator, cloud, instance_type: as of card_price_ratio. training_needed_bytes: of a step on one GPU [bytes].
        training_dtype: format that the run computes in; bfloat16 wants compute capability 8.0.
    Returns:
        ratio; 1 where no other GPU is cheaper, or no price is listed. If no cloud is stated, the minimum over all clouds.
    Validity: nominal dense peaks; small batches reach less of a fast GPU's than of a slow one's, which favours the other.

    >>> round(training_price_ratio("a100-sxm4-80gb", "gcp", None, 7e9, "bfloat16"), 1)  # against an L4
    2.8
    >>> training_price_ratio("l4", "gcp", None, 7e9, "bfloat16")
    1.0

    Source: work per money; arithmetic binds training (Kaplan et al., Scaling Laws for Neural Language Models, 2020, 2.1).
    """
    card = hardware.accelerator(accelerator)
    peak = _rates(card)[1] if card else None
    if not peak:
        return 1.0
    return _minimum_over_clouds(
        max(
            (
                (other.now / peak) / (other.price / other_peak)
                for other in others
                if (other_peak := _rates(other.card)[1])
            ),
            default=1.0,
        )
        for others in _find_others(accelerator, cloud, instance_type, training_needed_bytes, training_dtype)
    )


def step_share(
    training_needed_bytes: float,
    kept_activation_bytes: float,
    loss_bytes: float,
    training_copies: int,
    device_memory_bytes: float,
) -> float:
    """Share of one GPU that the micro-batches of all data-parallel ranks would take together.

    step_share = (training_needed_bytes + (training_copies − 1) · (kept_activation_bytes + loss_bytes)) / device_memory_bytes

    Args:
        training_needed_bytes: of a step on one GPU, of which kept_activation_bytes and loss_bytes grow with the
        micro-batch [bytes]. training_copies: data-parallel ranks. device_memory_bytes: of one GPU [bytes].
    Returns:
        [ratio]; what one layer needs besides what is kept grows too, by less.

    >>> round(step_share(5e9, 0.1e9, 1.6e9, 8, 85e9), 2)
    0.2

    Source: definition.
    """
    together = (training_copies - 1) * (kept_activation_bytes + loss_bytes)
    return (training_needed_bytes + together) / device_memory_bytes


_FILLED = 0.8
_INTERACTIVE_S = 0.03
_RESERVE = 3.0
_BFLOAT16_SINCE = 8.0


class _Alternative(NamedTuple):
    """A GPU that holds a replica and costs no more: the price of the present one, its own price,
    and its record.
    """

    now: float
    price: float
    card: hardware.Accelerator


def _minimum_over_clouds(ratios: Iterable[float]) -> float:
    """Return the smallest ratio over the clouds, since any of them may be meant."""
    return max(1.0, min(ratios, default=1.0))


def _find_others(
    accelerator: str, cloud: str | None, instance_type: str | None, needed: float, dtype: str | None
) -> Iterator[list[_Alternative]]:
    """Yield the sufficient GPUs of the declared cloud, or of each cloud that lists a price of the
    present GPU.
    """
    card = hardware.accelerator(accelerator)
    for name in _find_clouds(accelerator, cloud, instance_type):
        present_price = _card_usd_per_hour(accelerator, name, instance_type)
        if card is None or present_price is None:
            continue
        sufficient = (
            candidate
            for candidate in hardware.list_accelerators()
            if candidate.vendor == card.vendor and _is_sufficient(candidate, needed, dtype)
        )
        priced = ((_card_usd_per_hour(candidate.id, name, None), candidate) for candidate in sufficient)
        yield [
            _Alternative(present_price, price, candidate)
            for price, candidate in priced
            if price is not None and price <= present_price
        ]


def _find_clouds(accelerator: str, cloud: str | None, instance_type: str | None) -> tuple[str, ...]:
    machine = hardware.node(instance_type or "")
    if machine or cloud:
        return (machine.cloud if machine else str(cloud),)
    listed = (
        node for node in hardware.list_nodes() if node.accelerator == accelerator and node.cost_usd_per_hour is not None
    )
    return tuple(sorted({node.cloud for node in listed}))


def _is_sufficient(card: hardware.Accelerator, needed: float, dtype: str | None) -> bool:
    """Return whether a GPU holds this many bytes with a fifth to spare, and computes in the format."""
    if dtype == "bfloat16" and (card.compute_capability or 0) < _BFLOAT16_SINCE:
        return False
    return _memory(card) * _FILLED >= needed


def _memory(card: hardware.Accelerator) -> float:
    return card.cuda_memory_bytes or card.driver_memory_bytes or 0


@functools.cache
def _card_usd_per_hour(accelerator: str, cloud: str, instance_type: str | None) -> float | None:
    """Return the list price of one GPU: its share of the declared machine, else of the cheapest
    machine that has one.
    """
    stated = hardware.node(instance_type or "")
    machine = stated if stated and stated.cost_usd_per_hour else hardware.cheapest(accelerator, 1, cloud)
    if machine is None or machine.cost_usd_per_hour is None:
        return None
    return machine.cost_usd_per_hour / machine.node_gpus


def _read_s(weight_bytes: float, card: hardware.Accelerator) -> float:
    """Return the time in which a GPU reads the weights once."""
    return weight_bytes / card.memory_bytes_per_s if card.memory_bytes_per_s else math.inf


def _rates(card: hardware.Accelerator) -> tuple[float | None, float | None]:
    """Return the bandwidth and the dense 16-bit peak of a GPU."""
    return card.memory_bytes_per_s, card.dense_bf16_flop_per_s or card.dense_fp16_flop_per_s


def _minimum_ratio(card: hardware.Accelerator | None, other: _Alternative, needed: float) -> float:
    """Return the smallest cost ratio of two GPUs over bandwidth, arithmetic and free memory; 1 if
    one is unknown.
    """
    if card is None:
        return 1.0
    pairs = zip(
        (*_rates(card), _memory(card) - needed), (*_rates(other.card), _memory(other.card) - needed), strict=True
    )
    return min(
        (other.now / rate) / (other.price / other_rate) if rate and other_rate else 1.0 for rate, other_rate in pairs
    )


def context_price_ratio(
    accelerator: str,
    cloud: str | None,
    instance_type: str | None,
    requests_copy_bytes: float,
    weight_bytes: float,
    load_share: float,
    target_tpot_s: float | None,
    checkpoint_dtype: str | None = None,
) -> float:
    """List price of this GPU relative to the cheapest one that suffices at the context needed.
    That GPU must carry the load with the context that the declared requests need.

    context_price_ratio = load_price_ratio with copy_bytes = requests_copy_bytes

    Args:
        as of load_price_ratio. requests_copy_bytes: weights and one such sequence [bytes].
    Returns:
        ratio

    >>> round(context_price_ratio("a100-sxm4-80gb", "gcp", None, 17e9, 16e9, 0.02, 0.2, "bfloat16"), 1)  # an L4
    7.2

    Source: as load_price_ratio.
    """
    return load_price_ratio(
        accelerator,
        cloud,
        instance_type,
        requests_copy_bytes,
        weight_bytes,
        load_share,
        target_tpot_s,
        checkpoint_dtype,
    )
