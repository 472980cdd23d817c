"""Exact source span of a value."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.report.model import Location
from gpulint.source.documents import Document, Node, Path, places
from gpulint.workload import Origin

ANCHOR = re.compile(r"(?:^|[\s:\[,-])&(?P<name>[^\s,\[\]{}]+)")
ITEM = re.compile(r"-(?:\s|$)")
QUOTES = ("'", '"')
PROGRAMS = frozenset({"python", "notebook"})


class ExactLocation(NamedTuple):
    """A location of one file, its text, and the text before it on its line."""

    origin: Origin
    location: Location
    text: str
    before: str


@functools.lru_cache(maxsize=256)
def locate(origin: Origin) -> ExactLocation | None:
    """Return the exact place of an origin;

    None if its characters differ from its text or are shared with other objects.
    """
    origin = _strip_quotes(origin)
    location = _find_inside(origin)
    if location.line != location.end_line or not location.text:
        return None
    text = origin.text()
    written = location.text[location.column - 1 : location.end_column - 1]
    if written != text and text not in ("True", "False", "None"):
        return None
    if origin.document.format == "yaml" and (
        _is_aliased(origin.document, origin.path) or _is_anchored(origin, location)
    ):
        return None
    return ExactLocation(origin, location, written, location.text[: location.column - 1])


def _strip_quotes(origin: Origin) -> Origin:
    """Return the place inside the quotes of a text of a program: a notebook writes the quotes in another way."""
    if origin.span is None or origin.document.format not in PROGRAMS:
        return origin
    text, (start, end) = origin.text(), origin.span
    is_quoted = len(text) > 1 and text[0] in QUOTES and text[0] == text[-1] and not set(text[1:-1]) & {*QUOTES, "\\"}
    return origin._replace(span=(start + 1, end - 1)) if is_quoted else origin


def _find_inside(origin: Origin) -> Location:
    """Return the location within the quotes of a scalar or key."""
    document = origin.document
    node = document.key_node(origin.path) if origin.key else document.node(origin.path)
    location = origin.location()
    if node is None or origin.span is not None or node.kind != "scalar" or node.style not in QUOTES:
        return location
    width = 3 if document.format == "toml" and document.text.startswith(node.style * 3, node.start) else 1
    return location._replace(column=location.column + width, end_column=location.end_column - width)


def _is_aliased(document: Document, path: Path) -> bool:
    """Return whether a path leads through an alias or a merge."""
    nodes = [document.root, *(node for at in range(len(path)) if (node := document.node(path[: at + 1])))]
    if len(nodes) <= len(path) or any(node.target is not None for node in nodes):
        return True
    return any(not _holds(parent, child) for parent, child in itertools.pairwise(nodes))


def _holds(parent: Node, child: Node) -> bool:
    """Return whether a node is an entry of another, not merged into it."""
    if parent.kind == "sequence":
        return True
    return any(value is child for _, value in parent.value)


def _is_anchored(origin: Origin, location: Location) -> bool:
    """Return whether the place is part of an anchor that an alias uses."""
    text = origin.document.text
    if "&" not in text or "*" not in text:
        return False
    names = {found["name"] for line in _find_context(text, location) for found in ANCHOR.finditer(line)}
    return any(re.search(rf"(?<!\S)\*{re.escape(name)}(?!\S)|[\[,]\s*\*{re.escape(name)}\b", text) for name in names)


def _find_context(text: str, location: Location) -> Iterator[str]:
    """Yield the text before the place on its line, and each line that it is nested in."""
    own_line = places.read_line(text, location.line)
    yield own_line[: location.column - 1]
    indent, item = _measure_indent(own_line), ITEM.match(own_line.lstrip()) is not None
    for number in range(location.line - 1, 0, -1):
        line = places.read_line(text, number)
        bare, own = line.lstrip(), _measure_indent(line)
        if bare and not bare.startswith("#") and (own < indent or (item and own == indent and not ITEM.match(bare))):
            yield line
            indent, item = own, ITEM.match(bare) is not None
        if (not indent and not item) or line.startswith("---"):
            return


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())
