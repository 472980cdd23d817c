"""Spans: from the decoded characters of a scalar back to its source."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence

from gpulint.source.documents.nodes import Node

PLACED_CHARACTERS_MAX = 262_144

# Patterns are compiled by the first scalar that needs them.
_BREAK = r"\r\n?|\n"
_FOLD = r"(?P<fold>[ \t]*(?:\r\n?|\n)[ \t\r\n]*)"
_HEX_ESCAPES = r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"
_PAIR_ESCAPE = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_DOUBLE = (
    rf"{_FOLD}|(?P<joined>\\(?:\r\n?|\n)[ \t\r\n]*)|(?P<escape>\\(?:{_HEX_ESCAPES}|.))|(?P<text>[ \t]+|[^ \t\r\n\\]+)"
)
_JSON_STRING = rf"(?s)(?P<escape>\\(?:{_PAIR_ESCAPE}|{_HEX_ESCAPES}|.))|(?P<text>[^\\]+)"
_TOML_STRING = (
    rf"(?P<skipped>\\[ \t]*(?:\r\n|\n)\s*)|(?P<escape>\\(?:{_HEX_ESCAPES}|.))|(?P<fold>\r?\n)|(?P<text>[^\\\r\n]+)"
)
_TOML_LITERAL = r"(?P<fold>\r?\n)|(?P<text>[^\r\n]+)"
_SINGLE = rf"{_FOLD}|(?P<escape>'')|(?P<text>[ \t]+|[^ \t\r\n']+)"
_PLAIN = rf"{_FOLD}|(?P<text>[ \t]+|[^ \t\r\n]+)"
_ESCAPES = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPES |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029", "\t": "\t"}
_FIRST_TEXT = r"(?m)^( *)[^ \r\n]"

_Piece = tuple[str, int, int]


class Pieces:
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


def split_pieces(text: str, node: Node, format: str) -> Pieces | None:
    """Return the locations of the decoded characters, or None if a check fails."""
    value: str = node.value
    if not value or len(value) > PLACED_CHARACTERS_MAX or node.end == node.start:
        return None
    found = list(itertools.islice(_source(text, node, format), len(value)))
    if "".join(piece[0] for piece in found) != value:
        return None
    return Pieces([piece[1] for piece in found], [piece[2] for piece in found])


def _source(text: str, node: Node, format: str) -> Iterator[_Piece]:
    if node.style in ("|", ">"):
        return _split_block(text, node)
    if format == "toml" and node.style:
        return _toml_pieces(text, node)
    if format in ("json", "notebook") and node.style:
        return _split_flow(text, node.start + 1, node.end - 1, _JSON_STRING)
    if node.style:
        return _split_flow(text, node.start + 1, node.end - 1, _DOUBLE if node.style == '"' else _SINGLE)
    return _split_flow(text, node.start, node.end, _PLAIN)


def _toml_pieces(text: str, node: Node) -> Iterator[_Piece]:
    start, end = node.start + 1, node.end - 1
    if text.startswith(node.style * 3, node.start) and end - start > 3:
        start, end = start + 2, end - 2
        start += len("\r\n") if text.startswith("\r\n", start) else text.startswith("\n", start)
    return _split_flow(text, start, end, _TOML_STRING if node.style == '"' else _TOML_LITERAL, folds=False)


def _split_flow(text: str, start: int, end: int, pattern: str, folds: bool = True) -> Iterator[_Piece]:
    for match in re.compile(pattern).finditer(text, start, end):
        group, at = match.lastgroup, match.start()
        if group == "text":
            yield from ((character, at + index, at + index + 1) for index, character in enumerate(match[0]))
        elif group == "escape":
            yield _unescape(match[0]), at, match.end()
        elif group in ("fold", "joined"):
            yield from _fold_breaks(text, match, skip=1 if group == "joined" or folds else 0, joined=group == "joined")


def _fold_breaks(text: str, match: re.Match[str], skip: int, joined: bool) -> Iterator[_Piece]:
    """Yield the characters of folded line breaks: one break is a space, each further one a newline."""
    found = [(item.start(), item.end()) for item in re.compile(_BREAK).finditer(text, match.start(), match.end())]
    if skip and len(found) == 1 and not joined:
        yield " ", *found[0]
    yield from (("\n", start, end) for start, end in found[skip:])


def _unescape(escape: str) -> str:
    body = escape[1:]
    if escape == "''":
        return "'"
    if "\\u" in body:
        return str(json.loads(f'"{escape}"'))
    if len(body) > 1:
        code = int(body[1:], 16)
        return "\ufffd" if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF else chr(code)
    return _ESCAPES.get(body, body)


def _split_block(text: str, node: Node) -> Iterator[_Piece]:
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
    """Return the width of the block's indentation: the surplus of the source over the value."""
    written = re.compile(_FIRST_TEXT).search(text, text.find("\n", node.start) + 1)
    decoded = re.search(_FIRST_TEXT, node.value)
    return len(written[1]) - len(decoded[1]) if written and decoded else 0


def _lines(text: str, start: int) -> Iterator[tuple[int, int, int]]:
    """(start, end without its break, end with it) of each line from an offset on."""
    while 0 < start < len(text):
        line_end = text.find("\n", start)
        after = len(text) if line_end < 0 else line_end + 1
        end = after if line_end < 0 else line_end
        yield start, end - (text[start:end].endswith("\r")), after
        start = after
