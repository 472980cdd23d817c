"""Measured inference cases as gpulint is told them: each case's words become the glossary's fields of a role."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import cards
import releases
import training_cases
import unsloth_launch

from gpulint import units
from gpulint.catalog import architecture
from gpulint.catalog.architecture import Architecture, Resolution
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.pipeline import memory_breakdown
from gpulint.source.repository import WorkTree
from gpulint.workload import Field, Role, Unknown

Case = Mapping[str, object]
ENGINES: Mapping[str, str] = {
    **{name: name for name in ("vllm", "sglang", "tensorrt-llm", "tgi", "lmdeploy", "llama.cpp", "ollama", "litgpt")},
    **{name: name for name in ("exllama", "autoawq", "deepspeed-inference", "transformers", "gpt-fast")},
    **dict.fromkeys(
        ("accelerate", "hf", "huggingface", "peft", "unsloth", "not", "auto-gptq", "autogptq"), "transformers"
    ),
    **dict.fromkeys(("torchao", "gptfast", "pytorch/ao"), "gpt-fast"),
    **dict.fromkeys(("lit-gpt", "lit-llama"), "litgpt"),
    **dict.fromkeys(("trt-llm", "trtllm", "tensorrt_llm"), "tensorrt-llm"),
    **dict.fromkeys(("text-generation-inference", "hf-tgi"), "tgi"),
    **dict.fromkeys(
        ("llamacpp", "llama-cpp", "llama_cpp", "llama-cpp-python", "llama-bench", "koboldcpp"), "llama.cpp"
    ),
    **dict.fromkeys(("deepspeed", "ds-inference", "deepspeed-mii"), "deepspeed-inference"),
    **dict.fromkeys(("exllamav1", "exllama-v1"), "exllama"),
}
"""First word of a case's engine → ours; an engine that is not stated is taken for plain Transformers."""
BATCHES = frozenset({"transformers", "litgpt", "exllama", "autoawq", "deepspeed-inference", "gpt-fast"})
"""Programs that generate one static batch."""
RELEASES: Mapping[str, str] = {"deepseek-ai/DeepSeek-LLM": "4.35.0"}
"""Repositories whose own requirements.txt states the release that their table does not (transformers>=4.35.0)."""
KNOB: Mapping[str, str] = {
    "vllm": "gpu_memory_utilization",
    "sglang": "static_memory_fraction",
    "tgi": "gpu_memory_utilization",
    "tensorrt-llm": "kv_cache_free_fraction",
    "lmdeploy": "kv_cache_free_fraction",
}
"""Which share of the card's memory a case's `gpu_memory_utilization` is."""
DTYPES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "bf16/fp16 (auto)": "auto",
}
METHODS_OF_COPIES = re.compile("awq|gptq", re.IGNORECASE)
"""Methods that a server reads from a quantised copy and does not apply to other weights."""
SEEING = re.compile(r"vl\b|vision|llava|omni|-4v|multimodal", re.IGNORECASE)
"""Words in the names of networks that look at pictures."""
METHODS = {"fp8": "fp8", "awq": "awq", "gptq": "gptq", "mxfp4": "mxfp4", "aqlm": "aqlm", "bnb": "bitsandbytes"}
FILES: Mapping[str, str] = {"f16": "float16", "fp16": "float16", "bf16": "bfloat16", "f32": "float32", "mxfp4": "mxfp4"}
"""Types of GGUF files that the catalog has under another name."""
OWN_WORDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "tgi": (("nf4", "bitsandbytes-nf4"), ("fp4", "bitsandbytes-fp4"), ("eetq", "eetq")),
    "tensorrt-llm": (("awq", "w4a16_awq"), ("int8 weight", "w8a16"), ("nvfp4", "nvfp4")),
    "lmdeploy": (("w4a16", "awq"),),
}
"""Formats that a server calls otherwise than the cases do."""
BLOCK = re.compile(r"--block-size=(\d+)")
GRAPHS_OFF = "--enforce-eager"
SHORT_PROMPT = 8
"""Tokens of "a short prompt"."""
USUAL_CONTEXT = 2048
"""Stands for a trained context that no source states; only tables of old releases rest on it."""
TUTORIAL_TOKENS = 256
"""What litgpt's tutorials generate (Lightning-AI/litgpt tutorials/quantize.md, --max_new_tokens 256)."""
MEASURED: Mapping[str, tuple[str, float]] = {
    "weights_gib": ("loaded_bytes_per_gpu", units.GIB),
    "kv_cache_gib": ("kv_cache_bytes", units.GIB),
    "kv_tokens": ("kv_cache_tokens", 1),
    "kv_bytes_per_token": ("kv_bytes_per_token", 1),
    "activation_peak_gib": ("activation_bytes", units.GIB),
    "non_torch_gib": ("non_torch_bytes", units.GIB),
    "compute_buffer_gib": ("activation_bytes", units.GIB),
    "peak_gib": ("", units.GIB),
    "total_gib_all_gpus": ("", units.GIB),
    "nvidia_smi_gib": ("serving_device_bytes", units.GIB),
}
"""Measured key → our fact and its scale. Graph memory is left out: as printed it may be negative."""


OF_LLAMA_CPP: Mapping[str, str] = {"weights_gib": "weight_bytes", "kv_cache_gib": "kv_needed_bytes"}
"""Its tables state the whole file, its logs the card's buffer; the cache is as large as the context asks for."""


class Asked(NamedTuple):
    """A measured figure: its name, what it is worth, what of it is counted, the fact that answers it with its scale, and half
    of the last digit that its source prints."""

    name: str
    measured: float
    kind: str
    fact: str
    scale: float
    rounding: float = 0.0


class Told(NamedTuple):
    """A case as gpulint knows it, or why it could not be told."""

    engine: str
    known: Facts | None
    reason: str = ""


def engine(case: Case) -> str:
    """Our name of the case's engine; empty for one that we do not size."""
    first = str(case["engine"] or "").lower().split()[0].rstrip(",;")
    return ENGINES.get(first, "")


def told(case: Case, shapes: Mapping[str, Mapping[str, object]]) -> Told:
    """The case as `gpulint size` would be told it."""
    if not (name := engine(case)):
        return Told(str(case["engine"]), None, f"the engine {case['engine']} is not sized")
    stated = {field: value for field, value in _stated(case, name).items() if value is not None}
    card = cards.named(_text(case["gpu"]), _number(case["gpu_memory_gib"]))
    role, resolved = memory_breakdown.build_role(_model(case), stated, card, WorkTree(Path(__file__).parent))
    resolved = _copied(case, _shaped(case, resolved, shapes))
    gpus = {one: Field(case["gpu_count"]) for one in ("gpus_per_pod", "gpus_per_replica")}  # type: ignore[arg-type]
    role = role.having(**gpus)
    if case["gpu_count"] is None and case["tp"] is None:
        role = role.having(tensor_parallel=Field(Unknown("the source does not say on how many GPUs it ran")))
    if visible := cards.visible_gib(card, _number(case["gpu_memory_gib"])):
        role = role.having(device_memory_bytes=Field(visible * units.GIB))
    shape = resolved.architecture if resolved else None
    role = _launched(case, role, shape)
    reason = (
        ""
        if shape and (shape.is_known or shape.named_parameters)
        else f"the architecture of {case['model']} is not known"
    )
    return Told(name, resolver.resolve(role, resolved), reason)


def _model(case: Case) -> str:
    """The checkpoint's name, without what a source adds in brackets where the rest is a network that is known."""
    name = str(case["model"])
    bare = architecture.resolve(name.partition(" (")[0]).architecture
    return name.partition(" (")[0] if bare is not None and bare.is_known else name


def _copied(case: Case, resolved: Resolution | None) -> Resolution | None:
    """The network in the usual format of the 4-bit copy that a case tells of, where its name is that of another release."""
    shape, method = (
        resolved.architecture if resolved else None,
        METHODS_OF_COPIES.match(str(case["quantization"] or "")),
    )
    kept = _kept(str(case["quantization"]).lower()) if method and engine(case) in ("vllm", "sglang") else None
    if resolved is None or shape is None or kept is None or str(shape.checkpoint_quantization).startswith("int4"):
        return resolved
    copy = dataclasses.replace(shape, checkpoint_quantization=kept, stored_bytes=None, unquantised_parameters=None)
    return resolved._replace(architecture=copy)


def _launched(case: Case, role: Role, shape: Architecture | None) -> Role:
    """With what Unsloth tells the server that it starts, unless the case states it."""
    if "unsloth" not in str(case["engine"]) or shape is None or not shape.is_known or case["max_num_seqs"]:
        return role
    alone = resolver.resolve(role, None)
    memory, share, length = (
        _number(case[key]) for key in ("gpu_memory_gib", "gpu_memory_utilization", "max_model_len")
    )
    memory_bytes = memory * units.GIB if memory else _number(alone.expected("device_memory_bytes"))
    if memory_bytes is None or share is None or length is None:
        return role
    adapters, method = case["lora"], role.text("quantization") or None
    rank = int(adapters["rank"]) if isinstance(adapters, dict) else 0
    told = unsloth_launch.stated(shape, role.text("engine_version"), memory_bytes, share, int(length), method, rank)
    return role.having(**{name: Field(value, source="Unsloth") for name, value in told.items()})


def _shaped(case: Case, resolved: Resolution | None, shapes: Mapping[str, Mapping[str, object]]) -> Resolution | None:
    """The catalog's architecture, or what the case's source says of one that the catalog lacks."""
    known = resolved is not None and resolved.architecture is not None and resolved.architecture.is_known
    row = shapes.get(str(case["model"])) or shapes.get(_model(case))
    if not row:
        return resolved
    if known:
        return _lengthened(resolved, _number(row.get("max_position_embeddings")))
    shape = Architecture(id=str(case["model"]), family="", **training_cases._shape(row))  # type: ignore[arg-type]
    routed = shape.layers is not None and shape.moe_layers == shape.layers
    context, params = _number(row.get("max_position_embeddings") or case["seq_len"]), _number(case["params_b"])
    return Resolution(
        dataclasses.replace(
            shape,
            checkpoint_dtype="bfloat16" if _plain(case, shape) else None,
            modality=None if SEEING.search(str(case["model"])) else "text",
            intermediate=shape.intermediate or (shape.moe_intermediate if routed else None),
            trained_context=int(context) if context else USUAL_CONTEXT,
            parameters=shape.parameters or (round(params * units.BILLION) if params else None),
        ),
        "the case's source",
    )


def _plain(case: Case, shape: Architecture) -> bool:
    """Whether a network of which only the shape is known has one number format: some releases mix them in their experts."""
    return not shape.experts or (case["quantization"] is None and case["dtype"] is not None)


def _lengthened(resolved: Resolution | None, context: float | None) -> Resolution | None:
    """The catalog's architecture, with the context of the case's source where the catalog has none."""
    shape = resolved.architecture if resolved else None
    if resolved is None or shape is None or shape.trained_context or not context:
        return resolved
    return resolved._replace(architecture=dataclasses.replace(shape, trained_context=int(context)))


def _stated(case: Case, name: str) -> dict[str, object]:
    other = str(case["other_args"] or "")
    stages = _text(case["pp"])
    found: dict[str, object] = {
        "engine": name,
        "tensor_parallel": case["tp"] or 1,
        "pipeline_parallel": case["pp"] or 1,
        "data_parallel": case["dp"] or 1,
        "max_model_len": case["max_model_len"],
        "kv_cache_dtype": case["kv_cache_dtype"],
        "weight_dtype": DTYPES.get(str(case["dtype"]), case["dtype"]),
        "quantization": _format(str(case["quantization"] or ""), name),
    }
    if release := releases.stated(name, str(case["engine_version"])):
        found["engine_version"] = release
    if name in BATCHES:
        found |= _batch(case, name, other)
        found.pop("max_model_len")
        if name == "transformers":
            found |= _layers(case, other, stages)
        return found
    if name == "tensorrt-llm":
        found["max_model_len"] = case["max_model_len"] or case["seq_len"]  # built for the longest input and output
    found |= {"max_num_seqs": case["max_num_seqs"], "max_num_batched_tokens": case["max_num_batched_tokens"]}
    if name in KNOB:
        found[KNOB[name]] = case["gpu_memory_utilization"]
    if name == "vllm":
        found |= _of_vllm(case, other)
    if name in ("llama.cpp", "ollama"):
        found |= _of_llama_cpp(case, other)
        found["quantization"] = found["quantization"] or FILES.get(str(case["dtype"]))
    return found


def _of_vllm(case: Case, other: str) -> dict[str, object]:
    found: dict[str, object] = {"enforce_eager": GRAPHS_OFF in other}
    if block := BLOCK.search(other):
        found["block_size"] = int(block[1])
    lora = case["lora"]
    if isinstance(lora, dict):
        found |= {"enable_lora": True, "max_lora_rank": lora.get("rank")}
    return found


def _of_llama_cpp(case: Case, other: str) -> dict[str, object]:
    found: dict[str, object] = {"max_model_len": case["max_model_len"] or case["seq_len"]}
    if layers := re.search(r"(?:-ngl|--n-gpu-layers|--gpu-layers)[ =](\d+)", other):
        found["gpu_layers"] = int(layers[1])
    if case["pp"]:
        found["pipeline_parallel"] = case["pp"]
    if "flash attention" in other or re.search(r"-fa(?: 1| on)?\b", other):
        found["attention_backend"] = "on"
    return found


def _layers(case: Case, other: str, stages: str) -> dict[str, object]:
    """Several GPUs under Transformers hold different layers, unless a tensor plan is asked for (`tp_plan`, 4.47 and later)."""
    shared = "tp_plan" in other or "tensor parallel" in other
    found: dict[str, object] = {
        "spills": "device_map" in f"{case['engine']} {other}" or "accelerate" in str(case["engine"])
    }
    if case["gpu_count"] and not shared:
        found |= {"tensor_parallel": 1, "pipeline_parallel": int(stages) if stages.isdigit() else case["gpu_count"]}
    if releases.stated("transformers", str(case["engine_version"])) is None:
        found["engine_version"] = next((own for name, own in RELEASES.items() if name in str(case["source"])), None)
    for word, kernels in (("flash", "flash"), ("sdpa", "sdpa"), ("eager", "eager")):
        if word in other.lower():
            found["attention_backend"] = kernels
            break
    if case["offload"] and (kept := re.search(r"([\d.]+) ?GB", str(case["offload"]))):
        found["cpu_offload_bytes"] = float(kept[1]) * units.GB
    return found


def _batch(case: Case, name: str, other: str) -> dict[str, object]:
    """Batch, prompt and generated tokens of a program without a server."""
    said = f"{other} | {case['notes']}".lower()
    found: dict[str, object] = {"batch_size": case["batch"] or case["max_num_seqs"]}
    total, new = (
        _number(case["seq_len"]),
        _tokens(r"(\d+) new tokens|generate (\d+) tokens|generating (\d+)|decode (\d+)|output (\d+)", said),
    )
    short = re.search(r"short (?:default )?prompt|prompt of a few", said) is not None
    if total and new == total:
        found["prompt_tokens"] = 1
    elif prefill := _tokens(r"prefill (\d+)|input (\d+)|prompt (\d+)", said):
        found["prompt_tokens"] = prefill
    elif short:
        found["prompt_tokens"] = SHORT_PROMPT
        new = new or (int(total) - SHORT_PROMPT if total else TUTORIAL_TOKENS if name == "litgpt" else None)
    elif total:
        found["prompt_tokens"] = int(total)
        new = new or 1
    found["new_tokens"] = new
    if cache := _tokens(r"--cache_size (\d+)|cache size (\d+)", said):
        found["cache_tokens"] = cache
    elif name == "autoawq":
        found["cache_tokens"] = new  # its examples/benchmark.py: max_new_tokens=n_generate
    elif name == "exllama":
        found["cache_tokens"] = case["max_model_len"] or case["seq_len"]
    if name == "gpt-fast":
        found["compiled"] = "--compile" in said
    return found


def _tokens(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(next(group for group in found.groups() if group)) if found else None


def _format(words: str, name: str) -> str | None:
    """`--quantization` as the case's words say it: a method's name to a server, a format of the catalog to a program."""
    low = words.lower()
    if not low:
        return None
    if name in ("llama.cpp", "ollama"):
        kind = low.split()[0].removeprefix("gguf-").rstrip(",;")
        return FILES.get(kind, f"gguf-{kind}")
    if name in BATCHES:
        return _kept(low) or words
    if name in OWN_WORDS and (own := next((ours for word, ours in OWN_WORDS[name] if word in low), None)):
        return own
    return next((method for start, method in METHODS.items() if low.startswith(start)), _kept(low) or words)


def _kept(low: str) -> str | None:
    """The format in which a program without a server keeps weights that a case calls quantised."""
    group = re.search(r"g(\d+)", low)
    if "nvfp4" in low or "mxfp4" in low:
        return None
    if "nf4" in low or "fp4" in low:
        return "int4-bnb" if re.search(r"double|dq", low) else "nf4"
    if "fp8" in low:
        return "fp8-block"
    if re.search(r"int8|8-?bit", low):
        return "int8-g128" if "gptq" in low else "int8-bnb" if "bnb" in low or "bitsandbytes" in low else "int8"
    if re.search(r"awq|gptq|int4|4-?bit", low):
        return f"int4-g{group[1] if group else 128}"
    return None


def asked(case: Case, name: str) -> list[Asked]:
    """The figures of a case that we answer, each with what it counts."""
    measured = case["measured"]
    assert isinstance(measured, dict)
    values = {key: measured[key] for key in MEASURED if isinstance(measured.get(key), int | float)}
    if values.get("kv_cache_gib", 0) > 0 and values.get("kv_tokens", 0) > 0:
        values["kv_bytes_per_token"] = values["kv_cache_gib"] * units.GIB / values["kv_tokens"]
    if case["gpu_count"] == 1 and "peak_gib" in values:
        values.pop("total_gib_all_gpus", None)
    if measured["oom"]:
        values.pop("peak_gib", None)
    return [
        _asked(case, name, key, float(value))._replace(rounding=_rounding(key, values)) for key, value in values.items()
    ]


def _rounding(key: str, values: Mapping[str, float]) -> float:
    """Half of the last digit of a figure as printed, or of what it was computed from."""
    if key == "kv_bytes_per_token":
        pool, tokens = (values[one] for one in ("kv_cache_gib", "kv_tokens"))
        return values[key] * (_rounding("kv_cache_gib", values) / pool + 1 / tokens)
    return float(0.5 * 10 ** -len(str(values[key]).partition(".")[2].rstrip("0")))


def _asked(case: Case, name: str, key: str, value: float) -> Asked:
    measured = case["measured"]
    assert isinstance(measured, dict)
    fact, scale = MEASURED[key]
    kind = ""
    if key == "weights_gib" and name in BATCHES:
        fact = "generation_weight_bytes"
    elif name == "llama.cpp" and key in OF_LLAMA_CPP:
        buffers = key == "weights_gib" and "compute_buffer_gib" in measured and case["gpu_count"] == 1
        fact = "loaded_bytes_per_gpu" if buffers else OF_LLAMA_CPP[key]
    elif key in ("peak_gib", "total_gib_all_gpus"):
        kind, fact = _peak(str(measured.get("peak_kind", "")).lower(), key.startswith("total"), name, case)
        if "weights_gib_per_gpu" in measured:
            kind, fact = "weights", "weight_bytes"
    return Asked(key, value, kind, fact, scale)


def _peak(words: str, total: bool, name: str, case: Case) -> tuple[str, str]:
    """What a peak counts and the fact that answers it.

    "MB as printed" (QwenLM/Qwen3, 80 rows) is what tensors take while tokens are generated: its rows differ by their KV cache
    to the megabyte and never hold the prompt's work. ExLlama prints the most that its tensors took
    (turboderp/exllama test_benchmark_inference.py, max_memory_allocated). Where a source does not say, it is what PyTorch's
    allocator holds.
    """
    if name not in BATCHES:
        return "device", "serving_device_bytes"
    several = total or "sum over gpus" in words
    if name == "exllama":
        return "allocated", "generation_total_bytes" if several else "generation_peak_bytes"
    if "mb as printed" in words:
        return "held", "generation_held_bytes"
    if "reserved" in words:
        return "reserved", "generation_total_reserved_bytes" if several else "generation_reserved_bytes"
    if "allocated" in words or "sum over gpus" in words or "active" in words:
        return "allocated", "generation_total_bytes" if several else "generation_peak_bytes"
    if re.search(r"nvidia-smi|device|process|nvml|driver", words):
        return "device", "generation_device_bytes"
    return "unstated", "generation_total_reserved_bytes" if several else "generation_reserved_bytes"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: object) -> str:
    return "" if value is None else str(value)
