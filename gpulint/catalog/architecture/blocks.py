"""Building blocks of the families: the kinds of their layers, attention, MLPs and routed experts,
by config keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from gpulint.catalog.architecture import parts
from gpulint.catalog.architecture.config import Config, Unread
from gpulint.catalog.architecture.parts import Parts

FULL, SLIDING, LINEAR = "full", "sliding", "linear"
KINDS = {
    "full_attention": FULL,
    "attention": FULL,
    "indexed_attention": FULL,
    "sliding_attention": SLIDING,
    "chunked_attention": SLIDING,
    "linear_attention": LINEAR,
    "mamba": LINEAR,
    "mamba2": LINEAR,
    "conv": LINEAR,
    "short_conv": LINEAR,
}
"""What config.json calls the kinds of layers."""

Flag = bool | str
"""Whether a module has something: always, never, or as the config key says."""


class Dims(NamedTuple):
    """Widths that attention and MLP share."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int


@dataclass(frozen=True, slots=True)
class Experts:
    """Routed experts: their count, the experts per token, their layers, and the parameters of each
    piece. `hidden` is the width of what they read, if it is not that of the network.
    """

    count: int
    per_token: int
    width: int
    layers: int
    expert: Parts
    router: Parts
    shared_width: int = 0
    shared: Parts = field(default_factory=Counter)
    hidden: int = 0


Mixers = Callable[[Config], list[str]]
Attention = Callable[[Config, Dims, str], Parts]
Vectors = Callable[[Config, Dims], Parts]
Routed = Callable[[Config, Dims], "Experts | None"]


def read_dims(config: Config) -> Dims:
    """Return the widths by the names that most families use."""
    return Dims(config.hidden, config.heads, config.kv_heads, config.head_dim, config.width)


def build_dims(kv_heads: Callable[[Config], int]) -> Callable[[Config], Dims]:
    """Return the widths of a family that declares its KV heads in its own way."""
    return lambda config: read_dims(config)._replace(kv_heads=kv_heads(config))


def says(config: Config, flag: Flag) -> bool:
    return config.flag(flag) if isinstance(flag, str) else flag


# ---- kinds of layers


def read_kinds(config: Config, key: str = "layer_types") -> list[str] | None:
    """Return the kinds of all layers as the file lists them."""
    listed = config.sequence(key)
    if listed is None:
        return None
    if len(listed) != config.layers:
        raise Unread(f"{key} names {len(listed)} layers of {config.layers}")
    kinds = [KINDS.get(str(kind)) for kind in listed]
    if None in kinds:
        raise Unread(f"{key} holds an unknown kind: {str(listed[kinds.index(None)])[:40]}")
    return [kind for kind in kinds if kind]


def place_uniform(config: Config) -> list[str]:
    """Return equal layers: sliding-window layers if a window is declared."""
    return read_kinds(config) or [SLIDING if config.whole("sliding_window") else FULL] * config.layers


def all_full(config: Config) -> list[str]:
    return [FULL] * config.layers


def default_to_linear(config: Config) -> list[str]:
    """Return linear-attention layers, unless layer_types declares otherwise."""
    return read_kinds(config) or all_linear(config)


def all_linear(config: Config) -> list[str]:
    return [LINEAR] * config.layers


def place_full_every(period: int, *keys: str, others: str = SLIDING) -> Mixers:
    """Return layers of which every `period`-th has full attention. A key may declare another
    period.
    """

    def mixers(config: Config) -> list[str]:
        every = config.whole(*keys) or period if keys else period
        return read_kinds(config) or [others if (at + 1) % every else FULL for at in range(config.layers)]

    return mixers


def place_full_first(period_key: str, offset_key: str = "", others: str = SLIDING) -> Mixers:
    """Return layers with full attention at offset, offset + period …"""

    def mixers(config: Config) -> list[str]:
        every, offset = config.count(period_key), config.whole(offset_key) if offset_key else 0
        stated = read_kinds(config)
        return stated or [FULL if at % every == offset else others for at in range(config.layers)]

    return mixers


def place_sliding_last(config: Config) -> list[str]:
    """Qwen2: with use_sliding_window, the layers from max_window_layers on have sliding-window
    attention.
    """
    first = config.whole("max_window_layers") if config.flag("use_sliding_window") else config.layers
    stated = read_kinds(config)
    return stated or [SLIDING if at >= first else FULL for at in range(config.layers)]


def place_full_at(key: str) -> Mixers:
    """Return layers with full attention at the indices that a key lists. The others keep a
    recurrent state.
    """

    def mixers(config: Config) -> list[str]:
        places = config.indices(key)
        stated = read_kinds(config)
        return stated or [FULL if at in places else LINEAR for at in range(config.layers)]

    return mixers


# ---- attention


def count_projections(qkv_bias: Flag = False, out_bias: Flag = False, norms: Vectors | None = None) -> Attention:
    """Return query, key, value and output projections, with norms on queries and keys if the family
    has them.
    """

    def attention(config: Config, dims: Dims, _: str) -> Parts:
        biases = says(config, qkv_bias), says(config, out_bias)
        found = parts.attention(dims.hidden, dims.heads, dims.kv_heads, dims.head_dim, *biases)
        return found + (norms(config, dims) if norms else Counter())

    return attention


def head_norms(_: Config, dims: Dims) -> Parts:
    """Return one norm for all query heads and one for all key heads."""
    return parts.vectors(2 * dims.head_dim)


def wide_norms(_: Config, dims: Dims) -> Parts:
    """Return norms across all heads."""
    return parts.vectors((dims.heads + dims.kv_heads) * dims.head_dim)


def sinks(_: Config, dims: Dims) -> Parts:
    return parts.vectors(dims.heads)


def count_norms_when(key: str, norms: Vectors) -> Vectors:
    """Return norms that a key switches on."""
    return lambda config, dims: norms(config, dims) if config.flag(key) else Counter()


def latent_dims(config: Config) -> Dims:
    """Return the widths of MLA, where a query head has a rotary part and another part."""
    head_dim = config.count("qk_nope_head_dim") + config.count("qk_rope_head_dim")
    return Dims(config.hidden, config.heads, config.kv_heads, head_dim, config.width)


def latent(config: Config, dims: Dims, _: str) -> Parts:
    """Return multi-head latent attention."""
    query_rank = config.whole("q_lora_rank")
    return parts.latent_attention(
        dims.hidden,
        dims.heads,
        query_rank,
        config.count("kv_lora_rank"),
        config.count("qk_nope_head_dim"),
        config.count("qk_rope_head_dim"),
        config.count("v_head_dim"),
        config.flag("attention_bias"),
    )


# ---- MLPs


def count_dense(gated: bool = True, bias: Flag = False) -> Callable[[Config, Dims, int], Parts]:
    """Return the MLPs of this many layers."""

    def mlps(config: Config, dims: Dims, layers: int) -> Parts:
        return parts.times(parts.mlp(dims.hidden, dims.width, gated, says(config, bias)), layers)

    return mlps


def count_no_mlp(_: Config, __: Dims, ___: int) -> Parts:
    return Counter()


# ---- routed experts


def count_all_layers(config: Config) -> int:
    return config.layers


def place_experts_by_step(config: Config) -> int:
    """Qwen: every decoder_sparse_step-th layer has experts, except those in mlp_only_layers."""
    step, dense_ones = config.count("decoder_sparse_step"), config.indices("mlp_only_layers")
    return sum((at + 1) % step == 0 and at not in dense_ones for at in range(config.layers))


def place_experts_after_first(*keys: str) -> Callable[[Config], int]:
    """Return all but the first layers, whose number a key declares, or the layers that
    mlp_layer_types calls sparse.
    """

    def layers(config: Config) -> int:
        if (listed := config.sequence("mlp_layer_types")) is not None:
            return listed.count("sparse")
        every = config.whole("moe_layer_freq") or 1
        return sum(at % every == 0 for at in range(config.whole(*keys), config.layers))

    return layers


def count_routed(
    layers: Callable[[Config], int] = count_all_layers,
    width: tuple[str, ...] = ("moe_intermediate_size",),
    shared: Callable[[Config, int], int] = lambda config, width: 0,
    bias: bool = False,
    shared_gate: bool = False,
    gated: bool = True,
) -> Routed:
    """Return routed experts of one width, shared experts, and a router with or without a bias per
    expert.
    """

    def experts(config: Config, dims: Dims) -> Experts | None:
        count, sparse = config.whole(*COUNTS), layers(config)
        if not count or not sparse:
            return None
        one = config.count(*width)
        beside = shared(config, one)
        router = parts.linear(parts.ROUTERS, dims.hidden, count, bias)
        router += parts.linear(parts.ROUTERS, dims.hidden, 1) if shared_gate and beside else Counter()
        return Experts(
            count=count,
            per_token=config.count(*VISITED),
            width=one,
            layers=sparse,
            expert=parts.mlp(dims.hidden, one, gated, part=parts.EXPERTS),
            router=router,
            shared_width=beside,
            shared=parts.mlp(dims.hidden, beside, gated) if beside else Counter(),
        )

    return experts


COUNTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
VISITED = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_topk", "moe_k", "moe_top_k")


def count_shared(*keys: str) -> Callable[[Config, int], int]:
    """Return this many shared experts, each as wide as a routed one."""
    return lambda config, width: config.whole(*keys) * width


def read_shared_width(key: str) -> Callable[[Config, int], int]:
    return lambda config, _: config.whole(key)
