"""Networks as people write them ("Llama3 70B", "Qwen2.5 7B LoRA", "MPT-30b"), as checkpoints or shapes of the catalog."""

from __future__ import annotations

import functools
import re

from gpulint.catalog import architecture
from gpulint.catalog.architecture import Architecture, Resolution

METHODS = frozenset(
    {"lora", "qlora", "cpu", "offload", "moe", "sft", "dense", "full", "finetune", "fp8", "bf16", "base"}
)
SHAPES = {
    "125m": (12, 768, 12),
    "350m": (24, 1024, 16),
    "760m": (24, 1536, 12),
    "1b": (24, 2048, 16),
    "3b": (32, 2560, 20),
    "5b": (24, 4096, 32),
    "7b": (32, 4096, 32),
    "13b": (40, 5120, 40),
    "20b": (44, 6144, 64),
    "22b": (48, 6144, 64),
    "30b": (48, 7168, 56),
    "70b": (80, 8192, 64),
    "175b": (96, 12288, 96),
    "530b": (105, 20480, 128),
    "1t": (128, 25600, 160),
}
"""Layers, width and heads of GPT-like networks by size (mosaicml/llm-foundry yamls; Narayanan et al. 2021, table 1)."""
GPT_VOCABULARY = 50368
SIZED_ONLY = "meta-llama/Llama-2-{size}-hf"
"""What a bare size is taken for."""


def resolved(text: str) -> Resolution | None:
    """The network that the words name; None where we know none."""
    exact = architecture.resolve(text.split(maxsplit=1)[0]) if "/" in text else None
    if exact and exact.architecture and exact.architecture.is_known:
        return exact
    words = _words(text)
    if len(words) == 1 and re.fullmatch(r"\d+b", words[0]):
        return architecture.resolve(SIZED_ONLY.format(size=words[0]))
    if words and words[0] in ("gpt", "gpt3", "mpt") and "oss" not in words:
        size = next((word for word in words if word in SHAPES), None)
        return shaped(f"{words[0]}-{size}", *SHAPES[size]) if size else None
    return _listed(tuple(words))


def shaped(name: str, layers: int, hidden: int, heads: int, vocab: int = GPT_VOCABULARY) -> Resolution:
    """A GPT-like network of that shape: 12 · layers · hidden² and one vocabulary table."""
    parameters = 12 * layers * hidden**2 + vocab * hidden
    shape = Architecture(
        id=name,
        family="mpt" if name.startswith("mpt") else "gpt-2",
        parameters=parameters,
        layers=layers,
        hidden=hidden,
        intermediate=4 * hidden,
        gated_mlp=False,
        attention_heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        vocab=vocab,
        tied_embeddings=True,
        modality="text",
        moe_layers=0,
        checkpoint_dtype="bfloat16",
    )
    return Resolution(shape, "the shape of GPT-like networks of that size")


@functools.cache
def _listed(words: tuple[str, ...]) -> Resolution | None:
    """The checkpoint with all the words in its id, and the fewest others; a size may be left out of a release's id."""
    for wanted in (frozenset(words), frozenset(word for word in words if not re.fullmatch(r"\d+b", word))):
        fitting = [(len(own), len(name), name) for name, own in _ids() if wanted and wanted <= own]
        for _, _, name in sorted(fitting):
            found = architecture.resolve(name)
            if found.architecture and found.architecture.is_known:
                return found
    return None


@functools.cache
def _ids() -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((name, frozenset(_words(name.rpartition("/")[2]))) for name in architecture.list_ids())


def _words(text: str) -> list[str]:
    """Words and numbers apart, in lower case; a size keeps its letter."""
    spelt = re.sub(r"\d+[\s-]*nodes?\b", "", text.lower().replace("_", " "))
    spelt = re.sub(r"([a-z])(\d)", r"\1 \2", spelt)
    spelt = re.sub(r"\bv (\d)", r"v\1", re.sub(r"\ba (\d+)b", r"a\1b", re.sub(r"\bk (\d)", r"k\1", spelt)))
    found = re.findall(r"[a-z]+\d+b?|\d+(?:\.\d+)?[bmt]?|[a-z]+", spelt)
    return [word for word in found if word not in METHODS]
