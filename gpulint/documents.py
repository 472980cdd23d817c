"""Documents: the bytes of a YAML, JSON or TOML file as plain data, with the place of every value in the file.

Nothing is executed, constructed or expanded without bound: the input is a stranger's pull request. YAML is read as
Kubernetes reads it, from the events of libyaml, so that an alias keeps the place it is used at.
"""

from __future__ import annotations

import bisect
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ruamel.yaml.error import MarkedYAMLError, YAMLError

from gpulint.findings import Location

try:
    from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
except ImportError:  # a platform without the compiled parser: slower, same events
    CParser = None

Path = tuple[str | int, ...]

FILE_BYTES_MAX = 5_000_000
TOML_CHARACTERS_MAX = 1_000_000
DEPTH_MAX = 200
DOCUMENTS_MAX = 1_000
NODES_MAX = 500_000
EXPANDED_NODES_MAX = 1_000_000
PLACED_CHARACTERS_MAX = 262_144
SHOWN_CHARACTERS_MAX = 10_000
DUPLICATES_MAX = 100

_TRIGGERS = (
    *("gpu", "nvidia", "cuda", "habana.ai/", "gaudi", "neuron", "vllm", "sglang", "tensorrt", "trtllm", "deepspeed"),
    *("accelerator", "torchrun", "torchtune", "tensor_parallel", "tensor-parallel", "num_hidden_layers", "megatron"),
    *("amd.com/", "rocm", "huggingface", "nccl"),
)
_TRIGGER = re.compile("|".join(map(re.escape, _TRIGGERS)))
_MARKER = re.compile(r"^(?:\ufeff?(?=---(?:\s|\Z))|\.\.\.(?=\s|\Z))", re.MULTILINE)
_DIRECTIVES = re.compile(r"(?:[ \t]*(?:#.*)?\r?\n)*%(?:.*\n)(?:(?:%.*|[ \t]*(?:#.*)?)\r?\n)*\Z")
_CRD = re.compile(r"^kind: *[\"']?CustomResourceDefinition\b", re.MULTILINE)
_COLON_REFUSED = "found unexpected ':'"
"""What libyaml says of `{image: server:v1}`, which YAML 1.2 and Kubernetes' own reader allow."""
_COLON_INSIDE = re.compile(r"(?<![\"'\]}]):(?=[^\s,\[\]{}])")
_STAND_IN = "\ue000"
"""Stands for such a colon while libyaml reads the text again."""
_TEMPLATE = re.compile(r"\{\{|\{%|<%|@\w+@")
_PRAGMA_LINE = re.compile(r"^.*?gpulint:.*", re.MULTILINE)
_COMMENT_START = re.compile(r"(?<!\S)#")
_PROPERTIES = re.compile(r"(?:[&!]\S*\s*(?:#.*\s+)*){1,2}")


class Node:
    """One value of a document: its kind and style, its source span, and its text or its children."""

    __slots__ = ("end", "kind", "start", "style", "tag", "target", "value")

    def __init__(
        self,
        kind: str,
        start: int,
        end: int,
        value: Any,
        style: str = "",
        tag: str | None = None,
        target: Node | None = None,
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.value = value
        self.style = style
        self.tag = tag
        self.target = target

    def __repr__(self) -> str:
        return f"Node({self.kind!r}, {self.start}, {self.end})"


class Comment(NamedTuple):
    """A comment: the place of its `#`, and the text after it."""

    line: int
    column: int
    text: str


class Problem(NamedTuple):
    """Trouble in the user's file, with its place."""

    kind: str
    message: str
    location: Location
    related: tuple[tuple[str, Location], ...] = ()


class Document:
    """One document of a file: its data, and where each part of it stands."""

    __slots__ = ("_data", "_pieces", "format", "index", "path", "root", "text")

    def __init__(self, path: str, index: int, text: str, root: Node, format: str, data: object = ...) -> None:
        self.path = path
        self.index = index
        self.text = text
        self.root = root
        self.format = format
        self._data = data
        self._pieces: dict[int, _Pieces | None] = {}

    @property
    def data(self) -> object:
        """The document as plain dicts, lists, strings and numbers."""
        if self._data is ...:
            self._data = _Builder().build(self.root)
        return self._data

    def get(self, path: Path, default: object = None) -> object:
        """The data at a path."""
        value = self.data
        for part in path:
            value = _item(value, part)
            if value is ...:
                return default
        return value

    def node(self, path: Path) -> Node | None:
        """The value's node; at an alias, the place that uses it."""
        steps = self._steps(path)
        return steps[-1][1] if len(steps) == len(path) + 1 else None

    def key_node(self, path: Path) -> Node | None:
        """The key's node; None for an item of a list and for the document itself."""
        steps = self._steps(path)
        return steps[-1][0] if len(steps) == len(path) + 1 else None

    def locate(
        self, path: Path, *, key: bool = False, span: tuple[int, int] | None = None, whole: bool = False
    ) -> Location:
        """Where the value stands, or its key, or a span of its decoded characters.

        A mapping or list is shown by its key, a path that does not exist by its nearest ancestor.
        """
        steps = self._steps(path)
        key_node, node = steps[-1]
        if len(steps) <= len(path) or key or (node.kind != "scalar" and not whole):
            return self._location(*self._head(key_node, node))
        if span is not None and node.kind == "scalar":
            return self._location(*self._span(node, *span))
        return self._location(node.start, node.end)

    def offset(self, path: Path, index: int) -> int:
        """The source offset of one decoded character of the scalar at a path."""
        node = self.node(path)
        if node is None or node.kind != "scalar":
            return self._head(*self._steps(path)[-1])[0]
        return self._span(node, index, index)[0]

    def _steps(self, path: Path) -> list[tuple[Node | None, Node]]:
        """The (key, value) nodes from the root along a path, as far as it exists."""
        steps: list[tuple[Node | None, Node]] = [(None, self.root)]
        for part in path:
            step = _step(steps[-1][1], part)
            if step is None:
                break
            steps.append(step)
        return steps

    def _head(self, key: Node | None, node: Node) -> tuple[int, int]:
        """What stands for a value as a whole: its key, else its first line."""
        if key is not None:
            return key.start, key.end
        line_end = self.text.find("\n", node.start, node.end)
        end = node.end if line_end < 0 else line_end
        return node.start, node.start + len(self.text[node.start : end].rstrip())

    def _span(self, node: Node, start: int, end: int) -> tuple[int, int]:
        source = node.target or node
        if id(source) not in self._pieces:
            self._pieces[id(source)] = _pieces(self.text, source, self.format)
        pieces = self._pieces[id(source)]
        if pieces is None:
            return source.start, source.end
        return pieces.span(start, end)

    def _location(self, start: int, end: int) -> Location:
        return _location(self.path, self.text, start, end)


class Loaded(NamedTuple):
    """What one file holds: documents, trouble with its place, and the reasons why parts were not read."""

    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    skips: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()


def load(path: str, content: bytes) -> Loaded:
    """Read one file; whatever is wrong with it is a problem or a skip of the result."""
    if len(content) > FILE_BYTES_MAX:
        return Loaded(skips=(f"larger than {FILE_BYTES_MAX // 1_000_000} MB",))
    try:
        text = _decoded(content)
    except UnicodeDecodeError:
        return _undecodable(path, content)
    if "\0" in text:
        return Loaded(skips=("binary",))
    loading = _Loading(path, text)
    loading.read()
    return Loaded(
        documents=tuple(loading.documents),
        problems=tuple(loading.problems),
        skips=tuple(dict.fromkeys(loading.skips)),
        comments=comments(text, loading.documents) if "gpulint:" in text else (),
    )


def comments(text: str, documents: Sequence[Document] = ()) -> tuple[Comment, ...]:
    """The comments that hold `gpulint:`; a `#` inside a scalar of the documents starts none."""
    scalars = sorted(itertools.chain.from_iterable(_scalar_spans(text, document.root) for document in documents))
    found, line, counted = [], 1, 0
    for match in _PRAGMA_LINE.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        hashes = (counted + item.start() for item in _COMMENT_START.finditer(match[0]))
        offset = next((offset for offset in hashes if not _inside(scalars, offset)), None)
        if offset is not None and "gpulint:" in (body := text[offset + 1 : match.end()].strip()):
            found.append(Comment(line, offset - counted + 1, body))
    return tuple(found)


def concerns_gpus(text: str) -> bool:
    """Whether a word in it suggests that it has to do with GPUs."""
    return _TRIGGER.search(text.lower()) is not None


class _Limit(Exception):
    """A bound of ours was hit: what it is, and the offset it was hit at."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class _Template(Exception):
    """The text parses only because a placeholder looks like a flow mapping."""


class _Undefined(Exception):
    """An alias names no anchor, or one that is still open."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


class _Loading:
    """The file being read, and what was found in it so far."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.documents: list[Document] = []
        self.problems: list[Problem] = []
        self.skips: list[str] = []
        self.nodes = 0
        self.index = 0

    def read(self) -> None:
        if self.path.endswith(".toml"):
            self._whole(_toml, "toml")
        elif self.path.endswith(".json"):
            self._whole(_json, "json")
        else:
            self._yaml()

    def _yaml(self) -> None:
        chunks = list(itertools.islice(_chunks(self.text), DOCUMENTS_MAX + 1))
        for start, end in chunks[:DOCUMENTS_MAX]:
            self._chunk(start, end)
        if len(chunks) > DOCUMENTS_MAX:
            self._refuse(_Limit(f"more than {DOCUMENTS_MAX:,} documents in one file", chunks[-1][0]), self.text)

    def _chunk(self, start: int, end: int) -> None:
        chunk = self.text[start:end]
        index, self.index = self.index, self.index + 1
        if _CRD.search(chunk):
            self.skips.append("CustomResourceDefinition")
            return
        try:
            root, duplicates = self._composed(chunk, start)
        except _Template:
            self.skips.append("template")
        except _Limit as limit:
            self._refuse(limit, chunk)
        except (YAMLError, _Undefined) as error:
            self._broken(chunk, _yaml_problem(self.path, self.text, start, end, error))
        else:
            if root is None:
                self.index = index
            else:
                self.documents.append(Document(self.path, index, self.text, root, "yaml"))
                self._duplicates(duplicates, chunk)

    def _composed(self, chunk: str, start: int) -> tuple[Node | None, list[tuple[Node, Node]]]:
        """The root of a chunk, and its keys stated twice."""
        try:
            return self._read_events(chunk, start)
        except MarkedYAMLError as error:
            if error.problem != _COLON_REFUSED or _STAND_IN in chunk:
                raise
        return self._read_events(_COLON_INSIDE.sub(_STAND_IN, chunk), start)

    def _read_events(self, chunk: str, start: int) -> tuple[Node | None, list[tuple[Node, Node]]]:
        composer = _Composer(self.text, start, NODES_MAX - self.nodes)
        try:
            return composer.compose(chunk), composer.duplicates
        finally:
            self.nodes += composer.nodes

    def _whole(self, parse: Callable[[str, str], _Parsed], format: str) -> None:
        if not self.text.strip():
            return
        try:
            parsed = parse(self.path, self.text)
        except _Limit as limit:
            self._refuse(limit, self.text)
        except RecursionError:
            self._refuse(_too_deep(0), self.text)
        except _Invalid as error:
            location = _line_location(self.path, self.text, error.offset)
            self._broken(self.text, Problem("invalid-syntax", error.message, location))
        else:
            self.documents.append(Document(self.path, 0, self.text, parsed.root, format, parsed.data))
            self._duplicates(parsed.duplicates, self.text)

    def _broken(self, chunk: str, problem: Problem) -> None:
        if _TEMPLATE.search(chunk):
            self.skips.append("template")
        elif concerns_gpus(chunk):
            self.problems.append(problem)

    def _refuse(self, limit: _Limit, chunk: str) -> None:
        if not concerns_gpus(chunk):
            self.skips.append(limit.message)
            return
        message = f"gpulint does not read this: {limit.message}"
        location = _line_location(self.path, self.text, limit.offset)
        self.problems.append(Problem("input-limit", message, location))

    def _duplicates(self, duplicates: Iterable[tuple[Node, Node]], chunk: str) -> None:
        pairs = list(itertools.islice(duplicates, DUPLICATES_MAX))
        if not pairs or not concerns_gpus(chunk):
            return
        for first, second in pairs:
            message = f"`{second.value}` is stated twice in one mapping; only the last one counts"
            related = (("first stated here", _location(self.path, self.text, first.start, first.end)),)
            location = _location(self.path, self.text, second.start, second.end)
            self.problems.append(Problem("duplicate-key", message, location, related))


# ---- bytes and places


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")


def _undecodable(path: str, content: bytes) -> Loaded:
    text = content.decode("utf-8", "replace")
    if "\0" in text:
        return Loaded(skips=("binary",))
    if not concerns_gpus(text):
        return Loaded(skips=("not UTF-8 text",))
    location = _line_location(path, text, text.find("\ufffd"))
    message = "this is not UTF-8 text; save the file as UTF-8"
    return Loaded(problems=(Problem("invalid-syntax", message, location),), skips=("not UTF-8 text",))


def _location(path: str, text: str, start: int, end: int) -> Location:
    line_start = text.rfind("\n", 0, start) + 1
    last_line_start = text.rfind("\n", 0, end) + 1 if end > start else line_start
    line_end = text.find("\n", end)
    stop = len(text) if line_end < 0 else line_end
    line = text.count("\n", 0, start) + 1
    shown = (
        text[line_start:stop].replace("\r\n", "\n").rstrip("\r") if stop - line_start <= SHOWN_CHARACTERS_MAX else ""
    )
    end_line = line + text.count("\n", start, end)
    return Location(path, line, start - line_start + 1, end_line, end - last_line_start + 1, shown)


def _line_location(path: str, text: str, offset: int) -> Location:
    """From an offset to the end of its line; at the end of the text, the last line that holds anything."""
    start = min(offset, len(text))
    if not text[start:].strip():
        start = text.rfind("\n", 0, len(text[:start].rstrip())) + 1
    line_end = text.find("\n", start)
    end = start + len(text[start : len(text) if line_end < 0 else line_end].rstrip())
    start += len(text[start:end]) - len(text[start:end].lstrip(" "))
    return _location(path, text, start, end)


def _scalar_spans(text: str, root: Node) -> Iterator[tuple[int, int]]:
    """The spans of scalars that may hold a `#` which starts no comment; one beside a block's indicator does."""
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        if node.target is not None:
            continue
        if node.kind == "scalar":
            header_end = text.find("\n", node.start, node.end) if node.style in ("|", ">") else -1
            yield max(node.start, header_end), node.end
        elif node.kind == "mapping":
            open_nodes.extend(itertools.chain.from_iterable(node.value))
        else:
            open_nodes.extend(node.value)


def _inside(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """Whether one of the sorted, disjoint spans holds the offset."""
    at = bisect.bisect_right(spans, offset, key=lambda span: span[0])
    return at > 0 and offset < spans[at - 1][1]


# ---- YAML


def _chunks(text: str) -> Iterator[tuple[int, int]]:
    """The spans between document markers; directives stay with the document they precede."""
    start = 0
    for match in _MARKER.finditer(text):
        if match.end() == start or _DIRECTIVES.match(text, start, match.end()):
            continue
        yield start, match.end()
        start = match.end()
    if start < len(text):
        yield start, len(text)


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
        self.duplicates: list[tuple[Node, Node]] = []
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
            raise _too_deep(start)
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
            raise _Undefined(
                f"the anchor `&{name}` contains itself; an alias cannot name a value it is part of", start, end
            )
        if name not in self.anchors:
            message = f"no anchor `&{name}` stands before this alias; quote the value if the `*` belongs to it"
            raise _Undefined(message, start, end)
        target, size = self.anchors[name]
        self._add(Node(target.kind, start, end, target.value, target.style, target.tag, target.target or target), size)

    def _add(self, node: Node, size: int) -> None:
        self.nodes += 1
        if self.nodes > self.nodes_max:
            raise _Limit(f"more than {NODES_MAX:,} values in one file", node.start)
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.children.append(node)
        parent.size += size
        if parent.size > EXPANDED_NODES_MAX:
            raise _Limit(f"its aliases expand to more than {EXPANDED_NODES_MAX:,} values", node.start)

    def _pairs(self, children: list[Node]) -> list[tuple[Node, Node]]:
        keys = children[::2]
        names = {key.value for key in keys if key.kind == "scalar"}
        if len(names) < len(keys):
            keys = [key if key.kind == "scalar" else self._complex_key(key) for key in keys]
            self.duplicates.extend(_duplicates(key for key in keys if not _merges(key)))
        return list(zip(keys, children[1::2], strict=True))

    def _complex_key(self, key: Node) -> Node:
        """A mapping or list used as a key, as the text it is written with; `{{ x }}` is a template's."""
        if self.text[key.start - 1 : key.start + 1] == "{{":
            raise _Template
        return Node("scalar", key.start, key.end, self.text[key.start : key.end], '"')

    def _content_start(self, start: int, end: int) -> int:
        """Behind the anchor and the tag."""
        match = _PROPERTIES.match(self.text, start, end)
        return match.end() if match else start


def _duplicates(keys: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    first: dict[str, Node] = {}
    for key in keys:
        if key.value in first:
            yield first[key.value], key
        first.setdefault(key.value, key)


def _too_deep(offset: int) -> _Limit:
    return _Limit(f"nested deeper than {DEPTH_MAX} levels", offset)


# ---- what a YAML parser objects to, in plain words

_TAB = "a tab indents this line; YAML allows only spaces there"
_INDENTED = "the indentation of this line does not fit the lines above it"
_PLAIN_WORDS = {
    "did not find expected key": f"{_INDENTED}, or a quote, bracket or colon is missing just before",
    "did not find expected '-' indicator": f"{_INDENTED}: a list item (`-`) is expected here",
    "could not find expected ':'": "this line is neither `key: value` nor part of the value above it",
    "found unexpected end of stream": "this quote is never closed",
    "found unexpected document indicator": "this quote is never closed before the document ends",
    "did not find expected ',' or '}'": "a `{` before this is not closed; a `,` or `}` is missing",
    "did not find expected ',' or ']'": "a `[` before this is not closed; a `,` or `]` is missing",
    "block sequence entries are not allowed in this context": "a list item (`-`) cannot start here; put it on its own line",
    "did not find expected <document start>": "text follows the end of the document; only one value may stand at the top",
    "found unknown escape character": "this backslash escape means nothing in \"…\"; use '…' or write two backslashes",
    "found undefined tag handle": "this tag (`!…!`) is not declared; quote the value if the `!` belongs to it",
    "did not find expected node content": "a value is expected here, and this character cannot start one; quote it",
}
_AT_CONTEXT = ("could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator")
_FLOW_THEN_TEXT = re.compile(r"(?:(?<=[:\-,]\s)|^)\s*(?P<value>[\[{][^\[\]{}\n]*[\]}][^\s,#\]}:].*)")


def _yaml_problem(path: str, text: str, start: int, end: int, error: Exception) -> Problem:
    if isinstance(error, _Undefined):
        return Problem("invalid-syntax", error.message, _location(path, text, error.start, error.end))
    offset = min(start + _error_index(text[start:end], error), end)
    line_start = text.rfind("\n", 0, offset) + 1
    line = text[line_start : text.find("\n", offset) if "\n" in text[offset:] else len(text)].rstrip()
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation or text[offset : offset + 1] == "\t":
        tab = line_start + indentation.index("\t") if "\t" in indentation else offset
        return Problem("invalid-syntax", _TAB, _line_location(path, text, tab))
    for match in _FLOW_THEN_TEXT.finditer(line):
        if match.start("value") < offset - line_start < match.end("value"):
            span = line_start + match.start("value"), line_start + match.end("value")
            return Problem("invalid-syntax", _flow_message(text[span[0]]), _location(path, text, *span))
    return Problem("invalid-syntax", _plain_words(error, line, offset - line_start), _line_location(path, text, offset))


def _flow_message(opening: str) -> str:
    kind = "mapping" if opening == "{" else "list"
    return f"`{opening}` starts a flow {kind}, and text follows its end; put the whole value in quotes"


def _error_index(chunk: str, error: Exception) -> int:
    """The character at which the parser gave up, or the opening that it could not match."""
    if not isinstance(error, MarkedYAMLError):
        position = getattr(error, "position", 0)
        return len(chunk.encode()[:position].decode("utf-8", "ignore"))
    mark = error.context_mark if error.problem in _AT_CONTEXT else error.problem_mark
    index: int = mark.index if mark is not None else 0
    return index


def _plain_words(error: Exception, line: str, column: int) -> str:
    problem = str(getattr(error, "problem", "") or "")
    at = line[column : column + 1]
    if problem.startswith("mapping values are not allowed"):
        inner = ": " in line[:column]
        return "a second `: ` on one line; put the value in quotes if the colon belongs to it" if inner else _INDENTED
    if problem == "found character that cannot start any token":
        return f"`{at}` cannot start a value; put the value in quotes"
    if "alphabetic or numeric" in problem:
        return "`*` and `&` start an alias or an anchor, which needs a name; put the value in quotes"
    if not isinstance(error, MarkedYAMLError):
        return f"a control character (code {getattr(error, 'character', 0)}) is not allowed in YAML"
    return _PLAIN_WORDS.get(problem, f"not valid YAML: {problem}")


# ---- YAML values as Kubernetes reads them (go-yaml 2, as forked in sigs.k8s.io/yaml: goyaml.v2/resolve.go)

_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NUMBER_STARTS = frozenset("+-.0123456789")
_NUMBER_CHARACTERS_MAX = 400
_STANDARD_TAG = "tag:yaml.org,2002:"
_RESOLVED_TAGS = {_STANDARD_TAG + name for name in ("int", "float", "bool", "null")}


class _Builder:
    """Turns nodes into plain data; what several aliases share is built once."""

    def __init__(self) -> None:
        self.shared: dict[int, object] = {}

    def build(self, node: Node) -> object:
        if node.kind == "scalar":
            return _scalar_value(node)
        source = node.target or node
        if id(source) not in self.shared:
            self.shared[id(source)] = self._collection(source)
        return self.shared[id(source)]

    def _collection(self, node: Node) -> object:
        if node.kind == "sequence":
            return [self.build(item) for item in node.value]
        pairs = node.value
        merged = [value for key, value in pairs if _merges(key)]
        if not merged:
            return {_key_text(key): self.build(value) for key, value in pairs}
        result = {_key_text(key): self.build(value) for key, value in pairs if not _merges(key)}
        for source in _merge_sources(merged):
            found: Any = self.build(source)
            for name, value in found.items():
                result.setdefault(name, value)
        return result


def _scalar_value(node: Node) -> object:
    text = node.value
    if node.tag is not None and node.tag in _RESOLVED_TAGS:
        return _resolved(text)
    return text if node.style or node.tag is not None else _resolved(text)


def _resolved(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    return _number(text) if text[0] in _NUMBER_STARTS else text


def _number(text: str) -> object:
    """The number a plain scalar means; text that is none stays text. Not-a-number stays text too."""
    if len(text) > _NUMBER_CHARACTERS_MAX:
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    if match := _INTEGER.fullmatch(plain):
        sign, hexadecimal, binary, octal, decimal = match.groups()
        value = int(
            hexadecimal or binary or octal or decimal, 16 if hexadecimal else 2 if binary else 8 if octal else 10
        )
        return -value if sign == "-" else value
    return float(plain) if _FLOAT.fullmatch(plain) else text


def _key_text(key: Node) -> str:
    """The key as JSON would have it: whole numbers in decimal, all else as written."""
    text: str = key.value
    if key.style or key.tag is not None or not text or text[0] not in _NUMBER_STARTS:
        return text
    value = _number(text)
    return str(value) if isinstance(value, int) else text


def _merges(key: Node) -> bool:
    return bool(key.value == "<<" and key.kind == "scalar" and not key.style and key.tag is None)


def _merge_sources(values: Iterable[Node]) -> Iterator[Node]:
    for value in values:
        candidates = value.value if value.kind == "sequence" else [value]
        yield from (candidate for candidate in candidates if candidate.kind == "mapping")


def _item(value: object, part: str | int) -> object:
    """The data below a value; `...` where there is none."""
    if isinstance(value, dict):
        return value.get(part, ...)
    return value[part] if isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value) else ...


def _step(node: Node, part: str | int) -> tuple[Node | None, Node] | None:
    """The (key, value) below a node."""
    if node.kind == "sequence":
        return (None, node.value[part]) if isinstance(part, int) and 0 <= part < len(node.value) else None
    return _entry(node, part) if node.kind == "mapping" and isinstance(part, str) else None


def _entry(mapping: Node, name: str) -> tuple[Node, Node] | None:
    """The entry of that name that counts: the last explicit one, else the first merged one."""
    for key, value in reversed(mapping.value):
        if _key_text(key) == name and not _merges(key):
            return key, value
    for source in _merge_sources(value for key, value in mapping.value if _merges(key)):
        if found := _entry(source, name):
            return found
    return None


# ---- JSON


class _Invalid(Exception):
    """JSON or TOML that does not parse: what is wrong, and at which offset."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class _Parsed(NamedTuple):
    root: Node
    data: object
    duplicates: list[tuple[Node, Node]]


_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|[^\[\]{},:"\s]+', re.DOTALL)
_JSON_MASKED = re.compile(
    r'(?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<comma>,)(?=\s*[\]}])',
    re.DOTALL,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def _json(path: str, text: str) -> _Parsed:
    source = text
    try:
        data = _json_data(source)
    except _Invalid as error:
        source = _without_comments(path, text)
        if source == text:
            raise
        try:
            data = _json_data(source)
        except _Invalid:
            raise error from None
    composer = _JsonComposer(source)
    return _Parsed(composer.compose(), data, composer.duplicates)


def _json_data(text: str) -> object:
    try:
        data = json.loads(text, strict=False, parse_constant=_json_constant)
    except json.JSONDecodeError as error:
        raise _Invalid(_json_message(text, error), error.pos) from None
    except ValueError:
        raise _Limit("a number has more than 4,300 digits", 0) from None
    return _clean(data) if _SURROGATE_ESCAPE.search(text) else data


def _json_constant(name: str) -> object:
    return name if name == "NaN" else float(name)


def _json_message(text: str, error: json.JSONDecodeError) -> str:
    before = text[: error.pos].rstrip()
    if before.endswith(",") and text[error.pos : error.pos + 1] in ("}", "]"):
        return "not valid JSON: the comma before this has nothing after it"
    if text[error.pos : error.pos + 1] == "'":
        return 'not valid JSON: it quotes with "…" only'
    return f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"


def _without_comments(path: str, text: str) -> str:
    """The text with comments and trailing commas blanked, where comments or the folder say that its readers allow it."""
    hidden = any(part.startswith(".") and part.strip(".") for part in path.split("/"))
    masked = _JSON_MASKED.sub(lambda match: match[0] if match["string"] or match["comma"] else _blank(match[0]), text)
    if masked == text and not hidden:
        return text
    return _JSON_MASKED.sub(lambda match: match[0] if match["string"] else _blank(match[0]), masked)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _clean(value: object) -> object:
    """The same data with lone surrogates, which no encoding can print, as U+FFFD."""
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_printable(key): _clean(item) for key, item in value.items()}
    return value


def _printable(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)


class _JsonComposer:
    """Builds the nodes of JSON that `json` has found valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes = 0
        self.stack: list[tuple[Node, list[Node]]] = []
        self.duplicates: list[tuple[Node, Node]] = []

    def compose(self) -> Node:
        top: list[Node] = []
        self.stack.append((Node("sequence", 0, 0, top), top))
        for match in _JSON_TOKEN.finditer(self.text):
            self._token(match[0], match.start(), match.end())
        return top[0]

    def _token(self, token: str, start: int, end: int) -> None:
        if token in ",:":
            return
        if token in "{[":
            self._open("mapping" if token == "{" else "sequence", start)
        elif token in "}]":
            self._close(end)
        else:
            style, value = ('"', _json_string(token)) if token[0] == '"' else ("", token)
            self._add(Node("scalar", start, end, value, style))

    def _open(self, kind: str, start: int) -> None:
        if len(self.stack) > DEPTH_MAX:
            raise _too_deep(start)
        self.stack.append((Node(kind, start, start, None), []))

    def _close(self, end: int) -> None:
        node, children = self.stack.pop()
        node.end = end
        node.value = children
        if node.kind == "mapping":
            node.value = list(zip(children[::2], children[1::2], strict=True))
            if len({key.value for key in children[::2]}) * 2 < len(children):
                self.duplicates.extend(_duplicates(children[::2]))
        self._add(node)

    def _add(self, node: Node) -> None:
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise _Limit(f"more than {NODES_MAX:,} values in one file", node.start)
        self.stack[-1][1].append(node)


def _json_string(token: str) -> str:
    return _printable(json.loads(token, strict=False)) if "\\" in token else token[1:-1]


# ---- TOML

_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TOML_DEEP_KEY = re.compile(rf"^(?:[^=.\n]*\.){{{DEPTH_MAX}}}", re.MULTILINE)


def _toml(path: str, text: str) -> _Parsed:
    import tomllib

    if len(text) > TOML_CHARACTERS_MAX:
        raise _Limit(f"TOML of more than {TOML_CHARACTERS_MAX:,} characters", 0)
    if deep := _TOML_DEEP_KEY.search(text):
        raise _too_deep(deep.start())
    try:
        data = _plain_toml(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _Invalid(
            f"not valid TOML: {_TOML_PLACE.sub('', str(error)).lower()}", _toml_offset(text, str(error))
        ) from None
    return _Parsed(_TomlComposer(text).compose(data), data, [])


def _toml_offset(text: str, message: str) -> int:
    match = _TOML_PLACE.search(message)
    if match is None or match[1] is None:
        return len(text)
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: int(match[1]) - 1]) + int(match[2]) - 1


def _plain_toml(value: object) -> object:
    """The data with dates and times as the text they are written with."""
    if isinstance(value, dict):
        return {key: _plain_toml(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_toml(item) for item in value]
    return value if isinstance(value, (str, int, float)) else str(value)


class _TomlComposer:
    """Builds the nodes of TOML that `tomllib` has found valid; places come from tree-sitter."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets = None if text.isascii() else _character_offsets(text)
        self.entries: dict[tuple[int, str], Node] = {}
        self.root = Node("mapping", 0, len(text.rstrip()), [])

    def compose(self, data: object) -> Node:
        import tree_sitter
        import tree_sitter_toml

        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))
        tree = parser.parse(self.text.encode())
        if tree.root_node.has_error:
            return _placeless(data)
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
        table.end = max(table.end, self._trimmed_end(child))
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
        return Node("scalar", start, end, _toml_string(raw) if quoted else raw, raw[0] if quoted else "'")

    def _descend(self, table: Node, key: Node, within: Any) -> Node:
        """The table of that key, made if it is new; of an array of tables, the last one."""
        found = self.entries.get((id(table), key.value))
        if found is None:
            return self._enter(table, key, Node("mapping", self._span(within)[0], self._trimmed_end(within), []))
        return found.value[-1] if found.kind == "sequence" and found.value else found

    def _element(self, table: Node, key: Node, child: Any) -> Node:
        start, end = self._span(child)[0], self._trimmed_end(child)
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
            raise _too_deep(start)
        if part.type == "array":
            items = [self._value(item, depth + 1) for item in part.named_children if item.type != "comment"]
            return Node("sequence", start, end, items)
        if part.type == "inline_table":
            table = Node("mapping", start, end, [])
            for pair in part.named_children:
                self._pair(table, pair, depth + 1)
            return table
        raw = self.text[start:end]
        return Node("scalar", start, end, *((_toml_string(raw), raw[0]) if part.type == "string" else (raw, "")))

    def _span(self, part: Any) -> tuple[int, int]:
        if self.offsets is None:
            return part.start_byte, part.end_byte
        return self.offsets[part.start_byte], self.offsets[part.end_byte]

    def _trimmed_end(self, part: Any) -> int:
        start, end = self._span(part)
        return start + len(self.text[start:end].rstrip())


def _toml_string(raw: str) -> str:
    import tomllib

    return str(tomllib.loads(f"v = {raw}")["v"])


def _character_offsets(text: str) -> list[int]:
    """Byte offset in UTF-8 → character offset."""
    offsets = [index for index, character in enumerate(text) for _ in character.encode()]
    return [*offsets, len(text)]


def _placeless(data: object) -> Node:
    """Nodes for data whose places are not known."""
    if isinstance(data, dict):
        return Node(
            "mapping", 0, 0, [(Node("scalar", 0, 0, key, '"'), _placeless(value)) for key, value in data.items()]
        )
    if isinstance(data, list):
        return Node("sequence", 0, 0, [_placeless(item) for item in data])
    return Node(
        "scalar", 0, 0, data if isinstance(data, str) else json.dumps(data), '"' if isinstance(data, str) else ""
    )


# ---- from decoded characters back to the source


class _Pieces:
    """Where each decoded character of a scalar starts and ends in the source."""

    __slots__ = ("ends", "starts")

    def __init__(self, starts: Sequence[int], ends: Sequence[int]) -> None:
        self.starts = starts
        self.ends = ends

    def span(self, start: int, end: int) -> tuple[int, int]:
        count = len(self.starts)
        first = min(max(start, 0), count)
        offset = self.starts[first] if first < count else self.ends[-1]
        return (offset, self.ends[min(end, count) - 1]) if end > first and count > first else (offset, offset)


_Piece = tuple[str, int, int]
_BREAK = re.compile(r"\r\n?|\n")
_FOLD = r"(?P<fold>[ \t]*(?:\r\n?|\n)[ \t\r\n]*)"
_HEX_ESCAPES = r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"
_PAIR_ESCAPE = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_DOUBLE = re.compile(
    rf"{_FOLD}|(?P<joined>\\(?:\r\n?|\n)[ \t\r\n]*)|(?P<escape>\\(?:{_HEX_ESCAPES}|.))|(?P<text>[ \t]+|[^ \t\r\n\\]+)"
)
_JSON_STRING = re.compile(rf"(?P<escape>\\(?:{_PAIR_ESCAPE}|{_HEX_ESCAPES}|.))|(?P<text>[^\\]+)", re.DOTALL)
_TOML_STRING = re.compile(
    rf"(?P<skipped>\\[ \t]*(?:\r\n|\n)\s*)|(?P<escape>\\(?:{_HEX_ESCAPES}|.))|(?P<fold>\r?\n)|(?P<text>[^\\\r\n]+)"
)
_TOML_LITERAL = re.compile(r"(?P<fold>\r?\n)|(?P<text>[^\r\n]+)")
_SINGLE = re.compile(rf"{_FOLD}|(?P<escape>'')|(?P<text>[ \t]+|[^ \t\r\n']+)")
_PLAIN = re.compile(rf"{_FOLD}|(?P<text>[ \t]+|[^ \t\r\n]+)")
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPES |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029", "\t": "\t"}
_FIRST_TEXT = re.compile(r"^( *)[^ \r\n]", re.MULTILINE)


def _pieces(text: str, node: Node, format: str) -> _Pieces | None:
    """The places of the decoded characters; None where they cannot be told, which is checked."""
    value: str = node.value
    if not value or len(value) > PLACED_CHARACTERS_MAX or node.end == node.start:
        return None
    found = list(itertools.islice(_source(text, node, format), len(value)))
    if "".join(piece[0] for piece in found) != value:
        return None
    return _Pieces([piece[1] for piece in found], [piece[2] for piece in found])


def _source(text: str, node: Node, format: str) -> Iterator[_Piece]:
    if node.style in ("|", ">"):
        return _block(text, node)
    if format == "toml" and node.style:
        return _toml_pieces(text, node)
    if format == "json" and node.style:
        return _flow(text, node.start + 1, node.end - 1, _JSON_STRING)
    if node.style:
        return _flow(text, node.start + 1, node.end - 1, _DOUBLE if node.style == '"' else _SINGLE)
    return _flow(text, node.start, node.end, _PLAIN)


def _toml_pieces(text: str, node: Node) -> Iterator[_Piece]:
    start, end = node.start + 1, node.end - 1
    if text.startswith(node.style * 3, node.start) and end - start > 3:
        start, end = start + 2, end - 2
        start += len("\r\n") if text.startswith("\r\n", start) else text.startswith("\n", start)
    return _flow(text, start, end, _TOML_STRING if node.style == '"' else _TOML_LITERAL, folds=False)


def _flow(text: str, start: int, end: int, pattern: re.Pattern[str], folds: bool = True) -> Iterator[_Piece]:
    for match in pattern.finditer(text, start, end):
        group, at = match.lastgroup, match.start()
        if group == "text":
            yield from ((character, at + index, at + index + 1) for index, character in enumerate(match[0]))
        elif group == "escape":
            yield _unescaped(match[0]), at, match.end()
        elif group in ("fold", "joined"):
            yield from _breaks(text, match, skip=1 if group == "joined" or folds else 0, joined=group == "joined")


def _breaks(text: str, match: re.Match[str], skip: int, joined: bool) -> Iterator[_Piece]:
    """The characters that a run of line breaks stands for: one break a space, each further one a newline."""
    found = [(item.start(), item.end()) for item in _BREAK.finditer(text, match.start(), match.end())]
    if skip and len(found) == 1 and not joined:
        yield " ", *found[0]
    yield from (("\n", start, end) for start, end in found[skip:])


def _unescaped(escape: str) -> str:
    body = escape[1:]
    if escape == "''":
        return "'"
    if "\\u" in body:
        return str(json.loads(f'"{escape}"'))
    if len(body) > 1:
        code = int(body[1:], 16)
        return "\ufffd" if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF else chr(code)
    return _ESCAPES.get(body, body)


def _block(text: str, node: Node) -> Iterator[_Piece]:
    """The characters of a `|` or `>` scalar, line by line as libyaml reads them."""
    folded, indent = node.style == ">", _block_indent(text, node)
    pending: tuple[int, int] | None = None
    empty: list[tuple[int, int]] = []
    indented = False
    for start, end, after in _lines(text, text.find("\n", node.start) + 1):
        if text[start : min(start + indent, end)].strip(" "):
            break
        if end - start <= indent:
            empty.append((end, after))
            continue
        deeper = text[start + indent] in " \t"
        if pending and not (folded and not indented and not deeper):
            yield "\n", *pending
        elif pending and not empty:
            yield " ", *pending
        yield from (("\n", *line_break) for line_break in empty)
        yield from ((text[at], at, at + 1) for at in range(start + indent, end))
        pending, indented, empty = (end, after), deeper, []
    if pending:
        yield "\n", *pending
    yield from (("\n", *line_break) for line_break in empty)


def _block_indent(text: str, node: Node) -> int:
    """The columns that the block's indentation takes: what the source has more than the value."""
    written = _FIRST_TEXT.search(text, text.find("\n", node.start) + 1)
    decoded = _FIRST_TEXT.search(node.value)
    return len(written[1]) - len(decoded[1]) if written and decoded else 0


def _lines(text: str, start: int) -> Iterator[tuple[int, int, int]]:
    """(start, end without its break, end with it) of each line from an offset on."""
    while 0 < start < len(text):
        line_end = text.find("\n", start)
        after = len(text) if line_end < 0 else line_end + 1
        end = after if line_end < 0 else line_end
        yield start, end - (text[start:end].endswith("\r")), after
        start = after
