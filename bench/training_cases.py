"""Measured training cases as gpulint is told them: each case's words become the glossary's fields of a role."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from gpulint import units
from gpulint.catalog.architecture import Architecture, Resolution
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.pipeline import memory_breakdown
from gpulint.source.repository import WorkTree
from gpulint.workload import Field, Unknown

Case = Mapping[str, object]
ENGINES: Mapping[str, str] = {
    "llama-factory/HF": "llama-factory",
    "llm-foundry/composer": "llm-foundry",
    "HF": "transformers",
    "peft": "transformers",
    "peft/trl": "trl",
    "accelerate": "transformers",
    "fsdp_qlora": "transformers",
    "galore": "transformers",
    "h2o-llmstudio": "transformers",
    "megatron-swift": "megatron-lm",
    "Megatron-DeepSpeed": "megatron-deepspeed",
    "nemo-automodel": "nemo",
    "pytorch": "transformers",
    **dict.fromkeys(("llava", "fastchat", "xtuner"), "transformers"),
    "deepspeed-chat": "deepspeed",
}
"""First word of a case's engine → ours; what builds on Transformers' models and Trainer is sized as that."""
DDP_BY_DEFAULT = frozenset(
    {"transformers", "HF", "trl", "peft", "llama-factory/HF", "ms-swift", "axolotl", "h2o-llmstudio"}
)
"""Trainers that a plain launcher runs with DistributedDataParallel."""
CARDS: Mapping[str, str] = {
    "A800-80GB": "a800-sxm4-80gb",
    "80GB GPU (A100/A800 per docs)": "a100-sxm4-80gb",
    "80GB GPU": "a100-sxm4-80gb",
    "B200": "b200",
    "B200 (184.3 GiB visible)": "b200",
    "H20-96GB": "h20-96gb",
    "GB200": "gb200",
    "H200-141GB": "h200-sxm-141gb",
    "Quadro RTX 6000 24GB": "quadro-rtx-6000",
    "RTX 4070 Ti SUPER": "rtx-4070-ti-super",
    "24GB GPU": "rtx-4090",
    "48GB GPU": "rtx-a6000",
    "V100-32GB": "v100-sxm2-32gb",
}
"""Names of training cases that serving cases do not use → catalog; of a card that only its size names, a usual one."""
DATED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "torchtitan": (("2024-01", "0.0.1"), ("2025-06", "0.1.0")),
    "trl": (("2025-01", "0.14.0"), ("2025-06", "0.19.0"), ("2025-08", "0.21.0"), ("2026-04", "1.0.0")),
    **dict.fromkeys(("HF", "transformers", "accelerate", "pytorch"), (("2020-11", "4.0.0"), ("2024-05", "4.41.0"))),
}
"""Months of releases, for versions that state a date (pytorch/torchtitan, huggingface/trl and transformers, tags)."""
OPTIMIZERS: tuple[tuple[str, str], ...] = (
    ("paged_adamw_8bit", "paged-adamw-8bit"),
    ("pagedadamw8bit", "paged-adamw-8bit"),
    ("paged_adamw", "paged-adamw"),
    ("galore", "galore"),
    ("8bit", "adamw-8bit"),
    ("adafactor", "adafactor"),
    ("sgd", "sgd"),
    ("lion", "lion"),
    ("fused", "adamw-fused"),
    ("adam", "adamw"),
)
RECOMPUTED: tuple[tuple[str, str], ...] = (
    ("none", "none"),
    ("offloading", "offloaded"),
    ("selective (core_attn)", "scores"),
    ("selective", "products"),
    ("per-op selective", "products"),
    ("unsloth", "offloaded"),
    ("full", "full"),
)
LETTERS: Mapping[str, str] = {
    **dict.fromkeys(("q", "q_proj"), "q"),
    **dict.fromkeys(("k", "k_proj"), "k"),
    **dict.fromkeys(("v", "v_proj"), "v"),
    **dict.fromkeys(("o", "o?", "o_proj"), "o"),
    **dict.fromkeys(("gate", "gate_proj"), "g"),
    **dict.fromkeys(("up", "up_proj"), "u"),
    **dict.fromkeys(("down", "down_proj"), "d"),
    **dict.fromkeys(("all-linear", "all linear", "*_proj", "PEFT linear"), "qkvogud"),
    "PEFT default": "qv",
    "mlp": "gud",
    "c_attn": "qkv",
    "c_proj": "od",
    "w1": "u",
    "w2": "g",
}
SHAPE: Mapping[str, str] = {
    "hidden_size": "hidden",
    "num_layers": "layers",
    "num_attention_heads": "attention_heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_dim",
    "intermediate_size": "intermediate",
    "vocab_size": "vocab",
    "tie_word_embeddings": "tied_embeddings",
    "mlp_gated": "gated_mlp",
    "num_experts": "experts",
    "experts_per_token": "experts_per_token",
    "moe_intermediate_size": "moe_intermediate",
    "shared_expert_intermediate_size": "shared_intermediate",
    "params_exact": "parameters",
}
"""Keys of the ground truth's architectures → ours."""
FAMILIES: tuple[tuple[str, str], ...] = (
    *(
        ("mpt-", "mpt"),
        ("bloom", "bloom"),
        ("falcon", "falcon"),
        ("phi-1", "phi-2"),
        ("gpt ", "gpt-2"),
        ("gpt2", "gpt-2"),
    ),
    *(("stablelm-base-alpha", "gpt-neox"), ("pythia", "gpt-neox")),
)
"""Words of a model's name → family, for shapes that the catalog does not list."""
KINDS: tuple[tuple[str, str], ...] = (
    ("reserved", "training_reserved_bytes"),
    ("allocated", "training_peak_bytes"),
    ("active", "training_peak_bytes"),
    ("nvidia-smi", "training_device_bytes"),
    ("device", "training_device_bytes"),
    ("process", "training_device_bytes"),
)
"""Words of a case's `peak_kind` → the fact it measures."""


OWN_LOOPS = ("accelerate", "accelerate FSDP", "peft", "fsdp_qlora")
"""Programs with a loop of their own: what a case does not say of them is no default of a trainer."""


def _leave_open(engine: str) -> Unknown | None:
    """What a case leaves to a program that has no default."""
    return Unknown("the program sets it", lacking="arguments") if engine in OWN_LOOPS else None


def readings(case: Case, card: str | None, shapes: Mapping[str, Mapping[str, object]]) -> list[Facts]:
    """The case as `gpulint size` would be told it; twice where its words name both 16-bit formats ("fp16/bf16")."""
    words = str(case["dtype"] or "")
    both = ("fp16", "bf16") if "fp16/bf16" in words or "bf16/fp16" in words else (words,)
    named = [words.replace("fp16/bf16", one).replace("bf16/fp16", one) for one in both]
    return [described({**case, "dtype": one or None}, card, shapes) for one in named]


def described(case: Case, card: str | None, shapes: Mapping[str, Mapping[str, object]]) -> Facts:
    """One reading of a case as `gpulint size` would be told it."""
    stated = {name: value for name, value in _read_case(case).items() if value is not None}
    role, resolved = memory_breakdown.build_role(str(case["model"]), stated, card, WorkTree(Path(__file__).parent))
    stated_gpus = ("gpus_per_replica", "gpus_per_pod") if case["gpu_count"] is not None else ()
    gpus = {name: Field(case["gpu_count"]) for name in stated_gpus}  # type: ignore[arg-type]
    known = resolved is not None and resolved.architecture is not None and resolved.architecture.is_known
    if not known and (row := shapes.get(str(case["model"]))):
        family = _first(FAMILIES, str(case["model"]).lower()) or ""
        resolved = Resolution(Architecture(id=str(case["model"]), family=family, **_shape(row)), "the case's source")  # type: ignore[arg-type]
    return resolver.resolve(role.having(**gpus), resolved)


def fully_stated(case: Case) -> bool:
    """Whether the case states what decides its peak."""
    names = ("model", "gpu_count", "batch", "seq_len", "optimizer", "dtype", "activation_checkpointing")
    return all(case.get(name) is not None for name in names)


def measured_fact(case: Case) -> str | None:
    """The fact that the case's peak measures; None where the source does not say."""
    measured = case["measured"]
    kind = str(measured.get("peak_kind", "")) if isinstance(measured, dict) else ""
    return next((fact for word, fact in KINDS if word in kind), None)


def _read_case(case: Case) -> dict[str, object]:
    other = str(case["other_args"] or "").lower()
    said = f"{other} | {case['notes']}".lower()
    engine = str(case["engine"]).split()[0]
    compiled = re.search(r"\bcompile\b", said) is not None
    found: dict[str, object] = {
        "engine": ENGINES.get(engine, engine),
        "engine_version": _release(engine, str(case["engine_version"])),
        "device_memory_bytes": round(float(case["gpu_memory_gib"]) * units.GIB) if case["gpu_memory_gib"] else None,  # type: ignore[arg-type]
        "tensor_parallel": case["tp"] or 1,
        "pipeline_parallel": case["pp"] or 1,
        "expert_parallel_size": case["ep"],
        "micro_batch_size": case["batch"],
        "gradient_accumulation_steps": case["grad_accum"],
        "sequence_length": case["seq_len"],
        "optimizer": _first(OPTIMIZERS, str(case["optimizer"] or "").lower()) or _leave_open(engine),
        "activation_checkpointing": _first(RECOMPUTED, str(case["activation_checkpointing"] or "").lower()),
        "compiled": compiled or None,
        "task": "training",
    }
    _refine(found, case, other, said)
    return found | _formats(case) | _sharding(case) | _adapters(case)


def _refine(found: dict[str, object], case: Case, other: str, said: str) -> None:
    """Add what further arguments and notes say, and what an engine does with what the case says."""
    engine = str(case["engine"]).split()[0]
    if found["engine"] == "torchtitan" and case["pp"] and case["batch"]:
        found["micro_batch_size"] = max(1, int(case["batch"]) // int(case["pp"]))  # type: ignore[call-overload]
    if parallel := re.search(r"\bcp=?(\d+)|sequence_parallel_size (\d+)", other):
        found["context_parallel"] = int(parallel[1] or parallel[2])
    if kernel := _find_loss_kernel(other):
        found["loss_kernel"] = kernel
    if found["engine"] in ("torchtune", "torchtitan") and found["optimizer"] == "adamw":
        found["optimizer"] = (
            "adamw-fused"  # pytorch/torchtune bd2a0fc7c recipes/configs: fused: True; torchtitan's default
        )
    if re.search(r"in[_ -]b(?:ac)?kwa?r?d|in_bwd", f"{case['optimizer']} {other}".lower()) and found["optimizer"]:
        found["optimizer"] = f"{found['optimizer']}-in-backward"
    if re.search(r"\bsp\b|sp flag|\bsequence[_ ]parallel\b", other):
        found["sequence_parallel"] = True
    if re.search(r"pack|padded to the maximum|dummy data|longest", said) and "packing=" not in other:
        found["packed"] = "unpacked" not in said and "not packed" not in said
    if "activation offloading" in other and "full" in str(case["activation_checkpointing"] or ""):
        found["activation_checkpointing"] = "offloaded"
    if re.search(r"zero3_init_flag:? false", said):
        found["zero_init"] = False
    if "states bf16" in str(case["optimizer"]):
        found["moment_dtype"] = "bfloat16"
    if engine == "megatron-swift":
        found["expert_tensor_parallel"] = 1  # modelscope/ms-swift 3602360a5 swift/megatron/arguments/megatron_args.py
    if "grpo" in str(case["engine"]).lower():
        found |= {
            "training_method": "grpo",
            "kl_coefficient": 0.04,
        }  # huggingface/trl v0.15.0 trl/trainer/grpo_config.py, beta
    if "frozen" in other and "backbone" in other and not case["lora"]:
        found["trainable_parameters"] = Unknown("only another network on top of the stated one is trained")


def _find_loss_kernel(other: str) -> str:
    """Return the kind of loss that further arguments name; nothing if they name none."""
    if re.search(r"liger|cut cross entropy|\bcce\b", other) and "no cce" not in other:
        return "fused"
    if "standard ce" in other or "no cce" in other:
        return "plain"
    return "chunked" if "chunked" in other else ""


def _release(engine: str, text: str) -> str | None:
    """The release that a version names, or that was the latest in its month."""
    if month := re.search(r"20\d\d-\d\d", text):
        return next((name for since, name in reversed(DATED.get(engine, ())) if since <= month[0]), None)
    return None


def _first(words: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((ours for word, ours in words if text and word in text), None)


def _formats(case: Case) -> dict[str, object]:
    """Number formats: of the computation, of the weights as kept, and of a quantised base."""
    words = str(case["dtype"] or "").lower()
    found: dict[str, object] = {}
    if words:
        sixteen = "float16" if "fp16" in words and "bf16" not in words else "bfloat16"
        only_32 = words.startswith("fp32") and "bf16" not in words
        found["training_dtype"] = "float32" if only_32 else "fp8" if words.startswith("fp8") else sixteen
    shared_16 = "zero" in str(case["zero_stage"] or "").lower() or "fp32 adam states" in words
    if (
        words.startswith("fp32")
        or "fp32 master (amp" in words
        or ("mixed" in words and not case["lora"] and not shared_16)
    ):
        found["parameter_dtype"] = "float32"
    elif "true" in words or "pure" in words or words in ("bf16", "full bf16, eager"):
        found["parameter_dtype"] = "bfloat16"
    elif "fp32 adam states" in words:
        found |= {"parameter_dtype": found["training_dtype"], "master_weights": True}
    quantised = str(case["quantization"] or "").lower()
    if "nf4" in quantised:
        # unslothai/unsloth 015bdef0 unsloth/models/llama.py: bnb_4bit_use_double_quant
        # axolotl-ai-cloud/axolotl 067b021c8 src/axolotl/loaders/model.py, modelscope/ms-swift 3602360a5 quant_args.py,
        # hiyouga/LLaMA-Factory ff6d4d12 hparams/model_args.py: double quantisation unless told otherwise
        doubling = ("unsloth", "axolotl", "ms-swift", "llama-factory")
        double = "double" in quantised or any(one in f"{quantised} {case['engine']}" for one in doubling)
        found["quantization"] = "nf4-double" if double else "nf4"
    elif "int8" in quantised or "8bit" in quantised:
        found["quantization"] = "int8-bnb"
    elif "gptq" in quantised:
        found["quantization"] = "int4-g128"
    return found


def _sharding(case: Case) -> dict[str, object]:
    words = str(case["zero_stage"] or "").lower()
    offload = str(case["offload"] or "").lower()
    found: dict[str, object] = {}
    if zero := re.search(r"zero-(\d)", words):
        found |= {"sharding": "deepspeed", "zero_stage": int(zero[1])}
        found.pop("parameter_dtype", None)
    elif "no_shard" in words:
        found["sharding"] = "ddp"
    elif "fsdp" in words:
        found |= {"sharding": "fsdp", "zero_stage": 2 if "grad_op" in words else None}
    elif "ddp" in words:
        found["sharding"] = "ddp"
    elif "distributed" in str(case["optimizer"] or "").lower():
        found["sharding"] = (
            "megatron" if "not distributed" in str(case["optimizer"]).lower() else "distributed-optimizer"
        )
    elif case["gpu_count"] == 1:
        found["sharding"] = "none"
    elif not words and str(case["engine"]).split()[0] in DDP_BY_DEFAULT:
        found["sharding"] = "ddp"
    if offload:
        found["optimizer_offload"] = True
        found["parameter_offload"] = "param" in offload or "fsdp" in offload or offload == "cpu offload"
    return found


def _adapters(case: Case) -> dict[str, object]:
    lora = case["lora"]
    if not isinstance(lora, dict):
        return {}
    targets = lora.get("targets")
    words = re.split(r",\s*", targets) if isinstance(targets, str) else list(targets or ())
    letters = "".join(dict.fromkeys("".join(LETTERS.get(word, "") for word in words)))
    found: dict[str, object] = {"lora_rank": lora.get("rank") or 8, "lora_targets": letters or None}
    said = f"{targets} {lora} {case['other_args']}".lower()
    if re.search(
        r"modules_to_save|trained embed|embeddings? (?:and|\+|, )?.{0,24}train|train.{0,24}embed|\(emb\)|\+ ?(?:emb|wte)",
        said,
    ):
        found["trained_tables"] = 2
    if isinstance(trained := lora.get("trainable") or lora.get("trainable_params"), int):
        found["trainable_parameters"] = trained
    return found


def _shape(row: Mapping[str, object]) -> dict[str, object]:
    """A shape that the catalog does not list, with its parameters counted where the source does not."""
    found = {ours: row.get(theirs) for theirs, ours in SHAPE.items()}
    hidden, heads = _number(found["hidden"]), _number(found["attention_heads"])
    if found["head_dim"] is None and hidden and heads:
        found["head_dim"] = hidden // heads
    routed = _number(row.get("num_layers")) - _number(row.get("first_dense_layers"))
    found["moe_layers"] = routed if row.get("num_experts") else 0
    if found["parameters"] is None:
        found["parameters"] = _counted(found)
    return found


def _counted(shape: Mapping[str, object]) -> int | None:
    """Matrices of a decoder and its vocabulary tables."""
    names = ("layers", "hidden", "attention_heads", "kv_heads", "head_dim", "vocab")
    layers, hidden, heads, kv_heads, width, vocab = (_number(shape.get(name)) for name in names)
    if not all((layers, hidden, heads, kv_heads, width, vocab)) or not (shape["intermediate"] or shape["experts"]):
        return None
    matrices = 3 if shape["gated_mlp"] else 2
    attention = hidden * width * (2 * heads + 2 * kv_heads)
    routed = _number(shape["moe_layers"])
    dense = (layers - routed) * matrices * hidden * _number(shape["intermediate"])
    experts = routed * matrices * hidden * _number(shape["experts"]) * _number(shape["moe_intermediate"])
    return layers * attention + dense + experts + vocab * hidden * (1 if shape["tied_embeddings"] else 2)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
