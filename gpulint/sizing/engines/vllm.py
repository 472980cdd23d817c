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

    loaded_bytes_per_gpu = weight_bytes_per_gpu + weight_buffer_bytes + lora_bytes + draft_weight_bytes_per_gpu

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
    return weight_bytes_per_gpu + weight_buffer_bytes + slots + draft_weight_bytes_per_gpu


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


def kv_group_layers(
    full_kv_layers: int, sliding_kv_layers: int, linear_attention_layers: int, uniform_kv_cache: bool
) -> int:
    """Layers that share one table of KV blocks.

    kv_group_layers = the fewest layers of one kind; the most where that is less than half as many again

    Args:
        full_kv_layers, sliding_kv_layers, linear_attention_layers: counts of the kinds.
        uniform_kv_cache: sliding layers count as full ones.
    Returns:
        layers.
    Validity: releases before 0.14 always take the fewest. Pipeline stages are taken to hold equal shares of every kind.

    >>> kv_group_layers(32, 0, 0, False), kv_group_layers(10, 52, 0, False), kv_group_layers(10, 52, 0, True)
    (32, 10, 62)
    >>> kv_group_layers(13, 12, 0, False)  # gpt-oss-20b with a draft of one layer
    13

    Source: vLLM, v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size (v0.33.0: kv_cache_planning.py).
    """
    kinds = _layer_kinds(full_kv_layers, sliding_kv_layers, linear_attention_layers, uniform_kv_cache)
    counts = [count for count in kinds if count]
    return max(counts) if max(counts) < 1.5 * min(counts) else min(counts)


def _layer_kinds(full: int, sliding: int, linear: int, uniform: bool) -> tuple[int, int, int]:
    """Return the layers that keep every token, those that keep a window, and those that keep a
    state.
    """
    return (full + sliding, 0, linear) if uniform and full else (full, sliding, linear)


def kv_page_bytes(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    block_size: int,
    linear_attention_layers: int,
    state_elements: int,
    state_element_bytes: float,
    tensor_parallel: int,
) -> float:
    """One KV block of one layer on one GPU, sized for the most demanding kind of layer.

    kv_page_bytes = max(block_size · kv_entry_bytes, block_size · sliding_kv_entry_bytes, state of one layer),
                    in whole blocks of an attention layer

    Args:
        full_kv_layers, sliding_kv_layers, linear_attention_layers: counts of the kinds.
        kv_entry_bytes, sliding_kv_entry_bytes: of one token [bytes]. block_size: [tokens].
        state_elements: of one linear-attention layer. state_element_bytes: (fitted) [bytes].
        tensor_parallel: ranks that share a state.
    Returns:
        [bytes]
    Validity: states are padded to the attention page, so that both kinds can use one pool.

    >>> kv_page_bytes(32, 0, 4096, 4096, 16, 0, 0, 2, 1)  # Llama-3.1-8B
    65536
    >>> kv_page_bytes(12, 0, 2048, 2048, 16, 36, 548864, 2, 1) / 2048  # Qwen3-Next-80B: 544 tokens to a block
    544.0

    Source: vLLM, platforms/interface.py, _align_hybrid_block_size ("Setting attention block size to 544 tokens"), and
        v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size.
    """
    entries = [kv_entry_bytes] * bool(full_kv_layers) + [sliding_kv_entry_bytes] * bool(sliding_kv_layers)
    page = max((block_size * entry for entry in entries), default=0)
    state = state_elements * state_element_bytes / tensor_parallel if linear_attention_layers else 0.0
    if not entries or state <= page:
        return max(page, state)
    block = block_size * max(entries)
    return math.ceil(state / block) * block


def full_kv_blocks(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_group_layers: int,
    padded_kv_groups: bool,
    uniform_kv_cache: bool,
    kv_page_bytes: float,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    block_size: int,
    max_model_len: int,
    encoder_layers: int,
    encoder_tokens: int | None,
) -> float:
    """KV blocks that one sequence of maximum length takes in layers that keep all of its tokens.

    full_kv_blocks = groups · (ceil(max_model_len / block) + ceil(encoder_tokens / block) of an encoder-decoder)
    groups = layers / kv_group_layers, rounded up where padded_kv_groups

    Args:
        full_kv_layers, sliding_kv_layers: counts of the kinds. kv_group_layers: in one group.
        padded_kv_groups: the start-up check counts whole groups (since 0.14). uniform_kv_cache: sliding layers count as full.
        kv_page_bytes: of one block [bytes]. kv_entry_bytes, sliding_kv_entry_bytes: of one token [bytes].
        block_size: least tokens of a block [tokens]. max_model_len: [tokens].
        encoder_layers: of an encoder-decoder, else 0. encoder_tokens: positions that the decoder attends to, else None.
    Returns:
        blocks, each of kv_page_bytes in every layer of a group.
    Validity: layers of one uniform group all hold the tokens of the widest.

    >>> full_kv_blocks(32, 0, 32, True, False, 16.0, 1.0, 1.0, 16, 8192, 0, None)  # Llama-3.1-8B: 8,192 / 16
    512.0

    Source: vLLM, v1/kv_cache_interface.py, max_memory_usage_bytes of each spec.
    """
    layers, _, _ = _layer_kinds(full_kv_layers, sliding_kv_layers, 0, uniform_kv_cache)
    widest = max(kv_entry_bytes, sliding_kv_entry_bytes) if layers > full_kv_layers else kv_entry_bytes
    length = _block_tokens(kv_page_bytes, widest, block_size)
    encoder = math.ceil(encoder_tokens / length) if encoder_layers and encoder_tokens else 0
    return float(
        _count_groups(layers, kv_group_layers, padded_kv_groups) * (math.ceil(max_model_len / length) + encoder)
    )


def sliding_kv_blocks(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_group_layers: int,
    padded_kv_groups: bool,
    uniform_kv_cache: bool,
    kv_page_bytes: float,
    sliding_kv_entry_bytes: float,
    block_size: int,
    max_model_len: int,
    sliding_window: int | None,
    max_num_batched_tokens: int,
    batches_in_flight: int,
) -> float:
    """KV blocks that one sequence of maximum length takes in layers that keep a window of its tokens.

    sliding_kv_blocks = groups · (ceil(min(window − 1 + batches_in_flight · batch, max_model_len) / block) + 1)

    Args:
        full_kv_layers, sliding_kv_layers: counts of the kinds. kv_group_layers: in one group.
        padded_kv_groups: the start-up check counts whole groups (since 0.14). uniform_kv_cache: sliding layers count as full.
        kv_page_bytes: of one block [bytes]. sliding_kv_entry_bytes: of one token [bytes].
        block_size: least tokens of a block [tokens]. max_model_len, sliding_window, max_num_batched_tokens: [tokens].
        batches_in_flight: passes whose tokens a window still holds.
    Returns:
        blocks, each of kv_page_bytes in every layer of a group.
    Validity: chunked attention (Llama 4) counts as a window, one block too many.

    >>> sliding_kv_blocks(10, 52, 10, True, False, 16.0, 1.0, 16, 8192, 1024, 2048, 1)  # Gemma-3-27B: 6 · (192 + 1)
    1158.0

    Source: vLLM, v1/kv_cache_interface.py, SlidingWindowSpec.max_memory_usage_bytes.
    """
    _, sliding, _ = _layer_kinds(full_kv_layers, sliding_kv_layers, 0, uniform_kv_cache)
    if not sliding:
        return 0.0
    kept = (sliding_window or max_model_len) - 1 + batches_in_flight * max_num_batched_tokens
    length = _block_tokens(kv_page_bytes, sliding_kv_entry_bytes, block_size)
    blocks = math.ceil(min(kept, max_model_len) / length) + 1
    return float(_count_groups(sliding, kv_group_layers, padded_kv_groups) * blocks)


def kv_blocks(
    full_kv_blocks: float,
    sliding_kv_blocks: float,
    linear_attention_layers: int,
    kv_group_layers: int,
    padded_kv_groups: bool,
) -> float:
    """KV blocks that one sequence of maximum length takes, over all layer groups.

    kv_blocks = full_kv_blocks + sliding_kv_blocks + groups of linear attention, whose state takes a block
    groups = layers / kv_group_layers, rounded up where padded_kv_groups

    Args:
        full_kv_blocks, sliding_kv_blocks: of layers that keep all tokens, and of those that keep a window.
        linear_attention_layers: count. kv_group_layers: in one group.
        padded_kv_groups: the start-up check counts whole groups (since 0.14).
    Returns:
        blocks, each of kv_page_bytes in every layer of a group.

    >>> kv_blocks(512, 1158, 0, 10, True)  # Gemma-3-27B
    1670.0

    Source: vLLM, v1/core/kv_cache_utils.py, _max_memory_usage_bytes_from_groups.
    """
    return (
        full_kv_blocks
        + sliding_kv_blocks
        + float(_count_groups(linear_attention_layers, kv_group_layers, padded_kv_groups))
    )


def _count_groups(layers: int, kv_group_layers: int, padded: bool) -> float:
    """Return the groups that layers of one kind fill; whole ones if the start-up check pads them."""
    groups = layers / kv_group_layers
    return math.ceil(groups) if padded else groups


def _block_tokens(page: float, entry: float, block_size: int) -> int:
    """Return the tokens of a layer that one page holds: a whole multiple of the block size, or the
    padded block.
    """
    times = page / (block_size * entry)
    return block_size * max(1, int(times)) if times == int(times) else block_size


def kv_cache_tokens(
    kv_cache_bytes: float,
    kv_needed_bytes: float,
    max_model_len: int,
    tokens_by_group: bool,
    full_kv_layers: int,
    sliding_kv_layers: int,
    linear_attention_layers: int,
    uniform_kv_cache: bool,
    kv_group_layers: int,
    kv_page_bytes: float,
    kv_entry_bytes: float,
    block_size: int,
    stage_share: float,
    encoder_layers: int,
    draft_kv_bytes_per_token: float,
) -> int:
    """Tokens of the KV cache as vLLM prints them.

    kv_cache_tokens = kv_cache_bytes / kv_needed_bytes · max_model_len
                    = blocks / groups · tokens of a block, in earlier releases and for layers of several kinds

    Args:
        kv_cache_bytes: memory of the cache [bytes]. kv_needed_bytes: of one longest sequence [bytes].
        max_model_len: [tokens]. tokens_by_group: every group counts as if it kept all tokens (before 0.21).
        full_kv_layers, sliding_kv_layers, linear_attention_layers: counts of the kinds.
        uniform_kv_cache: sliding layers count as full ones. kv_group_layers: layers of a group.
        kv_page_bytes: of one block of one layer [bytes]. kv_entry_bytes: of one token [bytes]. block_size: [tokens].
        stage_share: of the layers on the fullest stage. encoder_layers: of an encoder-decoder, else 0.
        draft_kv_bytes_per_token: of the draft [bytes].
    Returns:
        [tokens]

    >>> plain = (262144, True, 12, 0, 36, False, 12, 544 * 1024, 1024, 16, 1.0, 0, 0)
    >>> kv_cache_tokens(44.59 * 2**30, 6.1 * 2**30, *plain)  # Qwen3-Next-80B on two H200 with 0.10.2 printed 973,760
    973760

    Source: vLLM v0.19.0, v1/core/kv_cache_utils.py, _report_kv_cache_config; v0.22.0, the same.
    """
    kinds = _layer_kinds(full_kv_layers, sliding_kv_layers, linear_attention_layers, uniform_kv_cache)
    several = sum(1 for layers in kinds if layers) > 1
    if tokens_by_group and several and full_kv_layers and not encoder_layers and not draft_kv_bytes_per_token:
        groups = sum(math.ceil(layers / kv_group_layers) for layers in kinds)
        blocks = int(kv_cache_bytes / (kv_group_layers * stage_share * kv_page_bytes))
        return max(0, blocks // groups) * _block_tokens(kv_page_bytes, kv_entry_bytes, block_size)
    return max(0, int(kv_cache_bytes / kv_needed_bytes * max_model_len)) if kv_needed_bytes else 0


def kv_needed_bytes(
    kv_blocks: float,
    kv_group_layers: int,
    kv_page_bytes: float,
    stage_share: float,
    draft_kv_bytes_per_token: float,
    max_model_len: int,
    family: str,
) -> float:
    """KV cache and state of one sequence of maximum length on the fullest GPU, in vLLM's blocks.

    kv_needed_bytes = kv_blocks · kv_group_layers · kv_page_bytes · stage_share + draft_kv_bytes_per_token · max_model_len
                    = 0 for encoders, whose attention sees the whole text at once

    Args:
        kv_blocks: over all groups. kv_group_layers: layers of a group. kv_page_bytes: one block of one layer [bytes].
        stage_share: of the layers on the fullest pipeline stage. draft_kv_bytes_per_token: of the draft [bytes].
        max_model_len: [tokens]. family: of the model.
    Returns:
        [bytes]

    >>> kv_needed_bytes(8192.0, 32, 65536, 1.0, 0, 131072, "llama") / 2**30  # Llama-3.1-8B at its full 131,072 tokens
    16.0

    Source: vLLM, v1/core/kv_cache_utils.py, check_enough_kv_cache_memory; v1/kv_cache_interface.py,
        EncoderOnlyAttentionSpec.
    """
    if has_trait(family, "encodes"):
        return 0.0
    return kv_blocks * kv_group_layers * kv_page_bytes * stage_share + draft_kv_bytes_per_token * max_model_len


def kv_cache_bytes(
    kv_cache_memory_bytes: int | None,
    memory_budget_bytes: float,
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
) -> float:
    """Memory left for the KV cache on one GPU.
    It is negative if even the weights and the reserve exceed the budget.

    kv_cache_bytes = what is stated, else memory_budget_bytes − loaded_bytes_per_gpu − reserve_bytes

    Args:
        kv_cache_memory_bytes: `--kv-cache-memory-bytes`, else None [bytes].
        memory_budget_bytes, loaded_bytes_per_gpu, reserve_bytes: [bytes]
    Returns:
        [bytes]

    >>> left = kv_cache_bytes(None, 0.95 * 79.19, 15.0, 1.89 + 0.25)  # Llama-3.1-8B on H100, measured 58.10
    >>> round(left, 2)
    58.09

    Source: vLLM, v1/worker/gpu_worker.py, determine_available_memory.
    """
    if kv_cache_memory_bytes is not None:
        return kv_cache_memory_bytes
    return memory_budget_bytes - loaded_bytes_per_gpu - reserve_bytes
