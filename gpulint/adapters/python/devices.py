"""Devices: whether a program that moves its model nowhere computes on a GPU or on the processor."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.adapters.python import inference, loops, models
from gpulint.adapters.python.words import Reader, is_nothing, last_name, read_text, root
from gpulint.engines import Reading
from gpulint.source.python.values import Choice, Constant, Member, Name, Object, Open, Value
from gpulint.workload import Field, Unknown

AUTOMATIC = {
    ("transformers", "pipeline"): 8,
    ("sentence_transformers", "SentenceTransformer"): 2,
    ("sentence_transformers", "CrossEncoder"): 3,
    ("whisper", "load_model"): 1,
    ("faster_whisper", "WhisperModel"): 1,
}
"""Calls that take a GPU if the machine has one and they are not told otherwise, each with the position of `device`:
huggingface/transformers pull request 31398, UKPLab/sentence-transformers sentence_transformers/util.py get_device_name,
openai/whisper whisper/__init__.py, SYSTRAN/faster-whisper faster_whisper/transcribe.py."""
ASKED = frozenset({*models.ROOTS, *(package for package, _ in AUTOMATIC), "llama_cpp", "ctransformers"})
ASKS = inference.ASKS | {"transcribe", "rank", "create_completion", "create_chat_completion"}
CHOOSES = frozenset({"accelerate", "lightning", "pytorch_lightning", "composer", "deepspeed"})
"""Packages that move a model themselves."""
VISIBLE = "{} takes a GPU if the machine has one"
ON_CPU = "the program moves the model to no GPU"


def find_automatic(calls: Sequence[Object]) -> Object | None:
    """Return the call that takes a GPU if the machine has one, where the program chooses no device."""
    return next((call for call in calls if _takes_visible(call)), None)


def _takes_visible(call: Object) -> bool:
    position = AUTOMATIC.get((root(call), last_name(call)))
    loaded = models.trace(call.get("model"))
    if position is None or any(one.get("device_map") is not None for one in (call, loaded) if one is not None):
        return False
    device = call.get("device") or (call.arguments[position] if len(call.arguments) > position else None)
    return device is None or is_nothing(device) or read_text(device) == "auto" or _is_open(device)


def _is_open(device: Value) -> bool:
    return isinstance(device, Open | Choice | Member)


def mark_automatic(reading: Reading, calls: Sequence[Object]) -> Reading:
    """Return a reading that says how the program comes to a GPU which it does not ask for."""
    others = [call for call in calls if not _takes_visible(call)]
    call = None if inference.runs_on_gpu(others) else find_automatic(calls)
    if call is None or "device" in reading.fields or reading.fields.get("task", Field(None)).value != "inference":
        return reading
    device = Field("gpu", Reader().origins(None, call.place), assumption=VISIBLE.format(last_name(call)))
    return reading._replace(fields={**reading.fields, "device": device})


def place_on_cpu(reading: Reading, calls: Sequence[Object]) -> Reading | None:
    """Return a program that asks its model something on the processor; None if it may only load or prepare one."""
    checkpoint = reading.fields.get("checkpoint")
    is_known = checkpoint is not None and not isinstance(checkpoint.value, Unknown)
    if not is_known or inference.is_conversion(calls) or not any(map(_asks, calls)):
        return None
    return _take_none(reading)


def keep_on_cpu(reading: Reading, calls: Sequence[Object]) -> Reading | None:
    """Return a training loop whose program moves everything to the processor; None if a GPU may compute."""
    engine = reading.fields.get("engine", Field(None)).value
    if engine != loops.ENGINE or inference.runs_on_gpu(calls) or any(root(call) in CHOOSES for call in calls):
        return None
    moves = [value for call in calls if last_name(call) == "to" for value in (*call.arguments, call.get("device"))]
    places = [
        value for value in moves if value is not None and not isinstance(value, Name)
    ]  # a name is a number format
    return _take_none(reading) if places and all(map(_is_processor, places)) else None


def _is_processor(value: Value) -> bool:
    """Return whether a device is the processor, whatever the caller says."""
    if isinstance(value, Object) and last_name(value) == "device" and value.arguments:
        value = value.arguments[0]
    return isinstance(value, Constant) and not value.name and models.is_cuda(value) is False


def _take_none(reading: Reading) -> Reading:
    place = (reading.arguments,) if reading.arguments is not None else ()
    none = Field(0, place, source=ON_CPU)
    fields = {"device": Field("cpu", place, source=ON_CPU), "gpus_per_pod": none, "gpus_per_replica": none}
    return reading._replace(fields={**reading.fields, **fields})


def _asks(call: Object) -> bool:
    """Return whether a call computes something with a model, and does not only load it."""
    asked = last_name(call) in ASKS or call.name.endswith("()")
    return asked and root(call) in ASKED and not models.NOT_A_MODEL.search(call.name)
