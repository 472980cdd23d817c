"""Model states: what each GPU keeps of weights, gradients and optimizer while a network is trained."""

from __future__ import annotations

import math


def adapter_parameters(
    lora_rank: int | None,
    lora_targets: str | None,
    layers: int,
    moe_layers: int,
    hidden: int,
    intermediate: int | None,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    gated_mlp: bool,
    experts: int | None,
    moe_intermediate: int | None,
    engine: str | None,
) -> int:
    """Parameters of LoRA's matrices.

    adapter_parameters = rank · (layers · Σ (d_in + d_out) over the attention's targets + dense layers · Σ over the MLP's
                                 + with Megatron routed layers · experts · Σ over an expert's)

    Args:
        lora_rank: rank, None without LoRA. lora_targets: letters of the matrices: q, k, v, o, g (gate), u (up), d (down).
        layers, moe_layers: all, and those whose MLP is routed (without adapters). hidden, intermediate: widths.
        attention_heads, kv_heads, head_dim: shape of the attention. gated_mlp: the MLP has a gate.
        experts, moe_intermediate: of a routed layer. engine: Megatron's experts are linear modules.
    Returns:
        parameters; 0 without LoRA.
    Validity: DoRA's magnitudes (one value a row) are not counted.

    >>> adapter_parameters(16, "qkvogud", 80, 0, 8192, 28672, 64, 8, 128, True, None, None, None)  # Unsloth, Llama-3.3-70B
    207093760
    >>> adapter_parameters(32, "qv", 28, 0, 3072, 8192, 24, 8, 128, True, None, None, None)  # PEFT, Llama-3.2-3B
    9175040

    Source: Hu et al., LoRA, 2021, section 4.1; Unsloth's Llama-3.3 notebook and PEFT's method comparison print the counts;
        modelscope/ms-swift 3602360a5 swift/megatron/utils/utils.py (grouped linear layers are targets).
    """
    if lora_rank is None:
        return 0
    if lora_targets is None:
        raise LookupError("the matrices that carry adapters are not stated")
    wide, narrow, inner = attention_heads * head_dim, kv_heads * head_dim, intermediate or 0
    attention = {"q": hidden + wide, "k": hidden + narrow, "v": hidden + narrow, "o": wide + hidden}
    mlp = {"g": hidden + inner if gated_mlp else 0, "u": hidden + inner, "d": inner + hidden}
    in_attention = sum(attention.get(letter, 0) for letter in lora_targets)
    in_mlp = sum(mlp.get(letter, 0) for letter in lora_targets)
    routed = 0
    if engine == "megatron-lm":
        each = hidden + (moe_intermediate or 0)
        routed = moe_layers * (experts or 0) * each * len(set(lora_targets) & set("gud" if gated_mlp else "ud"))
    return lora_rank * (layers * in_attention + max(0, layers - moe_layers) * in_mlp + routed)


def trainable_parameters(
    parameters: float, lora_rank: int | None, adapter_parameters: int, quantization: str | None
) -> float:
    """Parameters that a run trains.

    trainable_parameters = adapter_parameters with LoRA, else parameters

    Args:
        parameters: of the network. lora_rank: None without LoRA. adapter_parameters: of LoRA's matrices.
        quantization: of the base at load, else None: such weights are not trained.
    Returns:
        parameters

    >>> trainable_parameters(8030261248, None, 0, None)
    8030261248

    Source: Hu et al., LoRA, 2021; Dettmers et al., QLoRA, 2023, section 3.
    """
    if lora_rank is None and quantization is not None:
        raise LookupError(f"weights in {quantization} are not trained, and the rank of adapters is not stated")
    return parameters if lora_rank is None else adapter_parameters


def shard_ranks(gpus_per_replica: int, tensor_parallel: int, pipeline_parallel: int, shard_group: int | None) -> int:
    """Ranks over which the states of one model-parallel part are shared out.

    shard_ranks = shard_group where it is stated, else GPUs / (tp · pp)

    Args:
        gpus_per_replica: GPUs of the run. tensor_parallel, pipeline_parallel: ranks. shard_group: of hybrid sharding, else None.
    Returns:
        ranks
    Validity: ranks of context parallelism share them out too (torchtitan, Megatron-LM).

    >>> shard_ranks(256, 8, 1, None), shard_ranks(64, 1, 1, 8)
    (32, 8)

    Source: pytorch/torchtitan b5bcd76c6 distributed/parallel_dims.py (fsdp = dp_shard · cp); NVIDIA/Megatron-LM,
        core/parallel_state.py (data parallel with context parallel).
    """
    if shard_group:
        return shard_group
    ranks = gpus_per_replica // (tensor_parallel * pipeline_parallel)
    if ranks < 1:
        raise LookupError(
            f"{gpus_per_replica} GPUs are fewer than tensor parallel {tensor_parallel} x pipeline parallel {pipeline_parallel}"
        )
    return ranks


def sharding_stage(sharding: str, zero_stage: int | None) -> int:
    """What the data-parallel ranks share out, in ZeRO's stages.

    DeepSpeed's is stated; FSDP shares out everything unless it is stated, Megatron's distributed optimizer its state.

    Args:
        sharding: library that shares the states out. zero_stage: as stated, else None.
    Returns:
        0 nothing, 1 optimizer state, 2 gradients too, 3 weights too.

    >>> sharding_stage("fsdp", None), sharding_stage("ddp", None), sharding_stage("deepspeed", 2)
    (3, 0, 2)

    Source: Rajbhandari et al., ZeRO, 2020, section 5; Zhao et al., PyTorch FSDP, 2023 (FULL_SHARD, SHARD_GRAD_OP);
        NVIDIA/Megatron-LM, --use-distributed-optimizer.
    """
    if sharding in STAGES:
        return zero_stage if zero_stage is not None and sharding == "fsdp" else STAGES[sharding]
    if sharding != "deepspeed":
        raise LookupError(f"{sharding} is no way to share states out that is listed")
    if zero_stage is None:
        raise LookupError("DeepSpeed's stage is not stated")
    return zero_stage


STAGES = {"none": 0, "ddp": 0, "megatron": 0, "distributed-optimizer": 1, "fsdp": 3}


def stage_parameters(
    parameters: float,
    expert_parameters: int,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    layers: int,
    pipeline_parallel: int,
    tensor_parallel: int,
    expert_parallel_size: int | None,
    expert_tensor_parallel: int | None,
) -> float:
    """Parameters of one rank of tensor, pipeline and expert parallelism, on the fullest stage, before any sharing out.

    stage_parameters = (ceil(layers / pp) / layers · (parameters − tables − experts) + tables of the stage) / tp
                       + ceil(layers / pp) / layers · experts / (etp · ep)

    Args:
        parameters, expert_parameters: all, and routed. vocab, hidden: of one vocabulary table. tied_embeddings: one table.
        layers, pipeline_parallel: of the network, stages. tensor_parallel: ranks. expert_parallel_size,
        expert_tensor_parallel: ranks, else None.
    Returns:
        parameters

    >>> stage_parameters(8030261248, 0, 128256, 4096, False, 32, 1, 1, None, None)  # one rank holds all
    8030261248.0
    >>> round(stage_parameters(405853388800, 0, 128256, 16384, False, 126, 8, 8, None, None) / 1e6)  # Llama-3.1-405B
    6638

    Source: NVIDIA/Megatron-LM, training/theoretical_memory_usage.py (embedding on the first stage, head on the last).
    """
    table = vocab * hidden
    tables = table * (1 if tied_embeddings else 2)
    share = math.ceil(layers / pipeline_parallel) / layers
    held = tables if pipeline_parallel == 1 else table
    dense = share * (parameters - tables - expert_parameters) + held
    return dense / tensor_parallel + share * expert_parameters / (
        (expert_tensor_parallel or tensor_parallel) * (expert_parallel_size or 1)
    )


def shard_share(
    stage_parameters: float,
    expert_parameters: int,
    layers: int,
    pipeline_parallel: int,
    tensor_parallel: int,
    expert_parallel_size: int | None,
    expert_tensor_parallel: int | None,
    shard_ranks: int,
) -> float:
    """Share of one rank's states that it keeps where they are shared out: experts over fewer ranks than the rest.

    shard_share = (dense / shard_ranks + experts / max(1, shard_ranks / ep)) / stage_parameters

    Args:
        stage_parameters: of one rank before sharing out. expert_parameters: routed, of the network. layers: of it.
        pipeline_parallel, tensor_parallel: ranks. expert_parallel_size,
        expert_tensor_parallel: ranks, else None. shard_ranks: that share states out.
    Returns:
        ratio

    >>> shard_share(100.0, 0, 32, 1, 1, None, None, 8)
    0.125
    >>> shard_share(100.0, 640, 32, 1, 1, 8, None, 8)  # 80 of 100 are experts that no other rank holds
    0.825

    Source: NVIDIA/Megatron-LM, core/parallel_state.py (expert data parallel = world / (expert tp · ep · pp)).
    """
    spread = expert_parallel_size or 1
    held = (
        math.ceil(layers / pipeline_parallel)
        / layers
        * expert_parameters
        / ((expert_tensor_parallel or tensor_parallel) * spread)
    )
    experts = min(stage_parameters, held)
    shares = (stage_parameters - experts) / shard_ranks + experts / max(1.0, shard_ranks / spread)
    return shares / stage_parameters


def trained_share(trainable_parameters: float, parameters: float) -> float:
    """Share of the parameters that is trained.

    trained_share = trainable_parameters / parameters

    Args:
        trainable_parameters, parameters: trained, and all.
    Returns:
        ratio

    >>> trained_share(4, 16)
    0.25

    Source: definition.
    """
    return trainable_parameters / parameters


def frozen_bytes_per_parameter(
    lora_rank: int | None,
    quantization: str | None,
    checkpoint_quantization: str | None,
    compute_bytes: int,
    embedding_parameters: int,
    encoder_parameters: int,
    parameters: float,
    expert_parameters: int,
    family: str,
    frozen_excess: float,
    engine: str | None,
) -> float:
    """Bytes of one frozen weight below adapters, averaged over the network.

    frozen_bytes_per_parameter = (quantised · b · frozen_excess + (parameters − quantised) · compute_bytes) / parameters

    Args:
        lora_rank: None when nothing is frozen. quantization, checkpoint_quantization: of the base, else None.
        compute_bytes: of an unquantised weight [bytes]. parameters: all.
        embedding_parameters, encoder_parameters: of the vocabulary tables and of an encoder, which are not quantised.
        expert_parameters: routed; those of a family that keeps them in one tensor are not quantised at load.
        frozen_excess: what releases keep in 16 bits beyond that (fitted). engine: Unsloth makes gpt-oss' experts linear modules.
    Returns:
        [bytes]; 0 when every weight is trained.
    Validity: 4-bit NormalFloat keeps one 32-bit scale for 64 weights (one byte with double quantisation); a checkpoint in MXFP4
        is brought to 16 bits, as no kernel trains it (axolotl-ai-cloud/axolotl 067b021c8 examples/gpt-oss).

    >>> frozen_bytes_per_parameter(16, None, None, 2, 0, 0, 8, 0, "llama", 1.0, None)
    2.0
    >>> round(frozen_bytes_per_parameter(16, "nf4", None, 2, 1050673152, 0, 8030261248, 0, "llama", 1.0, None), 3)  # Llama-3.1-8B
    0.751

    Source: Dettmers et al., QLoRA, 2023, section 3; bitsandbytes replaces linear modules only; unslothai/unsloth-zoo ce232d6c
        unsloth_zoo/temporary_patches/gpt_oss.py, GptOssExpertsBnb4bit.
    """
    if lora_rank is None:
        return 0.0
    scheme = quantization or checkpoint_quantization
    if scheme is None or (scheme == "mxfp4" and quantization is None):
        return float(compute_bytes)
    if scheme not in FROZEN:
        raise LookupError(f"the bytes of a base in {scheme} are not listed")
    whole = family in ONE_TENSOR_EXPERTS and (engine, family) != ("unsloth", "gpt-oss")
    kept = embedding_parameters + encoder_parameters + (expert_parameters if whole else 0)
    return ((parameters - kept) * FROZEN[scheme] * frozen_excess + kept * compute_bytes) / parameters


ONE_TENSOR_EXPERTS = frozenset({"gemma-4", "gpt-oss", "llama-4", "qwen3-vl-moe", "dbrx"})
"""Families whose routed experts are one tensor of a layer instead of linear modules."""
FROZEN = {
    "nf4": 0.5 + 4 / 64,
    "nf4-double": 0.5 + 1 / 64 + 4 / (64 * 256),
    "int4-bnb": 0.5 + 1 / 64 + 4 / (64 * 256),
    "int4-g128": 0.5 + 2.5 / 128,
    **dict.fromkeys(("int8", "int8-bnb", "fp8"), 1.0),
}
"""Bytes of a frozen weight by the format of the base, scales included."""


def training_weight_bytes(
    stage_parameters: float,
    trained_share: float,
    lora_rank: int | None,
    parameter_bytes: int,
    adapter_bytes: int,
    frozen_bytes_per_parameter: float,
    sharding: str,
    sharding_stage: int,
    shard_share: float,
    parameter_offload: bool,
) -> float:
    """Weights that stay on one GPU between the passes.

    training_weight_bytes = stage_parameters · (frozen bytes + trained_share · bytes of a trained weight)
                            · (shard_share in stage 3, and in stage 2 of FSDP), 0 where they are offloaded

    Args:
        stage_parameters: of one rank before sharing out. trained_share: of them. lora_rank: None without LoRA.
        parameter_bytes, adapter_bytes: of one trained weight, without and with LoRA [bytes].
        frozen_bytes_per_parameter: of a frozen one [bytes].
        sharding, sharding_stage, shard_share: what is shared out by whom, and the share that is kept.
        parameter_offload: weights are kept in host memory.
    Returns:
        [bytes]

    >>> training_weight_bytes(8e9, 1.0, None, 4, 4, 0.0, "fsdp", 3, 1 / 8, False)
    4000000000.0

    Source: Rajbhandari et al., ZeRO, 2020, section 5.3; DeepSpeed documentation, ZeRO-3 offload; PyTorch 2.15.0,
        fully_shard, reshard_after_forward (weights of stage 2 are shards between the steps).
    """
    if parameter_offload:
        return 0.0
    trained = trained_share * (parameter_bytes if lora_rank is None else adapter_bytes)
    shared = sharding_stage >= (2 if sharding == "fsdp" else 3)
    return stage_parameters * (frozen_bytes_per_parameter + trained) * (shard_share if shared else 1)


BUFFERED = frozenset({"megatron", "distributed-optimizer"})
"""Ways to share states out whose gradients lie in one buffer of the card."""


def adapter_bytes(adapter_dtype: str) -> int:
    """Bytes of one adapter weight.

    Args:
        adapter_dtype: number format of the adapters.
    Returns:
        [bytes]

    >>> adapter_bytes("float32")
    4

    Source: huggingface/peft 0.21.2 tuners/tuners_utils.py, cast_adapter_dtype: 16-bit adapters are kept in float32.
    """
    return 4 if adapter_dtype == "float32" else 2


def gradient_bytes(
    stage_parameters: float,
    trained_share: float,
    gradient_bytes_per_parameter: int,
    sharding: str,
    sharding_stage: int,
    shard_share: float,
    optimizer_offload: bool,
) -> float:
    """Gradients on one GPU at the end of the backward pass.

    gradient_bytes = stage_parameters · trained_share · gradient_bytes_per_parameter · (shard_share from stage 2 on)

    Args:
        stage_parameters: of one rank before sharing out. trained_share: of them.
        gradient_bytes_per_parameter: [bytes]. sharding: Megatron keeps its buffer on the card whatever is offloaded.
        sharding_stage, shard_share: what is shared out, and the share that is kept.
        optimizer_offload: gradients go to host memory as they are made.
    Returns:
        [bytes]

    >>> gradient_bytes(8e9, 1.0, 4, "fsdp", 3, 1 / 8, False)
    4000000000.0

    Source: Rajbhandari et al., ZeRO, 2020, section 5.2; Ren et al., ZeRO-Offload, 2021, section 3;
        NVIDIA/Megatron-LM d98e8a64 megatron/core/optimizer/cpu_offloading (HybridDeviceOptimizer copies gradients to the host).
    """
    if optimizer_offload and sharding not in BUFFERED:
        return 0.0
    held = stage_parameters * trained_share * gradient_bytes_per_parameter
    return held * (shard_share if sharding_stage >= 2 else 1)


def optimizer_state_bytes(
    stage_parameters: float,
    trained_share: float,
    optimizer_bytes_per_parameter: float,
    sharding_stage: int,
    shard_share: float,
    optimizer_offload: bool,
) -> float:
    """Optimizer state on one GPU, a master copy included.

    optimizer_state_bytes = stage_parameters · trained_share · optimizer_bytes_per_parameter · (shard_share from stage 1 on)

    Args:
        stage_parameters: of one rank before sharing out. trained_share: of them.
        optimizer_bytes_per_parameter: [bytes]. sharding_stage, shard_share: what is shared out, and the share that is kept.
        optimizer_offload: the state is kept in host memory.
    Returns:
        [bytes]

    >>> optimizer_state_bytes(7e9, 1.0, 12, 0, 1.0, False)  # with weights and gradients of 2 bytes: 112 GB, not 84
    84000000000.0

    Source: Rajbhandari et al., ZeRO, 2020, sections 3.1 and 5.1.
    """
    if optimizer_offload:
        return 0.0
    held = stage_parameters * trained_share * optimizer_bytes_per_parameter
    return held * (shard_share if sharding_stage >= 1 else 1)


def layer_parameters(
    parameters: float, vocab: int, hidden: int, tied_embeddings: bool, layers: int, tensor_parallel: int
) -> float:
    """Parameters of one layer on one rank of tensor parallelism.

    layer_parameters = (parameters − vocab · hidden · tables) / layers / tp

    Args:
        parameters: of the network. vocab, hidden, tied_embeddings: its vocabulary tables. layers: of the network.
        tensor_parallel: ranks.
    Returns:
        parameters
    Validity: routed experts are counted whole, as they are gathered without expert parallelism.

    >>> layer_parameters(8030261248, 128256, 4096, False, 32, 1)  # Llama-3.1-8B
    218112128.0

    Source: definition.
    """
    tables = vocab * hidden * (1 if tied_embeddings else 2)
    return (parameters - tables) / layers / tensor_parallel


def gathered_bytes(
    sharding: str,
    sharding_stage: int,
    shard_ranks: int,
    layer_parameters: float,
    stage_parameters: float,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    pipeline_parallel: int,
    tensor_parallel: int,
    compute_bytes: int,
    frozen_bytes_per_parameter: float,
    lora_rank: int | None,
    live_parameters: float,
    gathered_share: float,
    gathered_tables: float,
) -> float:
    """Weights that are gathered for the layer at work.

    gathered_bytes = b · (one layer + vocabulary tables) with FSDP, b · all in its stage 2 and with pipeline stages,
                     b · gathered_share · all where that is more, b · min(all, max(live_parameters, two layers)) with ZeRO-3

    Args:
        sharding, sharding_stage, shard_ranks: how states are shared out; nothing is gathered on one rank, and below stage 3 by
        FSDP alone.
        layer_parameters, stage_parameters: of one layer, and of all of one rank. vocab, hidden, tied_embeddings: its tables.
        pipeline_parallel, tensor_parallel: ranks. compute_bytes: of one gathered weight [bytes].
        frozen_bytes_per_parameter: of a frozen one, which is gathered as it is stored [bytes]. lora_rank: None without LoRA.
        live_parameters: that ZeRO-3 keeps gathered (fitted). gathered_share: of the weights that FSDP keeps gathered (fitted).
        gathered_tables: vocabulary tables among them (fitted).
    Returns:
        [bytes]

    >>> gathered_bytes("fsdp", 3, 8, 10.0, 400.0, 4, 5, False, 1, 1, 2, 0.0, None, 0, 0.0, 2)
    100.0
    >>> gathered_bytes("fsdp", 2, 8, 10.0, 400.0, 4, 5, False, 1, 1, 2, 0.0, None, 0, 0.0, 2)
    800.0

    Source: PyTorch 2.15.0, torch/distributed/fsdp/_fully_shard (the root's weights stay); traced;
        pytorch/torchtitan b5bcd76c6 config/configs.py, fsdp_reshard_after_forward (weights stay gathered under pipeline stages);
        DeepSpeed documentation, stage3_max_live_parameters, stage3_prefetch_bucket_size.
    """
    if sharding_stage < (2 if sharding == "fsdp" else 3) or shard_ranks == 1:
        return 0.0
    width = compute_bytes if lora_rank is None else frozen_bytes_per_parameter
    if pipeline_parallel > 1 or sharding_stage < 3:
        return width * stage_parameters
    if sharding == "deepspeed":
        return width * min(stage_parameters, max(live_parameters, 2 * layer_parameters))
    tables = (
        vocab * hidden * min(gathered_tables, 1 if tied_embeddings or pipeline_parallel > 1 else 2) / tensor_parallel
    )
    return max(layer_parameters * width + tables * compute_bytes, gathered_share * stage_parameters * width)


def waiting_bytes(
    sharding: str,
    sharding_stage: int,
    shard_ranks: int,
    layer_parameters: float,
    vocab: int,
    hidden: int,
    pipeline_parallel: int,
    tensor_parallel: int,
    compute_bytes: int,
    frozen_bytes_per_parameter: float,
    lora_rank: int | None,
    gathered_tables: float,
) -> float:
    """What FSDP holds through the backward pass besides: the next layer's weights, and the output head's gradient.

    waiting_bytes = layer_parameters · b + vocab · hidden / tp · compute_bytes where the head is trained; in stage 2 less a
                    layer's weights, which the last layer has let go

    Args:
        sharding, sharding_stage, shard_ranks: how states are shared out; 0 but for FSDP on several ranks.
        layer_parameters: of one layer. vocab, hidden: of the head. pipeline_parallel, tensor_parallel: ranks.
        compute_bytes: of a gathered weight and of a gradient as it is made [bytes].
        frozen_bytes_per_parameter: of a frozen weight [bytes]. lora_rank: None when the head is trained.
        gathered_tables: vocabulary tables of the root's group (fitted).
    Returns:
        [bytes]
    Validity: the head is in one group with the embedding, whose gradient is the last; a head that is a group of its own
        waits for nothing.

    >>> waiting_bytes("fsdp", 3, 8, 10.0, 4, 5, 1, 1, 2, 0.0, None, 2)
    60.0
    >>> waiting_bytes("fsdp", 3, 8, 10.0, 4, 5, 1, 1, 2, 0.0, None, 0)
    20.0

    Source: PyTorch 2.15.0, torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py (post_backward of a group reduces all its
        gradients; backward prefetch of one group); traced.
    """
    if sharding != "fsdp" or sharding_stage < 2 or shard_ranks == 1 or pipeline_parallel > 1:
        return 0.0
    width = compute_bytes if lora_rank is None else frozen_bytes_per_parameter
    prefetched = layer_parameters * width
    head = min(1, gathered_tables) * vocab * hidden / tensor_parallel * compute_bytes if lora_rank is None else 0
    return (prefetched if sharding_stage >= 3 else -prefetched) + head


def root_gathered_bytes(
    sharding: str,
    sharding_stage: int,
    shard_ranks: int,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    pipeline_parallel: int,
    tensor_parallel: int,
    compute_bytes: int,
    gathered_tables: float,
) -> float:
    """What FSDP needs besides while it gathers the vocabulary tables: the buffer they are copied out of.

    root_gathered_bytes = tables · vocab · hidden / tp · compute_bytes

    Args:
        sharding, sharding_stage, shard_ranks: how states are shared out; 0 but for stage 3 of FSDP on several ranks, which
        gathers the tables again for the backward pass.
        vocab, hidden, tied_embeddings: tables. pipeline_parallel, tensor_parallel: ranks.
        compute_bytes: of a gathered weight [bytes]. gathered_tables: of the root's group (fitted).
    Returns:
        [bytes]
    Validity: PyTorch's first FSDP gathers in place.

    >>> root_gathered_bytes("fsdp", 3, 8, 128256, 4096, False, 1, 1, 2, 2) / 2**30  # Llama-3.1-8B: traced 1.96
    1.95703125

    Source: PyTorch 2.15.0, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_all_gather_copy_out; traced.
    """
    if sharding != "fsdp" or sharding_stage < 3 or shard_ranks == 1 or pipeline_parallel > 1:
        return 0.0
    return min(gathered_tables, 1 if tied_embeddings else 2) * vocab * hidden / tensor_parallel * compute_bytes


def root_reduction_bytes(
    sharding: str,
    sharding_stage: int,
    shard_ranks: int,
    layer_parameters: float,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    pipeline_parallel: int,
    tensor_parallel: int,
    reduced_bytes_per_parameter: int,
    compute_bytes: int,
    lora_rank: int | None,
    gathered_tables: float,
) -> float:
    """What FSDP needs when the backward pass ends: gradients of the vocabulary tables, and the buffer that reduces them.

    root_reduction_bytes = tables · vocab · hidden / tp · (compute_bytes + reduced_bytes_per_parameter); a tied table, still
                           gathered, has its two gradients and their sum, and the last layer's buffer, instead where
                           that is more: 4 · compute_bytes, layer_parameters · reduced_bytes_per_parameter

    Args:
        sharding, sharding_stage, shard_ranks: how states are shared out; 0 but for FSDP on several ranks.
        layer_parameters: of one layer. vocab, hidden, tied_embeddings: tables. pipeline_parallel, tensor_parallel: ranks.
        reduced_bytes_per_parameter, compute_bytes: of a gradient as it is reduced, and as it is made [bytes].
        lora_rank: None when the tables are trained. gathered_tables: of the root's group (fitted); one of its own is
        reduced alone.
    Returns:
        [bytes]
    Validity: see waiting_bytes.

    >>> root_reduction_bytes("fsdp", 3, 8, 2e8, 128256, 4096, False, 1, 1, 4, 2, None, 2) / 2**30  # Llama-3.1-8B: traced 5.87
    5.87109375

    Source: PyTorch 2.15.0, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce; traced.
    """
    if sharding != "fsdp" or sharding_stage < 2 or shard_ranks == 1 or pipeline_parallel > 1 or lora_rank is not None:
        return 0.0
    table = vocab * hidden / tensor_parallel
    reduced = table * (compute_bytes + reduced_bytes_per_parameter)
    if not tied_embeddings:
        return max(1, gathered_tables) * reduced
    return max(reduced, 4 * table * compute_bytes + layer_parameters * reduced_bytes_per_parameter)


def reduction_bytes(
    sharding: str,
    sharding_stage: int,
    shard_ranks: int,
    layer_parameters: float,
    stage_parameters: float,
    trained_share: float,
    reduced_bytes_per_parameter: int,
    compute_bytes: int,
    bucket_parameters: float,
    pipeline_parallel: int,
    layer_work_bytes: float,
) -> float:
    """Buffers through which gradients are reduced between ranks.

    reduction_bytes = trained_share · layer · reduced bytes             FSDP: what is scattered of the layer before, and
                      + the larger of a third of the layer's gradients and what all of them exceed its work by
                      trained_share · all · 4                           FSDP with pipeline stages: gradients before reduction
                      trained_share · bucket_parameters · compute_bytes DeepSpeed

    Args:
        sharding, sharding_stage, shard_ranks: how states are shared out; nothing is reduced on one rank.
        layer_parameters, stage_parameters: of one layer, and of all of one rank. trained_share: of them.
        reduced_bytes_per_parameter, compute_bytes: of a gradient as it is reduced, and as it is made [bytes].
        bucket_parameters: of DeepSpeed's buckets (fitted).
        pipeline_parallel: stages, whose gradients are reduced after the last micro-batch only.
        layer_work_bytes: of the backward pass of a layer, most when the first of its gradients are made [bytes].
    Returns:
        [bytes]

    >>> reduction_bytes("fsdp", 3, 8, 100.0, 1000.0, 1.0, 4, 2, 0, 1, 0.0)
    600.0
    >>> reduction_bytes("fsdp", 3, 8, 90.0, 1000.0, 1.0, 4, 2, 0, 1, 500.0)
    420.0

    Source: PyTorch 2.15.0, torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce; DeepSpeed documentation,
        reduce_bucket_size.
    """
    if shard_ranks == 1 or sharding == "none":
        return 0.0
    if sharding == "fsdp" and pipeline_parallel > 1:
        return trained_share * stage_parameters * 4
    if sharding == "fsdp":
        made = trained_share * layer_parameters * compute_bytes
        scattered = trained_share * layer_parameters * reduced_bytes_per_parameter
        return scattered + max(made / 3, made - layer_work_bytes)
    if sharding == "deepspeed":
        return trained_share * min(bucket_parameters, stage_parameters) * compute_bytes
    return 0.0


def bucket_bytes(
    sharding: str,
    shard_ranks: int,
    stage_parameters: float,
    trained_share: float,
    gradient_bytes_per_parameter: int,
) -> float:
    """Buckets of DDP, which stay for the whole run beside weights and gradients.

    bucket_bytes = stage_parameters · trained_share · gradient_bytes_per_parameter with DDP on several ranks, else 0

    Args:
        sharding, shard_ranks: how many ranks hold copies. stage_parameters: of one rank. trained_share: of them.
        gradient_bytes_per_parameter: [bytes]
    Returns:
        [bytes]
    Validity: gradients that are views of the buckets (gradient_as_bucket_view) are counted a second time.

    >>> bucket_bytes("ddp", 8, 8e9, 1.0, 2)
    16000000000.0

    Source: PyTorch 2.15.0, torch/nn/parallel/distributed.py, gradient_as_bucket_view (default False); its allocator's record of
        real steps on a CPU (bench/fake_checks.py).
    """
    if sharding != "ddp" or shard_ranks == 1:
        return 0.0
    return stage_parameters * trained_share * gradient_bytes_per_parameter


def cast_bytes(
    stage_parameters: float,
    trained_share: float,
    lora_rank: int | None,
    parameter_bytes: int,
    compute_bytes: int,
    sharding: str,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    tensor_parallel: int,
) -> float:
    """Copies of 32-bit weights that autocast keeps in the number format of the computation until the forward pass ends.

    cast_bytes = (stage_parameters · trained_share − vocab · hidden / tp of an embedding of its own) · compute_bytes where
                 weights are wider than the computation, else 0

    Args:
        stage_parameters: of one rank. trained_share: of them. lora_rank: None without LoRA.
        parameter_bytes, compute_bytes: of one weight as kept and as used [bytes]. sharding: FSDP casts what it gathers itself.
        vocab, hidden, tied_embeddings, tensor_parallel: an embedding that is not the output head's matrix too is not cast.
    Returns:
        [bytes]

    >>> cast_bytes(100.0, 1.0, None, 4, 2, "none", 5, 2, True, 1), cast_bytes(100.0, 1.0, None, 4, 2, "fsdp", 5, 2, True, 1)
    (200.0, 0.0)
    >>> cast_bytes(100.0, 1.0, None, 4, 2, "none", 5, 2, False, 1)
    180.0

    Source: PyTorch 2.15.0, ATen/autocast_mode.h, cached_cast (an embedding is no matrix product); traced.
    """
    if lora_rank is not None or parameter_bytes <= compute_bytes or sharding in ("fsdp", "deepspeed"):
        return 0.0
    embedding = 0.0 if tied_embeddings else vocab * hidden / tensor_parallel
    return max(0.0, stage_parameters * trained_share - embedding) * compute_bytes
