"""Draws: the load of servers on the feeds of their rack, and how it moves when a side fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.fabric import Unstated


class Draw(NamedTuple):
    """What one group of servers draws from one feed, and through how many supplies;

    None if unknown.

    What is of single supplies does not move to another feed: each goes dark with its own, wherever
    that is.
    """

    feed: str
    draw_w: float
    supplies: float | None
    moves: bool = True


Draws = tuple[tuple[Draw, ...], ...]
"""For every group of servers, its draw from each feed."""


def on(feed: str, each: Draws) -> tuple[Draw, ...]:
    """Return the draws of all groups from one feed."""
    return tuple(one for draws in each for one in draws if one.feed == feed)


def load_w(feed: str, each: Draws) -> float:
    """Return the total draw of all groups from one feed."""
    return sum((one.draw_w for one in on(feed, each)), 0.0)


def after_losses(feed: str, names: Sequence[str], sides: Sequence[str], each: Draws) -> Mapping[str, Draws]:
    """Return the draws after the loss of each other side, by side."""
    of = dict(zip(names, sides, strict=True))
    return {side: tuple(without(draws, of, side) for draws in each) for side in sides if side != of.get(feed)}


def without(draws: Sequence[Draw], sides: Mapping[str, str], lost: str) -> tuple[Draw, ...]:
    """Return the draws of a group when a side is lost.

    The remaining supplies share the total equally.
    """
    left = [one for one in draws if sides.get(one.feed) != lost]
    if not all(one.moves for one in draws):
        return tuple(left)
    total, remaining = _sum_draws(draws), _sum_draws(left)
    return tuple(one._replace(draw_w=one.draw_w * total / remaining) for one in left) if remaining else ()


def _sum_draws(draws: Iterable[Draw]) -> float:
    return sum(one.draw_w for one in draws)


def counts(stated: Mapping[str, str | float] | None, name: str) -> Mapping[str, float]:
    """Return the counts of a map in a file, such as cords by feed; raise Unstated if one is not a
    number.

    >>> counts({"A": "3", "B": 3}, "cords")
    {'A': 3.0, 'B': 3.0}
    """
    found = {key: str(count) for key, count in (stated or {}).items()}
    for count in found.values():
        if not count.isascii() or not count.replace(".", "", 1).isdigit():
            raise Unstated(name)
    return {key: float(count) for key, count in found.items()}
