"""The families whose config.json is read: what each has beside or instead of Llama's blocks, by model_type.

Source of every entry: the class of that model_type in huggingface/transformers 5.23.0, `modeling_*.py`; of
baichuan, chatglm, deepseek, exaone, internlm, internlm2, mimo and qwen, the modelling code beside the weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from gpulint.catalog.architecture import blocks, special
from gpulint.catalog.architecture.blocks import (
    LINEAR,
    Attention,
    Dims,
    Experts,
    Flag,
    Mixers,
    Routed,
    all_full,
    all_linear,
    build_dims,
    count_dense,
    count_no_mlp,
    count_norms_when,
    count_projections,
    count_routed,
    count_shared,
    default_to_linear,
    head_norms,
    latent,
    latent_dims,
    place_experts_after_first,
    place_experts_by_step,
    place_full_at,
    place_full_every,
    place_full_first,
    place_sliding_last,
    place_uniform,
    read_shared_width,
    sinks,
    wide_norms,
)
from gpulint.catalog.architecture.config import Config
from gpulint.catalog.architecture.parts import Parts, State


def no_experts(_: Config, __: Dims) -> Experts | None:
    return None


def nothing(_: Config, __: Dims) -> Parts:
    return Counter()


LLAMA_ATTENTION = count_projections("attention_bias", "attention_bias")
LLAMA_MLP = count_dense(bias="mlp_bias")


@dataclass(frozen=True, slots=True)
class Family:
    """The building blocks of a decoder or encoder. The defaults are Llama's."""

    name: str
    dims: Callable[[Config], Dims] = blocks.read_dims
    full_dims: Callable[[Config], Dims] | None = None
    blocks: Callable[[Config], int] = attrgetter("layers")
    mixers: Mixers = all_full
    window: tuple[str, ...] = ("sliding_window",)
    attention: Attention = LLAMA_ATTENTION
    state: Callable[[Config], State] | None = None
    norm: int = 1
    norms: int = 2
    final_norms: int = 1
    gated: bool = True
    mlps: Callable[[Config, Dims, int], Parts] = LLAMA_MLP
    experts: Routed = no_experts
    own: Callable[[Config, Dims], Parts] = nothing
    padding: int = 0
    head_bias: Flag = False
    encodes: bool = False
    shared_layers: str = ""


BIASED = count_projections(True, True)
QWEN2 = count_projections(True)
WIDE = ("intermediate_size",)
"""Experts as wide as the family's MLP."""
DEEPSEEK = count_routed(
    place_experts_after_first("first_k_dense_replace"), shared=count_shared("n_shared_experts"), bias=True
)
PLAIN_MLP = count_dense(gated=False)
BIASED_MLP = count_dense(gated=False, bias=True)


def _gpt(name: str, **traits: object) -> Family:
    """GPT-2 and its relatives: LayerNorm, biases, an MLP without a gate matrix."""
    gpt = Family(name, attention=BIASED, norm=2, gated=False, mlps=BIASED_MLP)
    return replace(gpt, **traits)  # type: ignore[arg-type]


def _encoder(name: str, **traits: object) -> Family:
    """BERT and its relatives: norms after the blocks, none at the end."""
    return _gpt(name, **{"final_norms": 0, "encodes": True, **traits})


FAMILIES: Mapping[str, Family] = {
    # ---- Llama and its relatives
    "apertus": Family(
        "apertus",
        attention=count_projections("attention_bias", "attention_bias", head_norms),
        gated=False,
        mlps=PLAIN_MLP,
        own=special.apertus_extra,
    ),
    "arcee": Family("arcee", gated=False, mlps=count_dense(False, "mlp_bias")),
    "baichuan": Family("baichuan", attention=count_projections()),
    "chatglm": Family(
        "chatglm",
        dims=special.chatglm_dims,
        attention=count_projections("add_qkv_bias", "add_bias_linear"),
        mlps=count_dense(bias="add_bias_linear"),
    ),
    "cohere": Family(
        "cohere",
        attention=count_projections("attention_bias", "attention_bias", count_norms_when("use_qk_norm", wide_norms)),
        norms=1,
    ),
    "cohere2": Family("cohere2", mixers=place_full_every(4, "sliding_window_pattern"), norms=1),
    "ernie4_5": Family(
        "ernie-4.5", attention=count_projections("use_bias", "use_bias"), mlps=count_dense(bias="use_bias")
    ),
    "exaone": Family("exaone", attention=count_projections()),
    "exaone4": Family("exaone-4", mixers=special.exaone_layers, attention=count_projections(norms=head_norms)),
    "gemma": Family("gemma"),
    "gemma2": Family("gemma-2", mixers=place_full_every(2), norms=4),
    "gemma3_text": Family(
        "gemma-3",
        mixers=place_full_every(6, "sliding_window_pattern", "_sliding_window_pattern"),
        attention=count_projections("attention_bias", "attention_bias", head_norms),
        norms=4,
    ),
    "gemma3n_text": Family(
        "gemma-3n",
        dims=special.gemma3n_dims,
        mixers=place_full_every(5),
        attention=count_projections("attention_bias", "attention_bias", head_norms),
        norms=4,
        own=special.gemma3n_extra,
        shared_layers="num_kv_shared_layers",
    ),
    "gemma4_text": Family(
        "gemma-4",
        full_dims=special.gemma4_full_dims,
        mixers=special.gemma4_layers,
        attention=special.gemma4_attention,
        norms=4,
        mlps=special.gemma4_mlps,
        experts=special.gemma4_experts,
        own=special.count_layer_inputs,
        shared_layers="num_kv_shared_layers",
    ),
    "glm": Family("glm-4", attention=count_projections("attention_bias")),
    "glm4": Family("glm-4", attention=count_projections("attention_bias"), norms=4),
    "glm4v_text": Family("glm-4v", attention=count_projections("attention_bias"), norms=4),
    "granite": Family("granite"),
    "hunyuan_v1_dense": Family(
        "hunyuan",
        attention=count_projections("attention_bias", "attention_bias", count_norms_when("use_qk_norm", head_norms)),
    ),
    "internlm": Family("internlm", attention=count_projections("bias", "bias")),
    "internlm2": Family("internlm", attention=count_projections("bias", "bias")),
    "internlm3": Family("internlm", attention=count_projections("qkv_bias", "bias"), mlps=count_dense(bias="bias")),
    "llama": Family("llama"),
    "mimo": Family("mimo", attention=QWEN2, mlps=count_dense()),
    "ministral": Family("ministral", mixers=place_uniform, attention=count_projections()),
    "ministral3": Family("ministral", mixers=place_uniform, attention=count_projections()),
    "mistral": Family("mistral", mixers=place_uniform, attention=count_projections(), mlps=count_dense()),
    "mllama_text_model": Family("llama-3.2-vision", attention=count_projections(), own=special.mllama_extra),
    "nemotron": Family("nemotron", norm=2, gated=False, mlps=count_dense(False, "mlp_bias")),
    "olmo": Family("olmo", norm=0, mlps=count_dense()),
    "olmo2": Family("olmo-2", attention=count_projections("attention_bias", "attention_bias", wide_norms)),
    "olmo3": Family(
        "olmo-3",
        mixers=place_full_every(4),
        attention=count_projections("attention_bias", "attention_bias", wide_norms),
    ),
    "phi3": Family("phi-3", mixers=place_uniform, attention=count_projections(), mlps=count_dense()),
    "qwen": Family("qwen", dims=special.qwen_dims, attention=count_projections(True), mlps=count_dense()),
    "qwen2": Family("qwen2", mixers=place_sliding_last, attention=QWEN2, mlps=count_dense()),
    "qwen2_5_vl_text": Family("qwen2.5-vl", mixers=place_sliding_last, attention=QWEN2, mlps=count_dense()),
    "qwen2_vl_text": Family("qwen2-vl", mixers=place_sliding_last, attention=QWEN2, mlps=count_dense()),
    "qwen3": Family(
        "qwen3",
        mixers=place_sliding_last,
        attention=count_projections("attention_bias", "attention_bias", head_norms),
        mlps=count_dense(),
    ),
    "qwen3_vl_text": Family(
        "qwen3-vl", attention=count_projections("attention_bias", "attention_bias", head_norms), mlps=count_dense()
    ),
    "seed_oss": Family("seed-oss", attention=count_projections("attention_bias", "attention_out_bias")),
    "smollm3": Family("smollm3"),
    "stablelm": Family(
        "stablelm-2",
        attention=count_projections("use_qkv_bias"),
        norm=2,
        norms=0,
        mlps=count_dense(),
        own=special.stablelm_extra,
    ),
    # ---- GPT-2 and its relatives
    "bloom": _gpt("bloom", own=special.bloom_extra),
    "codegen": _gpt("codegen", attention=count_projections(), norms=1, head_bias=True),
    "falcon": _gpt(
        "falcon",
        dims=build_dims(special.falcon_kv_heads),
        attention=count_projections(),
        norms=0,
        mlps=PLAIN_MLP,
        own=special.falcon_extra,
    ),
    "gpt2": _gpt("gpt-2", own=special.count_learned_positions("n_positions", "max_position_embeddings")),
    "gpt_bigcode": _gpt(
        "starcoder",
        dims=build_dims(special.many_or_one("multi_query")),
        own=special.count_learned_positions("n_positions", "max_position_embeddings"),
    ),
    "gpt_neo": _gpt(
        "gpt-neo",
        mixers=special.gpt_neo_layers,
        window=("window_size",),
        attention=count_projections(False, True),
        own=special.count_learned_positions("max_position_embeddings"),
    ),
    "gpt_neox": _gpt("gpt-neox", attention=count_projections("attention_bias", "attention_bias")),
    "gptj": _gpt("gpt-j", attention=count_projections(), norms=1, head_bias=True),
    "mpt": _gpt(
        "mpt", dims=special.mpt_dims, attention=count_projections(), norm=1, mlps=PLAIN_MLP, own=special.mpt_extra
    ),
    "opt": _gpt("opt", own=special.opt_extra),
    "phi": _gpt("phi-2", norms=1, head_bias=True, own=special.phi_extra),
    "starcoder2": _gpt(
        "starcoder2",
        mixers=place_uniform,
        attention=count_projections("use_bias", "use_bias"),
        mlps=count_dense(False, "use_bias"),
    ),
    # ---- routed experts
    "dbrx": Family("dbrx", dims=special.dbrx_dims, attention=count_projections(), experts=special.dbrx_experts),
    "dots1": Family(
        "dots1",
        mixers=place_uniform,
        attention=count_projections("attention_bias", "attention_bias", head_norms),
        mlps=count_dense(),
        experts=DEEPSEEK,
    ),
    "ernie4_5_moe": Family(
        "ernie-4.5-moe",
        attention=count_projections("use_bias", "use_bias"),
        mlps=count_dense(bias="use_bias"),
        experts=count_routed(special.ernie_layers, shared=count_shared("moe_num_shared_experts"), bias=True),
    ),
    "glm4_moe": Family(
        "glm-4.5",
        attention=count_projections("attention_bias", False, count_norms_when("use_qk_norm", head_norms)),
        mlps=count_dense(),
        experts=DEEPSEEK,
    ),
    "gpt_oss": Family(
        "gpt-oss",
        mixers=place_full_every(2),
        attention=count_projections("attention_bias", "attention_bias", sinks),
        experts=special.gpt_oss_experts,
    ),
    "granitemoe": Family("granite-moe", experts=count_routed(width=WIDE)),
    "granitemoeshared": Family(
        "granite-moe", experts=count_routed(width=WIDE, shared=read_shared_width("shared_intermediate_size"))
    ),
    "hunyuan_v1_moe": Family(
        "hunyuan-moe",
        attention=count_projections("attention_bias", "attention_bias", count_norms_when("use_qk_norm", head_norms)),
        experts=special.hunyuan_experts,
    ),
    "llama4_text": Family(
        "llama-4",
        dims=special.llama4_dims,
        mixers=place_full_every(4, "no_rope_layer_interval"),
        window=("attention_chunk_size",),
        mlps=count_dense(),
        experts=count_routed(special.llama4_layers, WIDE, lambda _, width: width),
    ),
    "minimax_m2": Family(
        "minimax-m2", attention=count_projections(norms=wide_norms), experts=count_routed(width=WIDE, bias=True)
    ),
    "mixtral": Family("mixtral", mixers=place_uniform, attention=count_projections(), experts=count_routed(width=WIDE)),
    "olmoe": Family(
        "olmoe",
        attention=count_projections("attention_bias", "attention_bias", wide_norms),
        experts=count_routed(width=WIDE),
    ),
    "phimoe": Family(
        "phimoe", mixers=place_uniform, norm=2, head_bias="lm_head_bias", experts=count_routed(width=WIDE)
    ),
    "qwen2_moe": Family(
        "qwen2-moe",
        mixers=place_sliding_last,
        attention=count_projections("qkv_bias"),
        mlps=count_dense(),
        experts=count_routed(
            place_experts_by_step, shared=read_shared_width("shared_expert_intermediate_size"), shared_gate=True
        ),
    ),
    "qwen3_moe": Family(
        "qwen3-moe",
        mixers=special.place_sliding_if_enabled,
        attention=count_projections("attention_bias", "attention_bias", head_norms),
        mlps=count_dense(),
        experts=count_routed(place_experts_by_step),
    ),
    "qwen3_vl_moe_text": Family(
        "qwen3-vl-moe",
        attention=count_projections("attention_bias", "attention_bias", head_norms),
        mlps=count_dense(),
        experts=count_routed(place_experts_by_step),
    ),
    # ---- multi-head latent attention
    "deepseek": Family(
        "deepseek-moe",
        attention=count_projections("attention_bias", "attention_bias"),
        mlps=count_dense(),
        experts=count_routed(
            place_experts_after_first("first_k_dense_replace"), shared=count_shared("n_shared_experts")
        ),
    ),
    "deepseek_v2": Family(
        "deepseek-v2",
        dims=latent_dims,
        attention=latent,
        experts=count_routed(
            place_experts_after_first("first_k_dense_replace"), shared=count_shared("n_shared_experts")
        ),
    ),
    "deepseek_v3": Family("deepseek-v3", dims=latent_dims, attention=latent, mlps=count_dense(), experts=DEEPSEEK),
    "deepseek_v32": Family(
        "deepseek-v3.2", dims=latent_dims, attention=latent, mlps=count_dense(), experts=DEEPSEEK, own=special.indexers
    ),
    "glm4_moe_lite": Family("glm-4.7-flash", dims=latent_dims, attention=latent, mlps=count_dense(), experts=DEEPSEEK),
    "glm_moe_dsa": Family(
        "glm-5", dims=latent_dims, attention=latent, mlps=count_dense(), experts=DEEPSEEK, own=special.indexers
    ),
    "kimi_k2": Family("kimi-k2", dims=latent_dims, attention=latent, mlps=count_dense(), experts=DEEPSEEK),
    "mistral4": Family(
        "mistral-4",
        dims=latent_dims,
        attention=latent,
        mlps=count_dense(),
        experts=count_routed(
            place_experts_after_first("first_k_dense_replace"), shared=count_shared("n_shared_experts")
        ),
    ),
    # ---- linear attention and Mamba
    "bamba": Family("bamba", mixers=place_full_at("attn_layer_indices"), state=special.mamba2()),
    "falcon_h1": Family("falcon-h1", mixers=special.place_both, state=special.mamba2("mamba_rms_norm")),
    "falcon_mamba": Family(
        "falcon-mamba",
        dims=special.place_no_attention,
        mixers=all_linear,
        state=special.mamba,
        norms=1,
        mlps=count_no_mlp,
    ),
    "granitemoehybrid": Family(
        "granite-4.0",
        dims=special.granite_hybrid_dims,
        mixers=default_to_linear,
        state=special.mamba2(),
        mlps=count_dense(),
        experts=count_routed(width=WIDE, shared=read_shared_width("shared_intermediate_size")),
    ),
    "jamba": Family(
        "jamba",
        mixers=place_full_first("attn_layer_period", "attn_layer_offset", LINEAR),
        attention=count_projections(),
        state=special.jamba_mamba,
        mlps=count_dense(),
        experts=count_routed(special.jamba_layers, WIDE),
    ),
    "kimi_linear": Family(
        "kimi-linear",
        dims=latent_dims,
        mixers=special.kimi_layers,
        attention=latent,
        state=special.kimi_delta,
        mlps=count_dense(),
        experts=count_routed(
            place_experts_after_first("first_k_dense_replace"), shared=count_shared("num_shared_experts"), bias=True
        ),
    ),
    "lfm2": Family(
        "lfm2",
        dims=special.lfm2_dims,
        mixers=place_full_at("full_attn_idxs"),
        attention=count_projections(norms=head_norms),
        state=special.short_convolution,
        mlps=count_dense(),
    ),
    "lfm2_moe": Family(
        "lfm2-moe",
        mixers=default_to_linear,
        attention=count_projections(norms=head_norms),
        state=special.short_convolution,
        mlps=count_dense(),
        experts=count_routed(place_experts_after_first("num_dense_layers"), bias=True),
    ),
    "mamba": Family(
        "mamba", dims=special.place_no_attention, mixers=all_linear, state=special.mamba, norms=1, mlps=count_no_mlp
    ),
    "mamba2": Family(
        "mamba-2",
        dims=special.place_no_attention,
        mixers=all_linear,
        state=special.mamba2(),
        norms=1,
        mlps=count_no_mlp,
    ),
    "minimax": Family(
        "minimax-01",
        mixers=special.minimax_layers,
        attention=count_projections(),
        state=special.lightning,
        experts=count_routed(width=WIDE),
    ),
    "nemotron_h": Family(
        "nemotron-h",
        blocks=lambda config: len(special.nemotron_blocks(config)),
        mixers=special.nemotron_mixers,
        attention=count_projections("attention_bias", "attention_bias"),
        state=special.mamba2(),
        norms=0,
        gated=False,
        mlps=special.nemotron_mlps,
        experts=special.nemotron_experts,
        own=special.nemotron_norms,
    ),
    "qwen3_5_moe_text": Family(
        "qwen3.5-moe",
        dims=special.build_routed_dims,
        mixers=place_full_every(4, "full_attention_interval", others=LINEAR),
        attention=special.count_gated_attention,
        state=special.delta_net,
        mlps=count_dense(),
        experts=count_routed(shared=read_shared_width("shared_expert_intermediate_size"), shared_gate=True),
    ),
    "qwen3_5_text": Family(
        "qwen3.5",
        mixers=place_full_every(4, "full_attention_interval", others=LINEAR),
        attention=special.count_gated_attention,
        state=special.delta_net,
        mlps=count_dense(),
    ),
    "qwen3_next": Family(
        "qwen3-next",
        mixers=place_full_every(4, "full_attention_interval", others=LINEAR),
        attention=special.count_gated_attention,
        state=special.delta_net,
        mlps=count_dense(),
        experts=count_routed(
            place_experts_by_step, shared=read_shared_width("shared_expert_intermediate_size"), shared_gate=True
        ),
    ),
    # ---- encoders
    "bert": _encoder("bert", own=special.bert_extra()),
    "distilbert": _encoder("distilbert", own=special.bert_extra(types=False)),
    "modernbert": Family(
        "modernbert",
        mixers=place_full_first("global_attn_every_n_layers"),
        window=("local_attention",),
        attention=count_projections(),
        mlps=count_dense(),
        own=special.modernbert_extra,
        encodes=True,
    ),
    "mpnet": _encoder("mpnet", own=special.mpnet_extra, padding=2),
    "nomic_bert": _encoder(
        "nomic-bert", attention=count_projections(), gated=True, mlps=count_dense(), own=special.nomic_extra
    ),
    "roberta": _encoder("xlm-roberta", own=special.bert_extra(), padding=2),
    "xlm-roberta": _encoder("xlm-roberta", own=special.bert_extra(), padding=2),
}
ALIASES = {
    "hunyuan": "hunyuan_v1_moe",
    "kimi_k2_thinking": "kimi_k2",
    "minimax_text_01": "minimax",
    "minimax_m1": "minimax",
    "gemma3n": "gemma3n_text",
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
    "starcoder": "gpt_bigcode",
}
"""Other model_types with the same blocks."""
