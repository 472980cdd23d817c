"""TGI's memory rule: what its warm-up keeps besides the weights, and what is left for the KV cache."""

from __future__ import annotations

import math

from gpulint.catalog.family_traits import has_trait


def weight_format(checkpoint_quantization: str | None, quantization: str | None, weight_dtype: str) -> str:
    """Number format of the weights in memory.

    The checkpoint's own quantisation, else the one asked for at load, else 16 bits.

    Args:
        checkpoint_quantization, quantization, weight_dtype: as stated.
    Returns:
        a name of the catalog's quantisation table.
    Validity: `auto` stands for float16, or bfloat16 where a model class says so: the same size.

    >>> weight_format(None, None, "auto"), weight_format(None, "eetq", "auto"), weight_format("int4-g128", "awq", "auto")
    ('float16', 'int8', 'int4-g128')

    Source: text-generation-inference v3.3.7, launcher/src/main.rs, Quantization, and server/…/models/__init__.py, get_model.
    """
    if checkpoint_quantization:
        return checkpoint_quantization
    if quantization in _AT_LOAD:
        return _AT_LOAD[quantization]
    if quantization:
        raise LookupError(f"--quantize {quantization} with a checkpoint that is not listed as quantised")
    return "float16" if weight_dtype == "auto" else weight_dtype


_AT_LOAD = {
    "bitsandbytes": "int8",
    "bitsandbytes-nf4": "int4-bnb",
    "bitsandbytes-fp4": "int4-bnb",
    "eetq": "int8",
    "fp8": "fp8",
}


def bytes_per_activation(weight_dtype: str) -> float:
    """Bytes per unquantised value: TGI computes in 16 bits only.

    Args:
        weight_dtype: as stated.
    Returns:
        [bytes]

    >>> bytes_per_activation("bfloat16")
    2.0

    Source: text-generation-inference v3.3.7, launcher/src/main.rs, Dtype: float16 and bfloat16.
    """
    return 2.0


def loaded_bytes_per_gpu(
    weight_bytes_per_gpu: float,
    weight_buffer_bytes: float,
    tied_embeddings: bool,
    vocab: int,
    hidden: int,
    quantization: str | None,
    engine_version: str | None,
    bytes_per_weight: float,
    bytes_per_activation: float,
    tensor_parallel: int,
) -> float:
    """Weights, buffers and a separate copy of the output head on one GPU.

    loaded_bytes_per_gpu = weight_bytes_per_gpu + weight_buffer_bytes + rows · hidden · (b − counted)
    rows = vocab / tp where it divides, else vocab

    Args:
        weight_bytes_per_gpu, weight_buffer_bytes: [bytes]. tied_embeddings: the head is counted with the embedding, but
        TGI loads it a second time. vocab, hidden: widths. quantization, engine_version: bitsandbytes and fp8 covered the
        head before 2.2. bytes_per_weight, bytes_per_activation: b of a quantised and of any other head [bytes].
        tensor_parallel: ranks.
    Returns:
        [bytes]

    >>> gemma = loaded_bytes_per_gpu(15.9 * 2**30, 0, True, 256000, 3072, None, "2.3", 2, 2, 1)
    >>> round(gemma / 2**30, 2)  # Gemma-7B: 256,000 rows once more
    17.36

    Source: text-generation-inference v2.3.1, server/…/layers/tensor_parallel.py, TensorParallelHead and
        TensorParallelEmbedding, and utils/weights.py; v2.1.1, layers/tensor_parallel.py: get_linear with `quantize`.
    """
    covers_head = quantization in _COVERING_THE_HEAD and _is_before_2_2(engine_version)
    held = bytes_per_weight if covers_head else bytes_per_activation
    counted = 0.0 if tied_embeddings else bytes_per_activation
    rows = vocab / tensor_parallel if vocab % tensor_parallel == 0 else vocab
    return weight_bytes_per_gpu + weight_buffer_bytes + rows * hidden * (held - counted)


_COVERING_THE_HEAD = frozenset({"bitsandbytes", "bitsandbytes-nf4", "bitsandbytes-fp4", "fp8"})


def _is_before_2_2(engine_version: str | None) -> bool:
    """Return whether a release is definitely older than 2.2; an unknown release is not."""
    numbers = (engine_version or "").split(".")[:2]
    return all(part.isdigit() for part in numbers) and [int(part) for part in numbers] < [2, 2]


def memory_budget_bytes(
    device_memory_bytes: float, gpu_memory_utilization: float, static_memory_fraction: float
) -> float:
    """Memory on one GPU for weights, warm-up and KV cache.

    memory_budget_bytes = device_memory_bytes · gpu_memory_utilization · static_memory_fraction

    Args:
        device_memory_bytes: what CUDA reports as total [bytes]. gpu_memory_utilization: `--cuda-memory-fraction`.
        static_memory_fraction: share that TGI_WIGGLE_ROOM leaves; 1 before 3.0, which kept a part of the free memory.
    Returns:
        [bytes]

    >>> round(memory_budget_bytes(22.06, 1.0, 0.9), 2)
    19.85

    Source: text-generation-inference v3.3.7, server/text_generation_server/utils/import_utils.py,
        get_cuda_free_memory, and models/flash_causal_lm.py, warmup.
    """
    return device_memory_bytes * gpu_memory_utilization * static_memory_fraction


def whole_context_batch_tokens(max_input_len: int | None, trained_context: int) -> int:
    """Default tokens of one prefill in releases 2.0 to 2.4.0.

    whole_context_batch_tokens = longest prompt + 50; the longest prompt is min(4096, trained_context) − 1 by default

    Args:
        max_input_len: as stated, else None [tokens]. trained_context: [tokens]
    Returns:
        [tokens]

    >>> whole_context_batch_tokens(None, 131072)  # TGI 2.2.0 with Llama-3.1-8B prints max_prefill_tokens=4145
    4145

    Source: text-generation-inference v2.2.0, launcher/src/main.rs, main.
    """
    longest = min(4096, trained_context) - 1 if max_input_len is None else max_input_len
    return longest + 50


def activation_bytes(
    max_num_batched_tokens: int,
    vocab: int,
    hidden: int,
    intermediate: int,
    moe_intermediate: int | None,
    modality: str,
    tensor_parallel: int,
    bytes_per_activation: float,
    sampler_bytes_per_logit: float,
    prefill_hidden_multiple: float,
    prefill_intermediate_multiple: float,
    activation_slack_bytes: float,
) -> float:
    """Peak of the warm-up's prefill on one GPU: one of its layers, or the logits of all its tokens.

    activation_bytes = max(T · B · (k_i · intermediate / tp + k_h · hidden), c · T · vocab + 2 · T · hidden · B) + slack

    Args:
        max_num_batched_tokens: T [tokens]. vocab, hidden, intermediate: widths. moe_intermediate: of routed experts.
        modality: text, vision or audio. tensor_parallel: ranks. bytes_per_activation: B [bytes].
        sampler_bytes_per_logit: c, by release (fitted) [bytes]: before 3.0 the warm-up asked for the probabilities of the
        whole prompt. prefill_hidden_multiple, prefill_intermediate_multiple: k_h, k_i (fitted).
        activation_slack_bytes: (fitted) [bytes]
    Returns:
        [bytes]
    Validity: dense models on text. The logits are gathered: tensor parallelism does not divide them.

    >>> peak = activation_bytes(4145, 128256, 4096, 14336, None, "text", 1, 2, 8.5, 4, 3, 0)
    >>> round(peak / 2**30, 2)  # Llama-3.1-8B, TGI 2.2.0: what is left of 4.7 GiB after the CUDA context
    4.27

    Source: text-generation-inference v2.3.1, server/…/models/flash_causal_lm.py, generate_token, and
        backends/v3/src/client/grpc_client.rs, warmup (prefill_logprobs).
    """
    if moe_intermediate or modality != "text":
        raise LookupError("the warm-up of routed experts, images and audio is not modelled")
    tokens, width = max_num_batched_tokens, bytes_per_activation
    layer = tokens * width * (prefill_intermediate_multiple * intermediate / tensor_parallel)
    layer += tokens * width * prefill_hidden_multiple * hidden
    logits = sampler_bytes_per_logit * tokens * vocab + 2 * tokens * hidden * width
    return max(layer, logits) + activation_slack_bytes


def reserve_bytes(activation_bytes: float, non_torch_bytes: float) -> float:
    """Memory on one GPU that the warm-up withholds from the KV cache.

    reserve_bytes = activation_bytes + non_torch_bytes

    Args:
        activation_bytes, non_torch_bytes: [bytes]
    Returns:
        [bytes]
    Validity: CUDA graphs are captured after the KV cache is made, in what is left; failing there is only a log line.

    >>> reserve_bytes(4.25, 0.5)
    4.75

    Source: text-generation-inference v3.3.7, server/…/models/flash_causal_lm.py, warmup.
    """
    return activation_bytes + non_torch_bytes


def kv_cache_bytes(memory_budget_bytes: float, loaded_bytes_per_gpu: float, reserve_bytes: float) -> float:
    """Memory left for the KV cache on one GPU.
    It is negative if even the weights and the warm-up exceed the budget.

    kv_cache_bytes = memory_budget_bytes − loaded_bytes_per_gpu − reserve_bytes

    Args:
        memory_budget_bytes, loaded_bytes_per_gpu, reserve_bytes: [bytes]
    Returns:
        [bytes]
    Validity: an upper bound before 3.0, which left 5 to 10 % of the last free memory alone (from 1.4.1 on).

    >>> kv_cache_bytes(71.2, 15.0, 2.0)
    54.2

    Source: text-generation-inference v3.3.7, server/…/models/flash_causal_lm.py, warmup.
    """
    return memory_budget_bytes - loaded_bytes_per_gpu - reserve_bytes


def bytes_per_kv_element(kv_cache_dtype: str, bytes_per_activation: float) -> float:
    """Bytes per KV cache element.

    Args:
        kv_cache_dtype: as stated; `auto` follows the activations. bytes_per_activation: [bytes]
    Returns:
        [bytes]
    Validity: since 2.4 a checkpoint of compressed-tensors may bring an FP8 cache of its own, half of what is said here.

    >>> bytes_per_kv_element("fp8_e4m3fn", 2), bytes_per_kv_element("auto", 2)
    (1.0, 2.0)

    Source: text-generation-inference v3.3.7, launcher/src/main.rs, KVCacheDtype, and server/…/models/__init__.py, get_model.
    """
    return 1.0 if kv_cache_dtype in {"fp8_e4m3fn", "fp8_e5m2"} else float(bytes_per_activation)


def kv_bytes_per_token(
    layers: int,
    linear_attention_layers: int,
    kv_heads: int,
    head_dim: int,
    kv_lora_rank: int | None,
    bytes_per_kv_element: float,
    tensor_parallel: int,
) -> float:
    """KV cache of one token on one GPU.

    kv_bytes_per_token = (layers − linear_attention_layers) · 2 · ceil(kv_heads / tp) · head_dim · bytes

    Args:
        layers, linear_attention_layers: of the model. kv_heads, head_dim: of attention. kv_lora_rank: set for MLA.
        bytes_per_kv_element: [bytes]. tensor_parallel: ranks.
    Returns:
        [bytes]
    Validity: not for MLA, whose entry TGI unpacks into padded heads.

    >>> kv_bytes_per_token(32, 0, 8, 128, None, 2, 1)  # Llama-3.1-8B: 128 KiB
    131072.0

    Source: text-generation-inference v3.3.7, server/…/models/flash_causal_lm.py, warmup (total_cache_size).
    """
    if kv_lora_rank:
        raise LookupError("TGI's unpacked KV cache of MLA is not modelled")
    heads = math.ceil(kv_heads / tensor_parallel)
    return (layers - linear_attention_layers) * 2.0 * heads * head_dim * bytes_per_kv_element


def kv_needed_bytes(kv_bytes_per_token: float, max_model_len: int, block_size: int) -> float:
    """KV cache of one sequence of maximum length on one GPU.
    Sliding-window layers keep the whole sequence, too.

    kv_needed_bytes = kv_bytes_per_token · max_model_len, in whole blocks

    Args:
        kv_bytes_per_token: [bytes]. max_model_len, block_size: [tokens]
    Returns:
        [bytes]

    >>> kv_needed_bytes(131072, 8191, 16) / 2**30
    1.0

    Source: text-generation-inference v3.3.7, server/…/models/flash_causal_lm.py, warmup: one cache for all layers.
    """
    return kv_bytes_per_token * math.ceil(max_model_len / block_size) * block_size


def kv_heads_remainder(kv_heads: int, family: str, tensor_parallel: int) -> int:
    """KV heads left over after division: TGI does not replicate them.

    kv_heads_remainder = kv_heads mod tp

    Args:
        kv_heads: of the model. family: of the model. tensor_parallel: shards.
    Returns:
        heads; anything but 0 is refused while the weights load.
    Validity: the families whose loader was read; multi-query models such as falcon-7b have one of their own.

    >>> kv_heads_remainder(8, "llama", 4), kv_heads_remainder(1, "gemma", 8)
    (0, 1)

    Source: text-generation-inference v2.3.1, server/…/models/custom_modeling/flash_gemma_modeling.py, _load_gqa, and
        its siblings; v3.3.7, flash_llama_modeling.py: "`num_key_value_heads` must be divisible by `num_shards`".
    """
    if kv_heads % tensor_parallel and not has_trait(family, "divides_kv_heads_in_tgi"):
        raise LookupError(f"TGI's sharding of the KV heads of {family or 'this architecture'} is not known")
    return kv_heads % tensor_parallel
