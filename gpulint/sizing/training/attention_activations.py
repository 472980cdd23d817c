"""Attention activations in training: what one layer keeps until the backward pass, including its
scores in unfused kernels.
"""

from __future__ import annotations

from gpulint.catalog.family_traits import has_trait


def kernel_attention_bytes(
    family: str,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    attention_backend: str | None,
    sequence_length: int | None,
    training_kernels: str,
    sliding_layers: int,
    sliding_window: int | None,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
) -> float:
    """Bytes per token that the attention of one layer keeps in kernels without scores.

    kernel_attention_bytes = 2 · compute_bytes · (heads + kv_heads) · head_dim + 4 · heads; one output more where queries
                             were put together from parts

    Args:
        family: of the model: a fused projection stays whole as long as its values are kept.
        attention_heads, kv_heads, head_dim: shape: queries and output, keys and values. compute_bytes: of a value [bytes].
        attention_backend, training_kernels: as in attention_activation_bytes. sequence_length: [tokens]
        sliding_layers, sliding_window: a window that is shorter than the sequence is a mask, with which Transformers repeats
        keys and values. kv_lora_rank, qk_rope_head_dim: of latent attention, else None.
    Returns:
        [bytes]

    >>> kernel_attention_bytes("llama", 32, 8, 128, 2, None, 4096, "eager", 0, None, None, None)
    20608.0

    Source: Dao, FlashAttention-2, 2023, section 3.1 (one 32-bit log-sum-exp a head and token); traced.
    """
    wide, narrow = attention_heads * head_dim, kv_heads * head_dim
    fused = _sum_fused_projection(family, wide, narrow, compute_bytes)
    parts = wide - attention_heads * (qk_rope_head_dim or 0) if kv_lora_rank else wide
    copied = compute_bytes * parts if kv_lora_rank or has_trait(family, "rotates_part_of_head") else 0
    repeats = _repeats_heads(sliding_layers, sliding_window, sequence_length, attention_backend, training_kernels)
    return fused + (2.0 * compute_bytes * (wide + (wide if repeats else narrow)) + 4 * attention_heads + copied)


def eager_attention_bytes(
    family: str,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    sequence_length: int | None,
    context_parallel: int | None,
) -> float | None:
    """Bytes per token that the attention of one layer keeps in single operations, scores included.

    eager_attention_bytes = 4 · compute_bytes · heads · head_dim + heads · sequence · (4 + compute_bytes);
                            with dropout a mask and a copy of the scores more

    Args:
        family: of the model: a fused projection stays whole as long as its values are kept.
        attention_heads, kv_heads, head_dim: shape: queries and output, keys and values. compute_bytes: of a value [bytes].
        sequence_length: [tokens] context_parallel: ranks, else None.
    Returns:
        [bytes]; None without a length of the sequence.

    >>> eager_attention_bytes("llama", 32, 8, 128, 2, 1024, None)  # traced
    229376.0

    Source: huggingface/transformers 5.23.0, eager_attention_forward (scores, 32-bit softmax, its cast), models/gpt_neo and
        gptj (`_attn`: queries and keys in 32 bits), gpt_oss (softmax as computed); traced.
    """
    if sequence_length is None:
        return None
    wide, narrow = attention_heads * head_dim, kv_heads * head_dim
    fused = _sum_fused_projection(family, wide, narrow, compute_bytes)
    widened = 2 * wide * (4 - compute_bytes) if has_trait(family, "scores_of_32_bits") else 0
    scores = attention_heads * sequence_length / (context_parallel or 1) * _score_bytes(family, compute_bytes)
    return 4.0 * compute_bytes * wide + fused + widened + scores


def attention_activation_bytes(
    kernel_attention_bytes: float,
    eager_attention_bytes: float | None,
    family: str,
    attention_backend: str | None,
    training_kernels: str,
    linear_attention_layers: int,
    kept_scores: float,
) -> float:
    """Bytes per token that the attention of one layer keeps.

    attention_activation_bytes = (1 − s) · kernel_attention_bytes + s · eager_attention_bytes
    s = 1 with eager attention, 0 with any other; kept_scores where nothing states it for a family with dropout

    Args:
        kernel_attention_bytes: in kernels that keep no scores [bytes].
        eager_attention_bytes: in single operations, None without a length of the sequence [bytes]. family: of the model.
        attention_backend: `eager` keeps the scores, and keys and values for every query head; None what Transformers chooses.
        training_kernels: family of the kernels. linear_attention_layers: without softmax.
        kept_scores: 1 where a family with dropout runs eager by default, else 0 (fitted).
    Returns:
        [bytes]
    Validity: layers of delta rules and short convolutions are taken for attention; the scans of state-space layers (Mamba), which
    keep several times as much, are not known.

    >>> attention_activation_bytes(20608.0, 229376.0, "llama", "eager", "eager", 0, 0)
    229376.0
    >>> attention_activation_bytes(8256.0, 90112.0, "bert", None, "eager", 0, 1)  # BERT of 512 tokens: 9 bytes a score
    90112.0

    Source: huggingface/transformers 5.23.0, `_supports_sdpa` of each family; traced.
    """
    if linear_attention_layers and not has_trait(family, "keeps_as_attention"):
        raise LookupError("the activations of state-space layers are not known")
    share = _scores_share(family, attention_backend, training_kernels, kept_scores)
    if not share:
        return kernel_attention_bytes
    if eager_attention_bytes is None:
        raise LookupError("the length of the sequence is not stated")
    return (1 - share) * kernel_attention_bytes + share * eager_attention_bytes


def _sum_fused_projection(family: str, wide: int, narrow: int, compute_bytes: int) -> int:
    """Return the bytes of a fused projection that stays whole as long as its values are kept."""
    return compute_bytes * (2 * wide + narrow) if has_trait(family, "rotates_split_qkv") else 0


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
