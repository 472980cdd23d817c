"""A network whose shape the settings of a trainer state, as Megatron's relatives build it, and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache

from gpulint.catalog.architecture import load_architectures, parts
from gpulint.catalog.architecture.config import LARGEST, LAYERS_MAX
from gpulint.catalog.architecture.model import Architecture
from gpulint.catalog.architecture.parts import Parts

SOURCE = "the settings of the trainer"
TOKENIZERS: Mapping[str, int] = {
    **dict.fromkeys(("gpt2bpetokenizer", "hfgpt2tokenizer", "gpt2"), 50257),
    "20b_tokenizer.json": 50277,
    "charleveltokenizer": 512,
    **dict.fromkeys(("bertwordpiecelowercase", "bert-large-uncased", "bert-base-uncased"), 30522),
    **dict.fromkeys(("bertwordpiececase", "bert-large-cased", "bert-base-cased"), 28996),
}
"""Entries of tokenizers by the names of trainers: OpenAI gpt-2 vocab.json, EleutherAI/gpt-neox 20B_tokenizer.json and
megatron/tokenizer/tokenizer.py, google-research/bert vocab.txt."""


@dataclass(frozen=True, slots=True)
class Network:
    """What settings state of a decoder.

    `norms` are those of a layer, `norm_vectors` the vectors of one: weight and bias, weight alone, or none. `positions`
    are learned ones.
    `experts` replace the MLP in every `expert_interval`-th layer; their matrices have no biases.
    """

    family: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    gated: bool = False
    tied: bool = True
    qkv_bias: bool = True
    out_bias: bool = True
    mlp_bias: bool = True
    norm_vectors: int = 2
    norms: int = 2
    head_norms: bool = False
    positions: int = 0
    context: int = 0
    experts: int = 0
    experts_per_token: int = 0
    expert_interval: int = 1

    def render(self) -> str:
        """Return the network as one text, the form that a field of a role has."""
        stated = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return " ".join(f"{name}={value}" for name, value, default in stated if value != default)


def parse(text: str) -> Network | None:
    """Return the network that a text states; None if it states none that can be built.

    >>> parse("family=megatron layers=2 hidden=64 intermediate=256 heads=4 kv_heads=4 head_dim=16 vocab=128 tied=False").tied
    False
    >>> parse("family=megatron layers=0"), parse("two layers of 64")
    (None, None)
    """
    words = dict(word.partition("=")[::2] for word in text.split())
    try:
        values = {field.name: _read(words[field.name], field.type) for field in fields(Network) if field.name in words}
        network = Network(**values)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    sizes = (network.layers, network.hidden, network.intermediate, network.heads, network.kv_heads, network.vocab)
    possible = all(0 < size < LARGEST for size in (*sizes, network.head_dim)) and network.layers <= LAYERS_MAX
    return network if possible and network.expert_interval > 0 else None


def _read(text: str, kind: object) -> str | int:
    return text if kind == "str" else text == "True" if kind == "bool" else int(text)


def build(network: Network) -> Architecture:
    """Return the architecture of a network, with all of its parameters.

    >>> neox = Network("gpt-neox", 44, 6144, 24576, 64, 64, 96, 50432, tied=False)
    >>> build(neox).parameters
    20554567680
    """
    counted = count_parameters(network)
    total = counted.total()
    sparse = network.layers // network.expert_interval if network.experts else 0
    idle = network.experts - network.experts_per_token
    used = total - counted[parts.EXPERTS] // (network.experts or 1) * idle
    return Architecture(
        id=f"{network.layers} layers of {network.hidden:,}",
        family=network.family,
        parameters=total,
        active_parameters=used if sparse else None,
        layers=network.layers,
        hidden=network.hidden,
        intermediate=network.intermediate,
        gated_mlp=network.gated,
        attention_heads=network.heads,
        kv_heads=network.kv_heads,
        head_dim=network.head_dim,
        vocab=network.vocab,
        tied_embeddings=network.tied,
        trained_context=network.context or None,
        sliding_layers=0,
        linear_attention_layers=0,
        experts=network.experts or None,
        experts_per_token=network.experts_per_token or None,
        moe_layers=sparse or None,
        moe_intermediate=network.intermediate if sparse else None,
        task="generate",
        modality="text",
        source=SOURCE,
    )


def count_parameters(network: Network) -> Parts:
    """Return all parameters by part.

    >>> gpt3 = Network("megatron", 96, 12288, 49152, 96, 96, 128, 51200, positions=2048)
    >>> count_parameters(gpt3).total()  # 12 l h² + 13 l h + (V + s) h + 2 h: Narayanan et al., 2021, equation 2
    174615846912
    """
    hidden, norm = network.hidden, network.norm_vectors
    layer = parts.attention(
        hidden, network.heads, network.kv_heads, network.head_dim, network.qkv_bias, network.out_bias
    )
    layer += parts.vectors(network.norms * norm * hidden)
    if network.head_norms:
        layer += parts.vectors(2 * norm * network.head_dim)
    sparse = network.layers // network.expert_interval if network.experts else 0
    dense = parts.mlp(hidden, network.intermediate, network.gated, network.mlp_bias)
    expert = parts.mlp(hidden, network.intermediate, network.gated, part=parts.EXPERTS)
    routed = parts.times(expert, network.experts) + parts.linear(parts.ROUTERS, hidden, network.experts)
    found = parts.times(layer, network.layers) + parts.times(dense, network.layers - sparse)
    found += parts.times(routed, sparse) + parts.vectors(norm * hidden)
    found += parts.linear(parts.EMBEDDINGS, network.vocab + network.positions, hidden)
    return found if network.tied else found + parts.linear(parts.HEAD, network.vocab, hidden)


def is_size(value: object) -> bool:
    """Return whether a value can be a size of a network.

    >>> is_size(4096), is_size(0), is_size(True), is_size(10**12), is_size("4096")
    (True, False, False, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST


def multiply(hidden: int, ratio: object) -> int | None:
    """Return a width that is stated as a multiple of another, rounded down; None if it cannot be one.

    >>> multiply(768, 4), multiply(768, 2.67), multiply(768, float("inf")), multiply(768, "4")
    (3072, 2050, None, None)
    """
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < LARGEST:
        return None
    width = int(ratio * hidden)
    return width if is_size(width) else None


def pad_vocabulary(entries: int, multiple: int) -> int:
    """Return the rows of an embedding table that has a multiple of some number.

    >>> pad_vocabulary(50257, 128), pad_vocabulary(50277, 256)
    (50304, 50432)
    """
    return -(-entries // multiple) * multiple


def find_tokenizer(names: Iterable[str]) -> int | None:
    """Return the entries of the first tokenizer that is listed, by its name or that of its file."""
    plain = (name.rstrip("/").rsplit("/", 1)[-1].lower() for name in names)
    return next((TOKENIZERS[name] for name in plain if name in TOKENIZERS), None)


def find_smallest_vocabulary(shape: tuple[int, int, int, int, int], gated: bool, context: int) -> int | None:
    """Return the smallest vocabulary of the listed networks with these layers, widths and heads; None if there is none.

    Those that were trained at the same sequence length are preferred: Llama 3 has the shape of Mistral.

    >>> find_smallest_vocabulary((32, 4096, 14336, 32, 8), True, 8192)
    128256
    """
    found = _index_shapes().get((*shape, gated), ())
    alike = [vocab for vocab, trained in found if trained == context]
    return min(alike or (vocab for vocab, _ in found), default=None)


@cache
def _index_shapes() -> Mapping[tuple[object, ...], tuple[tuple[int, int | None], ...]]:
    """Return vocabulary and trained context of listed dense networks, by shape."""
    found: dict[tuple[object, ...], tuple[tuple[int, int | None], ...]] = {}
    for one in load_architectures():
        if one.task == "generate" and one.vocab and not one.experts:
            key = (one.layers, one.hidden, one.intermediate, one.attention_heads, one.kv_heads, one.gated_mlp)
            found[key] = (*found.get(key, ()), (one.vocab, one.trained_context))
    return found
