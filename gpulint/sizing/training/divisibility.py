"""Training ratios: remainders of heads, sequences and batches, and the share of a GPU that each
term takes.
"""

from __future__ import annotations

from gpulint.sizing.training import model_states


def copy_batch_remainder(global_batch_size: int | None, training_copies: int) -> int:
    """Sequences of a global batch left over after equal division over data-parallel ranks.

    copy_batch_remainder = global_batch_size mod training_copies

    Args:
        global_batch_size: sequences of a step. training_copies: data parallel.
    Returns:
        sequences

    >>> copy_batch_remainder(100, 8), copy_batch_remainder(96, 8)
    (4, 0)

    Source: mosaicml/llm-foundry 8c8dd48f7 llmfoundry/utils/config_utils.py, calculate_batch_size_info.
    """
    if global_batch_size is None:
        raise LookupError("the batch of a step is not stated")
    return global_batch_size % training_copies


def generations_remainder(
    generations: int | None,
    micro_batch_size: int | None,
    gradient_accumulation_steps: int | None,
    world_size: int,
) -> int:
    """Completions of a training step left over after equal division over the prompts.

    generations_remainder = (micro_batch_size · gradient_accumulation_steps · world_size) mod generations

    Args:
        generations: completions of a prompt. micro_batch_size: completions of one rank at once.
        gradient_accumulation_steps: micro-batches of a step. world_size: ranks.
    Returns:
        completions

    >>> generations_remainder(16, 4, 1, 7), generations_remainder(16, 4, 4, 7)
    (12, 0)

    Source: huggingface/trl f2cd57710 trl/trainer/grpo_config.py, __post_init__: generation_batch_size.
    """
    if generations is None or micro_batch_size is None or gradient_accumulation_steps is None:
        raise LookupError("completions, micro-batch and accumulation are not all stated")
    return micro_batch_size * gradient_accumulation_steps * world_size % generations


def kv_groups_remainder(kv_heads: int, tensor_parallel: int) -> int:
    """KV heads left over after division over the ranks, or ranks after replication.

    kv_groups_remainder = kv_heads mod tensor_parallel, or tensor_parallel mod kv_heads where there are more ranks

    Args:
        kv_heads: of the model. tensor_parallel: ranks.
    Returns:
        heads or ranks

    >>> kv_groups_remainder(8, 4), kv_groups_remainder(8, 16), kv_groups_remainder(6, 4), kv_groups_remainder(2, 3)
    (0, 0, 2, 1)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/transformer/transformer_config.py: num_query_groups has to be a
        multiple or divisor of the tensor parallel size.
    """
    return kv_heads % tensor_parallel if kv_heads >= tensor_parallel else tensor_parallel % kv_heads


def kv_shard_remainder(kv_heads: int, tensor_parallel: int) -> int:
    """KV heads left over after division over the ranks, for trainers that replicate none.

    kv_shard_remainder = kv_heads mod tensor_parallel

    Args:
        kv_heads: of the model. tensor_parallel: ranks.
    Returns:
        heads

    >>> kv_shard_remainder(8, 4), kv_shard_remainder(8, 16)
    (0, 8)

    Source: pytorch/torchtitan b5bcd76c6 torchtitan/models/common/decoder.py; EleutherAI/gpt-neox ea7aefd8
        megatron/neox_arguments/arguments.py.
    """
    return kv_heads % tensor_parallel


def sequence_remainder(sequence_length: int | None, context_parallel: int | None) -> int:
    """Tokens left over when a sequence is cut into two parts per context-parallel rank.

    sequence_remainder = sequence_length mod (2 · cp)

    Args:
        sequence_length: [tokens] context_parallel: ranks, else None.
    Returns:
        [tokens]

    >>> sequence_remainder(8192, 4), sequence_remainder(8196, 4), sequence_remainder(8191, None)
    (0, 4, 0)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/training/arguments.py: a multiple of twice the context parallel size, so
        that the causal mask costs every rank as much.
    """
    if context_parallel is None or context_parallel == 1:
        return 0
    if sequence_length is None:
        raise LookupError("the training sequence's length is not stated")
    return sequence_length % (2 * context_parallel)


def ulysses_remainder(attention_heads: int, context_parallel: int | None) -> int:
    """Query heads left over after division by the Ulysses sequence-parallel size.

    ulysses_remainder = attention_heads mod cp

    Args:
        attention_heads: of the model. context_parallel: ranks, else None.
    Returns:
        heads

    >>> ulysses_remainder(28, 8), ulysses_remainder(32, 8)
    (4, 0)

    Source: Jacobs et al., DeepSpeed Ulysses, 2023, section 3.1; volcengine/verl b178a3cd5
        verl/models/transformers/monkey_patch.py.
    """
    return attention_heads % (context_parallel or 1)


def state_share(state_bytes_per_gpu: float, device_memory_bytes: float) -> float:
    """Weights, gradients and optimizer state of one rank as a share of its GPU.

    state_share = state_bytes_per_gpu / device_memory_bytes

    Args:
        state_bytes_per_gpu, device_memory_bytes: [bytes].
    Returns:
        [ratio]

    >>> state_share(48.0, 80.0)
    0.6

    Source: definition.
    """
    return state_bytes_per_gpu / device_memory_bytes


def loss_share(loss_bytes: float, device_memory_bytes: float) -> float:
    """Memory of the output head and the loss as a share of the GPU.

    loss_share = loss_bytes / device_memory_bytes

    Args:
        loss_bytes, device_memory_bytes: [bytes].
    Returns:
        [ratio]

    >>> loss_share(20.0, 80.0)
    0.25

    Source: definition.
    """
    return loss_bytes / device_memory_bytes


def training_headroom(training_headroom_bytes: float, device_memory_bytes: float) -> float:
    """Memory that a training step leaves, as a share of the GPU.

    training_headroom = training_headroom_bytes / device_memory_bytes

    Args:
        training_headroom_bytes, device_memory_bytes: [bytes].
    Returns:
        [ratio]; negative when a step does not fit

    >>> training_headroom(8.0, 80.0)
    0.1

    Source: definition.
    """
    return training_headroom_bytes / device_memory_bytes


def resident_state_bytes(
    stage_parameters: float,
    trained_share: float,
    lora_rank: int | None,
    parameter_bytes: int,
    adapter_bytes: int,
    frozen_bytes_per_parameter: float,
    gradient_bytes_per_parameter: int,
    optimizer_bytes_per_parameter: float,
    sharding: str,
    sharding_stage: int,
    shard_share: float,
) -> float:
    """Weights, gradients and optimizer states that one GPU would hold without any offloading.

    resident_state_bytes = training_weight_bytes + gradient_bytes + optimizer_state_bytes, none of them on the host

    Args:
        stage_parameters, trained_share, lora_rank, parameter_bytes, adapter_bytes, frozen_bytes_per_parameter,
        gradient_bytes_per_parameter, optimizer_bytes_per_parameter, sharding, sharding_stage, shard_share: as the states'
        own formulas take them.
    Returns:
        [bytes]

    >>> resident_state_bytes(1e9, 1.0, None, 2, 4, 0.0, 2, 12, "deepspeed", 2, 0.125) / 1e9
    3.75

    Source: Rajbhandari et al., ZeRO, 2020, section 5.
    """
    trained, sharded = (stage_parameters, trained_share), (sharding_stage, shard_share)
    return (
        model_states.training_weight_bytes(
            *trained, lora_rank, parameter_bytes, adapter_bytes, frozen_bytes_per_parameter, sharding, *sharded, False
        )
        + model_states.gradient_bytes(*trained, gradient_bytes_per_parameter, sharding, *sharded, False)
        + model_states.optimizer_state_bytes(*trained, optimizer_bytes_per_parameter, *sharded, False)
    )


def resident_headroom(
    training_headroom_bytes: float,
    state_bytes_per_gpu: float,
    resident_state_bytes: float,
    device_memory_bytes: float,
    stage_parameters: float,
    trained_share: float,
    step_bytes_per_parameter: float,
    sharding_stage: int,
    shard_share: float,
) -> float:
    """Memory that a training step would leave without any offloading, as a share of the GPU.

    resident_headroom = (training_headroom_bytes + state_bytes_per_gpu − resident_state_bytes − the step's temporaries)
                        / device_memory_bytes

    Args:
        training_headroom_bytes, state_bytes_per_gpu, device_memory_bytes: with the offload as stated [bytes].
        resident_state_bytes: states kept on the GPU [bytes]. stage_parameters, trained_share, step_bytes_per_parameter,
        sharding_stage, shard_share: as the states' own formulas take them.
    Returns:
        [ratio]

    >>> resident_headroom(60e9, 2e9, 3.75e9, 80e9, 1e9, 1.0, 4, 2, 0.125)
    0.721875

    Source: definition.
    """
    updated = stage_parameters * trained_share * (shard_share if sharding_stage >= 1 else 1)
    step = updated * max(4.0, step_bytes_per_parameter)
    return (training_headroom_bytes + state_bytes_per_gpu - resident_state_bytes - step) / device_memory_bytes
