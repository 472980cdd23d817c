"""Command: what a script starts, in words that each know their place."""

from __future__ import annotations

from typing import NamedTuple


class Word(NamedTuple):
    """One word: its text without quotes, None where that cannot be known (`why` tells), and its place in the script."""

    text: str | None
    start: int
    end: int
    raw: str
    why: str = ""


class Command(NamedTuple):
    """A simple command; conditional where it stands in an if, a case, a loop or a function."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    conditional: bool
