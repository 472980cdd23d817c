"""YAML: the documents of a text and their nodes, from the events of libyaml.

It is read from events so that an alias keeps the place it is used at, and nothing is expanded without bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ruamel.yaml.error import MarkedYAMLError, YAMLError

from gpulint.source.documents.nodes import (
    DEPTH_MAX,
    NODES_MAX,
    TEMPLATE,
    Duplicate,
    InvalidSyntaxError,
    LimitError,
    Node,
    Parsed,
    Skipped,
    SkippedDocumentError,
    find_duplicates,
    make_depth_error,
)
from gpulint.source.documents.values import is_merge

try:
    from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
except ImportError:  # a platform without the compiled parser: slower, same events
    CParser = None

EXPANDED_NODES_MAX = 1_000_000

# Patterns are compiled by the first text that needs them.
_MARKER = r"^(?:\ufeff?(?=---(?:\s|\Z))|\.\.\.(?=\s|\Z))"
_CRD = r"^kind: *CustomResourceDefinition *\r?$"
_OTHER_KIND = r"^(?:kind\b(?!: *CustomResourceDefinition *\r?$)|[\"'?{<!&*]| *<<)"
"""A line at the left margin that may state another kind, of which the last one counts."""
_COLON_REFUSED = "found unexpected ':'"
"""The libyaml error for `{image: server:v1}`, which YAML 1.2 and the Kubernetes parser allow."""
_COLON_INSIDE = r"(?<![\"'\]}]):(?=[^\s,\[\]{}])"
_STAND_IN = "\ue000"
"""Replaces such a colon while libyaml parses the text again."""
_PROPERTIES = r"(?:[&!]\S*\s*(?:#.*\s+)*){1,2}"


def split_documents(text: str) -> Iterator[tuple[int, int]]:
    """The spans between document markers; directives stay with the document they precede."""
    start = 0
    for match in re.finditer(_MARKER, text, re.MULTILINE):
        if match.end() == start or _is_directives(text[start : match.end()]):
            continue
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def _is_directives(chunk: str) -> bool:
    """Whether a text holds directives, and nothing else but comments and blank lines."""
    if "%" not in chunk or not chunk.endswith("\n"):
        return False
    lines = [line for line in chunk.split("\n") if line.strip(" \t\r") and not line.lstrip(" \t").startswith("#")]
    return bool(lines) and all(line.startswith("%") for line in lines)


class Reader:
    """Reads the documents of one text, which share the bound on values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes = 0

    def read(self, chunk: str, base: int) -> Parsed | None:
        """The document of the chunk that starts at an offset; None where it holds none."""
        if "CustomResourceDefinition" in chunk and _is_definition(chunk):
            raise SkippedDocumentError(Skipped("CustomResourceDefinition", "definition"))
        try:
            return self._compose_events(chunk, base)
        except YAMLError as error:
            from gpulint.source.documents import objections

            raise objections.explain(self.text, chunk, base, error) from None

    def _compose_events(self, chunk: str, base: int) -> Parsed | None:
        try:
            return self._read_events(chunk, base)
        except MarkedYAMLError as error:
            if error.problem != _COLON_REFUSED or _STAND_IN in chunk:
                raise
        return self._read_events(re.sub(_COLON_INSIDE, _STAND_IN, chunk), base)

    def _read_events(self, chunk: str, base: int) -> Parsed | None:
        composer = _Composer(self.text, base, NODES_MAX - self.nodes)
        try:
            root = composer.compose(chunk)
        finally:
            self.nodes += composer.nodes
        return None if root is None else Parsed(root, ..., composer.duplicates)


def _is_definition(chunk: str) -> bool:
    """Whether a text can only be a CustomResourceDefinition; these are large and hold no workload."""
    return bool(re.search(_CRD, chunk, re.MULTILINE)) and not re.search(_OTHER_KIND, chunk, re.MULTILINE)


def _events(chunk: str) -> Callable[[], Any]:
    if CParser is not None:
        get_event: Callable[[], Any] = CParser(chunk).get_event
        return get_event
    from ruamel.yaml import YAML

    events = iter(YAML(typ="safe", pure=True).parse(chunk))
    return lambda: next(events, None)


class _Open:
    """A collection that is being read."""

    __slots__ = ("anchor", "children", "flow", "node", "size")

    def __init__(self, node: Node, flow: bool, anchor: str | None) -> None:
        self.node = node
        self.flow = flow
        self.anchor = anchor
        self.children: list[Node] = []
        self.size = 1


class _Composer:
    """Builds the nodes of one YAML document from parser events."""

    def __init__(self, text: str, base: int, nodes_max: int) -> None:
        self.text = text
        self.base = base
        self.nodes = 0
        self.nodes_max = nodes_max
        self.duplicates: list[Duplicate] = []
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.stack: list[_Open] = []
        self.root: Node | None = None
        self.masked = False

    def compose(self, chunk: str) -> Node | None:
        """The root node; None where the chunk holds no document."""
        self.masked = _STAND_IN in chunk and _STAND_IN not in self.text
        get_event = _events(chunk)
        handlers = self._handlers()
        while (event := get_event()) is not None:
            handler = handlers.get(type(event).__name__)
            if handler is not None:
                handler(event)
        return self.root

    def _handlers(self) -> dict[str, Callable[[Any], None]]:
        return {
            "ScalarEvent": self._scalar,
            "AliasEvent": self._alias,
            "MappingStartEvent": self._mapping,
            "SequenceStartEvent": self._sequence,
            "MappingEndEvent": self._end,
            "SequenceEndEvent": self._end,
        }

    def _scalar(self, event: Any) -> None:
        start, end, style = self.base + event.start_mark.index, self.base + event.end_mark.index, event.style or ""
        if event.anchor or event.tag:
            start = self._content_start(start, end)
        if style in ("|", ">"):
            end = start + len(self.text[start:end].rstrip())
        elif start == end and not self.stack and not event.tag:
            return
        value = event.value.replace(_STAND_IN, ":") if self.masked else event.value
        node = Node("scalar", start, end, value, style, event.tag)
        self._add(node, 1)
        if event.anchor:
            self.anchors[event.anchor] = (node, 1)

    def _mapping(self, event: Any) -> None:
        self._start("mapping", event)

    def _sequence(self, event: Any) -> None:
        self._start("sequence", event)

    def _start(self, kind: str, event: Any) -> None:
        start = self.base + event.start_mark.index
        if event.anchor or event.tag:
            start = self._content_start(start, len(self.text))
        if len(self.stack) >= DEPTH_MAX:
            raise make_depth_error(start)
        self.stack.append(_Open(Node(kind, start, start, None, "", event.tag), bool(event.flow_style), event.anchor))

    def _end(self, event: Any) -> None:
        closed = self.stack.pop()
        node, children = closed.node, closed.children
        node.end = self.base + event.end_mark.index if closed.flow or not children else children[-1].end
        node.value = self._pairs(children) if node.kind == "mapping" else children
        self._add(node, closed.size)
        if closed.anchor:
            self.anchors[closed.anchor] = (node, closed.size)

    def _alias(self, event: Any) -> None:
        start, end = self.base + event.start_mark.index, self.base + event.end_mark.index
        name = event.anchor
        if any(name == parent.anchor for parent in self.stack):
            raise InvalidSyntaxError(
                f"the anchor `&{name}` contains itself; an alias cannot name a value it is part of", start, end
            )
        if name not in self.anchors:
            message = f"no anchor `&{name}` stands before this alias; quote the value if the `*` belongs to it"
            raise InvalidSyntaxError(message, start, end)
        target, size = self.anchors[name]
        self._add(Node(target.kind, start, end, target.value, target.style, target.tag, target.target or target), size)

    def _add(self, node: Node, size: int) -> None:
        self.nodes += 1
        if self.nodes > self.nodes_max:
            raise LimitError(f"more than {NODES_MAX:,} values in one file", node.start)
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.children.append(node)
        parent.size += size
        if parent.size > EXPANDED_NODES_MAX:
            raise LimitError(f"its aliases expand to more than {EXPANDED_NODES_MAX:,} values", node.start)

    def _pairs(self, children: list[Node]) -> list[tuple[Node, Node]]:
        keys, values = children[::2], children[1::2]
        names = {key.value for key in keys if key.kind == "scalar"}
        if len(names) < len(keys):
            keys = [key if key.kind == "scalar" else self._complex_key(key) for key in keys]
            stated = (pair for pair in zip(keys, values, strict=True) if not is_merge(pair[0]))
            self.duplicates.extend(find_duplicates(stated, self.text))
        return list(zip(keys, values, strict=True))

    def _complex_key(self, key: Node) -> Node:
        """A mapping or list used as a key, as the text it is written with; `{{ x }}` is a template's."""
        if self.text[key.start - 1 : key.start + 1] == "{{":
            raise SkippedDocumentError(TEMPLATE)
        return Node("scalar", key.start, key.end, self.text[key.start : key.end], '"')

    def _content_start(self, start: int, end: int) -> int:
        """Behind the anchor and the tag."""
        match = re.compile(_PROPERTIES).match(self.text, start, end)
        return match.end() if match else start
