"""A config.json as a row of the architecture catalog describes it, for the families whose rows say enough."""

from __future__ import annotations

from typing import Any

Row = dict[str, str]

MODEL_TYPES = {
    "apertus": "apertus",
    "arcee": "arcee",
    "baichuan": "baichuan",
    "bart": "bart",
    "bert": "bert",
    "bloom": "bloom",
    "chatglm": "chatglm",
    "codegen": "codegen",
    "cohere": "cohere",
    "cohere2": "cohere2",
    "dbrx": "dbrx",
    "deepseek-moe": "deepseek",
    "deepseek-v2": "deepseek_v2",
    "deepseek-v2-lite": "deepseek_v2",
    "deepseek-v3": "deepseek_v3",
    "deepseek-v3.2": "deepseek_v32",
    "distilbert": "distilbert",
    "dots1": "dots1",
    "ernie-4.5": "ernie4_5",
    "ernie-4.5-moe": "ernie4_5_moe",
    "exaone": "exaone",
    "exaone-4": "exaone4",
    "falcon": "falcon",
    "gemma": "gemma",
    "gemma-2": "gemma2",
    "gemma-3": "gemma3_text",
    "glm-4": "glm4",
    "glm-4.5": "glm4_moe",
    "glm-4.5-air": "glm4_moe",
    "glm-4.7-flash": "glm4_moe_lite",
    "glm-5": "glm_moe_dsa",
    "gpt-2": "gpt2",
    "gpt-j": "gptj",
    "gpt-neo": "gpt_neo",
    "gpt-neox": "gpt_neox",
    "gpt-oss": "gpt_oss",
    "granite": "granite",
    "granite-moe": "granitemoe",
    "hunyuan-moe": "hunyuan_v1_moe",
    "idefics3": "llama",
    "internlm": "internlm2",
    "internvl": "qwen2",
    "kimi-k2": "kimi_k2",
    "kimi-k2.5": "kimi_k2",
    "lfm2": "lfm2",
    "lfm2-moe": "lfm2_moe",
    "llama": "llama",
    "llama-4": "llama4_text",
    "llama-embed": "llama",
    "llava": "llama",
    "m2m-100": "m2m_100",
    "minimax-01": "minimax",
    "mimo": "mimo",
    "minimax-m2": "minimax_m2",
    "mistral": "mistral",
    "mistral-embed": "mistral",
    "mistral-vision": "mistral",
    "mixtral": "mixtral",
    "modernbert": "modernbert",
    "mpnet": "mpnet",
    "mpt": "mpt",
    "nemotron": "nemotron",
    "nomic-bert": "nomic_bert",
    "olmo": "olmo",
    "olmo-2": "olmo2",
    "olmo-3": "olmo3",
    "olmoe": "olmoe",
    "opt": "opt",
    "phi-2": "phi",
    "phi-3": "phi3",
    "phimoe": "phimoe",
    "qwen2": "qwen2",
    "qwen2-audio": "qwen2",
    "qwen2-embed": "qwen2",
    "qwen2-moe": "qwen2_moe",
    "qwen2-vl": "qwen2",
    "qwen2.5-vl": "qwen2",
    "qwen3": "qwen3",
    "qwen3-embed": "qwen3",
    "qwen3-moe": "qwen3_moe",
    "qwen3-next": "qwen3_next",
    "qwen3-vl": "qwen3",
    "qwen3-vl-moe": "qwen3_moe",
    "qwen3.5": "qwen3_5_text",
    "qwen3.5-moe": "qwen3_5_moe_text",
    "seed-oss": "seed_oss",
    "smollm3": "smollm3",
    "stablelm-2": "stablelm",
    "starcoder": "gpt_bigcode",
    "starcoder2": "starcoder2",
    "t5": "t5",
    "whisper": "whisper",
    "xlm-roberta": "xlm-roberta",
    "paligemma": "gemma",
    "granite-4.0": "granitemoehybrid",
}
"""The model_type of a family's text network."""
LATENT = {"qk_nope_head_dim": 128, "v_head_dim": 128, "q_lora_rank": 1536}
EXTRA: dict[str, dict[str, Any]] = {
    "bart": {"max_position_embeddings": 1024},
    "chatglm": {"multi_query_attention": True, "add_qkv_bias": True, "post_layer_norm": True, "rmsnorm": True},
    "cohere": {"use_qk_norm": False},
    "dbrx": {
        "attn_config": {"kv_n_heads": 8},
        "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
    },
    "deepseek-v2": LATENT,
    "deepseek-v2-lite": {**LATENT, "q_lora_rank": None},
    "deepseek-v3": LATENT,
    "deepseek-v3.2": LATENT,
    "glm-4": {"attention_bias": True},
    "glm-4.5": {"attention_bias": True, "use_qk_norm": True},
    "glm-4.5-air": {"attention_bias": True},
    "glm-4.7-flash": {"qk_nope_head_dim": 192, "v_head_dim": 256, "q_lora_rank": 768},
    "glm-5": {"qk_nope_head_dim": 192, "v_head_dim": 256, "q_lora_rank": 2048},
    "internlm": {"bias": False},
    "kimi-k2": LATENT,
    "kimi-k2.5": LATENT,
    "lfm2": {"block_auto_adjust_ff_dim": False},
    "mpt": {"expansion_ratio": 4, "attn_config": {"alibi": True}},
    "phimoe": {"attention_bias": True, "lm_head_bias": True},
    "seed-oss": {"attention_bias": True},
    "stablelm-2": {"use_qkv_bias": True},
    "starcoder2": {"use_bias": True},
}
"""Facts of a family's config.json that the catalog has no column for."""
GRANITE_HYBRID = {"mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1}
EXTRA_OF: dict[str, dict[str, Any]] = {
    "CohereLabs/c4ai-command-r-plus": {"use_qk_norm": True},
    "OpenGVLab/InternVL2-26B": {"model_type": "internlm2", "bias": False},
    "OpenGVLab/InternVL2-2B": {"model_type": "internlm2", "bias": False},
    "OpenGVLab/InternVL2-8B": {"model_type": "internlm2", "bias": False},
    "OpenGVLab/InternVL3_5-14B-HF": {"model_type": "qwen3"},
    "OpenGVLab/InternVL3_5-1B": {"model_type": "qwen3"},
    "OpenGVLab/InternVL3_5-241B-A28B": {"model_type": "qwen3_moe"},
    "OpenGVLab/InternVL3_5-30B-A3B": {"model_type": "qwen3_moe"},
    "OpenGVLab/InternVL3_5-38B": {"model_type": "qwen3"},
    "OpenGVLab/InternVL3_5-4B-HF": {"model_type": "qwen3"},
    "OpenGVLab/InternVL3_5-8B-HF": {"model_type": "qwen3"},
    "Qwen/Qwen3-Reranker-4B": {"architectures": ["Qwen3Model"]},
    "Qwen/Qwen3-Reranker-8B": {"architectures": ["Qwen3ForCausalLM"]},
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": {"id2label": {"0": "NEGATIVE", "1": "POSITIVE"}},
    "google/paligemma2-3b-mix-224": {"model_type": "gemma2"},
    "ibm-granite/granite-3b-code-base-2k": {"attention_bias": True, "mlp_bias": True},
    "ibm-granite/granite-4.0-h-1b": {**GRANITE_HYBRID, "mamba_n_heads": 48},
    "ibm-granite/granite-4.0-h-micro": {**GRANITE_HYBRID, "mamba_n_heads": 64},
    "ibm-granite/granite-4.0-h-small": {**GRANITE_HYBRID, "mamba_n_heads": 128},
    "ibm-granite/granite-4.0-h-tiny": {**GRANITE_HYBRID, "mamba_n_heads": 48},
    "ibm-granite/granite-4.0-tiny-preview": {**GRANITE_HYBRID, "mamba_n_heads": 48},
    "ibm-granite/granite-8b-code-base-4k": {"attention_bias": True, "mlp_bias": True},
    "ibm-granite/granite-embedding-107m-multilingual": {"type_vocab_size": 2},
    "ibm-granite/granite-embedding-30m-english": {"type_vocab_size": 2},
    "internlm/internlm-7b": {"model_type": "internlm", "bias": True},
    "internlm/internlm-20b": {"model_type": "internlm"},
    "moonshotai/Moonlight-16B-A3B": {"q_lora_rank": None},
    "sentence-transformers/LaBSE": {"max_position_embeddings": 512},
    "sentence-transformers/all-MiniLM-L12-v2": {"max_position_embeddings": 512},
    "sentence-transformers/all-MiniLM-L6-v2": {"max_position_embeddings": 512},
    "sentence-transformers/all-mpnet-base-v2": {"max_position_embeddings": 514},
    "stabilityai/stablelm-2-12b": {"use_qkv_bias": False, "qk_layernorm": True, "use_parallel_residual": True},
    "stabilityai/stablelm-3b-4e1t": {"use_qkv_bias": False},
    "tiiuae/falcon-11B": {"num_ln_in_parallel_attn": 1},
    "zai-org/GLM-4-32B-0414": {"attention_bias": False},
    "zai-org/glm-4-9b-chat-hf": {"model_type": "glm"},
}
"""The same of one checkpoint."""
OTHERWISE = {"facebook/bart-large-mnli", "facebook/opt-350m", "tiiuae/falcon-rw-1b"}
"""Checkpoints that differ from their family in modules that a config.json of ours does not describe."""


def number(row: Row, name: str) -> int:
    return int(row[name] or 0)


def config_of(row: Row) -> dict[str, Any] | None:
    """The text network's config.json; None for a family whose rows do not say enough."""
    model_type = MODEL_TYPES.get(row["family"])
    if model_type is None or not row["layers"] or row["id"] in OTHERWISE:
        return None
    return {
        "model_type": model_type,
        **_dims(row, model_type),
        **_kinds(row),
        **_experts(row),
        **EXTRA.get(row["family"], {}),
        **EXTRA_OF.get(row["id"], {}),
    }


def _dims(row: Row, model_type: str) -> dict[str, Any]:
    hidden, heads = number(row, "hidden"), number(row, "attention_heads")
    stated = {
        "hidden_size": hidden,
        "num_hidden_layers": number(row, "layers"),
        "num_attention_heads": heads,
        "num_key_value_heads": number(row, "kv_heads"),
        "intermediate_size": number(row, "intermediate"),
        "head_dim": number(row, "head_dim"),
        "vocab_size": number(row, "vocab"),
        "padded_vocab_size": number(row, "vocab"),
        "tie_word_embeddings": row["tied_embeddings"] == "yes",
        "max_position_embeddings": number(row, "trained_context") or 4096,
        "architectures": [_class(row)],
        "id2label": {"0": "LABEL_0"},
        "kv_lora_rank": number(row, "kv_lora_rank") or None,
        "qk_rope_head_dim": number(row, "qk_rope_head_dim") or None,
        "index_head_dim": number(row, "indexer_head_dim") or None,
        "multi_query_group_num": number(row, "kv_heads"),
        "num_kv_heads": number(row, "kv_heads"),
        "new_decoder_architecture": number(row, "kv_heads") > 1,
        "multi_query": number(row, "kv_heads") == 1,
        "word_embed_proj_dim": hidden,
    }
    if model_type == "xlm-roberta":
        stated |= {"max_position_embeddings": number(row, "trained_context") + 2, "type_vocab_size": 1}
    if row["encoder_layers"]:
        stated |= _stacks(row)
    return stated


def _class(row: Row) -> str:
    """The class that the row's task and head mean."""
    if row["task"] == "score":
        return "XForSequenceClassification"
    if row["task"] == "embed":
        return "XModel"
    return "XForConditionalGeneration" if row["encoder_layers"] else "XForCausalLM"


def _stacks(row: Row) -> dict[str, Any]:
    """The two stacks of an encoder-decoder, as T5 and as BART call them; a stated zero context leaves the default."""
    width, heads = number(row, "intermediate"), number(row, "attention_heads")
    return {
        "num_layers": number(row, "encoder_layers"),
        "num_decoder_layers": number(row, "layers"),
        "num_heads": heads,
        "d_kv": number(row, "head_dim"),
        "d_ff": width,
        "feed_forward_proj": "gated-gelu" if row["gated_mlp"] == "yes" else "relu",
        "encoder_layers": number(row, "encoder_layers"),
        "decoder_layers": number(row, "layers"),
        "encoder_ffn_dim": width,
        "decoder_ffn_dim": width,
        "decoder_attention_heads": heads,
        "num_mel_bins": 128 if "large-v3" in row["id"] else 80,
        "tie_word_embeddings": row["tied_embeddings"] == "yes",
    }


def _kinds(row: Row) -> dict[str, Any]:
    """The kinds of the layers, in an order that does not matter to a count."""
    linear, sliding = number(row, "linear_attention_layers"), number(row, "sliding_layers")
    full = number(row, "layers") - linear - sliding
    kinds = ["linear_attention"] * linear + ["sliding_attention"] * sliding + ["full_attention"] * full
    if linear or (sliding and full) or row["family"] == "granite-4.0":
        window = number(row, "sliding_window") or None
        stated = {"layer_types": kinds, "sliding_window": window, "attention_chunk_size": window}
        return stated | ({"linear_num_value_heads": _value_heads(row)} if linear else {})
    return {"sliding_window": number(row, "sliding_window") or None}


def _value_heads(row: Row) -> int:
    """Value heads of a gated DeltaNet layer with 16 key heads, all 128 wide, and a convolution of 4."""
    return (number(row, "state_elements") - 3 * 2 * 16 * 128) // (3 * 128 + 128 * 128)


def _experts(row: Row) -> dict[str, Any]:
    if not row["experts"]:
        return {
            "num_local_experts": 0,
            "num_experts": 0,
            "n_routed_experts": 0,
            "shared_intermediate_size": number(row, "intermediate"),
        }
    count, width, shared = number(row, "experts"), number(row, "moe_intermediate"), number(row, "shared_intermediate")
    dense = number(row, "layers") - number(row, "moe_layers")
    visited = number(row, "experts_per_token")
    return {
        "num_local_experts": count,
        "num_experts": count,
        "n_routed_experts": count,
        "moe_num_experts": count,
        "num_experts_per_tok": visited,
        "moe_topk": visited,
        "moe_k": visited,
        "moe_intermediate_size": width,
        "shared_expert_intermediate_size": shared,
        "shared_intermediate_size": shared,
        "n_shared_experts": shared // width,
        "num_shared_expert": 1,
        "moe_num_shared_experts": shared // width,
        "first_k_dense_replace": dense,
        "num_dense_layers": dense,
        "moe_layer_start_index": dense,
        "moe_layer_end_index": -1,
        "interleave_moe_layer_step": number(row, "layers") // number(row, "moe_layers"),
        **({"intermediate_size": width} if row["family"] == "llama-4" else {}),
        "intermediate_size_mlp": number(row, "intermediate"),
    }
