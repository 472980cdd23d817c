"""Remainders: what is left over when vocabularies, experts, ranks and micro-batches are divided
over ranks.
"""

from __future__ import annotations


def vocabulary_remainder(vocab: int, tensor_parallel: int) -> int:
    """Rows of the vocabulary tables left over after division by a server's tensor-parallel ranks.

    vocabulary_remainder = ceil(vocab / 64) · 64 mod tp

    Args:
        vocab: entries of the table. tensor_parallel: ranks.
    Returns:
        rows; vLLM and SGLang pad a table to a multiple of 64 whatever the ranks, and refuse anything but 0.
    Validity: without LoRA, whose further rows are padded too; not where data-parallel attention keeps the tables whole.

    >>> vocabulary_remainder(151552, 6), vocabulary_remainder(129280, 24)  # GLM-4.5-Air, DeepSeek-V3
    (4, 16)
    >>> vocabulary_remainder(50257, 8), vocabulary_remainder(128256, 6)
    (0, 0)

    Source: vLLM v0.33.0 and SGLang v0.5.23, vocab_parallel_embedding.py (DEFAULT_VOCAB_PADDING_SIZE; "is not divisible by");
        vllm-project/vllm issue 6385, sgl-project/sglang issue 31799.
    """
    return -(-vocab // _PADDED_ROWS) * _PADDED_ROWS % tensor_parallel


_PADDED_ROWS = 64


def stage_batches_remainder(micro_batches: float, pipeline_parallel: int) -> int:
    """Micro-batches of a step left over after division by the stages of an interleaved pipeline.

    stage_batches_remainder = micro_batches mod pp

    Args:
        micro_batches: that one data-parallel rank computes for a step. pipeline_parallel: stages.
    Returns:
        micro-batches; Megatron's interleaved schedule refuses anything but 0 unless larger groups of them are asked for.

    >>> stage_batches_remainder(16.0, 8), stage_batches_remainder(12.0, 8), stage_batches_remainder(4.0, 8)
    (0, 4, 4)

    Source: NVIDIA/Megatron-LM core/pipeline_parallel/schedules.py, forward_backward_pipelining_with_interleaving ("The
        remainder of M … divided by N … should be 0, or larger than or equal to the pipeline-parallel size").
    """
    if micro_batches != int(micro_batches):
        raise LookupError("the batch of a step is not a whole number of micro-batches")
    return int(micro_batches) % max(1, pipeline_parallel)


def expert_groups_remainder(
    world_size: int,
    pipeline_parallel: int,
    tensor_parallel: int,
    expert_tensor_parallel: int | None,
    expert_parallel_size: int | None,
) -> int:
    """Ranks of a run left over after forming the groups that hold all experts.

    expert_groups_remainder = world_size mod (etp · ep · pp)

    Args:
        world_size: ranks of the run. pipeline_parallel: stages. tensor_parallel: ranks, which share each expert unless
        expert_tensor_parallel states others. expert_parallel_size: ranks that experts are spread over, else None.
    Returns:
        ranks; Megatron refuses anything but 0.

    >>> expert_groups_remainder(64, 2, 4, None, 8), expert_groups_remainder(48, 2, 1, None, 16)
    (0, 16)
    >>> expert_groups_remainder(8, 1, 8, 1, 8)
    0

    Source: NVIDIA/Megatron-LM core/parallel_state.py, initialize_model_parallel ("is not divisible by
        expert_tensor_model_pipeline_parallel size").
    """
    shared = expert_tensor_parallel or tensor_parallel
    return world_size % (shared * (expert_parallel_size or 1) * max(1, pipeline_parallel))


def expert_ranks_remainder(tensor_parallel: int, expert_ranks: int) -> int:
    """Tensor-parallel ranks of a server left over after division into expert-parallel groups.

    expert_ranks_remainder = tp mod expert_ranks

    Args:
        tensor_parallel: ranks. expert_ranks: that the routed experts are spread over; each expert is shared by tp / expert_ranks.
    Returns:
        ranks

    >>> expert_ranks_remainder(8, 4), expert_ranks_remainder(8, 6), expert_ranks_remainder(4, 8)
    (0, 2, 4)

    Source: TensorRT-LLM tensorrt_llm/mapping.py (moe_tp_size · moe_ep_size must equal tp_size); SGLang
        srt/distributed/parallel_state.py, initialize_model_parallel (moe_tp_size = tp_size // moe_ep_size).
    """
    return tensor_parallel % expert_ranks


def attention_copies_remainder(tensor_parallel: int, data_parallel: int) -> int:
    """Tensor-parallel ranks left over after division by the attention's data-parallel size.

    attention_copies_remainder = tp mod dp

    Args:
        tensor_parallel: ranks. data_parallel: attention replicas inside them.
    Returns:
        ranks; SGLang refuses anything but 0.

    >>> attention_copies_remainder(8, 8), attention_copies_remainder(8, 3), attention_copies_remainder(4, 8)
    (0, 2, 4)

    Source: SGLang srt/server_args.py, --enable-dp-attention: assert tp_size % dp_size == 0.
    """
    return tensor_parallel % data_parallel


def decode_context_remainder(tensor_parallel: int, decode_context_parallel: int) -> int:
    """Tensor-parallel ranks left over after division into decode context-parallel groups.

    decode_context_remainder = tp mod dcp

    Args:
        tensor_parallel: ranks. decode_context_parallel: ranks of each group.
    Returns:
        ranks; vLLM refuses anything but 0.

    >>> decode_context_remainder(8, 4), decode_context_remainder(8, 3), decode_context_remainder(4, 8)
    (0, 2, 4)

    Source: vLLM v0.33.0 config/parallel.py, decode_context_parallel_size: "tp_size must be divisible by dcp_size".
    """
    return tensor_parallel % decode_context_parallel


def decode_context_limit(kv_heads: int, kv_lora_rank: int | None, tensor_parallel: int) -> int:
    """Maximum decode context-parallel size: the ranks that would store the same KV entries.

    decode_context_limit = tp for MLA, tp / kv_heads rounded down otherwise, at least 1

    Args:
        kv_heads: of the model. kv_lora_rank: set for MLA. tensor_parallel: ranks.
    Returns:
        ranks; vLLM refuses more.

    >>> decode_context_limit(8, None, 16), decode_context_limit(8, None, 4), decode_context_limit(128, 512, 8)
    (2, 1, 8)

    Source: vLLM docs/serving/context_parallel_deployment.md: "-dcp up to tp_size / H"; config/model.py,
        verify_with_parallel_config ("must be greater than total num kv heads").
    """
    return tensor_parallel if kv_lora_rank else max(1, tensor_parallel // kv_heads)


def rollout_remainder(world_size: int, rollout_tensor_parallel: int | None) -> int:
    """Ranks of a run left over after forming the engines that generate its samples.

    rollout_remainder = world_size mod rollout_tensor_parallel; 0 where none is stated

    Args:
        world_size: ranks of the run. rollout_tensor_parallel: ranks of one engine, else None.
    Returns:
        ranks; verl refuses anything but 0.

    >>> rollout_remainder(8, 2), rollout_remainder(1, 2), rollout_remainder(8, 3), rollout_remainder(8, None)
    (0, 1, 2, 0)

    Source: verl workers/fsdp_workers.py ("is not divisible by infer_tp"); verl-project/verl issue 1191.
    """
    return world_size % rollout_tensor_parallel if rollout_tensor_parallel else 0


def rollout_heads_remainder(attention_heads: int, rollout_tensor_parallel: int | None) -> int:
    """Query heads left over after division by the ranks of the engines that generate samples.

    rollout_heads_remainder = attention_heads mod rollout_tensor_parallel; 0 where none is stated

    Args:
        attention_heads: of the model. rollout_tensor_parallel: ranks of one engine, else None.
    Returns:
        heads

    >>> rollout_heads_remainder(28, 8), rollout_heads_remainder(28, 4)  # Qwen2.5-7B
    (4, 0)

    Source: vLLM, config/model.py, verify_with_parallel_config; SGLang refuses the same.
    """
    return attention_heads % rollout_tensor_parallel if rollout_tensor_parallel else 0


def answers_remainder(prompt_batch_size: int | None, generations: int | None, world_size: int) -> int:
    """Answers of a reinforcement-learning step left over after equal division over all ranks.

    answers_remainder = prompt_batch_size · generations mod world_size; 0 where they are not stated

    Args:
        prompt_batch_size: prompts of a step, else None. generations: answers to each, else None (1). world_size: ranks.
    Returns:
        answers; verl refuses anything but 0 where FSDP shares the states out.

    >>> answers_remainder(2, 2, 8), answers_remainder(1024, 5, 8), answers_remainder(None, 8, 8)
    (4, 0, 0)

    Source: verl utils/config.py, validate_config ("must be divisible by minimal possible batch size").
    """
    return prompt_batch_size * (generations or 1) % world_size if prompt_batch_size else 0
