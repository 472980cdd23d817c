"""The elevation of a facility at a terminal of 80 columns: racks from the top down beside bars of what they take."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.report.formats.escaping import counted, safe
from gpulint.report.formats.text import Paint, painted, plain
from gpulint.report.model import FacilitySummary, Fact, Meter, RackSummary
from gpulint.report.racks import bars
from gpulint.report.racks import layout as racks
from gpulint.report.racks.bars import Glyphs
from gpulint.report.racks.layout import Block, Drawn

WIDTH = 80
LEFT = 36
RIGHT = WIDTH - LEFT - 2
MARGIN = 6
"""The columns of the numbers of units."""
INSIDE = LEFT - MARGIN - 4
DRAWN = 6
"""So many unlike racks are drawn where none is asked for."""
LINES_MAX = 6
"""Of one machine, however high."""
BAR = 25
AREA_BAR = 8
FIGURES = 29
NAME = 16
CELL = 12
CELL_BAR = 5
SHOWN = ("power", "cooling", "weight", "space")
"""The meters that the table of racks has a column for."""
SHORT = {
    "likely holds": "holds?",
    "likely no spare": "no spare?",
    "likely overloaded": "overloaded?",
    "not redundant": "no 2nd side",
}
"""Verdicts that are too long for that table."""
LINES = {"average_load_w": "average", "energy_year_j": "a year", "energy_year_usd": "costs", "co2_year_kg": "emits"}
"""What is said of a facility's year, line by line."""
OF_A_YEAR = {
    "average_load_w": (("idle", "idle_load_w"), ("busy", "busy_load_w")),
    "energy_year_j": (),
    "energy_year_usd": (("cooling and losses", "overhead_year_usd"),),
    "co2_year_kg": (),
}
"""The figures that stand beside each, with their words."""
STYLES = ("31;1", "31;1", "31;1", "33;1", "33;1", "33;1", "36")
"""The colour of a verdict, by how bad it is."""


class Pen(NamedTuple):
    """What bars and frames are drawn with, and how words are painted."""

    glyphs: Glyphs
    paint: Paint

    def coloured(self, text: str, verdict: str) -> str:
        """Text in the colour of a verdict; what is in order has none."""
        level = racks.level(verdict)
        return self.paint(text, STYLES[level]) if level < len(STYLES) else text


def as_text(
    facilities: Iterable[FacilitySummary],
    glyphs: Glyphs = bars.BLOCKS,
    colour: bool = False,
    only: Sequence[str] = (),
) -> str:
    """Each facility: its limits, its racks in a table where there are several, and the elevations of some, or of `only`."""
    pen = Pen(glyphs, painted if colour else plain)
    parts = [part for one in facilities for part in _facility(one, pen, only)]
    return "\n\n".join(parts) + "\n"


def _facility(one: FacilitySummary, pen: Pen, only: Sequence[str]) -> Iterator[str]:
    servers = sum(rack.servers for rack in one.racks)
    counts = f"{counted(len(one.racks), 'rack')}, {counted(servers, 'server')}"
    yield _cut(f"{_cut(safe(one.name), LEFT)}: {counts}  ({_place(one)})", WIDTH)
    areas = list(racks.areas(one))
    if areas:
        yield "\n".join(_area(name, meter, pen) for name, meter in areas)
    if year := list(_year(one)):
        yield "\n".join(year)
    kinds = racks.alike(one.racks)
    if len(kinds) > 1:
        yield "\n".join(_table(kinds, pen))
    drawn = racks.chosen(one.racks, only) if only else racks.first(kinds, DRAWN)
    yield from ("\n".join(_rack(kind, pen)) for kind in drawn)
    if not only and (more := len(kinds) - len(drawn)):
        yield f"{counted(more, 'more rack')} {'is' if more == 1 else 'are'} not drawn; --rack NAME draws one"
    shown = [meter for _, meter in areas] + [meter for kind in kinds for meter in kind.rack.meters]
    if meant := bars.legend(shown, BAR, pen.glyphs):
        yield f"bars: {meant}"


def _year(one: FacilitySummary) -> Iterator[str]:
    """What the servers draw on average, without work and under it, and what a year of that takes, costs and emits."""
    known = {fact.name: fact for fact in one.year}
    for name, words in OF_A_YEAR.items():
        if name in known:
            beside = ", ".join(
                f"{word} {_about(known[of].values.likely, known[of].unit)}" for word, of in words if of in known
            )
            yield _cut(f"{LINES[name]:<{NAME}}{_spread(known[name])}{beside and '; '}{beside}", WIDTH)


def _spread(fact: Fact) -> str:
    """A fact in human units, with its ends where they differ."""
    likely, *ends = (_about(value, fact.unit) for value in (fact.values.likely, *_ends(fact)))
    return likely if len({likely, *ends}) == 1 else f"{likely} ({' to '.join(ends)})"


def _ends(fact: Fact) -> Sequence[float]:
    found = (fact.values.favourable, fact.values.adverse)
    return sorted(value for value in found if isinstance(value, int | float))


def _about(value: object, unit: str) -> str:
    """A figure in human units, to three digits: none of them is known better."""
    if not isinstance(value, int | float) or not value:
        return units.human(value, unit)
    step = units.KWH if unit == "j" else 1
    digits = 2 - math.floor(math.log10(abs(value / step)))
    return units.human(round(value / step, digits) * step, unit).removesuffix(".00")


def _place(one: FacilitySummary | RackSummary) -> str:
    return safe(f"{one.location.path}:{one.location.line}")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# ---- tables


def _area(name: str, meter: Meter, pen: Pen) -> str:
    bar = bars.drawn(meter, AREA_BAR, pen.glyphs).ljust(AREA_BAR)
    head = f"{_cut(name, NAME - 1):<{NAME}}{_cut(safe(meter.name), 8):<9}{bar}  "
    if meter.limit is None:
        return head + _cut(bars.figures(meter), WIDTH - len(head))
    said = _cut(f"{bars.figures(meter)}  {bars.percent(meter)}".rstrip(), FIGURES)
    return f"{head}{said:<{FIGURES}} {pen.coloured(meter.verdict, meter.verdict)}"


def _table(kinds: Sequence[Drawn], pen: Pen) -> Iterator[str]:
    """One line for racks that are alike, under the name of the row or room that they stand in."""
    yield f"{'rack':<{NAME}} " + "".join(f"{name:<{CELL}} " for name in SHOWN) + "feeds"
    for place, group in itertools.groupby(kinds, key=lambda kind: kind.rack.place):
        if place:
            yield _cut(safe(place), WIDTH)
        yield from (_row(kind, "  " if place else "", pen) for kind in group)


def _row(kind: Drawn, indent: str, pen: Pen) -> str:
    number = f" ×{kind.number}" if kind.number > 1 else ""
    name = indent + _cut(kind.title, NAME - len(indent) - len(number)) + number
    by_name = {meter.name: meter for meter in kind.rack.meters}
    cells = "".join(f"{_cell(by_name.get(name), pen)} " for name in SHOWN)
    feed = racks.worst_feed(kind.rack)
    said = pen.coloured(SHORT.get(feed.verdict, feed.verdict), feed.verdict) if feed else "none stated"
    return f"{name:<{NAME}} {cells}{said}"


def _cell(meter: Meter | None, pen: Pen) -> str:
    """A short bar and the likely share."""
    if meter is None or not bars.tells(meter):
        return "?".ljust(CELL)
    if meter.limit is None:
        return "no limit".ljust(CELL)
    likely = meter.taken.likely if meter.taken else meter.least
    known = meter._replace(taken=None, least=likely)
    more = "+" if meter.taken is None else ""
    share = bars.percent(known).replace(" %", f"{more} %")
    text = f"{bars.drawn(meter, CELL_BAR, pen.glyphs)} {_cut(share, CELL - CELL_BAR - 1)}".ljust(CELL)
    return pen.coloured(text, meter.verdict)


# ---- racks


def _rack(kind: Drawn, pen: Pen) -> Iterator[str]:
    """The elevation, and beside it the meters and feeds."""
    where = f" in {safe(kind.rack.place)}" if kind.rack.place else ""
    number = f", {kind.number} alike" if kind.number > 1 else ""
    place = f"  ({_place(kind.rack)})"
    yield _cut(_cut(f"rack {kind.title}{where}{number}", WIDTH - len(place)) + place, WIDTH)
    left = [*_elevation(kind.rack, pen.glyphs)]
    right = [*_meters(kind.rack.meters, pen), *_feeds(kind.rack, pen)]
    for box, beside in itertools.zip_longest(left, right, fillvalue=""):
        yield f"{box:<{LEFT}}  {beside}".rstrip()


def _elevation(rack: RackSummary, glyphs: Glyphs) -> Iterator[str]:
    slots, left_out = racks.standing(rack)
    blocks = list(racks.blocks(slots, rack.units))
    upper_left, upper_right, left, right, lower_left, lower_right = glyphs.corners
    line = glyphs.across * (LEFT - MARGIN - 2)
    for at, block in enumerate(blocks):
        ends = (left, right) if at else (upper_left, upper_right)
        yield f"{block.top:>{MARGIN - 1}} {line.join(ends)}"
        yield from (f"{'':>{MARGIN}}{glyphs.down} {inside} {glyphs.down}" for inside in _inside(block))
    if blocks:
        yield f"{'':>{MARGIN}}{line.join((lower_left, lower_right))}"
    for note in racks.notes(rack, left_out):
        yield from textwrap.wrap(note, LEFT, initial_indent=" " * MARGIN, subsequent_indent=" " * MARGIN)


def _inside(block: Block) -> Iterator[str]:
    """A line for two units, less the line above; what is free has one."""
    label = _cut(block.label, INSIDE - len(block.power) - 1) if block.power else _cut(block.label, INSIDE)
    yield f"{label}{block.power:>{INSIDE - len(label)}}"
    if not block.is_free:
        yield from [" " * INSIDE] * (min(math.ceil(block.units / 2) - 1, LINES_MAX) - 1)


def _meters(meters: Iterable[Meter], pen: Pen) -> Iterator[str]:
    for meter in meters:
        words = [_cut(safe(meter.name), 12), bars.figures(meter), bars.percent(meter)]
        wide = "  ".join(filter(None, words))
        yield wide if len(wide) <= RIGHT else _cut(" ".join(filter(None, words)), RIGHT)
        if bar := bars.drawn(meter, BAR, pen.glyphs):
            yield pen.coloured(f"{bar}  {meter.verdict}", meter.verdict)


def _feeds(rack: RackSummary, pen: Pen) -> Iterator[str]:
    if rack.meters and rack.feeds:
        yield ""
    for one in rack.feeds:
        yield f"{_cut(racks.circuit(one), RIGHT - len(one.verdict) - 2)}: {pen.coloured(one.verdict, one.verdict)}"
        yield from (f"  {_cut(line, RIGHT - 2)}" for line in (racks.supply(one), racks.loads(one)) if line)
