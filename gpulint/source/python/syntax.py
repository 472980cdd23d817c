"""Syntax: the tree of a Python file or of the code cells of a notebook, with the place of each part.

The text is parsed by the standard library and nothing of it is run. A text that is too large, nested too deep for the
parser or no Python is not read.
"""

from __future__ import annotations

import ast
import bisect
import functools
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
_LINE = re.compile(r"[^\r\n]+")
_MAGIC = re.compile(r"(?m)^[ \t]*[%!?].*$|^[ \t]*[\w.]+\?{1,2}[ \t]*$")


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
        try:
            tree = _parse(text)
        except SyntaxError:
            if not segments:
                return None
            text = _blank_cells(text, segments)
            tree = _parse(text)
    except (SyntaxError, ValueError):
        return None
    except (RecursionError, MemoryError):
        excess.note("a Python file is nested too deep to be parsed", document.path)
        return None
    lines = (0, *(match.end() for match in _BREAK.finditer(text)))
    return Syntax(document, tree, text, lines, segments)


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _blank_cells(text: str, segments: tuple[Segment, ...]) -> str:
    """Return the text of a notebook with comments of the same length in place of the cells that are no Python."""
    parts: list[str] = []
    start = 0
    ends = [segment.start for segment in segments if segment.path[-1] == "end"]
    for end in (*ends, len(text)):
        cell = text[start:end]
        try:
            _parse(cell)
        except (SyntaxError, ValueError):
            cell = _LINE.sub(lambda match: "#" * len(match[0]), cell)
        parts.append(cell)
        start = end
    return "".join(parts)


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
    for number, cell in enumerate(cells[:CELLS_MAX] if isinstance(cells, list) else ()):
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        base: Path = ("cells", number, "source")
        if isinstance(source, str) and not source.lstrip().startswith("%%"):
            yield base, _MAGIC.sub(_blank, source)
        lines = source if isinstance(source, list) and all(isinstance(line, str) for line in source) else []
        if not "".join(lines[:1]).lstrip().startswith("%%"):
            yield from (((*base, at), _MAGIC.sub(_blank, line)) for at, line in enumerate(lines))
        yield (*base, "end"), "\n"


def _blank(match: re.Match[str]) -> str:
    """Return a text of the same length that Python skips."""
    bare = len(match[0]) - len(match[0].lstrip())
    rest = len(match[0]) - bare
    return match[0][:bare] + ("..." + "#" * (rest - 3) if rest >= 3 else "0" * rest)
