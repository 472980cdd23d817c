"""Training memory: the peak of a step on the fullest GPU, what the allocator reserves for it, and
what is left.
"""

from __future__ import annotations


def state_bytes_per_gpu(training_weight_bytes: float, gradient_bytes: float, optimizer_state_bytes: float) -> float:
    """Weights, gradients and optimizer state on one GPU.

    Args:
        training_weight_bytes, gradient_bytes, optimizer_state_bytes: [bytes]
    Returns:
        [bytes]

    >>> state_bytes_per_gpu(14e9, 14e9, 84e9)  # 7 billion parameters, mixed-precision Adam: 112 GB
    112000000000.0

    Source: Rajbhandari et al., ZeRO, 2020, section 3.1.
    """
    return training_weight_bytes + gradient_bytes + optimizer_state_bytes


def accumulated_gradient_bytes(
    gradient_bytes: float, gradient_accumulation_steps: int | None, sharding: str, pipeline_parallel: int
) -> float:
    """Gradients that already exist when the loss is computed.

    accumulated_gradient_bytes = gradient_bytes where they are added up over micro-batches or kept in one buffer, else 0

    Args:
        gradient_bytes: at the end of the backward pass [bytes]. gradient_accumulation_steps: micro-batches, else None.
        sharding: Megatron keeps buffers. pipeline_parallel: stages add up over micro-batches.
    Returns:
        [bytes]
    Validity: without a statement a single micro-batch is assumed.

    >>> accumulated_gradient_bytes(5.0, 1, "none", 1), accumulated_gradient_bytes(5.0, 8, "none", 1)
    (0.0, 5.0)

    Source: PyTorch documentation, optimizer.zero_grad(set_to_none=True); NVIDIA/Megatron-LM,
        core/distributed/param_and_grad_buffer.py.
    """
    buffered = sharding in ("megatron", "distributed-optimizer")
    return gradient_bytes if buffered or pipeline_parallel > 1 or (gradient_accumulation_steps or 1) > 1 else 0.0


def late_gradient_bytes(
    gradient_bytes: float,
    layer_parameters: float,
    stage_parameters: float,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    pipeline_parallel: int,
    tensor_parallel: int,
    sharding: str,
) -> float:
    """Gradients that do not exist yet when the backward pass computes the first layer.
    They are those of the first layer and of the embedding.

    late_gradient_bytes = gradient_bytes · (layer_parameters + embedding) / stage_parameters; both tables with FSDP

    Args:
        gradient_bytes: at the end of the backward pass [bytes]. layer_parameters, stage_parameters: of a layer, and of all.
        vocab, hidden: of the embedding. tied_embeddings: the output head's gradient is already there.
        pipeline_parallel, tensor_parallel: ranks. sharding: FSDP reduces the gradients of both tables when it ends.
    Returns:
        [bytes]

    >>> late_gradient_bytes(100.0, 10.0, 100.0, 5, 2, False, 1, 1, "none")
    20.0

    Source: PyTorch documentation, Autograd mechanics: gradients are made from the last layer to the first.
    """
    tables = 0 if tied_embeddings and pipeline_parallel == 1 else 1
    tables += 1 if sharding == "fsdp" and pipeline_parallel == 1 else 0
    embedding = tables * vocab * hidden / tensor_parallel
    return gradient_bytes * min(1.0, (layer_parameters + embedding) / stage_parameters)


def tied_gradient_bytes(
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    lora_rank: int | None,
    pipeline_parallel: int,
    tensor_parallel: int,
    gradient_bytes_per_parameter: int,
    gradient_accumulation_steps: int | None,
) -> float:
    """Copies of the vocabulary table's gradient while it is summed.
    The embedding's part is added to the output head's.

    tied_gradient_bytes = 2 · vocab · hidden · gradient_bytes_per_parameter / tp for a table that is tied and trained, else 0;
                          3 where gradients of earlier micro-batches are there

    Args:
        vocab, hidden: of the table. tied_embeddings: one table serves both. lora_rank: None when it is trained.
        pipeline_parallel, tensor_parallel: ranks. gradient_bytes_per_parameter: [bytes]
        gradient_accumulation_steps: micro-batches, else None.
    Returns:
        [bytes]

    >>> tied_gradient_bytes(128256, 2048, True, None, 1, 1, 2, 1) / 2**30  # Llama-3.2-1B: traced 0.98 besides the gradient
    0.978515625

    Source: PyTorch, torch/csrc/autograd/input_buffer.cpp: gradients of one tensor are added up out of place; traced.
    """
    if not tied_embeddings or lora_rank is not None or pipeline_parallel > 1:
        return 0.0
    copies = 3.0 if (gradient_accumulation_steps or 1) > 1 else 2.0
    return copies * vocab * hidden * gradient_bytes_per_parameter / tensor_parallel


def loss_phase_bytes(
    accumulated_gradient_bytes: float,
    last_stage_activation_bytes: float,
    loss_bytes: float,
    gathered_bytes: float,
    cast_bytes: float,
    root_gathered_bytes: float,
    realised_ratio: float,
) -> float:
    """Memory beside weights and optimizer state while the loss is computed.

    loss_phase_bytes = kept gradients + the last stage's activations + gathered + max(
        loss + casts               the loss
        root_gathered_bytes )      FSDP gathers the tables
    activations and the loss are taken realised_ratio times

    Args:
        accumulated_gradient_bytes: kept gradients [bytes]. last_stage_activation_bytes, loss_bytes: activations [bytes].
        gathered_bytes, cast_bytes, root_gathered_bytes: buffers [bytes].
        realised_ratio: of samples, kernels and releases that nothing states, in all activations at once (fitted).
    Returns:
        [bytes]

    >>> loss_phase_bytes(0, 10, 5, 0, 0, 0, 1)
    15

    Source: PyTorch, torch/distributed/_tools/mem_tracker.py, traces of the same steps.
    """
    last = accumulated_gradient_bytes + realised_ratio * last_stage_activation_bytes + gathered_bytes
    return max(last + realised_ratio * loss_bytes + cast_bytes, last + root_gathered_bytes)


def backward_phase_bytes(
    gradient_bytes: float,
    late_gradient_bytes: float,
    accumulated_gradient_bytes: float,
    kept_activation_bytes: float,
    kept_layer_bytes: float,
    layer_work_bytes: float,
    gathered_bytes: float,
    reduction_bytes: float,
    waiting_bytes: float,
    realised_ratio: float,
    encoder_layers: int,
    kept_encoder_bytes: float,
    encoder_work_bytes: float,
) -> float:
    """Memory beside weights and optimizer state in the backward pass.

    backward_phase_bytes = gathered + waiting + reduction + max(
        kept gradients + kept activations + a layer's work           it begins; likewise the encoder's, after the decoder's
        gradients but the late ones + a layer kept + its work )      it ends, in the encoder if there is one
    activations and a layer's work are taken realised_ratio times

    Args:
        gradient_bytes, late_gradient_bytes, accumulated_gradient_bytes: gradients [bytes].
        kept_activation_bytes, kept_layer_bytes, layer_work_bytes: activations [bytes].
        gathered_bytes, reduction_bytes, waiting_bytes: buffers [bytes].
        realised_ratio: of samples, kernels and releases that nothing states, in all activations at once (fitted).
        encoder_layers, kept_encoder_bytes, encoder_work_bytes: of an encoder beside the decoder, else 0 [bytes].
    Returns:
        [bytes]

    >>> backward_phase_bytes(2, 1, 0, 10, 1, 3, 0, 0, 0, 1, 0, 0, 0), backward_phase_bytes(2, 1, 0, 10, 1, 3, 0, 0, 0, 1, 2, 8, 9)
    (13, 17)

    Source: PyTorch, torch/distributed/_tools/mem_tracker.py, traces of the same steps.
    """
    passing = gathered_bytes + waiting_bytes + reduction_bytes
    begins = max(kept_activation_bytes + layer_work_bytes, kept_encoder_bytes + encoder_work_bytes)
    last = kept_encoder_bytes / encoder_layers + encoder_work_bytes if encoder_layers else 0
    ends = max(kept_layer_bytes + layer_work_bytes, last)
    late = max(accumulated_gradient_bytes, gradient_bytes - late_gradient_bytes)
    return passing + max(accumulated_gradient_bytes + realised_ratio * begins, late + realised_ratio * ends)


def update_phase_bytes(
    gradient_bytes: float,
    late_gradient_bytes: float,
    tied_gradient_bytes: float,
    accumulated_gradient_bytes: float,
    root_reduction_bytes: float,
    step_bytes: float,
) -> float:
    """Memory beside weights and optimizer state when the gradients are complete and in the optimizer's step.

    update_phase_bytes = max(
        all gradients + tied_gradient_bytes                    the embedding
        gradients but the late ones + root_reduction_bytes     the embedding with FSDP
        all gradients + step_bytes )                           the optimizer's step

    Args:
        gradient_bytes, late_gradient_bytes, tied_gradient_bytes, accumulated_gradient_bytes: gradients [bytes].
        root_reduction_bytes, step_bytes: buffers [bytes].
    Returns:
        [bytes]

    >>> update_phase_bytes(2, 1, 0, 0, 0, 2)
    4

    Source: PyTorch, torch/distributed/_tools/mem_tracker.py, traces of the same steps.
    """
    late = max(accumulated_gradient_bytes, gradient_bytes - late_gradient_bytes)
    return max(gradient_bytes + tied_gradient_bytes, late + root_reduction_bytes, gradient_bytes + step_bytes)


def training_peak_bytes(
    training_weight_bytes: float,
    optimizer_state_bytes: float,
    bucket_bytes: float,
    loss_phase_bytes: float,
    backward_phase_bytes: float,
    update_phase_bytes: float,
    unshared_load_bytes: float,
    companion_bytes: float,
    policy_generation_bytes: float,
    scoring_bytes: float,
) -> float:
    """Peak memory of tensors on one GPU in a training step.

    training_peak_bytes = weights + optimizer state + bucket_bytes + companion_bytes
                          + max(loss_phase_bytes, backward_phase_bytes, update_phase_bytes,
                                policy_generation_bytes, scoring_bytes);
                          unshared_load_bytes where that is more

    Args:
        training_weight_bytes, optimizer_state_bytes: states [bytes]. bucket_bytes: buffers [bytes].
        loss_phase_bytes, backward_phase_bytes, update_phase_bytes: in the phases of a step [bytes].
        unshared_load_bytes: of weights before they are sharded [bytes].
        companion_bytes: of the models beside the trained one [bytes].
        policy_generation_bytes, scoring_bytes: where the trained model generates or scores samples [bytes].
    Returns:
        [bytes]
    Validity: from the second step on, when the optimizer's state exists.

    >>> training_peak_bytes(2, 4, 0, 15, 13, 4, 0, 0, 0, 0), training_peak_bytes(2, 4, 0, 15, 13, 4, 0, 3, 0, 20)
    (21, 29)

    Source: PyTorch, torch/distributed/_tools/mem_tracker.py, traces of the same steps.
    """
    resident = training_weight_bytes + optimizer_state_bytes + bucket_bytes + companion_bytes
    phases = (loss_phase_bytes, backward_phase_bytes, update_phase_bytes, policy_generation_bytes, scoring_bytes)
    return max(resident + max(phases), unshared_load_bytes)


def step_bytes(
    stage_parameters: float,
    trained_share: float,
    step_bytes_per_parameter: float,
    sharding: str,
    sharding_stage: int,
    shard_share: float,
    optimizer_offload: bool,
    master_weights: bool,
    sub_group_size: int,
    optimizer: str,
    parameter_bytes: int,
    vocab: int,
    hidden: int,
    tensor_parallel: int,
    lora_rank: int | None,
) -> float:
    """Temporary memory of the optimizer step on one GPU.

    step_bytes = stage_parameters · trained_share · step_bytes_per_parameter · (shard_share from stage 1 on)
                 two copies of the vocabulary table where tensors are updated one by one
                 with DeepSpeed a 32-bit copy of the gradients that this rank updates, in stage 3 of up to sub_group_size of them

    Args:
        stage_parameters: of one rank. trained_share: of them. step_bytes_per_parameter: [bytes].
        sharding, sharding_stage, shard_share: how states are sharded, and the share that is kept.
        optimizer_offload: the step runs on the host. master_weights: the optimizer keeps a 32-bit copy.
        sub_group_size: parameters that DeepSpeed updates at once in stage 3. optimizer: its name.
        parameter_bytes: of one weight [bytes]. vocab, hidden, tensor_parallel: of the largest tensor. lora_rank: None when it
        is trained.
    Returns:
        [bytes]

    >>> step_bytes(8e9, 1.0, 2, "none", 0, 1.0, False, False, 1000, "adamw", 2, 128256, 4096, 1, None)
    16000000000.0
    >>> step_bytes(8e9, 1.0, 0, "none", 0, 1.0, False, False, 1000, "adamw-single", 2, 50304, 2048, 1, None)  # Pythia-1B: traced
    412090368.0

    Source: PyTorch 2.15.0, torch/optim/adam.py, _multi_tensor_adam and _single_tensor_adam (a root and its quotient);
        deepspeedai/DeepSpeed runtime/zero/stage_1_and_2.py, step
        (single_grad_partition in 32 bits); DeepSpeed documentation, sub_group_size.
    """
    if optimizer_offload:
        return 0.0
    updated = stage_parameters * trained_share * (shard_share if sharding_stage >= 1 else 1)
    if sharding == "deepspeed" and master_weights:
        return 4 * (min(updated, sub_group_size) if sharding_stage >= 3 else updated)
    if optimizer in ONE_BY_ONE and lora_rank is None:
        return 2 * parameter_bytes * vocab * hidden / tensor_parallel * (shard_share if sharding_stage >= 1 else 1)
    return updated * step_bytes_per_parameter


ONE_BY_ONE = frozenset({"adam-single", "adamw-single"})


def training_reserved_bytes(
    training_peak_bytes: float,
    training_weight_bytes: float,
    optimizer_state_bytes: float,
    allocator_excess: float,
    allocator_slack_bytes: float,
    lora_rank: int | None,
    loaded_excess: float,
    companion_bytes: float,
) -> float:
    """Memory that PyTorch's allocator reserves at the peak of a training step.

    training_reserved_bytes = training_peak_bytes + allocator_excess · (training_peak_bytes − weights − optimizer state
                              − companion_bytes) + allocator_slack_bytes + loaded_excess · weights below adapters

    Args:
        training_peak_bytes: of tensors [bytes]. training_weight_bytes, optimizer_state_bytes: that stay in place [bytes].
        allocator_excess: blocks held beyond what moves (fitted).
        allocator_slack_bytes: workspaces of libraries and partly filled segments (fitted) [bytes]. lora_rank: None without LoRA.
        loaded_excess: what loading, casting and quantising a frozen base leave in segments besides a small step (fitted).
        companion_bytes: of models beside the trained one, which stay in place too [bytes].
    Returns:
        [bytes]

    >>> training_reserved_bytes(30.0, 8.0, 2.0, 0.2, 0.5, None, 0.1, 0)
    34.5
    >>> training_reserved_bytes(30, 8, 2, 0.2, 0.5, 8, 0.125, 0), training_reserved_bytes(40, 8, 2, 0.2, 0.5, 8, 0.125, 10)
    (35.5, 45.5)

    Source: pytorch/torchtitan benchmarks/ (reserved memory of Llama-3.1-8B on 8 and
        128 GPUs exceeds what tensors take by the same).
    """
    moving = training_peak_bytes - training_weight_bytes - optimizer_state_bytes - companion_bytes
    loaded = loaded_excess * training_weight_bytes if lora_rank is not None else 0.0
    return training_peak_bytes + allocator_excess * max(0.0, moving) + allocator_slack_bytes + loaded


def training_device_bytes(
    training_reserved_bytes: float,
    training_context_bytes: float,
    idle_rollout_bytes: float,
    rollout_phase_bytes: float,
) -> float:
    """Memory that the driver reports as used by one rank at the peak.

    training_device_bytes = max(training_reserved_bytes + idle_rollout_bytes, rollout_phase_bytes) + training_context_bytes

    Args:
        training_reserved_bytes: that the allocator holds [bytes].
        training_context_bytes: CUDA and communication (fitted) [bytes].
        idle_rollout_bytes, rollout_phase_bytes: with an engine that generates samples on the same GPU [bytes].
    Returns:
        [bytes]

    >>> training_device_bytes(30.0, 1.0, 0.0, 0.0), training_device_bytes(30.0, 1.0, 0.0, 40.0)
    (31.0, 41.0)

    Source: PyTorch documentation, CUDA semantics, memory management.
    """
    return max(training_reserved_bytes + idle_rollout_bytes, rollout_phase_bytes) + training_context_bytes


def training_needed_bytes(
    training_peak_bytes: float,
    training_context_bytes: float,
    idle_rollout_bytes: float,
    rollout_phase_bytes: float,
) -> float:
    """Minimum memory of a training step on one GPU.
    Under pressure the allocator returns what it only caches.

    training_needed_bytes = max(training_peak_bytes + idle_rollout_bytes, rollout_phase_bytes) + training_context_bytes

    Args:
        training_peak_bytes: of tensors [bytes]. training_context_bytes: CUDA and communication (fitted) [bytes].
        idle_rollout_bytes, rollout_phase_bytes: with an engine that generates samples on the same GPU [bytes].
    Returns:
        [bytes]

    >>> training_needed_bytes(30.0, 1.0, 0.0, 0.0), training_needed_bytes(30.0, 1.0, 8.0, 20.0)
    (31.0, 39.0)

    Source: PyTorch documentation, CUDA semantics: cached blocks are freed before an allocation fails.
    """
    return max(training_peak_bytes + idle_rollout_bytes, rollout_phase_bytes) + training_context_bytes


def training_headroom_bytes(device_memory_bytes: float, training_needed_bytes: float) -> float:
    """Memory left on one GPU in a training step; negative if the step does not fit.

    training_headroom_bytes = device_memory_bytes − training_needed_bytes

    Args:
        device_memory_bytes: that a process can use [bytes]. training_needed_bytes: of a step [bytes].
    Returns:
        [bytes]

    >>> training_headroom_bytes(79.2, 60.0) > 19
    True

    Source: definition.
    """
    return device_memory_bytes - training_needed_bytes


def training_state_headroom_bytes(
    device_memory_bytes: float, state_bytes_per_gpu: float, training_context_bytes: float
) -> float:
    """Memory that the states leave on one GPU; negative if no micro-batch fits.

    training_state_headroom_bytes = device_memory_bytes − state_bytes_per_gpu − training_context_bytes

    Args:
        device_memory_bytes: that a process can use [bytes]. state_bytes_per_gpu: weights, gradients, optimizer [bytes].
        training_context_bytes: CUDA and communication (fitted) [bytes].
    Returns:
        [bytes]

    >>> training_state_headroom_bytes(40.0, 113.0, 0.5) < 0  # Llama-2-7B at 18 bytes a parameter
    True

    Source: Rajbhandari et al., ZeRO, 2020, section 3.1.
    """
    return device_memory_bytes - state_bytes_per_gpu - training_context_bytes
