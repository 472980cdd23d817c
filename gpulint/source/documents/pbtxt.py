"""Textproto: the data and the nodes of a message in the text format of protocol buffers.

`protobuf.dev/reference/protobuf/textformat-spec` has its grammar.
A field that is stated more than once, or with a list, is a list. What a tool fills in, as `${max_batch_size}`, is kept as text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpulint.source.documents.nodes import (
    DEPTH_MAX,
    NODES_MAX,
    InvalidSyntaxError,
    LimitError,
    Node,
    Parsed,
    make_depth_error,
)

CHARACTERS_MAX = 1_000_000

_TOKEN = re.compile(
    r"(?P<blank>(?:[\s\ufeff]++|#[^\n]*+)++)"
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"|(?P<mark>[{}<>\[\]:,;])"
    r"|(?P<word>(?:\$\{[^}\n]*\}|[\w.+/$-])+)"
)
_ESCAPE = re.compile(r"\\(?:(?P<octal>[0-7]{1,3})|[xX](?P<hex>[0-9a-fA-F]{1,2})|u(?P<four>[0-9a-fA-F]{4})|(?P<one>.))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CLOSING = {"{": "}", "<": ">"}
_WHOLE = re.compile(r"[+-]?\d{1,19}")
_NUMBER = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d{1,3})?f?")


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _Field(NamedTuple):
    """One field name of a message: its first key, and every value."""

    key: Node
    values: list[Node]
    listed: bool


def read(text: str) -> Parsed | None:
    """The message of a text; None where it holds none."""
    if len(text) > CHARACTERS_MAX:
        raise LimitError(f"textproto of more than {CHARACTERS_MAX:,} characters", 0)
    tokens = _tokenize(text)
    if not tokens:
        return None
    root = _Composer(text, tokens).compose()
    return Parsed(root, _plain(root), ())


def _tokenize(text: str) -> list[_Token]:
    found = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InvalidSyntaxError("not valid textproto: this starts neither a name nor a value", at)
        at = match.end()
        if match.lastgroup != "blank":
            found.append(_Token(str(match.lastgroup), match[0], match.start(), match.end()))
    return found


class _Composer:
    """Builds the nodes of a message from its tokens."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.nodes = 0

    def compose(self) -> Node:
        root = self._message("", 0, 0)
        if self.at < len(self.tokens):
            raise self._make_error("a name is expected here")
        return root

    def _message(self, closing: str, start: int, depth: int) -> Node:
        """The fields up to a closing mark, or to the end of the text."""
        if depth > DEPTH_MAX:
            raise make_depth_error(start)
        fields: dict[str, _Field] = {}
        while (token := self._next()) is not None and token.text != closing:
            self._field(fields, depth)
            while (token := self._next()) is not None and token.text in (",", ";"):
                self.at += 1
        end = self._close(closing) if closing else len(self.text.rstrip())
        return self._node("mapping", start, end, [_entry(field) for field in fields.values()])

    def _field(self, fields: dict[str, _Field], depth: int) -> None:
        key = self._name()
        if (token := self._next()) is not None and token.text == ":":
            self.at += 1
        token = self._next()
        if token is not None and token.text == "[":
            values, listed = self._list(depth), True
        else:
            values, listed = [self._value(depth)], False
        if (stated := fields.get(key.value)) is None:
            fields[key.value] = _Field(key, values, listed)
        else:
            stated.values.extend(values)
            fields[key.value] = stated._replace(listed=True)

    def _name(self) -> Node:
        """A name, or that of an extension in brackets."""
        token = self._take()
        if token.text == "[":
            named = self._take()
            self._expect("]")
            return self._scalar(named.text, named.start, named.end, "'")
        if token.kind != "word":
            self.at -= 1
            raise self._make_error("a name is expected here")
        return self._scalar(token.text, token.start, token.end, "'")

    def _list(self, depth: int) -> list[Node]:
        self.at += 1
        values = []
        while (token := self._next()) is not None and token.text != "]":
            values.append(self._value(depth))
            if (token := self._next()) is not None and token.text == ",":
                self.at += 1
        self._expect("]")
        return values

    def _value(self, depth: int) -> Node:
        token = self._take()
        if token.text in _CLOSING and token.kind == "mark":
            return self._message(_CLOSING[token.text], token.start, depth + 1)
        if token.kind == "string":
            return self._string(token)
        if token.kind == "word":
            return self._scalar(token.text, token.start, token.end, "")
        self.at -= 1
        raise self._make_error("a value is expected here")

    def _string(self, token: _Token) -> Node:
        """A string, which may be written as several that follow one another."""
        value, end = _unescape(token.text), token.end
        while (further := self._next()) is not None and further.kind == "string":
            self.at += 1
            value, end = value + _unescape(further.text), further.end
        return self._scalar(value, token.start, end, token.text[0])

    def _scalar(self, value: str, start: int, end: int, style: str) -> Node:
        return self._node("scalar", start, end, value, style)

    def _node(self, kind: str, start: int, end: int, value: object, style: str = "") -> Node:
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise LimitError(f"more than {NODES_MAX:,} values in one file", start)
        return Node(kind, start, end, value, style)

    def _next(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def _take(self) -> _Token:
        token = self._next()
        if token is None:
            raise InvalidSyntaxError("not valid textproto: the text ends in the middle of a field", len(self.text))
        self.at += 1
        return token

    def _expect(self, mark: str) -> None:
        if self._take().text != mark:
            self.at -= 1
            raise self._make_error(f"{mark} is expected here")

    def _close(self, closing: str) -> int:
        self._expect(closing)
        return self.tokens[self.at - 1].end

    def _make_error(self, what: str) -> InvalidSyntaxError:
        token = self.tokens[self.at]
        return InvalidSyntaxError(f"not valid textproto: {what}", token.start, token.end)


def _entry(field: _Field) -> tuple[Node, Node]:
    if not field.listed:
        return field.key, field.values[0]
    start = field.values[0].start if field.values else field.key.end
    end = field.values[-1].end if field.values else field.key.end
    return field.key, Node("sequence", start, end, field.values)


def _unescape(literal: str) -> str:
    return _ESCAPE.sub(_character, literal[1:-1]) if "\\" in literal else literal[1:-1]


def _character(match: re.Match[str]) -> str:
    if match["octal"]:
        return chr(int(match["octal"], 8) & 0xFF)
    if code := match["hex"] or match["four"]:
        return chr(int(code, 16)) if not 0xD800 <= int(code, 16) <= 0xDFFF else "\ufffd"
    return _ESCAPED.get(match["one"], match["one"])


def _plain(node: Node) -> object:
    """The data of a node."""
    if node.kind == "mapping":
        return {key.value: _plain(value) for key, value in node.value}
    if node.kind == "sequence":
        return [_plain(value) for value in node.value]
    return node.value if node.style else _convert(node.value)


def _convert(word: str) -> object:
    """A word without quotes: a number, a truth value, or the name of an enum's value."""
    if word in ("true", "True", "t"):
        return True
    if word in ("false", "False", "f"):
        return False
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word.rstrip("f")) if _NUMBER.fullmatch(word) else word
