"""vLLM's memory rule: what it profiles at start-up, and what is left for the KV cache."""

from __future__ import annotations

import math

from gpulint import units
from gpulint.catalog.family_traits import has_trait


def max_model_len(trained_context: int) -> int:
    """Default maximum sequence length: the length that the checkpoint declares.

    Args:
        trained_context: [tokens]
    Returns:
        [tokens]

    >>> max_model_len(131072)
    131072

    Source: vLLM, config/model.py, _get_and_verify_max_len.
    """
    return trained_context


def memory_budget_bytes(
    device_memory_bytes: float, unified_memory_bytes: int | None, gpu_memory_utilization: float
) -> float:
    """Memory that the engine may use on one GPU.

    memory_budget_bytes = min(ceil(total · gpu_memory_utilization), device_memory_bytes)

    Args:
        device_memory_bytes: what CUDA reports as total, not what is free [bytes]. unified_memory_bytes: that total of a part
        whose memory the host's programs share, else None [bytes]. gpu_memory_utilization: share.
    Returns:
        [bytes]
    Validity: a share of more than is free refuses to start.

    >>> round(memory_budget_bytes(79.19 * 2**30, None, 0.95) / 2**30, 2)  # printed as 75.23 GiB
    75.23
    >>> memory_budget_bytes(102.0, 121, 0.8)  # DGX Spark: the share is of all, not of what is free
    97

    Source: vLLM, v1/worker/utils.py, request_memory.
    """
    total = unified_memory_bytes or device_memory_bytes
    return min(math.ceil(total * gpu_memory_utilization), device_memory_bytes)


def sampler_bytes(
    max_num_seqs: int,
    max_num_batched_tokens: int,
    vocab: int,
    hidden: int,
    bytes_per_activation: float,
    sampler_bytes_per_logit: float,
    family: str,
    draft_tokens: int,
    sampler_draft_share: float,
) -> float:
    """Activations of a full sampler step in the profiling run.

    sampler_bytes = c · rows · vocab + 2 · T · hidden · B, rows = min(max_num_seqs · (1 + s if drafting), T); 0 for pooling

    Args:
        max_num_seqs: sequences. max_num_batched_tokens: T [tokens]. vocab, hidden: widths.
        bytes_per_activation: B [bytes]. sampler_bytes_per_logit: c (fitted) [bytes]. family: of the model.
        draft_tokens: drafted for each sequence, else 0. sampler_draft_share: s, further rows of the profiled step (fitted).
    Returns:
        [bytes]
    Validity: the sampler is not divided by tensor parallel. The profile verifies one drafted token for each sequence; while
        serving, more of them need more (vllm issue 38220).

    >>> round(sampler_bytes(1024, 8192, 128256, 4096, 2, 14, "llama", 0, 0) / 2**30, 2)  # Llama-3.1-8B
    1.84

    Source: vLLM, v1/worker/gpu_model_runner.py, _dummy_sampler_run.
    """
    if has_trait(family, "pools"):
        return 0.0
    rows = min(max_num_seqs * (1 + sampler_draft_share if draft_tokens else 1), max_num_batched_tokens)
    return sampler_bytes_per_logit * rows * vocab + 2 * max_num_batched_tokens * hidden * bytes_per_activation


def prefill_bytes(
    max_num_batched_tokens: int,
    hidden: int,
    intermediate: int,
    moe_intermediate: int | None,
    tensor_parallel: int,
    bytes_per_activation: float,
    prefill_hidden_multiple: float,
    prefill_intermediate_multiple: float,
) -> float:
    """Activations of a full prefill in the profiling run, without those of routed experts.

    prefill_bytes = T · B · (k_i · intermediate / tp + k_h · hidden)          (no MLP term for routed experts)

    Args:
        max_num_batched_tokens: T [tokens]. hidden, intermediate: widths. moe_intermediate: of routed experts, else None.
        tensor_parallel: ranks. bytes_per_activation: B [bytes].
        prefill_hidden_multiple, prefill_intermediate_multiple: k_h, k_i (fitted).
    Returns:
        [bytes]

    >>> round(prefill_bytes(8192, 4096, 14336, None, 1, 2, 4.2, 3) / 2**30, 2)  # Llama-3.1-8B
    0.92

    Source: vLLM, v1/worker/gpu_model_runner.py, profile_run.
    """
    mlp = 0.0 if moe_intermediate else prefill_intermediate_multiple * intermediate / tensor_parallel
    return max_num_batched_tokens * bytes_per_activation * (mlp + prefill_hidden_multiple * hidden)


def expert_workspace_bytes(
    max_num_batched_tokens: int,
    hidden: int,
    experts_per_token: int | None,
    moe_intermediate: int | None,
    tensor_parallel: int,
    bytes_per_activation: float,
    moe_workspace_factor: float,
) -> float:
    """Workspace of routed experts in the profiling run.

    expert_workspace_bytes = f · T · experts_per_token · B · (max(2 · I / tp, hidden) + max(I / tp, hidden))

    Args:
        max_num_batched_tokens: T [tokens]. hidden: width. experts_per_token, moe_intermediate: of routed experts, else None.
        tensor_parallel: ranks. bytes_per_activation: B [bytes]. moe_workspace_factor: f (fitted).
    Returns:
        [bytes]

    >>> expert_workspace_bytes(8192, 2048, 8, 768, 1, 2, 1) / 2**20  # Qwen3-30B-A3B
    512.0

    Source: vLLM, model_executor/layers/fused_moe/modular_kernel.py, workspace_shapes.
    """
    expert = (moe_intermediate or 0) / tensor_parallel
    columns = max(2 * expert, hidden) + max(expert, hidden)
    return moe_workspace_factor * (max_num_batched_tokens * (experts_per_token or 0) * bytes_per_activation * columns)


def activation_bytes(
    sampler_bytes: float,
    prefill_bytes: float,
    expert_workspace_bytes: float,
    max_num_seqs: int,
    tensor_parallel: int,
    activation_slack_bytes: float,
    encoder_bytes: float,
    profiled_pictures: int,
    sequence_encoder_bytes: float,
    modality: str,
    encoder_skipped: bool,
    family: str,
) -> float:
    """Peak activations of the profiling run on one GPU.
    They are those of a full prefill or of a full sampler step, whichever is larger.

    activation_bytes = max(prefill, sampler) + experts + slack (+ encoder · profiled_pictures)
                     max(prefill, sampler, max_num_seqs · encoder of one sequence) + slack   with cross-attention

    Args:
        sampler_bytes, prefill_bytes, expert_workspace_bytes: of the profiling run [bytes].
        max_num_seqs: sequences. tensor_parallel: ranks.
        activation_slack_bytes, encoder_bytes, sequence_encoder_bytes: (fitted) [bytes].
        profiled_pictures: that the longest profiled video is worth. modality: text, vision or audio.
        encoder_skipped: no image or audio is accepted. family: of the model.
    Returns:
        [bytes]
    Validity: fitted on 59 runs of vLLM 0.19 on H100 (mean error 0.065 GiB); elsewhere the fitted terms are wider.

    >>> activation_bytes(1.84, 0.92, 0, 1024, 1, 0.05, 0, 1, 0, "text", False, "llama")  # Llama-3.1-8B, in GiB
    1.8900000000000001

    Source: vLLM, v1/worker/gpu_model_runner.py, profile_run; sizing tools say 0.7 to 4.8 GiB of the example.
    """
    crosses = has_trait(family, "attends_to_pictures")
    if crosses and tensor_parallel > 1:
        raise LookupError("activations of a cross-attention encoder over several ranks are not modelled")
    encoder = 0.0 if modality == "text" or encoder_skipped else encoder_bytes * profiled_pictures
    if crosses and encoder:
        return max(prefill_bytes, sampler_bytes, max_num_seqs * sequence_encoder_bytes) + activation_slack_bytes
    return max(prefill_bytes, sampler_bytes) + expert_workspace_bytes + activation_slack_bytes + encoder


def profiled_pictures(family: str, max_model_len: int) -> int:
    """Maximum-size images that the profiling run encodes at once.
    Qwen models take a video that fills the context.

    profiled_pictures = min(8, max(1, ⌊(max_model_len − 16384) / 16384⌋)) for Qwen's, else 1

    Args:
        family: of the model. max_model_len: [tokens]
    Returns:
        pictures of 16,384 tokens, each the worth of two frames; 16 frames at most.

    >>> profiled_pictures("qwen2.5-vl", 16384), profiled_pictures("qwen2.5-vl", 128000), profiled_pictures("llama-4", 128000)
    (1, 6, 1)

    Source: vLLM v0.8.5, model_executor/models/qwen2_vl.py, get_num_frames_with_most_features: the sequence less one image.
    """
    if not has_trait(family, "sees_video"):
        return 1
    return min(_MOST_PICTURES, max(1, (max_model_len - _PICTURE_TOKENS) // _PICTURE_TOKENS))


_PICTURE_TOKENS = 16384
_MOST_PICTURES = 8


def captured_graph_bytes(graph_bytes: float, enforce_eager: bool, graphs_in_budget: bool) -> float:
    """CUDA graphs inside the budget. Releases before 0.20 captured them outside it.

    captured_graph_bytes = graph_bytes, or 0 without graphs or where they are not counted

    Args:
        graph_bytes: by release (fitted) [bytes]. enforce_eager: no graphs at all. graphs_in_budget: by release.
    Returns:
        [bytes]

    >>> captured_graph_bytes(900, True, True), captured_graph_bytes(900, False, True)
    (0.0, 900.0)

    Source: vLLM v0.20.0, v1/worker/gpu_worker.py, determine_available_memory.
    """
    return float(graph_bytes) if graphs_in_budget and not enforce_eager else 0.0


def outside_bytes(context_bytes: float, graph_bytes: float, enforce_eager: bool, graphs_in_budget: bool) -> float:
    """Memory of one process outside its budget: the CUDA context and, before 0.20, the CUDA graphs.

    outside_bytes = context_bytes + graph_bytes, without graphs where there are none or the budget has them

    Args:
        context_bytes: taken before the budget is looked at (fitted) [bytes]. graph_bytes: by release (fitted) [bytes].
        enforce_eager: no graphs at all. graphs_in_budget: by release.
    Returns:
        [bytes]

    >>> outside_bytes(500.0, 900.0, False, False), outside_bytes(500.0, 900.0, False, True)
    (1400.0, 500.0)

    Source: vLLM v0.19.0, v1/worker/gpu_worker.py, determine_available_memory and compile_or_warm_up_model.
    """
    return context_bytes + (0.0 if enforce_eager or graphs_in_budget else graph_bytes)


def device_class(device_memory_bytes: float, generation: str, first_core: bool) -> str:
    """Size class of the GPU in the engine's batch defaults.

    From 160 GiB, from 70 GiB unless it is an A100, all others, and those below compute capability 8.0.

    Args:
        device_memory_bytes: [bytes]. generation: the engine keeps A100 apart by name; no other Ampere GPU is as large.
            Older generations stayed on the engine's first core until 0.10.1. first_core: so do others, for another reason.
    Returns:
        a condition word of the table of defaults.
    Validity: releases 0.8.0 to 0.8.4 went by the names H100 and H200; 0.8.5 gave A100 80GB the large class.

    >>> device_class(79.1 * 2**30, "hopper", False), device_class(79.1 * 2**30, "ampere", False)
    ('memory-ge-70gib-not-a100', 'other')
    >>> device_class(14.6 * 2**30, "turing", False), device_class(39.6 * 2**30, "ampere", True)
    ('before-ampere', 'before-ampere')

    Source: vLLM v0.9.0 and v0.28.0, engine/arg_utils.py, _set_default_args; v0.8.2, _is_v1_supported_oracle.
    """
    if generation in _BEFORE_AMPERE or first_core:
        return "before-ampere"
    if device_memory_bytes >= 160 * units.GIB:
        return "memory-ge-160gib"
    large = device_memory_bytes >= 70 * units.GIB and generation != "ampere"
    return "memory-ge-70gib-not-a100" if large else "other"


_BEFORE_AMPERE = frozenset({"pascal", "volta", "turing"})


def whole_context_batch_tokens(max_model_len: int) -> int:
    """Tokens of one forward pass without chunked prefill, the default of early releases.

    whole_context_batch_tokens = max(2048, max_model_len)

    Args:
        max_model_len: [tokens]
    Returns:
        [tokens]

    >>> whole_context_batch_tokens(4096)
    4096

    Source: vLLM v0.4.0 to v0.7.3, vllm/config.py, SchedulerConfig.
    """
    return max(2048, max_model_len)


def reserve_bytes(activation_bytes: float, captured_graph_bytes: float, non_torch_bytes: float) -> float:
    """Activations, CUDA graphs and libraries on one GPU.

    reserve_bytes = activation_bytes + captured_graph_bytes + non_torch_bytes

    Args:
        activation_bytes, captured_graph_bytes, non_torch_bytes: [bytes]
    Returns:
        [bytes]

    >>> reserve_bytes(1.5, 0, 0.25)
    1.75

    Source: vLLM, v1/worker/gpu_worker.py, determine_available_memory.
    """
    return activation_bytes + captured_graph_bytes + non_torch_bytes


def loaded_bytes_per_gpu(
    weight_bytes_per_gpu: float,
    weight_buffer_bytes: float,
    lora_bytes: float,
    lora_counted: bool,
    draft_weight_bytes_per_gpu: float,
) -> float:
    """Everything that is loaded on the fullest GPU, as vLLM prints it after loading.

    loaded_bytes_per_gpu = weight_bytes_per_gpu + weight_buffer_bytes + lora_bytes + draft_weight_bytes_per_gpu, at least 0

    Args:
        weight_bytes_per_gpu: of the model [bytes]. weight_buffer_bytes: (fitted) [bytes].
        lora_bytes: slots for adapters [bytes]. lora_counted: releases before 0.8 made them after they had measured, and gave
        their memory to the KV cache as well. draft_weight_bytes_per_gpu: of the speculative draft [bytes].
    Returns:
        [bytes]

    >>> loaded_bytes_per_gpu(30.51, 0.08, 0, True, 0)  # Qwen3-32B on two ranks: "Model loading took 30.59 GiB"
    30.59

    Source: vLLM, v1/worker/gpu_model_runner.py, load_model: adapters' slots and the drafter are made inside what it measures.
    """
    slots = lora_bytes if lora_counted else 0.0
    return max(weight_bytes_per_gpu + weight_buffer_bytes + slots + draft_weight_bytes_per_gpu, 0.0)


def weight_buffer_bytes(
    rotary_table_bytes: float, rounding_bytes: float, absorbed_bytes: float, loader_slack_bytes: float
) -> float:
    """Buffers that are loaded on one GPU in addition to the weights.

    weight_buffer_bytes = rotary_table_bytes + rounding_bytes + absorbed_bytes + loader_slack_bytes

    Args:
        rotary_table_bytes, rounding_bytes, absorbed_bytes: [bytes]. loader_slack_bytes: (fitted) [bytes].
    Returns:
        [bytes]

    >>> weight_buffer_bytes(4, 80, 0, 0)
    84

    Source: vLLM v0.19.0, v1/worker/gpu_model_runner.py, load_model: what the allocator holds before and after.
    """
    return rotary_table_bytes + rounding_bytes + absorbed_bytes + loader_slack_bytes


def lora_columns(
    layers: int,
    moe_layers: int,
    hidden: int,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    intermediate: int,
    gated_mlp: bool,
    experts: int | None,
    moe_intermediate: int | None,
    tensor_parallel: int,
    expert_ranks: int,
    lora_expert_share: float,
) -> float:
    """Rows and columns of all matrices with LoRA slots, as one rank holds them.

    lora_columns = layers · a + dense layers · m + moe_layers · e
    a = 4 · hidden + (2 · heads + 2 · kv_heads) · head_dim / tp              (query, key, value, output)
    m = 3 · (hidden + intermediate / tp), or 2 · … without a gate            (gate, up, down)
    e = lora_expert_share · experts / expert_ranks · 3 · (hidden + moe_intermediate / tp)

    Args:
        layers, moe_layers, attention_heads, kv_heads, experts: counts. hidden, intermediate, moe_intermediate, head_dim: widths.
        gated_mlp: the MLP has a gate. tensor_parallel, expert_ranks: ranks; the half of each pair that faces the whole width
        is not divided. lora_expert_share: experts with slots (fitted).
    Returns:
        [rows]

    >>> lora_columns(28, 0, 3072, 24, 8, 128, 8192, True, None, None, 1, 1, 0)  # Llama-3.2-3B
    1519616.0

    Source: vLLM, lora/layers/base_linear.py, create_lora_weights, and fused_moe.py.
    """
    matrices = 3 if gated_mlp else 2
    attention = 4 * hidden + 2 * (attention_heads + kv_heads) * head_dim / tensor_parallel
    dense = matrices * (hidden + intermediate / tensor_parallel)
    cut = tensor_parallel if expert_ranks == 1 else 1
    expert = lora_expert_share * (experts or 0) / expert_ranks * matrices * (hidden + (moe_intermediate or 0) / cut)
    return layers * attention + (layers - moe_layers) * dense + moe_layers * expert


def lora_bytes(
    enable_lora: bool,
    max_loras: int,
    max_lora_rank: int,
    lora_columns: float,
    kv_lora_rank: int | None,
    hidden: int,
    vocab: int,
    stage_share: float,
    bytes_per_activation: float,
    lora_vocabulary_tables: float,
) -> float:
    """LoRA adapter slots on the fullest GPU, filled or not.

    lora_bytes = max_loras · max_lora_rank · B · (stage_share · lora_columns + lora_vocabulary_tables · (vocab + hidden))

    Args:
        enable_lora: adapters are served. max_loras: slots. max_lora_rank: of every slot. lora_columns: of all layers.
        kv_lora_rank: set for MLA. hidden, vocab: widths. stage_share: of the layers on the fullest pipeline stage.
        bytes_per_activation: B [bytes].
        lora_vocabulary_tables: embedding and output head, where the model class lists them (fitted).
    Returns:
        [bytes]
    Validity: without `--fully-sharded-loras`, which divides both halves. Models with MLA are not modelled.

    >>> slots = lora_bytes(True, 1, 64, 1519616, None, 3072, 128256, 1.0, 2, 2)
    >>> round(slots / 2**30, 2)  # Llama-3.2-3B: 6.25 GiB loaded with slots of rank 64 against 6.02 without
    0.21

    Source: vLLM, lora/layers/base_linear.py, create_lora_weights; start-up logs of unslothai/notebooks (vLLM 0.8.1 and 0.8.2).
    """
    if not enable_lora:
        return 0.0
    if kv_lora_rank:
        raise LookupError("LoRA slots are not modelled for MLA architectures")
    width = stage_share * lora_columns
    return max_loras * max_lora_rank * bytes_per_activation * (width + lora_vocabulary_tables * (vocab + hidden))


def expert_ranks(expert_parallel: bool, tensor_parallel: int, data_parallel: int) -> int:
    """Ranks over which whole routed experts are distributed.

    expert_ranks = tp · dp with --enable-expert-parallel, else 1

    Args:
        expert_parallel: whether experts are spread whole. tensor_parallel, data_parallel: ranks.
    Returns:
        ranks.

    >>> expert_ranks(True, 1, 16), expert_ranks(False, 8, 1)
    (16, 1)

    Source: vLLM, docs/serving/expert_parallel_deployment.md: EP_SIZE = TP_SIZE × DP_SIZE.
    """
    return tensor_parallel * data_parallel if expert_parallel else 1
