"""Bars: how much of a limit is taken, in characters that a terminal has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.report.model import Meter


class Glyphs(NamedTuple):
    """What bars and frames are made of."""

    taken: str
    limit: str
    over: str
    doubt: str
    untold: str
    free: str
    across: str
    down: str
    corners: tuple[str, str, str, str, str, str]
    """Upper left and right, joints left and right, lower left and right."""


BLOCKS = Glyphs("█", "┃", "▓", "▒", "?", "·", "─", "│", ("┌", "┐", "├", "┤", "└", "┘"))
ASCII = Glyphs("#", "|", "!", "~", "?", ".", "-", "|", ("+",) * 6)
MOST = 10_000
"""Times of a limit beyond which nobody counts."""
MEANINGS: Mapping[str, str] = {
    "taken": "taken",
    "limit": "the limit",
    "over": "beyond it",
    "doubt": "best to worst case",
    "untold": "not known",
}
"""What a glyph says, where it does not speak for itself."""


def drawn(meter: Meter, width: int, glyphs: Glyphs) -> str:
    """The bar of a meter: what is sure, what may be, and from the limit on what is beyond it; empty where it has no limit."""
    if meter.limit is None:
        return ""
    ends = span(meter)
    if ends is None:
        return glyphs.untold * width
    low, high = ends
    scale = max(meter.limit, high) or 1
    sure, possible = round(width * low / scale), round(width * high / scale)
    rest = glyphs.untold if meter.taken is None else glyphs.free
    if high <= meter.limit:
        return glyphs.taken * sure + glyphs.doubt * (possible - sure) + rest * (width - possible)
    at = min(round(width * meter.limit / scale), width - 2)
    over = max(sure - at - 1, 1 if low > meter.limit else 0)
    below = glyphs.taken * min(sure, at) + glyphs.doubt * (at - sure)
    return below + glyphs.limit + glyphs.over * over + glyphs.doubt * (width - at - 1 - over)


def tells(meter: Meter) -> bool:
    """Whether anything of a meter is known."""
    return meter.limit is not None or span(meter) is not None


def span(meter: Meter) -> tuple[float, float] | None:
    """The least and the most that is taken, as far as that is known."""
    if meter.taken is not None:
        return min(meter.taken), max(meter.taken)
    return None if meter.least is None else (meter.least, meter.least)


def percent(meter: Meter) -> str:
    """What is taken as a share of the limit, from the best to the worst case; empty where either is not known."""
    ends = span(meter)
    if ends is None or not meter.limit:
        return ""
    low, high = (_rounded(end / meter.limit) for end in ends)
    return f"{low:,} %" if low == high else f"{low:,} to {high:,} %"


def _rounded(share: float) -> int:
    """A share in percent, which is a hundred only where it is the whole."""
    nearest = round(min(share, MOST) * 100)
    if share < 1:
        return min(nearest, 99)
    return max(nearest, 101) if share > 1 else nearest


def figures(meter: Meter) -> str:
    """What is taken and of how much, in words."""
    likely = meter.least if meter.taken is None else meter.taken.likely
    known = [value for value in (likely, meter.limit) if value is not None]
    if not known:
        return "not known"
    shown, unit = units.beside(known, meter.unit)
    least = "at least " if meter.taken is None and likely is not None else ""
    if meter.limit is None:
        return f"{least}{shown[0]} {unit}, no limit stated"
    usual = "usual " if meter.usual else ""
    return f"{least}{shown[0] if likely is not None else '?'} of {usual}{shown[-1]} {unit}"


def legend(meters: Iterable[Meter], width: int, glyphs: Glyphs) -> str:
    """What the characters of these bars mean; empty where there are none."""
    used = "".join(drawn(one, width, ASCII) for one in meters)
    said = [f"{getattr(glyphs, name)} {words}" for name, words in MEANINGS.items() if getattr(ASCII, name) in used]
    return "  ".join(said)
