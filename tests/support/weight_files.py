"""Files of a checkpoint: headers and indexes of safetensors, and the counts that they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod

from gpulint.catalog.architecture import index

Layout = Mapping[str, tuple[str, Sequence[int]]]
SIZES = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8, "U8": 1, "I8": 1, "F8_E4M3": 1, "BOOL": 1}
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"],
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "max_position_embeddings": 40960,
    "model_type": "qwen3",
    "num_attention_heads": 16,
    "num_hidden_layers": 28,
    "num_key_value_heads": 8,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}
"""config.json of Qwen/Qwen3-1.7B; github.com/root-hypercube/qwen3-mlx at 30b5402 keeps it with its index."""
TINY = QWEN3 | {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "vocab_size": 100,
    "head_dim": 16,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
}
TINY_LAYER: Layout = {
    "model.layers.0.self_attn.q_proj.weight": ("BF16", (64, 64)),
    "model.layers.0.self_attn.k_proj.weight": ("BF16", (32, 64)),
    "model.layers.0.self_attn.v_proj.weight": ("BF16", (32, 64)),
    "model.layers.0.self_attn.o_proj.weight": ("BF16", (64, 64)),
    "model.layers.0.self_attn.q_norm.weight": ("BF16", (16,)),
    "model.layers.0.self_attn.k_norm.weight": ("BF16", (16,)),
    "model.layers.0.mlp.gate_proj.weight": ("BF16", (128, 64)),
    "model.layers.0.mlp.up_proj.weight": ("BF16", (128, 64)),
    "model.layers.0.mlp.down_proj.weight": ("BF16", (64, 128)),
    "model.layers.0.input_layernorm.weight": ("BF16", (64,)),
    "model.layers.0.post_attention_layernorm.weight": ("BF16", (64,)),
}
EMBEDDED: Layout = {"model.embed_tokens.weight": ("BF16", (100, 64)), "model.norm.weight": ("BF16", (64,))}
HEAD: Layout = {"lm_head.weight": ("BF16", (100, 64))}
WHOLE: Layout = {**EMBEDDED, **TINY_LAYER, **HEAD}
TINY_PARAMETERS = 49_888
"""By hand: 2 · 6,400 of embeddings and head, 12,288 of attention, 24,576 of the MLP, 3 · 64 + 2 · 16 of norms."""


def header(layout: Layout, metadata: Mapping[str, str] | None = None) -> bytes:
    """A safetensors file without its data, as the format's README describes it."""
    entries: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, (dtype, shape) in layout.items():
        end = at + prod(shape) * SIZES[dtype]
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text


def listing(places: Mapping[str, str], total: object = None) -> bytes:
    metadata = {} if total is None else {"total_size": total}
    return json.dumps({"metadata": metadata, "weight_map": dict(places)}).encode()


INDEX_FILES = {
    index.INDEX: listing({name: f"m-{2 if name in HEAD else 1}-of-2.safetensors" for name in WHOLE}, 1),
    "m-1-of-2.safetensors": header({**EMBEDDED, **TINY_LAYER}),
    "m-2-of-2.safetensors": header(HEAD),
}
"""A checkpoint in two files; the total of its index is wrong, and its headers are right."""
QUANTISED: Layout = {
    **EMBEDDED,
    **HEAD,
    **{
        part: value
        for name, (_, shape) in TINY_LAYER.items()
        for part, value in (
            [(name, ("F8_E4M3", shape)), (f"{name}_scale", ("BF16", (shape[0], 1)))]
            if "proj" in name
            else [(name, ("BF16", shape))]
        )
    },
}
FP8 = TINY | {"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}}
FP8_BYTES = 36_864 + 2 * (13_024 + 512)
"""By hand: matrices in one byte; embeddings, head and norms (13,024) and one scale an output (512) in two."""
