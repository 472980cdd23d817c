"""llama.cpp's memory rule: whole layers on GPUs, a preallocated KV cache for all slots, and
automatic fitting.
"""

from __future__ import annotations

import math


def weight_format(checkpoint_quantization: str | None, quantization: str | None) -> str:
    """Number format of the weights in memory.

    The type of the GGUF file, which is loaded as it is.

    Args:
        checkpoint_quantization: of the checkpoint that was converted. quantization: the type that the file's name states.
    Returns:
        a name of the catalog's quantisation table.
    Validity: a file of a checkpoint whose experts are MXFP4 keeps them so under any type's name (gpt-oss F16: 13.8 GB).

    >>> weight_format(None, "gguf-q4_k_m"), weight_format("mxfp4", "float16")
    ('gguf-q4_k_m', 'mxfp4')

    Source: llama.cpp, src/llama-model-loader.cpp; convert_hf_to_gguf.py, repacking of MXFP4 tensors.
    """
    if checkpoint_quantization == "mxfp4":
        return "mxfp4"
    if not quantization or not quantization.startswith(_OF_FILES):
        raise LookupError("the file name does not show its quantisation type")
    return quantization


_OF_FILES = ("gguf-", "float16", "bfloat16", "float32", "mxfp4")


def bytes_per_activation() -> float:
    """Bytes per value of a projector file, and of a KV cache without a declared type.

    Args:
        none.
    Returns:
        [bytes]

    >>> bytes_per_activation()
    2.0

    Source: llama.cpp b8989, common/common.h, cache_type_k; mmproj files are converted to F16 or BF16.
    """
    return 2.0


def weight_bytes(
    weight_format: str,
    parameters: float,
    encoder_parameters: int,
    encoder_skipped: bool,
    expert_parameters: int,
    bytes_per_weight: float,
    bytes_per_activation: float,
) -> float:
    """All weights of the model in memory, including those that stay on the CPU.

    weight_bytes = (parameters − encoder_parameters) · b + encoder_parameters · B (with a projector file)
    MXFP4: expert_parameters · b + the others · 34/32

    Args:
        weight_format: in memory. parameters: all. encoder_parameters: of a vision or audio tower, a file of its own.
        encoder_skipped: no such file is loaded. expert_parameters: of routed experts.
        bytes_per_weight: b, measured over all tensors of a file of that type [bytes]. bytes_per_activation: B [bytes].
    Returns:
        [bytes]
    Validity: of MXFP4 files a lower bound: converters keep the other tensors in Q8_0 or in 16 bits.

    >>> round(weight_bytes("gguf-q4_k_m", 70553706496, 0, True, 0, 0.6024, 2) / 2**30, 2)  # Llama-3-70B: a file of 39.59 GiB
    39.58

    Source: XiongjieDai/GPU-Benchmarks-on-LLM-Inference, README (39.59); llama.cpp, ggml/src/ggml-common.h, block_q8_0.
    """
    text = parameters - encoder_parameters
    tower = 0.0 if encoder_skipped else encoder_parameters * bytes_per_activation
    if weight_format == "mxfp4":
        return expert_parameters * bytes_per_weight + (text - expert_parameters) * _Q8_0_BYTES + tower
    return text * bytes_per_weight + tower


_Q8_0_BYTES = 34 / 32


def weight_bytes_per_gpu(
    weight_bytes: float,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    bytes_per_weight: float,
    layers: int,
    gpu_layers: int,
    stage_share: float,
    cpu_offload_bytes: float,
    gpu_layers_fitted: bool,
    device_memory_bytes: float,
) -> float:
    """Weights on the fullest GPU.
    If the engine chooses the layers, they never exceed what the GPU holds.

    weight_bytes_per_gpu = loaded_bytes_per_gpu, at most device_memory_bytes where layers are fitted

    Args:
        as of loaded_bytes_per_gpu. gpu_layers_fitted: the engine chooses how many layers GPUs hold.
        device_memory_bytes: [bytes]
    Returns:
        [bytes]

    >>> weight_bytes_per_gpu(40.0, 0, 0, False, 0.6, 80, 999, 1.0, 0, True, 22.0)
    22.0

    Source: llama.cpp b7407, src/llama.cpp, llama_params_fit; tools/server/README.md, --fit.
    """
    placed = loaded_bytes_per_gpu(
        weight_bytes,
        vocab,
        hidden,
        tied_embeddings,
        bytes_per_weight,
        layers,
        gpu_layers,
        stage_share,
        cpu_offload_bytes,
    )
    return min(placed, device_memory_bytes) if gpu_layers_fitted else placed


def loaded_bytes_per_gpu(
    weight_bytes: float,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    bytes_per_weight: float,
    layers: int,
    gpu_layers: int,
    stage_share: float,
    cpu_offload_bytes: float,
) -> float:
    """Weights of the requested layers on the fullest GPU, whether or not it can hold them.

    loaded_bytes_per_gpu = (weight_bytes − embedding) · offloaded / layers · stage_share − cpu_offload_bytes

    Args:
        weight_bytes: of the whole model [bytes]. vocab, hidden, tied_embeddings: of the embedding table, which stays
            with the CPU; a tied one is needed twice. bytes_per_weight: [bytes]. layers: of the model.
        gpu_layers: as stated; the output head is the first of them. stage_share: of the layers on the fullest GPU.
        cpu_offload_bytes: kept in host memory [bytes].
    Returns:
        [bytes]
    Validity: the output head is spread over the layers; builds before b7450 offloaded it last.

    >>> held = loaded_bytes_per_gpu(70553706496 * 0.6024, 128256, 8192, False, 0.5625, 80, 999, 1.0, 0)
    >>> round(held / 2**20)  # Llama-3.1-70B Q4_K_M: "allocating 39979.48 MiB on device 1"
    39969

    Source: ggml-org/llama.cpp issue 24436 (39979.48 MiB); src/llama-model.cpp, load_tensors: the input layer is always
        kept on the CPU, i_gpu_start.
    """
    embedding = 0.0 if tied_embeddings else vocab * hidden * bytes_per_weight
    held = (weight_bytes - embedding) * _offload_share(layers, gpu_layers) * stage_share
    return max(0.0, held - cpu_offload_bytes)


def _offload_share(layers: int, gpu_layers: int) -> float:
    """Return the share of the repeating layers on GPUs."""
    return max(0, min(gpu_layers - 1, layers)) / layers


def unplaced_bytes(
    weight_bytes: float,
    embedding_parameters: int,
    bytes_per_weight: float,
    parallel_size: int,
    device_memory_bytes: float,
    cpu_offload_bytes: float,
) -> float:
    """Weights that do not fit on the GPUs of one instance; 0 if all fit.
    The CPU computes with them.

    unplaced_bytes = weight_bytes − embeddings − cpu_offload_bytes − parallel_size · device_memory_bytes, at least 0

    Args:
        weight_bytes: of the whole model [bytes]. embedding_parameters: of the embedding table and the output head.
        bytes_per_weight: [bytes]. parallel_size: GPUs. device_memory_bytes: of one [bytes].
        cpu_offload_bytes: kept in host memory on purpose [bytes].
    Returns:
        [bytes]
    Validity: a lower bound: neither the KV cache nor buffers are counted, and the output head as if it were not needed.

    >>> unplaced_bytes(40.0, 2, 0.5, 1, 22.0, 0), unplaced_bytes(40.0, 2, 0.5, 2, 22.0, 0)
    (17.0, 0.0)

    Source: llama.cpp, src/llama-model.cpp, load_tensors.
    """
    placed = weight_bytes - embedding_parameters * bytes_per_weight - cpu_offload_bytes
    return max(0.0, placed - parallel_size * device_memory_bytes)


def bytes_per_kv_element(kv_cache_dtype: str) -> float:
    """Bytes per KV cache element: the mean of keys and values if their types differ.

    bytes_per_kv_element = bytes of a block of 32 values / 32

    Args:
        kv_cache_dtype: one type, or `<keys>/<values>`.
    Returns:
        [bytes]

    >>> bytes_per_kv_element("q8_0"), bytes_per_kv_element("q8_0/f16")
    (1.0625, 1.53125)

    Source: llama.cpp b8989, ggml/src/ggml-common.h, block_q8_0 and the others; common/arg.cpp, kv_cache_types.
    """
    types = kv_cache_dtype.lower().split("/")
    if unlisted := [name for name in types if name not in _BLOCK_BYTES]:
        raise LookupError(f"the size of a {unlisted[0]} KV cache is not known")
    return sum(_BLOCK_BYTES[name] for name in types) / len(types) / _BLOCK_VALUES


_BLOCK_VALUES = 32
_BLOCK_BYTES = {
    "f32": 128,
    "f16": 64,
    "bf16": 64,
    "q8_0": 34,
    "q5_1": 24,
    "q5_0": 22,
    "q4_1": 20,
    "q4_0": 18,
    "iq4_nl": 18,
}


def kv_needed_bytes(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    layers: int,
    gpu_layers: int,
    stage_share: float,
    state_bytes: float,
    max_model_len: int,
    max_num_seqs: int,
    kv_unified: bool,
    sliding_window: int | None,
    uniform_kv_cache: bool,
    max_num_batched_tokens: int,
    block_size: int,
) -> float:
    """KV cache that is allocated at start-up for all slots on the fullest GPU.

    one pool = (full · kv_entry_bytes · L + sliding · sliding_kv_entry_bytes · min(L, window + batch)) · on GPUs · stage_share
    kv_needed_bytes = one pool (unified), or one for each slot; and state_bytes for each slot

    Args:
        full_kv_layers, sliding_kv_layers, layers: counts. kv_entry_bytes, sliding_kv_entry_bytes: of one layer and token [bytes].
        gpu_layers: layers on GPUs, whose cache is there too. stage_share: of the layers on the fullest GPU.
        state_bytes: of linear-attention layers for one sequence [bytes]. max_model_len: L, of one slot [tokens].
        max_num_seqs: slots. kv_unified: they share one pool. sliding_window: [tokens] or None.
        uniform_kv_cache: sliding layers keep all tokens too (`--swa-full`, and builds before b5429).
        max_num_batched_tokens: of one physical batch [tokens]. block_size: padding of the context [tokens].
    Returns:
        [bytes]
    Validity: of MLA the compressed entry alone; builds b5137 to b7956 kept values besides it.

    >>> kv_needed_bytes(36, 0, 1024, 1024, 36, 999, 1.0, 0, 4096, 1, False, None, False, 512, 256) / 2**20  # Qwen2.5-3B
    144.0

    Source: SciSharp/LLamaSharp issue 1099 (b4701: "CUDA0 KV buffer size = 144.00 MiB"); llama.cpp b8989,
        src/llama-kv-cache-iswa.cpp and src/llama-context.cpp, n_ctx_seq.
    """
    length = _pad(max_model_len, block_size)
    window = length
    if sliding_window and not uniform_kv_cache:
        window = _pad(sliding_window * (max_num_seqs if kv_unified else 1) + max_num_batched_tokens, block_size)
    full = full_kv_layers * kv_entry_bytes * length
    pool = (full + sliding_kv_layers * sliding_kv_entry_bytes * min(length, window)) * stage_share
    return (pool * (1 if kv_unified else max_num_seqs) + state_bytes * max_num_seqs) * _offload_share(
        layers, gpu_layers
    )


def _pad(tokens: int, block_size: int) -> int:
    return math.ceil(tokens / block_size) * block_size


def memory_budget_bytes(device_memory_bytes: float) -> float:
    """Memory that the engine may use on one GPU: all that is free.

    Args:
        device_memory_bytes: [bytes]
    Returns:
        [bytes]

    >>> memory_budget_bytes(22.0)
    22.0

    Source: llama.cpp, src/llama-model.cpp: one allocation a device, refused by the driver when it is too large.
    """
    return device_memory_bytes


def activation_bytes(
    max_num_batched_tokens: int,
    max_model_len: int,
    vocab: int,
    hidden: int,
    intermediate: int,
    attention_heads: int,
    attention_backend: str,
    sampler_bytes_per_logit: float,
    activation_slack_bytes: float,
) -> float:
    """Compute buffer of one GPU, reserved at start-up for one physical batch.

    activation_bytes = max(c · T · vocab, 4 · T · (2 · intermediate + hidden), scores) + slack
    scores = 4 · T · attention_heads · max_model_len without flash attention

    Args:
        max_num_batched_tokens: T, of `--ubatch-size` [tokens]. max_model_len: [tokens]. vocab, hidden, intermediate: widths.
        attention_heads: count. attention_backend: `--flash-attn`: on, off or auto.
        sampler_bytes_per_logit: c (fitted) [bytes]. activation_slack_bytes: (fitted) [bytes].
    Returns:
        [bytes]
    Validity: newer builds reserve logits of few outputs only (c near 0).

    >>> buffer = activation_bytes(512, 4096, 151936, 2048, 11008, 16, "on", 4, 4 * 2**20)
    >>> round(buffer / 2**20, 2)  # Qwen2.5-3B: "CUDA0 compute buffer size = 300.75 MiB"
    300.75

    Source: SciSharp/LLamaSharp issue 1099; llama.cpp, src/llama-context.cpp, graph_reserve.
    """
    tokens = max_num_batched_tokens
    logits = sampler_bytes_per_logit * tokens * vocab
    mlp = _FLOAT_BYTES * tokens * (2 * intermediate + hidden)
    scores = _FLOAT_BYTES * tokens * attention_heads * max_model_len if attention_backend == "off" else 0
    return max(logits, mlp, scores) + activation_slack_bytes


_FLOAT_BYTES = 4


def reserve_bytes(activation_bytes: float, non_torch_bytes: float) -> float:
    """Compute buffer, CUDA context and libraries on one GPU.

    reserve_bytes = activation_bytes + non_torch_bytes

    Args:
        activation_bytes, non_torch_bytes: [bytes]
    Returns:
        [bytes]

    >>> reserve_bytes(0.3, 0.45)
    0.75

    Source: ggml-org/llama.cpp pull 15860: "compute" and "unaccounted" of the memory breakdown.
    """
    return activation_bytes + non_torch_bytes


def kv_cache_bytes(
    memory_budget_bytes: float,
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
    kv_needed_bytes: float,
    gpu_layers_fitted: bool,
    max_model_len_fitted: bool,
) -> float:
    """Memory left for the KV cache on one GPU.
    If the engine fits layers automatically, it is at least what the cache needs.

    kv_cache_bytes = memory_budget_bytes − loaded_bytes_per_gpu − reserve_bytes

    Args:
        memory_budget_bytes, loaded_bytes_per_gpu, reserve_bytes, kv_needed_bytes: [bytes]
        gpu_layers_fitted, max_model_len_fitted: the engine moves layers to the CPU, or shortens the context, until it fits.
    Returns:
        [bytes]

    >>> kv_cache_bytes(22.0, 20.0, 1.0, 4.0, False, False), kv_cache_bytes(22.0, 20.0, 1.0, 4.0, True, False)
    (1.0, 4.0)

    Source: llama.cpp b7407, src/llama.cpp, llama_params_fit_impl.
    """
    left = memory_budget_bytes - loaded_bytes_per_gpu - reserve_bytes
    return max(left, kv_needed_bytes) if gpu_layers_fitted or max_model_len_fitted else left


def required_bytes_per_gpu(
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
    kv_needed_bytes: float,
    max_model_len: int,
    max_model_len_fitted: bool,
) -> float:
    """Weights of the requested layers, reserve and KV cache on the fullest GPU.
    What exceeds its memory goes to the CPU, or loading fails.

    required_bytes_per_gpu = loaded_bytes_per_gpu + reserve_bytes + kv_needed_bytes

    Args:
        loaded_bytes_per_gpu, reserve_bytes, kv_needed_bytes: [bytes]. max_model_len: [tokens].
        max_model_len_fitted: the engine shortens a context that is not stated, to 4,096 tokens at least.
    Returns:
        [bytes]

    >>> required_bytes_per_gpu(20.0, 1.0, 16.0, 131072, False), required_bytes_per_gpu(20.0, 1.0, 16.0, 131072, True)
    (37.0, 21.5)

    Source: llama.cpp b8989, common/common.h, fit_params_min_ctx.
    """
    shortened = min(1.0, _SHORTEST_FITTED / max_model_len) if max_model_len_fitted else 1.0
    return loaded_bytes_per_gpu + reserve_bytes + kv_needed_bytes * shortened


_SHORTEST_FITTED = 4096


def serving_peak_bytes(required_bytes_per_gpu: float) -> float:
    """Memory of the server on the fullest GPU, with a cache of the requested size.

    serving_peak_bytes = required_bytes_per_gpu

    Args:
        required_bytes_per_gpu: [bytes]
    Returns:
        [bytes]

    >>> serving_peak_bytes(5.0)
    5.0

    Source: definition.
    """
    return required_bytes_per_gpu
