"""Parameters that a quantised release keeps in 16 bits, counted from the modules that
quantization_config excludes.
"""

from __future__ import annotations

import re

from gpulint.catalog.architecture import parts, quantization
from gpulint.catalog.architecture.config import Config, Unread
from gpulint.catalog.architecture.model import Architecture
from gpulint.catalog.architecture.parts import Parts

LISTS = ("ignore", "ignored_layers", "modules_to_not_convert", "exclude_modules", "llm_int8_skip_modules")
ALWAYS = (parts.EMBEDDINGS, parts.VECTORS, parts.ROUTERS, parts.HEAD)
"""Parts that no linear layer of a block holds, or that engines load in 16 bits all the same."""
DENSE = "mlp.(gate|up|gate_up|down)_proj"
WHOLE: dict[str, tuple[frozenset[str], ...]] = {
    parts.HEAD: tuple(frozenset({name}) for name in ("lm_head", "embed_tokens", "output", "norm")),
    parts.ROUTERS: tuple(
        frozenset({one})
        for one in (
            *("mlp.gate", "mlp.router", "block_sparse_moe.gate", "feed_forward.router", "router"),
            *("mlp.shared_expert_gate", "input_layernorm", "post_attention_layernorm"),
        )
    ),
    parts.ATTENTION: (frozenset({"self_attn"}),),
    parts.LINEAR_ATTENTION: (frozenset({"linear_attn"}),),
    parts.MLP: (frozenset({"shared_experts", DENSE}), frozenset({"mlp.shared_experts", DENSE})),
    parts.TOWERS: (
        frozenset({"visual"}),
        frozenset({"vision_tower", "multi_modal_projector"}),
        frozenset({"vision_tower", "embed_vision"}),
        frozenset({"vision_model", "multi_modal_projector"}),
    ),
}
"""The modules that make up a part, by the names that lists give them; one of the sets is the whole part."""
MODULES = {module: part for part, ways in WHOLE.items() for way in ways for module in way}
LEAVES = ("q_proj", "k_proj", "v_proj", "o_proj")


def count_unquantised(top: Config, counted: Parts, shape: Architecture) -> int | None:
    """Return the parameters that stay in 16 bits; None if the checkpoint is not quantised or its
    config does not list them.
    """
    settings = quantization.find_declaration(top)
    if settings is None:
        return None
    if shape.indexer_head_dim is not None:
        return None  # releases keep the indexer's weight projection in 16 bits, which no list says
    if settings.value("quant_method") == "mxfp4":
        return counted.total() - counted[parts.EXPERTS]
    try:
        named = _match_parts(_list_excluded(settings), shape)
    except Unread:
        return None
    if named is None:
        return None
    if "quantization_config" not in top.stated and "compression_config" not in top.stated:
        named = named | {parts.TOWERS}
    if not _is_complete(settings, named, counted, latent=shape.kv_lora_rank is not None):
        return None
    return sum(counted[part] for part in {*ALWAYS, *named})


def _list_excluded(settings: Config) -> list[str]:
    """Return all modules that the settings exclude."""
    return [str(module) for key in LISTS for module in settings.sequence(key) or ()]


def _match_parts(listed: list[str], shape: Architecture) -> set[str] | None:
    """Return the parts that a list excludes completely; None if it names another module or a part
    of one.
    """
    places: dict[str, set[str]] = {}
    for name in listed:
        layer, module = _split(name)
        prefix = next((name for name in MODULES if module == name or module.startswith(f"{name}.")), None)
        if prefix is None:
            return None
        places.setdefault(prefix, set()).add(f"{layer}/{module[len(prefix) + 1 :]}")
    linear = shape.linear_attention_layers or 0
    expected = {"self_attn": (shape.layers or 0) - linear, "linear_attn": linear}
    if not all(_covers(places[module], layers) for module, layers in expected.items() if module in places):
        return None
    found = {MODULES[module] for module in places}
    return found if all(any(way <= places.keys() for way in WHOLE[part]) for part in found) else None


def _covers(places: set[str], layers: int) -> bool:
    """Return whether `layer/leaf` places cover a module in this many layers: the module itself, or
    all its four matrices.
    """
    return any(all(_everywhere(places, leaf, layers) for leaf in leaves) for leaves in (("",), LEAVES))


def _everywhere(places: set[str], leaf: str, layers: int) -> bool:
    found = {layer for layer, _, named in (place.partition("/") for place in places) if named == leaf}
    return "" in found or len(found) == layers


def _split(name: str) -> tuple[str, str]:
    """Return the layer's number (empty: all) and the module from a name, a glob or a regular
    expression.

    >>> _split("model.layers.3.self_attn.q_proj"), _split("re:.*self_attn.*"), _split("model.visual*")
    (('3', 'self_attn.q_proj'), ('', 'self_attn'), ('', 'visual'))
    """
    plain = name.removeprefix("re:").replace("\\", "").strip("^$")
    plain = re.sub(r"^(?:\.?\*)?\.?(?:(?:model|language_model|transformer)\.)*", "", plain)
    plain = re.sub(r"(?:[.]|(?<!\*))[*]++$", "", plain).rstrip(".")
    found = re.match(r"layers\.(\d+|\.?\*|d\+)\.(.+)", plain)
    if found is None:
        return "", plain
    return (found[1] if found[1].isdigit() else ""), found[2]


def _is_complete(settings: Config, named: set[str], counted: Parts, latent: bool) -> bool:
    """Return whether the list decides every part: towers, routers that are linear layers (not
    DeepSeek's), the head.
    """
    method = str(settings.value("quant_method") or settings.value("quant_algo")).lower()
    if counted[parts.TOWERS] and parts.TOWERS not in named:
        return False
    if counted[parts.ROUTERS] and parts.ROUTERS not in named and method != "fp8" and not latent:
        return False
    leaves_head_in = method in ("compressed-tensors", "modelopt") and parts.HEAD not in named
    return not (counted[parts.HEAD] and leaves_head_in) and not counted[parts.OTHER]
