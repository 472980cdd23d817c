"""Time of one decoding step: reading and computing, messages between ranks, and fixed overhead."""

from __future__ import annotations

import math

from gpulint.sizing.interconnect import _bandwidth


def shared_matrix_s(
    shared_read_bytes: float,
    wave_tokens: int,
    token_flop: float,
    expert_token_flop: float,
    attention_ranks: int,
    memory_bytes_per_s: float,
    matrix_flop_per_s: float,
    weight_read_excess: float,
    weight_format_excess: float,
    matrix_excess: float,
) -> float:
    """Time of one decoding step in the matrices that every token passes through.

    shared_matrix_s = bytes / bandwidth · excess · format excess + tokens · operations / ranks / peak · excess

    Args:
        shared_read_bytes: on one GPU [bytes]. wave_tokens: of one step. token_flop, expert_token_flop: of one token, and of them
            in routed experts [FLOP]. attention_ranks: that share them. memory_bytes_per_s: [bytes/s].
        matrix_flop_per_s: [FLOP/s]. weight_read_excess, weight_format_excess,
            matrix_excess: time against the nominal one (fitted).
    Returns:
        [s]
    Validity: reading and computing overlap in part only; their sum fits better than the larger of both.

    >>> round(shared_matrix_s(34.8e9, 16, 139e9, 0, 4, 3.35e12, 989e12, 1.25, 1.0, 1.6) * 1e3, 2)
    13.88

    Source: measured; bench/silicon.py.
    """
    reading = shared_read_bytes / memory_bytes_per_s * weight_read_excess * weight_format_excess
    computing = wave_tokens * (token_flop - expert_token_flop) / attention_ranks
    return reading + computing / matrix_flop_per_s * matrix_excess


def expert_matrix_s(
    expert_read_bytes: float,
    meeting_tokens: float,
    expert_token_flop: float,
    layer_ranks: int,
    memory_bytes_per_s: float,
    matrix_flop_per_s: float,
    expert_read_excess: float,
    expert_format_excess: float,
    matrix_excess: float,
) -> float:
    """Time of one decoding step in the routed experts.

    expert_matrix_s = bytes / bandwidth · excess · format excess + tokens · operations / ranks / peak · excess

    Args:
        expert_read_bytes: on one GPU [bytes]. meeting_tokens: of the step. expert_token_flop: of one token [FLOP].
        layer_ranks: that share them out. memory_bytes_per_s: [bytes/s]. matrix_flop_per_s: [FLOP/s].
        expert_read_excess, expert_format_excess, matrix_excess: time against the nominal one (fitted).
    Returns:
        [s]

    >>> round(expert_matrix_s(2.55e9, 1, 40.9e9, 8, 4.8e12, 1979e12, 2.0, 1.0, 2.0) * 1e3, 2)
    1.07

    Source: measured; bench/silicon.py.
    """
    reading = expert_read_bytes / memory_bytes_per_s * expert_read_excess * expert_format_excess
    return reading + meeting_tokens * expert_token_flop / layer_ranks / matrix_flop_per_s * matrix_excess


def decode_attention_s(
    wave_batch: int,
    draft_tokens: int,
    sequence_read_bytes: float,
    context_flop: float,
    attention_ranks: int,
    memory_bytes_per_s: float,
    dense_bf16_flop_per_s: float | None,
    attention_read_excess: float,
) -> float:
    """Time of one decoding step in attention.

    decode_attention_s = batch · max(bytes / bandwidth, (1 + drafted) · operations / ranks / peak) · excess

    Args:
        wave_batch: sequences. draft_tokens: of each. sequence_read_bytes: of one, on one GPU [bytes].
        context_flop: of one [FLOP]. attention_ranks: that share its heads. memory_bytes_per_s: [bytes/s].
        dense_bf16_flop_per_s: [FLOP/s]. attention_read_excess: time against both (fitted).
    Returns:
        [s]

    >>> round(decode_attention_s(16, 0, 81920000, 2.6e9, 4, 3.35e12, 989e12, 1.6) * 1e3, 2)
    0.63

    Source: measured; bench/silicon.py.
    """
    if dense_bf16_flop_per_s is None:
        raise LookupError("the catalog has no 16-bit peak of this accelerator")
    reading = sequence_read_bytes / memory_bytes_per_s
    computing = (1 + draft_tokens) * context_flop / attention_ranks / dense_bf16_flop_per_s
    return wave_batch * max(reading, computing) * attention_read_excess


def crossing_sum_s(
    hidden: int,
    wave_tokens: int,
    bytes_per_activation: float,
    attention_ranks: int,
    link_domain_gpus: int,
    tensor_bus_bytes_per_s: float | None = None,
    tensor_hop_s: float | None = None,
) -> float:
    """Time of one all-reduce over tensor-parallel ranks that span several link domains.

    crossing_sum_s = all-reduce of tokens · hidden · B over the ranks; 0 within a domain, and where the network is not known

    Args:
        hidden: width. wave_tokens: of a group. bytes_per_activation: B [bytes]. attention_ranks: ranks.
        link_domain_gpus: GPUs that one link domain spans. tensor_bus_bytes_per_s, tensor_hop_s: achieved among the ranks
            [bytes/s], [s], else None.
    Returns:
        [s]

    >>> crossing_sum_s(7168, 16, 2, 8, 8, 4e10, 2e-5), round(crossing_sum_s(7168, 16, 2, 16, 8, 4e10, 2e-5) * 1e6)
    (0.0, 120)

    Source: gpulint.sizing.interconnect._bandwidth.all_reduce_s.
    """
    if attention_ranks <= max(1, link_domain_gpus) or link_domain_gpus <= 1 or not tensor_bus_bytes_per_s:
        return 0.0
    payload = wave_tokens * hidden * bytes_per_activation
    return _bandwidth.all_reduce_s(payload, attention_ranks, tensor_bus_bytes_per_s, tensor_hop_s or 0.0)


def decode_traffic_s(
    layers: int,
    moe_layers: int,
    hidden: int,
    wave_tokens: int,
    meeting_tokens: float,
    attention_ranks: int,
    layer_ranks: int,
    bytes_per_activation: float,
    message_s_per_byte: float,
    reduction_latency_s: float,
    crossing_sum_s: float,
) -> float:
    """Time of one decoding step in communication.
    There are two all-reduces per layer over the ranks of the attention, and tokens are gathered and
    scattered for the experts.

    decode_traffic_s = 2 · layers · max(crossing, latency + 2 · (ranks − 1) / ranks · tokens · hidden · B · message)

    Args:
        layers, moe_layers: all, and those with routed experts. hidden: width. wave_tokens: of a group.
        meeting_tokens: tokens of all groups. attention_ranks, layer_ranks: ranks. bytes_per_activation: B [bytes].
        message_s_per_byte: of a sum over the ranks (fitted) [s/byte]. reduction_latency_s: of one message (fitted) [s].
        crossing_sum_s: of one sum that leaves a link domain [s].
    Returns:
        [s]
    Validity: engines sum with kernels of their own inside a link domain.

    >>> round(decode_traffic_s(80, 0, 8192, 16, 16, 4, 4, 2, 3e-12, 6e-6, 0.0) * 1e3, 2)
    1.15
    >>> decode_traffic_s(80, 0, 8192, 16, 16, 1, 1, 2, 3e-12, 6e-6, 0.0)
    0.0

    Source: Shoeybi et al., Megatron-LM, 2019, section 3; vLLM, distributed/device_communicators/custom_all_reduce.py.
    """
    payload = wave_tokens * hidden * bytes_per_activation
    summed = _all_reduce_s(payload, attention_ranks, message_s_per_byte)
    among = 2 * layers * max(crossing_sum_s, summed + reduction_latency_s) if attention_ranks > 1 else 0.0
    if layer_ranks <= attention_ranks:
        return float(among)
    gathered = _all_reduce_s(meeting_tokens * hidden * bytes_per_activation, layer_ranks, message_s_per_byte)
    return among + (moe_layers or 0) * (gathered + 2 * reduction_latency_s)


def decode_overhead_s(
    layers: int,
    wave_batch: int,
    layer_latency_s: float,
    layer_kind_ratio: float,
    layer_group_ratio: float,
    step_latency_s: float,
    sequence_latency_s: float,
) -> float:
    """Fixed overhead of one decoding step: kernel launches, the scheduler and the sampler.

    decode_overhead_s = layers · layer_latency_s · kind · group + step_latency_s + batch · sequence_latency_s

    Args:
        layers: of the model. wave_batch: sequences. layer_latency_s, step_latency_s, sequence_latency_s: (fitted) [s].
        layer_kind_ratio: of layers with experts, latent attention or states (fitted). layer_group_ratio: with and without
            attention replicas (fitted).
    Returns:
        [s]

    >>> round(decode_overhead_s(80, 16, 40e-6, 0.5, 1.6, 1e-3, 10e-6) * 1e3, 2)
    3.72

    Source: measured; bench/silicon.py.
    """
    layer_s = layer_latency_s * layer_kind_ratio * layer_group_ratio
    return layers * layer_s + step_latency_s + wave_batch * sequence_latency_s


def decode_step_s(
    shared_matrix_s: float,
    expert_matrix_s: float,
    decode_attention_s: float,
    decode_traffic_s: float,
    decode_overhead_s: float,
    draft_tokens: int,
    layers: int,
    step_latency_s: float,
) -> float:
    """Time of one decoding step without a prompt in it.

    decode_step_s = step + drafted · (step / layers + step_latency_s), step = shared + experts + attention + traffic + overhead

    Args:
        shared_matrix_s, expert_matrix_s, decode_attention_s, decode_traffic_s, decode_overhead_s: parts [s].
        draft_tokens: drafted one after the other before each step. layers: of the model. step_latency_s: (fitted) [s].
    Returns:
        [s]
    Validity: drafts come from one layer, as with MTP and EAGLE; those of another model take longer, of an n-gram less.

    >>> round(decode_step_s(0.0139, 0, 0.0007, 0.0012, 0.0044, 0, 80, 0.001), 4)
    0.0202
    >>> round(decode_step_s(0.0139, 0, 0.0007, 0.0012, 0.0044, 3, 80, 0.001), 4)
    0.024

    Source: DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, section 2.2; Li et al., EAGLE, 2024, section 4.
    """
    step_s = shared_matrix_s + expert_matrix_s + decode_attention_s + decode_traffic_s + decode_overhead_s
    return step_s + draft_tokens * (step_s / layers + step_latency_s)


def prompting_requests(
    prefill_apart: bool, decode_batch: int, sequence_groups: int, group_wait_exponent: float
) -> float:
    """Other requests whose prompts may delay a decoding sequence.

    prompting_requests = batch · groups^exponent − 1; 0 where other replicas compute prompts

    Args:
        prefill_apart: replicas of their own compute prompts. decode_batch: sequences of a group. sequence_groups: groups, which
            wait for each other in the experts. group_wait_exponent: how far their prompts come one after the other (fitted).
    Returns:
        requests.

    >>> prompting_requests(False, 16, 1, 0.2), prompting_requests(True, 16, 1, 0.2)
    (15.0, 0.0)

    Source: closed loop: each of the other sequences ends once while an answer is decoded, and a prompt takes its place.
    """
    return 0.0 if prefill_apart else float(decode_batch * sequence_groups**group_wait_exponent - 1)


def disturbed_step_s(
    decode_step_s: float,
    prefill_s: float,
    prompting_requests: float,
    request_output_tokens: float,
    step_output_tokens: float,
    prefill_interference: float,
    decoding_share: float,
) -> float:
    """Time of one decoding step that includes prompts of other requests.
    The number of open requests is constant.

    x = d + interference · n · P · x / (T + steps · x), T = P · (1 + n · (1 − r) / r), solved for x

    Args:
        decode_step_s: d, undisturbed [s]. prefill_s: P, of one prompt [s]. prompting_requests: n, others.
        request_output_tokens: of an answer [tokens]. step_output_tokens: of a step, which makes its steps [tokens].
        prefill_interference: share of a prompt's time (fitted).
        decoding_share: r, of the others that decode and do not wait while a prompt is computed (fitted).
    Returns:
        [s]
    Validity: x / (T + steps · x) prompts of each other request begin in one step: who waits for a first token sends no other.

    >>> round(disturbed_step_s(0.02, 0.08, 15, 1024, 1, 1.0, 0.8) * 1e3, 2), disturbed_step_s(0.02, 0.08, 0, 1024, 1, 1.0, 0.8)
    (21.15, 0.02)

    Source: Little's law; measured; bench/silicon.py.
    """
    if not prompting_requests:
        return decode_step_s
    steps = max(1.0, request_output_tokens / step_output_tokens)
    first_s = prefill_s * (1 + prompting_requests * (1 - decoding_share) / decoding_share)
    linear = steps * decode_step_s + prefill_interference * prompting_requests * prefill_s - first_s
    return (linear + math.sqrt(linear**2 + 4 * steps * decode_step_s * first_s)) / (2 * steps)


def tpot_s(disturbed_step_s: float, decode_ratio: float, step_output_tokens: float, tpot_floor_s: float) -> float:
    """Time per output token.

    tpot_s = max(tpot_floor_s, disturbed_step_s · decode_ratio / step_output_tokens)

    Args:
        disturbed_step_s: with the prompts of others in it [s]. decode_ratio: measured against that (fitted).
        step_output_tokens: that a step yields [tokens]. tpot_floor_s: what physics allows [s].
    Returns:
        [s]

    >>> round(tpot_s(0.0214, 1.0, 1.0, 0.01), 4)
    0.0214

    Source: definition.
    """
    return max(tpot_floor_s, disturbed_step_s * decode_ratio / step_output_tokens)


def _all_reduce_s(payload_bytes: float, ranks: int, s_per_byte: float) -> float:
    """Return the bandwidth part of an all-reduce's time."""
    return 2 * (ranks - 1) / ranks * payload_bytes * s_per_byte
