"""Kernels of a decoding step, classified as in the measurements of their constants."""

from __future__ import annotations


def kernel_generation(generation: str) -> str:
    """GPU generation, in the classes for which serving kernels were measured.

    The data-center GPUs of a generation share their kernels; workstation GPUs of Blackwell have others.

    Args:
        generation: of the accelerator.
    Returns:
        hopper, blackwell (data-center GPUs, Ultra included) or other.

    >>> kernel_generation("blackwell-ultra"), kernel_generation("blackwell-rtx"), kernel_generation("ada")
    ('blackwell', 'other', 'other')

    Source: bench/silicon.py.
    """
    return {"hopper": "hopper", "blackwell": "blackwell", "blackwell-ultra": "blackwell"}.get(generation, "other")


def kernel_format(weight_format: str) -> str:
    """Number format of the weights, in the classes for which kernels differ.

    Both 16-bit formats are one; weight-only formats were not measured enough to be distinguished.

    Args:
        weight_format: in memory.
    Returns:
        bf16, fp8, fp8-block, mxfp4, nvfp4 or other.

    >>> kernel_format("float16"), kernel_format("nvfp4"), kernel_format("gguf-q4_k_m")
    ('bf16', 'nvfp4', 'other')

    Source: bench/silicon.py.
    """
    sixteen = {"bfloat16": "bf16", "float16": "bf16"}
    measured = ("fp8", "fp8-block", "mxfp4", "nvfp4")
    return sixteen.get(weight_format, weight_format if weight_format in measured else "other")


def decoder_kind(
    kv_lora_rank: int | None, indexer_head_dim: int | None, linear_attention_layers: int, moe_layers: int
) -> str:
    """Kind of the layers: dense, mixture (routed experts), latent (MLA), sparse (an indexer) or recurrent.

    The first of these that a model has: an indexer, latent attention, recurrent states, routed experts; else it is dense.

    Args:
        kv_lora_rank: of latent attention, else None. indexer_head_dim: of sparse attention, else None.
        linear_attention_layers, moe_layers: counts.
    Returns:
        sparse, latent, recurrent, mixture or dense.

    >>> decoder_kind(512, None, 0, 58), decoder_kind(None, None, 45, 60), decoder_kind(None, None, 0, 36)
    ('latent', 'recurrent', 'mixture')
    >>> decoder_kind(512, 128, 0, 75), decoder_kind(None, None, 0, 0)
    ('sparse', 'dense')

    Source: bench/silicon.py.
    """
    if indexer_head_dim:
        return "sparse"
    if kv_lora_rank:
        return "latent"
    if linear_attention_layers:
        return "recurrent"
    return "mixture" if moe_layers else "dense"


def kernel_cell(kernel_generation: str, kernel_format: str, decoder_kind: str) -> str:
    """GPU, number format and layer kind in one word.
    Some constants were measured for certain combinations only.

    kernel_cell = generation.format.kind

    Args:
        kernel_generation, kernel_format, decoder_kind: as far as kernels differ by them.
    Returns:
        one word.

    >>> kernel_cell("hopper", "fp8", "dense")
    'hopper.fp8.dense'

    Source: bench/silicon.py.
    """
    return f"{kernel_generation}.{kernel_format}.{decoder_kind}"
