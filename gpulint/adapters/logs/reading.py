"""Reading: one value of a log, with its lines."""

from __future__ import annotations

from typing import NamedTuple


class Reading(NamedTuple):
    """A value of a log in base units, to half of its last printed digit, with its lines and rank."""

    name: str
    value: float | str
    precision: float
    lines: tuple[int, ...]
    rank: str = ""

    @property
    def number(self) -> float:
        """The value as a number; 0 for a word."""
        return self.value if isinstance(self.value, float) else 0.0

    @property
    def place(self) -> str:
        """The line numbers as text."""
        numbers = ", ".join(map(str, self.lines[:4])) + (", …" if len(self.lines) > 4 else "")
        return f"line{'s' if len(self.lines) > 1 else ''} {numbers}" + (f" ({self.rank})" if self.rank else "")


def add_readings(name: str, *parts: tuple[Reading, int]) -> Reading:
    """Return the sum of readings, each times 1 or −1."""
    places = tuple(sorted({line for part, _ in parts for line in part.lines}))
    value = sum(part.number * sign for part, sign in parts)
    return Reading(name, value, sum(part.precision for part, _ in parts), places, parts[0][0].rank)
