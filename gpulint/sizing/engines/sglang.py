"""SGLang's memory rule: a static share of each GPU for weights and KV cache, and the rest for
everything else.
"""

from __future__ import annotations

from gpulint import units
from gpulint.sizing.interconnect import layout
from gpulint.sizing.memory import kv_cache


def bytes_per_kv_element(
    kv_cache_dtype: str,
    bytes_per_activation: float,
    checkpoint_quantization: str | None,
    indexer_head_dim: int | None,
) -> float:
    """Bytes per KV cache element.

    One byte in the 8-bit formats, two in bfloat16; `auto` follows the activations unless the checkpoint brings its own.

    Args:
        kv_cache_dtype: as stated. bytes_per_activation: what `auto` follows [bytes].
        checkpoint_quantization: ModelOpt's FP4 releases ask for FP8 themselves. indexer_head_dim: of sparse attention,
            whose format `auto` chooses by the GPU.
    Returns:
        [bytes]

    >>> bytes_per_kv_element("fp8_e5m2", 2, None, None), bytes_per_kv_element("auto", 2, "fp8-block", None)
    (1.0, 2.0)

    Source: SGLang v0.5.23, srt/mem_cache/kv_cache_dtype.py, configure_kv_cache_dtype.
    """
    if kv_cache_dtype.startswith(("fp8", "mxfp8")):
        return 1.0
    if kv_cache_dtype in {"bf16", "bfloat16"}:
        return 2.0
    if kv_cache_dtype != "auto":
        raise LookupError(f"a KV cache in {kv_cache_dtype} holds scales that are not modelled")
    if checkpoint_quantization == "nvfp4" or indexer_head_dim is not None:
        raise LookupError("the engine chooses the KV cache format by checkpoint and GPU: set --kv-cache-dtype")
    return float(bytes_per_activation)


def max_model_len(trained_context: int) -> int:
    """Default maximum sequence length: the length that the checkpoint declares.

    Args:
        trained_context: [tokens]
    Returns:
        [tokens]

    >>> max_model_len(131072)
    131072

    Source: SGLang v0.5.23, srt/configs/model_config.py, _derive_context_length.
    """
    return trained_context


def device_class(driver_memory_bytes: int | None, device_memory_bytes: float) -> str:
    """Size class of the GPU in the engine's batch defaults.

    Below 20, 35, 60 and 160 GiB, and from 160 GiB.

    Args:
        driver_memory_bytes: total of nvidia-smi, which the engine asks, else None [bytes].
        device_memory_bytes: of a slice, for which nvidia-smi prints none [bytes].
    Returns:
        a condition word of the table of defaults.

    >>> device_class(24564 * 2**20, 0), device_class(81559 * 2**20, 0), device_class(None, 9.5 * 2**30)
    ('memory-lt-35gib', 'memory-lt-160gib', 'memory-lt-20gib')

    Source: SGLang v0.4.8, srt/server_args.py; v0.5.23, srt/arg_groups/memory_hook.py, handle_gpu_memory_settings.
    """
    total = driver_memory_bytes or device_memory_bytes
    bound = next((bound for bound in (20, 35, 60, 160) if total < bound * units.GIB), None)
    return f"memory-lt-{bound}gib" if bound else "memory-ge-160gib"


def graph_batch(device_class: str, tensor_parallel: int) -> int:
    """Default largest batch for which CUDA graphs of decoding are captured.

    By class of GPU, and more from four tensor-parallel ranks on.

    Args:
        device_class: of the GPU. tensor_parallel: ranks.
    Returns:
        sequences
    Validity: since 0.5.3. Releases before 0.5.20 captured 24 and 80 in the class below 35 GiB.

    >>> graph_batch("memory-lt-160gib", 1), graph_batch("memory-lt-160gib", 8)
    (256, 512)

    Source: SGLang v0.5.3, srt/server_args.py; v0.5.23, srt/arg_groups/memory_hook.py, handle_gpu_memory_settings.
    """
    few, many = _GRAPH_BATCH[device_class]
    return few if tensor_parallel < 4 else many


_GRAPH_BATCH = {
    "memory-lt-20gib": (8, 8),
    "memory-lt-35gib": (48, 160),
    "memory-lt-60gib": (32, 160),
    "memory-lt-160gib": (256, 512),
    "memory-ge-160gib": (512, 512),
}


def static_reserve_bytes(
    reserve_by_batch: bool,
    driver_memory_bytes: int | None,
    device_memory_bytes: float,
    max_num_batched_tokens: int,
    graph_batch: int,
    tensor_parallel: int,
    pipeline_parallel: int,
    data_parallel: int,
    data_parallel_attention: bool,
    static_reserve_slack_bytes: float,
) -> float:
    """Default memory that the engine leaves outside its static share.

    static_reserve_bytes = max(0.5 GiB + 1.5 MiB · max(tokens, 2048) + 2 MiB · graphs + tp · pp / 8 GiB + attention,
                               10 GiB above 60 GiB) + slack                                       (since 0.5.3)
    attention = graphs · dp · 3 MiB, and half as much again above 300 graphs      (data-parallel attention only)
    static_reserve_bytes = by class of GPU, growing with tp · pp, + 4 GiB for data-parallel attention  (before)

    Args:
        reserve_by_batch: the rule since 0.5.3. driver_memory_bytes, device_memory_bytes: totals, as of device_class [bytes].
        max_num_batched_tokens: a chunk of prefill [tokens]. graph_batch: largest captured batch.
        tensor_parallel, pipeline_parallel, data_parallel: ranks. data_parallel_attention: copies inside the ranks.
        static_reserve_slack_bytes: further terms of single releases (fitted) [bytes].
    Returns:
        [bytes]
    Validity: text models without speculative decoding, on NVIDIA GPUs.

    >>> mib = lambda *of: static_reserve_bytes(*of, 0) / 2**20
    >>> mib(True, 81559 * 2**20, 0, 8192, 256, 1, 1, 1, False)  # H100: 512 + 12288 + 512 + 128
    13440.0
    >>> mib(False, 81559 * 2**20, 0, 8192, 256, 4, 1, 1, False)  # releases 0.4.8 to 0.5.2: 9.5 + 4 / 2 GiB
    11776.0

    Source: SGLang v0.5.3 and v0.4.8, srt/server_args.py; v0.5.23, srt/arg_groups/memory_hook.py.
    """
    total = driver_memory_bytes or device_memory_bytes
    ranks = tensor_parallel * pipeline_parallel
    if not reserve_by_batch:
        by_card = _reserve_by_card_gib(total / units.GIB, ranks)
        return (by_card + (4 if data_parallel_attention else 0)) * units.GIB + static_reserve_slack_bytes
    attention = graph_batch * data_parallel * (4.5 if graph_batch > 300 else 3) if data_parallel_attention else 0
    reserved = (512 + 1.5 * max(max_num_batched_tokens, 2048) + 2 * graph_batch + attention) * units.MIB
    reserved += ranks / 8 * units.GIB
    floor = 10 * units.GIB if total > 60 * units.GIB else 0
    return max(reserved, floor) + static_reserve_slack_bytes


def _reserve_by_card_gib(total_gib: float, ranks: int) -> float:
    if total_gib < 35:
        return 2.8 + ranks / 10
    if total_gib < 160:
        return (9.5 if total_gib < 90 else 12) + ranks / 2
    return 32


def static_memory_fraction(
    driver_memory_bytes: int | None,
    device_memory_bytes: float,
    static_reserve_bytes: float,
    modality: str,
    vision_static_reduction: float,
) -> float:
    """Default share of the GPU for weights and KV cache.

    static_memory_fraction = round((total − static_reserve_bytes) / total, 3) · (1 − vision_static_reduction)

    Args:
        driver_memory_bytes: total of nvidia-smi, else None [bytes]. device_memory_bytes: of a slice [bytes].
        static_reserve_bytes: left outside [bytes]. modality: text, vision or audio.
        vision_static_reduction: for image encoders (fitted).
    Returns:
        [ratio]

    >>> static_memory_fraction(81559 * 2**20, 0, 13440 * 2**20, "text", 0.1)
    0.835

    Source: SGLang v0.5.23, srt/arg_groups/memory_hook.py, handle_gpu_memory_settings and adjust_mem_fraction_for_vlm.
    """
    total = driver_memory_bytes or device_memory_bytes
    share = round((total - static_reserve_bytes) / total, 3)
    if share <= 0:
        raise LookupError("the engine's own reserve is larger than the GPU: set --mem-fraction-static")
    return share if modality == "text" else share * (1 - vision_static_reduction)


def memory_budget_bytes(device_memory_bytes: float, static_memory_fraction: float) -> float:
    """Memory of one GPU for weights and KV cache.

    memory_budget_bytes = device_memory_bytes · static_memory_fraction

    Args:
        device_memory_bytes: [bytes]. static_memory_fraction: share.
    Returns:
        [bytes]
    Validity: the share is of what is free before the weights are loaded; reserve_bytes takes the difference off.

    >>> round(memory_budget_bytes(140.4, 0.88), 1)  # DeepSeek-V4-Pro on H200: 125.65 GiB of weights were refused
    123.6

    Source: SGLang v0.5.23, srt/mem_cache/kv_cache_configurator.py, _profile_available_bytes; SemiAnalysisAI/InferenceX
        issue 2128.
    """
    return device_memory_bytes * static_memory_fraction


def reserve_bytes(non_torch_bytes: float, static_memory_fraction: float) -> float:
    """Memory of the budget that is used for neither weights nor KV cache.
    It is the share of what context and communication took before.

    reserve_bytes = non_torch_bytes · static_memory_fraction

    Args:
        non_torch_bytes: taken before the weights (fitted) [bytes]. static_memory_fraction: share.
    Returns:
        [bytes]
    Validity: activations and graphs live outside the static share and are not evaluated.

    >>> reserve_bytes(2.0, 0.88)
    1.76

    Source: SGLang v0.5.23, srt/mem_cache/kv_cache_configurator.py, _profile_available_bytes.
    """
    return non_torch_bytes * static_memory_fraction


def kv_cache_bytes(
    memory_budget_bytes: float,
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
    linear_attention_layers: int,
    speculative: str | None,
) -> float:
    """Memory left for the KV cache on one GPU. If nothing is left, the engine does not start.

    kv_cache_bytes = memory_budget_bytes − loaded_bytes_per_gpu − reserve_bytes

    Args:
        memory_budget_bytes, loaded_bytes_per_gpu, reserve_bytes: [bytes]. linear_attention_layers: their states share the
            pool in a proportion that is not modelled. speculative: the draft's weights and cache do, too.
    Returns:
        [bytes]

    >>> left = kv_cache_bytes(0.93 * 79.19, 55.4, 0.93 * 1.9, 0, None)  # Qwen3-235B-FP8 on four H100, printed as 16.46
    >>> round(left, 2)
    16.48

    Source: SGLang v0.5.23, srt/mem_cache/kv_cache_configurator.py; vllm-project/vllm issue 21348.
    """
    if linear_attention_layers:
        raise LookupError("the share of the pool for states of linear-attention layers is not modelled")
    if speculative and speculative.upper() != "NGRAM":
        raise LookupError("the share of the pool for the draft's weights and KV cache is not modelled")
    return memory_budget_bytes - loaded_bytes_per_gpu - reserve_bytes


def parallel_size(
    tensor_parallel: int, pipeline_parallel: int, data_parallel: int, data_parallel_attention: bool
) -> int:
    """GPUs that the parallelism of one instance occupies.

    parallel_size = tp · pp · dp, without dp where attention runs in copies inside the tensor-parallel ranks

    Args:
        tensor_parallel, pipeline_parallel, data_parallel: ranks. data_parallel_attention: the copies are inside.
    Returns:
        GPUs.

    >>> parallel_size(8, 2, 8, True), parallel_size(2, 1, 4, False)
    (16, 8)

    Source: SGLang v0.5.23, srt/server_args.py, compute_world_size.
    """
    return tensor_parallel * pipeline_parallel * (1 if data_parallel_attention else data_parallel)


def weight_bytes_per_gpu(
    weight_bytes: float,
    parameters: float,
    quantised_parameters: float,
    expert_parameters: int,
    bytes_per_weight: float,
    bytes_per_activation: float,
    stage_share: float,
    tensor_parallel: int,
    data_parallel: int,
    data_parallel_attention: bool,
    copied_share: float,
    experts: int | None,
    redundant_experts: int,
    cpu_offload_bytes: float,
) -> float:
    """Weights on the fullest GPU.

    weight_bytes_per_gpu = stage_share · (shared · (1 + copied · (dp − 1)) + routed · (1 + redundant)) / tp − offload
    shared : routed = (quantised − experts) · b + (parameters − quantised) · B : experts · b

    Args:
        weight_bytes: of the whole model [bytes]. parameters, quantised_parameters, expert_parameters: all, those that the
            format covers, and those of routed experts. bytes_per_weight, bytes_per_activation: b, B [bytes].
        stage_share: of the layers on the fullest stage. tensor_parallel, data_parallel: ranks.
        data_parallel_attention: dp copies inside the tp ranks; else copies outside them, which change nothing here.
        copied_share: of the shared weights, those that each copy holds (fitted).
        experts: routed experts of a layer. redundant_experts: copies beyond one of each.
        cpu_offload_bytes: kept in host memory for each GPU [bytes].
    Returns:
        [bytes]

    >>> llama = (141107412992, 70553706496, 70553706496, 0, 2, 2)
    >>> round(weight_bytes_per_gpu(*llama, 1.0, 4, 1, False, 0.5, None, 0, 0) / 2**30, 2)  # Llama-3.1-70B
    32.85
    >>> weight_bytes_per_gpu(120, 120, 120, 100, 1, 2, 1.0, 4, 4, True, 0.5, 10, 2, 0)  # 20 · 2.5 + 100 · 1.2, over four
    42.5

    Source: SGLang v0.5.23, srt/layers/dp_attention.py and srt/layers/vocab_parallel_embedding.py; docs, expert parallelism.
    """
    dense = (quantised_parameters - expert_parameters) * bytes_per_weight
    dense += (parameters - quantised_parameters) * bytes_per_activation
    shared = weight_bytes * dense / (dense + expert_parameters * bytes_per_weight)
    copies = data_parallel if data_parallel_attention else 1
    redundancy = redundant_experts / experts if experts else 0
    held = shared * (1 + copied_share * (copies - 1)) + (weight_bytes - shared) * (1 + redundancy)
    return max(0.0, stage_share * held / tensor_parallel - cpu_offload_bytes)


def required_bytes_per_gpu(
    loaded_bytes_per_gpu: float, reserve_bytes: float, kv_needed_bytes: float, kv_cache_bytes: float
) -> float:
    """Weights, reserve and the KV cache of the longest sequence that the pool admits.

    required_bytes_per_gpu = loaded_bytes_per_gpu + reserve_bytes + min(kv_needed_bytes, max(0, kv_cache_bytes))

    Args:
        loaded_bytes_per_gpu, reserve_bytes: [bytes]. kv_needed_bytes: of one sequence of the longest length, which requests
            may not reach when the pool is smaller [bytes]. kv_cache_bytes: of the pool [bytes].
    Returns:
        [bytes]

    >>> required_bytes_per_gpu(15, 1, 16, 4), required_bytes_per_gpu(15, 1, 16, -2)
    (20, 16)

    Source: SGLang v0.5.5, srt/managers/tp_worker.py, max_req_len: the smaller of context length and pool.
    """
    return loaded_bytes_per_gpu + reserve_bytes + min(kv_needed_bytes, max(0, kv_cache_bytes))


def attention_ranks(tensor_parallel: int, data_parallel: int, data_parallel_attention: bool) -> int:
    """Ranks that split the heads of one attention replica.

    attention_ranks = tp / dp with data-parallel attention, else tp

    Args:
        tensor_parallel, data_parallel: ranks. data_parallel_attention: dp copies inside the tp ranks.
    Returns:
        ranks

    >>> attention_ranks(8, 4, True), attention_ranks(8, 4, False)
    (2, 8)

    Source: SGLang v0.5.23, srt/arg_groups/parallel_hook.py.
    """
    return max(1, tensor_parallel // data_parallel) if data_parallel_attention else tensor_parallel


def layer_ranks(tensor_parallel: int) -> int:
    """Ranks whose tokens meet in the experts of a layer and which split those experts.

    layer_ranks = tp

    Args:
        tensor_parallel: ranks; copies of data-parallel attention lie inside them, other copies compute alone.
    Returns:
        ranks.

    >>> layer_ranks(8)
    8

    Source: SGLang v0.5.23, srt/layers/dp_attention.py.
    """
    return tensor_parallel


def heads_remainder(attention_heads: int, attention_ranks: int) -> int:
    """Query heads left over after division by the attention's ranks.

    heads_remainder = attention_heads mod attention_ranks

    Args:
        attention_heads: of the model. attention_ranks: ranks that share them.
    Returns:
        heads

    >>> heads_remainder(28, 8)
    4

    Source: SGLang v0.5.23, srt/models/qwen2.py.
    """
    return layout.heads_remainder(attention_heads, attention_ranks)


def kv_heads_remainder(kv_heads: int, kv_lora_rank: int | None, attention_ranks: int) -> int:
    """KV heads left over after division by the attention's ranks, or ranks after replication.

    Args:
        kv_heads: of the model. kv_lora_rank: of MLA, whose entry every rank holds, else None.
        attention_ranks: ranks that share them.
    Returns:
        heads

    >>> kv_heads_remainder(8, None, 3)
    2

    Source: SGLang v0.5.23, srt/models/qwen2.py.
    """
    return layout.kv_heads_remainder(kv_heads, kv_lora_rank, attention_ranks)


def kv_entry_bytes(
    kv_heads: int,
    head_dim: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    indexer_head_dim: int | None,
    latent_kv_cache: bool,
    bytes_per_kv_element: float,
    attention_ranks: int,
    decode_context_parallel: int,
) -> float:
    """KV cache of one token in one full-attention layer on one GPU.

    As the general formula, over the ranks of one attention replica.

    Args:
        kv_heads, head_dim, kv_lora_rank, qk_rope_head_dim, indexer_head_dim, latent_kv_cache, bytes_per_kv_element,
        decode_context_parallel: as of the general formula. attention_ranks: ranks that share the heads.
    Returns:
        [bytes]

    >>> kv_entry_bytes(4, 128, None, None, None, True, 2, 2, 1)  # Qwen3-235B, tensor parallel 8 in 4 copies
    1024.0

    Source: SGLang v0.5.23, srt/model_executor/pool_configurator.py, get_num_kv_heads over the attention's ranks.
    """
    return kv_cache.kv_entry_bytes(
        kv_heads=kv_heads,
        head_dim=head_dim,
        kv_lora_rank=kv_lora_rank,
        qk_rope_head_dim=qk_rope_head_dim,
        indexer_head_dim=indexer_head_dim,
        latent_kv_cache=latent_kv_cache,
        bytes_per_kv_element=bytes_per_kv_element,
        tensor_parallel=attention_ranks,
        decode_context_parallel=decode_context_parallel,
    )
