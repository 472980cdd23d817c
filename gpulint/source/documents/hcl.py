"""HCL: the data and the nodes of a Terraform file, in the shape of Terraform's own JSON syntax.

Labels of a block nest as mappings, blocks without labels are lists of mappings, and whatever has to be computed is a text
with `${…}` around the expression (developer.hashicorp.com/terraform/language/syntax/json). Nothing is computed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import tree_sitter
import tree_sitter_hcl

from gpulint.source.documents.nodes import (
    DEPTH_MAX,
    LimitError,
    Node,
    Parsed,
    Skipped,
    SkippedDocumentError,
    make_depth_error,
)

CHARACTERS_MAX, VALUES_MAX = 1_000_000, 100_000
TEXT = '"'
KEY = "'"
"""The styles of values that are text whatever they look like, and of keys."""

LIST_LEVELS = 2
"""A block without labels is an entry of the list of its name; with labels it takes a level for each of its words."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([nrt\"\\]))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_HEREDOC = re.compile(r"<<(?P<dedent>-?)[^\n]*\n(?P<text>(?:.*\n)?)[ \t]*+\w++\s*+$", re.DOTALL)
_LAST_CHARACTER = 0x10FFFF


def read(text: str, left_out: Callable[[Skipped], object]) -> Parsed | None:
    """The document of a text; None where it holds none. Blocks that do not parse are left out, and said so."""
    if not text.strip():
        return None
    if len(text) > CHARACTERS_MAX:
        raise LimitError(f"HCL of more than {CHARACTERS_MAX:,} characters", 0)
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_hcl.language()))
    tree = parser.parse(text.encode())
    composer = _Composer(text)
    root = composer.compose(tree.root_node)
    if tree.root_node.has_error:
        if not root.value:
            raise SkippedDocumentError(Skipped("invalid HCL syntax", "syntax"))
        left_out(Skipped("invalid HCL syntax in a part of the file", "syntax"))
    return Parsed(root, ..., ())


class _Composer:
    """Builds the nodes of a parsed text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets = None if text.isascii() else _character_offsets(text)
        self.entries: dict[tuple[int, str], Node] = {}
        self.made = 0

    def compose(self, file: Any) -> Node:
        """The mapping of a file's blocks and attributes, but for those in which something does not parse."""
        root = self._node("mapping", 0, len(self.text.rstrip()), [])
        for body in _children(file, "body", "object"):
            whole = [child for child in body.named_children if not child.has_error]
            self._statements(root, whole, 0)
        return root

    def _statements(self, table: Node, statements: list[Any], depth: int) -> None:
        if depth > DEPTH_MAX:
            raise make_depth_error(table.start)
        for statement in statements:
            if statement.type == "attribute":
                name, value = _children(statement, "identifier", "expression")
                table.value.append((self._key(name), self._value(value, depth + 1)))
            elif statement.type == "block":
                self._block(table, statement, depth + 1)

    def _block(self, table: Node, block: Any, depth: int) -> None:
        """A block: below its labels, or else one of the list of its name."""
        names = [self._key(child) for child in _children(block, "identifier", "string_lit")]
        made = self._node("mapping", *self._span(block), [])
        below = depth + max(len(names), LIST_LEVELS) - 1
        if below > DEPTH_MAX:
            raise make_depth_error(made.start)
        for body in _children(block, "body"):
            self._statements(made, body.named_children, below)
        *parents, last = names
        for name in parents:
            table = self._find_or_add_mapping(table, name)
        if parents:
            table.value.append((last, made))
            return
        listed = self.entries.get((id(table), last.value))
        if listed is None or listed.kind != "sequence":
            listed = self._node("sequence", made.start, made.end, [])
            self._enter(table, last, listed)
        listed.value.append(made)
        listed.end = made.end

    def _find_or_add_mapping(self, table: Node, name: Node) -> Node:
        """The mapping of that name, made if it is new."""
        found = self.entries.get((id(table), name.value))
        if found is None or found.kind != "mapping":
            found = self._node("mapping", name.start, name.end, [])
            self._enter(table, name, found)
        return found

    def _enter(self, table: Node, name: Node, value: Node) -> None:
        self.entries[id(table), name.value] = value
        table.value.append((name, value))

    def _key(self, part: Any) -> Node:
        start, end = self._span(part)
        raw = self.text[start:end]
        return self._node("scalar", start, end, _unquote(raw) if raw[:1] == '"' else raw, KEY)

    def _value(self, expression: Any, depth: int) -> Node:
        if depth > DEPTH_MAX:
            raise make_depth_error(self._span(expression)[0])
        part = _find_content(expression)
        start, end = self._span(part)
        match part.type:
            case "tuple":
                items = [self._value(item, depth + 1) for item in _children(part, "expression")]
                return self._node("sequence", start, end, items)
            case "object":
                entries = [self._entry(element, depth) for element in _children(part, "object_elem")]
                return self._node("mapping", start, end, entries)
            case "numeric_lit" | "bool_lit" | "null_lit":
                return self._node("scalar", start, end, self.text[start:end])
            case "string_lit" | "quoted_template":
                return self._node("scalar", start, end, _unquote(self.text[start:end]), TEXT)
            case "heredoc_template":
                return self._node("scalar", start, end, _heredoc(self.text[start:end]), TEXT)
        return self._node("scalar", start, end, f"${{{self.text[start:end]}}}", TEXT)

    def _entry(self, element: Any, depth: int) -> tuple[Node, Node]:
        key, value = _children(element, "expression")
        name = self._value(key, depth + 1)
        if name.kind != "scalar":
            name = self._node("scalar", name.start, name.end, self.text[name.start : name.end])
        if bare := re.fullmatch(r"\$\{([\w-]+)\}", name.value):
            name.value = bare[1]
        name.style = KEY
        return name, self._value(value, depth + 1)

    def _node(self, kind: str, start: int, end: int, value: Any, style: str = "") -> Node:
        self.made += 1
        if self.made > VALUES_MAX:
            raise LimitError(f"more than {VALUES_MAX:,} values", start)
        return Node(kind, start, end, value, style)

    def _span(self, part: Any) -> tuple[int, int]:
        if self.offsets is None:
            return part.start_byte, part.end_byte
        return self.offsets[part.start_byte], self.offsets[part.end_byte]


def _children(part: Any, *types: str) -> Iterator[Any]:
    return (child for child in part.named_children if child.type in types)


def _find_content(expression: Any) -> Any:
    """Return the part of an expression that is one literal, template, list or map."""
    part = expression
    while part.type in ("expression", "literal_value", "template_expr", "collection_value"):
        inner = [child for child in part.named_children if child.type != "comment"]
        if len(inner) != 1 or inner[0].type == "variable_expr":
            return part
        part = inner[0]
    return part


def _unquote(raw: str) -> str:
    return _ESCAPE.sub(_character, raw[1:-1])


def _character(match: re.Match[str]) -> str:
    if match[3]:
        return _ESCAPED[match[3]]
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= _LAST_CHARACTER else match[0]


def _heredoc(raw: str) -> str:
    """The text between the markers; of `<<-` without the spaces that all its lines begin with."""
    match = _HEREDOC.match(raw)
    if match is None:
        return raw
    if not match["dedent"]:
        return match["text"]
    import textwrap

    return textwrap.dedent(match["text"])


def _character_offsets(text: str) -> list[int]:
    """Byte offset in UTF-8 → character offset."""
    offsets = [index for index, character in enumerate(text) for _ in character.encode()]
    return [*offsets, len(text)]
