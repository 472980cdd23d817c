"""Physical limits of decoding: peaks of the GPU, minimum time per token, maximum throughput of a
replica.
"""

from __future__ import annotations


def matrix_flop_per_s(
    weight_format: str,
    dense_bf16_flop_per_s: float | None,
    dense_fp8_flop_per_s: float | None,
    dense_fp4_flop_per_s: float | None,
) -> float:
    """Dense peak of the GPU in the number format in which an engine multiplies these weights.

    matrix_flop_per_s = of 4 bits for NVFP4, of 8 bits for FP8 and MXFP4, of 16 bits otherwise; the next wider one that there is

    Args:
        weight_format: in memory. dense_bf16_flop_per_s, dense_fp8_flop_per_s, dense_fp4_flop_per_s: peaks [FLOP/s].
    Returns:
        [FLOP/s]
    Validity: weight-only formats (AWQ, GPTQ, GGUF) are unpacked and multiplied in 16 bits.

    >>> matrix_flop_per_s("fp8", 989e12, 1979e12, None), matrix_flop_per_s("nvfp4", 989e12, 1979e12, None)
    (1979000000000000.0, 1979000000000000.0)
    >>> matrix_flop_per_s("int4-g128", 989e12, 1979e12, None)
    989000000000000.0

    Source: NVIDIA Transformer Engine documentation; vLLM, docs/features/quantization.
    """
    peaks = (dense_fp4_flop_per_s, dense_fp8_flop_per_s, dense_bf16_flop_per_s)
    narrowest = 0 if weight_format == "nvfp4" else 1 if weight_format in _EIGHT_BITS else 2
    listed = next((peak for peak in peaks[narrowest:] if peak), None)
    if listed is None:
        raise LookupError("the catalog has no peak of this accelerator")
    return listed


_EIGHT_BITS = frozenset({"fp8", "fp8-block", "fp8-mlp", "mxfp4", "mxfp8"})


def best_flop_per_s(
    dense_bf16_flop_per_s: float | None,
    dense_fp8_flop_per_s: float | None,
    dense_fp4_flop_per_s: float | None,
    dense_fp16_flop_per_s: float | None = None,
) -> float:
    """Highest dense peak of the GPU in any number format. No kernel exceeds it.

    best_flop_per_s = max(16 bits, 8 bits, 4 bits)

    Args:
        dense_bf16_flop_per_s, dense_fp8_flop_per_s, dense_fp4_flop_per_s, dense_fp16_flop_per_s: peaks [FLOP/s].
    Returns:
        [FLOP/s]

    >>> best_flop_per_s(989e12, 1979e12, None)
    1979000000000000.0

    Source: definition.
    """
    peaks = (dense_bf16_flop_per_s, dense_fp8_flop_per_s, dense_fp4_flop_per_s, dense_fp16_flop_per_s)
    listed = [peak for peak in peaks if peak]
    if not listed:
        raise LookupError("the catalog has no peak of this accelerator")
    return max(listed)


def weight_read_floor_s(
    shared_read_bytes: float,
    expert_parameters: int,
    bytes_per_weight: float,
    experts: int | None,
    experts_per_token: int | None,
    layer_ranks: int,
    memory_bytes_per_s: float,
    draft_tokens: int,
) -> float:
    """Minimum time per output token to read the weights that the token touches.

    weight_read_floor_s = (shared + experts · b · k / E / ranks) / bandwidth / (1 + drafted)

    Args:
        shared_read_bytes: besides routed experts [bytes]. expert_parameters, experts, experts_per_token: of them, E, k.
        bytes_per_weight: b [bytes]. layer_ranks: that share the experts out. memory_bytes_per_s: nominal [bytes/s].
        draft_tokens: drafted ahead of each step, which may all be accepted.
    Returns:
        [s]
    Validity: without efficiencies, messages and KV cache; the tokens of a batch may all visit the same experts.

    >>> round(weight_read_floor_s(34.8e9, 0, 2, None, None, 4, 3.35e12, 0) * 1e3, 1)  # Llama-3.1-70B on four H100: ms
    10.4

    Source: Pope et al., Efficiently Scaling Transformer Inference, 2022, section 2.
    """
    routed = expert_parameters * bytes_per_weight * (experts_per_token or 0) / experts / layer_ranks if experts else 0.0
    return (shared_read_bytes + routed) / memory_bytes_per_s / (1 + draft_tokens)


def tpot_floor_s(
    weight_read_floor_s: float, sequence_read_bytes: float, memory_bytes_per_s: float, draft_tokens: int
) -> float:
    """Minimum time per output token to read the weights that it touches and its KV cache.

    tpot_floor_s = weight_read_floor_s + KV cache / bandwidth / (1 + drafted)

    Args:
        weight_read_floor_s: by the weights alone [s]. sequence_read_bytes: KV cache of one sequence [bytes].
        memory_bytes_per_s: nominal [bytes/s]. draft_tokens: drafted ahead of each step.
    Returns:
        [s]
    Validity: of one sequence alone: however many requests are open, an engine may let the others wait.

    >>> round(tpot_floor_s(0.0104, 327680000 / 4, 3.35e12, 0) * 1e3, 2)
    10.42

    Source: Pope et al., Efficiently Scaling Transformer Inference, 2022, section 2.
    """
    return weight_read_floor_s + sequence_read_bytes / memory_bytes_per_s / (1 + draft_tokens)


def output_tokens_per_s_ceiling(
    admitted_sequences: float,
    sequence_groups: int,
    shared_read_bytes: float,
    sequence_read_bytes: float,
    token_flop: float,
    layer_ranks: int,
    attention_ranks: int,
    memory_bytes_per_s: float,
    best_flop_per_s: float,
    draft_tokens: int,
    pipeline_parallel: int,
) -> float:
    """Maximum output tokens per second of one replica at any load.

    output_tokens_per_s_ceiling = groups · n / max((shared + n · sequence / pp) / bandwidth, n · operations / pp / peak) · drafted

    Args:
        admitted_sequences: that the KV cache of the replica holds. sequence_groups: groups of the replica.
        shared_read_bytes, sequence_read_bytes: on one GPU [bytes]. token_flop: of one token [FLOP].
        layer_ranks, attention_ranks: ranks. memory_bytes_per_s: [bytes/s]. best_flop_per_s: [FLOP/s].
        draft_tokens: drafted ahead of each step, which makes one more. pipeline_parallel: stages, each at a wave of its own.
    Returns:
        [tokens/s]
    Validity: no efficiencies, no prompts, no experts read: a ceiling.

    >>> round(output_tokens_per_s_ceiling(64, 1, 34.8e9, 81920000, 139e9, 4, 4, 3.35e12, 1.979e15, 0, 1))
    5354

    Source: Williams et al., Roofline, 2009.
    """
    batch = max(1.0, admitted_sequences / sequence_groups)
    reading = (shared_read_bytes + batch * sequence_read_bytes / pipeline_parallel) / memory_bytes_per_s
    computing = batch * token_flop / (max(layer_ranks, attention_ranks) * pipeline_parallel) / best_flop_per_s
    return sequence_groups * batch / max(reading, computing) * (1 + draft_tokens)
