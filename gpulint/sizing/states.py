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
    adapted_experts: float,
) -> int:
    """Parameters of LoRA's matrices.

    adapter_parameters = rank · (layers · Σ (d_in + d_out) over the attention's targets + dense layers · Σ over the MLP's
                                 + routed layers · experts · Σ over an expert's, with Megatron all, else adapted_experts of them)

    Args:
        lora_rank: rank, None without LoRA. lora_targets: letters of the matrices: q, k, v, o, g (gate), u (up), d (down).
        layers, moe_layers: all, and those whose MLP is routed (without adapters). hidden, intermediate: widths.
        attention_heads, kv_heads, head_dim: shape of the attention. gated_mlp: the MLP has a gate.
        experts, moe_intermediate: of a routed layer. engine: Megatron's experts are linear modules. adapted_experts: 1 where
        those of the trainer's release are, 0 where they are one tensor, which targets of linear modules pass by (fitted).
    Returns:
        parameters; 0 without LoRA.
    Validity: DoRA's magnitudes (one value a row) are not counted.

    >>> adapter_parameters(16, "qkvogud", 80, 0, 8192, 28672, 64, 8, 128, True, None, None, None, 0)  # Unsloth, Llama-3.3-70B
    207093760
    >>> adapter_parameters(32, "qv", 28, 0, 3072, 8192, 24, 8, 128, True, None, None, None, 0)  # PEFT, Llama-3.2-3B
    9175040

    Source: Hu et al., LoRA, 2021, section 4.1; Unsloth's Llama-3.3 notebook and PEFT's method comparison print the counts;
        modelscope/ms-swift 3602360a5 swift/megatron/utils/utils.py (grouped linear layers are targets);
        huggingface/transformers v4.51.3 and 5.23.0 models/qwen3_moe (experts as modules, and as one tensor).
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
    each = (hidden + (moe_intermediate or 0)) * len(set(lora_targets) & set("gud" if gated_mlp else "ud"))
    adapted = 1 if engine == "megatron-lm" else adapted_experts
    routed = round(adapted * moe_layers * (experts or 0) * each)
    return lora_rank * (layers * in_attention + max(0, layers - moe_layers) * in_mlp + routed)


def trainable_parameters(
    parameters: float,
    lora_rank: int | None,
    adapter_parameters: int,
    quantization: str | None,
    trained_tables: int,
    vocab: int,
    hidden: int,
) -> float:
    """Parameters that a run trains.

    trainable_parameters = adapter_parameters + trained_tables · vocab · hidden with LoRA, else parameters

    Args:
        parameters: of the network. lora_rank: None without LoRA. adapter_parameters: of LoRA's matrices.
        quantization: of the base at load, else None: such weights are not trained.
        trained_tables: vocabulary tables that are trained whole beside adapters. vocab, hidden: of one.
    Returns:
        parameters
    Validity: copies of tables are counted as wide as adapters are kept.

    >>> trainable_parameters(8030261248, None, 0, None, 0, 128256, 4096)
    8030261248
    >>> trainable_parameters(8030261248, 8, 3407872, None, 2, 128256, 4096)  # modules_to_save: embed_tokens, lm_head
    1054081024

    Source: Hu et al., LoRA, 2021; Dettmers et al., QLoRA, 2023, section 3; huggingface/peft 0.21.2 utils/other.py,
        ModulesToSaveWrapper (a copy beside the frozen module).
    """
    if lora_rank is None and quantization is not None:
        raise LookupError(f"weights in {quantization} are not trained, and the rank of adapters is not stated")
    return parameters if lora_rank is None else adapter_parameters + trained_tables * vocab * hidden


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
