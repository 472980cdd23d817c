"""Transformers models from rows of the catalog, built and run on the CPU as they would be on a CUDA GPU.

`sdpa` is what PyTorch chooses on CUDA: flash attention for 16-bit tensors without a mask, memory-efficient attention with an
additive copy of the mask otherwise. Autocast is CUDA's, done on the CPU.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch  # type: ignore[import-not-found,unused-ignore]
import transformers  # type: ignore[import-not-found,unused-ignore]
from torch._subclasses.fake_tensor import unset_fake_temporarily  # type: ignore[import-not-found,unused-ignore]
from torch.overrides import TorchFunctionMode  # type: ignore[import-not-found,unused-ignore]

CATALOG = Path(__file__).parent.parent / "gpulint" / "catalog" / "architectures.csv"

# ---- what a GPU would do


def sdpa_of_cuda(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, dropout: float = 0.0,
    scaling: float | None = None, is_causal: bool | None = None, **_: object,
) -> tuple[Any, None]:  # fmt: skip
    """The kernel that scaled_dot_product_attention takes on CUDA: flash for 16 bits unmasked, else memory-efficient."""
    query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    causal = query.shape[2] > 1 and attention_mask is None and getattr(module, "is_causal", True)
    if attention_mask is None and query.dtype in (torch.bfloat16, torch.float16):
        return _flash(query, key, value, dropout, causal, scaling), None
    groups = query.shape[1] // key.shape[1]
    key, value = (_repeated(tensor, groups) for tensor in (key, value))
    bias = None
    if attention_mask is not None:
        bias = torch.zeros_like(attention_mask, dtype=query.dtype).masked_fill_(~attention_mask, -math.inf)
        bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    out = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, query.requires_grad, dropout, causal, scale=scaling
    )
    return out[0].transpose(1, 2).contiguous(), None


def flash_of_cuda(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, dropout: float = 0.0,
    scaling: float | None = None, **_: object,
) -> tuple[Any, None]:  # fmt: skip
    """The flash-attention package: windows and grouped heads without a mask or a copy."""
    query, key, value = (_autocast(tensor) for tensor in (query, key, value))
    return _flash(query, key, value, dropout, query.shape[2] > 1, scaling), None


def _autocast(tensor: Any) -> Any:
    """What autocast does to attention's inputs."""
    return tensor.to(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else tensor


def _flash(query: Any, key: Any, value: Any, dropout: float, causal: bool, scaling: float | None) -> Any:
    out = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout, causal, scale=scaling)
    return out[0].transpose(1, 2).contiguous()


def _repeated(tensor: Any, groups: int) -> Any:
    if groups == 1:
        return tensor
    batch, heads, length, dim = tensor.shape
    return tensor[:, :, None].expand(batch, heads, groups, length, dim).reshape(batch, heads * groups, length, dim)


class Float32Operators(TorchFunctionMode):  # type: ignore[misc,unused-ignore]
    """CUDA's autocast runs these in float32, the CPU's does not (PyTorch 2.15, ATen/autocast_mode.h, AT_FORALL_FP32)."""

    FORCED = (
        torch.nn.functional.layer_norm,
        torch.Tensor.pow,
        torch.pow,
        torch.rsqrt,
        torch.nn.functional.cross_entropy,
    )
    SOFTMAX = (torch.nn.functional.softmax, torch.softmax, torch.Tensor.softmax)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if (func in self.FORCED or func in self.SOFTMAX) and torch.is_autocast_enabled("cpu"):
            args = tuple(_float(value) for value in args)
        return func(*args, **(kwargs or {}))


def _float(value: Any) -> Any:
    half = isinstance(value, torch.Tensor) and value.dtype in (torch.bfloat16, torch.float16)
    return value.float() if half else value


def prepare() -> None:
    """Make Transformers do under fake tensors what it does with real ones on a GPU."""
    from transformers import masking_utils, modeling_utils  # type: ignore[import-not-found,unused-ignore]

    transformers.logging.set_verbosity_error()
    masking_utils.find_packed_sequence_indices = lambda _: None  # what it finds in one unpacked sequence a row
    modeling_utils.ALL_ATTENTION_FUNCTIONS["sdpa"] = sdpa_of_cuda
    modeling_utils.ALL_ATTENTION_FUNCTIONS["windowed_fake"] = flash_of_cuda


# ---- models


def catalog() -> dict[str, dict[str, str]]:
    """Architectures by checkpoint."""
    with CATALOG.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


COMMON: Mapping[str, str] = {
    "hidden_size": "hidden", "intermediate_size": "intermediate", "num_hidden_layers": "layers",
    "num_attention_heads": "attention_heads", "num_key_value_heads": "kv_heads", "head_dim": "head_dim",
    "vocab_size": "vocab", "max_position_embeddings": "trained_context",
}  # fmt: skip
DIVIDED = {key: column for key, column in COMMON.items() if key != "head_dim"}
"""Head dimension is hidden size over heads."""
UNGROUPED = {key: column for key, column in DIVIDED.items() if key != "num_key_value_heads"}
ROUTED = {"num_experts": "experts", "num_experts_per_tok": "experts_per_token"}
EXPERTS = {
    **ROUTED,
    "moe_intermediate_size": "moe_intermediate",
    "shared_expert_intermediate_size": "shared_intermediate",
}
WINDOW = {**COMMON, "sliding_window": "sliding_window"}
GPT2 = {
    "n_embd": "hidden", "n_inner": "intermediate", "n_layer": "layers", "n_head": "attention_heads",
    "vocab_size": "vocab", "n_positions": "trained_context",
}  # fmt: skip
LOCAL_EXPERTS = {**COMMON, "num_local_experts": "experts", "num_experts_per_tok": "experts_per_token"}
LATENT = {
    **UNGROUPED, "kv_lora_rank": "kv_lora_rank", "qk_rope_head_dim": "qk_rope_head_dim", "n_routed_experts": "experts",
    "num_experts_per_tok": "experts_per_token", "moe_intermediate_size": "moe_intermediate",
}  # fmt: skip
ERNIE = {
    **DIVIDED, "moe_num_experts": "experts", "moe_k": "experts_per_token", "moe_intermediate_size": "moe_intermediate",
}  # fmt: skip
FALCON = {
    "hidden_size": "hidden", "num_hidden_layers": "layers", "num_attention_heads": "attention_heads", "vocab_size": "vocab",
    "num_kv_heads": "kv_heads", "ffn_hidden_size": "intermediate", "max_position_embeddings": "trained_context",
}  # fmt: skip
BLOOM = {"hidden_size": "hidden", "n_layer": "layers", "n_head": "attention_heads", "vocab_size": "vocab"}
MPT = {
    "d_model": "hidden", "n_layers": "layers", "n_heads": "attention_heads", "vocab_size": "vocab",
    "max_seq_len": "trained_context",
}  # fmt: skip
GPT_NEO = {
    "hidden_size": "hidden", "intermediate_size": "intermediate", "num_layers": "layers", "num_heads": "attention_heads",
    "vocab_size": "vocab", "max_position_embeddings": "trained_context", "window_size": "sliding_window",
}  # fmt: skip
HALF_ROTATED = {"rope_type": "default", "rope_theta": 5e6, "partial_rotary_factor": 0.5}
FAMILIES: Mapping[str, tuple[str, Mapping[str, str], Mapping[str, object]]] = {
    "apertus": ("ApertusConfig", COMMON, {}),
    "arcee": ("ArceeConfig", COMMON, {}),
    "bloom": ("BloomConfig", BLOOM, {}),
    "cohere2": ("Cohere2Config", WINDOW, {}),
    "dbrx": (
        "DbrxConfig",
        {
            "d_model": "hidden",
            "n_layers": "layers",
            "n_heads": "attention_heads",
            "vocab_size": "vocab",
            "max_seq_len": "trained_context",
        },
        {
            "attn_config": {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 5e5},
            "ffn_config": {"hidden_size": 6144, "ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
        },
    ),
    "deepseek-v2-lite": (
        "DeepseekV2Config",
        LATENT,
        {"q_lora_rank": None, "n_shared_experts": 2, "first_k_dense_replace": 1},
    ),
    "ernie-4.5": ("Ernie4_5Config", COMMON, {}),
    "ernie-4.5-moe": ("Ernie4_5_MoeConfig", ERNIE, {}),
    "exaone-4": ("Exaone4Config", {**DIVIDED, "sliding_window": "sliding_window"}, {}),
    "falcon": ("FalconConfig", FALCON, {}),
    "glm-4.5-air": (
        "Glm4MoeConfig",
        {
            **COMMON,
            "n_routed_experts": "experts",
            "num_experts_per_tok": "experts_per_token",
            "moe_intermediate_size": "moe_intermediate",
        },
        {"attention_bias": True},
    ),
    "gpt-j": ("GPTJConfig", GPT2, {}),
    "gpt-neo": ("GPTNeoConfig", GPT_NEO, {}),
    "gpt-oss": ("GptOssConfig", {**LOCAL_EXPERTS, "sliding_window": "sliding_window"}, {}),
    "granite-moe": ("GraniteMoeConfig", LOCAL_EXPERTS, {}),
    "hunyuan-moe": ("HunYuanMoEV1Config", {**COMMON, "num_experts": "experts", "moe_topk": "experts_per_token"}, {}),
    "minimax-m2": ("MiniMaxM2Config", LOCAL_EXPERTS, {"rope_parameters": HALF_ROTATED}),
    "mpt": ("MptConfig", MPT, {}),
    "nemotron": ("NemotronConfig", COMMON, {}),
    "olmo": ("OlmoConfig", DIVIDED, {}),
    "olmo-3": ("Olmo3Config", {**DIVIDED, "sliding_window": "sliding_window"}, {}),
    "phimoe": (
        "PhimoeConfig",
        LOCAL_EXPERTS,
        {"attention_bias": True, "lm_head_bias": True, "head_dim": 128},
    ),
    "seed-oss": ("SeedOssConfig", COMMON, {}),
    "starcoder": ("GPTBigCodeConfig", GPT2, {}),
    "cohere": ("CohereConfig", COMMON, {}),
    "gemma": ("GemmaConfig", COMMON, {}),
    "gemma-2": ("Gemma2Config", WINDOW, {}),
    "gemma-3": ("Gemma3TextConfig", WINDOW, {}),
    "glm-4": ("Glm4Config", COMMON, {"pad_token_id": 0}),
    "gpt-2": ("GPT2Config", GPT2, {}),
    "gpt-neox": ("GPTNeoXConfig", UNGROUPED, {}),
    "granite": ("GraniteConfig", COMMON, {}),
    "llama": ("LlamaConfig", COMMON, {}),
    "mistral": ("MistralConfig", WINDOW, {}),
    "mixtral": ("MixtralConfig", {**COMMON, **ROUTED, "num_local_experts": "experts"}, {}),
    "olmo-2": ("Olmo2Config", COMMON, {}),
    "olmoe": ("OlmoeConfig", {**COMMON, **ROUTED}, {}),
    "opt": ("OPTConfig", {**UNGROUPED, "ffn_dim": "intermediate"}, {}),
    "phi-2": ("PhiConfig", DIVIDED, {"partial_rotary_factor": 0.4}),
    "phi-3": ("Phi3Config", WINDOW, {"pad_token_id": 0}),
    "qwen2": ("Qwen2Config", DIVIDED, {}),
    "qwen2-moe": ("Qwen2MoeConfig", {**DIVIDED, **EXPERTS}, {}),
    "qwen3": ("Qwen3Config", COMMON, {}),
    "qwen3-moe": ("Qwen3MoeConfig", {**COMMON, **EXPERTS}, {}),
    "smollm3": ("SmolLM3Config", COMMON, {"pad_token_id": 0}),
    "stablelm-2": ("StableLmConfig", DIVIDED, {"use_qkv_bias": True, "partial_rotary_factor": 0.25}),
    "starcoder2": ("Starcoder2Config", WINDOW, {}),
}
"""Family of the catalog → its class in Transformers, the key of each of our columns there, and what no column says."""


def config_of(row: Mapping[str, str], layers: int | None) -> Any:
    """The Transformers configuration of a catalog row, at another depth if asked."""
    name, keys, fixed = FAMILIES[row["family"]]
    values: dict[str, object] = {key: int(row[column]) for key, column in keys.items() if row[column]}
    if "sliding_window" in keys and not row["sliding_window"]:
        values["sliding_window"] = None
    values |= {"tie_word_embeddings": row["tied_embeddings"] == "yes", **fixed}
    if name == "Exaone4Config" and values["sliding_window"] is None:
        values["layer_types"] = ["full_attention"] * (layers or int(row["layers"]))
    if layers is not None:
        values[next(key for key, column in keys.items() if column == "layers")] = layers
        values |= {"attention_types": [[["global", "local"], layers // 2]]} if name == "GPTNeoConfig" else {}
    return getattr(transformers, name)(**values)


def model_of(config: Any, attention: str, dtype: Any) -> Any:
    """The model; `default` is what Transformers takes when nothing is asked for: `sdpa` if the model has it, else `eager`."""
    kind = transformers.AutoModelForCausalLM._model_mapping[type(config)]
    if attention == "flash" and not getattr(kind, "_supports_flash_attn", False):
        raise ValueError(f"Transformers has no flash attention for {kind.__name__}")
    if attention == "default":
        attention = "sdpa" if getattr(kind, "_supports_sdpa", False) else "eager"
    config._attn_implementation = {"flash": "windowed_fake"}.get(attention, attention)
    return transformers.AutoModelForCausalLM.from_config(
        config, dtype=dtype, attn_implementation=config._attn_implementation
    )


TARGETS = {
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "all-linear": "all-linear",
    "qv": ("q_proj", "v_proj"),
}


def with_adapters(model: Any, rank: int, targets: str) -> Any:
    """LoRA by PEFT's defaults: adapters in float32, no dropout; the embedding's output asks for gradients as Trainer has it."""
    import peft  # type: ignore[import-not-found,unused-ignore]

    config = peft.LoraConfig(r=rank, target_modules=TARGETS[targets], task_type="CAUSAL_LM")
    model.enable_input_require_grads()
    with mock.patch.object(torch.nn.Module, "_apply", replaced):
        return peft.get_peft_model(model, config)


def replaced(module: Any, change: Any, recurse: bool = True) -> Any:
    """`Module._apply` by new parameters: fake tensors cannot be swapped in place."""
    for child in module.children() if recurse else ():
        replaced(child, change)
    for name, parameter in module._parameters.items():
        if parameter is not None:
            module._parameters[name] = torch.nn.Parameter(change(parameter.detach()), parameter.requires_grad)
    return module


def recomputed() -> tuple[Any, Any]:
    """Contexts of the forward pass and of its recomputation: the backward pass has left the first one's modes."""
    return nullcontext(), Float32Operators()


def ranks_of(spread: str) -> tuple[str, int, int]:
    """How a run is spread: `8` fully_shard over eight ranks, `2x8` two such groups, `8 kept` without resharding after the
    forward pass, `1` one device."""
    size, _, kind = spread.partition(" ")
    groups, _, ranks = size.rpartition("x")
    return kind or "fsdp", int(groups or 1), int(ranks)


def shard(model: Any, how: str) -> None:
    """Make the model that of the first of these ranks of fully_shard (FSDP2).

    Each layer is a group and the rest another; float32 weights are gathered in bfloat16 and their gradients
    reduced in float32, bfloat16 ones stay what they are.
    """
    from torch.distributed.device_mesh import init_device_mesh  # type: ignore[import-not-found,unused-ignore]
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard  # type: ignore[import-not-found,unused-ignore]
    from torch.testing._internal.distributed.fake_pg import FakeStore  # type: ignore[import-not-found,unused-ignore]

    kind, groups, ranks = ranks_of(how)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=groups * ranks)
    with unset_fake_temporarily():
        mesh = init_device_mesh("cpu", (groups, ranks) if groups > 1 else (ranks,), **NAMED[groups > 1])
    whole = any(p.requires_grad and p.dtype == torch.float32 for p in model.parameters())
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if whole else MixedPrecisionPolicy()
    layers = next(child for name, child in model.named_modules() if name.endswith("layers"))
    for module in (*layers, model):
        fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=kind != "kept")


NAMED: Mapping[bool, Mapping[str, Any]] = {True: {"mesh_dim_names": ("replicate", "shard")}, False: {}}


def optimizer_of(name: str, parameters: Sequence[Any]) -> Any:
    """AdamW fused, foreach or one tensor at a time; SGD with and without momentum."""
    kind, _, how = name.partition("-")
    if kind == "adamw":
        return torch.optim.AdamW(parameters, fused=how == "fused", foreach=how == "foreach")
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9 if how == "momentum" else 0, foreach=True)
