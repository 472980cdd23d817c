"""The size limit of all expansions of a script and the files that it sources."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.source import excess
from gpulint.source.shell.command import Piece, ShellLimitError

WORDS_MAX = 20_000
CHARACTERS_MAX = 4_000_000
PIECES_MAX = 100_000


class Budget:
    """What the expansions of a script may still take; they share it."""

    def __init__(self) -> None:
        self._words = 0
        self._pieces = 0
        self._characters = 0

    def spend(self, pieces: Sequence[Piece]) -> None:
        self._words += 1
        self._pieces += len(pieces)
        self._characters += sum(piece.width for piece in pieces)
        if (
            excess.is_over(self._words, WORDS_MAX, "a script expands to more than {} words")
            or excess.is_over(self._characters, CHARACTERS_MAX, "a script expands to more than {} characters")
            or excess.is_over(self._pieces, PIECES_MAX, "a script expands to more than {} parts of words")
        ):
            raise ShellLimitError
