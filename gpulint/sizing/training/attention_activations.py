"""Attention activations in training: what one layer keeps until the backward pass, including its
scores in unfused kernels.
"""

from __future__ import annotations

from gpulint.catalog.family_traits import has_trait


def attention_activation_bytes(
    family: str,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    attention_backend: str | None,
    sequence_length: int | None,
    context_parallel: int | None,
    training_kernels: str,
    sliding_layers: int,
    sliding_window: int | None,
    linear_attention_layers: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    kept_scores: float,
) -> float:
    """Bytes per token that the attention of one layer keeps.

    attention_activation_bytes = 2 · compute_bytes · (heads + kv_heads) · head_dim + 4 · heads; one output more where queries
                                 were put together from parts
                                 4 · compute_bytes · heads · head_dim + heads · sequence · (4 + compute_bytes)   eager
                                 with dropout a mask and a copy of the scores more; kept_scores of eager where nothing states

    Args:
        family: of the model: a fused projection stays whole as long as its values are kept.
        attention_heads, kv_heads, head_dim: shape: queries and output, keys and values. compute_bytes: of a value [bytes].
        attention_backend: `eager` keeps the scores, and keys and values for every query head; None what Transformers chooses.
        sequence_length: [tokens] context_parallel: ranks, else None.
        training_kernels: family of the kernels. sliding_layers, sliding_window: a window that is shorter than the sequence is a
        mask, with which Transformers repeats keys and values. linear_attention_layers: without softmax.
        kv_lora_rank, qk_rope_head_dim: of latent attention, else None. kept_scores: 1 where a family with dropout runs eager
        by default, else 0 (fitted).
    Returns:
        [bytes]
    Validity: layers of delta rules and short convolutions are taken for attention; the scans of state-space layers (Mamba), which
    keep several times as much, are not known.

    >>> attention_activation_bytes("llama", 32, 8, 128, 2, None, 4096, None, "eager", 0, None, 0, None, None, 0)
    20608.0
    >>> attention_activation_bytes("llama", 32, 8, 128, 2, "eager", 1024, None, "eager", 0, None, 0, None, None, 0)  # traced
    229376.0
    >>> attention_activation_bytes("bert", 16, 16, 64, 4, None, 512, None, "eager", 0, None, 0, None, None, 1)  # 9 a score
    90112.0

    Source: Dao, FlashAttention-2, 2023, section 3.1 (one 32-bit log-sum-exp a head and token); huggingface/transformers 5.23.0,
        eager_attention_forward (scores, 32-bit softmax, its cast), `_supports_sdpa` of each family, models/gpt_neo and gptj
        (`_attn`: queries and keys in 32 bits), gpt_oss (softmax as computed); traced.
    """
    if linear_attention_layers and not has_trait(family, "keeps_as_attention"):
        raise LookupError("the activations of state-space layers are not known")
    wide, narrow = attention_heads * head_dim, kv_heads * head_dim
    fused = compute_bytes * (2 * wide + narrow) if has_trait(family, "rotates_split_qkv") else 0
    lean = fused + _sum_fused_kernels(
        family,
        attention_heads,
        wide,
        narrow,
        compute_bytes,
        kv_lora_rank,
        qk_rope_head_dim,
        _repeats_heads(sliding_layers, sliding_window, sequence_length, attention_backend, training_kernels),
    )
    share = _scores_share(family, attention_backend, training_kernels, kept_scores)
    if not share:
        return lean
    if sequence_length is None:
        raise LookupError("the length of the sequence is not stated")
    widened = 2 * wide * (4 - compute_bytes) if has_trait(family, "scores_of_32_bits") else 0
    scores = attention_heads * sequence_length / (context_parallel or 1) * _score_bytes(family, compute_bytes)
    return (1 - share) * lean + share * (4.0 * compute_bytes * wide + fused + widened + scores)


def _repeats_heads(
    sliding_layers: int,
    sliding_window: int | None,
    sequence_length: int | None,
    attention_backend: str | None,
    training_kernels: str,
) -> bool:
    """Return whether a mask makes Transformers repeat keys and values for every query head."""
    windowed = sliding_layers and sliding_window and (sequence_length or 0) > sliding_window
    return bool(windowed) and attention_backend is None and training_kernels == "eager"


def _sum_fused_kernels(
    family: str,
    attention_heads: int,
    wide: int,
    narrow: int,
    compute_bytes: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    repeats: bool,
) -> float:
    """Return the bytes of queries, keys, values and output in kernels that keep no scores."""
    parts = wide - attention_heads * (qk_rope_head_dim or 0) if kv_lora_rank else wide
    copied = compute_bytes * parts if kv_lora_rank or has_trait(family, "rotates_part_of_head") else 0
    return 2.0 * compute_bytes * (wide + (wide if repeats else narrow)) + 4 * attention_heads + copied


def _score_bytes(family: str, compute_bytes: int) -> int:
    """Return the bytes of one score kept by unfused attention: its 32-bit softmax, and the factor
    that is multiplied with the values.
    """
    if has_trait(family, "scores_in_given_dtype"):
        return compute_bytes
    if has_trait(family, "drops_scores"):
        return 4 + 1 + compute_bytes
    capped = compute_bytes if has_trait(family, "capped_scores") else 0
    return 4 + (compute_bytes if compute_bytes < 4 else 0) + capped


def score_gradient_bytes(
    family: str,
    attention_heads: int,
    attention_backend: str | None,
    training_kernels: str,
    training_tokens: float,
    sequence_length: int | None,
    context_parallel: int | None,
    compute_bytes: int,
    tensor_parallel: int,
    kept_scores: float,
) -> float:
    """Gradients of one layer's attention scores, before and after the softmax, in unfused kernels.

    score_gradient_bytes = tokens · heads / tp · sequence · 2 · 4 in eager attention (compute_bytes with gpt-oss, once in
                           place with fused kernels), else 0

    Args:
        family, attention_heads, compute_bytes: of the model. attention_backend, training_kernels: as in
        attention_activation_bytes. training_tokens: of a micro-batch. sequence_length: [tokens]
        context_parallel, tensor_parallel: ranks. kept_scores: as there.
    Returns:
        [bytes]

    >>> score_gradient_bytes("mpt", 32, None, "eager", 2048.0, 2048, None, 2, 1, 0)
    1073741824.0

    Source: PyTorch 2.15.0, ATen/native/SoftMax.cpp, softmax_backward (a gradient in, one out, in 32 bits); traced;
        NVIDIA/Megatron-LM, megatron/core/fusions/fused_softmax.py (its backward pass works in place).
    """
    share = _scores_share(family, attention_backend, training_kernels, kept_scores)
    if not share:
        return 0.0
    if sequence_length is None:
        raise LookupError("the length of the sequence is not stated")
    softmax = compute_bytes if has_trait(family, "scores_in_given_dtype") else 4
    width = 2 * softmax if training_kernels == "eager" else compute_bytes
    return (
        share * width * training_tokens * attention_heads / tensor_parallel * sequence_length / (context_parallel or 1)
    )


def _scores_share(family: str, attention_backend: str | None, training_kernels: str, kept_scores: float) -> float:
    """Return the share of attention that runs as unfused operations, which keep the scores."""
    chosen = attention_backend is None and training_kernels == "eager"
    if chosen and has_trait(family, "drops_scores"):
        return kept_scores
    return float(attention_backend == "eager" or (chosen and has_trait(family, "eager_attention_only")))
