"""Detectors: training with Ultralytics, whose networks train themselves: `YOLO("yolov8n.pt").train(data=…)`."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.adapters.python import libraries, loops, models
from gpulint.adapters.python.words import Reader, is_on, last_name, make_field, read_number, read_text, root
from gpulint.engines import Reading
from gpulint.source.python.values import Constant, Items, Object
from gpulint.workload import Field

PACKAGE = "ultralytics"
RUNS = frozenset({"data", "epochs", "batch", "imgsz", "cfg"})
SOURCE = "ultralytics 8.4.190 ultralytics/cfg/default.yaml"
OPTIMIZERS = {"SGD": "sgd", "Adam": "adamw", "AdamW": "adamw", "NAdam": "adamw"}
BATCH = 16
CHOSEN = "Ultralytics chooses AdamW for a short run, and for a long one SGD, which keeps less"
"""ultralytics 8.4.190 ultralytics/engine/trainer.py, build_optimizer: auto, by the number of iterations."""


def read(calls: Sequence[Object], reader: Reader) -> Reading | None:
    """Return a training run of Ultralytics; None if a program starts none on a GPU."""
    call = next((one for one in calls if _trains(one)), None)
    row = libraries.find_row(call.receiver) if call is not None and isinstance(call.receiver, Object) else None
    if call is None or row is None or models.is_cuda(call.get("device")) is False:
        return None
    place = reader.origins(Constant(call.name, call.place), call.place)
    network = libraries.read(call.receiver, row, reader)  # type: ignore[arg-type]
    fields = {
        "task": Field("training"),
        "engine": Field(loops.ENGINE, place),
        **loops.NO_ADAPTERS,
        **loops.UNDIVIDED,
        **{name: field for name, field in network.items() if name in ("checkpoint", "network", "quantization")},
        "activation_checkpointing": Field("none", source="Ultralytics keeps all activations"),
        **_read_optimizer(call, reader),
        **_read_formats(call, reader),
        **_read_batch(call, reader),
        **_read_sharding(call, reader),
    }
    return Reading(fields, place[0], call.open_ended)


def _trains(call: Object) -> bool:
    return root(call) == PACKAGE and last_name(call) == "train" and bool(RUNS & set(call.keywords))


def _read_optimizer(call: Object, reader: Reader) -> dict[str, Field]:
    stated = call.get("optimizer")
    text = read_text(stated)
    if stated is not None and text in OPTIMIZERS:
        return {"optimizer": make_field(reader, stated, call.place, OPTIMIZERS[text])}
    return {"optimizer": Field("adamw", source=SOURCE, assumption=CHOSEN)} if text in (None, "auto") else {}


def _read_formats(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the number formats: weights in 32 bits, and mixed precision unless it is switched off."""
    asked = call.get("amp")
    if asked is not None and not is_on(asked):
        return {"training_dtype": make_field(reader, asked, call.place, "float32")}
    source = f"{SOURCE}: amp is on"
    return {
        "training_dtype": Field("float16", source=source),
        "autocast": Field(True, source=source),
        "parameter_dtype": Field("float32", source=source),
    }


def _read_batch(call: Object, reader: Reader) -> dict[str, Field]:
    stated = call.get("batch")
    if stated is None:
        return {"micro_batch_size": Field(BATCH, source=SOURCE)}
    number = read_number(stated)
    return {"micro_batch_size": make_field(reader, stated, call.place)} if number is not None and number > 0 else {}


def count_gpus(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the GPUs on which a run computes: those that `device` lists, as [0, 1] or "0,1", else one."""
    call = next((one for one in calls if _trains(one)), None)
    if call is None:
        return {}
    stated, one = call.get("device"), Field(1, source=f"{SOURCE}: one GPU unless device lists more")
    if stated is None:
        return {"gpus_per_pod": one, "gpus_per_replica": one}
    listed = len(stated.items) if isinstance(stated, Items) and not stated.open_ended else None
    text = read_text(stated)
    count = listed or (len(text.split(",")) if text is not None else 1 if read_number(stated) is not None else None)
    field = make_field(reader, stated, call.place, count) if count else make_field(reader, stated, call.place)
    return {"gpus_per_pod": field, "gpus_per_replica": field}


def _read_sharding(call: Object, reader: Reader) -> dict[str, Field]:
    """Return that GPUs which `device` lists each keep the whole network."""
    several = count_gpus([call], reader)["gpus_per_pod"]
    is_one = several.value == 1
    return {} if is_one else {"sharding": Field("ddp", several.origins, source="Ultralytics trains with DDP")}
