"""TOML: the data and the nodes of a text; the data comes from `tomllib`, the places from tree-sitter."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import tree_sitter
import tree_sitter_toml

from gpulint.source.documents.nodes import DEPTH_MAX, InvalidSyntaxError, LimitError, Node, Parsed, make_depth_error

CHARACTERS_MAX = 1_000_000

_PLACE = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"
_DEEP_KEY = rf"(?m)^(?:[^=.\n]*\.){{{DEPTH_MAX}}}"


def read(text: str) -> Parsed | None:
    """The document of a text; None where it holds none."""
    if not text.strip():
        return None
    if len(text) > CHARACTERS_MAX:
        raise LimitError(f"TOML of more than {CHARACTERS_MAX:,} characters", 0)
    if deep := re.search(_DEEP_KEY, text):
        raise make_depth_error(deep.start())
    try:
        data = _convert_to_plain(tomllib.loads(text))
        root = _Composer(text).compose(data)
    except RecursionError:
        raise make_depth_error(0) from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidSyntaxError(
            f"not valid TOML: {re.sub(_PLACE, '', str(error)).lower()}", _offset(text, str(error))
        ) from None
    return Parsed(root, data, ())


def _offset(text: str, message: str) -> int:
    match = re.search(_PLACE, message)
    if match is None or match[1] is None:
        return len(text)
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1


def _convert_to_plain(value: object) -> object:
    """The data with dates and times as the text they are written with."""
    if isinstance(value, dict):
        return {key: _convert_to_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_convert_to_plain(item) for item in value]
    return value if isinstance(value, (str, int, float)) else str(value)


class _Composer:
    """Builds the nodes of TOML that `tomllib` has found valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets = None if text.isascii() else _character_offsets(text)
        self.entries: dict[tuple[int, str], Node] = {}
        self.root = Node("mapping", 0, len(text.rstrip()), [])

    def compose(self, data: object) -> Node:
        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))
        tree = parser.parse(self.text.encode())
        if tree.root_node.has_error:
            return _make_placeless(data)
        for child in tree.root_node.named_children:
            self._statement(child)
        return self.root

    def _statement(self, child: Any) -> None:
        if child.type == "pair":
            self._pair(self.root, child, 0)
        elif child.type in ("table", "table_array_element"):
            self._table(child, array=child.type == "table_array_element")

    def _table(self, child: Any, array: bool) -> None:
        header, *pairs = (part for part in child.named_children if part.type != "comment")
        *parents, last = self._keys(header)
        table = self.root
        for key in parents:
            table = self._descend(table, key, header)
        table = self._element(table, last, child) if array else self._descend(table, last, child)
        table.end = max(table.end, self._trim_end(child))
        for pair in pairs:
            self._pair(table, pair, 0)

    def _pair(self, table: Node, pair: Any, depth: int) -> None:
        key, value = (part for part in pair.named_children if part.type != "comment")
        *parents, last = self._keys(key)
        for parent in parents:
            table = self._descend(table, parent, pair)
        self._enter(table, last, self._value(value, depth))

    def _keys(self, key: Any) -> list[Node]:
        parts = [key]
        while parts[0].type == "dotted_key":
            parts[:1] = parts[0].named_children
        return [self._key(part) for part in parts]

    def _key(self, part: Any) -> Node:
        start, end = self._span(part)
        raw = self.text[start:end]
        quoted = raw[:1] in ('"', "'")
        return Node("scalar", start, end, _string(raw) if quoted else raw, raw[0] if quoted else "'")

    def _descend(self, table: Node, key: Node, within: Any) -> Node:
        """The table of that key, made if it is new; of an array of tables, the last one."""
        found = self.entries.get((id(table), key.value))
        if found is None:
            return self._enter(table, key, Node("mapping", self._span(within)[0], self._trim_end(within), []))
        return found.value[-1] if found.kind == "sequence" and found.value else found

    def _element(self, table: Node, key: Node, child: Any) -> Node:
        start, end = self._span(child)[0], self._trim_end(child)
        array = self.entries.get((id(table), key.value))
        if array is None:
            array = self._enter(table, key, Node("sequence", start, end, []))
        element = Node("mapping", start, end, [])
        array.value.append(element)
        array.end = end
        return element

    def _enter(self, table: Node, key: Node, value: Node) -> Node:
        self.entries[id(table), key.value] = value
        table.value.append((key, value))
        return value

    def _value(self, part: Any, depth: int) -> Node:
        start, end = self._span(part)
        if depth > DEPTH_MAX:
            raise make_depth_error(start)
        if part.type == "array":
            items = [self._value(item, depth + 1) for item in part.named_children if item.type != "comment"]
            return Node("sequence", start, end, items)
        if part.type == "inline_table":
            table = Node("mapping", start, end, [])
            for pair in part.named_children:
                self._pair(table, pair, depth + 1)
            return table
        raw = self.text[start:end]
        return Node("scalar", start, end, *((_string(raw), raw[0]) if part.type == "string" else (raw, "")))

    def _span(self, part: Any) -> tuple[int, int]:
        if self.offsets is None:
            return part.start_byte, part.end_byte
        return self.offsets[part.start_byte], self.offsets[part.end_byte]

    def _trim_end(self, part: Any) -> int:
        start, end = self._span(part)
        return start + len(self.text[start:end].rstrip())


def _string(raw: str) -> str:
    return str(tomllib.loads(f"v = {raw}")["v"])


def _character_offsets(text: str) -> list[int]:
    """Byte offset in UTF-8 → character offset."""
    offsets = [index for index, character in enumerate(text) for _ in character.encode()]
    return [*offsets, len(text)]


def _make_placeless(data: object) -> Node:
    """Nodes for data whose places are not known."""
    if isinstance(data, dict):
        return Node(
            "mapping", 0, 0, [(Node("scalar", 0, 0, key, '"'), _make_placeless(value)) for key, value in data.items()]
        )
    if isinstance(data, list):
        return Node("sequence", 0, 0, [_make_placeless(item) for item in data])
    return Node(
        "scalar", 0, 0, data if isinstance(data, str) else json.dumps(data), '"' if isinstance(data, str) else ""
    )
