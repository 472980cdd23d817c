"""Libraries: calls that load a network by a name of the library's own, such as `YOLO("yolov8n.pt")`.

The table `network_loaders.csv` lists the calls, and `network_names.csv` what their names stand for.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpulint.adapters.python import models
from gpulint.adapters.python.words import Reader, is_nothing, is_on, last_name, make_field, read_text, render, root
from gpulint.catalog import architecture, tables
from gpulint.catalog.architecture import network_names
from gpulint.source.python.values import Object, Value
from gpulint.workload import Field, Unknown

ANY = "*"
"""A package each of whose networks has a function of its name."""
CLOSED = frozenset({"ultralytics", "openai-whisper", "faster-whisper"})
"""Libraries whose networks have few shapes, also those that somebody trained further."""
WEIGHTS = frozenset({"float16", "bfloat16", "float32"})
WIDEST = "compute_type is not known: the weights are taken for 32 bits, the widest format of CTranslate2"
OWN_FILE = "the weights of a file whose number format is not stated are taken for 32 bits"
COMPUTE = re.compile(r"(int8)(?:_(?:float16|bfloat16|float32))?")
"""OpenNMT/CTranslate2 docs/quantization.md: int8 weights, whatever the activations have."""


def find(calls: Iterable[Object]) -> Iterator[tuple[Object, tables.Row]]:
    """Yield the calls that load a network of a library, with their rows."""
    for call in calls:
        row = find_row(call)
        if row is not None:
            yield call, row


def find_row(call: Object) -> tables.Row | None:
    """Return the row of a call that loads a network; None for any other call."""
    for row in _load().get(root(call), ()):
        if row["call"] == ANY:
            if call.cls is None and network_names.find(row["library"], last_name(call)):
                return row
        elif call.name.endswith("." + row["call"]):
            return row
    return None


@functools.cache
def _load() -> Mapping[str, tuple[tables.Row, ...]]:
    found: dict[str, tuple[tables.Row, ...]] = {}
    for row in tables.rows("network_loaders"):
        found[row["package"]] = (*found.get(row["package"], ()), row)
    return found


def take_gpu(calls: Sequence[Object]) -> bool:
    """Return whether a call puts its network on a GPU where there is one, and no call of its package asks for the CPU."""
    taking = [root(call) for call, row in find(calls) if row["device"] == "gpu"]
    return bool(taking) and not any(root(one) in taking and models.is_cuda(one.get("device")) is False for one in calls)


def read(call: Object, row: tables.Row, reader: Reader) -> dict[str, Field]:
    """Return the network that a call loads, and its number format."""
    fields = {
        **_read_name(call, row, reader),
        **_read_format(call, row, reader),
        **models.read_quantization(call, reader),
    }
    fields.setdefault("quantization", Field(None, source="the program asks for no quantised weights"))
    if models.is_cuda(call.get("device")) is False:
        fields["device"] = make_field(reader, call.keywords["device"], call.place, "cpu")
    return fields


def _read_name(call: Object, row: tables.Row, reader: Reader) -> dict[str, Field]:
    name = last_name(call)
    if row["call"] == ANY:
        return {"checkpoint": Field(network_names.find(row["library"], name), reader.origins(None, call.place))}
    value = _find_value(call, row)
    if value is None or is_nothing(value):
        default = row["default"]
        return {"checkpoint": Field(default, reader.origins(None, call.place), row["source"])} if default else {}
    text = render(value)
    known = network_names.find(row["library"], _find_last_part(text)) if text is not None and row["library"] else None
    field = make_field(reader, value, call.place, known) if known else make_field(reader, value, call.place)
    if not isinstance(field.value, str | Unknown):
        return {}
    is_own = text is not None and known is None and row["library"] in CLOSED and not architecture.is_listed(text)
    return {"checkpoint": field, **(_bound_own(text or "", field, row) if is_own else {})}


def _bound_own(text: str, field: Field, row: tables.Row) -> dict[str, Field]:
    """Return the largest network that a file can hold whose library has networks of few shapes."""
    name, parameters = network_names.find_largest(row["library"])
    own = _find_last_part(text.rstrip("/"))
    largest = json.dumps({"name": f"{own}, at most {name}", "parameters": parameters, "largest": True})
    said = f"{text} is at most as large as {name}, the largest network that {row['package']} loads"
    return {"network": Field(largest, field.origins, source=row["source"], assumption=said)}


def _find_value(call: Object, row: tables.Row) -> Value | None:
    """Return the name that a call is given, at its place or by its keyword."""
    at = int(row["at"]) if row["at"] else None
    if at is not None and len(call.arguments) > at:
        return call.arguments[at]
    return call.get(row["name"]) if row["name"] else None


def _read_format(call: Object, row: tables.Row, reader: Reader) -> dict[str, Field]:
    """Return the number format that a call asks for, or that its library always has."""
    stated = models.read_dtype(call, reader)
    if stated:
        return stated
    asked = call.get("compute_type")
    text = read_text(asked)
    if asked is not None and text in WEIGHTS:
        return {"weight_dtype": make_field(reader, asked, call.place, text)}
    if asked is not None and text is not None and (found := COMPUTE.fullmatch(text)):
        return {"quantization": make_field(reader, asked, call.place, found[1])}
    if asked is not None and text is None and not is_nothing(asked):
        return {"weight_dtype": Field("float32", reader.origins(asked, call.place), assumption=WIDEST)}
    half = call.get("use_fp16")
    if half is not None:
        return {"weight_dtype": make_field(reader, half, call.place, "float16" if is_on(half) else "float32")}
    if not row["dtype"]:
        return {}
    if row["library"] and row["call"] != ANY and not _is_named(call, row):
        return {
            "weight_dtype": Field("float32", source="a file of one's own keeps at most 32 bits", assumption=OWN_FILE)
        }
    return {"weight_dtype": Field(row["dtype"], source=row["source"])}


def _is_named(call: Object, row: tables.Row) -> bool:
    """Return whether a call names a network of the library, whose number format is known."""
    text = read_text(_find_value(call, row))
    return text is not None and network_names.find(row["library"], _find_last_part(text)) is not None


def _find_last_part(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
