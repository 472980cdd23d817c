"""Layout: lines and tables that fit the width of a terminal without breaking a word."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

GAP = "  "
CODE = re.compile(r"`[^`]*`")
BOUND = "\u00a0"
"""A space at which no line is broken; no text of a file contains it, because it is not printable."""
ROW_LINES_MAX = 1.5
"""Rows take more lines on average only if no optional column is left."""
CELL_MAX = 120
"""The most characters of a cell: no name of a workload is longer on purpose."""
JOINTS = "-/_"
"""Characters after which a name may go on in the next line if no column can be left out."""


def wrap(line: str, width: int, indent: int = 4) -> list[str]:
    """Return a line as lines of at most this width; a longer word and a span of code stay whole.

    >>> wrap("  --> a.yaml:1:1  (the owner)", 20)
    ['  --> a.yaml:1:1', '    (the owner)']
    """
    if len(line) <= width:
        return [line]
    head = line[: len(line) - len(line.lstrip())]
    parts = textwrap.wrap(
        CODE.sub(lambda span: span[0].replace(" ", BOUND), line.lstrip()),
        width,
        initial_indent=head,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [part.replace(BOUND, " ") for part in parts] or [line]


def shorten(line: str, width: int) -> str:
    """Return the first words of a line.

    >>> shorten("   = try one GPU", 14)
    '   = try one …'
    """
    return line if len(line) <= width else f"{wrap(line, width - len(' …'))[0]} …"


def pad(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return the cells of a row, padded to the column widths."""
    return GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()


class Table(NamedTuple):
    """A table as lines that fit."""

    head: list[str]
    rows: list[list[str]]
    left_out: tuple[str, ...]
    """The titles of the columns for which there is no space."""


def lay_out(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int, optional: Sequence[str] = ()) -> Table:
    """Return rows under titles. Cells are wrapped between words; if that is not enough, optional columns are left out
    in their order, and then names are broken at their joints. A column without values is not shown.
    """
    rows = [[_cap(cell) for cell in row] for row in rows]
    used = [at for at in range(len(titles)) if any(row[at] for row in rows)]
    shown = used
    for title in ("", *optional):
        shown = [at for at in shown if titles[at] != title]
        columns = [[titles[at], *(row[at] for row in rows)] for at in shown]
        widths = _allot(columns, width, [_longest_word(column) for column in columns])
        if widths is not None and _count_lines(columns, widths) <= ROW_LINES_MAX * (len(rows) + 1) + 1:
            break
    if widths is None:
        least = [_longest_word([_loosen(cell) for cell in column]) for column in columns]
        widths = _allot(columns, width, least) or least
    widths = [
        max(len(line) for cell in column for line in _break(cell, width))
        for column, width in zip(columns, widths, strict=True)
    ]
    return Table(
        [*_fill([titles[at] for at in shown], widths)],
        [[*_fill([row[at] for at in shown], widths)] for row in rows],
        tuple(titles[at] for at in used if at not in shown),
    )


def _cap(cell: str) -> str:
    return cell if len(cell) <= CELL_MAX else f"{cell[: CELL_MAX - 1]}…"


def _allot(columns: Sequence[Sequence[str]], width: int, least: Sequence[int]) -> list[int] | None:
    """Return the widths of columns that fit: the widest ones give way; None if their words are too long."""
    widths = [max(map(len, column)) for column in columns]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    if excess > 0 and sum(least) + len(GAP) * (len(least) - 1) > width:
        return None
    while excess > 0:
        at = max((at for at in range(len(widths)) if widths[at] > least[at]), key=lambda at: widths[at])
        widths[at] -= 1
        excess -= 1
    return widths


def _count_lines(columns: Sequence[Sequence[str]], widths: Sequence[int]) -> int:
    """Return the number of lines that the rows take."""
    return sum(
        max(len(_break(cell, width)) for cell, width in zip(row, widths, strict=True))
        for row in zip(*columns, strict=True)
    )


def _longest_word(cells: Sequence[str]) -> int:
    return max((len(word) for cell in cells for word in cell.split(" ")), default=0)


def _loosen(cell: str) -> str:
    """Return a cell with a space after each joint of its names."""
    return "".join(f"{character} " if character in JOINTS else character for character in cell)


def _fill(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of one row."""
    cells = [_break(cell, width) for cell, width in zip(row, widths, strict=True)]
    for at in range(max(map(len, cells), default=0)):
        yield pad([cell[at] if at < len(cell) else "" for cell in cells], widths)


def _break(cell: str, width: int) -> list[str]:
    """Return the lines of one cell, broken between words, or after the joints of a name that is too long."""
    lines = [""]
    for word in cell.split(" "):
        for index, part in enumerate(_split_word(word, width)):
            space = " " if lines[-1] and not index else ""
            if len(lines[-1]) + len(space) + len(part) <= width or not lines[-1]:
                lines[-1] += space + part
            else:
                lines.append(part)
    return lines


def _split_word(word: str, width: int) -> list[str]:
    return [word] if len(word) <= width else _loosen(word).split(" ")
