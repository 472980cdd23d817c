"""vLLM's own memory rule: what it profiles at start-up, and what is left for the KV cache."""

from __future__ import annotations

import math

from gpulint import units


def weight_format(
    checkpoint_quantization: str | None, quantization: str | None, weight_dtype: str, checkpoint_dtype: str
) -> str:
    """Number format of the weights in memory.

    The checkpoint's own quantisation, else the one asked for at load, else `--dtype`; `auto` keeps 16 bits and casts a
    float32 checkpoint down.

    Args:
        checkpoint_quantization, quantization, weight_dtype, checkpoint_dtype: as stated.
    Returns:
        a name of the catalog's quantisation table.

    >>> weight_format(None, None, "auto", "float32"), weight_format("fp8", None, "auto", "bfloat16")
    ('float16', 'fp8')

    Source: vLLM, config/model.py, _get_and_verify_dtype; docs/features/quantization.
    """
    if checkpoint_quantization:
        return checkpoint_quantization
    if quantization in _AT_LOAD:
        return _AT_LOAD[quantization]
    if quantization:
        raise LookupError(f"--quantization {quantization} of a checkpoint that is not listed as quantised")
    if weight_dtype == "auto":
        return "float16" if checkpoint_dtype == "float32" else checkpoint_dtype
    return _SHORT.get(weight_dtype, weight_dtype)


_AT_LOAD = {"fp8": "fp8", "bitsandbytes": "int4-bnb"}
_SHORT = {"half": "float16", "float": "float32"}


def bytes_per_activation(weight_dtype: str) -> float:
    """Bytes of one unquantised value.

    Args:
        weight_dtype: as stated.
    Returns:
        [bytes]

    >>> bytes_per_activation("auto"), bytes_per_activation("float32")
    (2.0, 4.0)

    Source: vLLM, config/model.py: `auto` never keeps float32.
    """
    return 4.0 if weight_dtype in {"float", "float32"} else 2.0


def max_model_len(trained_context: int) -> int:
    """Longest sequence when nothing states it: what the checkpoint declares.

    Args:
        trained_context: [tokens]
    Returns:
        [tokens]

    >>> max_model_len(131072)
    131072

    Source: vLLM, config/model.py, _get_and_verify_max_len.
    """
    return trained_context


def memory_budget_bytes(device_memory_bytes: float, gpu_memory_utilization: float) -> float:
    """Memory the engine may take on one GPU.

    memory_budget_bytes = ceil(device_memory_bytes · gpu_memory_utilization)

    Args:
        device_memory_bytes: what CUDA reports as total, not what is free [bytes]. gpu_memory_utilization: share.
    Returns:
        [bytes]

    >>> round(memory_budget_bytes(79.19 * 2**30, 0.95) / 2**30, 2)  # printed as 75.23 GiB
    75.23

    Source: vLLM, v1/worker/utils.py, request_memory.
    """
    return math.ceil(device_memory_bytes * gpu_memory_utilization)


def activation_bytes(
    max_num_seqs: int,
    max_num_batched_tokens: int,
    vocab: int,
    hidden: int,
    intermediate: int,
    experts_per_token: int | None,
    moe_intermediate: int | None,
    tensor_parallel: int,
    bytes_per_activation: float,
    sampler_bytes_per_logit: float,
    prefill_hidden_multiple: float,
    prefill_intermediate_multiple: float,
    moe_workspace_factor: float,
    activation_slack_bytes: float,
    encoder_bytes: float,
    modality: str,
    family: str,
) -> float:
    """Peak activations of the profiling run on one GPU: the larger of a full prefill and a full sampler step.

    activation_bytes = max(prefill, sampler) + experts + slack (+ encoder)
    sampler = c · min(max_num_seqs, T) · vocab + 2 · T · hidden · B
    prefill = T · B · (k_i · intermediate / tp + k_h · hidden)          (no MLP term for routed experts)
    experts = f · T · experts_per_token · B · (max(2 · I / tp, hidden) + max(I / tp, hidden))

    Args:
        max_num_seqs: sequences. max_num_batched_tokens: T [tokens]. vocab, hidden, intermediate: widths.
        experts_per_token, moe_intermediate: of routed experts, else None. tensor_parallel: ranks.
        bytes_per_activation: B [bytes]. sampler_bytes_per_logit: c (fitted) [bytes].
        prefill_hidden_multiple, prefill_intermediate_multiple, moe_workspace_factor: k_h, k_i, f (fitted).
        activation_slack_bytes, encoder_bytes: (fitted) [bytes]. modality: text, vision or audio. family: of the network.
    Returns:
        [bytes]
    Validity: the sampler is not divided by tensor parallel. Fitted on 59 runs of vLLM 0.19 on H100 (mean error
        0.065 GiB); elsewhere the fitted terms are wider.

    >>> plain = (None, None, 1, 2, 14, 4.2, 3, 1, 0.05 * 2**30, 0, "text", "llama")
    >>> round(activation_bytes(1024, 8192, 128256, 4096, 14336, *plain) / 2**30, 2)  # Llama-3.1-8B: sizing tools say 0.7 to 4.8
    1.89

    Source: vLLM, v1/worker/gpu_model_runner.py, profile_run and _dummy_sampler_run.
    """
    if family in _CROSS_ATTENTION:
        raise LookupError("activations of a cross-attention encoder are not modelled (36 GiB were measured)")
    tokens, width = max_num_batched_tokens, bytes_per_activation
    sampler = sampler_bytes_per_logit * min(max_num_seqs, tokens) * vocab + 2 * tokens * hidden * width
    mlp = 0.0 if moe_intermediate else prefill_intermediate_multiple * intermediate / tensor_parallel
    prefill = tokens * width * (mlp + prefill_hidden_multiple * hidden)
    expert = (moe_intermediate or 0) / tensor_parallel
    workspace = tokens * (experts_per_token or 0) * width * (max(2 * expert, hidden) + max(expert, hidden))
    encoder = 0.0 if modality == "text" else encoder_bytes
    return max(prefill, sampler) + moe_workspace_factor * workspace + activation_slack_bytes + encoder


_CROSS_ATTENTION = frozenset({"mllama"})
"""vllm-project/vllm pull 12126: Llama-3.2-11B-Vision peaks at 36.63 GiB of activations."""


def captured_graph_bytes(graph_bytes: float, enforce_eager: bool, graphs_in_budget: bool) -> float:
    """CUDA graphs inside the budget; releases before 0.20 captured them outside it.

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


def device_class(device_memory_bytes: float, generation: str) -> str:
    """Size class of the card in the engine's batch defaults.

    From 160 GiB, from 70 GiB unless it is an A100, and all others.

    Args:
        device_memory_bytes: [bytes]. generation: the engine keeps A100 apart by name; no other Ampere card is as large.
    Returns:
        a condition word of the table of defaults.
    Validity: releases 0.8.0 to 0.8.4 went by the names H100 and H200; 0.8.5 gave A100 80GB the large class.

    >>> device_class(79.1 * 2**30, "hopper"), device_class(79.1 * 2**30, "ampere"), device_class(22 * 2**30, "ada")
    ('memory-ge-70gib-not-a100', 'other', 'other')

    Source: vLLM v0.9.0 and v0.28.0, engine/arg_utils.py, _set_default_args.
    """
    if device_memory_bytes >= 160 * units.GIB:
        return "memory-ge-160gib"
    large = device_memory_bytes >= 70 * units.GIB and generation != "ampere"
    return "memory-ge-70gib-not-a100" if large else "other"


def whole_context_batch_tokens(max_model_len: int) -> int:
    """Tokens of one forward pass when prompts are not cut into chunks, the default of early releases.

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
    """Activations, graphs and libraries on one GPU.

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


def kv_cache_bytes(
    kv_cache_memory_bytes: int | None,
    memory_budget_bytes: float,
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
) -> float:
    """Memory left for the KV cache on one GPU; negative when even the weights and the reserve are too much.

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
