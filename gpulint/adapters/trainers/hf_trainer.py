"""Trainer arguments: the YAML or JSON that Transformers' Trainer, TRL and Open-R1 parse, and LLaMA-Factory's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers as configured
from gpulint.adapters.programs import unknown_settings as misstated
from gpulint.adapters.trainers import key_tables as settings
from gpulint.engines.trainers import llama_factory
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("per_device_train_batch_size", "model_name_or_path")
READS = ("plain",)
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
GENERATES = frozenset({"use_vllm", "num_generations", "max_completion_length", "reward_funcs"})


def claims(document: Document) -> bool:
    """A checkpoint, and three of the arguments that the Trainer calls so."""
    data = document.data
    if not isinstance(data, dict) or "apiVersion" in data:
        return False
    if "per_device_train_batch_size" in data:
        return len(OWN & data.keys()) >= 3
    return "model_name_or_path" in data and len((OWN | TRL | OPEN_R1 | GENERATES) & data.keys()) >= 3


def kind(document: Document) -> str:
    return {"llama-factory": "LLaMA-Factory configuration"}.get(_engine(document), "trainer arguments")


def settled(document: Document, repository: Repository) -> Iterator[Problem]:
    """What is misstated for the releases that the repository asks for."""
    engine = _engine(document)
    pinned = {**(OPEN_R1_PINS if engine == "open-r1" else {}), **misstated.pins(repository)}
    yield from misstated.problems(document, engine if engine == "llama-factory" else "trainer", pinned=pinned)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Arguments of a run that trains: others filter data or generate."""
    data = document.data
    if isinstance(data, dict) and len(OWN & data.keys()) >= 3:
        yield configured.workload(sys.modules[__name__], document, repository)


def stated(document: Document, find: configured.Find) -> Mapping[str, Field]:
    """The arguments of the run, with DeepSpeed's and FSDP's."""
    engine = _engine(document)
    first = next(iter(document.data), "") if isinstance(document.data, dict) else ""
    found = {"engine": Field(engine, (Origin(document, (str(first),), key=True),))}
    found |= settings.stated(document, engine if engine == "llama-factory" else "trainer")
    found |= settings.extended(document, ("rope_scaling",), ("config_overrides",))
    found |= settings.both_halves(document, ("bf16",), ("fp16",))
    found |= _adapters(document, engine)
    found |= {**_quantised(document), **_unmasked(document), **_generations(document), **_refused(document)}
    if document.get(("deepspeed",)):
        found = {**found, **dict(configured.deepspeed_fields(document, ("deepspeed",), find))}
    elif document.get(("fsdp",)):
        found |= configured.fsdp(document, Origin(document, ("fsdp",)), ("fsdp_config",))
    if isinstance(document.data, dict) and GENERATES & document.data.keys():
        place = Origin(document, (min(GENERATES & document.data.keys()),), key=True)
        why = Unknown("what reinforcement learning keeps besides the network is not modelled")
        found["trainable_parameters"] = Field(why, (place,))
    return found


def _engine(document: Document) -> str:
    keys = document.data.keys() if isinstance(document.data, dict) else ()
    if len(LLAMA_FACTORY & set(keys)) >= 2 or "finetuning_type" in keys:
        return "llama-factory"
    if OPEN_R1 & set(keys):
        return "open-r1"
    return "trl" if TRL & set(keys) else "transformers"


def _refused(document: Document) -> dict[str, Field]:
    """The setting of LLaMA-Factory's that its parser refuses beside stage 3 (src/llamafactory/hparams/parser.py)."""
    name = next((name for name in NOT_IN_STAGE_3 if document.get((name,)) is True), None)
    return {"stage_3_refused_by": Field(name, (Origin(document, (name,)),))} if name else {}


def _generations(document: Document) -> dict[str, Field]:
    """Completions of each prompt, where the batch that they fill is that of a step."""
    if document.get(("steps_per_generation",)) or document.get(("generation_batch_size",)):
        return {}
    given = settings.field(document, ("num_generations",), "int")
    return {"generations": given} if given is not None else {}


def _unmasked(document: Document) -> dict[str, Field]:
    """Samples that TRL packs so that only FlashAttention keeps them apart; its strategy `wrapped` cuts them anyway."""
    attention = str(document.get(("attn_implementation",)) or "")
    if document.get(("packing",)) is not True or document.get(("packing_strategy",)) == "wrapped":
        return {}
    return {} if "flash" in attention else {"packing_unmasked": Field(True, (Origin(document, ("packing",)),))}


def _quantised(document: Document) -> dict[str, Field]:
    """The bits in which LLaMA-Factory loads weights that are trained themselves."""
    bits = document.get(("quantization_bit",))
    if not isinstance(bits, int) or document.get(("finetuning_type",)) not in ("full", "freeze"):
        return {}
    return {"loaded_bits": Field(bits, (Origin(document, ("quantization_bit",)),))}


def _whole(document: Document) -> dict[str, Field]:
    """All weights trained, which LLaMA-Factory casts to 32 bits unless it is told not to (src/llamafactory/model/adapter.py)."""
    place = (Origin(document, ("finetuning_type",)),)
    kept = document.get(("pure_bf16",)) is True or document.get(("deepspeed",)) is not None
    cast = {} if kept else {"parameter_dtype": Field("float32", source="LLaMA-Factory casts what it trains")}
    return {"lora_rank": Field(None, place), **cast}


def _adapters(document: Document, engine: str) -> dict[str, Field]:
    """LoRA as LLaMA-Factory's `finetuning_type` or TRL's `use_peft` asks for it."""
    asked = document.get(("finetuning_type",)) == "lora" or document.get(("use_peft",)) is True
    if engine == "llama-factory" and document.get(("finetuning_type",)) is None:
        asked = True  # its default (LLaMA-Factory src/llamafactory/hparams/finetuning_args.py)
    if engine == "llama-factory" and document.get(("finetuning_type",)) == "full":
        return _whole(document)
    if not asked:
        return {}
    found = settings.stated(document, "llama-factory lora" if engine == "llama-factory" else "trainer lora")
    if engine == "llama-factory":
        found.setdefault("lora_rank", Field(llama_factory.RANK, source="default of LLaMA-Factory"))
    if document.get(("load_in_4bit",)) is True or document.get(("quantization_bit",)) == 4:
        path = ("load_in_4bit",) if document.get(("load_in_4bit",)) else ("quantization_bit",)
        found["quantization"] = Field("nf4-double", (Origin(document, path),))
    return found
