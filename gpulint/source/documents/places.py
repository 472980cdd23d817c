"""Places: from an offset in the text of a file to the Location that a person is shown."""

from __future__ import annotations

from gpulint.report.model import Location

SHOWN_CHARACTERS_MAX = 10_000


def locate(path: str, text: str, start: int, end: int) -> Location:
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


def locate_rest_of_line(path: str, text: str, offset: int) -> Location:
    """From an offset to the end of its line; at the end of the text, the last line that holds anything."""
    start = min(offset, len(text))
    if not text[start:].strip():
        start = text.rfind("\n", 0, len(text[:start].rstrip())) + 1
    line_end = text.find("\n", start)
    end = start + len(text[start : len(text) if line_end < 0 else line_end].rstrip())
    start += len(text[start:end]) - len(text[start:end].lstrip(" "))
    return locate(path, text, start, end)
