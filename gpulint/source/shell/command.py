"""Commands of a script, in words with locations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

HOLE = "\ufdd0"
"""Placeholder in a script's text for an unknown part. No text may contain this character."""

SPANS_MAX = 8
"""The number of locations that are kept from a use to its definition."""

Span = tuple[int, int]

_NOTHING: Mapping[str, Word] = MappingProxyType({})


class ShellLimitError(Exception):
    """The script expands to more than is worth reading."""


class Piece(NamedTuple):
    """A part of a text: where it stands, from the word it is used in to where it is written.

    `text` is None where that cannot be known, `raw` then being what is written instead; `exact` tells that the text is
    written, letter by letter, at the last place; `splits` that bash splits it at blanks; `default` that it counts only as
    long as the caller of the script gives nothing else. `elsewhere` is where another file states it, letter by letter.
    """

    text: str | None
    spans: tuple[Span, ...]
    exact: bool = False
    why: str = ""
    splits: bool = False
    raw: str = ""
    default: bool = False
    elsewhere: tuple[str, Span] | None = None

    @property
    def text_or_raw(self) -> str:
        return self.raw if self.text is None else self.text

    def add_use(self, place: Span) -> Piece:
        """The piece as part of what stands at another place."""
        if len(self.spans) >= SPANS_MAX:
            return self._replace(spans=(place,), exact=False)
        return self._replace(spans=(place, *self.spans))

    def bring(self, source: str, use: Span) -> Piece:
        """The piece of another file at the place of this one that uses it."""
        elsewhere = (source, self.spans[-1]) if self.exact and not self.default else self.elsewhere
        return self._replace(spans=(use,), exact=False, elsewhere=elsewhere)

    @property
    def width(self) -> int:
        return len(HOLE) if self.text is None else len(self.text)

    def part(self, start: int, end: int) -> Piece:
        """The piece from one of its characters to another."""
        if self.text is None or (start == 0 and end == len(self.text)):
            return self
        spans = self.spans
        if self.exact:
            at = spans[-1][0]
            spans = (*spans[:-1], (at + start, at + end))
        elsewhere = self.elsewhere
        if elsewhere is not None:
            first = elsewhere[1][0]
            elsewhere = elsewhere[0], (first + start, first + end)
        return self._replace(text=self.text[start:end], spans=spans, elsewhere=elsewhere)


class Word(NamedTuple):
    """One word: its text without quotes, None where that cannot be known (`why` tells), and its place in the script.

    A word that bash splits from a variable stands where the variable's value is written. `source` is the file that it
    stands in where another than the script brings it in.
    """

    text: str | None
    start: int
    end: int
    raw: str
    why: str = ""
    pieces: tuple[Piece, ...] = ()
    source: str = ""

    @property
    def default(self) -> bool:
        """Whether the caller of the script may give something else."""
        return any(piece.default for piece in self.pieces)

    def parts(self) -> tuple[Piece, ...]:
        """The pieces of the word; one where none is kept."""
        if self.pieces:
            return self.pieces
        return (Piece(self.text, ((self.start, self.end),), self.text == self.raw, self.why, raw=self.raw),)

    @property
    def text_with_holes(self) -> str:
        """The text, a HOLE standing for each part that cannot be known."""
        return "".join(HOLE if piece.text is None else piece.text for piece in self.parts())

    def locate_part(self, start: int, end: int) -> Span:
        """Where a part of the (holed) text is written: in the word, or in the assignment it comes from."""
        pieces = tuple(slice_pieces(self.parts(), start, end))
        return locate(pieces) if pieces else (self.start, self.end)

    @property
    def elsewhere(self) -> tuple[str, Span] | None:
        """The file and the place of the one part of the word that another file states; None if it has several."""
        found = {piece.elsewhere for piece in self.parts() if piece.elsewhere is not None}
        plain = all(piece.elsewhere is not None or piece.exact or piece.text == "" for piece in self.parts())
        return found.pop() if plain and len(found) == 1 else None

    def why_of(self, start: int, end: int) -> str:
        """Why a part of the (holed) text cannot be known; empty where it can."""
        return next((piece.why for piece in slice_pieces(self.parts(), start, end) if piece.text is None), "")


class Command(NamedTuple):
    """A simple command; conditional where it stands in an if, a case, a loop or a function that nothing calls.

    `here` is the here-document or here-string it reads, `source` the file that it stands in if another brings it in, and
    `environment` what the script has exported by then, each with the place of its value.
    """

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    conditional: bool
    here: Word | None = None
    source: str = ""
    environment: Mapping[str, Word] = _NOTHING


def slice_pieces(pieces: Sequence[Piece], start: int, end: int) -> Iterator[Piece]:
    """The pieces between two characters of their joined text."""
    at = 0
    for piece in pieces:
        after = at + piece.width
        if piece.width and at < end and start < after:
            yield piece.part(max(start - at, 0), min(end, after) - at)
        at = after


def locate(pieces: Sequence[Piece]) -> Span:
    """The smallest place that holds all pieces: the deepest text in which they stand side by side."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return first.spans[-1]
    level = 0
    deepest = min(len(piece.spans) for piece in pieces) - 1
    while level < deepest and all(piece.spans[level] == first.spans[level] for piece in pieces):
        level += 1
    start, end = first.spans[level][0], last.spans[level][1]
    return (start, end) if start < end else first.spans[0]
