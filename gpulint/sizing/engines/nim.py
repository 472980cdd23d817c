"""NIM's weights: in the precision of the profile, or in that of the published checkpoint."""

from __future__ import annotations


def weight_format(quantization: str | None, checkpoint_quantization: str | None) -> str:
    """Number format of the weights in memory.

    The precision in the profile's name, else the checkpoint's own quantisation. Of a 16-bit checkpoint NIM holds profiles
    in several precisions and chooses among them by the GPUs it finds, so that nothing else tells it.

    Args:
        quantization: precision of the profile. checkpoint_quantization: as published.
    Returns:
        a name of the catalog's quantisation table.

    >>> weight_format("bf16", None), weight_format(None, "fp8-block")
    ('bfloat16', 'fp8-block')

    Source: docs.nvidia.com/nim/large-language-models/1.2.0/support-matrix.html (one image, FP8 and FP16 engines);
        2.0.11/deployment/model-profiles-and-selection.html (names of profiles).
    """
    if quantization in _PRECISIONS:
        return _PRECISIONS[quantization]
    if quantization is None and checkpoint_quantization:
        return checkpoint_quantization
    raise LookupError("the profile that NIM selects when it starts decides the number format")


_PRECISIONS = {"bf16": "bfloat16", "fp16": "float16", "fp8": "fp8", "nvfp4": "nvfp4", "mxfp4": "mxfp4"}


def bytes_per_activation() -> float:
    """Bytes per unquantised value: profiles compute in 16 bits.

    Args:
        none: no profile is in more than 16 bits.
    Returns:
        [bytes]

    >>> bytes_per_activation()
    2.0

    Source: docs.nvidia.com/nim/large-language-models/2.0.11/deployment/model-profiles-and-selection.html: no profile
        is in more than 16 bits.
    """
    return 2.0
