"""Encoders: training that `fit` of sentence-transformers runs: `SentenceTransformer("…").fit([(loader, loss)])`."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.adapters.python import loops, models
from gpulint.adapters.python.words import Reader, is_nothing, is_on, last_name, make_field, read_number, root
from gpulint.engines import Reading
from gpulint.source.python.values import Constant, Items, Object, Place, Value
from gpulint.workload import Field, Unknown

PACKAGE = "sentence_transformers"
SOURCE = "default of fit in sentence-transformers"
"""UKPLab/sentence-transformers 07ec204d sentence_transformers/fit_mixin.py and 0087b2c6 cross_encoder/CrossEncoder.py: AdamW,
no mixed precision, and the batch size of the loader."""
LENGTH = Field(Unknown("the texts decide how long the sequences of a batch are, and the loss how many each sample has"))
"""A pair or a triplet is two or three sequences of their own, which are padded to the longest of the batch and never to the
most that the network takes: sentence_transformers/losses/MultipleNegativesRankingLoss.py, `forward`."""
FROZEN = Unknown("the program may freeze some of the weights", "own program")
LOADERS = ("train_objectives", "train_dataloader")


def read(calls: Sequence[Object], reader: Reader) -> Reading | None:
    """Return the training of an encoder; None if a program trains none on a GPU."""
    call = next((one for one in calls if _trains(one)), None)
    model = models.trace(call.receiver) if call is not None else None
    if call is None or model is None or _is_on_cpu(call):
        return None
    place = reader.origins(Constant(call.name, call.place), call.place)
    config = models.find_adapters(calls)
    adapted = models.read_adapters(config, reader) if config is not None else _read_frozen(call, calls, reader)
    fields = {
        "task": Field("training"),
        "engine": Field(loops.ENGINE, place),
        **loops.NO_ADAPTERS,
        **adapted,
        **loops.UNDIVIDED,
        **models.read_checkpoint(model, reader),
        "quantization": Field(None, source="the program asks for no quantised weights"),
        **models.read_quantization(model, reader),
        "activation_checkpointing": Field("none", source="the program does not enable activation checkpointing"),
        **_read_optimizer(call, reader),
        **_read_formats(call, model, reader),
        **_read_batch(call, reader),
        "sequence_length": LENGTH,
    }
    return Reading(fields, place[0], call.open_ended)


def _trains(call: Object) -> bool:
    return root(call) == PACKAGE and last_name(call) == "fit"


def _is_on_cpu(call: Object) -> bool:
    built = call.receiver
    return isinstance(built, Object) and models.is_cuda(built.get("device")) is False


def _read_frozen(call: Object, calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return that it is open how many weights are trained: some are frozen, perhaps one by one in a loop over them."""
    may_freeze = isinstance(call.place, Place) and "requires_grad" in call.place.document.text
    frozen = Field(FROZEN, reader.origins(None, call.place))
    return loops.read_frozen(calls, reader) or ({"trainable_parameters": frozen} if may_freeze else {})


def _read_optimizer(call: Object, reader: Reader) -> dict[str, Field]:
    stated = call.get("optimizer_class")
    if stated is None:
        return {"optimizer": Field("adamw", source=SOURCE)}
    name = loops.OPTIMIZERS.get((reader.word(stated, call.place).text or "").rpartition(".")[2])
    return {"optimizer": make_field(reader, stated, call.place, name)} if name is not None else {}


def _read_formats(call: Object, model: Object, reader: Reader) -> dict[str, Field]:
    """Return the number formats: those of the loaded weights, and mixed precision where `use_amp` switches it on."""
    stated = models.read_dtype(model, reader).get("weight_dtype")
    dtype = stated if stated is not None and stated.value != "auto" else None
    mixed = call.get("use_amp")
    if mixed is None or not is_on(mixed):
        return {"parameter_dtype": dtype, "training_dtype": dtype} if dtype is not None else {}
    computed = make_field(reader, mixed, call.place, "float16")
    return {
        "training_dtype": computed,
        "autocast": make_field(reader, mixed, call.place, True),
        "parameter_dtype": dtype or loops.AS_LOADED,
    }


def _read_batch(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the batch size of the first loader that `fit` gets."""
    given = next((value for name in LOADERS if (value := call.get(name)) is not None), None)
    loader = _find_loader(given or (call.arguments[0] if call.arguments else None))
    if loader is None:
        return {}
    size = loader.get("batch_size") or (loader.arguments[1] if len(loader.arguments) > 1 else None)
    if size is None or is_nothing(size) or not read_number(size):
        return {}
    return {"micro_batch_size": make_field(reader, size, loader.place)}


def _find_loader(given: Value | None) -> Object | None:
    """Return the loader that is given alone, or first in a list of pairs of a loader and a loss."""
    for _ in range(2):
        if isinstance(given, Items) and given.items:
            given = given.items[0]
    return given if isinstance(given, Object) and last_name(given).endswith("DataLoader") else None
