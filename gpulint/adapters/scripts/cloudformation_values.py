"""Values of CloudFormation: references to parameters and joined texts, as the text that a resource gets.

A parameter has its default. What only a deployment knows, such as an attribute of another resource, is a hole.
docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.source.documents import Document, Path
from gpulint.source.recipes.translated import HOLE, Builder
from gpulint.workload import Origin

REFERENCE = re.compile(r"\$\{(?P<literal>!)?(?P<name>[\w.:]+)\}")
DEPTH_MAX = 8
DEFAULTED = "the parameter {} has its default, which a deployment may replace"


class Stated(NamedTuple):
    """A text with the places that state it, and what is assumed of it; None is a value that only a deployment knows."""

    text: str | None
    origins: tuple[Origin, ...]
    assumption: str = ""
    written: str = ""
    """The reference in the file that the text stands for; empty if the file has the text itself."""


class Default(NamedTuple):
    """Where a text uses a parameter by its default, and what is assumed of it."""

    span: tuple[int, int]
    assumption: str


def read(document: Document, path: Path) -> Stated:
    """Return the text of a value; of one that parameters decide, with their defaults."""
    parts = list(_list_parts(document, path, 0))
    if not parts or any(part.text is None for part in parts):
        return Stated(None, (Origin(document, path),))
    used = [part for part in parts if part.assumption]
    text = "".join(part.text or "" for part in parts)
    if used:
        return Stated(text, (*used[0].origins, Origin(document, path)), used[0].assumption)
    return Stated(text, (Origin(document, path),))


def add(builder: Builder, document: Document, path: Path, *, quoted: bool = False) -> list[Default]:
    """Add the text of a value to a script, each line at its place; return the defaults of parameters in it."""
    if quoted:
        stated, node = read(document, path), document.node(path)
        start, end = (node.start, max(node.end, node.start + 1)) if node is not None else (None, None)
        builder.add(_quote(stated.text), start, end)
        return [Default((start, end or 0), stated.assumption)] if stated.assumption and start is not None else []
    cursors: dict[Path, int] = {}
    return [
        default for part in _list_parts(document, path, 0) for default in _add_part(builder, document, part, cursors)
    ]


def _quote(text: str | None) -> str:
    return HOLE if text is None or "'" in text else f"'{text}'"


def _add_part(builder: Builder, document: Document, part: Stated, cursors: dict[Path, int]) -> Iterator[Default]:
    """Add a text line by line; one that is written in the file keeps its places."""
    origin = part.origins[-1]
    node = document.node(origin.path)
    if node is None:
        builder.add(HOLE if part.text is None else part.text, None)
        return
    raw, cursor = document.text[node.start : node.end], cursors.get(origin.path, 0)
    if part.written:
        found = max(raw.find(part.written, cursor), 0)
        cursors[origin.path] = found + len(part.written)
        span = (node.start + found, node.start + found + len(part.written))
        builder.add(HOLE if part.text is None else part.text, *span)
        if part.assumption:
            yield Default(span, part.assumption)
        return
    for line in (HOLE if part.text is None else part.text).splitlines(keepends=True):
        plain = line.strip()
        found = raw.find(plain, cursor) if plain else cursor
        if found < 0:
            builder.add(line, node.start + cursor, node.start + cursor + 1)
            continue
        cursor = found
        lead = len(line) - len(line.lstrip())
        builder.add(line[:lead], None)
        builder.add(line[lead:], node.start + found)
        cursor += len(plain)
    cursors[origin.path] = cursor


def _list_parts(document: Document, path: Path, depth: int) -> Iterator[Stated]:
    """Yield the texts that a value is joined from."""
    node, value = document.node(path), document.get(path)
    origin = Origin(document, path)
    tag = (node.tag if node is not None else "") or ""
    if depth > DEPTH_MAX or value is None:
        yield Stated(None, (origin,))
    elif tag == "!Ref" or tag == "!Sub" or tag == "!Join":
        yield from _apply(document, path, tag.removeprefix("!"), depth)
    elif isinstance(value, dict) and len(value) == 1:
        name = str(next(iter(value)))
        yield from _apply(document, (*path, name), name.removeprefix("Fn::"), depth)
    elif isinstance(value, dict | list) or tag not in ("", "!Base64", "tag:yaml.org,2002:str"):
        yield Stated(None, (origin,))
    else:
        yield Stated(str(value), (origin,))


def _apply(document: Document, path: Path, function: str, depth: int) -> Iterator[Stated]:
    value, origin = document.get(path), Origin(document, path)
    if function == "Ref":
        yield _find_parameter(document, str(value), origin)._replace(written=str(value))
    elif function == "Base64":
        yield from _list_parts(document, path, depth + 1)
    elif function == "Sub" and isinstance(value, str):
        yield from _substitute(document, value, origin)
    elif function == "Sub" and isinstance(value, list) and value and isinstance(value[0], str):
        yield from _substitute(document, value[0], Origin(document, (*path, 0)))
    elif function == "Join" and isinstance(value, list) and len(value) == 2 and isinstance(value[1], list):
        for at, _ in enumerate(value[1]):
            if at and value[0]:
                yield Stated(str(value[0]), (Origin(document, (*path, 0)),))
            yield from _list_parts(document, (*path, 1, at), depth + 1)
    else:
        yield Stated(None, (origin,))


def _substitute(document: Document, text: str, origin: Origin) -> Iterator[Stated]:
    """Yield the parts of a text: between its references, and the parameters that these name; any other is a hole."""
    at = 0
    for match in REFERENCE.finditer(text):
        if match.start() > at:
            yield Stated(text[at : match.start()], (origin,))
        at = match.end()
        if match["literal"]:
            yield Stated(f"${{{match['name']}}}", (origin,), written=match[0])
        else:
            yield _find_parameter(document, match["name"], origin)._replace(written=match[0])
    if at < len(text):
        yield Stated(text[at:], (origin,))


def _find_parameter(document: Document, name: str, origin: Origin) -> Stated:
    place = ("Parameters", name, "Default")
    value = document.get(place)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return Stated(None, (origin,))
    return Stated(str(value), (Origin(document, place), origin), DEFAULTED.format(name))
