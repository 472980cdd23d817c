"""GGUF: checkpoint and number format from the name of a file or repository."""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE = re.compile(
    r"(?:UD-)?(?:IQ[1-4]_(?:XXS|XS|S|M|NL)|Q[2-8]_K(?:_(?:XXS|XS|S|M|L|XL))?|Q[2-8]_[01]|TQ[12]_0|MXFP4(?:_MOE)?|B?F16|FP16|F32)",
    re.IGNORECASE,
)
NAMED = re.compile(rf"(?P<checkpoint>.+?)[-_.](?P<type>{TYPE.pattern})", re.IGNORECASE)
PART = re.compile(r"-\d{5}-of-\d{5}$")
REPOSITORY = re.compile(r"[-_.]gguf$", re.IGNORECASE)
NAMELESS = frozenset({"model", "ggml-model", "gguf", "weights"})
FORMATS = {
    "f16": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "mxfp4": "mxfp4",
    "mxfp4_moe": "mxfp4",
}
"""Types that the catalog lists under their names outside of GGUF."""


class Weights(NamedTuple):
    """The converted checkpoint and its number format; empty if the name does not show them."""

    checkpoint: str
    quantization: str


def parse_file_name(path: str) -> Weights:
    """Parse the name of a file: `<checkpoint>-<type>.gguf`, whole or the first of several parts.

    >>> parse_file_name("/models/Llama-3.3-70B-Instruct-Q4_K_M-00001-of-00002.gguf")
    Weights(checkpoint='Llama-3.3-70B-Instruct', quantization='gguf-q4_k_m')
    >>> parse_file_name("/models/model.gguf")
    Weights(checkpoint='', quantization='')
    """
    stem = PART.sub("", re.sub(r"\.gguf$", "", path.rstrip("/").rsplit("/", 1)[-1], flags=re.IGNORECASE))
    if TYPE.fullmatch(stem) or stem.lower() in NAMELESS:
        return Weights("", find_format(stem) if TYPE.fullmatch(stem) else "")
    named = NAMED.fullmatch(stem)
    if named is None:
        return Weights(stem, "")
    checkpoint = "" if named["checkpoint"].lower() in NAMELESS else named["checkpoint"]
    return Weights(checkpoint, find_format(named["type"]))


def parse_repository(reference: str) -> Weights:
    """Parse `<owner>/<checkpoint>-GGUF[:<type>]`; a tag such as latest is no type.

    >>> parse_repository("bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M")
    Weights(checkpoint='bartowski/Llama-3.3-70B-Instruct', quantization='gguf-q4_k_m')
    """
    name, _, tag = reference.partition(":")
    return Weights(REPOSITORY.sub("", name), find_format(tag) if TYPE.fullmatch(tag) else "")


def find_format(type_name: str) -> str:
    """Return the catalog's name of a GGUF type.

    >>> find_format("Q4_K_M"), find_format("BF16")
    ('gguf-q4_k_m', 'bfloat16')
    """
    return FORMATS.get(type_name.lower(), f"gguf-{type_name.lower()}")
