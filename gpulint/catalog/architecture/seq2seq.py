"""Encoder-decoders: T5, BART and Whisper with their relatives.

Source of every count: the classes of that model_type in huggingface/transformers 5.23.0, `modeling_*.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from gpulint.catalog.architecture import parts
from gpulint.catalog.architecture.config import LAYERS_MAX, Config, Unread
from gpulint.catalog.architecture.parts import ATTENTION, EMBEDDINGS, ENCODER, MLP, Parts


class Stacks(NamedTuple):
    """The two stacks of an encoder-decoder: layers, widths of the decoder, and all parameters by part."""

    encoder_layers: int
    layers: int
    hidden: int
    width: int
    heads: int
    head_dim: int
    gated: bool
    context: int
    encoder_tokens: int
    parts: Parts


def _layers(config: Config, *names: str) -> int:
    found = config.count(*names)
    if found > LAYERS_MAX:
        raise Unread(f"{names[0]} is not a size: {found}")
    return found


def t5(config: Config) -> Stacks:
    """T5: attention and MLPs without biases, a table of relative positions, one embedding for both stacks."""
    hidden, heads, head_dim, width = config.hidden, config.heads, config.count("d_kv"), config.count("d_ff")
    first = _layers(config, "num_layers")
    layers = _layers(config, "num_decoder_layers") if config.states("num_decoder_layers") else first
    gated = str(config.value("feed_forward_proj") or "").startswith("gated")
    attention, mlp = 4 * hidden * heads * head_dim, (3 if gated else 2) * hidden * width
    each = config.model_type == "umt5"
    table = config.count("relative_attention_num_buckets") * heads
    encoder = first * (attention + mlp + 2 * hidden) + table * (first if each else 1) + hidden
    found: Parts = Counter({ENCODER: encoder, EMBEDDINGS: config.vocab * hidden + table * (layers if each else 1)})
    found += Counter({ATTENTION: 2 * layers * attention, MLP: layers * mlp}) + parts.vectors((3 * layers + 1) * hidden)
    context = config.whole("n_positions")
    return Stacks(first, layers, hidden, width, heads, head_dim, gated, context, 0, found)


def _count_with_biases(hidden: int, width: int, key_bias: bool = True) -> tuple[int, int]:
    """Attention and MLP with biases; Whisper's keys have none."""
    attention = 4 * hidden * hidden + (4 if key_bias else 3) * hidden
    return attention, 2 * hidden * width + hidden + width


def _decoder(layers: int, hidden: int, width: int, key_bias: bool = True) -> Parts:
    """Decoder layers with two attentions and three norms; biases among the vectors."""
    biases = (8 if key_bias else 6) * hidden + width + hidden + 6 * hidden
    matrices = Counter({ATTENTION: 8 * hidden * hidden, MLP: 2 * hidden * width})
    return parts.times(matrices + parts.vectors(biases), layers)


def _encoder(layers: int, hidden: int, width: int, key_bias: bool = True) -> int:
    attention, mlp = _count_with_biases(hidden, width, key_bias)
    return layers * (attention + mlp + 4 * hidden)


def bart(positions: bool = True, embedding_norms: bool = True, final_norms: bool = False) -> Callable[[Config], Stacks]:
    """BART; mBART has norms at the end as well, M2M-100 and NLLB only those and positions without parameters."""

    def stacks(config: Config) -> Stacks:
        hidden, heads = config.hidden, config.count("decoder_attention_heads")
        first, layers = _layers(config, "encoder_layers"), _layers(config, "decoder_layers")
        width, context = config.count("decoder_ffn_dim"), config.count("max_position_embeddings")
        if config.value("tie_word_embeddings") is False:
            raise Unread("a BART with an output head of its own is not counted")
        table = (context + 2) * hidden if positions else 0
        norms = 2 * hidden * (embedding_norms + final_norms)
        encoder = _encoder(first, hidden, config.count("encoder_ffn_dim")) + table + norms
        found: Parts = Counter({ENCODER: encoder, EMBEDDINGS: config.vocab * hidden + table})
        found += _decoder(layers, hidden, width) + parts.vectors(norms)
        return Stacks(first, layers, hidden, width, heads, hidden // heads, False, context, 0, found)

    return stacks


def whisper(config: Config) -> Stacks:
    """Whisper: two convolutions and fixed positions before the encoder, learned positions before the decoder."""
    hidden, heads = config.hidden, config.count("decoder_attention_heads")
    first, layers = _layers(config, "encoder_layers"), _layers(config, "decoder_layers")
    width, context = config.count("decoder_ffn_dim"), config.count("max_target_positions")
    tokens = config.count("max_source_positions")
    convolutions = 3 * config.count("num_mel_bins") * hidden + 3 * hidden * hidden + 2 * hidden
    encoder = _encoder(first, hidden, config.count("encoder_ffn_dim"), key_bias=False)
    encoder += convolutions + tokens * hidden + 2 * hidden
    found: Parts = Counter({ENCODER: encoder, EMBEDDINGS: (config.vocab + context) * hidden})
    found += _decoder(layers, hidden, width, key_bias=False) + parts.vectors(2 * hidden)
    return Stacks(first, layers, hidden, width, heads, hidden // heads, False, context, tokens, found)


class EncoderDecoder(NamedTuple):
    """A family of encoder-decoders."""

    name: str
    stacks: Callable[[Config], Stacks]
    task: str = "generate"
    modality: str = "text"


FAMILIES = {
    "bart": EncoderDecoder("bart", bart()),
    "m2m_100": EncoderDecoder("m2m-100", bart(positions=False, embedding_norms=False, final_norms=True)),
    "mbart": EncoderDecoder("bart", bart(final_norms=True)),
    "mt5": EncoderDecoder("t5", t5),
    "t5": EncoderDecoder("t5", t5),
    "umt5": EncoderDecoder("t5", t5),
    "whisper": EncoderDecoder("whisper", whisper, "transcribe", "audio"),
}
