"""Render an explanation as plain text: titles at the margin, their content indented."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from gpulint.cli.explain.parts import REFERENCE, Code, Explanation, Listing, Part, Table, Text

WIDTH = 110
EMPHASIS = re.compile(r"(?<!\S)\*(\w+)\*(?!\S)")
CELL = 44
"""Maximum width of a column except the last."""
BELOW = " " * 6


def render(explanation: Explanation) -> str:
    """Return the explanation without a final newline."""
    marks = ", ".join(f"{name} {value}" if name else value for name, value in explanation.marks)
    blocks = [[f"{explanation.name} ({_plain(marks)})"], _wrap(explanation.summary)]
    blocks += [list(_lines(part)) for part in explanation.parts if not (isinstance(part, Table) and part.page_only)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _lines(part: Part) -> Iterator[str]:
    if isinstance(part, Text):
        yield from _wrap(part.words)
        return
    if part.title:
        yield _plain(part.title)
    if isinstance(part, Code):
        yield from (f"  {line}".rstrip() for line in part.text.splitlines())
    elif isinstance(part, Listing):
        for item in part.items:
            yield from _wrap(item, "  ", "    ")
    else:
        yield from _rows(part)


def _rows(table: Table) -> Iterator[str]:
    """Yield one line per row. If a row is too long, its last cell is below."""
    visible = (table.head, *table.rows) if len(table.head) > 2 else table.rows
    rows = [tuple(_plain(cell) for cell in row) for row in visible]
    widths = [min(CELL, max(len(row[index]) for row in rows)) for index in range(len(table.head) - 1)]
    for *first, last in rows:
        lead = "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(first, widths, strict=True))
        if len(lead) + 2 + len(last) <= WIDTH:
            yield f"{lead}  {last}".rstrip()
        else:
            yield lead.rstrip()
            yield from _wrap(last, BELOW, BELOW)


def _wrap(words: str, first: str = "", further: str = "") -> list[str]:
    return textwrap.wrap(
        _plain(words),
        WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plain(words: str) -> str:
    """Return text without markup for links, code and emphasis."""
    return EMPHASIS.sub(r"\1", REFERENCE.sub(_render_reference, words).replace("`", ""))


def _render_reference(reference: re.Match[str]) -> str:
    return f"docs/{reference['name']}.md" if reference["noun"] == "page" else reference["name"]
