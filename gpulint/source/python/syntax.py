"""Syntax: the tree of a Python file or of the code cells of a notebook, with the place of each part.

The text is parsed by the standard library and nothing of it is run. A text that is too large, nested too deep for the
parser or no Python is not read.
"""

from __future__ import annotations

import ast
import bisect
import functools
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.source import excess
from gpulint.source.documents import Document, Path
from gpulint.source.python.values import Place

CHARACTERS_MAX = 256_000
CELLS_MAX = 2_000
_BREAK = re.compile(r"\r\n|\r|\n")
_MAGIC = re.compile(
    r"(?m)^[ \t]*+(?:[\w.]++[ \t]*+=[ \t]*+)?(?P<words>[%!?](?:[^\\\n]|\\.|\\\n)*+)$|^[ \t]*+(?P<asked>[\w.]++\?{1,2})[ \t]*+$"
)
_WHOLE = re.compile(r"\s*+%%(?!(?:capture|time|timeit|prun|memit)\b)")
"""The first line of a cell in another language; the magics that are left out run the cell as Python."""


class Segment(NamedTuple):
    """A part of the parsed text: its start, and the value of the document that holds it."""

    start: int
    path: Path


class Syntax(NamedTuple):
    """A parsed file: its document, its tree, the start of each line, and the text that was parsed."""

    document: Document
    tree: ast.Module
    text: str
    lines: tuple[int, ...]
    segments: tuple[Segment, ...]

    def place(self, node: ast.AST) -> Place:
        """Return the place of a part of the tree."""
        end_line = getattr(node, "end_lineno", None)
        if end_line is None:
            return Place(self.document)
        return self.locate(
            self._offset(getattr(node, "lineno", 1), getattr(node, "col_offset", 0)),
            self._offset(end_line, getattr(node, "end_col_offset", 0)),
        )

    def locate(self, start: int, end: int) -> Place:
        """Return the place of a span of the parsed text."""
        if not self.segments:
            return Place(self.document, (), (start, end))
        at = max(1, bisect.bisect_right(self.segments, start, key=lambda one: one.start))
        segment = self.segments[at - 1]
        end = min(end, self.segments[at].start if at < len(self.segments) else len(self.text))
        return Place(self.document, segment.path, (start - segment.start, end - segment.start))

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a line and of a column, which the parser counts in bytes of UTF-8."""
        start = self.lines[line - 1] if line <= len(self.lines) else len(self.text)
        end = self.lines[line] if line < len(self.lines) else len(self.text)
        part = self.text[start:end]
        return start + (column if part.isascii() else len(part.encode()[:column].decode("utf-8", "ignore")))


@functools.lru_cache(maxsize=32)
def parse(document: Document) -> Syntax | None:
    """Return the tree of a document of Python or of a notebook; None if it cannot be read."""
    text, segments = _read_text(document)
    if excess.is_over(len(text), CHARACTERS_MAX, "a Python file has more than {} characters", document.path):
        return None
    try:
        tree = _parse(text)
        if tree is None and segments:
            text = _blank_faulty(text, segments)
            tree = _parse(text)
    except (RecursionError, MemoryError):
        excess.note("a Python file is nested too deep to be parsed", document.path)
        return None
    if tree is None:
        excess.note("a Python file that does not parse as Python 3", document.path)
        return None
    lines = (0, *(match.end() for match in _BREAK.finditer(text)))
    return Syntax(document, tree, text, lines, segments)


def _parse(text: str) -> ast.Module | None:
    """Return the tree of a text; None if it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _blank_faulty(text: str, segments: tuple[Segment, ...]) -> str:
    """Return the text of a notebook without the cells that are no Python: the others run all the same."""
    starts = {segment.path[:2]: segment.start for segment in reversed(segments)}
    bounds = [*sorted(starts.values()), len(text)]
    cells = [text[start:end] for start, end in itertools.pairwise(bounds)]
    return "".join(cell if _parse(cell) is not None else re.sub(r"[^\n]", " ", cell) for cell in cells)


def _read_text(document: Document) -> tuple[str, tuple[Segment, ...]]:
    """Return the text to parse, and the values that it was put together from."""
    if isinstance(document.data, str):
        return document.data, ()
    parts: list[str] = []
    segments: list[Segment] = []
    at = 0
    for path, text in _list_cells(document):
        segments.append(Segment(at, path))
        parts.append(text if text.endswith("\n") or path[-1] != "end" else f"{text}\n")
        at += len(parts[-1])
        if at > CHARACTERS_MAX:
            break
    return "".join(parts), tuple(segments)


def _list_cells(document: Document) -> Iterator[tuple[Path, str]]:
    """Yield the source lines of the code cells of a notebook, without commands for the notebook itself."""
    cells = document.get(("cells",))
    if isinstance(cells, list):
        excess.is_over(len(cells), CELLS_MAX, "a notebook has more than {} cells", document.path)
    for number, cell in enumerate(cells[:CELLS_MAX] if isinstance(cells, list) else ()):
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        base: Path = ("cells", number, "source")
        lines = source if isinstance(source, list) and all(isinstance(line, str) for line in source) else [source]
        whole = "".join(line for line in lines if isinstance(line, str))
        if whole and not _WHOLE.match(whole):
            python = _MAGIC.sub(_blank, whole)
            at = 0
            for place, line in enumerate(lines):
                yield (*base, place) if isinstance(source, list) else base, python[at : at + len(line)]
                at += len(line)
        yield (*base, "end"), "\n"


def _blank(match: re.Match[str]) -> str:
    """Return a text of the same length that Python skips, or that assigns nothing known."""
    group = "words" if match["words"] is not None else "asked"
    before = match[0][: match.start(group) - match.start()]
    first, *further = match[0][len(before) :].split("\n")
    blank = "..." + "#" * (len(first) - 3) if len(first) >= 3 else "0" * len(first)
    return "\n".join([before + blank, *(" " * len(line) for line in further)])
