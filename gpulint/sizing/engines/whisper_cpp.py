"""whisper.cpp: weights in the format of the file."""

from __future__ import annotations


def weight_format(quantization: str | None, weight_dtype: str) -> str:
    """Number format of the weights in memory.

    The format of the file: whisper.cpp converts nothing.

    Args:
        quantization: by the name of the file, None for 16 bits. weight_dtype: of a file that is not quantised.
    Returns:
        a name of the catalog's quantisation table.

    >>> weight_format("gguf-q5_0", "float16"), weight_format(None, "float16")
    ('gguf-q5_0', 'float16')

    Source: ggml-org/whisper.cpp src/whisper.cpp, whisper_model_load; models/README.md: ggml-large-v3-turbo-q5_0.bin.
    """
    return quantization or weight_dtype
