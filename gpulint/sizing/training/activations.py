"""Activations of training: what one rank keeps from the forward pass until the backward pass, and
what the loss needs.
"""

from __future__ import annotations

import math

from gpulint.catalog.family_traits import has_trait


def training_tokens(
    micro_batch_size: int | None,
    sequence_length: int | None,
    context_parallel: int | None,
    length_share: float,
    sequences_per_sample: int,
    micro_batch_tokens: int | None,
    global_batch_size: int | None,
    training_copies: int | None = None,
) -> float:
    """Tokens of one micro-batch on one rank.

    training_tokens = micro_batch_size · sequences_per_sample · sequence_length · length_share / context_parallel;
                      where the trainer fills micro-batches, micro_batch_tokens, or all sequences of a step if they are fewer

    Args:
        micro_batch_size: samples of one rank. sequence_length: longest sequence [tokens]. context_parallel: ranks, else None.
        length_share: of the longest micro-batch in what the length allows (fitted).
        sequences_per_sample: 2 with a chosen and a rejected answer. micro_batch_tokens: of one rank, else None.
        global_batch_size: sequences of a step, else None. training_copies: data-parallel ranks, None where not known.
    Returns:
        [tokens]

    >>> training_tokens(2, 8192, None, 1.0, 1, None, None), training_tokens(None, None, 2, 1.0, 1, 16384, None)
    (16384.0, 16384.0)
    >>> training_tokens(None, 1024, None, 0.5, 1, 16384, 64, 8)  # eight sequences of a step, half as long as they may be
    4096.0

    Source: definition; volcengine/verl v0.7.0 verl/utils/seqlen_balancing.py, rearrange_micro_batches.
    """
    if micro_batch_tokens is not None:
        if global_batch_size is None or training_copies is None or sequence_length is None:
            return float(micro_batch_tokens)
        step = global_batch_size / training_copies * sequence_length * length_share / (context_parallel or 1)
        return min(float(micro_batch_tokens), step)
    if micro_batch_size is None or sequence_length is None:
        raise LookupError("the sequences and tokens of a micro-batch are not stated")
    return micro_batch_size * sequences_per_sample * sequence_length * length_share / (context_parallel or 1)


def norm_bytes(
    training_kernels: str,
    family: str,
    hidden: int,
    gated_mlp: bool,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    parameter_bytes: int,
    lora_rank: int | None,
    compiled: bool,
    sharding: str,
) -> float:
    """Bytes per token kept by the norms of one layer.
    The inputs of the matrices behind them are included.

    norm_bytes = 2 · hidden · (4 + 2 · compute_bytes)                 RMSNorm in single operations: 32-bit input, scaled, output
                 2 · hidden · 2 · compute_bytes                       fused norms and LayerNorm: input, output
                 2 · hidden · 8 + matrices · hidden · compute_bytes   32-bit stream: input, scaled, a cast before each matrix

    Args:
        training_kernels: family of the kernels. family: of the model. hidden: width. gated_mlp: two read the MLP's input.
        attention_heads, kv_heads, head_dim: of norms on queries and keys. compute_bytes, parameter_bytes: of a value as
        computed, and of a weight as kept [bytes]. lora_rank: None when the norms are trained. compiled: torch.compile fuses them.
        sharding: FSDP and DeepSpeed cast the stream with the weights, autocast leaves it in 32 bits.
    Returns:
        [bytes]
    Validity: a frozen norm keeps its 32-bit input only. Of dropout the two masks of a layer are counted (one byte a value), with
        the families that have it by default.

    >>> norm_bytes("eager", "llama", 4096, True, 32, 8, 128, 2, 2, None, False, "none") / 4096
    16.0
    >>> norm_bytes("eager", "bert", 1024, False, 16, 16, 64, 4, 4, None, False, "none") / 1024  # traced without masks: 16
    18.0
    >>> norm_bytes("fused", "llama", 4096, True, 32, 8, 128, 2, 2, None, False, "none") / 4096
    8.0

    Source: huggingface/transformers 5.23.0, models/llama, gemma, glm4, olmo2, gpt_neox (norms); saved tensors traced under
        PyTorch's fake tensors; NVIDIA/Megatron-LM, training/theoretical_memory_usage.py.
    """
    cast = parameter_bytes > compute_bytes and lora_rank is None and sharding not in ("fsdp", "deepspeed")
    trains = lora_rank is None
    inputs = 0 if not trains else 2 if has_trait(family, "one_norm") or not cast else 5 if gated_mlp else 4
    if has_trait(family, "layer_norm") or training_kernels == "fused" or compiled:
        eager = training_kernels == "eager" and not compiled
        return float(hidden * _sum_fused_norms(family, trains, inputs if cast else None, eager, compute_bytes))
    on_heads = (attention_heads + kv_heads) * head_dim
    return float(_sum_single_norms(family, hidden, on_heads, trains, inputs, cast, compute_bytes))


def _sum_single_norms(
    family: str, hidden: int, on_heads: int, trains: bool, inputs: int, cast: bool, compute_bytes: int
) -> int:
    """Return the bytes that RMSNorms in single operations keep; `inputs`: matrices that read a norm's output."""
    scaled = 0 if not trains else 4 if cast or has_trait(family, "norm_scaled_in_32_bits") else compute_bytes
    heads = on_heads * (4 + scaled) if has_trait(family, "head_norms") else 0
    if has_trait(family, "centred_norm"):
        return hidden * ((12 if trains else 8) + (inputs if cast or not inputs else 1) * compute_bytes) + heads
    norms = 4 if has_trait(family, "four_norms") else 2
    return norms * hidden * (4 + scaled) + inputs * hidden * compute_bytes + heads


def _sum_fused_norms(family: str, trains: bool, casts: int | None, eager: bool, compute_bytes: int) -> int:
    """Return the bytes of one channel that fused norms and LayerNorms keep; `casts`: of a 32-bit stream, the matrices
    that read a cast of it.
    """
    copies = casts is not None or (eager and has_trait(family, "norm_of_32_bit_copy"))
    norms = 1 if has_trait(family, "one_norm") else 2
    kept = 1 if has_trait(family, "shared_input") else norms
    outputs = 0 if not trains else norms if casts is None else casts
    masks = 2 if has_trait(family, "drops_stream") else 0
    return kept * (4 if copies else compute_bytes) + outputs * compute_bytes + masks


def layer_activation_bytes(
    training_tokens: float,
    norm_bytes: float,
    attention_activation_bytes: float,
    mlp_activation_bytes: float,
    adapter_activation_bytes: float,
    quantised_input_bytes: float,
    cross_attention_bytes: float,
    tensor_parallel: int,
    sequence_parallel: bool,
    activation_ratio: float,
) -> float:
    """Activations that one layer keeps per micro-batch and rank without recomputation.

    layer_activation_bytes = activation_ratio · tokens · ((attention + MLP + adapters) / tp
                                                          + norms / (tp with sequence parallelism))
                             + tokens · quantised inputs / tp + activation_ratio · cross_attention_bytes / tp

    Args:
        training_tokens: of a micro-batch. norm_bytes, attention_activation_bytes, mlp_activation_bytes,
        adapter_activation_bytes, quantised_input_bytes: of one token [bytes].
        cross_attention_bytes: of a layer that attends to an encoder [bytes].
        tensor_parallel: ranks. sequence_parallel: ranks share norms out too.
        activation_ratio: what the kernels keep against the sum (fitted).
    Returns:
        [bytes]

    >>> round(layer_activation_bytes(4096, 65536, 20608, 114688, 0, 0, 0, 1, False, 1.0) / 2**30, 4)  # Llama-3.1-8B: 0.7660
    0.7661

    Source: Korthikanti et al., 2022, equations 2 and 4; a fake-tensor step of Llama-3.1-8B, torch 2.15.0.
    """
    shared = attention_activation_bytes + mlp_activation_bytes + adapter_activation_bytes
    tokens = activation_ratio * training_tokens
    kept = tokens * (shared / tensor_parallel + norm_bytes / (tensor_parallel if sequence_parallel else 1))
    crossed = activation_ratio * cross_attention_bytes
    return kept + (training_tokens * quantised_input_bytes + crossed) / tensor_parallel


def kept_layer_bytes(
    activation_checkpointing: str,
    layer_activation_bytes: float,
    training_tokens: float,
    hidden: int,
    intermediate: int | None,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    tensor_parallel: int,
    sequence_parallel: bool,
) -> float:
    """Activations that one layer keeps per micro-batch and rank until its backward pass.

    kept_layer_bytes = all of it (none; attention's scores only), its input (full), nothing (offloaded), or with every
                       second matrix product kept (products): tokens · compute_bytes · (4 · hidden + kv + intermediate)

    Args:
        activation_checkpointing: what is recomputed. layer_activation_bytes: without recomputation [bytes].
        training_tokens: of a micro-batch. hidden, intermediate, attention_heads, kv_heads, head_dim: shape of a layer.
        compute_bytes: of a value [bytes]. tensor_parallel, sequence_parallel: what ranks split.
    Returns:
        [bytes]

    >>> kept_layer_bytes("full", 1e9, 4096, 4096, 14336, 32, 8, 128, 2, 1, False)
    33554432.0

    Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016; pytorch/torchtitan b5bcd76c6
        distributed/activation_checkpoint.py, SelectiveAC; Korthikanti et al., 2022, section 5; unslothai/unsloth-zoo,
        gradient_checkpointing.py, Unsloth_Offloaded_Gradient_Checkpointer.
    """
    ranks = tensor_parallel if sequence_parallel else 1
    match activation_checkpointing:
        case "none" | "scores":
            return layer_activation_bytes
        case "full":
            return float(training_tokens * compute_bytes * hidden / ranks)
        case "offloaded":
            return 0.0
        case "products":
            wide, narrow = attention_heads * head_dim, kv_heads * head_dim
            inside = 2 * wide + narrow + (intermediate or 0)
            return training_tokens * compute_bytes * (2 * hidden / ranks + inside / tensor_parallel)
    raise LookupError(f"the recomputation {activation_checkpointing} is not listed")


def micro_batches_in_flight(
    pipeline_parallel: int, virtual_stages: int, gradient_accumulation_steps: int | None
) -> float:
    """Micro-batches whose activations the first pipeline stage keeps at once.

    micro_batches_in_flight = min(m, pp) for one forward, one backward; · (1 + (pp − 1) / (pp · v)) interleaved

    Args:
        pipeline_parallel: stages. virtual_stages: parts of the model on each. gradient_accumulation_steps: m, else None.
    Returns:
        micro-batches

    >>> micro_batches_in_flight(8, 1, None), micro_batches_in_flight(8, 1, 4), micro_batches_in_flight(4, 2, None)
    (8, 4, 5.5)

    Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 2.2; Korthikanti et
        al., 2022, section 4.2.3.
    """
    if pipeline_parallel == 1:
        return 1
    flight = min(pipeline_parallel, gradient_accumulation_steps or pipeline_parallel)
    return (
        flight if virtual_stages == 1 else flight * (1 + (pipeline_parallel - 1) / (pipeline_parallel * virtual_stages))
    )


def kept_activation_bytes(
    kept_layer_bytes: float,
    layers: int,
    pipeline_parallel: int,
    micro_batches_in_flight: float,
    kept_encoder_bytes: float,
) -> float:
    """Activations that all layers of one rank keep until the backward pass begins.

    kept_activation_bytes = kept_layer_bytes · ceil(layers / pp) · micro_batches_in_flight + kept_encoder_bytes

    Args:
        kept_layer_bytes: of one layer and micro-batch [bytes]. layers: of the model. pipeline_parallel: stages.
        micro_batches_in_flight: at once. kept_encoder_bytes: of an encoder beside the decoder [bytes].
    Returns:
        [bytes]

    >>> kept_activation_bytes(2.0, 32, 4, 4, 0), kept_activation_bytes(2.0, 32, 1, 1, 100.0)
    (64.0, 164.0)

    Source: Narayanan et al., 2021, section 2.2.
    """
    return kept_layer_bytes * math.ceil(layers / pipeline_parallel) * micro_batches_in_flight + kept_encoder_bytes


def last_stage_activation_bytes(
    kept_layer_bytes: float, layers: int, pipeline_parallel: int, kept_encoder_bytes: float
) -> float:
    """Activations that the last pipeline stage keeps when it computes the loss.
    It keeps those of one micro-batch.

    last_stage_activation_bytes = kept_layer_bytes · ceil(layers / pp) + kept_encoder_bytes

    Args:
        kept_layer_bytes: of one layer and micro-batch [bytes]. layers: of the model. pipeline_parallel: stages.
        kept_encoder_bytes: of an encoder beside the decoder [bytes].
    Returns:
        [bytes]

    >>> last_stage_activation_bytes(2.0, 32, 4, 0)
    16.0

    Source: Narayanan et al., 2021, section 2.2.
    """
    return kept_layer_bytes * math.ceil(layers / pipeline_parallel) + kept_encoder_bytes


def layer_work_bytes(
    activation_checkpointing: str,
    layer_activation_bytes: float,
    kept_layer_bytes: float,
    training_tokens: float,
    hidden: int,
    intermediate: int | None,
    experts_per_token: int | None,
    moe_intermediate: int | None,
    compute_bytes: int,
    tensor_parallel: int,
    layer_gradient_multiple: float,
    sequence_parallel: bool,
    quantization: str | None,
    mlp_activation_bytes: float,
    score_gradient_bytes: float,
) -> float:
    """Working memory of one layer's backward pass beyond its kept activations.
    It holds what is recomputed and the gradients in between.

    layer_work_bytes = (layer_activation_bytes − kept where it is recomputed)
                       + tokens · compute_bytes · (layer_gradient_multiple · MLP width / tp + hidden), or of the scores
                         less what the MLP has let go by then
                       + with sequence parallelism the inputs of attention and MLP and a gradient for all tokens
                       + with a quantised base its largest matrix as it is used

    Args:
        activation_checkpointing: what is recomputed. layer_activation_bytes, kept_layer_bytes: of one layer [bytes].
        training_tokens: of a micro-batch. hidden, intermediate, moe_intermediate: widths. experts_per_token: that a token visits.
        compute_bytes: of a value [bytes]. tensor_parallel: ranks. layer_gradient_multiple: gradients as wide as the MLP (fitted).
        sequence_parallel: tokens are gathered from the tensor-parallel ranks. quantization: of a frozen base, else None.
        mlp_activation_bytes: of one token. score_gradient_bytes: of eager attention [bytes].
    Returns:
        [bytes]

    >>> layer_work_bytes("none", 100.0, 100.0, 10, 4, 8, None, None, 2, 1, 2.0, False, None, 0.0, 0.0)
    400.0

    Source: Chen et al., 2016; the gradients of a gated MLP: product, gate and up.
    """
    recomputed = 0.0 if activation_checkpointing in ("none", "scores") else layer_activation_bytes - kept_layer_bytes
    inner = max(intermediate or 0, (experts_per_token or 0) * (moe_intermediate or 0))
    between = training_tokens * compute_bytes * (layer_gradient_multiple * inner / tensor_parallel + hidden)
    freed = training_tokens * mlp_activation_bytes / tensor_parallel
    between = max(between, score_gradient_bytes - freed + training_tokens * compute_bytes * hidden)
    gathered = 3 * training_tokens * compute_bytes * hidden if sequence_parallel and tensor_parallel > 1 else 0.0
    restored = compute_bytes * hidden * (intermediate or 0) if quantization else 0
    return max(0.0, recomputed) + between + gathered + restored


def loss_bytes(
    training_tokens: float,
    vocab: int,
    hidden: int,
    loss_bytes_per_logit: float,
    compute_bytes: int,
    tensor_parallel: int,
    sequence_parallel: bool,
    family: str,
) -> float:
    """Peak memory of the output head and the loss.

    loss_bytes = tokens · ((loss_bytes_per_logit + capped) · vocab / tp
                           + (4 + 2 · compute_bytes) · hidden / (tp with sequence parallelism))

    Args:
        training_tokens: of a micro-batch. vocab, hidden: entries and width. loss_bytes_per_logit: of logits and copies (fitted).
        compute_bytes: of a value [bytes]. tensor_parallel: ranks that share the vocabulary. sequence_parallel: they split
        the tokens. family: of the model; logits that are capped are kept once more.
    Returns:
        [bytes]

    >>> round(loss_bytes(4096, 128256, 4096, 12, 2, 1, False, "llama") / 2**30, 2)
    6.0

    Source: huggingface/transformers 5.23.0 loss/loss_utils.py, ForCausalLMLoss (32-bit logits); traced.
    """
    caps = has_trait(family, "capped_logits") and loss_bytes_per_logit >= compute_bytes
    capped = compute_bytes if caps else 0
    return training_tokens * (
        (loss_bytes_per_logit + capped) * vocab / tensor_parallel + (4 + 2 * compute_bytes) * hidden
    )
