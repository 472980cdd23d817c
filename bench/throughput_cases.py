"""Measured speeds as gpulint is told them: a case's words become a role, and each figure the fact it measures.

What the words leave open: the trainer follows from the source; a run that was measured did fit, so the least recomputation
(for networks of 10 billion parameters and more, that of whole layers, except with Megatron) and then the largest micro-batch
that fits are taken; a pipeline has four micro-batches for each stage; nodes have the usual network of their card's time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import hardware_words
import model_words

from gpulint import documents, fabric, facts, hardware, units
from gpulint.architecture import Resolved
from gpulint.facts import Facts, Missing
from gpulint.workload import Field, Origin, Role

Case = Mapping[str, object]
Values = tuple[float, float, float] | str
NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())


class Asked(NamedTuple):
    """One measured figure: what we say of it, smallest first, or what is missing; and the most that physics allows."""

    name: str
    measured: float
    values: Callable[[], Values]
    bound: Callable[[], float | None]


class Told(NamedTuple):
    """The figures of a case that we know the meaning of, or why there are none."""

    asked: tuple[Asked, ...]
    reason: str = ""


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
SETTINGS: tuple[tuple[str, str], ...] = (
    (r"\bseq(?:_?len(?:gth)?)?[\s=:]*(\d+)", "sequence_length"),
    (r"\btp[\s=:]*(\d+)", "tensor_parallel"),
    (r"\bpp[\s=:]*(\d+)", "pipeline_parallel"),
    (r"\bcp[\s=:]*(\d+)", "context_parallel"),
    (r"\bep[\s=:]*(\d+)", "expert_parallel_size"),
    (r"\bvp[\s=:]*(\d+)", "virtual_stages"),
    (r"\b(?:mbs|micro_batch(?:_size)?|batch)[\s=:]*(\d+)", "micro_batch_size"),
    (r"\b(?:gbs|global_batch(?:_size)?)[\s=:]*(\d+)", "global_batch_size"),
    (r"\b(?:ga|grad_accum)[\s=:]*(\d+)", "gradient_accumulation_steps"),
    (r"\bzero[\s=:_-]*(\d)", "zero_stage"),
)
RUNS: Mapping[str, float] = {"fsdp_qlora": 1024}
"""Samples of a run that a source reports in seconds (fsdp_qlora: benchmarks_03_2024.md)."""
WITHOUT_SERVER = ("litgpt", "transformers", "gpt-fast", "exllama")
"""Words of sources whose decoding is a loop in Python, where the launch of kernels decides."""
RECOMPUTED = ("none", "products", "full")
LARGE_PARAMETERS = 10e9
LARGEST_MICRO_BATCH = 16
BATCHES_FOR_EACH_STAGE = 4
HALVES_ATTENTION = ("nvidia", "nemo", "megatron")
"""Words of sources that count attention without its masked half (since 2025); others count all of it."""


def asked(case: Case) -> Told:
    """The figures of a case with what we say of them."""
    fields = hardware_words.fields(str(case["hardware"]))
    if fields is None:
        return Told((), f"the catalog has no card of the words {case['hardware']}")
    kinds = {"matmul_peak": _products, "host_link": _host, "p2p": _pairs, "collective": _collectives, "power": _power}
    return Told(tuple(kinds.get(str(case["kind"]), _runs)(case, fields)))


# ---- matrix products and links


def _products(case: Case, fields: hardware_words.Fields) -> Iterator[Asked]:
    dtype = "fp8" if "fp8" in str(_config(case).get("dtype", "")) else "bfloat16"
    known = _known({**fields, "training_dtype": dtype, "task": "training"}, None)
    measured = _measured(case, "achievable_tflops")
    if measured is not None:
        bound = _scaled(known, "training_peak_flop_per_s", units.TERA)
        yield Asked("achievable_tflops", measured, _of(known, "achievable_flop_per_s", units.TERA), bound)


def _host(case: Case, fields: hardware_words.Fields) -> Iterator[Asked]:
    known = _known(fields, None)
    for name in ("h2d_gbps", "d2h_gbps"):
        if (measured := _measured(case, name)) is not None:
            bound = _scaled(known, "host_link_bytes_per_s", units.GB)
            yield Asked(name, measured, _of(known, "host_copy_bytes_per_s", units.GB), bound)


def _pairs(case: Case, fields: hardware_words.Fields) -> Iterator[Asked]:
    stages = {"tensor_parallel": 1, "pipeline_parallel": 2, "context_parallel": 1, "training_copies": 1}
    known = _known({**fields, **_ranks(2), **stages, "task": "training", "engine": "megatron-lm"}, None)
    for name, ways in (("unidirectional_gbps", 1), ("duplex_gbps", 2)):
        if (measured := _measured(case, name)) is not None:
            bound = _scaled(known, "pipeline_nominal_bytes_per_s", units.GB / ways)
            yield Asked(name, measured, _of(known, "pipeline_bytes_per_s", units.GB / ways), bound)


def _collectives(case: Case, fields: hardware_words.Fields) -> Iterator[Asked]:
    config = _config(case)
    ranks = int(float(str(config.get("gpus") or fields["gpus_per_replica"])))
    known = _known({**fields, "tensor_parallel": ranks, "pipeline_parallel": 1, "task": "training"}, None)
    payload = _payload(str(config.get("bytes") or config.get("payload") or ""))
    name = str(config.get("collective", "all_reduce"))
    if (measured := _measured(case, "busbw_gbps")) is not None:
        yield Asked(
            "busbw_gbps",
            measured,
            lambda: _bus(known, name, payload, ranks),
            lambda: _bus_bound(known, name, ranks),
        )


def _bus(known: Facts, name: str, payload: float | None, ranks: int) -> Values:
    """The bus bandwidth of a collective with that payload, or of a large one."""
    found, hops = known.worlds("tensor_bus_bytes_per_s"), known.worlds("tensor_hop_s")
    if isinstance(found, Missing) or isinstance(hops, Missing):
        return ", ".join(sorted(known.missing(["tensor_bus_bytes_per_s", "tensor_hop_s"])))
    values = [float(one) for one in found]  # type: ignore[arg-type]
    if payload:
        times = [
            fabric.all_gather_s(payload, ranks, bus, float(hop))  # type: ignore[arg-type]
            for bus, hop in zip(values, hops, strict=True)
        ]
        values = [(ranks - 1) / ranks * payload / time for time in times]
        if name == "all_reduce":
            pairs = zip([float(one) for one in found], hops, strict=True)  # type: ignore[arg-type]
            times = [fabric.all_reduce_s(payload, ranks, bus, float(hop)) for bus, hop in pairs]  # type: ignore[arg-type]
            values = [2 * (ranks - 1) / ranks * payload / time for time in times]
    return _ordered(values, units.GB)


def _bus_bound(known: Facts, name: str, ranks: int) -> float | None:
    """The bus bandwidth that physics forbids: the nominal one; twice as much less its own where switches add up."""
    nominal, medium = known.likely("tensor_nominal_bytes_per_s"), known.likely("tensor_medium")
    if not isinstance(nominal, int | float):
        return None
    joined = hardware.link(str(medium))
    in_switch = name == "all_reduce" and joined is not None and joined.reduces
    return 2 * (ranks - 1) / ranks * nominal / fabric.all_reduce_floor_s(1.0, ranks, 1.0, in_switch) / units.GB


# ---- runs


def _runs(case: Case, fields: hardware_words.Fields) -> Iterator[Asked]:
    """Training runs, and what decodes tokens."""
    config = _config(case)
    resolved = model_words.resolved(str(config.get("model", "")))
    measured = case["measured"]
    assert isinstance(measured, Mapping)
    if "tokens_per_s" in measured:
        yield from _decoded(case, fields, resolved)
        return
    told = {**fields, **_training(case)}
    for name in ("tokens_per_s_per_gpu", "tokens_per_s_per_gpu_async_tp", "mfu_pct"):
        if (value := _measured(case, name)) is not None:
            stated = {**told, "tensor_overlap": True} if name.endswith("async_tp") else told
            yield _training_figure(name, value, stated, resolved, case)
    for name in ("model_tflops_per_gpu", "tflops_per_gpu", "seconds", "step_s"):
        if (value := _measured(case, name)) is not None and (name != "step_s" or "global_batch_size" in told):
            yield _training_figure(name, value, told, resolved, case)


def _training_figure(
    name: str, measured: float, told: hardware_words.Fields, resolved: Resolved | None, case: Case
) -> Asked:
    known, samples = fitting(told, resolved), _samples(case)
    halves = any(word in str(case.get("source", "")).lower() for word in HALVES_ATTENTION)

    def values() -> Values:
        fact = "step_s" if name == "step_s" else "mfu" if name == "mfu_pct" else "training_tokens_per_s_per_gpu"
        fact = "mfu" if "tflops" in name else fact
        found = known.worlds(fact)
        if isinstance(found, Missing):
            return ", ".join(sorted(found.names))
        counted = _counted(known) if halves and fact == "mfu" else 1.0
        return _ordered([_read(known, name, float(one), samples) * counted for one in found], 1)  # type: ignore[arg-type]

    def bound() -> float | None:
        floor, step = known.likely("step_floor_s"), known.likely("step_s")
        if not isinstance(floor, int | float) or not isinstance(step, int | float) or name in ("seconds", "step_s"):
            return None
        likely = values()
        return None if isinstance(likely, str) else likely[1] * step / floor

    return Asked(name, measured, values, bound)


def _read(known: Facts, name: str, value: float, samples: float) -> float:
    """A fact in the unit of a figure."""
    if name == "mfu_pct":
        return value * 100
    if "tflops" in name:
        return value * float(known.likely("dense_bf16_flop_per_s")) / units.TERA  # type: ignore[arg-type]
    if name == "seconds":
        tokens = samples * float(known.likely("sequence_length"))  # type: ignore[arg-type]
        return tokens / (value * float(known.likely("world_size")))  # type: ignore[arg-type]
    return value


def _counted(known: Facts) -> float:
    """Operations without the masked half of attention against those with it."""
    done, counted = known.likely("step_flop"), known.likely("counted_step_flop")
    return float(done) / float(counted)  # type: ignore[arg-type]


def fitting(told: hardware_words.Fields, resolved: Resolved | None) -> Facts:
    """The run with the least recomputation, and then the largest micro-batch, that fits the card."""
    shape = resolved.architecture if resolved else None
    large = ((shape.parameters or 0) if shape else 0) >= LARGE_PARAMETERS and "megatron" not in str(told["engine"])
    usual = RECOMPUTED[-1:] if large else RECOMPUTED
    modes = [told["activation_checkpointing"]] if "activation_checkpointing" in told else usual
    least = [1] if "micro_batch_size" not in told else [told["micro_batch_size"]]
    tried = [
        _known({**told, "activation_checkpointing": mode, "micro_batch_size": size}, resolved)
        for mode in modes
        for size in least
    ]
    found = next((one for one in tried if _fits(one)), tried[-1])
    size = found.role.value("micro_batch_size")
    while "micro_batch_size" not in told and isinstance(size, int) and size < LARGEST_MICRO_BATCH:
        larger = facts.of(found.role.having(micro_batch_size=Field(size * 2)), resolved)
        if not _fits(larger) or not isinstance(larger.likely("step_s"), int | float):
            break
        found, size = larger, size * 2
    return found


def _fits(known: Facts) -> bool:
    room = known.likely("training_room_bytes")
    return not isinstance(room, int | float) or room >= 0


def _training(case: Case) -> hardware_words.Fields:
    """The fields of a training run: the trainer's by the source, then the case's own words."""
    config, source = _config(case), str(case.get("source", "")).lower()
    model = str(config.get("model", "")).lower()
    trainer = next((fields for word, fields in TRAINERS if word in source), OTHERS)
    said = (
        " ".join(f"{key}={value}" for key, value in config.items() if key != "model")
        + " "
        + str(config.get("setup", ""))
    )
    found: hardware_words.Fields = {**USUAL, **trainer, **_settings(said.lower())}
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
    return found | _adapters(model, found) | _offload(f"{model} {said}")


def _settings(said: str) -> hardware_words.Fields:
    found: hardware_words.Fields = {}
    for pattern, name in SETTINGS:
        if stated := re.search(pattern, said):
            found[name] = int(stated[1])
    return found


def _adapters(model: str, found: hardware_words.Fields) -> hardware_words.Fields:
    """LoRA as its words say; rank 16 on all matrices where nothing does."""
    if "lora" not in model:
        return {}
    base: hardware_words.Fields = {"lora_rank": 16, "lora_targets": "qkvogud", "parameter_dtype": "bfloat16"}
    base |= {"activation_checkpointing": "full"} if found["engine"] == "transformers" else {}
    return base | ({"quantization": "nf4-double"} if "qlora" in model else {})


def _offload(said: str) -> hardware_words.Fields:
    return {"parameter_offload": True, "optimizer_offload": True} if "offload" in said.lower() else {}


def _samples(case: Case) -> float:
    source = str(case.get("source", "")).lower()
    return next((samples for word, samples in RUNS.items() if word in source), 0)


# ---- serving


def _power(case: Case, fields: hardware_words.Fields) -> Iterator[Asked]:
    config = _config(case)
    model = str(config.get("model", ""))
    known = _known({**fields, **_serving(config, fields)}, model_words.resolved(model) if model else None)
    gpus = int(str(fields["gpus_per_replica"]))
    measured = next((value for name in ("avg_w_per_gpu", "w_per_gpu") if (value := _measured(case, name))), None)
    total = next((value for name in ("avg_gpu_power_total_w", "avg_w") if (value := _measured(case, name))), None)
    watts = measured or (total / gpus if total else None)
    if watts is not None:
        yield Asked("w_per_gpu", watts, _of(known, "average_power_w", 1), lambda: None)
    if (tokens := _measured(case, "out_tokens_per_s_per_gpu")) is not None:
        bound = _scaled(known, "output_tokens_per_s_ceiling", float(gpus))
        yield Asked("out_tokens_per_s_per_gpu", tokens, _of(known, "output_tokens_per_s", float(gpus)), bound)


def _decoded(case: Case, fields: hardware_words.Fields, resolved: Resolved | None) -> Iterator[Asked]:
    """Decoding by a server; a program that decodes in a loop of its own is not modelled."""
    if any(word in str(case.get("source", "")).lower() for word in WITHOUT_SERVER):
        return
    known = _known({**fields, **_serving(_config(case), fields)}, resolved)
    if (measured := _measured(case, "tokens_per_s")) is not None:
        bound = _scaled(known, "output_tokens_per_s_ceiling", 1)
        yield Asked("tokens_per_s", measured, _of(known, "output_tokens_per_s", 1), bound)


def _serving(config: Mapping[str, object], fields: hardware_words.Fields) -> hardware_words.Fields:
    said = " ".join(f"{key}={value}" for key, value in config.items()).lower()
    settings = {
        name: value for name, value in _settings(said).items() if name in ("tensor_parallel", "expert_parallel_size")
    }
    lengths = re.search(r"(\d+)k/(\d+)k", said)
    prompt = config.get("isl") or (int(lengths[1]) * units.KIB if lengths else 512)
    answer = config.get("osl") or (int(lengths[2]) * units.KIB if lengths else 128)
    concurrency = re.search(r"concurrency[\s=:]*(\d+)", said)
    found: hardware_words.Fields = {
        "task": "inference",
        "engine": "vllm",
        "replicas": 1,
        "tensor_parallel": fields["gpus_per_replica"],
        "pipeline_parallel": 1,
        "data_parallel": 1,
        "request_prompt_tokens": prompt,
        "request_output_tokens": answer,
        "target_concurrency": int(concurrency[1]) if concurrency else config.get("batch") or 1,
    }
    return found | settings


# ---- small things


def _known(fields: Mapping[str, object], resolved: Resolved | None) -> Facts:
    stated = {name: Field(value) for name, value in fields.items() if value is not None}  # type: ignore[arg-type]
    if resolved is not None and resolved.architecture is not None:
        stated["checkpoint"] = Field(resolved.architecture.id)
    return facts.of(Role("case", NOWHERE, stated), resolved)


def _config(case: Case) -> Mapping[str, object]:
    config = case.get("config")
    return config if isinstance(config, Mapping) else {}


def _measured(case: Case, name: str) -> float | None:
    measured = case["measured"]
    value = measured.get(name) if isinstance(measured, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _ranks(count: int) -> hardware_words.Fields:
    return {"gpus_per_replica": count, "gpus_per_pod": count, "pods_per_replica": 1}


def _payload(text: str) -> float | None:
    """ "4GiB", "4G" or a number of bytes."""
    stated = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)i?b?\s*", text.lower())
    sizes = {"": 1, "k": units.KIB, "m": units.MIB, "g": units.GIB}
    return float(stated[1]) * sizes[stated[2]] if stated else None


def _of(known: Facts, fact: str, scale: float) -> Callable[[], Values]:
    """A fact in three worlds, smallest first."""

    def values() -> Values:
        found = known.worlds(fact)
        if isinstance(found, Missing):
            return ", ".join(sorted(found.names))
        return _ordered([float(one) for one in found], scale)  # type: ignore[arg-type]

    return values


def _scaled(known: Facts, fact: str, scale: float) -> Callable[[], float | None]:
    def bound() -> float | None:
        found = known.likely(fact)
        return float(found) / scale if isinstance(found, int | float) else None

    return bound


def _ordered(values: list[float], scale: float) -> tuple[float, float, float]:
    low, high = sorted((values[0], values[2]))
    return low / scale, values[1] / scale, high / scale
