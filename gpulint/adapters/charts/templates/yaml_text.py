"""YAML that templates write and read: toYaml, toJson, fromYaml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from gpulint.adapters.charts.templates import value
from gpulint.adapters.charts.templates.value import OPEN, UNKNOWN, Part, Value
from gpulint.source import documents

PLAIN = re.compile(r"[A-Za-z/.][\w./ @+=-]*")
"""Texts that YAML reads as they are, unless they are words of another meaning."""
DEPTH_MAX = 60
READ_MAX = 200_000


def write(argument: Value) -> Iterator[Part]:
    """Yield a value as YAML with sorted keys, without a line break at its end."""
    value.check_size(argument)
    if isinstance(argument.data, dict | list) and argument.data:
        yield from _write_block(argument, 0, DEPTH_MAX)
    else:
        yield from _write_scalar(argument)


def _write_block(argument: Value, width: int, depth: int) -> Iterator[Part]:
    if depth < 0:
        raise ValueError("nested too deep")
    spaces = " " * width
    if isinstance(argument.data, dict):
        for at, (key, inner) in enumerate(sorted(argument.data.items())):
            yield Part(("\n" + spaces if at else "") + _write_text(key) + ":")
            yield from _write_below(inner, width, depth)
    else:
        for at, inner in enumerate(argument.items):
            yield Part(("\n" + spaces if at else "") + "- ")
            if isinstance(inner.data, dict | list) and inner.data:
                yield from _write_block(inner, width + 2, depth - 1)
            else:
                yield from _write_scalar(inner)


def _write_below(inner: Value, width: int, depth: int) -> Iterator[Part]:
    if isinstance(inner.data, dict) and inner.data:
        yield Part("\n" + " " * (width + 2))
        yield from _write_block(inner, width + 2, depth - 1)
    elif isinstance(inner.data, list) and inner.data:
        yield Part("\n" + " " * width)
        yield from _write_block(inner, width, depth - 1)
    else:
        yield Part(" ")
        yield from _write_scalar(inner)


def _write_scalar(argument: Value) -> Iterator[Part]:
    if argument.is_open:
        yield Part(OPEN)
    elif isinstance(argument.data, dict | list):
        yield Part("{}" if isinstance(argument.data, dict) else "[]")
    elif argument.data is None:
        yield Part("null", argument.origin)
    elif not isinstance(argument.data, str):
        yield Part(value.format_scalar(argument.data), argument.origin)
    elif argument.parts and len(argument.parts) > 1:
        yield Part('"')
        yield from (Part(_escape(part.text), part.origin) for part in argument.parts)
        yield Part('"')
    else:
        yield Part(_write_text(argument.data), argument.origin)


def _write_text(text: str) -> str:
    """Return a text as a plain scalar, or in quotes where it would mean something else."""
    plain = PLAIN.fullmatch(text) and text[-1] != " " and _reads_as_text(text)
    return text if plain else f'"{_escape(text)}"'


def _reads_as_text(text: str) -> bool:
    words = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
    return text.lower() not in words and not re.fullmatch(r"[.\d].*", text)


def _escape(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def write_json(argument: Value) -> Iterator[Part]:
    """Yield a value as JSON; a scalar keeps its location."""
    if isinstance(argument.data, dict | list) or not argument.origin:
        yield Part(json.dumps(value.plain(argument), ensure_ascii=False, separators=(",", ":"), sort_keys=True))
    else:
        yield Part(json.dumps(argument.data, ensure_ascii=False), argument.origin)


def read(text: str) -> Value:
    """Return what one YAML document means; open if it is none."""
    if len(text) > READ_MAX:
        return UNKNOWN
    found = documents.load("text.yaml", text.encode()).documents
    if not found:
        return Value({})
    if len(found) > 1 or found[0].format == "template":
        return UNKNOWN
    return value.build(found[0].data)
