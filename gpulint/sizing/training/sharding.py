"""Sharding: what FSDP, ZeRO and DDP gather, hold and reduce in training, and what autocast copies."""

from __future__ import annotations

import math

from gpulint.catalog.errors import MissingInput


def shard_ranks(
    gpus_per_replica: int,
    tensor_parallel: int,
    pipeline_parallel: int,
    shard_group: int | None,
    hybrid_sharding: bool,
    gpus_per_pod: float | None = None,
) -> int:
    """Ranks over which the states of one model-parallel part are sharded.

    shard_ranks = shard_group where it is stated, else GPUs / (tp · pp), of one node with hybrid sharding

    Args:
        gpus_per_replica: GPUs of the run. tensor_parallel, pipeline_parallel: ranks. shard_group: of hybrid sharding, else None.
        hybrid_sharding: each node holds a whole copy. gpus_per_pod: GPUs of a node's pod; None where not known.
    Returns:
        ranks
    Validity: ranks of context parallelism share them out too (torchtitan, Megatron-LM).

    >>> shard_ranks(256, 8, 1, None, False), shard_ranks(64, 1, 1, 8, False), shard_ranks(64, 1, 1, None, True, 8)
    (32, 8, 8)

    Source: pytorch/torchtitan b5bcd76c6 distributed/parallel_dims.py (fsdp = dp_shard · cp); NVIDIA/Megatron-LM,
        core/parallel_state.py (data parallel with context parallel); pytorch/pytorch torch/distributed/fsdp
        _init_utils.py (HYBRID_SHARD: a group for each node).
    """
    if shard_group:
        return shard_group
    if hybrid_sharding and gpus_per_pod is None:
        raise MissingInput("gpus_per_pod")
    gpus = min(gpus_per_replica, int(gpus_per_pod or 0)) if hybrid_sharding else gpus_per_replica
    ranks = gpus // (tensor_parallel * pipeline_parallel)
    if ranks < 1:
        raise LookupError(
            f"{gpus_per_replica} GPUs are fewer than tensor parallel {tensor_parallel} x pipeline parallel {pipeline_parallel}"
        )
    return ranks


def sharding_stage(sharding: str, zero_stage: int | None) -> int:
    """ZeRO stage: the data-parallel ranks shard nothing (0), optimizer state (1), gradients (2) or weights (3).

    DeepSpeed states it. FSDP shards everything unless stated otherwise, Megatron's distributed optimizer its state.

    Args:
        sharding: library that shards the states. zero_stage: as stated, else None.
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
        raise LookupError(f"{sharding} is not a listed kind of sharding")
    if zero_stage is None:
        raise LookupError("DeepSpeed's stage is not stated")
    return zero_stage


STAGES = {"none": 0, "ddp": 0, "megatron": 0, "distributed-optimizer": 1, "fsdp": 3}


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
    """Share of its states that one rank keeps under sharding.
    Experts are sharded over fewer ranks than the rest.

    shard_share = (dense / shard_ranks + experts / max(1, shard_ranks / ep)) / stage_parameters

    Args:
        stage_parameters: of one rank before sharding. expert_parameters: routed, of the model. layers: of it.
        pipeline_parallel, tensor_parallel: ranks. expert_parallel_size,
        expert_tensor_parallel: ranks, else None. shard_ranks: that share states out.
    Returns:
        [ratio]

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


def layer_parameters(
    parameters: float, vocab: int, hidden: int, tied_embeddings: bool, layers: int, tensor_parallel: int
) -> float:
    """Parameters of one layer on one tensor-parallel rank.

    layer_parameters = (parameters − vocab · hidden · tables) / layers / tp

    Args:
        parameters: of the model. vocab, hidden, tied_embeddings: its vocabulary tables. layers: of the model.
        tensor_parallel: ranks.
    Returns:
        [parameters]
    Validity: routed experts are counted whole, as they are gathered without expert parallelism.

    >>> layer_parameters(8030261248, 128256, 4096, False, 32, 1)  # Llama-3.1-8B
    218112128.0

    Source: definition.
    """
    tables = vocab * hidden * (1 if tied_embeddings else 2)
    return (parameters - tables) / layers / tensor_parallel


def fsdp_table_bytes(
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    tensor_parallel: int,
    compute_bytes: int,
    gathered_tables: float,
) -> float:
    """Vocabulary tables that FSDP keeps gathered while a layer is computed.

    fsdp_table_bytes = vocab · hidden · min(gathered_tables, tables) · compute_bytes / tensor_parallel

    Args:
        vocab, hidden, tied_embeddings: of the tables. tensor_parallel: ranks. compute_bytes: of one gathered weight [bytes].
        gathered_tables: that stay gathered (fitted).
    Returns:
        [bytes]

    >>> fsdp_table_bytes(4, 5, False, 1, 2, 2)
    80.0

    Source: PyTorch 2.15.0, torch/distributed/fsdp/_fully_shard (the root's weights stay); traced.
    """
    return vocab * hidden * min(gathered_tables, 1 if tied_embeddings else 2) / tensor_parallel * compute_bytes


def gathered_bytes(
    sharding: str,
    sharding_stage: int,
    shard_ranks: int,
    layer_parameters: float,
    stage_parameters: float,
    fsdp_table_bytes: float,
    pipeline_parallel: int,
    compute_bytes: int,
    frozen_bytes_per_parameter: float,
    lora_rank: int | None,
    live_parameters: float,
    gathered_share: float,
) -> float:
    """Weights that are gathered for the layer being computed.

    gathered_bytes = b · one layer + vocabulary tables with FSDP, b · all in its stage 2 and with pipeline stages,
                     b · gathered_share · all where that is more, b · min(all, max(live_parameters, two layers)) with ZeRO-3

    Args:
        sharding, sharding_stage, shard_ranks: how states are sharded; nothing is gathered on one rank, and below stage 3 by
        FSDP alone.
        layer_parameters, stage_parameters: of one layer, and of all of one rank. fsdp_table_bytes: its tables [bytes].
        pipeline_parallel: ranks. compute_bytes: of one gathered weight [bytes].
        frozen_bytes_per_parameter: of a frozen one, which is gathered as it is stored [bytes]. lora_rank: None without LoRA.
        live_parameters: that ZeRO-3 keeps gathered (fitted). gathered_share: of the weights that FSDP keeps gathered (fitted).
    Returns:
        [bytes]

    >>> gathered_bytes("fsdp", 3, 8, 10.0, 400.0, 80.0, 1, 2, 0.0, None, 0, 0.0)
    100.0
    >>> gathered_bytes("fsdp", 2, 8, 10.0, 400.0, 80.0, 1, 2, 0.0, None, 0, 0.0)
    800.0

    Source: pytorch/torchtitan b5bcd76c6 config/configs.py, fsdp_reshard_after_forward (weights stay gathered under pipeline
        stages); DeepSpeed documentation, stage3_max_live_parameters, stage3_prefetch_bucket_size.
    """
    if sharding_stage < (2 if sharding == "fsdp" else 3) or shard_ranks == 1:
        return 0.0
    width = compute_bytes if lora_rank is None else frozen_bytes_per_parameter
    if pipeline_parallel > 1 or sharding_stage < 3:
        return width * stage_parameters
    if sharding == "deepspeed":
        return width * min(stage_parameters, max(live_parameters, 2 * layer_parameters))
    return max(layer_parameters * width + fsdp_table_bytes, gathered_share * stage_parameters * width)


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
    """Additional memory that FSDP holds through the backward pass.
    It holds the next layer's weights and the output head's gradient.

    waiting_bytes = layer_parameters · b + vocab · hidden / tp · compute_bytes where the head is trained; in stage 2 less a
                    layer's weights, which the last layer has let go

    Args:
        sharding, sharding_stage, shard_ranks: how states are sharded; 0 but for FSDP on several ranks.
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


def unshared_load_bytes(
    sharding: str,
    sharding_stage: int,
    zero_init: bool,
    stage_parameters: float,
    compute_bytes: int,
    frozen_bytes_per_parameter: float,
    lora_rank: int | None,
) -> float:
    """Weights that every GPU holds in full before DeepSpeed shards them.

    unshared_load_bytes = stage_parameters · b in stage 3 of DeepSpeed without zero.Init, else 0

    Args:
        sharding, sharding_stage: how states are sharded. zero_init: the model is made in shards (zero.Init).
        stage_parameters: of one rank. compute_bytes, frozen_bytes_per_parameter: of a trained and of a frozen weight [bytes].
        lora_rank: None without LoRA.
    Returns:
        [bytes]

    >>> [unshared_load_bytes("deepspeed", 3, made, 14e9, 2, 0.0, None) for made in (False, True)]
    [28000000000.0, 0.0]

    Source: deepspeedai/DeepSpeed edaa7221 deepspeed/runtime/engine.py, _configure_distributed_model (module.to(device) unless
        zero.Init() placed it); huggingface/accelerate 1.15.0 utils/dataclasses.py, zero3_init_flag.
    """
    if sharding != "deepspeed" or sharding_stage < 3 or zero_init:
        return 0.0
    return stage_parameters * (compute_bytes if lora_rank is None else frozen_bytes_per_parameter)


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
    """Additional memory of FSDP while it gathers the vocabulary tables.
    It is the buffer that the tables are copied out of.

    root_gathered_bytes = tables · vocab · hidden / tp · compute_bytes

    Args:
        sharding, sharding_stage, shard_ranks: how states are sharded; 0 but for stage 3 of FSDP on several ranks, which
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
    """Memory that FSDP needs at the end of the backward pass.
    It holds the gradients of the vocabulary tables and the buffer that reduces them.

    root_reduction_bytes = tables · vocab · hidden / tp · (compute_bytes + reduced_bytes_per_parameter); a tied table, still
                           gathered, has its two gradients and their sum, and the last layer's buffer, instead where
                           that is more: 4 · compute_bytes, layer_parameters · reduced_bytes_per_parameter

    Args:
        sharding, sharding_stage, shard_ranks: how states are sharded; 0 but for FSDP on several ranks.
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
    """Buffers in which gradients are reduced between ranks.

    reduction_bytes = trained_share · layer · reduced bytes             FSDP: what is scattered of the layer before, and
                      + the larger of a third of the layer's gradients and what all of them exceed its work by
                      trained_share · all · 4                           FSDP with pipeline stages: gradients before reduction
                      trained_share · bucket_parameters · compute_bytes DeepSpeed

    Args:
        sharding, sharding_stage, shard_ranks: how states are sharded; nothing is reduced on one rank.
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
    """DDP buckets, which stay allocated for the whole run besides weights and gradients.

    bucket_bytes = stage_parameters · trained_share · gradient_bytes_per_parameter with DDP on several ranks, else 0

    Args:
        sharding, shard_ranks: the ranks with the same weights. stage_parameters: of one rank. trained_share: of them.
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
    """Low-precision copies of 32-bit weights that autocast keeps until the forward pass ends.

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
