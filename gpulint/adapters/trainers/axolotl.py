"""Axolotl: the YAML of a fine-tuning run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import deepspeed, key_tables
from gpulint.engines import trainers as engines_trainers
from gpulint.engines.trainers import preference, vocabulary
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("base_model",)
BITSANDBYTES = ("adamw_8bit", "adamw_bnb_8bit", "paged_adamw_8bit")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "axolotl"
UNSETTLE = (
    *("peft_use_dora", "lora_modules_to_save", "lora_target_parameters", "unfrozen_parameters", "relora", "gptq"),
    *("lisa_n_layers", "process_reward_model", "llama4_linearized_experts"),
)
"""Keys that change what is trained or stored in ways that are not modelled."""
SETTLES = vocabulary.DECIDING
"""Axolotl's keys that decide memory: each is read, or makes the trained parameters unknown."""
OWN = frozenset(
    {
        *("sequence_len", "micro_batch_size", "datasets", "val_set_size", "num_epochs", "adapter", "sample_packing"),
        *("gradient_accumulation_steps", "dataset_prepared_path", "wandb_project", "lr_scheduler", "special_tokens"),
    }
)


def claims(document: Document) -> Claim:
    """Claim a document with a base model and settings with names that only Axolotl uses."""
    data = document.data
    return Claim.SHAPE.where(isinstance(data, dict) and "base_model" in data and len(OWN & data.keys()) >= 3)


def kind(document: Document) -> str:
    return "Axolotl configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from unknown_settings.problems(document, "axolotl")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find) -> Mapping[str, Field]:
    """Return the settings, with the states sharded by DeepSpeed or FSDP if the file has either."""
    fields = {**key_tables.read_fields(document, "axolotl"), **_read_adapters(document)}
    fields |= _check_optimizer(document)
    if (fused := _find_fused_loss(document)) is not None:
        fields.setdefault("loss_kernel", fused)
    fields |= key_tables.find_context_extension(
        document, ("overrides_of_model_config",), ("rope_scaling",), ("model_config",)
    )
    if document.get(("deepspeed",)):
        fields = {**fields, **dict(deepspeed.read_setting(document, ("deepspeed",), find))}
    elif document.get(("fsdp",)) or document.get(("fsdp_config",)) or _is_sharded(document):
        fields |= trainers.read_fsdp(
            document, _find_key(document, "fsdp_config", "fsdp", "dp_shard_size"), ("fsdp_config",)
        )
    if _is_sharded(document):
        names = ("dp_shard_size", "dp_replicate_size", "tensor_parallel_size", "context_parallel_size")
        whole = key_tables.product(*(key_tables.field(document, (name,), "int") for name in names))
        group = key_tables.field(document, ("dp_shard_size",), "int")
        fields |= {"gpus_per_replica": whole, "shard_group": group} if whole and group else {}
    fields |= _read_preference(document)
    for name in UNSETTLE:
        if document.get((name,)):
            why = Unknown(f"what {name} trains or keeps is not modelled")
            fields["trainable_parameters"] = Field(why, (Origin(document, (name,), key=True),))
    return fields


def _read_preference(document: Document) -> dict[str, Field]:
    """Return the method of preference or reward training; a completion follows its prompt where a run generates."""
    named = key_tables.field(document, ("rl",), "text")
    if named is None and document.get(("reward_model",)) is True:
        return preference.read_method("reward", Field("reward", (Origin(document, ("reward_model",)),)))
    if named is None or (method := preference.find_method(str(named.value))) is None:
        return {}
    found = preference.read_method(method, named)
    if document.get(("rl_adapter_ref_model",)) is True:
        found["reference_beside_adapters"] = Field(True, (Origin(document, ("rl_adapter_ref_model",)),))
    response = key_tables.field(document, ("trl", "max_completion_length"), "int")
    both = engines_trainers.add((key_tables.field(document, ("sequence_len",), "int"), response))
    return found if method != "grpo" or both is None else {**found, "sequence_length": both}


def _check_optimizer(document: Document) -> dict[str, Field]:
    """Return the sharding for which Axolotl refuses an 8-bit optimizer, if any.

    Source: src/axolotl/utils/schemas/validation.py.
    """
    optimizer = str(document.get(("optimizer",)) or "")
    ranks = document.get(("tensor_parallel_size",))
    sharded = document.get(("fsdp_config",))
    by = ""
    if optimizer in BITSANDBYTES and isinstance(ranks, int) and ranks > 1:
        by = "tensor parallelism"
    elif isinstance(sharded, dict) and str(document.get(("fsdp_version",)) or sharded.get("fsdp_version")) == "2":
        by = "FSDP 2" if optimizer in BITSANDBYTES[:2] else ""
    elif isinstance(sharded, dict) and "8bit" in optimizer:
        offloads = sharded.get("offload_params", sharded.get("fsdp_offload_params"))
        by = "FSDP 1 with offload" if offloads is True else ""
    return {"optimizer_refused_by": Field(by, (Origin(document, ("optimizer",)),))} if by else {}


def _find_fused_loss(document: Document) -> Field | None:
    """Return the plugin that fuses the loss with the output head by default.

    Source: axolotl src/axolotl/integrations/cut_cross_entropy.
    """
    if document.get(("cut_cross_entropy",)) is False:
        return None
    listed = document.get(("plugins",))
    places = (
        at for at, name in enumerate(listed if isinstance(listed, list) else ()) if "CutCrossEntropy" in str(name)
    )
    return next((Field("fused", (Origin(document, ("plugins", at)),)) for at in places), None)


def _is_sharded(document: Document) -> bool:
    count = document.get(("dp_shard_size",))
    return isinstance(count, int) and count > 1


def _find_key(document: Document, *names: str) -> Origin:
    return Origin(document, (next(name for name in names if document.get((name,))),), key=True)


def _read_loaded_bits(document: Document) -> dict[str, Field]:
    """Return the bits in which trained weights are loaded."""
    bits = next((bits for bits in (4, 8) if document.get((f"load_in_{bits}bit",)) is True), None)
    if bits is None or document.get(("inference",)) is True:
        return {}
    return {"loaded_bits": Field(bits, (Origin(document, (f"load_in_{bits}bit",)),))}


def _read_adapters(document: Document) -> dict[str, Field]:
    """Return LoRA's rank and matrices; empty if the weights themselves are trained."""
    adapter = document.get(("adapter",))
    if not adapter:
        return _read_loaded_bits(document)
    fields = key_tables.read_fields(document, "axolotl lora")
    if document.get(("lora_target_linear",)) is True:
        fields["lora_targets"] = Field("qkvogud", (Origin(document, ("lora_target_linear",)),))
    if document.get(("load_in_4bit",)) is True or (adapter == "qlora" and document.get(("load_in_4bit",)) is None):
        fields["quantization"] = Field("nf4-double", (Origin(document, ("adapter",)),))
    elif document.get(("load_in_8bit",)) is True:
        fields["quantization"] = Field("int8-bnb", (Origin(document, ("load_in_8bit",)),))
    return fields
