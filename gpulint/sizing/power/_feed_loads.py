"""Draws: the load of servers on the feeds of their rack, and how it moves when a side fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog.errors import MissingInput


class Draw(NamedTuple):
    """What one group of servers draws from one feed, and through how many supplies;

    None if unknown.

    The draw of single supplies does not move to another feed: each fails with its own.
    """

    feed: str
    draw_w: float
    supplies: float | None
    moves: bool = True


Draws = tuple[tuple[Draw, ...], ...]
"""For every group of servers, its draw from each feed."""


def find_draws(feed: str, groups: Draws) -> tuple[Draw, ...]:
    """Return the draws of all groups from one feed."""
    return tuple(draw for draws in groups for draw in draws if draw.feed == feed)


def sum_load_w(feed: str, groups: Draws) -> float:
    """Return the total draw of all groups from one feed."""
    return sum((draw.draw_w for draw in find_draws(feed, groups)), 0.0)


def redistribute_losses(feed: str, names: Sequence[str], sides: Sequence[str], groups: Draws) -> Mapping[str, Draws]:
    """Return the draws after the loss of each other side, by side."""
    of = dict(zip(names, sides, strict=True))
    return {side: tuple(redistribute(draws, of, side) for draws in groups) for side in sides if side != of.get(feed)}


def redistribute(draws: Sequence[Draw], sides: Mapping[str, str], lost: str) -> tuple[Draw, ...]:
    """Return the draws of a group when a side is lost.

    The remaining supplies share the total equally.
    """
    left = [draw for draw in draws if sides.get(draw.feed) != lost]
    if not all(draw.moves for draw in draws):
        return tuple(left)
    total, remaining = _sum_draws(draws), _sum_draws(left)
    return tuple(draw._replace(draw_w=draw.draw_w * total / remaining) for draw in left) if remaining else ()


def _sum_draws(draws: Iterable[Draw]) -> float:
    return sum(draw.draw_w for draw in draws)


def parse_counts(stated: Mapping[str, str | float] | None, name: str) -> Mapping[str, float]:
    """Return the counts of a map in a file, such as cords by feed; raise MissingInput if one is not a
    number.

    >>> parse_counts({"A": "3", "B": 3}, "cords")
    {'A': 3.0, 'B': 3.0}
    """
    found = {key: str(count) for key, count in (stated or {}).items()}
    for count in found.values():
        if not count.isascii() or not count.replace(".", "", 1).isdigit():
            raise MissingInput(name)
    return {key: float(count) for key, count in found.items()}
