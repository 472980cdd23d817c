"""Bars that show how much of a limit is used, in terminal characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.report.model import Meter


class Glyphs(NamedTuple):
    """The characters of bars and frames."""

    taken: str
    limit: str
    over: str
    doubt: str
    untold: str
    free: str
    across: str
    down: str
    corners: tuple[str, str, str, str, str, str]
    """Upper left and right, left and right joints, lower left and right."""


BLOCKS = Glyphs("█", "┃", "▓", "▒", "?", "·", "─", "│", ("┌", "┐", "├", "┤", "└", "┘"))
ASCII = Glyphs("#", "|", "!", "~", "?", ".", "-", "|", ("+",) * 6)
MULTIPLE_MAX = 10_000
"""Maximum multiple of a limit that is printed."""
MEANINGS: Mapping[str, str] = {
    "taken": "used",
    "limit": "the limit",
    "over": "above the limit",
    "doubt": "best to worst case",
    "untold": "unknown",
}
"""The meaning of each glyph in the legend."""


def draw(meter: Meter, width: int, glyphs: Glyphs) -> str:
    """Return the bar of a meter: certain use, possible use, and use above the limit; empty without a limit."""
    if meter.limit is None:
        return ""
    range_ = find_range(meter)
    if range_ is None:
        return glyphs.untold * width
    low, high = range_
    scale = max(meter.limit, high) or 1
    certain, possible = round(width * low / scale), round(width * high / scale)
    rest = glyphs.untold if meter.taken is None else glyphs.free
    if high <= meter.limit:
        return glyphs.taken * certain + glyphs.doubt * (possible - certain) + rest * (width - possible)
    limit_at = min(round(width * meter.limit / scale), width - 2)
    over = max(certain - limit_at - 1, 1 if low > meter.limit else 0)
    below = glyphs.taken * min(certain, limit_at) + glyphs.doubt * (limit_at - certain)
    return below + glyphs.limit + glyphs.over * over + glyphs.doubt * (width - limit_at - 1 - over)


def is_known(meter: Meter) -> bool:
    """True if anything about a meter is known."""
    return meter.limit is not None or find_range(meter) is not None


def find_range(meter: Meter) -> tuple[float, float] | None:
    """Return the minimum and maximum use, if known."""
    if meter.taken is not None:
        return min(meter.taken), max(meter.taken)
    return None if meter.least is None else (meter.least, meter.least)


def render_percent(meter: Meter) -> str:
    """Return the used share of the limit from the best to the worst case; empty if unknown."""
    ends = find_range(meter)
    if ends is None or not meter.limit:
        return ""
    low, high = (_round_percent(end / meter.limit) for end in ends)
    return f"{low:,} %" if low == high else f"{low:,} to {high:,} %"


def _round_percent(share: float) -> int:
    """Return a share in percent. It is 100 only if the share is exactly the whole."""
    nearest = round(min(share, MULTIPLE_MAX) * 100)
    if share < 1:
        return min(nearest, 99)
    return max(nearest, 101) if share > 1 else nearest


def render_figures(meter: Meter) -> str:
    """Return the use and the limit as text."""
    expected = meter.least if meter.taken is None else meter.taken.expected
    values = [value for value in (expected, meter.limit) if value is not None]
    if not values:
        return "unknown"
    numbers, unit = units.write_together(values, meter.unit)
    prefix = "at least " if meter.taken is None and expected is not None else ""
    if meter.limit is None:
        return f"{prefix}{numbers[0]} {unit}, no limit declared"
    kind = "usual " if meter.usual else ""
    return f"{prefix}{numbers[0] if expected is not None else '?'} of {kind}{numbers[-1]} {unit}"


def render_legend(meters: Iterable[Meter], width: int, glyphs: Glyphs) -> str:
    """Return the meaning of the characters in these bars; empty if there are none."""
    used = "".join(draw(meter, width, ASCII) for meter in meters)
    entries = [f"{getattr(glyphs, name)} {words}" for name, words in MEANINGS.items() if getattr(ASCII, name) in used]
    return "  ".join(entries)
