"""Loops: training that a program writes itself, or that a Trainer of Lightning runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gpulint.adapters.python import decoders, deepspeed_settings, frameworks, libraries, models, networks
from gpulint.adapters.python.words import Reader, is_on, last_name, make_field, read_number, read_text, root
from gpulint.engines import Argument, Reading, trainers
from gpulint.source.python.values import Constant, Object, Value
from gpulint.workload import Field, Unknown

OPTIMIZERS = {
    **dict.fromkeys(("AdamW", "Adam", "NAdam", "FusedAdam"), "adamw"),
    **dict.fromkeys(("AdamW8bit", "Adam8bit"), "adamw-8bit"),
    **dict.fromkeys(("PagedAdamW8bit",), "paged-adamw-8bit"),
    **dict.fromkeys(("PagedAdamW", "PagedAdamW32bit"), "paged-adamw"),
    **dict.fromkeys(("Adafactor",), "adafactor"),
    **dict.fromkeys(("SGD",), "sgd"),
    **dict.fromkeys(("Lion",), "lion"),
}
OPTIMIZER_PACKAGES = frozenset({"torch", "bitsandbytes", "transformers", "lion_pytorch", "apex", "deepspeed"})
LEARNS = re.compile(r"(?:^|\.)(?:backward|train_batch)$")
HALF = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp8": "fp8",
    "no": "float32",
    "bfloat16": "bfloat16",
    "float16": "float16",
}
STRATEGIES = {
    **dict.fromkeys(("ddp", "ddp_find_unused_parameters_true", "ddpstrategy"), "ddp"),
    **dict.fromkeys(("fsdp", "fsdpstrategy"), "fsdp"),
    **dict.fromkeys(("deepspeed_stage_1", "deepspeed_stage_2", "deepspeed_stage_3"), "deepspeed"),
}
ENGINE = "pytorch"
NO_ADAPTERS: Mapping[str, Field] = {
    name: Field(None, source="the program configures no adapters") for name in ("lora_rank", "lora_targets")
}
UNDIVIDED: Mapping[str, Field] = {
    name: Field(1, source="the program uses no tensor or pipeline parallelism")
    for name in ("tensor_parallel", "pipeline_parallel")
}
AS_LOADED = Field("as-loaded", source="the program states no number format where it loads the model")
HALVES = frozenset({"bfloat16", "float16"})
CASTS = {"half": "float16", "float16": "float16", "bfloat16": "bfloat16"}
CHECKPOINTING = re.compile(r"(?:gradient_checkpointing_enable|enable_gradient_checkpointing)$")


def read(calls: Sequence[Object], reader: Reader, program: Argument) -> Reading | None:
    """Return a training loop that the program writes itself; None if it has none."""
    anchor = next((call for call in calls if _learns(call)), None)
    if anchor is None:
        return None
    place = reader.word(Constant(anchor.name, anchor.place), anchor.place).origin
    core = frameworks.read_core(calls, reader, program)
    fields: dict[str, Field] = {"task": Field("training"), **NO_ADAPTERS, **core}
    if not core:
        fields["engine"] = Field(ENGINE, (place,))
    model, built = next(models.find_loaded(calls), None), frameworks.find_built(calls)
    if built is not None:
        fields |= frameworks.read_built(built, reader)
    if model is not None:
        fields |= {**models.read_checkpoint(model, reader), **models.read_quantization(model, reader)}
    if model is None and built is None and not core:
        fields |= _read_network(calls, reader)
    config = models.find_adapters(calls)
    if config is not None or "lora_rank" not in fields or fields["lora_rank"].value is None:
        adapted = models.read_adapters(config, reader) if config is not None else {}
        fields |= adapted or {**NO_ADAPTERS, **read_frozen(calls, reader)}
    fields["activation_checkpointing"] = Field("none", source="the program does not enable activation checkpointing")
    for call in calls:
        fields |= _read_part(call, fields, reader)
    if _runs_deepspeed(fields) and (loaded := _find_loaded_batch(calls, reader)) is not None:
        fields = {**drop_compared_batch(fields), "micro_batch_size": loaded}
    if not core and not any(last_name(call) == "PipelineModule" for call in calls):
        fields |= UNDIVIDED
    fields |= {**models.read_length(calls, reader), **_read_formats(calls, model, fields, reader)}
    return Reading(fields, place, "the program has its own training loop" if core else "")


def _read_network(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the network that a program builds itself, or that it gets from a library by name."""
    found = decoders.read(calls, reader) or networks.read(calls, reader)
    listed = next(libraries.find(calls), None)
    if "network" in found or listed is None:
        return found
    named = libraries.read(*listed, reader)
    return {name: field for name, field in named.items() if name in ("checkpoint", "quantization")}


def drop_compared_batch(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return fields without DeepSpeed's batch of a step, which DeepSpeed never compares with the batches of a loader that
    the program makes itself.
    """
    return {name: field for name, field in fields.items() if name != "global_batch_size"}


def loads_for_deepspeed(reading: Reading) -> bool:
    """Return whether a program makes the loader of a run whose other settings are in DeepSpeed's file."""
    stated = reading.fields.keys()
    return _runs_deepspeed(reading.fields) and "micro_batch_size" in stated and "global_batch_size" not in stated


def _runs_deepspeed(fields: Mapping[str, Field]) -> bool:
    return fields.get("engine", Field(None)).value == "deepspeed"


def _find_loaded_batch(calls: Sequence[Object], reader: Reader) -> Field | None:
    """Return the batch size of the first loader that the program makes."""
    return next((found["micro_batch_size"] for call in calls if (found := _read_loader(call, reader))), None)


def _read_loader(call: Object, reader: Reader) -> dict[str, Field]:
    if last_name(call) != "DataLoader":
        return {}
    size = call.get("batch_size") or (call.arguments[1] if len(call.arguments) > 1 else None)
    return {"micro_batch_size": make_field(reader, size, call.place)} if read_number(size) and size else {}


def _learns(call: Object) -> bool:
    """Return whether a call computes gradients, or makes a Trainer that does."""
    return LEARNS.search(call.name) is not None or _is_lightning(call) or frameworks.is_composer(call)


def _read_part(call: Object, known: Mapping[str, Field], reader: Reader) -> dict[str, Field]:
    """Return what one call says of a training loop."""
    name = last_name(call)
    if name in OPTIMIZERS and root(call) in OPTIMIZER_PACKAGES:
        return {"optimizer": Field(OPTIMIZERS[name], reader.origins(None, call.place))}
    if name == "Accelerator":
        return _read_accelerator(call, reader)
    if _is_lightning(call):
        return _read_lightning(call, reader)
    if frameworks.is_composer(call):
        return frameworks.read_composer(call, reader)
    if name in ("MixedPrecisionPolicy", "MixedPrecision") and (dtype := models.is_half(call.get("param_dtype"))):
        return {"training_dtype": make_field(reader, call.keywords["param_dtype"], call.place, dtype)}
    if name in ("FullyShardedDataParallel", "fully_shard", "FSDP"):
        return {"sharding": Field("fsdp", reader.origins(None, call.place))}
    if name == "DistributedDataParallel":
        return {"sharding": Field("ddp", reader.origins(None, call.place))}
    if name == "DataLoader" and "micro_batch_size" not in known:
        return _read_loader(call, reader)
    if call.name == "deepspeed.initialize":
        return _read_deepspeed(call, reader)
    if last_name(call) == "prepare_model_for_kbit_training":
        return _read_preparation(call, reader)
    if CHECKPOINTING.search(call.name):
        return {"activation_checkpointing": Field("full", reader.origins(None, call.place))}
    return {}


def _read_preparation(call: Object, reader: Reader) -> dict[str, Field]:
    """Return what PEFT's preparation of a quantised model does: it casts what is not quantised to 32 bits, and switches
    recomputation on unless told otherwise.
    """
    cast = {"unquantised_dtype": Field("float32", reader.origins(None, call.place))}
    asked = call.get("use_gradient_checkpointing")
    if asked is None or is_on(asked):
        return {**cast, "activation_checkpointing": Field("full", reader.origins(None, call.place))}
    return cast


def _read_deepspeed(call: Object, reader: Reader) -> dict[str, Field]:
    """Return what `deepspeed.initialize` is given: a file, a dict, or arguments that name a file."""
    config = call.get("config") or call.get("config_params")
    engine = {"engine": Field("deepspeed", reader.origins(None, call.place))}
    if models.trace(call.get("model")) is not None:
        engine |= UNDIVIDED
    if isinstance(config, Constant) and isinstance(config.value, str):
        return {
            **engine,
            "deepspeed_config": make_field(reader, config, call.place),
            "sharding": Field("deepspeed", reader.origins(config, call.place)),
        }
    return {**engine, **deepspeed_settings.read(config, reader)}


def read_frozen(calls: Iterable[Object], reader: Reader) -> dict[str, Field]:
    """Return that it is open how many weights are trained, where a program freezes some of them."""
    for call in calls:
        given = call.arguments[0] if call.arguments else call.get("requires_grad")
        if last_name(call) == "requires_grad_" and isinstance(given, Constant) and given.value is False:
            frozen = Unknown("the program freezes some of the weights", "own program")
            return {"trainable_parameters": Field(frozen, reader.origins(given, call.place))}
    return {}


def _read_formats(
    calls: Sequence[Object], model: Object | None, known: Mapping[str, Field], reader: Reader
) -> dict[str, Field]:
    """Return the formats of weights and computation: autocast computes in 16 bits and leaves the weights as they are."""
    stated = models.read_dtype(model, reader).get("weight_dtype") if model is not None else None
    dtype = stated if stated is not None and stated.value != "auto" else _read_cast(calls, reader)
    computed = _read_autocast(calls, reader) or {
        name: field for name, field in known.items() if name in ("training_dtype", "autocast")
    }
    half = computed.get("training_dtype", Field(None)).value in HALVES
    if not half:
        weights = {"parameter_dtype": dtype} if dtype is not None and "lora_rank" not in _list_adapted(known) else {}
        return {**computed, **weights, **({"training_dtype": dtype} if dtype is not None else {})}
    if known.get("sharding", Field(None)).value == "deepspeed" or "lora_rank" in _list_adapted(known):
        return computed
    return {**computed, "parameter_dtype": dtype or known.get("parameter_dtype", AS_LOADED)}


def _list_adapted(known: Mapping[str, Field]) -> Iterable[str]:
    return [name for name, field in known.items() if name == "lora_rank" and field.value is not None]


def _read_autocast(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the format in which `torch.autocast` computes: float16 on GPUs unless it is stated."""
    for call in calls:
        if (
            last_name(call) != "autocast"
            or root(call) != "torch"
            or read_text(call.arguments[0] if call.arguments else None) == "cpu"
        ):
            continue
        if (enabled := call.get("enabled")) is not None and not is_on(enabled):
            continue
        dtype = call.get("dtype")
        place = reader.origins(dtype, call.place)
        if dtype is None:
            return {
                "training_dtype": Field("float16", place, source="default of torch.autocast"),
                "autocast": Field(True, place),
            }
        named = HALF.get(read_text(dtype) or "")
        if named is not None:
            return {"training_dtype": make_field(reader, dtype, call.place, named), "autocast": Field(True, place)}
    return {}


def _read_cast(calls: Sequence[Object], reader: Reader) -> Field | None:
    """Return the format to which a program casts its model: `.half()`, `.bfloat16()`, `.to(torch.bfloat16)`."""
    for call in calls:
        name = last_name(call)
        if name not in ("half", "bfloat16", "to") or models.trace(call.receiver) is None:
            continue
        for value in (*call.arguments, call.get("dtype")) if name == "to" else (Constant(name, call.place),):
            named = HALF.get(CASTS.get(read_text(value) or "", ""))
            if named is not None and value is not None:
                return make_field(reader, value, call.place, named)
    return None


def _is_lightning(call: Object) -> bool:
    """Return whether a call makes a Trainer of Lightning."""
    return last_name(call) == "Trainer" and root(call) in ("lightning", "pytorch_lightning")


def _read_lightning(call: Object, reader: Reader) -> dict[str, Field]:
    """Return what a Trainer of Lightning states: Lightning-AI/pytorch-lightning 2.5 trainer/trainer.py."""
    fields: dict[str, Field] = {}
    precision = call.get("precision")
    dtype = trainers.DTYPES.get(str(precision.value)) if isinstance(precision, Constant) else None
    if precision is not None and dtype is not None:
        fields["training_dtype"] = make_field(reader, precision, call.place, dtype)
    steps = call.get("accumulate_grad_batches")
    if isinstance(steps, Constant) and isinstance(steps.value, int):
        fields["gradient_accumulation_steps"] = make_field(reader, steps, call.place)
    devices = call.get("devices")
    if (
        devices is not None
        and (read_number(devices) or 0) > 0
        and read_text(call.get("accelerator")) not in ("cpu", "tpu")
    ):
        fields["program_devices"] = make_field(reader, devices, call.place)
    return {**fields, **_read_strategy(call.get("strategy"), call, reader)}


def _read_strategy(strategy: Value | None, call: Object, reader: Reader) -> dict[str, Field]:
    """Return how Lightning shards, by the name of a strategy or its class."""
    stated = strategy.value if isinstance(strategy, Constant) else None
    name = str(stated or (last_name(strategy) if isinstance(strategy, Object) else "")).lower()
    if name not in STRATEGIES:
        return {}
    place = reader.origins(strategy, call.place)
    stage = name.removeprefix("deepspeed_stage_")
    return {
        "sharding": Field(STRATEGIES[name], place),
        **({"zero_stage": Field(int(stage), place)} if stage.isdigit() else {}),
    }


def _read_accelerator(call: Object, reader: Reader) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    precision = call.get("mixed_precision")
    if isinstance(precision, Constant) and precision.value in HALF:
        fields["training_dtype"] = make_field(reader, precision, call.place, HALF[str(precision.value)])
        fields["autocast"] = make_field(reader, precision, call.place, precision.value in ("bf16", "fp16"))
    steps = call.get("gradient_accumulation_steps")
    if isinstance(steps, Constant) and isinstance(steps.value, int):
        fields["gradient_accumulation_steps"] = make_field(reader, steps, call.place)
    return fields
