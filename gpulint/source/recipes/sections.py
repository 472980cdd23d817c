"""Sections: files of `[Section]` headers with `Key=value` lines, as systemd, Podman and supervisord read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

HEADER = re.compile(r"\[(?P<name>[^\]\n]+)\]")
ENTRY = re.compile(r"(?P<key>[A-Za-z][\w.-]*)[ \t]*=[ \t]*(?P<value>.*)", re.DOTALL)
COMMENT = ("#", ";")
PAIR = re.compile(r"(?<!\w)(?P<name>[A-Za-z_]\w*+)=(?P<value>\"[^\"]*\"|'[^']*'|[^\s,\"']*)")


class Entry(NamedTuple):
    """One entry: its section, key and value, the value's place, and that of the section's name."""

    section: str
    key: str
    value: str
    start: int
    named: tuple[int, int]


def read(text: str, indented: bool = False) -> Iterator[Entry]:
    """Yield the entries of a file. A value goes on behind a backslash, or on indented lines where these count."""
    section, named = "", (0, 0)
    pattern = (
        r"(?:[^\\\n]|\\.|\\\n|\\\Z)*(?:\n[ \t]+\S[^\n]*)*(?:\n|\Z)"
        if indented
        else r"(?:[^\\\n]|\\.|\\\n|\\\Z)*(?:\n|\Z)"
    )
    for match in re.finditer(pattern, text):
        line = match[0].rstrip()
        if line.lstrip().startswith(COMMENT):
            continue
        if header := HEADER.match(line):
            section, named = header["name"], (match.start() + header.start(), match.start() + header.end())
        elif entry := ENTRY.match(line):
            yield Entry(section, entry["key"], entry["value"], match.start() + entry.start("value"), named)
