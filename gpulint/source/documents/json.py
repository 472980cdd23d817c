"""JSON: the data and the nodes of a text, with comments and trailing commas where its readers allow them."""

from __future__ import annotations

import json
import re

from gpulint.source.documents import values
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

_TOKEN = r'(?s)"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},:]|[^\[\]{},:"\s]+'
_MASKED = (
    r'(?s)(?P<string>"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<comma>,)(?=\s*[\]}])'
)
_UNQUOTED_VARIABLE = r"[:\[,]\s*\$\{?\w+"
_SURROGATE = "[\ud800-\udfff]"
_SURROGATE_ESCAPE = r"\\u[dD][89a-fA-F]"


def read(path: str, text: str) -> Parsed | None:
    """Return the document of a text; None if it is empty."""
    if not text.strip():
        return None
    source = text
    try:
        data = _parse(source)
    except InvalidSyntaxError as error:
        if _is_json_lines(text):
            raise SkippedDocumentError(Skipped("JSON lines", "kind")) from None
        source = _blank_comments(path, text)
        try:
            data = _parse(source)
        except InvalidSyntaxError:
            if re.search(_UNQUOTED_VARIABLE, text):
                raise SkippedDocumentError(TEMPLATE) from None
            raise error from None
    composer = _Composer(source)
    return Parsed(composer.compose(), values.leave_out_empty(data), composer.duplicates)


def split_values(text: str) -> list[tuple[int, int]]:
    """Return the spans of the objects of a text that is a stream of JSON objects; none for any other text.

    kubectl reads such a stream from a file of any name that begins with `{`.
    """
    decoder, spans, at = json.JSONDecoder(strict=False), [], _skip_space(text, 0)
    while text.startswith("{", at):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        spans.append((at, end))
        at = _skip_space(text, end)
    return spans if at == len(text) else []


def _skip_space(text: str, at: int) -> int:
    found = re.compile(r"[ \t\r\n]*").match(text, at)
    return found.end() if found else at


def _is_json_lines(text: str) -> bool:
    """True if each line is a JSON document, judging by the first two."""
    first, second, *_ = [*text.split("\n", 2), "", ""]
    try:
        return isinstance(json.loads(first), dict) and second.lstrip().startswith("{")
    except ValueError:
        return False


def _parse(text: str) -> object:
    try:
        data = json.loads(text, strict=False, parse_constant=_parse_constant)
        return _clean(data) if "\\u" in text and re.search(_SURROGATE_ESCAPE, text) else data
    except json.JSONDecodeError as error:
        raise InvalidSyntaxError(_describe_error(text, error), error.pos) from None
    except RecursionError:
        raise make_depth_error(0) from None
    except ValueError:
        raise LimitError("a number has more than 4,300 digits", 0) from None


def _parse_constant(name: str) -> object:
    return name if name == "NaN" else float(name)


def _describe_error(text: str, error: json.JSONDecodeError) -> str:
    before = text[: error.pos].rstrip()
    if before.endswith(",") and text[error.pos : error.pos + 1] in ("}", "]"):
        return "not valid JSON: the comma before this has nothing after it"
    if text[error.pos : error.pos + 1] == "'":
        return 'not valid JSON: it quotes with "…" only'
    return f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"


def _blank_comments(path: str, text: str) -> str:
    """The text with comments and trailing commas blanked, where comments or the folder say that its readers allow it."""
    hidden = any(part.startswith(".") and part.strip(".") for part in path.split("/"))
    masked = re.sub(_MASKED, lambda match: match[0] if match["string"] or match["comma"] else _blank(match[0]), text)
    if masked == text and not hidden:
        return text
    return re.sub(_MASKED, lambda match: match[0] if match["string"] else _blank(match[0]), masked)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _clean(value: object) -> object:
    """The same data with lone surrogates, which no encoding can print, as U+FFFD."""
    if isinstance(value, str):
        return _make_printable(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_make_printable(key): _clean(item) for key, item in value.items()}
    return value


def _make_printable(text: str) -> str:
    return re.sub(_SURROGATE, "\ufffd", text)


class _Composer:
    """Builds the nodes of JSON that `json` has found valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes = 0
        self.stack: list[tuple[Node, list[Node]]] = []
        self.duplicates: list[Duplicate] = []

    def compose(self) -> Node:
        top: list[Node] = []
        self.stack.append((Node("sequence", 0, 0, top), top))
        for match in re.finditer(_TOKEN, self.text):
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
            style, value = ('"', _decode_string(token)) if token[0] == '"' else ("", token)
            self._add(Node("scalar", start, end, value, style))

    def _open(self, kind: str, start: int) -> None:
        if len(self.stack) > DEPTH_MAX:
            raise make_depth_error(start)
        self.stack.append((Node(kind, start, start, None), []))

    def _close(self, end: int) -> None:
        node, children = self.stack.pop()
        node.end = end
        node.value = children
        if node.kind == "mapping":
            pairs = list(zip(children[::2], children[1::2], strict=True))
            node.value = pairs
            if len({key.value for key in children[::2]}) * 2 < len(children):
                self.duplicates.extend(find_duplicates(pairs, self.text))
        self._add(node)

    def _add(self, node: Node) -> None:
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise LimitError(f"more than {NODES_MAX:,} values in one file", node.start)
        self.stack[-1][1].append(node)


def _decode_string(token: str) -> str:
    return _make_printable(json.loads(token, strict=False)) if "\\" in token else token[1:-1]
