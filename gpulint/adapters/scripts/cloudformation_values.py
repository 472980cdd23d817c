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


def add(builder: Builder, document: Document, path: Path, *, quoted: bool = False) -> None:
    """Add the text of a value to a script, each line at its place."""
    if quoted:
        text = read(document, path).text
        builder.add(_quote(text), *_span(document, path))
        return
    for part in _list_parts(document, path, 0):
        _add_part(builder, document, part)


def _quote(text: str | None) -> str:
    return HOLE if text is None or "'" in text else f"'{text}'"


def _span(document: Document, path: Path) -> tuple[int | None, int | None]:
    node = document.node(path)
    return (node.start, max(node.end, node.start + 1)) if node is not None else (None, None)


def _add_part(builder: Builder, document: Document, part: Stated) -> None:
    """Add a text line by line; one that is written in the file keeps its places."""
    origin = part.origins[0]
    node = document.node(origin.path)
    if part.text is None or node is None:
        builder.add(HOLE if part.text is None else part.text, None)
        return
    raw, cursor = document.text[node.start : node.end], 0
    for line in part.text.splitlines(keepends=True):
        plain = line.strip()
        found = raw.find(plain, cursor) if plain else cursor
        if found < 0:
            builder.add(line, node.start + cursor, node.start + cursor + 1)
            continue
        cursor = found
        lead = len(line) - len(line.lstrip())
        builder.add(line[:lead], None)
        builder.add(line[lead:], node.start + found)


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
        yield _find_parameter(document, str(value), origin)
    elif function == "Base64":
        yield from _list_parts(document, path, depth + 1)
    elif function == "Sub" and isinstance(value, str):
        yield _substitute(document, value, origin)
    elif function == "Sub" and isinstance(value, list) and value and isinstance(value[0], str):
        yield _substitute(document, value[0], Origin(document, (*path, 0)))
    elif function == "Join" and isinstance(value, list) and len(value) == 2 and isinstance(value[1], list):
        for at, _ in enumerate(value[1]):
            if at and value[0]:
                yield Stated(str(value[0]), (Origin(document, (*path, 0)),))
            yield from _list_parts(document, (*path, 1, at), depth + 1)
    else:
        yield Stated(None, (origin,))


def _substitute(document: Document, text: str, origin: Origin) -> Stated:
    """Return a text with its parameters filled in; what else stands between `${` and `}` is a hole."""
    assumptions: list[str] = []

    def fill(match: re.Match[str]) -> str:
        if match["literal"]:
            return f"${{{match['name']}}}"
        found = _find_parameter(document, match["name"], origin)
        assumptions.append(found.assumption)
        return HOLE if found.text is None else found.text

    filled = REFERENCE.sub(fill, text)
    return Stated(filled, (origin,), next(filter(None, assumptions), ""))


def _find_parameter(document: Document, name: str, origin: Origin) -> Stated:
    place = ("Parameters", name, "Default")
    value = document.get(place)
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return Stated(None, (origin,))
    return Stated(str(value), (Origin(document, place), origin), DEFAULTED.format(name))
