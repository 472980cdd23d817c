"""Loops: training that a program writes itself, or that a Trainer of Lightning runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.adapters.python import deepspeed_settings, frameworks, models
from gpulint.adapters.python.words import Reader, last_name, make_field, root
from gpulint.engines import Argument, Reading, trainers
from gpulint.source.python.values import Constant, Object, Value
from gpulint.workload import Field

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
CHECKPOINTING = re.compile(r"(?:gradient_checkpointing_enable|enable_gradient_checkpointing)$")


def read(calls: Sequence[Object], reader: Reader, program: Argument) -> Reading | None:
    """Return a training loop that the program writes itself; None if it has none."""
    if not any(_learns(call) for call in calls):
        return None
    fields: dict[str, Field] = {"task": Field("training"), **frameworks.read_core(calls, reader, program)}
    model, built = next(models.find_loaded(calls), None), frameworks.find_built(calls)
    if built is not None:
        fields |= frameworks.read_built(built, reader)
    if model is not None:
        fields |= {**models.read_checkpoint(model, reader), **models.read_quantization(model, reader)}
        dtype = models.read_dtype(model, reader).get("weight_dtype")
        if dtype is not None and dtype.value != "auto":
            fields["parameter_dtype"] = dtype
    if (config := models.find_adapters(calls)) is not None:
        fields |= models.read_adapters(config, reader)
    for call in calls:
        fields = {**fields, **_read_part(call, reader)}
    anchor = next(call for call in calls if _learns(call))
    return Reading(
        fields,
        reader.word(Constant(anchor.name, anchor.place), anchor.place).origin,
        "the program trains in a loop of its own",
    )


def _learns(call: Object) -> bool:
    """Return whether a call computes gradients, or makes a Trainer that does."""
    return LEARNS.search(call.name) is not None or _is_lightning(call) or frameworks.is_composer(call)


def _read_part(call: Object, reader: Reader) -> dict[str, Field]:
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
    if name == "DataLoader" and (size := call.get("batch_size")) is not None and isinstance(size, Constant):
        return {"micro_batch_size": make_field(reader, size, call.place)}
    if call.name == "deepspeed.initialize":
        config = call.get("config") or call.get("config_params")
        if isinstance(config, Constant) and isinstance(config.value, str):
            return {
                "deepspeed_config": make_field(reader, config, call.place),
                "sharding": Field("deepspeed", reader.origins(config, call.place)),
            }
        return deepspeed_settings.read(config, reader)
    if CHECKPOINTING.search(call.name):
        return {"activation_checkpointing": Field("full", reader.origins(None, call.place))}
    return {}


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
    steps = call.get("gradient_accumulation_steps")
    if isinstance(steps, Constant) and isinstance(steps.value, int):
        fields["gradient_accumulation_steps"] = make_field(reader, steps, call.place)
    return fields
