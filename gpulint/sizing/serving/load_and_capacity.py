"""Objectives against capacity: the targets of a service or run, and what all its replicas deliver."""

from __future__ import annotations


def wanted_tokens_per_s(
    target_tokens_per_s: float | None, target_requests_per_s: float | None, request_output_tokens: float
) -> float:
    """Output tokens per second that the service must deliver.

    wanted_tokens_per_s = max(tokens per second as stated, requests per second · output)

    Args:
        target_tokens_per_s, target_requests_per_s: of the whole service, where stated.
        request_output_tokens: of an answer [tokens].
    Returns:
        [tokens/s]; 0 where nothing is wanted.

    >>> wanted_tokens_per_s(2000, 10, 300), wanted_tokens_per_s(2000, None, 300)
    (3000, 2000)

    Source: definition.
    """
    return max(target_tokens_per_s or 0, (target_requests_per_s or 0) * request_output_tokens)


def grown_tokens_per_s(wanted_tokens_per_s: float, target_growth: float | None) -> float:
    """Output tokens per second that the service must deliver after the declared growth.

    grown_tokens_per_s = wanted_tokens_per_s · growth

    Args:
        wanted_tokens_per_s: today [tokens/s]. target_growth: of the load, where it is stated.
    Returns:
        [tokens/s]

    >>> grown_tokens_per_s(2000, 1.5)
    3000.0

    Source: definition.
    """
    return wanted_tokens_per_s * (target_growth or 1)


def grown_concurrency(target_concurrency: float | None, target_growth: float | None) -> float:
    """Concurrent requests expected after the declared growth.

    grown_concurrency = concurrency · growth

    Args:
        target_concurrency: today, where it is stated. target_growth: of the load, where it is stated.
    Returns:
        requests; 0 where none is stated.

    >>> grown_concurrency(64, 1.5)
    96.0

    Source: definition.
    """
    return (target_concurrency or 0) * (target_growth or 1)


def service_replicas(replicas: float, replicas_most: int | None) -> float:
    """Replicas that carry the whole load: the autoscaler's maximum, if there is an autoscaler.

    service_replicas = max(replicas, replicas_most)

    Args:
        replicas: that are started with. replicas_most: the autoscaler's most, else None.
    Returns:
        instances.

    >>> service_replicas(1, 40), service_replicas(2, None)
    (40, 2)

    Source: definition.
    """
    return max(replicas, replicas_most or 0)


def service_tokens_per_s_ceiling(
    service_replicas: float,
    replica_batch: int,
    weight_read_floor_s: float,
    token_flop: float,
    best_flop_per_s: float,
    sequence_groups: int,
    attention_ranks: int,
    layer_ranks: int,
    pipeline_parallel: int,
) -> float:
    """Maximum output tokens per second of all replicas at any load.
    It assumes that reading the KV cache takes no time.

    service_tokens_per_s_ceiling = service_replicas · min(batch / weights, GPUs · best peak / operations)

    Args:
        service_replicas: instances. replica_batch: sequences of one at most. weight_read_floor_s: least time of a step [s].
        token_flop: operations of one token [FLOP]. best_flop_per_s: of a GPU [FLOP/s].
        sequence_groups, attention_ranks, layer_ranks, pipeline_parallel: ranks, which make the GPUs.
    Returns:
        [tokens/s]
    Validity: full nominal bandwidth and peak, no prompts, KV caches that cost nothing.

    >>> round(service_tokens_per_s_ceiling(2, 256, 0.0104, 139e9, 1979e12, 1, 4, 4, 1))  # Llama-3.1-70B, two times four H100
    49231

    Source: Williams et al., Roofline, 2009.
    """
    gpus = max(layer_ranks, attention_ranks * sequence_groups) * pipeline_parallel
    return service_replicas * min(replica_batch / weight_read_floor_s, gpus * best_flop_per_s / token_flop)


def service_tokens_per_s(capacity_tokens_per_s: float, service_replicas: float) -> float:
    """Output tokens per second of all replicas when each runs as many requests as it admits.

    service_tokens_per_s = capacity of one · service_replicas

    Args:
        capacity_tokens_per_s: of one full replica [tokens/s]. service_replicas: instances.
    Returns:
        [tokens/s]

    >>> service_tokens_per_s(1500, 2)
    3000

    Source: definition.
    """
    return capacity_tokens_per_s * service_replicas


def service_requests_per_s(service_tokens_per_s: float, request_output_tokens: float) -> float:
    """Typical requests per second of all replicas when each runs as many as it admits.

    service_requests_per_s = service_tokens_per_s / output

    Args:
        service_tokens_per_s: of all replicas [tokens/s]. request_output_tokens: of an answer [tokens].
    Returns:
        [requests/s]

    >>> service_requests_per_s(3000, 300)
    10.0

    Source: definition.
    """
    return service_tokens_per_s / request_output_tokens


def service_requests_per_s_ceiling(service_tokens_per_s_ceiling: float, request_output_tokens: float) -> float:
    """Maximum typical requests per second of all replicas.

    service_requests_per_s_ceiling = service_tokens_per_s_ceiling / output

    Args:
        service_tokens_per_s_ceiling: of all replicas [tokens/s]. request_output_tokens: of an answer [tokens].
    Returns:
        [requests/s]

    >>> service_requests_per_s_ceiling(30000, 300)
    100.0

    Source: definition.
    """
    return service_tokens_per_s_ceiling / request_output_tokens


def service_concurrency(admitted_sequences: float, service_replicas: float) -> float:
    """Requests that run at once on all replicas.

    service_concurrency = admitted by one · service_replicas

    Args:
        admitted_sequences: requests that one replica admits. service_replicas: instances.
    Returns:
        requests

    >>> service_concurrency(39, 2)
    78

    Source: definition.
    """
    return admitted_sequences * service_replicas


def replica_batch(max_num_seqs: int, sequence_groups: int) -> int:
    """Requests that the settings of one replica allow at once.

    replica_batch = max_num_seqs · groups

    Args:
        max_num_seqs: of one group at most. sequence_groups: attention replicas in the replica.
    Returns:
        requests

    >>> replica_batch(256, 8)
    2048

    Source: vLLM, docs/serving/data_parallel_deployment.md: each rank schedules its own batch.
    """
    return max_num_seqs * sequence_groups


def service_batch(replica_batch: int, service_replicas: float) -> float:
    """Requests that the settings of all replicas allow at once.

    service_batch = replica_batch · service_replicas

    Args:
        replica_batch: requests of one. service_replicas: instances.
    Returns:
        requests

    >>> service_batch(256, 2)
    512

    Source: definition.
    """
    return replica_batch * service_replicas


def running_requests(
    target_requests_per_s: float | None, ttft_s: float, tpot_s: float, request_output_tokens: float
) -> float:
    """Requests in progress at the declared request rate.

    running_requests = requests per second · (ttft_s + (output − 1) · tpot_s)

    Args:
        target_requests_per_s: of the whole service, where it is stated. ttft_s, tpot_s: of one request [s].
        request_output_tokens: of an answer [tokens].
    Returns:
        requests; 0 where no rate is stated.
    Validity: at the latency of the stated concurrency, of a single request where none is stated; more load is slower.

    >>> round(running_requests(10, 0.5, 0.03, 301))
    95

    Source: Little, A Proof for the Queuing Formula L = λW, 1961.
    """
    return (target_requests_per_s or 0) * (ttft_s + (request_output_tokens - 1) * tpot_s)


def request_tokens(request_prompt_tokens: float, request_output_tokens: float) -> float:
    """Length of a typical request when its answer is complete.

    request_tokens = prompt + output

    Args:
        request_prompt_tokens, request_output_tokens: of a usual request [tokens].
    Returns:
        [tokens]

    >>> request_tokens(2000, 300)
    2300

    Source: definition.
    """
    return request_prompt_tokens + request_output_tokens


def offload_read_floor_s(offloaded_bytes: float, host_link_bytes_per_s: float) -> float:
    """Minimum time of a decoding step that reads weights from host memory.

    offload_read_floor_s = offloaded / host link

    Args:
        offloaded_bytes: weights of one GPU in host memory [bytes]. host_link_bytes_per_s: nominal, one way [bytes/s].
    Returns:
        [s]
    Validity: dense models, each of whose weights every token passes through.

    >>> offload_read_floor_s(16e9, 32e9)
    0.5

    Source: Sheng et al., FlexGen, 2023, section 4.
    """
    return offloaded_bytes / host_link_bytes_per_s


def communication_share(exposed_communication_s: float, step_s: float) -> float:
    """Share of a training step in which GPUs wait for communication.

    communication_share = min(1, exposed_communication_s / step_s)

    Args:
        exposed_communication_s: that no computation hides [s]. step_s: the whole step [s].
    Returns:
        [ratio]

    >>> communication_share(0.3, 1.0)
    0.3

    Source: definition.
    """
    return min(1.0, exposed_communication_s / step_s)
