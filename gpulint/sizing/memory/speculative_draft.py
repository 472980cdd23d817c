"""Speculative draft: its weights and KV cache. A draft with its own checkpoint is sized like any
other model.
"""

from __future__ import annotations


def draft_weight_bytes_per_gpu(
    speculative: str | None, draft_layers: float, weight_bytes: float, layers: int, tensor_parallel: int
) -> float:
    """Weights of a speculative draft on one GPU.

    draft_weight_bytes_per_gpu = 0 for look-ups in the text (n-gram, suffix),
                                 draft_layers · weight_bytes / layers / tp for the model's own prediction module

    Args:
        speculative: method as the engine names it, else None. draft_layers: size of such a module in layers (fitted).
        weight_bytes: of the model [bytes]. layers: of the model. tensor_parallel: ranks.
    Returns:
        [bytes]

    >>> draft_weight_bytes_per_gpu("ngram", 1.05, 671, 61, 8)
    0.0
    >>> round(draft_weight_bytes_per_gpu("deepseek_mtp", 1.05, 671, 61, 1), 1)  # DeepSeek-V3's module, in billions of bytes
    11.6

    Source: DeepSeek-AI, DeepSeek-V3, README_WEIGHTS.md: 11.5 billion parameters beside 671 in 61 layers; vLLM,
        config/speculative.py, MTPModelTypes and EagleModelTypes.
    """
    return draft_layers * weight_bytes / layers / tensor_parallel if _is_built_in(speculative) else 0.0


def draft_kv_bytes_per_token(
    speculative: str | None, draft_layers: float, kv_bytes_per_token: float, layers: int, stage_share: float
) -> float:
    """KV cache of a speculative draft for one token on one GPU.

    draft_kv_bytes_per_token = 0 for look-ups in the text (n-gram, suffix),
                               draft_layers · kv_bytes_per_token / (layers · stage_share) for the model's own module

    Args:
        speculative: method as the engine names it, else None. draft_layers: size of such a module in layers (fitted).
        kv_bytes_per_token: of the model [bytes]. layers: of the model.
        stage_share: of the layers on the fullest pipeline stage.
    Returns:
        [bytes]

    >>> draft_kv_bytes_per_token("deepseek_mtp", 1.0, 70272.0, 61, 1.0)  # one more layer of 576 values
    1152.0

    Source: vLLM, v1/spec_decode/eagle.py: the module's attention layer has its own KV cache.
    """
    return draft_layers * kv_bytes_per_token / (layers * stage_share) if _is_built_in(speculative) else 0.0


def draft_share(
    draft_weight_bytes_per_gpu: float, draft_tensor_parallel: int | None, tensor_parallel: int, weight_bytes: float
) -> float:
    """Weights of the speculative draft relative to those of its target model.

    draft_share = draft_weight_bytes_per_gpu · draft ranks / weight_bytes

    Args:
        draft_weight_bytes_per_gpu: [bytes]. draft_tensor_parallel: ranks of the draft, else None: those of the model.
        tensor_parallel: ranks of the model. weight_bytes: of the model [bytes].
    Returns:
        [ratio]; 0 without a draft.

    >>> draft_share(4.0, 1, 4, 16.0), draft_share(1.0, None, 4, 16.0)
    (0.25, 0.25)

    Source: definition.
    """
    return draft_weight_bytes_per_gpu * (draft_tensor_parallel or tensor_parallel) / weight_bytes


def _is_built_in(speculative: str | None) -> bool:
    """Return whether a method drafts with layers of the target's own checkpoint."""
    method = (speculative or "").strip("[]").lower()
    if not method or method in _WITHOUT_NETWORK:
        return False
    if method.endswith(_BUILT_IN):
        return True
    raise LookupError(f"the size of the {speculative} draft is not known")


_WITHOUT_NETWORK = frozenset({"ngram", "ngram_gpu", "suffix", "prompt_lookup", "none"})
_BUILT_IN = ("mtp", "nextn")
