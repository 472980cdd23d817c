"""Measured training runs: the words of a case as a role, and what they leave open.

The trainer follows from the source; a run that was measured did fit, so the least recomputation (for networks of 10 billion
parameters and more, that of whole layers, except with Megatron) and then the largest micro-batch that fits are taken; a
pipeline has four micro-batches for each stage and is interleaved with NVIDIA's trainers; routed experts are spread over the
GPUs of a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import figures
import model_words

from gpulint import units
from gpulint.catalog.architecture import Resolution
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.workload import Field

TRAINERS: tuple[tuple[str, Mapping[str, object]], ...] = (
    ("torchtitan", {"engine": "torchtitan", "sharding": "fsdp", "sequence_length": 8192, "optimizer": "adamw-fused"}),
    ("llm-foundry", {"engine": "llm-foundry", "sharding": "fsdp"}),
    ("mosaicml", {"engine": "llm-foundry", "sharding": "fsdp"}),
    ("automodel", {"engine": "nemo", "training_kernels": "fused", "sharding": "fsdp", "parameter_dtype": "bfloat16"}),
    ("megatron-bridge", {"engine": "megatron-bridge", "sharding": "distributed-optimizer", "tensor_overlap": True}),
    ("nemo", {"engine": "megatron-lm", "sharding": "distributed-optimizer", "tensor_overlap": True}),
    ("megatron", {"engine": "megatron-lm", "sharding": "distributed-optimizer"}),
    ("colossal", {"engine": "transformers", "training_kernels": "fused", "parameter_dtype": "bfloat16"}),
    (
        "fsdp_qlora",
        {"engine": "transformers", "sharding": "fsdp", "sequence_length": 2048, "parameter_dtype": "bfloat16"},
    ),
    ("litgpt", {"engine": "litgpt", "sharding": "fsdp"}),
    ("torchtune", {"engine": "torchtune", "sharding": "fsdp"}),
    ("axolotl", {"engine": "axolotl"}),
    ("llama-factory", {"engine": "llama-factory"}),
    ("unsloth", {"engine": "unsloth"}),
    ("deepspeed", {"engine": "deepspeed", "sharding": "deepspeed"}),
    ("internevo", {"engine": "transformers", "training_kernels": "fused", "sharding": "fsdp", "zero_stage": 1}),
)
"""Words of a source → the trainer, with what its published runs share."""
OTHERS: Mapping[str, object] = {"engine": "transformers", "sharding": "fsdp"}
USUAL: Mapping[str, object] = {
    "task": "training",
    "packed": True,
    "optimizer": "adamw",
    "training_dtype": "bfloat16",
    "parameter_dtype": "float32",
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "sequence_length": 4096,
}
RUNS: Mapping[str, float] = {"fsdp_qlora": 1024}
"""Samples of a run that a source reports in seconds (fsdp_qlora: benchmarks_03_2024.md)."""
RECOMPUTED = ("none", "products", "full")
LARGE_PARAMETERS = 10e9
LARGEST_MICRO_BATCH = 16
BATCHES_FOR_EACH_STAGE = 4
INTERLEAVED, PARTS_OF_A_STAGE = ("nemo", "megatron-bridge", "megatron-lm"), 4
"""Trainers whose published pipelines are interleaved (4 to 12 parts in Megatron-Bridge's and Automodel's tables)."""
TIMES = ("seconds", "step_s")
HALVES_ATTENTION = ("nvidia", "nemo", "megatron")
"""Words of sources that count attention without its masked half (since 2025); others count all of it."""


def runs(case: figures.Case, fields: figures.Fields) -> Iterator[figures.Asked]:
    """Training runs, and what decodes tokens."""
    config = figures.config(case)
    resolved = model_words.resolved(str(config.get("model", "")))
    measured = case["measured"]
    assert isinstance(measured, Mapping)
    told = {**fields, **_training(case)}
    for name in ("tokens_per_s_per_gpu", "tokens_per_s_per_gpu_async_tp", "tokens_per_s", "mfu_pct", "hfu_pct"):
        if (value := figures.measured(case, name)) is not None:
            stated = {**told, "tensor_overlap": True} if name.endswith("async_tp") else told
            yield _training_figure(name, value, stated, resolved, case)
    for name in ("model_tflops_per_gpu", "tflops_per_gpu", "seconds", "step_s"):
        if (value := figures.measured(case, name)) is not None and (name != "step_s" or "global_batch_size" in told):
            yield _training_figure(name, value, told, resolved, case)


def _training_figure(
    name: str, measured: float, told: figures.Fields, resolved: Resolution | None, case: figures.Case
) -> figures.Asked:
    known, samples = fitting(told, resolved), _samples(case)
    halves = any(word in str(case.get("source", "")).lower() for word in HALVES_ATTENTION)

    def values() -> figures.Values:
        rate = "training_tokens_per_s_per_gpu"
        fact = {"step_s": "step_s", "mfu_pct": "mfu", "hfu_pct": "hfu"}.get(name, "mfu" if "tflops" in name else rate)
        found = known.scenarios(fact)
        if isinstance(found, Missing):
            return ", ".join(sorted(found.names))
        counted = _counted(known) if halves and fact == "mfu" else 1.0
        return figures.ordered([_read(known, name, float(one), samples) * counted for one in found], 1)  # type: ignore[arg-type]

    def bound() -> float | None:
        floor, step = known.expected("step_floor_s"), known.expected("step_s")
        expected = values()
        if not isinstance(floor, int | float) or not isinstance(step, int | float) or isinstance(expected, str):
            return None
        return expected[1] * (floor / step if name in TIMES else step / floor)

    return figures.Asked(name, measured, values, bound, name in TIMES)


def _read(known: Facts, name: str, value: float, samples: float) -> float:
    """A fact in the unit of a figure."""
    if name in ("mfu_pct", "hfu_pct"):
        return value * 100
    if name == "tokens_per_s":
        return value * float(known.expected("world_size"))  # type: ignore[arg-type]
    if "tflops" in name:
        return value * float(known.expected("dense_bf16_flop_per_s")) / units.TERA  # type: ignore[arg-type]
    if name == "seconds":
        tokens = samples * float(known.expected("sequence_length"))  # type: ignore[arg-type]
        return tokens / (value * float(known.expected("world_size")))  # type: ignore[arg-type]
    return value


def _counted(known: Facts) -> float:
    """Operations without the masked half of attention against those with it."""
    done, counted = known.expected("step_flop"), known.expected("counted_step_flop")
    return float(done) / float(counted)  # type: ignore[arg-type]


def fitting(told: figures.Fields, resolved: Resolution | None) -> Facts:
    """The run with the least recomputation, and then the largest micro-batch, that fits the card."""
    shape = resolved.architecture if resolved else None
    large = ((shape.parameters or 0) if shape else 0) >= LARGE_PARAMETERS and "megatron" not in str(told["engine"])
    usual = RECOMPUTED[-1:] if large else RECOMPUTED
    if shape and shape.experts and "expert_parallel_size" not in told:
        told = {**told, "expert_parallel_size": told["gpus_per_pod"]}
    modes = [told["activation_checkpointing"]] if "activation_checkpointing" in told else usual
    least = [1] if "micro_batch_size" not in told else [told["micro_batch_size"]]
    tried = [
        figures.known({**told, "activation_checkpointing": mode, "micro_batch_size": size}, resolved)
        for mode in modes
        for size in least
    ]
    found = next((one for one in tried if _fits(one)), tried[-1])
    size = found.role.value("micro_batch_size")
    while "micro_batch_size" not in told and isinstance(size, int) and size < LARGEST_MICRO_BATCH:
        larger = resolver.resolve(found.role.having(micro_batch_size=Field(size * 2)), resolved)
        if not _fits(larger) or not isinstance(larger.expected("step_s"), int | float):
            break
        found, size = larger, size * 2
    return found


def _fits(known: Facts) -> bool:
    room = known.expected("training_room_bytes")
    return not isinstance(room, int | float) or room >= 0


def _training(case: figures.Case) -> figures.Fields:
    """The fields of a training run: the trainer's by the source, then the case's own words."""
    config, source = figures.config(case), str(case.get("source", "")).lower()
    model = str(config.get("model", "")).lower()
    trainer = next((fields for word, fields in TRAINERS if word in source), OTHERS)
    said = (
        " ".join(f"{key}={value}" for key, value in config.items() if key != "model")
        + " "
        + str(config.get("setup", ""))
    )
    found: figures.Fields = {**USUAL, **trainer, **figures.settings(said.lower())}
    if re.search(r"fp8(?!=false)|float8", said.lower()):
        found["training_dtype"] = "fp8"
    if re.search(r"compile=true|\bcompiled?\b(?!=)", said.lower()):
        found["compiled"] = True
    if "zero_stage" in found and "sharding" not in trainer:
        found["sharding"] = "deepspeed"
    if re.search(r"\bddp\b", said.lower()):
        found["sharding"] = "ddp"
    if int(str(found["tensor_parallel"])) > 1 and "megatron" in str(found["engine"]):
        found["sequence_parallel"] = True
    stages = int(str(found["pipeline_parallel"]))
    if stages > 1 and not {"global_batch_size", "gradient_accumulation_steps"} & found.keys():
        found["gradient_accumulation_steps"] = BATCHES_FOR_EACH_STAGE * stages
    if stages > 1 and str(found["engine"]) in INTERLEAVED and "virtual_stages" not in found:
        found["virtual_stages"] = PARTS_OF_A_STAGE
    return found | _adapters(model, found) | _offload(f"{model} {said}")


def _adapters(model: str, found: figures.Fields) -> figures.Fields:
    """LoRA as its words say; rank 16 on all matrices where nothing does."""
    if "lora" not in model:
        return {}
    base: figures.Fields = {"lora_rank": 16, "lora_targets": "qkvogud", "parameter_dtype": "bfloat16"}
    base |= {"activation_checkpointing": "full"} if found["engine"] == "transformers" else {}
    return base | ({"quantization": "nf4-double"} if "qlora" in model else {})


def _offload(said: str) -> figures.Fields:
    return {"parameter_offload": True, "optimizer_offload": True} if "offload" in said.lower() else {}


def _samples(case: figures.Case) -> float:
    source = str(case.get("source", "")).lower()
    return next((samples for word, samples in RUNS.items() if word in source), 0)
