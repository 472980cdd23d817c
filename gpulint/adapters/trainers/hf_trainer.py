"""Trainer arguments: YAML or JSON for Transformers' Trainer, TRL and Open-R1, and LLaMA-Factory's
own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import deepspeed, key_tables
from gpulint.engines.trainers import llama_factory, preference
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("per_device_train_batch_size", "model_name_or_path")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = ""
OWN = frozenset(
    {
        *("per_device_train_batch_size", "num_train_epochs", "learning_rate", "gradient_checkpointing", "max_steps"),
        *(
            "lr_scheduler_type",
            "output_dir",
            "logging_steps",
            "save_strategy",
            "warmup_ratio",
            "optim",
            "bf16",
            "do_train",
        ),
    }
)
LLAMA_FACTORY = frozenset({"finetuning_type", "stage", "cutoff_len", "template"})
OPEN_R1 = frozenset({"reward_funcs", "hub_model_revision", "dataset_prompt_column"})
OPEN_R1_PINS = {"transformers": (4, 52, 3), "trl": (0, 18, 0)}
"""The releases that Open-R1 itself runs with (huggingface/open-r1 1416fa0 setup.py)."""
TRL = frozenset({"dataset_name", "max_length", "max_seq_length", "packing", "use_peft", "beta", "loss_type"})
NOT_IN_STAGE_3 = ("pure_bf16", "use_unsloth", "use_kt")
PREFERS = ("precompute_ref_log_probs", "rpo_alpha", "desirable_weight", "beta", "max_prompt_length")
"""Keys of TRL's configurations for pairs and scored answers, without generation."""
GENERATES = frozenset({"use_vllm", "num_generations", "max_completion_length", "reward_funcs"})


OFT_BLOCK = 32
"""oft_block_size of LLaMA-Factory (src/llamafactory/hparams/finetuning_args.py)."""
FROZEN = Unknown("finetuning_type: freeze trains only some layers, which gpulint does not count")


def claims(document: Document) -> Claim:
    """Claim a checkpoint with three of the Trainer's arguments."""
    data = document.data
    if not isinstance(data, dict) or "apiVersion" in data:
        return Claim.NONE
    if "per_device_train_batch_size" in data:
        return Claim.SHAPE.where(len(OWN & data.keys()) >= 3)
    return Claim.SHAPE.where("model_name_or_path" in data and len((OWN | TRL | OPEN_R1 | GENERATES) & data.keys()) >= 3)


def kind(document: Document) -> str:
    return {"llama-factory": "LLaMA-Factory configuration"}.get(_find_engine(document), "trainer arguments")


def settle(document: Document, repository: Repository) -> Iterator[Problem]:
    """Yield the invalid settings for the releases that the repository requires."""
    engine = _find_engine(document)
    pinned = {**(OPEN_R1_PINS if engine == "open-r1" else {}), **unknown_settings.pins(repository)}
    yield from unknown_settings.problems(document, engine if engine == "llama-factory" else "trainer", pinned=pinned)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the run of arguments that train. Others filter data or generate."""
    data = document.data
    if isinstance(data, dict) and len(OWN & data.keys()) >= 3:
        yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find) -> Mapping[str, Field]:
    """Return the arguments of the run, with DeepSpeed's and FSDP's."""
    engine = _find_engine(document)
    first = next(iter(document.data), "") if isinstance(document.data, dict) else ""
    fields = {"engine": Field(engine, (Origin(document, (str(first),), key=True),))}
    fields |= key_tables.read_fields(document, engine if engine == "llama-factory" else "trainer")
    fields |= key_tables.find_context_extension(document, ("rope_scaling",), ("config_overrides",))
    fields |= key_tables.find_half_formats(document, ("bf16",), ("fp16",))
    fields |= _read_adapters(document, engine)
    fields |= {
        **_read_quantization(document),
        **_find_unmasked(document),
        **_read_generations(document),
        **_find_refused(document),
    }
    if document.get(("deepspeed",)):
        fields = {**fields, **dict(deepspeed.read_setting(document, ("deepspeed",), find))}
    elif document.get(("fsdp",)):
        fields |= trainers.read_fsdp(document, Origin(document, ("fsdp",)), ("fsdp_config",))
    return {**fields, **_read_preference(document, engine)}


def _read_preference(document: Document, engine: str) -> dict[str, Field]:
    """Return the method of preference or reinforcement learning with its settings; nothing for supervised training."""
    if engine == "llama-factory":
        stage = key_tables.field(document, ("stage",), "text")
        loss = key_tables.field(document, ("pref_loss",), "text")
        reference = key_tables.field(document, ("ref_model",), "text")
        return llama_factory.derive_preference(stage, loss, reference, document.get(("reward_model_type",)) == "api")
    keys = document.data.keys() if isinstance(document.data, dict) else set()
    named = next((name for name in PREFERS if name in keys), None)
    if generating := min(GENERATES & keys, default=None):
        method = preference.find_in_path(document.path)
        method = method if method in ("rloo", "online-dpo", "ppo") else "grpo"
        place = Origin(document, (generating,), key=True)
    elif named is not None:
        method = preference.find_in_path(document.path) or "dpo"
        place = Origin(document, (named,), key=True)
    else:
        return {}
    found = {
        **key_tables.read_fields(document, "trainer rl"),
        **preference.read_method(method, Field(method, (place,))),
    }
    lengths = (key_tables.field(document, (name,), "int") for name in ("max_prompt_length", "max_completion_length"))
    if (both := preference.add_lengths(*lengths)) is not None and generating:
        found["sequence_length"] = both
    dtype = key_tables.field(document, ("torch_dtype",), "dtype") or key_tables.field(document, ("dtype",), "dtype")
    if dtype is not None:
        found["reference_dtype"] = dtype
        if "fsdp" not in keys:
            found["parameter_dtype"] = dtype
    return found


def _find_engine(document: Document) -> str:
    keys = document.data.keys() if isinstance(document.data, dict) else ()
    if len(LLAMA_FACTORY & set(keys)) >= 2 or "finetuning_type" in keys:
        return "llama-factory"
    if OPEN_R1 & set(keys):
        return "open-r1"
    return "trl" if TRL & set(keys) else "transformers"


def _find_refused(document: Document) -> dict[str, Field]:
    """Return LLaMA-Factory's setting that its parser refuses with stage 3
    (src/llamafactory/hparams/parser.py).
    """
    name = next((name for name in NOT_IN_STAGE_3 if document.get((name,)) is True), None)
    return {"stage_3_refused_by": Field(name, (Origin(document, (name,)),))} if name else {}


def _read_generations(document: Document) -> dict[str, Field]:
    """Return the completions per prompt, if their batch is that of a step."""
    if document.get(("steps_per_generation",)) or document.get(("generation_batch_size",)):
        return {}
    given = key_tables.field(document, ("num_generations",), "int")
    return {"generations": given} if given is not None else {}


def _find_unmasked(document: Document) -> dict[str, Field]:
    """Return packing that only FlashAttention keeps separate.

    TRL's strategy `wrapped` cuts samples anyway.
    """
    attention = str(document.get(("attn_implementation",)) or "")
    if document.get(("packing",)) is not True or document.get(("packing_strategy",)) == "wrapped":
        return {}
    return {} if "flash" in attention else {"packing_unmasked": Field(True, (Origin(document, ("packing",)),))}


def _read_quantization(document: Document) -> dict[str, Field]:
    """Return the bits in which LLaMA-Factory loads weights that it trains."""
    bits = document.get(("quantization_bit",))
    if not isinstance(bits, int) or document.get(("finetuning_type",)) not in ("full", "freeze"):
        return {}
    return {"loaded_bits": Field(bits, (Origin(document, ("quantization_bit",)),))}


def _read_full_training(document: Document) -> dict[str, Field]:
    """Return full fine-tuning, which LLaMA-Factory casts to 32 bits by default
    (src/llamafactory/model/adapter.py).
    """
    place = (Origin(document, ("finetuning_type",)),)
    kept = document.get(("pure_bf16",)) is True or document.get(("deepspeed",)) is not None
    cast = {} if kept else {"parameter_dtype": Field("float32", source="LLaMA-Factory casts what it trains")}
    return {"lora_rank": Field(None, place), **cast}


def _read_rotations(document: Document) -> dict[str, Field]:
    """Return the rank of LoRA that trains as much as OFT: a block of b inputs has b · (b - 1) / 2 weights, (b - 1) / 2 an
    input, and rank r has r an input and r an output (Liu et al., Parameter-Efficient Orthogonal Finetuning, 2023).
    """
    size = document.get(("oft_block_size",))
    block = size if isinstance(size, int) and size > 0 else OFT_BLOCK
    said = f"OFT with blocks of {block} trains about as many weights as LoRA of rank {max(1, block // 4)}"
    place = (Origin(document, ("finetuning_type",)),)
    targets = key_tables.field(document, ("oft_target",), "targets")
    found = {"lora_rank": Field(max(1, block // 4), place, assumption=said, basis="stated")}
    return {**found, "lora_targets": targets} if targets is not None else found


def _read_adapters(document: Document, engine: str) -> dict[str, Field]:
    """Return LoRA as set by LLaMA-Factory's `finetuning_type` or TRL's `use_peft`."""
    way = document.get(("finetuning_type",))
    if engine == "llama-factory" and way == "freeze":
        place = (Origin(document, ("finetuning_type",)),)
        return {"lora_rank": Field(None, place), "trainable_parameters": Field(FROZEN, place)}
    asked = way in ("lora", "oft") or document.get(("use_peft",)) is True
    if engine == "llama-factory" and document.get(("finetuning_type",)) is None:
        asked = True  # its default (LLaMA-Factory src/llamafactory/hparams/finetuning_args.py)
    if engine == "llama-factory" and document.get(("finetuning_type",)) == "full":
        return _read_full_training(document)
    if not asked:
        return {}
    fields = key_tables.read_fields(document, "llama-factory lora" if engine == "llama-factory" else "trainer lora")
    if engine == "llama-factory":
        fields |= _read_rotations(document) if way == "oft" else {}
        fields.setdefault("lora_rank", Field(llama_factory.RANK, source="default of LLaMA-Factory"))
    if document.get(("load_in_4bit",)) is True or document.get(("quantization_bit",)) == 4:
        path = ("load_in_4bit",) if document.get(("load_in_4bit",)) else ("quantization_bit",)
        fields["quantization"] = Field("nf4-double", (Origin(document, path),))
    elif document.get(("load_in_8bit",)) is True or document.get(("quantization_bit",)) == 8:
        path = ("load_in_8bit",) if document.get(("load_in_8bit",)) else ("quantization_bit",)
        fields["quantization"] = Field("int8-bnb", (Origin(document, path),))
    return fields
