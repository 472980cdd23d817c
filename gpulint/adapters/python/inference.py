"""Inference: models that a program loads and runs itself, without a server's engine."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.adapters.python import libraries, models
from gpulint.adapters.python.words import Reader, is_nothing, last_name, make_field, read_number, read_text, root
from gpulint.engines import Reading
from gpulint.source.python.values import Choice, Constant, Mapping, Member, Object, Open, Value
from gpulint.workload import Field, Unknown

PARTS = re.compile(r"quantization_config|transformer(?:_\d)?|unet|text_encoder(?:_\d)?|vae|prior.*|decoder.*")
"""Arguments of a pipeline of Diffusers that give it another network, or one in another number format."""
OFFLOADED = Unknown("the program keeps parts of the pipeline in host memory", "own program")
TRANSFORMERS = frozenset({"transformers", "awq", "auto_gptq", "gptqmodel", "optimum", "unsloth", "peft"})
QUANTISERS = frozenset({"awq", "auto_gptq", "gptqmodel"})
"""AutoGPTQ/AutoGPTQ auto_gptq/modeling/_base.py, ModelCloud/GPTQModel and casper-hansen/AutoAWQ awq/quantize/quantizer.py:
`quantize` moves one layer at a time to the first GPU."""
GPU = re.compile(r"cuda(?::\d+)?|\d")
OFFLOADS = re.compile(r"enable_(?:model|sequential)_cpu_offload$")
WRITES = frozenset(
    {"merge_and_unload", "save_pretrained", "save_pretrained_merged", "save_pretrained_gguf", "save_quantized"}
)
ASKS = frozenset({"generate", "pipeline", "encode", "predict", "forward", "quantize"})
GENERATES = re.compile(r"\.generate$")


def runs_on_gpu(calls: Sequence[Object]) -> bool:
    """Return whether a program certainly runs its model on a GPU, and does not only load it."""
    if any(root(call) == "exllamav2" for call in calls) or find_quantised(calls) is not None:
        return True
    if libraries.take_gpu(calls):
        return True
    loads = [call for call in calls if last_name(call) in (*models.LOADS, "pipeline")]
    if any(root(call) == "unsloth" for call in loads):
        return True  # its import fails without a GPU: unslothai/unsloth-zoo unsloth_zoo/device_type.py get_device_type
    if any(read_text(call.get("device_map")) == "cpu" for call in loads):
        return False
    for call in calls:
        name = last_name(call)
        if name in ("cuda", "enable_model_cpu_offload", "enable_sequential_cpu_offload") or models.is_cuda(
            call.get("device")
        ):
            return True
        if name == "to" and root(call) in models.ROOTS and any(_is_open_device(value) for value in call.arguments):
            return True
        if name == "to" and any(models.is_cuda(value) for value in (*call.arguments, call.get("device"))):
            return True
        if name in (*models.LOADS, "pipeline") and _is_mapped(call.get("device_map")):
            return True
    return False


def _is_mapped(stated: Value | None) -> bool:
    """Return whether `device_map` puts a part of a model on a GPU: by a word, or by the device of each part."""
    if isinstance(stated, Mapping):
        return any(models.is_cuda(device) for device in stated.entries.values())
    return read_text(stated) not in (None, "cpu")


def _is_open_device(value: Value) -> bool:
    """Return whether a model is moved to a device that the caller or the machine chooses."""
    is_device = isinstance(value, Object) and last_name(value) == "device"
    return isinstance(value, Open | Choice | Member) or (is_device and models.is_cuda(value) is not False)


def is_conversion(calls: Sequence[Object]) -> bool:
    """Return whether a program writes the model that it loads, and never asks it anything."""
    names = {last_name(call) for call in calls}
    asks = any(last_name(call) in ASKS or call.name.endswith("()") for call in calls if root(call) in models.ROOTS)
    return bool(names & WRITES) and not asks


def read(calls: Sequence[Object], reader: Reader) -> Reading | None:
    """Return the model that a program runs; None if it loads none that is known."""
    for call in calls:
        name = last_name(call)
        if call.name == "transformers.pipeline" or (root(call) == "transformers" and name == "pipeline"):
            return _read_pipeline(call, calls, reader)
        if name == "SentenceTransformer" or (name == "CrossEncoder" and root(call) == "sentence_transformers"):
            named = models.read_checkpoint(models.trace(call) or call, reader)
            return _build(call, reader, {**named, **_read_kwargs(call, reader)})
        if call.name == "exllamav2.ExLlamaV2Config":
            return _read_exllama(call, calls, reader)
    listed = next(libraries.find(calls), None)
    if listed is not None:
        return _build(listed[0], reader, libraries.read(*listed, reader))
    every = list(models.find_loaded(calls))
    found = [call for call in every if _names_model(models.find_name(call))] or every
    loaded = next((call for call in found if "Pipeline" in call.name), found[0] if found else None)
    if loaded is None:
        return None
    if root(loaded) == "diffusers":
        return _read_diffusers(loaded, calls, reader)
    return _read_loaded(loaded, calls, reader)


def _names_model(name: Value | None) -> bool:
    """Return whether a value may be the name of a checkpoint: not None, and not a model that is loaded already."""
    return name is not None and not is_nothing(name) and models.trace(name) is None


def find_quantised(calls: Sequence[Object]) -> Object | None:
    """Return the call that quantises a model layer by layer, each on a GPU while the others are in host memory."""
    return next((call for call in calls if last_name(call) == "quantize" and root(call) in QUANTISERS), None)


def _build(call: Object, reader: Reader, fields: dict[str, Field], engine: str = "") -> Reading | None:
    if "checkpoint" not in fields:
        return None
    place = reader.origins(Constant(call.name, call.place), call.place)
    named = {"engine": Field(engine, place)} if engine else {}
    return Reading(
        {"task": Field("inference", source="the program runs the model"), **named, **fields}, place[0], call.open_ended
    )


def _read_loaded(call: Object, calls: Sequence[Object], reader: Reader) -> Reading | None:
    fields = {
        **models.read_checkpoint(call, reader),
        **models.read_dtype(call, reader),
        **models.read_quantization(call, reader),
    }
    fields |= {**_read_spread(call, reader), **_read_generation(calls, reader), **_read_attention(call, reader)}
    fields |= _read_move(call, calls, reader)
    quantised = find_quantised(calls)
    if quantised is not None:
        fields["spills"] = Field(True, reader.origins(None, quantised.place))
        return _build(call, reader, fields)
    return _build(call, reader, fields, "transformers" if root(call) in TRANSFORMERS else "")


def _read_pipeline(call: Object, calls: Sequence[Object], reader: Reader) -> Reading | None:
    loaded = models.trace(call.get("model"))
    if loaded is not None:
        return _read_loaded(loaded, calls, reader)
    model = call.get("model") or (call.arguments[1] if len(call.arguments) > 1 else None)
    if model is None or is_nothing(model):
        return None
    fields = {"checkpoint": make_field(reader, model, call.place)}
    fields |= {**models.read_dtype(call, reader), **models.read_quantization(call, reader)}
    fields |= {**_read_spread(call, reader), **_read_generation([call, *calls], reader)}
    fields |= _read_move(call, (), reader)
    return _build(call, reader, fields, "transformers")


def _read_spread(call: Object, reader: Reader) -> dict[str, Field]:
    """Return whether layers that do not fit go to other GPUs and to host memory."""
    stated = call.get("device_map")
    if stated is None or read_text(stated) not in models.SPREADS:
        return {}
    return {"spills": make_field(reader, stated, call.place, True)}


def _read_move(call: Object, calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return whether a program moves all weights of a model to one GPU."""
    moved = [one for one in calls if last_name(one) in ("to", "cuda") and models.trace(one.receiver) is call]
    asked = [value for one in moved for value in (*one.arguments, one.get("device"))]
    for value in (call.get("device"), call.get("device_map"), *asked):
        if value is not None and (isinstance(value, Constant) and GPU.fullmatch(str(value.value))):
            return {"whole_on_gpu": make_field(reader, value, call.place, True)}
    place = next((one.place for one in moved if last_name(one) == "cuda" and not one.arguments), None)
    return {"whole_on_gpu": Field(True, reader.origins(None, place))} if place is not None else {}


def _read_attention(call: Object, reader: Reader) -> dict[str, Field]:
    stated = call.get("attn_implementation")
    text = read_text(stated)
    kernels = {"flash_attention_2": "flash", "flash_attention_3": "flash", "sdpa": "sdpa", "eager": "eager"}
    if stated is None or text not in kernels:
        return {}
    return {"attention_backend": make_field(reader, stated, call.place, kernels[text])}


def _read_generation(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return how many tokens are generated, and for how many sequences at once if that is stated."""
    fields: dict[str, Field] = {}
    for call in calls:
        if not (GENERATES.search(call.name) or last_name(call) == "pipeline" or call.name.endswith("()")):
            continue
        for keyword, name in (("max_new_tokens", "new_tokens"), ("batch_size", "batch_size")):
            value = call.get(keyword)
            if value is not None and read_number(value):
                fields.setdefault(name, make_field(reader, value, call.place))
    return fields


def _read_kwargs(call: Object, reader: Reader) -> dict[str, Field]:
    device = models.is_cuda(call.get("device"))
    found = models.read_dtype(call, reader)
    return (
        {**found, "device": make_field(reader, call.keywords["device"], call.place, "cpu")}
        if device is False
        else found
    )


def _read_exllama(call: Object, calls: Sequence[Object], reader: Reader) -> Reading | None:
    """Return a model in the format of ExLlamaV2: turboderp-org/exllamav2 exllamav2/config.py and cache.py."""
    folder = call.get("model_dir") or (call.arguments[0] if call.arguments else None)
    if folder is None:
        return None
    place = reader.origins(folder, call.place)
    fields = {"checkpoint": make_field(reader, folder, call.place)}
    fields["quantization"] = Field(
        Unknown("only the files of the model state the bits per weight", "local path"), place
    )
    cache = next((one for one in calls if last_name(one).startswith("ExLlamaV2Cache")), None)
    length = cache.get("max_seq_len") if cache is not None else None
    if cache is not None and length is not None and read_number(length):
        fields["max_model_len"] = make_field(reader, length, cache.place)
    return _build(call, reader, fields)


def _read_diffusers(call: Object, calls: Sequence[Object], reader: Reader) -> Reading | None:
    fields = {**models.read_checkpoint(call, reader), **models.read_dtype(call, reader)}
    offload = next((one for one in calls if OFFLOADS.search(one.name)), None)
    if offload is not None:
        place = reader.origins(None, offload.place)
        fields |= {"spills": Field(True, place), "cpu_offload_bytes": Field(OFFLOADED, place)}
    elif runs_on_gpu(calls) and not _may_quantise(call, calls):
        fields["quantization"] = Field(None, source="the program passes no quantised part to the pipeline")
    return _build(call, reader, fields)


def _may_quantise(call: Object, calls: Sequence[Object]) -> bool:
    """Return whether a pipeline may get another number format than the one it is loaded in."""
    is_given = any(PARTS.fullmatch(name) for name in call.keywords) or bool(call.open_ended)
    return is_given or any("quant" in one.name.lower() or last_name(one) == "freeze" for one in calls)
