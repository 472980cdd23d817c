"""Unsloth: LoRA kernels that keep an input once for all matrices that read it."""

from __future__ import annotations


def adapter_activation_bytes(
    lora_rank: int | None,
    lora_targets: str | None,
    hidden: int,
    compute_bytes: int,
) -> float:
    """Bytes per token and layer that adapters keep.
    They keep the input shared by queries, keys and values, and that of the MLP.

    adapter_activation_bytes = compute_bytes · hidden · (1 with queries, keys or values + 1 with gate or up)

    Args:
        lora_rank: None without LoRA. lora_targets: letters of the matrices. hidden: width. compute_bytes: of a value [bytes].
    Returns:
        [bytes]
    Validity: the attention's output is kept by the attention itself, and the MLP's product is computed again; models that Unsloth
        leaves to PEFT keep more.

    >>> adapter_activation_bytes(16, "qkvogud", 2048, 2)
    8192.0

    Source: unslothai/unsloth 015bdef0d9 unsloth/kernels/fast_lora.py, LoRA_QKV, LoRA_MLP (X, e, g), LoRA_W (save_for_backward).
    """
    if lora_rank is None:
        return 0.0
    letters = set(lora_targets or "")
    return float(compute_bytes * hidden * (bool(letters & set("qkv")) + bool(letters & set("gu"))))
