"""Oversizing: what one replica and its load need, against the GPUs, ranks and replicas that they have."""

from __future__ import annotations

import math


def copy_bytes(weight_bytes: float, kv_needed_bytes: float, tensor_parallel: int, pipeline_parallel: int) -> float:
    """Weights and KV cache of one sequence of maximum length for one replica without parallelism.

    copy_bytes = weight_bytes + kv_needed_bytes · tp · pp

    Args:
        weight_bytes: of the model [bytes]. kv_needed_bytes: on one of the present GPUs [bytes].
        tensor_parallel, pipeline_parallel: ranks of the present layout.
    Returns:
        [bytes]; an upper bound where ranks hold the same KV entries.

    >>> round(copy_bytes(5012344832, 150994944, 8, 1) / 1e9, 2)  # gemma-2b, 8,192 tokens, 8 ranks
    6.22

    Source: definition.
    """
    return weight_bytes + kv_needed_bytes * tensor_parallel * pipeline_parallel


def card_share(copy_bytes: float, device_memory_bytes: float) -> float:
    """Minimum share of one GPU's memory that one whole replica needs.

    card_share = copy_bytes / device_memory_bytes

    Args:
        copy_bytes: weights and one longest sequence [bytes]. device_memory_bytes: of one GPU or slice [bytes].
    Returns:
        [ratio]; activations and libraries come on top.

    >>> round(card_share(6.22e9, 85.0e9), 3)
    0.073

    Source: definition.
    """
    return copy_bytes / device_memory_bytes


def model_share(copy_bytes: float, service_memory_bytes: float) -> float:
    """Minimum share of the memory of all GPUs of a service that one whole replica needs.

    model_share = copy_bytes / service_memory_bytes

    Args:
        copy_bytes: weights and one longest sequence [bytes]. service_memory_bytes: of all its GPUs [bytes].
    Returns:
        [ratio]

    >>> model_share(3.2, 640.0)
    0.005

    Source: definition.
    """
    return copy_bytes / service_memory_bytes


def service_memory_bytes(device_memory_bytes: float, workload_gpus: float) -> float:
    """Memory of all GPUs of a service.

    service_memory_bytes = device_memory_bytes · workload_gpus

    Args:
        device_memory_bytes: of one GPU [bytes]. workload_gpus: of all replicas.
    Returns:
        [bytes]

    >>> service_memory_bytes(80.0, 8)
    640.0

    Source: definition.
    """
    return device_memory_bytes * workload_gpus


def limit_bytes(
    weight_bytes: float, kv_needed_bytes: float, tensor_parallel: int, pipeline_parallel: int, service_batch: float
) -> float:
    """Weights of one replica, and KV cache of as many longest sequences as the service runs at once.

    limit_bytes = weight_bytes + kv_needed_bytes · tp · pp · service_batch

    Args:
        weight_bytes: of the model [bytes]. kv_needed_bytes: on one of the present GPUs [bytes].
        tensor_parallel, pipeline_parallel: ranks of the present layout. service_batch: requests that all replicas run at once.
    Returns:
        [bytes]; an upper bound where ranks hold the same KV entries.

    >>> limit_bytes(3.0, 0.25, 1, 1, 32)
    11.0

    Source: definition.
    """
    return weight_bytes + kv_needed_bytes * tensor_parallel * pipeline_parallel * service_batch


def limit_share(limit_bytes: float, service_memory_bytes: float) -> float:
    """Share of the memory of all GPUs of a service that all requests need that it runs at once.

    limit_share = limit_bytes / service_memory_bytes

    Args:
        limit_bytes: weights and all longest sequences [bytes]. service_memory_bytes: of all its GPUs [bytes].
    Returns:
        [ratio]

    >>> limit_share(11.0, 640.0)
    0.0171875

    Source: definition.
    """
    return limit_bytes / service_memory_bytes


def load_share(
    target_tokens_per_s: float | None,
    target_requests_per_s: float | None,
    target_concurrency: float | None,
    service_concurrency: float,
    grown_concurrency: float,
    grown_tokens_per_s: float,
    service_tokens_per_s: float,
) -> float:
    """Declared load, after its growth, relative to the capacity of all replicas.

    load_share = max(grown_tokens_per_s / service_tokens_per_s, grown_concurrency / service_concurrency)

    Args:
        target_tokens_per_s, target_requests_per_s, target_concurrency: the load, as far as it is stated.
        grown_tokens_per_s, grown_concurrency: the same with its growth [tokens/s], [requests].
        service_tokens_per_s, service_concurrency: what all replicas carry [tokens/s], [requests].
    Returns:
        [ratio]; 1 where no load is stated, since all of it may be wanted.

    >>> load_share(500, None, None, 256, 0, 500, 4000), load_share(None, None, None, 256, 0, 0, 4000)
    (0.125, 1.0)

    Source: definition.
    """
    if (target_tokens_per_s, target_requests_per_s, target_concurrency) == (None, None, None):
        return 1.0
    return max(grown_tokens_per_s / service_tokens_per_s, grown_concurrency / service_concurrency)


def enough_replicas(load_share: float, service_replicas: float) -> int:
    """Replicas that carry the declared load at 80 % of their capacity.
    There are at least two, so that one may fail.

    enough_replicas = max(2, ceil(load_share · service_replicas / 0.8))

    Args:
        load_share: of all replicas. service_replicas: instances that carry it now.
    Returns:
        instances

    >>> enough_replicas(0.125, 8), enough_replicas(0.5, 8)
    (2, 5)

    Source: definition; a fifth in reserve is the mark that autoscalers of serving engines commonly keep (target utilisation
        70 to 80 %).
    """
    return max(_AVAILABLE, math.ceil(load_share * service_replicas / _BUSY))


def enough_data_parallel(load_share: float, data_parallel: int) -> int:
    """Data-parallel ranks of each instance that carry the declared load at 80 % of their capacity.

    enough_data_parallel = max(1, ceil(load_share · data_parallel / 0.8))

    Args:
        load_share: of all ranks. data_parallel: present ranks of an instance.
    Returns:
        ranks; one pod fails as a whole, so a second rank keeps nothing available.

    >>> enough_data_parallel(0.1, 2), enough_data_parallel(0.39, 8)
    (1, 4)

    Source: as enough_replicas.
    """
    return max(1, math.ceil(load_share * data_parallel / _BUSY))


_BUSY = 0.8
_AVAILABLE = 2


def needed_ranks(
    fitting_tensor_parallel: int,
    weight_bytes: float,
    memory_bytes_per_s: float,
    target_tpot_s: float | None,
    load_share: float,
    tensor_parallel: int,
) -> int:
    """Smallest proposed tensor-parallel size (a power of two) for the declared load and time.

    min n = 2^k with n ≥ fitting_tensor_parallel, n ≥ 2 · load_share · tp and weight_bytes / (n · bandwidth) ≤ target_tpot_s / 2

    Args:
        fitting_tensor_parallel: ranks that hold the model; 0 when none do. weight_bytes: of the model [bytes].
        memory_bytes_per_s: of one GPU [bytes/s]. target_tpot_s: time per token that is wanted, where it is stated [s].
        load_share: of what the present ranks carry. tensor_parallel: present ranks.
    Returns:
        ranks; at most the present ones.

    >>> needed_ranks(1, 16e9, 3.35e12, 0.011, 0.05, 4), needed_ranks(2, 141e9, 3.35e12, 0.025, 0.05, 8)
    (1, 4)

    Source: definition. Half of the time and twice the load are our choice: they only say which layouts are proposed.
    """
    for exponent in range(tensor_parallel.bit_length()):
        ranks = 1 << exponent
        quick = target_tpot_s is None or weight_bytes / (ranks * memory_bytes_per_s) <= target_tpot_s / 2
        if quick and 1 <= fitting_tensor_parallel <= ranks and ranks >= 2 * load_share * tensor_parallel:
            return min(ranks, tensor_parallel)
    return tensor_parallel


def ranks_over_need(tensor_parallel: int, needed_ranks: int) -> float:
    """Tensor-parallel ranks relative to those that the declared load and time need.

    ranks_over_need = tp / needed_ranks

    Args:
        tensor_parallel: present ranks. needed_ranks: those proposed.
    Returns:
        ratio

    >>> ranks_over_need(8, 2)
    4.0

    Source: definition.
    """
    return tensor_parallel / needed_ranks


def requests_context(request_tokens: float, max_model_len: int) -> int:
    """Context of at least four times the typical request: a power of two, at most today's context.

    requests_context = min(2^k ≥ 4 · request_tokens, max_model_len)

    Args:
        request_tokens: prompt and answer of a usual request [tokens]. max_model_len: present context [tokens].
    Returns:
        [tokens]

    >>> requests_context(1400, 131072), requests_context(1400, 4096)
    (8192, 4096)

    Source: definition; four times the usual is what a context may exceed it by before it is asked what for.
    """
    return min(1 << math.ceil(math.log2(_LONGEST * request_tokens)), max_model_len)


_LONGEST = 4


def requests_copy_bytes(copy_bytes: float, weight_bytes: float, requests_context: int, max_model_len: int) -> float:
    """Weights and KV cache of one sequence as long as the declared requests need.

    requests_copy_bytes = weight_bytes + (copy_bytes − weight_bytes) · requests_context / max_model_len

    Args:
        copy_bytes: weights and one longest sequence [bytes]. weight_bytes: of the model [bytes]. requests_context,
        max_model_len: context that requests need, and that is stated [tokens].
    Returns:
        [bytes]; a lower bound where windows or states keep a part of the cache constant.

    >>> requests_copy_bytes(33.2e9, 16e9, 8192, 131072) / 1e9
    17.075

    Source: definition.
    """
    return weight_bytes + (copy_bytes - weight_bytes) * requests_context / max_model_len
