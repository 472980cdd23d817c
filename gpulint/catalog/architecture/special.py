"""Code for single families: layouts, recurrent mixers, attention, MLPs, experts and extra tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from gpulint.catalog.architecture import blocks, parts
from gpulint.catalog.architecture.blocks import (
    FULL,
    LINEAR,
    SLIDING,
    Dims,
    Experts,
    Flag,
    all_full,
    count_projections,
    head_norms,
    place_full_every,
)
from gpulint.catalog.architecture.config import Config, Unread
from gpulint.catalog.architecture.parts import EMBEDDINGS, OTHER, Parts, State

# ---- layouts that only one family has


def exaone_layers(config: Config) -> list[str]:
    """EXAONE 4: `LLLG` or a period; the last layer has full attention."""
    if (stated := blocks.read_kinds(config)) or not config.whole("sliding_window"):
        return stated or all_full(config)
    pattern = config.value("sliding_window_pattern")
    if isinstance(pattern, str) and pattern:
        kinds = [SLIDING if pattern[at % len(pattern)] == "L" else FULL for at in range(config.layers)]
        return [*kinds[:-1], FULL]
    return place_full_every(4, "sliding_window_pattern")(config)


def gemma4_layers(config: Config) -> list[str]:
    """Gemma 4: five sliding layers before each full one; the last is full."""
    return [*place_full_every(6)(config)[:-1], FULL]


def minimax_layers(config: Config) -> list[str]:
    """MiniMax-Text-01: attn_type_list has 1 for softmax attention and 0 for lightning attention."""
    listed = config.sequence("attn_type_list")
    if listed is None:
        return blocks.read_kinds(config) or [LINEAR if at % 2 else FULL for at in range(config.layers)]
    if len(listed) != config.layers:
        raise Unread(f"attn_type_list names {len(listed)} layers of {config.layers}")
    return [FULL if kind == 1 else LINEAR for kind in listed]


def kimi_layers(config: Config) -> list[str]:
    """Kimi Linear: linear_attn_config lists the layers of both kinds, counted from 1."""
    if stated := blocks.read_kinds(config):
        return stated
    places = config.inner("linear_attn_config").indices("full_attn_layers")
    if not places:
        raise Unread("linear_attn_config is missing")
    return [FULL if at + 1 in places else LINEAR for at in range(config.layers)]


def nemotron_blocks(config: Config) -> str:
    """Nemotron-H: each block is one mixer or MLP: M Mamba, * attention, - MLP, E experts."""
    letters = {"linear_attention": "M", "mamba": "M", "full_attention": "*", "attention": "*", "mlp": "-", "moe": "E"}
    pattern = config.value("hybrid_override_pattern")
    if not isinstance(pattern, str):
        listed = config.sequence("layers_block_type") or config.sequence("layer_types") or []
        pattern = "".join(letters.get(str(kind), "?") for kind in listed)
    if not pattern or set(pattern) - set("M*-E"):
        raise Unread("hybrid_override_pattern is missing or holds an unknown kind of block")
    if config.states("num_hidden_layers") and config.layers != len(pattern):
        raise Unread(f"hybrid_override_pattern names {len(pattern)} blocks of {config.layers}")
    return pattern


def nemotron_mixers(config: Config) -> list[str]:
    return [FULL if kind == "*" else LINEAR for kind in nemotron_blocks(config) if kind in "M*"]


def place_both(config: Config) -> list[str]:
    """Falcon-H1: attention and Mamba side by side in each block."""
    return [LINEAR, FULL] * config.layers


def gpt_neo_layers(config: Config) -> list[str]:
    """GPT-Neo: attention_types holds pairs of a pattern and how often it repeats."""
    listed = config.sequence("attention_layers")
    if listed is None:
        listed = ["global" if at % 2 == 0 else "local" for at in range(config.layers)]
    if len(listed) != config.layers:
        raise Unread(f"attention_layers names {len(listed)} layers of {config.layers}")
    return [SLIDING if kind == "local" else FULL for kind in listed]


def place_sliding_if_enabled(config: Config) -> list[str]:
    """Qwen3 MoE: all layers have sliding-window attention if use_sliding_window is set."""
    switched = config.flag("use_sliding_window") and config.whole("sliding_window")
    return [SLIDING if switched else FULL] * config.layers


# ---- mixers that keep a state


def mamba(config: Config) -> State:
    hidden = config.hidden
    inner = config.whole("intermediate_size") if config.model_type != "jamba" else 0
    inner = inner or config.count("expand", "mamba_expand") * hidden
    rank = config.value("time_step_rank", "mamba_dt_rank")
    return parts.mamba(
        inner,
        hidden,
        config.count("state_size", "mamba_d_state"),
        config.count("conv_kernel", "mamba_d_conv"),
        -(-hidden // 16) if rank in (None, "auto") else config.count("time_step_rank", "mamba_dt_rank"),
        config.flag("use_conv_bias", "mamba_conv_bias"),
        config.flag("use_bias", "mamba_proj_bias"),
    )


def jamba_mamba(config: Config) -> State:
    """Jamba: norms on the time step, B and C."""
    found, state = mamba(config), config.count("mamba_d_state")
    rank = config.value("mamba_dt_rank")
    rank = -(-config.hidden // 16) if rank in (None, "auto") else config.count("mamba_dt_rank")
    return found._replace(parts=found.parts + parts.vectors(rank, 2 * state))


def mamba2(norm: Flag = True) -> Callable[[Config], State]:
    def state(config: Config) -> State:
        if config.model_type == "falcon_h1" and (config.flag("projectors_bias") or config.flag("mamba_proj_bias")):
            raise Unread("a Falcon-H1 with biases of its projections is not counted")
        heads = config.count("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads")
        inner = config.whole("mamba_d_ssm") or config.whole("expand", "mamba_expand") * config.hidden
        head_dim = config.value("mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim")
        bias = "use_bias" if config.states("use_bias") else "mamba_proj_bias"
        return parts.mamba2(
            config.hidden,
            heads,
            inner // heads
            if head_dim in (None, "auto")
            else config.count("mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim"),
            config.count("mamba_n_groups", "n_groups", "mamba_ngroups"),
            config.count("mamba_d_state", "ssm_state_size", "state_size"),
            config.count("mamba_d_conv", "conv_kernel"),
            config.flag("mamba_conv_bias", "use_conv_bias"),
            config.flag(bias),
            blocks.says(config, norm),
        )

    return state


def delta_net(config: Config) -> State:
    return parts.delta_net(
        config.hidden,
        config.count("linear_num_key_heads"),
        config.count("linear_num_value_heads"),
        config.count("linear_key_head_dim"),
        config.count("linear_value_head_dim"),
        config.count("linear_conv_kernel_dim"),
    )


def kimi_delta(config: Config) -> State:
    inner = config.inner("linear_attn_config")
    return parts.kimi_delta(
        config.hidden,
        inner.whole("num_heads") or config.count("linear_num_heads"),
        inner.whole("head_dim") or config.count("linear_head_dim"),
        inner.whole("short_conv_kernel_size") or config.count("linear_conv_kernel_dim"),
    )


def lightning(config: Config) -> State:
    return parts.lightning(config.hidden, config.heads, config.head_dim)


def short_convolution(config: Config) -> State:
    return parts.short_convolution(config.hidden, config.count("conv_L_cache"), config.flag("conv_bias"))


# ---- attention that only one family has


def count_gated_attention(config: Config, dims: Dims, kind: str) -> Parts:
    """Qwen3-Next: queries come with an output gate of the same width."""
    found = count_projections("attention_bias", "attention_bias", head_norms)(config, dims, kind)
    return found + parts.linear(parts.ATTENTION, dims.hidden, dims.heads * dims.head_dim, config.flag("attention_bias"))


def gemma4_attention(config: Config, dims: Dims, kind: str) -> Parts:
    """Gemma 4: full layers may use their keys as values."""
    keys = dims.hidden * dims.kv_heads * dims.head_dim
    found = count_projections("attention_bias", "attention_bias", head_norms)(config, dims, kind)
    if kind == FULL and config.flag("attention_k_eq_v"):
        found = found - Counter({parts.ATTENTION: keys})
    return found


def gemma4_full_dims(config: Config) -> Dims:
    """Gemma 4: full layers have heads of their own width and number."""
    found = blocks.read_dims(config)
    heads = config.whole("num_global_key_value_heads") if config.flag("attention_k_eq_v") else 0
    return found._replace(head_dim=config.count("global_head_dim"), kv_heads=heads or found.kv_heads)


def falcon_kv_heads(config: Config) -> int:
    if config.flag("new_decoder_architecture"):
        return config.whole("num_kv_heads", "n_head_kv") or config.heads
    return 1 if config.flag("multi_query") else config.heads


def many_or_one(key: str) -> Callable[[Config], int]:
    return lambda config: 1 if config.flag(key) else config.heads


def chatglm_dims(config: Config) -> Dims:
    """ChatGLM2 and later. The first ChatGLM, with two-dimensional positions, has another
    architecture.
    """
    if config.flag("position_encoding_2d") or not config.whole("padded_vocab_size"):
        raise Unread("the first ChatGLM is not supported")
    if config.flag("post_layer_norm") is False or config.flag("rmsnorm") is False:
        raise Unread("a ChatGLM without RMSNorm or final norm is not counted")
    kv_heads = config.count("multi_query_group_num") if config.flag("multi_query_attention") else config.heads
    return blocks.read_dims(config)._replace(kv_heads=kv_heads)


def qwen_dims(config: Config) -> Dims:
    """The first Qwen declares the width of both halves of the MLP's input."""
    if not config.flag("no_bias") or config.whole("intermediate_size") % 2:
        raise Unread("a Qwen with biases is not counted")
    return blocks.read_dims(config)._replace(width=config.count("intermediate_size") // 2)


def place_no_attention(config: Config) -> Dims:
    """Mamba: layers without heads."""
    return Dims(config.hidden, 0, 0, 0, 0)


def build_routed_dims(config: Config) -> Dims:
    """Qwen3.5: with routed experts in every layer there is no MLP of another width."""
    return Dims(config.hidden, config.heads, config.kv_heads, config.head_dim, config.whole("intermediate_size"))


def granite_hybrid_dims(config: Config) -> Dims:
    """Granite 4.0: without routed experts the shared MLP is the only one."""
    width = "intermediate_size" if config.whole("num_local_experts") else "shared_intermediate_size"
    return Dims(config.hidden, config.heads, config.kv_heads, config.head_dim, config.count(width))


# ---- parts that only one family has


def nemotron_mlps(config: Config, dims: Dims, _: int) -> Parts:
    found = parts.mlp(dims.hidden, dims.width, gated=False, bias=config.flag("mlp_bias"))
    return parts.times(found, nemotron_blocks(config).count("-"))


def nemotron_experts(config: Config, dims: Dims) -> Experts | None:
    """Nemotron 3: experts without a gate matrix, in a narrower space if moe_latent_size declares
    one.
    """
    if not (layers := nemotron_blocks(config).count("E")):
        return None
    count, width = config.count("n_routed_experts"), config.count("moe_intermediate_size")
    shared, latent = config.count("moe_shared_expert_intermediate_size"), config.whole("moe_latent_size")
    beside = parts.mlp(dims.hidden, shared, gated=False)
    if latent:
        beside += parts.linear(parts.MLP, dims.hidden, latent) + parts.linear(parts.MLP, latent, dims.hidden)
    return Experts(
        count=count,
        per_token=config.count("num_experts_per_tok"),
        width=width,
        layers=layers,
        expert=parts.mlp(latent or dims.hidden, width, gated=False, part=parts.EXPERTS),
        router=parts.linear(parts.ROUTERS, dims.hidden, count, True),
        shared_width=shared,
        shared=beside,
        hidden=latent or 0,
    )


def nemotron_norms(config: Config, dims: Dims) -> Parts:
    """One norm a block."""
    if any(config.flag(key) for key in ("attention_bias", "mamba_proj_bias", "mlp_bias", "tie_word_embeddings")):
        raise Unread("a Nemotron-H with biases or tied embeddings is not counted")
    return parts.vectors(dims.hidden * len(nemotron_blocks(config)))


def gpt_oss_experts(config: Config, dims: Dims) -> Experts | None:
    """gpt-oss: experts and router with biases."""
    count, width = config.count("num_local_experts"), dims.width
    return Experts(
        count=count,
        per_token=config.count("num_experts_per_tok", "experts_per_token"),
        width=width,
        layers=config.layers,
        expert=parts.mlp(dims.hidden, width, gated=True, bias=True, part=parts.EXPERTS),
        router=parts.linear(parts.ROUTERS, dims.hidden, count, True),
    )


def llama4_layers(config: Config) -> int:
    if (listed := config.sequence("moe_layers")) is not None:
        return len(listed)
    step = config.count("interleave_moe_layer_step")
    return sum((at + 1) % step == 0 for at in range(config.layers))


def llama4_dims(config: Config) -> Dims:
    """Llama 4: intermediate_size is an expert's width, intermediate_size_mlp that of a dense MLP."""
    return blocks.read_dims(config)._replace(width=config.count("intermediate_size_mlp"))


def jamba_layers(config: Config) -> int:
    period, offset = config.count("expert_layer_period"), config.whole("expert_layer_offset")
    return sum(at % period == offset for at in range(config.layers)) if config.whole("num_experts") > 1 else 0


def ernie_layers(config: Config) -> int:
    """ERNIE 4.5: every moe_layer_interval-th layer between two places; an end of -1 is the last layer."""
    first, interval = config.whole("moe_layer_start_index"), config.count("moe_layer_interval")
    end = config.value("moe_layer_end_index")
    last = config.layers - 1 if end in (None, -1) else config.whole("moe_layer_end_index")
    return sum((at + 1) % interval == 0 and first <= at <= last for at in range(config.layers))


def hunyuan_number(config: Config, key: str) -> int:
    """Hunyuan writes some sizes as a list, one for each layer; they must be equal."""
    listed = config.value(key)
    if not isinstance(listed, list):
        return config.whole(key)
    if len(listed) != config.layers or len({str(size) for size in listed}) != 1:
        raise Unread(f"{key} differs from layer to layer")
    return Config({key: listed[0]}, "").whole(key)


def hunyuan_experts(config: Config, dims: Dims) -> Experts | None:
    count = hunyuan_number(config, "num_experts")
    if count <= 1:
        return None
    width = hunyuan_number(config, "moe_intermediate_size") or dims.width
    shared = (
        hunyuan_number(config, "num_shared_expert") * dims.width if config.states("num_shared_expert") else dims.width
    )
    return Experts(
        count=count,
        per_token=hunyuan_number(config, "moe_topk"),
        width=width,
        layers=config.layers,
        expert=parts.mlp(dims.hidden, width, gated=True, part=parts.EXPERTS),
        router=parts.linear(parts.ROUTERS, dims.hidden, count),
        shared_width=shared,
        shared=parts.mlp(dims.hidden, shared, gated=True),
    )


def gemma4_experts(config: Config, dims: Dims) -> Experts | None:
    """Gemma 4: experts in addition to the dense MLP, with three more norms, a scale of the router's
    input and of each expert.
    """
    if not config.flag("enable_moe_block"):
        return None
    count, width = config.count("num_experts"), config.count("moe_intermediate_size")
    router = parts.linear(parts.ROUTERS, dims.hidden, count) + parts.vectors(4 * dims.hidden, count)
    return Experts(
        count=count,
        per_token=config.count("top_k_experts"),
        width=width,
        layers=config.layers,
        expert=parts.mlp(dims.hidden, width, gated=True, part=parts.EXPERTS),
        router=router,
        shared_width=dims.width,
        shared=parts.mlp(dims.hidden, dims.width, gated=True),
    )


def gemma4_mlps(config: Config, dims: Dims, layers: int) -> Parts:
    """Gemma 4: layers that reuse another's KV cache may have an MLP twice as wide."""
    wide = config.whole("num_kv_shared_layers") if config.flag("use_double_wide_mlp") else 0
    return parts.times(parts.mlp(dims.hidden, dims.width, gated=True), layers + min(wide, layers))


def count_layer_inputs(config: Config, dims: Dims) -> Parts:
    """Gemma 3n and 4: an embedding of each token for each layer, and its gate, projection and norm there."""
    width, layers = config.whole("hidden_size_per_layer_input"), config.layers
    if not width:
        return Counter()
    table = Counter({EMBEDDINGS: config.count("vocab_size_per_layer_input") * layers * width})
    layer = parts.times(parts.linear(OTHER, dims.hidden, width), 2) + parts.vectors(dims.hidden)
    return table + parts.times(layer, layers) + parts.linear(OTHER, dims.hidden, layers * width) + parts.vectors(width)


def gemma3n_extra(config: Config, dims: Dims) -> Parts:
    """Gemma 3n: per-layer inputs, AltUp (parallel residual streams) and LAuReL (a low-rank residual) in each layer."""
    streams, rank, hidden = config.count("altup_num_inputs"), config.count("laurel_rank"), dims.hidden
    altup = parts.linear(OTHER, streams, streams + streams * streams) + parts.linear(OTHER, hidden, streams)
    altup += parts.vectors(2 * hidden)
    laurel = parts.times(parts.linear(OTHER, hidden, rank), 2) + parts.vectors(hidden)
    streams_in_and_out = parts.times(parts.linear(OTHER, hidden, hidden), 2 * (streams - 1))
    return count_layer_inputs(config, dims) + parts.times(altup + laurel, config.layers) + streams_in_and_out


def gemma3n_dims(config: Config) -> Dims:
    """Gemma 3n declares the MLP's width for each layer."""
    width = hunyuan_number(config, "intermediate_size")
    return Dims(config.hidden, config.heads, config.kv_heads, config.head_dim, width)


def count_learned_positions(*keys: str, more: int = 0, hidden_norms: int = 0) -> Callable[[Config, Dims], Parts]:
    """A table of positions, and norms of the embeddings."""

    def extra(config: Config, dims: Dims) -> Parts:
        found = Counter({EMBEDDINGS: (config.count(*keys) + more) * dims.hidden})
        return found + parts.vectors(hidden_norms * dims.hidden)

    return extra


def opt_extra(config: Config, dims: Dims) -> Parts:
    """OPT: positions from 2 on, and projections where the embeddings are narrower (OPT-350m)."""
    width = config.whole("word_embed_proj_dim") or dims.hidden
    if width != dims.hidden or not config.flag("do_layer_norm_before"):
        raise Unread("an OPT with projected embeddings is not counted")
    return Counter({EMBEDDINGS: (config.count("max_position_embeddings") + 2) * dims.hidden})


def mpt_extra(config: Config, dims: Dims) -> Parts:
    """MPT: a table of positions unless ALiBi replaces it."""
    if not config.flag("no_bias") or config.inner("attn_config").flag("qk_ln"):
        raise Unread("an MPT with biases or norms on queries and keys is not counted")
    alibi = config.inner("attn_config", model_type="mpt_attn_config").flag("alibi")
    return Counter() if alibi else Counter({EMBEDDINGS: config.count("max_seq_len") * dims.hidden})


def mpt_dims(config: Config) -> Dims:
    kv_heads = config.inner("attn_config").whole("kv_n_heads") or config.heads
    width = config.count("expansion_ratio") * config.hidden
    return Dims(config.hidden, config.heads, kv_heads, config.head_dim, width)


def apertus_extra(config: Config, _: Dims) -> Parts:
    """Apertus: the activation has two learned numbers."""
    return parts.vectors(2 * config.layers)


def falcon_extra(config: Config, dims: Dims) -> Parts:
    """Falcon: one norm a block when attention and MLP are parallel and there is no second; old ones have biases."""
    if config.flag("bias") or config.flag("alibi"):
        raise Unread("a Falcon with biases or ALiBi is not counted")
    separate = config.flag("new_decoder_architecture") and config.value("num_ln_in_parallel_attn") in (None, 2)
    norms = 2 if separate or not config.flag("parallel_attn") else 1
    return parts.vectors(norms * config.layers * 2 * dims.hidden)


def stablelm_extra(config: Config, dims: Dims) -> Parts:
    """StableLM: norms with biases; a second one unless attention and MLP are parallel; norms of each head on request."""
    heads = (dims.heads + dims.kv_heads) * dims.head_dim if config.flag("qk_layernorm") else 0
    norms = 1 if config.flag("use_parallel_residual") else 2
    return parts.vectors(config.layers * (norms * 2 * dims.hidden + heads))


def lfm2_dims(config: Config) -> Dims:
    """LFM2 shrinks the declared MLP width to two thirds and rounds it up to a multiple."""
    found = blocks.read_dims(config)
    width = config.whole("block_ff_dim") or found.width
    if not config.flag("block_auto_adjust_ff_dim"):
        return found._replace(width=width)
    factor = config.value("block_ffn_dim_multiplier")
    if factor not in (None, 1, 1.0):
        raise Unread("block_ffn_dim_multiplier is not 1")
    multiple = config.count("block_multiple_of")
    return found._replace(width=-(-(2 * width // 3) // multiple) * multiple)


def dbrx_dims(config: Config) -> Dims:
    kv_heads = config.inner("attn_config", model_type="dbrx_attn_config").count("kv_n_heads")
    width = config.inner("ffn_config", model_type="dbrx_ffn_config").count("ffn_hidden_size")
    return Dims(config.hidden, config.heads, kv_heads, config.head_dim, width)


def dbrx_experts(config: Config, dims: Dims) -> Experts | None:
    inner = config.inner("ffn_config", model_type="dbrx_ffn_config")
    return Experts(
        count=inner.count("moe_num_experts"),
        per_token=inner.count("moe_top_k"),
        width=dims.width,
        layers=config.layers,
        expert=parts.mlp(dims.hidden, dims.width, gated=True, part=parts.EXPERTS),
        router=parts.linear(parts.ROUTERS, dims.hidden, inner.count("moe_num_experts")),
    )


# ---- encoders


def bert_extra(offset: int = 0, types: bool = True) -> Callable[[Config, Dims], Parts]:
    """Positions, segments and a norm of the embeddings."""

    def extra(config: Config, dims: Dims) -> Parts:
        rows = config.count("max_position_embeddings") + offset + (config.whole("type_vocab_size") if types else 0)
        return Counter({EMBEDDINGS: rows * dims.hidden}) + parts.vectors(2 * dims.hidden)

    return extra


def mpnet_extra(config: Config, dims: Dims) -> Parts:
    buckets = config.count("relative_attention_num_buckets") * dims.heads
    return bert_extra(types=False)(config, dims) + Counter({EMBEDDINGS: buckets})


def nomic_extra(config: Config, dims: Dims) -> Parts:
    """Nomic BERT: rotary positions, segments, a norm of the embeddings."""
    return Counter({EMBEDDINGS: config.whole("type_vocab_size") * dims.hidden}) + parts.vectors(2 * dims.hidden)


def modernbert_extra(config: Config, dims: Dims) -> Parts:
    """ModernBERT: a norm of the embeddings in place of the first layer's."""
    if config.flag("norm_bias") or config.flag("attention_bias") or config.flag("mlp_bias"):
        raise Unread("a ModernBERT with biases is not counted")
    return Counter()


def bloom_extra(_: Config, dims: Dims) -> Parts:
    """BLOOM: a norm of the embeddings."""
    return parts.vectors(2 * dims.hidden)


def phi_extra(config: Config, dims: Dims) -> Parts:
    """Phi: optional norms with biases on queries and keys."""
    return parts.vectors(config.layers * 4 * dims.head_dim if config.flag("qk_layernorm") else 0)


def mllama_extra(config: Config, dims: Dims) -> Parts:
    """Llama 3.2 Vision: eight more tokens, and in cross-attention layers two norms of a head and two gates."""
    crossing = len(config.sequence("cross_attention_layers") or ())
    return Counter({EMBEDDINGS: 8 * dims.hidden}) + parts.vectors(crossing * (2 * dims.head_dim + 2))


def indexers(config: Config, dims: Dims) -> Parts:
    """The sparse-attention indexers of DeepSeek-V3.2 and GLM-5; layers of type `shared` use another layer's."""
    types = config.sequence("indexer_types")
    count = config.layers if types is None else types.count("full")
    one = parts.indexer(
        dims.hidden, config.count("q_lora_rank"), config.count("index_n_heads"), config.count("index_head_dim")
    )
    return parts.times(one, count)
