"""Models: which checkpoint a program loads, in which number format, and with which adapters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpulint.adapters.python.words import (
    Reader,
    is_nothing,
    is_on,
    last_name,
    make_field,
    read_number,
    read_text,
    render,
    root,
)
from gpulint.adapters.trainers import key_tables
from gpulint.engines.trainers import vocabulary
from gpulint.source.python.values import Choice, Constant, Items, Mapping, Member, Object, Value
from gpulint.workload import Field, Unknown

LOADS = frozenset({"from_pretrained", "from_single_file"})
SPREADS = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
"""Values of `device_map` with which a process uses all its GPUs (huggingface/accelerate docs, big_modeling)."""
NOT_A_MODEL = re.compile(
    r"Tokenizer|Processor|FeatureExtractor|Config\b|Scheduler|VAE|Autoencoder|GenerationConfig|Streamer|LoraConfig|PeftConfig"
)
ADAPTS = re.compile(r"(?:^|\.)Peft\w*\.from_pretrained$")
"""Calls that put adapters on a model which the program has loaded; those of AutoPeftModel load it themselves."""
BASE = "base_model_name_or_path"
"""The checkpoint that the settings of adapters name: huggingface/peft src/peft/config.py, PeftConfig."""
UNSLOTH = frozenset({"FastLanguageModel", "FastVisionModel", "FastModel", "FastTextModel", "FastSentenceTransformer"})
MODEL_KEYWORDS = ("pretrained_model_name_or_path", "model_name", "model_name_or_path", "model_id", "model")
DTYPES = frozenset({"float16", "bfloat16", "float32", "half", "float", "auto", "fp16", "bf16", "fp32"})
SAME = {"half": "float16", "float": "float32", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}
RANK = 8
"""huggingface/peft 0.18.0 src/peft/tuners/lora/config.py, LoraConfig.r."""
ENCODERS = frozenset({"SentenceTransformer", "CrossEncoder", "Transformer"})
"""Classes of sentence-transformers that load a checkpoint; `Transformer` is the first of the `modules` of an encoder."""
TRACED_MAX = 12
GPUS = ("cuda", "gpu", "hip")


def find_loaded(calls: Iterable[Object]) -> Iterator[Object]:
    """Yield the calls that load a model."""
    for call in calls:
        adapts = ADAPTS.search(call.name) is not None and not isinstance(find_name(call), Constant)
        if last_name(call) in LOADS and not adapts and not NOT_A_MODEL.search(call.name) and root(call) in ROOTS:
            yield call


ROOTS = frozenset(
    {
        "transformers",
        "unsloth",
        "peft",
        "trl",
        "optimum",
        "awq",
        "auto_gptq",
        "gptqmodel",
        "diffusers",
        "intel_extension_for_transformers",
    }
)


def trace(value: Value | None) -> Object | None:
    """Return the call that loads the model that a value was made from."""
    for _ in range(TRACED_MAX):
        if isinstance(value, Choice):
            value = value.members[0]
        if isinstance(value, Member):
            value = value.receiver
        if not isinstance(value, Object):
            return None
        if ADAPTS.search(value.name):
            value = value.arguments[0] if value.arguments else value.get("model")
            continue
        if last_name(value) in LOADS and not NOT_A_MODEL.search(value.name):
            return value
        if last_name(value) in ENCODERS and root(value) == "sentence_transformers":
            modules = value.get("modules")
            if not isinstance(modules, Items) or not modules.items:
                return value
            value = modules.items[0]
            continue
        value = value.receiver or next((one for one in value.arguments if isinstance(one, Object)), None)
    return None


def find_name(call: Object) -> Value | None:
    """Return the model that a call loads, as the program names it; for the base of adapters, the adapters."""
    named = (value for keyword in MODEL_KEYWORDS if (value := call.get(keyword)) is not None)
    found = call.arguments[0] if call.arguments else next(named, None)
    config = found.receiver if isinstance(found, Member) and found.name == BASE else None
    if isinstance(config, Object) and last_name(config) in LOADS and "Config" in config.name:
        return config.arguments[0] if config.arguments else found
    return found


def read_checkpoint(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the checkpoint that a call loads."""
    name = find_name(call)
    if name is None:
        return {}
    only = _find_only(name)
    field = make_field(reader, only or name, call.place)
    if only is not None and isinstance(field.value, str):
        field = replace(field, assumption=f"{field.value}, the only model that the program names here")
    return {"checkpoint": field} if isinstance(field.value, str | Unknown) else {}


def _find_only(name: Value) -> Value | None:
    """Return the only model of a hub that is named where a branch takes another one that the program computes, or None."""
    if not isinstance(name, Choice):
        return None
    named = [one for one in name.members if not is_nothing(one) and render(one) is not None]
    is_local = len(named) == 1 and (render(named[0]) or "").startswith(("/", "~", "."))
    return named[0] if len(named) == 1 and not is_local else None


def find_dtype(call: Object) -> Value | None:
    """Return the number format in which a call loads a model; None if it does not state one."""
    for keyword in ("torch_dtype", "dtype"):
        value = call.get(keyword)
        if value is not None and not is_nothing(value):
            return value
    for other in ("model_kwargs", "model_init_kwargs"):
        inner = call.get(other)
        found = inner.entries.get("torch_dtype", inner.entries.get("dtype")) if isinstance(inner, Mapping) else None
        if found is not None:
            return found
    return None


def read_dtype(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the number format of the weights."""
    value = find_dtype(call)
    if value is None:
        return {}
    text = read_text(value)
    if text in DTYPES:
        return {"weight_dtype": make_field(reader, value, call.place, SAME.get(text or "", text))}
    return {"weight_dtype": make_field(reader, value, call.place)} if text is None else {}


def read_quantization(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the quantisation with which bitsandbytes loads the weights."""
    config = call.get("quantization_config")
    inner = call.get("model_kwargs")
    if config is None and isinstance(inner, Mapping):
        config = inner.entries.get("quantization_config")
    source: Object | None = config if isinstance(config, Object) else None
    for stated in (source, call):
        if stated is None:
            continue
        if is_on(four := stated.get("load_in_4bit")) and four is not None:
            double = is_on(stated.get("bnb_4bit_use_double_quant"))
            return {"quantization": make_field(reader, four, stated.place, "nf4-double" if double else "nf4")}
        if is_on(eight := stated.get("load_in_8bit")) and eight is not None:
            return {"quantization": make_field(reader, eight, stated.place, "int8-bnb")}
    if config is None or is_nothing(config):
        open_ended = next((value for key in ("load_in_4bit", "load_in_8bit") if _is_open(value := call.get(key))), None)
        if open_ended is not None:
            return {"quantization": make_field(reader, open_ended, call.place)}
        return {}
    if source is not None and source.name.endswith("BitsAndBytesConfig") and not _has_open_switch(source):
        return {}
    return {
        "quantization": Field(
            Unknown("the program quantises the weights, in a format that is not known"),
            reader.origins(config, call.place),
        )
    }


def _is_open(value: Value | None) -> bool:
    return value is not None and not isinstance(value, Constant)


def _has_open_switch(config: Object) -> bool:
    return any(_is_open(config.get(name)) for name in ("load_in_4bit", "load_in_8bit"))


def find_adapters(calls: Iterable[Object]) -> Object | None:
    """Return the call that configures LoRA: PEFT's LoraConfig, or Unsloth's get_peft_model."""
    for call in calls:
        if last_name(call) == "LoraConfig" or call.name.endswith(("FastLanguageModel.get_peft_model",)):
            return call
        if last_name(call) == "get_peft_model" and root(call) == "unsloth":
            return call
    return None


def read_adapters(config: Object, reader: Reader) -> dict[str, Field]:
    """Return rank and matrices of LoRA."""
    rank = config.get("r")
    fields = {"lora_rank": Field(RANK, reader.origins(None, config.place), source="default of PEFT")}
    if rank is not None:
        fields["lora_rank"] = make_field(reader, rank, config.place)
    fields["lora_targets"] = _read_targets(config, reader)
    dropout = config.get("lora_dropout")
    if dropout is not None and isinstance(dropout, Constant):
        fields["lora_dropout"] = make_field(reader, dropout, config.place)
    return fields


def _read_targets(config: Object, reader: Reader) -> Field:
    targets = config.get("target_modules")
    further = config.get("modules_to_save")
    if (further is not None and not is_nothing(further) and not _is_empty(further)) or is_on(config.get("use_dora")):
        return Field(
            Unknown("further weights are trained (modules_to_save or DoRA)"),
            reader.origins(further or targets, config.place),
        )
    if targets is None or is_nothing(targets):
        return Field(
            Unknown("PEFT chooses the matrices by architecture", choices=vocabulary.ADAPTED),
            reader.origins(None, config.place),
        )
    names = _list_names(targets)
    if names is None:
        return (
            make_field(reader, targets, config.place)
            if not isinstance(targets, Items | Constant)
            else Field(
                Unknown("the program computes the matrices of the adapters at run time", choices=vocabulary.ADAPTED),
                reader.origins(targets, config.place),
            )
        )
    unread = [name for name in names if name not in key_tables.LETTERS]
    if unread or not names:
        return Field(
            Unknown(
                f"gpulint does not know the LoRA targets {' '.join(unread)}" if unread else "no LoRA target is named",
                choices=vocabulary.ADAPTED,
            ),
            reader.origins(targets, config.place),
        )
    letters = "".join(dict.fromkeys("".join(key_tables.LETTERS[name] for name in names)))
    return Field(letters, reader.origins(targets, config.place))


def _is_empty(value: Value) -> bool:
    return isinstance(value, Items) and not value.items and not value.open_ended


def _list_names(targets: Value) -> Sequence[str] | None:
    if isinstance(targets, Constant):
        return [str(targets.value)]
    if not isinstance(targets, Items) or targets.open_ended:
        return None
    names = [str(item.value) for item in targets.items if isinstance(item, Constant)]
    return names if len(names) == len(targets.items) else None


def read_length(calls: Iterable[Object], reader: Reader) -> dict[str, Field]:
    """Return the length to which a tokenizer cuts the samples."""
    for call in calls:
        value = call.get("max_length")
        cut = call.get("truncation")
        traced = call.receiver if isinstance(call.receiver, Object) else None
        of_tokenizer = traced is not None and "Tokenizer" in traced.name
        if value is not None and cut is not None and of_tokenizer and read_number(value):
            return {"sequence_length": make_field(reader, value, call.place)}
    return {}


def is_half(value: Value | None) -> str:
    """Return a 16-bit number format; empty for any other value."""
    text = SAME.get(read_text(value) or "", read_text(value))
    return text if text in ("float16", "bfloat16") else ""


def is_cuda(value: Value | None) -> bool | None:
    """Return whether a device is a GPU; None if that is open."""
    if isinstance(value, Object) and last_name(value) == "device" and value.arguments:
        value = value.arguments[0]
    text = read_text(value)
    if text is not None:
        return True if text.startswith(GPUS) else False if text.startswith(("cpu", "mps")) else None
    number = read_number(value)
    return number >= 0 if number is not None else None
