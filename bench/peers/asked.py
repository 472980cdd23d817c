"""What every peer is told of a case, and the one line of JSON it answers: imported by each `ask_*.py` in its own environment.

A runner defines `answer(asked)`: a dict with any of the figures, all per GPU, and
`fits`. A figure the tool has no answer to is left out. `Cannot` says why a case is none of its business.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

GIB = 2**30
FIGURES = ("weights_gib", "kv_cache_gib", "kv_tokens", "kv_bytes_per_token", "peak_gib")
BITS = (
    (re.compile(r"aqlm 2|2-bit|q2"), 2),
    (re.compile(r"nf4|awq|gptq|int4|4-bit|fp4|\bq4"), 4),
    (re.compile(r"fp8|int8|8-bit|\bq8"), 8),
)
"""Words of a case's quantization → bits of a weight."""
UNSUPPORTED = "not supported"
GENERATED = re.compile(r"generate (\d+)")
FAMILIES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), family)
    for pattern, family in (
        (
            r"llama-4|llama-3\.2-11b-vision|gemma-4|qwen3\.\d|qwen3-next|deepseek-v4|kimi|falcon-h1|glm|flan|t0_|mt0|custom",
            "",
        ),
        (r"mixtral|8x22b", "mixtral"),
        (r"mistral|zephyr|openhermes", "mistral"),
        (r"qwen3-.*-a\d+b", "qwen3_moe"),
        (r"qwen3", "qwen3"),
        (r"qwen2-57b|qwen1\.5-moe", "qwen2_moe"),
        (r"qwen", "qwen2"),
        (r"coder-v2|deepseek-v2", "deepseek_v2"),
        (r"deepseek-(r1|v3)", "deepseek_v3"),
        (r"gemma-2", "gemma2"),
        (r"gemma-3", "gemma3_text"),
        (r"falcon", "falcon"),
        (r"neox|pythia|stablelm-base-alpha", "gpt_neox"),
        (r"bloom", "bloom"),
        (r"mpt", "mpt"),
        (r"phi-1", "phi"),
        (r"gpt-oss", "gpt_oss"),
        (r"llama|vicuna|yi-|mimo-7b|deepseek-(llm|coder)", "llama"),
    )
)
"""Name of the checkpoint → `model_type` of its config.json; empty where the architecture file does not tell enough."""
CLASSES: Mapping[str, str] = {
    "bloom": "BloomForCausalLM",
    "deepseek_v2": "DeepseekV2ForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "falcon": "FalconForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3_text": "Gemma3ForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "mpt": "MptForCausalLM",
    "phi": "PhiForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
}
PLAIN: Mapping[str, str] = {
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_attention_heads": "num_attention_heads",
    "num_key_value_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "intermediate_size": "intermediate_size",
    "vocab_size": "vocab_size",
    "tie_word_embeddings": "tie_word_embeddings",
    "max_position_embeddings": "max_position_embeddings",
    "sliding_window": "sliding_window",
    "experts_per_token": "num_experts_per_tok",
    "moe_intermediate_size": "moe_intermediate_size",
}
"""Keys of the architecture file → of a config.json."""
NEEDED = ("hidden_size", "num_layers", "num_attention_heads", "intermediate_size", "vocab_size")
COMPUTED_WIDTH = ("falcon", "bloom", "mpt", "gpt_neox", "phi")
"""Families whose configuration class works the head's width out itself."""
LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


class CannotError(Exception):
    """The tool has no way to answer this case; the text says why."""


class Asked(NamedTuple):
    """A case as its source states it, its architecture and the memory of its card."""

    case: Mapping[str, Any]
    architecture: Mapping[str, Any]
    device_memory_gib: float | None

    @property
    def training(self) -> bool:
        return bool(self.case["kind"] == "training")

    @property
    def shards(self) -> int:
        """GPUs that the weights are split over by tensor and pipeline parallelism."""
        return int(self.case["tp"] or 1) * int(self.case["pp"] or 1)

    @property
    def parameters(self) -> int:
        if exact := self.architecture.get("params_exact"):
            return int(exact)
        if self.case["params_b"]:
            return round(float(self.case["params_b"]) * 1e9)
        raise CannotError("no parameter count")

    @property
    def weight_bits(self) -> int:
        words = str(self.case["quantization"] or "").lower()
        for pattern, bits in BITS:
            if pattern.search(words):
                return bits
        return 32 if str(self.case["dtype"] or "").startswith("fp32") else 16

    @property
    def cache_bits(self) -> int:
        return 8 if self.case["kv_cache_dtype"] in ("fp8", "int8") else 16

    @property
    def generated(self) -> int:
        """Tokens generated after an input of `seq_len`, where the case says so."""
        found = GENERATED.search(str(self.case["other_args"] or ""))
        return int(found[1]) if found else 0

    @property
    def held(self) -> tuple[int, int]:
        """Sequences and tokens of each, where the case states a static batch."""
        if not self.case["seq_len"]:
            raise CannotError("no batch and length stated")
        return int(self.case["batch"] or 1), int(self.case["seq_len"]) + self.generated

    @property
    def family(self) -> str:
        for pattern, family in FAMILIES:
            if pattern.search(self.case["model"]):
                return family
        return ""

    def layer(self, name: str) -> int:
        """One number of the architecture."""
        value = self.architecture.get(name)
        if value is None:
            raise CannotError(f"architecture without {name}")
        return int(value)

    def config(self) -> dict[str, Any]:
        """The architecture as a config.json; `CannotError` where it is not one the file describes whole."""
        family, shape = self.family, self.architecture
        lacking = [name for name in NEEDED if not shape.get(name)]
        if not family or lacking:
            raise CannotError("no config for this architecture")
        found = {theirs: shape[ours] for ours, theirs in PLAIN.items() if shape.get(ours) is not None}
        found |= {"model_type": family, "architectures": [CLASSES[family]], "torch_dtype": "bfloat16"}
        if shape.get("kv_lora_rank"):
            found.pop("head_dim", None)
            found |= {name: shape[name] for name in LATENT}
            found |= {"n_routed_experts": shape["num_experts"], "n_shared_experts": shape["num_shared_experts"]}
            found["first_k_dense_replace"] = shape["first_dense_layers"] or 0
        elif shape.get("num_experts"):
            found["num_local_experts" if family in ("mixtral", "gpt_oss") else "num_experts"] = shape["num_experts"]
        if shape.get("shared_expert_intermediate_size"):
            found["shared_expert_intermediate_size"] = shape["shared_expert_intermediate_size"]
        if family in COMPUTED_WIDTH:
            found.pop("head_dim", None)
        return found | _own(family, shape)

    def conventional(self) -> None:
        """Refuse a training case with what no closed form here knows: offload, context parallelism, low-rank gradients."""
        if self.case["offload"]:
            raise CannotError("no offload")
        if "CP" in str(self.case["zero_stage"]) or "galore" in str(self.case["optimizer"]).lower():
            raise CannotError("neither context parallelism nor low-rank gradients")

    def fitting(self, needed_gib: float) -> bool | None:
        """Whether a need is within the card's memory; None where the card is not known."""
        return None if self.device_memory_gib is None else needed_gib <= self.device_memory_gib


def _own(family: str, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that only one family's config.json has."""
    if family == "falcon":
        new = shape["num_key_value_heads"] > 1
        return {
            "num_kv_heads": shape["num_key_value_heads"],
            "new_decoder_architecture": new,
            "multi_query": not new,
            "parallel_attn": True,
            "bias": False,
            "alibi": False,
        }
    if family == "mpt":
        return {
            "d_model": shape["hidden_size"],
            "n_heads": shape["num_attention_heads"],
            "n_layers": shape["num_layers"],
            "expansion_ratio": 4,
        }
    if family == "bloom":
        return {"n_layer": shape["num_layers"], "n_head": shape["num_attention_heads"]}
    return {}


def run(answer: Callable[[Asked], dict[str, Any]]) -> None:
    """Answer each line of the standard input by one line; what the tool prints goes to the standard error."""
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for line in sys.stdin:
            print(json.dumps(_answered(answer, Asked(**json.loads(line)))), file=out, flush=True)


def _answered(answer: Callable[[Asked], dict[str, Any]], asked: Asked) -> dict[str, Any]:
    nothing = dict.fromkeys((*FIGURES, "fits"))
    try:
        return {**nothing, **answer(asked), "id": asked.case["id"]}
    except CannotError as reason:
        return {**nothing, "id": asked.case["id"], "cannot": str(reason)}
    except Exception as error:
        if UNSUPPORTED in str(error):
            return {**nothing, "id": asked.case["id"], "cannot": str(error)[:200]}
        traceback.print_exc(limit=-3)
        return {**nothing, "id": asked.case["id"], "error": f"{type(error).__name__}: {error}"[:200]}
