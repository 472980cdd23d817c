"""Training run: the number of ranks, how they split the work, and whether batch and model divide by
it.
"""

from __future__ import annotations

from gpulint.sizing.training import exchange_time


def world_size(gpus_per_replica: int, processes_per_pod: int | None, pods_per_replica: int) -> int:
    """Ranks of a run: one process computes on one GPU.

    world_size = processes_per_pod · pods_per_replica where a launcher states its processes, else gpus_per_replica

    Args:
        gpus_per_replica: GPUs of the run. processes_per_pod: that the launcher starts in one pod or node, else None.
        pods_per_replica: pods or nodes of the run.
    Returns:
        ranks
    Validity: not for programs that use several GPUs in one process.

    >>> world_size(16, None, 2), world_size(16, 4, 2)
    (16, 8)

    Source: PyTorch documentation, torchrun: WORLD_SIZE = nodes · processes of each node.
    """
    return gpus_per_replica if processes_per_pod is None else processes_per_pod * pods_per_replica


def model_ranks(tensor_parallel: int, pipeline_parallel: int, context_parallel: int | None) -> int:
    """Ranks that compute one micro-batch together.

    model_ranks = tp · pp · cp; expert parallelism reuses the data-parallel ranks

    Args:
        tensor_parallel, pipeline_parallel: ranks. pipeline_parallel of 0 is no pipeline. context_parallel: ranks, else None.
    Returns:
        ranks

    >>> model_ranks(8, 4, 2), model_ranks(2, 0, None)
    (64, 2)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/parallel_state.py, initialize_model_parallel.
    """
    return tensor_parallel * max(1, pipeline_parallel) * (context_parallel or 1)


def world_remainder(world_size: int, model_ranks: int) -> int:
    """Ranks left over after forming model-parallel groups. Trainers refuse any value but 0.

    world_remainder = world_size mod model_ranks

    Args:
        world_size: of the run. model_ranks: that work together.
    Returns:
        ranks

    >>> world_remainder(12, 8), world_remainder(16, 8), world_remainder(4, 8)
    (4, 0, 4)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/parallel_state.py: "world_size is not divisible by".
    """
    return world_size % model_ranks


def training_copies(world_size: int, model_ranks: int) -> int:
    """Data-parallel ranks: the micro-batches that are computed at once.

    training_copies = world_size / model_ranks

    Args:
        world_size: of the run. model_ranks: that compute one micro-batch together.
    Returns:
        copies

    >>> training_copies(64, 8)
    8

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/parallel_state.py, initialize_model_parallel.
    """
    if world_size % model_ranks:
        raise LookupError("the ranks are not a multiple of the model-parallel ranks")
    return world_size // model_ranks


def batch_remainder(global_batch_size: int | None, micro_batch_size: int | None, training_copies: int) -> int:
    """Sequences of a global batch left over after division into micro-batches.

    batch_remainder = global_batch_size mod (micro_batch_size · training_copies)

    Args:
        global_batch_size, micro_batch_size: sequences of a step, and of one rank at once. training_copies: data parallel.
    Returns:
        sequences; what divides a batch into whole micro-batches refuses anything but 0.

    >>> batch_remainder(128, 2, 8), batch_remainder(100, 2, 8)
    (0, 4)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/num_microbatches_calculator.py: the global batch has to be divisible.
    """
    if global_batch_size is None or micro_batch_size is None:
        raise LookupError("the batch of a step and of a rank are not both stated")
    return global_batch_size % (micro_batch_size * training_copies)


def batch_difference(
    global_batch_size: int | None,
    micro_batch_size: int | None,
    gradient_accumulation_steps: int | None,
    training_copies: int,
) -> int:
    """Difference between a declared global batch and the product of its declared factors.

    batch_difference = global_batch_size − micro_batch_size · gradient_accumulation_steps · training_copies

    Args:
        global_batch_size, micro_batch_size: sequences. gradient_accumulation_steps: micro-batches of a step.
        training_copies: data parallel.
    Returns:
        sequences; DeepSpeed refuses anything but 0.

    >>> batch_difference(32, 2, 2, 8), batch_difference(64, 2, 2, 8)
    (0, 32)

    Source: deepspeedai/DeepSpeed edaa7221 deepspeed/runtime/config.py, _batch_assertion.
    """
    parts = (global_batch_size, micro_batch_size, gradient_accumulation_steps)
    if global_batch_size is None or micro_batch_size is None or gradient_accumulation_steps is None:
        raise LookupError(f"{parts.count(None)} of batch, micro-batch and accumulation steps are not stated")
    return global_batch_size - micro_batch_size * gradient_accumulation_steps * training_copies


def micro_batches(global_batch_size: int | None, micro_batch_size: int | None, training_copies: int) -> float:
    """Micro-batches that one data-parallel rank computes per step.

    micro_batches = global_batch_size / (micro_batch_size · training_copies)

    Args:
        global_batch_size, micro_batch_size: sequences. training_copies: data parallel.
    Returns:
        micro-batches

    >>> micro_batches(256, 1, 8)
    32.0

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/num_microbatches_calculator.py.
    """
    if global_batch_size is None or micro_batch_size is None:
        raise LookupError("the batch of a step and of a rank are not both stated")
    return global_batch_size / (micro_batch_size * training_copies)


def pipeline_bubble(
    pipeline_parallel: int, virtual_stages: int, micro_batches: float, pipeline_schedule: str | None
) -> float:
    """Share of a training step in which pipeline stages wait for each other.

    pipeline_bubble = (pp − 1) / (v · m + pp − 1); less with a zero-bubble schedule

    Args:
        pipeline_parallel: stages. virtual_stages: v, parts of the model on each. micro_batches: m, of a step.
        pipeline_schedule: order of work, else None.
    Returns:
        [ratio]

    >>> round(pipeline_bubble(8, 1, 32, None), 3), pipeline_bubble(1, 1, 4, None)
    (0.179, 0.0)

    Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 2.2.
    """
    ratio = exchange_time.bubble_ratio(pipeline_parallel, virtual_stages, micro_batches, pipeline_schedule)
    return ratio / (1 + ratio)


def stage_layers_remainder(layers: int, pipeline_parallel: int, virtual_stages: int) -> int:
    """Layers left over after division over the pipeline stages and their parts.

    stage_layers_remainder = layers mod (pp · virtual_stages)

    Args:
        layers: of the model. pipeline_parallel, virtual_stages: stages, and parts on each.
    Returns:
        layers; Megatron refuses anything but 0 unless the first and last stage are stated.

    >>> stage_layers_remainder(61, 4, 1), stage_layers_remainder(80, 4, 10)
    (1, 0)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/training/arguments.py: the number of layers has to be divisible.
    """
    return layers % (max(1, pipeline_parallel) * virtual_stages)


def trained_experts_remainder(experts: int | None, expert_parallel_size: int | None) -> int:
    """Routed experts left over after division by the expert-parallel ranks.

    trained_experts_remainder = experts mod ep

    Args:
        experts: of a layer, None for a dense model. expert_parallel_size: ranks, else None.
    Returns:
        experts

    >>> trained_experts_remainder(256, 3), trained_experts_remainder(None, None)
    (1, 0)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/transformer/moe/moe_layer.py: assert num_moe_experts % ep_size == 0.
    """
    return experts % expert_parallel_size if experts and expert_parallel_size else 0


def spare_processes(gpus_per_pod: float, processes_per_pod: int | None) -> float:
    """GPUs of one pod or node without a rank; negative if ranks lack a GPU.

    spare_processes = gpus_per_pod − processes_per_pod

    Args:
        gpus_per_pod: GPUs. processes_per_pod: ranks that the launcher starts there, else None.
    Returns:
        GPUs

    >>> spare_processes(8, 4), spare_processes(4, 8)
    (4, -4)

    Source: PyTorch documentation, torch.cuda.set_device: "invalid device ordinal".
    """
    if processes_per_pod is None:
        raise LookupError("the processes of a node are not stated")
    return gpus_per_pod - processes_per_pod


def sequence_excess(sequence_length: int | None, trained_context: int) -> int:
    """Tokens by which a training sequence exceeds the model's maximum position.

    sequence_excess = sequence_length − trained_context

    Args:
        sequence_length: [tokens] trained_context: that the checkpoint declares [tokens].
    Returns:
        [tokens]

    >>> sequence_excess(8192, 4096)
    4096

    Source: definition.
    """
    if sequence_length is None:
        raise LookupError("the training sequence's length is not stated")
    return sequence_length - trained_context


def loader_processes(dataloader_workers: int | None, processes_per_pod: int | None) -> int | None:
    """Data-loading processes in one pod or node, in addition to the ranks.

    loader_processes = dataloader_workers · processes_per_pod

    Args:
        dataloader_workers: of one rank. processes_per_pod: ranks of one pod or node.
    Returns:
        processes; None where either is not stated
    Validity: one DataLoader a rank; an evaluation with workers of its own comes on top.

    >>> loader_processes(16, 8)
    128

    Source: PyTorch documentation, torch.utils.data: num_workers subprocesses for each DataLoader.
    """
    if dataloader_workers is None or processes_per_pod is None:
        return None
    return dataloader_workers * processes_per_pod
