"""The architecture that a config.json describes: its shape, and its parameters by part if they can
be counted exactly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from gpulint.catalog.architecture import config, kept, parts, quantization, seq2seq, towers
from gpulint.catalog.architecture.blocks import FULL, LINEAR, SLIDING, Dims, Experts, latent
from gpulint.catalog.architecture.config import Config, Unread
from gpulint.catalog.architecture.families import ALIASES, FAMILIES, Family
from gpulint.catalog.architecture.model import Architecture
from gpulint.catalog.architecture.parts import Parts

DTYPES = frozenset({"float32", "bfloat16", "float16"})
CONTEXTS = (
    *("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length"),
    *("model_max_length", "n_ctx"),
)
GENERATES = (
    *("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForImageTextToText"),
    *("InternVLChatModel", "ChatGLMModel"),
)
"""Endings of the classes that generate, and two whose names do not tell."""


class ArchitectureRecord(NamedTuple):
    """An architecture, its parameters by part, and the reason if they are not counted."""

    architecture: Architecture
    parts: Parts | None
    uncounted: str = ""


class _Decoder(NamedTuple):
    """A text model: its config, family, kinds of layers, widths and experts."""

    config: Config
    family: Family
    kinds: list[str]
    dims: Dims
    sliding: Dims
    experts: Experts | None


def read(reference: str, text: str) -> ArchitectureRecord:
    """Return the architecture of a config.json. Raise Unread with the reason if there is none."""
    top = config.load(text)
    if top.model_type in seq2seq.FAMILIES:
        return _encoder_decoder(reference, top)
    decoder = _decoder(_find_text_level(top))
    task = _find_task(top, decoder.family)
    shape = _shape(reference, top, decoder, task)
    try:
        counted = _count_parts(top, decoder, task)
    except Unread as reason:
        return ArchitectureRecord(shape, None, str(reason))
    return ArchitectureRecord(_apply_parts(shape, counted, decoder, top), counted)


def _find_text_level(top: Config) -> Config:
    """Return the config level of the text model."""
    tower = towers.TOWERS.get(top.model_type)
    if tower is None:
        return top
    inner = top.stated.get(tower.text_key)
    if isinstance(inner, dict):
        return top.inner(tower.text_key, model_type=tower.text_type)
    if "num_hidden_layers" not in top.stated:
        raise Unread(f"{tower.text_key} is missing")
    return Config(top.stated, tower.text_type)


def _decoder(text: Config) -> _Decoder:
    family = FAMILIES.get(ALIASES.get(text.model_type, text.model_type))
    if family is None:
        raise Unread(f"the family {text.model_type[:60]} is not supported")
    if text.model_type in ALIASES:
        text = Config(text.stated, ALIASES[text.model_type])
    sliding = family.dims(text)
    full = family.full_dims(text) if family.full_dims else sliding
    return _Decoder(text, family, family.mixers(text), full, sliding, family.experts(text, full))


def _encoder_decoder(reference: str, top: Config) -> ArchitectureRecord:
    family = seq2seq.FAMILIES[top.model_type]
    stacks = family.stacks(top)
    tied = top.value("tie_word_embeddings")
    shape = Architecture(
        id=reference,
        family=family.name,
        layers=stacks.layers,
        hidden=stacks.hidden,
        intermediate=stacks.width,
        gated_mlp=stacks.gated,
        attention_heads=stacks.heads,
        kv_heads=stacks.heads,
        head_dim=stacks.head_dim,
        vocab=top.vocab,
        tied_embeddings=tied if isinstance(tied, bool) else None,
        trained_context=stacks.context or None,
        sliding_layers=0,
        linear_attention_layers=0,
        encoder_layers=stacks.encoder_layers,
        encoder_tokens=stacks.encoder_tokens or None,
        checkpoint_dtype=_dtype(top, top),
        checkpoint_quantization=quantization.find_format(top),
        task=family.task,
        modality=family.modality,
        source="config.json in the repository",
    )
    if not isinstance(tied, bool) or _task_words(top) not in ("", *GENERATES):
        return ArchitectureRecord(shape, None, "the head of this encoder-decoder is not known")
    counted = stacks.parts + (Counter() if tied else Counter({parts.HEAD: top.vocab * stacks.hidden}))
    return ArchitectureRecord(replace(shape, parameters=counted.total()), counted)


def _task_words(top: Config) -> str:
    """Return the known ending of the class that the file names; `?` for any other."""
    listed = top.sequence("architectures") or []
    return next((end for end in GENERATES if str(listed[0]).endswith(end)), "?") if listed else ""


# ---- the shape


def _shape(reference: str, top: Config, decoder: _Decoder, task: str) -> Architecture:
    text, family, kinds, dims, sliding, experts = decoder
    context = _read_context(decoder)
    window = text.whole(*family.window)
    windowed = kinds.count(SLIDING) if window and not (context and window >= context) else 0
    state = family.state(text) if LINEAR in kinds and family.state else None
    is_latent = family.attention is latent
    return Architecture(
        id=reference,
        family=towers.family(top.model_type) or family.name,
        layers=len(kinds),
        hidden=dims.hidden,
        intermediate=dims.width,
        gated_mlp=family.gated,
        attention_heads=dims.heads or None,
        kv_heads=dims.kv_heads or None,
        head_dim=dims.head_dim or None,
        vocab=text.vocab,
        tied_embeddings=_is_tied(top, text, family, task),
        trained_context=context,
        sliding_window=window if windowed else None,
        sliding_layers=windowed,
        linear_attention_layers=kinds.count(LINEAR),
        kv_lora_rank=text.count("kv_lora_rank") if is_latent else None,
        qk_rope_head_dim=text.count("qk_rope_head_dim") if is_latent else None,
        experts=experts.count if experts else None,
        experts_per_token=experts.per_token if experts else None,
        moe_layers=experts.layers if experts else None,
        moe_intermediate=experts.width if experts else None,
        moe_hidden=experts.hidden or None if experts else None,
        shared_intermediate=experts.shared_width if experts else None,
        sliding_kv_heads=sliding.kv_heads if windowed and sliding.kv_heads != dims.kv_heads else None,
        sliding_head_dim=sliding.head_dim if windowed and sliding.head_dim != dims.head_dim else None,
        kv_shared_layers=text.whole(family.shared_layers) or None if family.shared_layers else None,
        state_elements=state.elements if state else None,
        indexer_head_dim=text.whole("index_head_dim") or None if is_latent else None,
        checkpoint_dtype=_dtype(top, text),
        checkpoint_quantization=quantization.find_format(top),
        task=task or "generate",
        modality=towers.modality(top.model_type),
        source="config.json in the repository",
    )


def _find_task(top: Config, family: Family) -> str:
    """Return the task of the class that the file names; empty if its head is unknown."""
    listed = top.sequence("architectures") or []
    name = str(listed[0]) if listed else ""
    if name.endswith("ForSequenceClassification"):
        return "score"
    if family.encodes:
        return "embed" if name.endswith("Model") or not name else ""
    if name.endswith(GENERATES) or not name:
        return "generate"
    return "embed" if name.endswith("Model") else ""


def _is_tied(top: Config, text: Config, family: Family, task: str) -> bool | None:
    """Return whether the output head reuses the embeddings or is missing; None if levels disagree
    or none declares it.
    """
    if family.encodes or task in ("embed", "score"):
        return True
    stated = [level.stated["tie_word_embeddings"] for level in (top, text) if "tie_word_embeddings" in level.stated]
    default = text.value("tie_word_embeddings")
    found = stated or [top.value("tie_word_embeddings") if default is None else default]
    return found[0] if isinstance(found[0], bool) and found[0] == found[-1] else None


def _dtype(top: Config, text: Config) -> str | None:
    for level in (top, text):
        value = level.stated.get("torch_dtype") or level.stated.get("dtype")
        if isinstance(value, str):
            return value if value in DTYPES else None
    return None


def _read_context(decoder: _Decoder) -> int | None:
    """Return the longest sequence; None if the positions are scaled to another length."""
    text, family = decoder.config, decoder.family
    stated = text.whole(*CONTEXTS)
    scaling = text.value("rope_scaling") or text.value("rope_parameters")
    if isinstance(scaling, dict) and not text.model_type.startswith("gemma"):
        rope = Config(scaling, "")
        kind = str(rope.value("rope_type", "type") or "default")
        factor = rope.value("factor")
        if kind in ("yarn", "linear", "dynamic", "deepseek_yarn") and isinstance(factor, int | float):
            base = rope.whole("original_max_position_embeddings") or stated
            return stated if base * factor == stated else None
    return stated - family.padding if stated > family.padding else None


# ---- parameters


def _count_parts(top: Config, decoder: _Decoder, task: str) -> Parts:
    """Return all parameters by part. Raise Unread if one part cannot be counted."""
    if not task:
        raise Unread(f"the head of {str((top.sequence('architectures') or [''])[0])[:60]} is not known")
    tied = _is_tied(top, decoder.config, decoder.family, task)
    if tied is None:
        raise Unread("tie_word_embeddings is missing, or two levels of the file disagree on it")
    return _layers(decoder) + _count_ends(top, decoder, task, tied) + towers.count_parts(top, decoder.dims.hidden)


def _layers(decoder: _Decoder) -> Parts:
    text, family, kinds, dims, sliding, experts = decoder
    found = parts.times(family.attention(text, dims, FULL), kinds.count(FULL)) if FULL in kinds else Counter()
    if SLIDING in kinds:
        found += parts.times(family.attention(text, sliding, SLIDING), kinds.count(SLIDING))
    if LINEAR in kinds:
        if family.state is None:
            raise Unread("layer_types names kinds of layers that the family does not have")
        found += parts.times(family.state(text).parts, kinds.count(LINEAR))
    found += family.mlps(text, dims, family.blocks(text) - (experts.layers if experts else 0))
    if experts and (text.flag("mlp_bias") or text.flag("use_bias")):
        raise Unread("experts with biases are not counted in this family")
    if experts:
        layer = parts.times(experts.expert, experts.count) + experts.router + experts.shared
        found += parts.times(layer, experts.layers)
    norms = family.norms * family.blocks(text) + family.final_norms
    return found + parts.vectors(norms * family.norm * dims.hidden) + family.own(text, dims)


def _count_ends(top: Config, decoder: _Decoder, task: str, tied: bool) -> Parts:
    """Return the embeddings, and the head of the task."""
    text, family, hidden = decoder.config, decoder.family, decoder.dims.hidden
    found: Parts = Counter({parts.EMBEDDINGS: text.vocab * hidden})
    if task == "generate" and not tied:
        found += Counter({parts.HEAD: text.vocab * hidden})
    if task == "generate" and (family.head_bias if isinstance(family.head_bias, bool) else text.flag(family.head_bias)):
        found += parts.vectors(text.vocab)
    if task == "score":
        found += _count_classifier(top, family, hidden)
    elif family.encodes and family.name in ("bert", "xlm-roberta", "mpnet"):
        found += parts.linear(parts.HEAD, hidden, hidden, True)
    return found


def _count_classifier(top: Config, family: Family, hidden: int) -> Parts:
    """Return the classifier of a reward or ranking model."""
    names = top.value("id2label")
    labels = len(names) if isinstance(names, dict) and names else top.whole("num_labels") or 2
    if family.name in ("bert", "distilbert", "mpnet", "xlm-roberta"):
        return parts.linear(parts.HEAD, hidden, hidden, True) + parts.linear(parts.HEAD, hidden, labels, True)
    if family.name == "modernbert":
        head = parts.linear(parts.HEAD, hidden, hidden) + parts.vectors(hidden)
        return head + parts.linear(parts.HEAD, hidden, labels, True)
    if family.encodes:
        raise Unread("the classifier of this family is not counted")
    return parts.linear(parts.HEAD, hidden, labels)


def _apply_parts(shape: Architecture, counted: Parts, decoder: _Decoder, top: Config) -> Architecture:
    total, experts = counted.total(), decoder.experts
    idle = experts.expert.total() * (experts.count - experts.per_token) * experts.layers if experts else 0
    towers_ = counted[parts.TOWERS]
    return replace(
        shape,
        parameters=total,
        active_parameters=total - idle if experts else None,
        encoder_parameters=towers_ or None,
        unquantised_parameters=kept.count_unquantised(top, counted, shape),
    )
