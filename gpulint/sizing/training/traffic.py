"""Training traffic: what one rank sends per step for each kind of parallelism, and to host memory."""

from __future__ import annotations


def rank_tokens(step_tokens: float, training_copies: int, context_parallel: int | None) -> float:
    """Tokens of one training step that one rank computes.

    rank_tokens = step_tokens / (training_copies · cp)

    Args:
        step_tokens: of a step [tokens]. training_copies: data parallel. context_parallel: ranks, else None.
    Returns:
        [tokens]

    >>> rank_tokens(2097152.0, 32, 2)
    32768.0

    Source: definition.
    """
    return step_tokens / (training_copies * (context_parallel or 1))


def tensor_traffic_bytes(
    rank_tokens: float,
    hidden: int,
    compute_bytes: int,
    layers: int,
    pipeline_parallel: int,
    tensor_parallel: int,
    recompute: float,
) -> float:
    """Bytes that one rank sends to its tensor-parallel group in a training step.
    Sequence parallelism does not change them.

    tensor_traffic_bytes = (4, or 6 with whole layers repeated) · layers / pp · 2 (t − 1) / t · rank_tokens · hidden · b

    Args:
        rank_tokens: [tokens]. hidden: width. compute_bytes: of a value [bytes]. layers, pipeline_parallel: of the model,
        and stages. tensor_parallel: t, ranks. recompute: share of the forward pass that is repeated.
    Returns:
        [bytes], one direction

    >>> tensor_traffic_bytes(1.0, 8192, 2, 80, 1, 8, 0.0)  # 4 · 80 · 7/4 · 16 KiB
    9175040.0

    Source: Shoeybi et al., Megatron-LM, 2019, section 3; Korthikanti et al., 2022, section 4.2.2.
    """
    exchanges = 4 + 2 * (recompute == 1)
    share = 2 * (tensor_parallel - 1) / tensor_parallel
    return exchanges * layers / max(1, pipeline_parallel) * share * rank_tokens * hidden * compute_bytes


def data_traffic_bytes(
    sharding: str,
    sharding_stage: int,
    state_ranks: int,
    stage_parameters: float,
    trained_share: float,
    lora_rank: int | None,
    compute_bytes: int,
    frozen_bytes_per_parameter: float,
    reduced_bytes_per_parameter: int,
    accumulations: float,
    pipeline_parallel: int,
    copy_traffic_bytes: float,
) -> float:
    """Bytes that one rank sends to the data-parallel ranks in a training step.
    They are gathered weights and reduced gradients.

    data_traffic_bytes = share · P · (gathers · b + reductions · trained_share · r) + copy_traffic_bytes, share = (n − 1) / n
        stage 1: one gather, one reduction; 2: a reduction for each micro-batch; 3: two gathers and a reduction for each
        micro-batch (FSDP's stage 2: one gather)

    Args:
        sharding, sharding_stage, state_ranks: what shares states out, what, and over n ranks. stage_parameters: P, of one
        rank before sharding. trained_share: of them. lora_rank: None without adapters. compute_bytes,
        frozen_bytes_per_parameter: b, of a gathered weight [bytes]. reduced_bytes_per_parameter: r, of a gradient [bytes].
        accumulations: micro-batches of a step. pipeline_parallel: stages. copy_traffic_bytes: between state replicas [bytes].
    Returns:
        [bytes], one direction
    Validity: DDP and ZeRO-1 reduce once a step; FSDP and ZeRO-2 and 3 after every micro-batch, as they do without no_sync;
        FSDP within a pipeline gathers and reduces once a step.

    >>> data_traffic_bytes("ddp", 0, 1, 1e9, 1.0, None, 2, 0.0, 2, 4.0, 1, 3.5e9) / 1e9
    3.5
    >>> data_traffic_bytes("fsdp", 3, 8, 1e9, 1.0, None, 2, 0.0, 2, 1.0, 1, 0.0) / 1e9
    5.25

    Source: Rajbhandari et al., ZeRO, 2020, section 7; Zhao et al., PyTorch FSDP, 2023, section 3.2; pytorch/torchtitan
        b5bcd76c6 torchtitan/models/llama3/infra/parallelize.py (no resharding after the forward pass in a pipeline).
    """
    if state_ranks == 1 or sharding == "none":
        return copy_traffic_bytes
    width = compute_bytes if lora_rank is None else frozen_bytes_per_parameter
    rounds = _rounds(sharding, accumulations, pipeline_parallel)
    gathers, reductions = _exchanges(sharding, sharding_stage, rounds, trained_share)
    sent = gathers * width + reductions * trained_share * reduced_bytes_per_parameter
    return (state_ranks - 1) / state_ranks * stage_parameters * sent + copy_traffic_bytes


def copy_traffic_bytes(
    sharding: str,
    sharding_stage: int,
    state_ranks: int,
    state_copies: int,
    stage_parameters: float,
    trained_share: float,
    reduced_bytes_per_parameter: int,
    accumulations: float,
    pipeline_parallel: int,
) -> float:
    """Bytes that one rank sends in a training step to its counterparts in other state replicas.
    They are reduced gradients.

    copy_traffic_bytes = reductions · 2 (g − 1) / g · P / n · trained_share · r, over g state replicas

    Args:
        sharding, sharding_stage: what shards states, and which. state_ranks, state_copies: n ranks of one set, g
        replicas. stage_parameters: P, of one rank before sharding. trained_share: of them. reduced_bytes_per_parameter: r,
        of a gradient [bytes]. accumulations: micro-batches of a step. pipeline_parallel: stages.
    Returns:
        [bytes], one direction; 0 if all ranks shard one set of states
    Validity: hybrid FSDP sums up after every micro-batch, as it does without set_requires_all_reduce(False).

    >>> copy_traffic_bytes("ddp", 0, 1, 8, 1e9, 1.0, 2, 4.0, 1) / 1e9
    3.5
    >>> copy_traffic_bytes("fsdp", 3, 8, 2, 1e9, 1.0, 2, 4.0, 1) / 1e9
    1.0

    Source: Rajbhandari et al., ZeRO, 2020, section 7; Zhao et al., PyTorch FSDP, 2023, section 3.2.2 (hybrid sharding);
        pytorch/pytorch torch/distributed/fsdp/_fully_shard/_fully_shard.py (set_requires_all_reduce).
    """
    if state_copies <= 1 or sharding == "none":
        return 0.0
    rounds = _rounds(sharding, accumulations, pipeline_parallel) if sharding == "fsdp" and sharding_stage >= 2 else 1.0
    own = stage_parameters / state_ranks * trained_share * reduced_bytes_per_parameter
    return rounds * 2 * (state_copies - 1) / state_copies * own


def _rounds(sharding: str, accumulations: float, pipeline_parallel: int) -> float:
    """Return how often a step gathers and reduces. FSDP within a pipeline does so once."""
    return 1.0 if sharding == "fsdp" and pipeline_parallel > 1 else accumulations


def _exchanges(sharding: str, sharding_stage: int, rounds: float, trained_share: float) -> tuple[float, float]:
    """Return how often a step gathers all weights, and how often it reduces all gradients."""
    if sharding_stage == 1:
        return trained_share, 1.0
    if sharding_stage == 2:
        return (rounds if sharding == "fsdp" else trained_share), rounds
    return 2 * rounds, rounds


def handed_bytes(
    rank_tokens: float,
    pipeline_batches: float,
    hidden: int,
    compute_bytes: int,
    pipeline_parallel: int,
    tensor_parallel: int,
    sequence_parallel: bool,
) -> float:
    """Bytes that one pipeline stage sends to the next per micro-batch.

    handed_bytes = rank_tokens / pipeline_batches · hidden · b, / t with sequence parallelism; 0 with one stage

    Args:
        rank_tokens: of a step [tokens]. pipeline_batches: micro-batches of a step. hidden: width. compute_bytes: of a value
        [bytes]. pipeline_parallel: stages. tensor_parallel, sequence_parallel: ranks, and whether they share tokens out.
    Returns:
        [bytes]

    >>> handed_bytes(32768.0, 4.0, 8192, 2, 4, 8, True)
    16777216.0

    Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, sections 3.2 and 4.1.
    """
    if pipeline_parallel <= 1:
        return 0.0
    return rank_tokens / pipeline_batches * hidden * compute_bytes / (tensor_parallel if sequence_parallel else 1)


def expert_traffic_bytes(
    rank_tokens: float,
    experts_per_token: int | None,
    moe_layers: int,
    hidden: int,
    compute_bytes: int,
    expert_parallel_size: int | None,
    tensor_parallel: int,
    pipeline_parallel: int,
    recompute: float,
) -> float:
    """Bytes that one rank exchanges with the experts of other ranks in a training step.

    expert_traffic_bytes = (4, or 6 with whole layers repeated) · moe_layers / pp · rank_tokens / t · k · hidden · b · (e − 1) / e

    Args:
        rank_tokens: of a step [tokens]. experts_per_token: k, None for a dense model. moe_layers: with routed experts.
        hidden: width. compute_bytes: of a value [bytes]. expert_parallel_size: e, ranks, else None. tensor_parallel: t,
        ranks that share tokens out. pipeline_parallel: stages. recompute: share of the forward pass that is repeated.
    Returns:
        [bytes], one direction
    Validity: tokens in equal parts, each sent to every expert it visits; libraries that send a token once to a node send less.

    >>> expert_traffic_bytes(1.0, 8, 58, 7168, 2, 64, 1, 1, 0.0)
    26191872.0

    Source: Lepikhin et al., GShard, 2020, section 3.2; NVIDIA/Megatron-LM d98e8a64
        megatron/core/transformer/moe/token_dispatcher.py.
    """
    spread = expert_parallel_size or 1
    if spread == 1 or not experts_per_token:
        return 0.0
    exchanges = 4 + 2 * (recompute == 1)
    sent = rank_tokens / tensor_parallel * experts_per_token * hidden * compute_bytes * (spread - 1) / spread
    return exchanges * moe_layers / max(1, pipeline_parallel) * sent


def context_traffic_bytes(
    rank_tokens: float,
    kv_heads: int,
    head_dim: int,
    layers: int,
    compute_bytes: int,
    context_parallel: int | None,
    tensor_parallel: int,
    pipeline_parallel: int,
    recompute: float,
) -> float:
    """Bytes that one rank sends around its context-parallel ring in a training step.
    They are keys and values, and their gradients.

    context_traffic_bytes = (3, or 4 with whole layers repeated) · layers / pp · (cp − 1) · rank_tokens
                            · 2 · kv_heads · head_dim · b / min(t, kv_heads)

    Args:
        rank_tokens: of a step [tokens]. kv_heads, head_dim, layers: of the model. compute_bytes: of a value [bytes].
        context_parallel: cp, ranks, else None. tensor_parallel: t, ranks. pipeline_parallel: stages.
        recompute: share of the forward pass that is repeated.
    Returns:
        [bytes], one direction

    >>> context_traffic_bytes(1.0, 8, 128, 32, 2, 2, 1, 1, 0.0)
    393216.0

    Source: Liu et al., Ring Attention, 2023, section 3.
    """
    passes = 3 + (recompute == 1)
    kv = 2 * kv_heads * head_dim * compute_bytes / min(tensor_parallel, kv_heads)
    return passes * layers / max(1, pipeline_parallel) * ((context_parallel or 1) - 1) * rank_tokens * kv


def offload_traffic_bytes(
    stage_parameters: float,
    trained_share: float,
    shard_share: float,
    sharding_stage: int,
    lora_rank: int | None,
    compute_bytes: int,
    frozen_bytes_per_parameter: float,
    optimizer_offload: bool,
    parameter_offload: bool,
    accumulations: float,
    activation_checkpointing: str,
    rank_tokens: float,
    hidden: int,
    layers: int,
    pipeline_parallel: int,
) -> float:
    """Bytes between host memory and one rank's GPU in a training step, in the busier direction.

    offload_traffic_bytes = own · b · (trained_share, optimizer offloaded; 2 · accumulations, weights offloaded)
                            + rank_tokens · hidden · b · layers / pp (inputs of layers offloaded)

    Args:
        stage_parameters, trained_share: of one rank before sharding, and trained. shard_share, sharding_stage: kept of
        them. lora_rank: None without adapters. compute_bytes, frozen_bytes_per_parameter: of a weight [bytes].
        optimizer_offload, parameter_offload: what is kept in host memory. accumulations: micro-batches of a step.
        activation_checkpointing: `offloaded` keeps inputs of layers there. rank_tokens: of a step [tokens]. hidden, layers,
        pipeline_parallel: width, layers, stages.
    Returns:
        [bytes], one direction

    >>> offload_traffic_bytes(8e9, 1.0, 0.125, 3, None, 2, 0.0, True, True, 1.0, "full", 0.0, 1, 1, 1)
    4000000000.0

    Source: Ren et al., ZeRO-Offload, 2021, section 4; Rajbhandari et al., ZeRO-Infinity, 2021, section 4.
    """
    own = stage_parameters * (shard_share if sharding_stage >= 1 else 1)
    width = compute_bytes if lora_rank is None else frozen_bytes_per_parameter
    weights = 2 * accumulations * own * width if parameter_offload else 0.0
    updates = own * trained_share * compute_bytes if optimizer_offload else 0.0
    kept = rank_tokens * hidden * compute_bytes * layers / max(1, pipeline_parallel)
    return max(weights, updates) + (kept if activation_checkpointing == "offloaded" else 0.0)
