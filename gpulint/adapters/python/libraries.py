"""Libraries: calls that load a network by a name of the library's own, such as `YOLO("yolov8n.pt")`.

The table `network_loaders.csv` lists the calls, and `network_names.csv` what their names stand for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping

from gpulint.adapters.python import models
from gpulint.adapters.python.words import Reader, is_nothing, is_on, last_name, make_field, read_text, root
from gpulint.catalog import tables
from gpulint.catalog.architecture import network_names
from gpulint.source.python.values import Object, Value
from gpulint.workload import Field, Unknown

ANY = "*"
"""A package each of whose networks has a function of its name."""
FOLDER = re.compile(r".*[/\\]")
WEIGHTS = frozenset({"float16", "bfloat16", "float32"})
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


def takes_gpu(call: Object) -> bool:
    """Return whether a call puts its network on a GPU where there is one, without being told."""
    row = find_row(call)
    return row is not None and row["device"] == "gpu" and models.is_cuda(call.get("device")) is not False


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
    text = read_text(value)
    known = network_names.find(row["library"], FOLDER.sub("", text)) if text is not None and row["library"] else None
    field = make_field(reader, value, call.place, known) if known else make_field(reader, value, call.place)
    return {"checkpoint": field} if isinstance(field.value, str | Unknown) else {}


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
        return {"weight_dtype": make_field(reader, asked, call.place)}
    half = call.get("use_fp16")
    if half is not None and is_on(half):
        return {"weight_dtype": make_field(reader, half, call.place, "float16")}
    is_own = row["library"] and row["call"] != ANY and not _is_named(call, row)
    return {"weight_dtype": Field(row["dtype"], source=row["source"])} if row["dtype"] and not is_own else {}


def _is_named(call: Object, row: tables.Row) -> bool:
    """Return whether a call names a network of the library, whose number format is known."""
    text = read_text(_find_value(call, row))
    return text is not None and network_names.find(row["library"], FOLDER.sub("", text)) is not None
