"""Model states: the weights, gradients and optimizer state that each GPU keeps in training."""

from __future__ import annotations

import math


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
    """Parameters of one model-parallel rank on the fullest stage, before sharding.
    Tensor, pipeline and expert parallelism are applied.

    stage_parameters = (ceil(layers / pp) / layers · (parameters − tables − experts) + tables of the stage) / tp
                       + ceil(layers / pp) / layers · experts / (etp · ep)

    Args:
        parameters, expert_parameters: all, and routed. vocab, hidden: of one vocabulary table. tied_embeddings: one table.
        layers, pipeline_parallel: of the model, stages. tensor_parallel: ranks. expert_parallel_size,
        expert_tensor_parallel: ranks, else None.
    Returns:
        [parameters]

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
    """Weights that stay on one GPU between the passes of a training step.

    training_weight_bytes = stage_parameters · (frozen bytes + trained_share · bytes of a trained weight)
                            · (shard_share in stage 3, and in stage 2 of FSDP), 0 where they are offloaded

    Args:
        stage_parameters: of one rank before sharding. trained_share: of them. lora_rank: None without LoRA.
        parameter_bytes, adapter_bytes: of one trained weight, without and with LoRA [bytes].
        frozen_bytes_per_parameter: of a frozen one [bytes].
        sharding, sharding_stage, shard_share: what is sharded by whom, and the share that is kept.
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
"""Ways to share states out whose gradients lie in one buffer of the GPU."""


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
        stage_parameters: of one rank before sharding. trained_share: of them.
        gradient_bytes_per_parameter: [bytes]. sharding: Megatron keeps its buffer on the GPU whatever is offloaded.
        sharding_stage, shard_share: what is sharded, and the share that is kept.
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
    """Optimizer state on one GPU, including a master copy of the weights.

    optimizer_state_bytes = stage_parameters · trained_share · optimizer_bytes_per_parameter · (shard_share from stage 1 on)

    Args:
        stage_parameters: of one rank before sharding. trained_share: of them.
        optimizer_bytes_per_parameter: [bytes]. sharding_stage, shard_share: what is sharded, and the share that is kept.
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
