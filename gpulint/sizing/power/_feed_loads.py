"""Draws: what servers take from the feeds of their rack, and how it moves when a side of them fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog.errors import MissingInput


class Draw(NamedTuple):
    """What one group of servers draws from one feed, through how many supplies; None where that is not known.

    What is of single supplies does not move to another feed: each goes dark with its own, wherever that is.
    """

    feed: str
    draw_w: float
    supplies: float | None
    moves: bool = True


Draws = tuple[tuple[Draw, ...], ...]
"""Of every group of servers, what it draws from each feed."""


def on(feed: str, each: Draws) -> tuple[Draw, ...]:
    """What the groups draw from one feed."""
    return tuple(one for draws in each for one in draws if one.feed == feed)


def load_w(feed: str, each: Draws) -> float:
    """What all groups draw from one feed together."""
    return sum((one.draw_w for one in on(feed, each)), 0.0)


def after_losses(feed: str, names: Sequence[str], sides: Sequence[str], each: Draws) -> Mapping[str, Draws]:
    """The draws after the loss of each side that a feed does not belong to, by side."""
    of = dict(zip(names, sides, strict=True))
    return {side: tuple(without(draws, of, side) for draws in each) for side in sides if side != of.get(feed)}


def without(draws: Sequence[Draw], sides: Mapping[str, str], lost: str) -> tuple[Draw, ...]:
    """The draws of a group when a side is lost: the supplies that are left take all of it, by their number."""
    left = [one for one in draws if sides.get(one.feed) != lost]
    if not all(one.moves for one in draws):
        return tuple(left)
    total, remaining = _sum(draws), _sum(left)
    return tuple(one._replace(draw_w=one.draw_w * total / remaining) for one in left) if remaining else ()


def _sum(draws: Iterable[Draw]) -> float:
    return sum(one.draw_w for one in draws)


def counts(stated: Mapping[str, str | float] | None, name: str) -> Mapping[str, float]:
    """The numbers of a map that a file states, as cords by feed; MissingInput where one is none.

    >>> counts({"A": "3", "B": 3}, "cords")
    {'A': 3.0, 'B': 3.0}
    """
    found = {key: str(count) for key, count in (stated or {}).items()}
    for count in found.values():
        if not count.isascii() or not count.replace(".", "", 1).isdigit():
            raise MissingInput(name)
    return {key: float(count) for key, count in found.items()}
