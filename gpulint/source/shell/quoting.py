"""Quoting: the text that backslashes stand for, outside quotes and within."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))"
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_IN_STRING = re.compile(r"\\(?:\r?\n|([$`\"\\]))")
_IN_HEREDOC = re.compile(r"\\(?:\r?\n|([$`\\]))")
_OUTSIDE = re.compile(r"(?s)\\(?:\r?\n|(.))")


def split_runs(text: str, in_string: bool, heredoc: bool = False) -> Iterator[tuple[str, int, int]]:
    """The text that bash reads, in runs of characters that are written as they are, and what each escape stands for."""
    at = 0
    if "\\" in text:
        for match in (_IN_HEREDOC if heredoc else _IN_STRING if in_string else _OUTSIDE).finditer(text):
            if match.start() > at:
                yield text[at : match.start()], at, match.start()
            if match[1]:
                yield match[1], match.start(), match.end()
            at = match.end()
    if at < len(text):
        yield text[at:], at, len(text)


def decode_ansi(text: str) -> str:
    """The text within `$'…'`."""
    return re.sub(_ANSI, _decode, text)


def _decode(match: re.Match[str]) -> str:
    two, four, octal, letter = match.groups()
    if letter is not None:
        return _ANSI_LETTERS.get(letter, letter if letter in "\\'\"?" else f"\\{letter}")
    code = int(two or four or octal, 8 if octal else 16)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)
