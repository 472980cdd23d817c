"""Training time: the arithmetic of a step on a GPU, and the whole step with everything that it
waits for.
"""

from __future__ import annotations


def half_flop_per_s(dense_bf16_flop_per_s: float | None, dense_fp16_flop_per_s: float | None) -> float:
    """Dense 16-bit peak of the GPU.

    half_flop_per_s = dense_bf16_flop_per_s, or dense_fp16_flop_per_s of a GPU without it

    Args:
        dense_bf16_flop_per_s, dense_fp16_flop_per_s: peaks, None where it has none [FLOP/s].
    Returns:
        [FLOP/s]

    >>> half_flop_per_s(989e12, 989e12) / 1e12, half_flop_per_s(None, 125e12) / 1e12
    (989.0, 125.0)

    Source: NVIDIA H100 Tensor Core GPU Architecture, 2022, table 2; NVIDIA Tesla V100 datasheet.
    """
    peak = dense_bf16_flop_per_s or dense_fp16_flop_per_s
    if peak is None:
        raise LookupError("the catalog has no dense 16-bit peak of the GPU")
    return peak


def training_peak_flop_per_s(
    training_dtype: str | None,
    half_flop_per_s: float,
    dense_bf16_flop_per_s: float | None,
    dense_fp8_flop_per_s: float | None,
) -> float:
    """Dense peak of the number format in which a run computes its matrices.

    training_peak_flop_per_s = dense_fp8_flop_per_s in FP8, else half_flop_per_s

    Args:
        training_dtype: number format. half_flop_per_s: in 16 bits [FLOP/s]. dense_bf16_flop_per_s, dense_fp8_flop_per_s: of
        the GPU, None where it has none [FLOP/s].
    Returns:
        [FLOP/s], without sparsity

    >>> training_peak_flop_per_s("bfloat16", 989e12, 989e12, 1979e12) / 1e12
    989.0

    Source: NVIDIA H100 Tensor Core GPU Architecture, 2022, table 2 (half of the figures with sparsity).
    """
    if training_dtype == "float32":
        raise LookupError("the use of TF32 tensor cores for 32-bit products is not stated")
    needed = {"fp8": dense_fp8_flop_per_s, "bfloat16": dense_bf16_flop_per_s}.get(training_dtype or "", half_flop_per_s)
    if needed is None:
        raise LookupError(f"the catalog has no dense peak of the GPU in {training_dtype}")
    return needed


def clock_share(board_w: float, power_cap_w: float | None, power_exponent: float) -> float:
    """Share of the GPU's speed that remains under a lowered power limit.

    clock_share = min(1, power_cap_w / board_w) ^ power_exponent

    Args:
        board_w: power of the board [W]. power_cap_w: limit that is set, else None [W]. power_exponent: (fitted).
    Returns:
        [ratio]

    >>> clock_share(700.0, None, 0.5), round(clock_share(700.0, 500.0, 0.5), 3)
    (1.0, 0.845)

    Source: definition; power grows with voltage squared times clock, so that speed falls more slowly than power.
    """
    return 1.0 if power_cap_w is None else min(1.0, power_cap_w / board_w) ** power_exponent


def achievable_flop_per_s(training_peak_flop_per_s: float, matmul_excess: float, clock_share: float) -> float:
    """Speed that one large matrix product reaches.

    achievable_flop_per_s = training_peak_flop_per_s · clock_share / matmul_excess

    Args:
        training_peak_flop_per_s: dense peak [FLOP/s]. matmul_excess: time of the best shapes against that at the peak (fitted).
        clock_share: that a power limit leaves.
    Returns:
        [FLOP/s]

    >>> achievable_flop_per_s(989e12, 1.25, 1.0) / 1e12
    791.2

    Source: stas00/ml-engineering compute/accelerator/README.md, maximum achievable matmul FLOPS.
    """
    return training_peak_flop_per_s * clock_share / matmul_excess


def matrix_s(
    matrix_step_flop: float,
    repeated_flop: float,
    achievable_flop_per_s: float,
    kernel_excess: float,
    expert_kernel_excess: float,
    narrow_width: float,
    experts: int | None,
    hidden: int,
    tensor_parallel: int,
    world_size: int,
    stage_share: float,
    pipeline_parallel: int,
) -> float:
    """Time of a training step's matrix products on the fullest stage, including recomputation.

    matrix_s = (matrix_step_flop + repeated_flop) · excess · (1 + narrow_width · t / hidden)
               / (achievable_flop_per_s · world_size) · stage_share · pp

    Args:
        matrix_step_flop, repeated_flop: over all ranks [FLOP]. achievable_flop_per_s: of one large product [FLOP/s].
        kernel_excess: time of the shapes and kernels of a step against that (fitted); expert_kernel_excess: of a model with
        routed experts (fitted). narrow_width: width at which a rank's products take twice as long (fitted).
        experts: of a layer, else None. hidden, tensor_parallel: width of the model, and t, ranks that share it.
        world_size: ranks. stage_share: of the layers on the fullest stage. pipeline_parallel: stages.
    Returns:
        [s]

    >>> matrix_s(6e15, 2e15, 800e12, 1.25, 2.0, 64.0, None, 4096, 8, 8, 1.0, 1)
    1.7578125

    Source: definition; narrow products as in NVIDIA, Matrix Multiplication Background User's Guide, section 3 (tiles).
    """
    excess = (expert_kernel_excess if experts else kernel_excess) * (1 + narrow_width * tensor_parallel / hidden)
    unevenness = stage_share * max(1, pipeline_parallel)
    return (matrix_step_flop + repeated_flop) * excess / (achievable_flop_per_s * world_size) * unevenness


def attention_s(
    attention_step_flop: float,
    recompute: float,
    half_flop_per_s: float,
    attention_excess: float,
    clock_share: float,
    world_size: int,
) -> float:
    """Time of a training step's attention.

    attention_s = attention_step_flop · (1 + 1/3 where layers are repeated) · excess / (half_flop_per_s · world_size)

    Args:
        attention_step_flop: over all ranks [FLOP]. recompute: share of the forward pass that is repeated.
        half_flop_per_s: peak [FLOP/s]. attention_excess: time of kernels over both passes against that (fitted).
        clock_share: that a power limit leaves. world_size: ranks.
    Returns:
        [s]

    >>> round(attention_s(6e14, 1.0, 1000e12, 2.5, 1.0, 8), 3)
    0.25

    Source: Dao, FlashAttention-2, 2023, section 4.1 (reached shares of the peak).
    """
    repeated = 1 + (recompute == 1) / 3
    return attention_step_flop * repeated * attention_excess / (half_flop_per_s * clock_share * world_size)


def streamed_s(
    rank_tokens: float,
    layers: int,
    pipeline_parallel: int,
    hidden: int,
    compute_bytes: int,
    streamed_passes: float,
    recompute: float,
    tensor_parallel: int,
    sequence_parallel: bool,
    vocab: int,
    logit_traffic_bytes: float,
    memory_bytes_per_s: float,
    memory_excess: float,
) -> float:
    """Time of a training step's memory-bound work: norms, activations, residuals, casts and logits.

    streamed_s = rank_tokens · (layers / pp · hidden · b · passes · (1 + recompute / 3) / t + vocab · logit bytes / (t · pp))
                 · memory_excess / memory_bytes_per_s

    Args:
        rank_tokens: of a step [tokens]. layers, pipeline_parallel, hidden: of the model, stages, width. compute_bytes: of a
        value [bytes]. streamed_passes: widths that one layer reads and writes for a token (fitted). recompute: share of the
        forward pass that is repeated. tensor_parallel, sequence_parallel: ranks; a third is not split without sequence
        parallelism. vocab: entries. logit_traffic_bytes: read and written for each logit (fitted). memory_bytes_per_s: of
        the GPU [bytes/s]. memory_excess: time against that (fitted).
    Returns:
        [s]

    >>> streamed_s(8192.0, 32, 1, 4096, 2, 100.0, 0.0, 1, False, 0, 0.0, 2e12, 1.0)
    0.1073741824

    Source: Korthikanti et al., Reducing Activation Recomputation, 2022, section 4.2 (norms and dropouts between the matrices).
    """
    shared = 1 / tensor_parallel if sequence_parallel or tensor_parallel == 1 else 1 / 3 + 2 / (3 * tensor_parallel)
    stages = max(1, pipeline_parallel)
    layer = layers / stages * hidden * compute_bytes * streamed_passes * (1 + recompute / 3) * shared
    logits = vocab * logit_traffic_bytes / (tensor_parallel * stages)
    return rank_tokens * (layer + logits) * memory_excess / memory_bytes_per_s


def update_s(
    stage_parameters: float,
    trained_share: float,
    shard_share: float,
    sharding_stage: int,
    optimizer_offload: bool,
    update_bytes_per_parameter: float,
    memory_bytes_per_s: float,
    memory_excess: float,
    host_update_s_per_parameter: float,
    world_size: int,
    pods_per_replica: int,
) -> float:
    """Time of the optimizer's update at the end of a training step.

    update_s = own trained parameters · update_bytes_per_parameter · memory_excess / memory_bytes_per_s on the GPU,
               own · ranks of a node · host_update_s_per_parameter where it is offloaded

    Args:
        stage_parameters, trained_share, shard_share, sharding_stage: what one rank updates. optimizer_offload: on the host.
        update_bytes_per_parameter: read and written for one parameter (fitted) [bytes]. memory_bytes_per_s, memory_excess: of
        the GPU, and time against that (fitted). host_update_s_per_parameter: of one node (fitted). world_size,
        pods_per_replica: ranks, and nodes.
    Returns:
        [s]

    >>> update_s(8e9, 1.0, 0.125, 3, False, 40.0, 4e12, 1.25, 2.5e-10, 8, 1)
    0.0125
    >>> update_s(8e9, 1.0, 0.125, 3, True, 40.0, 4e12, 1.25, 2.5e-10, 8, 1)
    2.0

    Source: Ren et al., ZeRO-Offload, 2021, section 5 (CPU-Adam).
    """
    own = stage_parameters * trained_share * (shard_share if sharding_stage >= 1 else 1)
    if optimizer_offload:
        return own * world_size / pods_per_replica * host_update_s_per_parameter
    return own * update_bytes_per_parameter * memory_excess / memory_bytes_per_s


def compute_s(matrix_s: float, attention_s: float, streamed_s: float) -> float:
    """Time of a rank's forward and backward passes in a training step.

    compute_s = matrix_s + attention_s + streamed_s

    Args:
        matrix_s, attention_s, streamed_s: [s].
    Returns:
        [s]

    >>> compute_s(1.0, 0.25, 0.25)
    1.5

    Source: definition.
    """
    return matrix_s + attention_s + streamed_s


def step_s(
    compute_s: float, exposed_communication_s: float, update_s: float, bubble_ratio: float, step_excess: float
) -> float:
    """Time of one optimizer step.

    step_s = (compute_s · (1 + bubble_ratio) + exposed_communication_s + update_s) · step_excess

    Args:
        compute_s: [s]. exposed_communication_s: that nothing hides [s]. update_s: of the optimizer [s]. bubble_ratio: waiting
        of pipeline stages against their work. step_excess: what remains, loader, launches and stragglers (fitted).
    Returns:
        [s]

    >>> step_s(1.0, 0.25, 0.125, 0.125, 1.0)
    1.5

    Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 3.
    """
    return (compute_s * (1 + bubble_ratio) + exposed_communication_s + update_s) * step_excess
