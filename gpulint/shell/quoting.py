"""Quoting: the text that backslashes stand for, outside quotes and within."""

from __future__ import annotations

import re

_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))"
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def unescaped(text: str, in_string: bool) -> str:
    if "\\" not in text:
        return text
    pattern = r"\\(?:\r?\n|([$`\"\\]))" if in_string else r"\\(?:\n|(.))"
    return re.sub(pattern, lambda match: match[1] or "", text, flags=re.DOTALL)


def ansi(text: str) -> str:
    """The text within `$'…'`."""
    return re.sub(_ANSI, _decoded, text)


def _decoded(match: re.Match[str]) -> str:
    two, four, octal, letter = match.groups()
    if letter is not None:
        return _ANSI_LETTERS.get(letter, letter if letter in "\\'\"?" else f"\\{letter}")
    code = int(two or four or octal, 8 if octal else 16)
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)
