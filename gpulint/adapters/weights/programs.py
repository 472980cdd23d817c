"""Programs that write weights: what the calls of a Python program download, save, merge and quantise."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.adapters.python import models
from gpulint.adapters.python.words import last_name, read_number, read_text, render, root
from gpulint.adapters.weights.produced import Produced
from gpulint.catalog import tables
from gpulint.catalog.architecture import gguf_names
from gpulint.source.python.values import Choice, Constant, Member, Object, Place, Value
from gpulint.workload import Origin

DEPTH_MAX = 16
SAVES = frozenset({"save_pretrained", "save_pretrained_merged", "save_quantized", "save_model", "save"})
TO_GGUF = "save_pretrained_gguf"
OF_TRAINER = re.compile(r"Trainer$")
ARGUMENTS = ("args", "training_args")
PEFT_LOADS = re.compile(r"(?:^|\.)(?:Auto)?Peft\w*\.from_pretrained$")
QUANTISERS = {"auto_gptq": 128, "gptqmodel": 128, "awq": 128}
"""Packages that quantise to 4 bits, by their default size of a group of weights: BaseQuantizeConfig, q_group_size."""
FOLDERS = ("save_directory", "save_dir", "output_dir", "quantized_model_dir", "quant_path")


class Base(NamedTuple):
    """What a model was made from: its checkpoint, whether adapters lie on it, and the call that loaded it.

    `is_tuned` means that adapters were on it at some time, and `is_adapter` that they were not merged.
    """

    reference: str
    is_adapter: bool
    load: Object | None
    is_tuned: bool = False


def read(calls: Sequence[Object]) -> Iterator[Produced]:
    """Yield the weights that some calls of a program write."""
    for call in calls:
        name = last_name(call)
        if name == "snapshot_download":
            yield from _read_snapshot(call)
        elif name == "hf_hub_download":
            yield from _read_file(call)
        elif name == "oneshot":
            yield from _read_oneshot(call)
        elif name == TO_GGUF or (name in SAVES and call.receiver is not None):
            yield from _read_save(call, calls)
        elif OF_TRAINER.search(call.name):
            yield from _read_run(call, calls)


def _build(
    path: Value | None, reference: str, call: Object, how: str, quantization: str | None = None
) -> list[Produced]:
    folder, place = render(path) if path is not None else None, call.place
    if not folder or not reference or not isinstance(place, Place):
        return []
    return [Produced(folder, reference, how, Origin(place.document, place.path, place.span), quantization)]


# ---- downloads


def _find_id(call: Object) -> str:
    stated = call.get("repo_id") or call.get("model_id") or (call.arguments[0] if call.arguments else None)
    return (render(stated) or "") if stated is not None else ""


def _read_snapshot(call: Object) -> Iterator[Produced]:
    reference = _find_id(call)
    folder = call.get("local_dir")
    if folder is not None:
        yield from _build(folder, reference, call, "snapshot_download")
    elif root(call) == "modelscope" and (cache := call.get("cache_dir")) is not None:
        for found in _build(cache, reference, call, "snapshot_download"):
            yield found._replace(path=posixpath.join(found.path, reference))


def _read_file(call: Object) -> Iterator[Produced]:
    stated = call.get("filename") or (call.arguments[1] if len(call.arguments) > 1 else None)
    file = render(stated) if stated is not None else None
    for found in _build(call.get("local_dir"), _find_id(call), call, "hf_hub_download") if file else ():
        gguf = gguf_names.parse_file_name(file or "").quantization if (file or "").endswith(".gguf") else ""
        yield found._replace(path=posixpath.join(found.path, file or ""), quantization=gguf or None)


# ---- what is saved


def _read_save(call: Object, calls: Sequence[Object]) -> Iterator[Produced]:
    name = last_name(call)
    stated = call.arguments[0] if call.arguments else next((value for key in FOLDERS if (value := call.get(key))), None)
    base = find_base(call.receiver)
    trainer = call.receiver if isinstance(call.receiver, Object) and OF_TRAINER.search(call.receiver.name) else None
    if base is None and (name == "save" or _is_no_model(call.receiver)):
        return
    if stated is None and trainer is not None:
        return
    base = base or _find_only(calls)
    if base is None:
        return
    method = (read_text(call.get("save_method")) or "").lower()
    is_adapter = base.is_adapter if name != "save_pretrained_merged" else method == "lora"
    quantization = _find_format(name, call, base, calls)
    for found in _build(stated, base.reference, call, name, quantization):
        yield found._replace(is_adapter=is_adapter and name != TO_GGUF, is_run=trainer is not None)


def _find_format(name: str, call: Object, base: Base, calls: Sequence[Object]) -> str | None:
    """Return the number format in which weights are saved; None for that of the checkpoint, empty for 16 bits."""
    if name == TO_GGUF:
        stated = read_text(call.get("quantization_method"))
        return gguf_names.find_format(stated) if stated and "_" in stated else None
    if name == "save_pretrained_merged":
        return "" if "16" in (read_text(call.get("save_method")) or "16") else "int4-bnb"
    package = root(base.load) if base.load is not None else ""
    if package in QUANTISERS and any(last_name(one) == "quantize" for one in calls):
        return _find_group(package, calls)
    return "" if base.is_tuned and not base.is_adapter else None


def _find_group(package: str, calls: Iterable[Object]) -> str | None:
    """Return the format of a quantiser's settings: its bits, and the weights that share a scale."""
    bits, group = 4, QUANTISERS[package]
    for one in calls:
        if last_name(one) in ("BaseQuantizeConfig", "QuantizeConfig", "GPTQConfig"):
            bits = read_number(one.get("bits")) or bits
            group = read_number(one.get("group_size")) or group
    found = f"int{bits}-g{group}"
    return found if found in tables.index_rows("quantization", "quantization") else None


def _read_oneshot(call: Object) -> Iterator[Produced]:
    """Yield what llm-compressor writes: vllm-project/llm-compressor src/llmcompressor/entrypoints/oneshot.py."""
    model = call.get("model")
    base = find_base(model)
    reference = base.reference if base is not None else (render(model) or "" if model is not None else "")
    recipe = call.get("recipe")
    scheme = read_text(recipe.get("scheme")) if isinstance(recipe, Object) else None
    rows = tables.index_rows("checkpoint_suffixes", "suffix")
    row = rows.get((scheme or "").lower().replace("_", "-"))
    yield from _build(call.get("output_dir"), reference, call, "oneshot", row["quantization"] if row else None)


def _read_run(call: Object, calls: Sequence[Object]) -> Iterator[Produced]:
    """Yield what a Trainer writes: the folder of its arguments, and that of a `save_model` without one."""
    base = find_base(call) or _find_only(calls)
    settings = next((value for key in ARGUMENTS if (value := call.get(key)) is not None), None)
    settings = settings or next((value for value in call.arguments if _is_settings(value)), None)
    folder = settings.get("output_dir") if isinstance(settings, Object) else None
    if isinstance(settings, Object) and folder is None and settings.arguments:
        folder = settings.arguments[0]
    if base is None or folder is None:
        return
    for found in _build(folder, base.reference, call, last_name(call)):
        yield found._replace(is_adapter=base.is_adapter, is_run=True)


def _is_settings(value: Value) -> bool:
    if not isinstance(value, Object):
        return False
    name = last_name(value)
    return name.endswith("TrainingArguments") or (name.endswith("Config") and "output_dir" in value.keywords)


# ---- what a model was made from


def find_base(value: Value | None, depth: int = 0) -> Base | None:
    """Return what a model, or the trainer of a model, was made from; None if that is not known."""
    while isinstance(value, Choice | Member):
        value = value.members[0] if isinstance(value, Choice) else value.receiver
    if not isinstance(value, Object) or depth > DEPTH_MAX:
        return None
    name = last_name(value)
    if PEFT_LOADS.search(value.name) and "Config" not in value.name:
        inner = value.arguments[0] if value.arguments else value.get("model")
        if isinstance(inner, Constant):  # AutoPeftModel, which loads the base itself
            return Base(str(inner.value), True, value, True)
        found = find_base(inner, depth + 1)
        return found._replace(is_adapter=True, is_tuned=True) if found else None
    if name in models.LOADS and not models.NOT_A_MODEL.search(value.name) and root(value) in models.ROOTS:
        reference = models.find_name(value)
        text = render(reference) if reference is not None else None
        return Base(text, False, value) if text else None
    if name == "merge_and_unload":
        found = find_base(value.receiver, depth + 1)
        return found._replace(is_adapter=False) if found else None
    if OF_TRAINER.search(value.name):
        return _find_trained(value, depth)
    for candidate in (*value.arguments, value.get("model"), value.receiver):
        found = find_base(candidate, depth + 1) if isinstance(candidate, Object | Member | Choice) else None
        if found is not None:
            tunes = name == "get_peft_model"
            return found._replace(is_adapter=found.is_adapter or tunes, is_tuned=found.is_tuned or tunes)
    return None


def _find_trained(trainer: Object, depth: int) -> Base | None:
    """Return what a trainer trains: the model that it is given, or the one that it loads by its name."""
    model = trainer.get("model") or (trainer.arguments[0] if trainer.arguments else None)
    named = isinstance(model, Constant) and isinstance(model.value, str)
    found = (
        Base(str(model.value), False, None) if isinstance(model, Constant) and named else find_base(model, depth + 1)
    )
    tunes = trainer.get("peft_config") is not None
    return found._replace(is_adapter=found.is_adapter or tunes, is_tuned=found.is_tuned or tunes) if found else None


def _find_only(calls: Sequence[Object]) -> Base | None:
    """Return the only checkpoint that a program loads a model from, with the adapters that it configures."""
    loads = list(models.find_loaded(calls))
    found = {text for call in loads if (name := models.find_name(call)) is not None and (text := render(name))}
    if len(found) != 1:
        return None
    names = {last_name(call) for call in calls}
    tunes = bool(names & {"get_peft_model", "LoraConfig"})
    return Base(found.pop(), tunes and "merge_and_unload" not in names, loads[0], tunes)


def _is_no_model(receiver: Value | None) -> bool:
    """Return whether a tokenizer, a processor or the like is saved."""
    seen = receiver
    for _ in range(DEPTH_MAX):
        if isinstance(seen, Member):
            seen = seen.receiver
        if not isinstance(seen, Object):
            return False
        if models.NOT_A_MODEL.search(seen.name):
            return True
        seen = seen.receiver
    return False
