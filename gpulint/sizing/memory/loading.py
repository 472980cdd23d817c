"""Loading: memory on one accelerator besides the weights, for position tables and allocator
rounding.
"""

from __future__ import annotations

import math

from gpulint import units


def rotary_table_bytes(
    rotary_positions: int | None,
    max_model_len: int,
    head_dim: int,
    qk_rope_head_dim: int | None,
    bytes_per_activation: float,
    rotary_tables: float,
) -> float:
    """Sines and cosines of every declared position on one GPU. One table serves all layers.

    rotary_table_bytes = rotary_tables · rotary_positions · rotary width · B

    Args:
        rotary_positions: declared by the checkpoint; max_model_len stands for them where they are not known [tokens].
        head_dim: rotary width; qk_rope_head_dim: that of MLA, else None.
        bytes_per_activation: B [bytes]. rotary_tables: tables of that length (fitted).
    Returns:
        [bytes]
    Validity: heads that rotate in part have a narrower table. Not shortened by --max-model-len.

    >>> rotary_table_bytes(10485760, 8192, 128, None, 2, 1) / 2**30  # Llama-4-Scout: 53.12 GiB loaded of 50.59 GiB of weights
    2.5
    >>> rotary_table_bytes(131072, 8192, 128, None, 2, 1) / 2**30  # Llama-3.1-8B: 14.99 GiB loaded of 14.96
    0.03125

    Source: vLLM v0.19.0, model_executor/layers/rotary_embedding/base.py and linear_scaling_rope.py.
    """
    return rotary_tables * (rotary_positions or max_model_len) * (qk_rope_head_dim or head_dim) * bytes_per_activation


def absorbed_bytes(
    latent_kv_cache: bool,
    latent_output_fused: bool,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    head_dim: int,
    attention_heads: int,
    hidden: int,
    layers: int,
    tensor_parallel: int,
    stage_share: float,
    bytes_per_weight: float,
    bytes_per_activation: float,
) -> float:
    """Copies of the MLA up-projections that the engine makes for decoding on one GPU.

    absorbed_bytes = stage_share · layers · heads / tp · kv_lora_rank · 2 · (head_dim − rotary part) · B
                   = stage_share · layers · heads / tp · kv_lora_rank · hidden · b, where the output projection is fused in

    Args:
        latent_kv_cache: the engine keeps MLA's compressed entry. latent_output_fused: by release.
        kv_lora_rank, qk_rope_head_dim: of MLA, else None. head_dim, hidden: widths. attention_heads, layers: counts.
        tensor_parallel: ranks. stage_share: of the layers on the fullest pipeline stage.
        bytes_per_weight: b, B below one byte; bytes_per_activation: B [bytes].
    Returns:
        [bytes]
    Validity: values are as wide as keys without their rotary part; the fused query projection (vLLM 0.7) is left out.

    >>> mla = (512, 64, 192, 128, 7168, 61, 8, 1.0, 1, 2)
    >>> round(absorbed_bytes(True, True, *mla) / 2**30, 2)  # DeepSeek-R1 on 8 GPUs, vLLM 0.7.3: 83.88 GiB loaded of 79.95
    3.34
    >>> round(absorbed_bytes(True, False, *mla) / 2**30, 2), absorbed_bytes(False, False, *mla)
    (0.24, 0.0)

    Source: vLLM v0.7.2, attention/backends/mla/utils.py, process_weights_after_loading; v0.19.0,
        model_executor/layers/attention/mla_attention.py, the same.
    """
    if not kv_lora_rank or not latent_kv_cache:
        return 0.0
    entries = stage_share * layers * attention_heads / tensor_parallel * kv_lora_rank
    if latent_output_fused:
        return entries * hidden * (math.floor(bytes_per_weight) or bytes_per_activation)
    return entries * 2 * (head_dim - (qk_rope_head_dim or 0)) * bytes_per_activation


def rounding_bytes(
    layers: int,
    moe_layers: int,
    hidden: int,
    attention_heads: int,
    kv_heads: int,
    kv_lora_rank: int | None,
    head_dim: int,
    intermediate: int,
    gated_mlp: bool,
    tensor_parallel: int,
    stage_share: float,
    bytes_per_weight: float,
) -> float:
    """Memory on one GPU that PyTorch's allocator adds by rounding up the dense layers' matrices.

    rounding_bytes = stage_share · (layers · (r(qkv) + r(output)) + dense layers · (r(gate and up) + r(down)))
    r(size) = what is missing to whole 2 MiB, if at most 1 MiB, for matrices of 10 MiB or more; else 0

    Args:
        layers, moe_layers: counts. hidden, intermediate, head_dim: widths. attention_heads, kv_heads: counts.
        kv_lora_rank: set for MLA, whose projections are left out. gated_mlp: gate and up are one matrix.
        tensor_parallel: ranks. stage_share: of the layers on the fullest pipeline stage.
        bytes_per_weight: of the format [bytes]; below one byte nothing is counted.
    Returns:
        [bytes]
    Validity: a remainder above 1 MiB is split off and used again. Experts and vocabulary tables are left out: few and large.

    >>> plain = (3584, 28, 4, None, 128, 18944, True, 1, 1.0, 2)  # Qwen2.5-7B: 259, 129.5 and 31.5 MiB a layer
    >>> rounding_bytes(28, 0, *plain) / 2**20  # 28 · (1 + 0.5 + 0.5): 14.25 GiB loaded of 14.19
    56.0
    >>> rounding_bytes(40, 0, 5120, 40, 10, None, 128, 17920, True, 1, 1.0, 2) / 2**20  # phi-4: 27.39 GiB loaded of 27.31
    80.0

    Source: PyTorch v2.10.0, c10/cuda/CUDACachingAllocator.cpp, get_allocation_size and should_split.
    """
    size = math.floor(bytes_per_weight)
    heads = 0 if kv_lora_rank else attention_heads * head_dim // tensor_parallel
    qkv = heads + 2 * max(1, kv_heads // tensor_parallel) * head_dim if heads else 0
    mlp = intermediate // tensor_parallel
    attention = _rounding_excess(qkv * hidden * size) + _rounding_excess(heads * hidden * size)
    dense = _rounding_excess((2 if gated_mlp else 1) * mlp * hidden * size) + _rounding_excess(mlp * hidden * size)
    return stage_share * (layers * attention + (layers - moe_layers) * dense)


def _rounding_excess(size: int) -> int:
    """Return the bytes that a block of the caching allocator holds beyond the request."""
    missing = -size % (2 * units.MIB)
    return missing if size >= 10 * units.MIB and missing <= units.MIB else 0
