"""The network that the arguments of Megatron's scripts state.

Source: NVIDIA/Megatron-LM d98e8a64 megatron/training/arguments.py (names and defaults), gpt_builders.py,
megatron/core/transformer and megatron/core/tokenizers/utils/build_tokenizer.py (vocab_size_with_padding).
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpulint.catalog import architecture
from gpulint.catalog.architecture import stated
from gpulint.catalog.architecture.stated import Network
from gpulint.engines import Reading
from gpulint.engines.trainers import Program
from gpulint.workload import Field

SCRIPT = re.compile(r"pretrain_(?:gpt2?|gpt_core|llama)\.py")
OTHERS = (
    *("--spec", "--hybrid-layer-pattern", "--hybrid-override-pattern", "--multi-latent-attention", "--mtp-num-layers"),
    *(
        "--moe-shared-expert-intermediate-size",
        "--moe-layer-freq",
        "--experimental-attention-variant",
    ),
    *("--linear-attention-freq", "--encoder-num-layers", "--use-checkpoint-args", "--quick-geglu", "--yaml-cfg"),
    *("--heterogeneous-layers-config-path", "--expert-interval", "--mlp-type"),
)
"""Arguments of networks that are not counted, or whose shape another file states."""
NORMS = {"LayerNorm": 2, "layernorm": 2, "RMSNorm": 1, "rmsnorm": 1}
LLAMA_2 = 32_000
MULTIPLE = 128
DIGITS_MAX = 12


def apply(reading: Reading, started: Program) -> Reading:
    """Return a reading with the network of its arguments in place of a checkpoint, if they state a whole one."""
    if reading.open_ended or not SCRIPT.fullmatch(started.name) or started.gives(*OTHERS):
        return reading
    network = _read(started)
    found = _find_vocabulary(started, network) if network is not None else None
    if network is None or found is None:
        return reading
    entries, assumption = found
    multiple = (_whole(started, "--make-vocab-size-divisible-by") or MULTIPLE) * (
        _whole(started, "--tensor-model-parallel-size") or 1
    )
    rows = _whole(started, "--padded-vocab-size") or stated.pad_vocabulary(entries, multiple)
    origins = reading.fields["layers"].origins
    network_field = Field(replace(network, vocab=rows).render(), origins, assumption=assumption)
    kept = {name: field for name, field in reading.fields.items() if name != "checkpoint"}
    return reading._replace(fields={**kept, "network": network_field})


def _read(started: Program) -> Network | None:
    """Return the network without its vocabulary; None if a size is missing or cannot be read."""
    sizes = [
        _whole(started, flag)
        for flag in ("--num-layers", "--hidden-size", "--num-attention-heads", "--max-position-embeddings")
    ]
    layers, hidden, heads, positions = (size or 0 for size in sizes)
    norm = NORMS.get(_text(started, "--normalization") or "LayerNorm")
    bias, experts = not started.gives("--disable-bias-linear"), _whole(started, "--num-experts") or 0
    if not all(sizes) or norm is None or hidden % heads or (experts and bias):
        return None
    gated = started.gives("--swiglu")
    width = _whole(started, "--ffn-hidden-size") or (int(4 * hidden * 2 / 3 / 64) * 64 if gated else 4 * hidden)
    return Network(
        "megatron",
        *(layers, hidden, (experts and _whole(started, "--moe-ffn-hidden-size")) or width, heads),
        *(_count_kv_heads(started) or heads, _whole(started, "--kv-channels") or hidden // heads, 1),
        gated=gated,
        tied=not started.gives("--untie-embeddings-and-output-weights"),
        qkv_bias=bias or started.gives("--add-qkv-bias"),
        out_bias=bias,
        mlp_bias=bias,
        norm_vectors=norm,
        head_norms=started.gives("--qk-layernorm"),
        positions=positions if _learns_positions(started) else 0,
        context=positions,
        experts=experts,
        experts_per_token=(_whole(started, "--moe-router-topk") or 2) if experts else 0,
    )


def _count_kv_heads(started: Program) -> int | None:
    groups = _whole(started, "--num-query-groups") if started.gives("--group-query-attention") else None
    return groups or _whole(started, "--num-key-value-heads")


def _learns_positions(started: Program) -> bool:
    kind = _text(started, "--position-embedding-type") or "learned_absolute"
    rotary = started.gives("--use-rotary-position-embeddings", "--no-position-embedding")
    return kind == "learned_absolute" and not rotary


def _find_vocabulary(started: Program, network: Network) -> tuple[int, str] | None:
    """Return the entries of the tokenizer and what was assumed of it; None if nothing tells."""
    if (number := _whole(started, "--padded-vocab-size") or _whole(started, "--vocab-size")) is not None:
        return number, ""
    kind, name = _text(started, "--tokenizer-type"), _text(started, "--tokenizer-model")
    listed = stated.find_tokenizer(filter(None, (kind,)))
    if listed is not None or kind == "Llama2Tokenizer":
        return listed or LLAMA_2, ""
    known = architecture.resolve(name).architecture if kind == "HuggingFaceTokenizer" and name else None
    if known is not None and known.vocab:
        return known.vocab, f"the tokenizer has {known.vocab:,} entries, the vocabulary of {name}"
    shape = (network.layers, network.hidden, network.intermediate, network.heads, network.kv_heads)
    fewest = stated.find_smallest_vocabulary(shape, network.gated, network.context)
    if fewest is None:
        return None
    return fewest, f"the tokenizer has {fewest:,} entries, the fewest of listed networks of this shape"


def _text(started: Program, flag: str) -> str | None:
    value = started.find_flag(flag)
    return None if value is None else value.text


def _whole(started: Program, flag: str) -> int | None:
    text = _text(started, flag) or ""
    number = int(text) if text.isdecimal() and len(text) < DIGITS_MAX else 0
    return number if stated.is_size(number) else None
