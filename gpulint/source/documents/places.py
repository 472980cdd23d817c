"""Places: from an offset in the text of a file to the Location that a person is shown."""

from __future__ import annotations

import bisect

from gpulint.report.location import Location

SHOWN_CHARACTERS_MAX = 10_000
_TEXTS_MAX = 8
_known: dict[int, tuple[str, list[int]]] = {}
"""The last texts by identity, because equal texts are compared character by character."""


def list_line_starts(text: str) -> list[int]:
    """Return the offset of the first character of each line."""
    known = _known.get(id(text))
    if known is not None and known[0] is text:
        return known[1]
    starts, at = [0], text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    while len(_known) >= _TEXTS_MAX:
        del _known[next(iter(_known))]
    _known[id(text)] = (text, starts)
    return starts


def find_line(text: str, offset: int) -> int:
    """Return the number of the line of an offset, from 1."""
    return bisect.bisect_right(list_line_starts(text), offset)


def find_offset(text: str, line: int, column: int) -> int:
    """Return the offset of a line and a column; those of a line that does not exist are at the end."""
    starts = list_line_starts(text)
    return starts[line - 1] + column - 1 if line <= len(starts) else len(text)


def read_line(text: str, line: int) -> str:
    """Return a line by its number, without its break."""
    starts = list_line_starts(text)
    end = starts[line] - 1 if line < len(starts) else len(text)
    return text[starts[line - 1] : end].removesuffix("\r")


def locate(path: str, text: str, start: int, end: int) -> Location:
    starts, line = list_line_starts(text), find_line(text, start)
    end_line = find_line(text, end) if end > start else line
    line_start, last_line_start = starts[line - 1], starts[end_line - 1]
    line_end = text.find("\n", end)
    stop = len(text) if line_end < 0 else line_end
    shown = (
        text[line_start:stop].replace("\r\n", "\n").rstrip("\r") if stop - line_start <= SHOWN_CHARACTERS_MAX else ""
    )
    return Location(path, line, start - line_start + 1, end_line, end - last_line_start + 1, shown)


def locate_rest_of_line(path: str, text: str, offset: int) -> Location:
    """From an offset to the end of its line; at the end of the text, the last line that holds anything."""
    start = min(offset, len(text))
    if not text[start:].strip():
        start = text.rfind("\n", 0, len(text[:start].rstrip())) + 1
    line_end = text.find("\n", start)
    end = start + len(text[start : len(text) if line_end < 0 else line_end].rstrip())
    start += len(text[start:end]) - len(text[start:end].lstrip(" "))
    return locate(path, text, start, end)
