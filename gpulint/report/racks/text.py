"""The rack diagram of a facility for an 80-column terminal: racks from the top down next to usage bars."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.report.escaping import count, safe
from gpulint.report.model import FacilitySummary, Fact, Meter, RackSummary
from gpulint.report.racks import bars, layout
from gpulint.report.racks.bars import Glyphs
from gpulint.report.racks.layout import Block, RackGroup
from gpulint.report.terminal_style import Paint, apply_style, plain

WIDTH = 80
LEFT = 36
RIGHT = WIDTH - LEFT - 2
MARGIN = 6
"""The columns for unit numbers."""
INSIDE = LEFT - MARGIN - 4
RACKS_MAX = 6
"""The number of different racks that are drawn by default."""
LINES_MAX = 6
"""The maximum number of lines for one machine."""
BAR = 25
AREA_BAR = 8
FIGURES = 29
NAME = 16
CELL = 12
CELL_BAR = 5
METER_COLUMNS = ("power", "cooling", "weight", "space")
"""The meters with a column in the table of racks."""
SHORT_VERDICTS = {
    "likely holds": "holds?",
    "likely no spare": "no spare?",
    "likely overloaded": "overloaded?",
    "not redundant": "no 2nd side",
    "not evaluated": "?",
}
"""Short forms of verdicts that are too long for that table."""
YEAR_LABELS = {
    "average_load_w": "average power",
    "energy_year_j": "energy/year",
    "energy_year_usd": "cost/year",
    "co2_year_kg": "CO2/year",
}
"""The lines about a facility's year."""
YEAR_DETAILS = {
    "average_load_w": (("idle", "idle_load_w"), ("busy", "busy_load_w")),
    "energy_year_j": (),
    "energy_year_usd": (("cooling and losses", "overhead_year_usd"),),
    "co2_year_kg": (),
}
"""The additional figures on each line, with their labels."""
STYLES = ("31;1", "31;1", "31;1", "33;1", "33;1", "33;1", "36")
"""The colour of a verdict, by severity."""


class Pen(NamedTuple):
    """The characters of bars and frames, and the painter of words."""

    glyphs: Glyphs
    paint: Paint

    def colour(self, text: str, verdict: str) -> str:
        """Return text in the colour of a verdict. A verdict without a problem has none."""
        level = layout.level(verdict)
        return self.paint(text, STYLES[level]) if level < len(STYLES) else text


def render(
    facilities: Iterable[FacilitySummary],
    glyphs: Glyphs = bars.BLOCKS,
    colour: bool = False,
    only: Sequence[str] = (),
) -> str:
    """Render each facility: limits, a table of racks, and diagrams of some racks or of `only`."""
    pen = Pen(glyphs, apply_style if colour else plain)
    parts = [part for facility in facilities for part in _facility(facility, pen, only)]
    return "\n\n".join(parts) + "\n"


def _facility(facility: FacilitySummary, pen: Pen, only: Sequence[str]) -> Iterator[str]:
    servers = sum(rack.servers for rack in facility.racks)
    counts = f"{count(len(facility.racks), 'rack')}, {count(servers, 'server')}"
    yield _cut(f"{_cut(safe(facility.name), LEFT)}: {counts}  ({_place(facility)})", WIDTH)
    areas = list(layout.list_areas(facility))
    if areas:
        yield "\n".join(_area(name, meter, pen) for name, meter in areas)
    if year := list(_year(facility)):
        yield "\n".join(year)
    kinds = layout.group_racks(facility.racks)
    if len(kinds) > 1:
        yield "\n".join(_table(kinds, pen))
    drawn = layout.select_racks(facility.racks, only) if only else layout.select_worst(kinds, RACKS_MAX)
    yield from ("\n".join(_rack(kind, pen)) for kind in drawn)
    if not only and (more := len(kinds) - len(drawn)):
        yield f"{count(more, 'more rack')} {'is' if more == 1 else 'are'} not drawn; --rack NAME draws one"
    meters = [meter for _, meter in areas] + [meter for kind in kinds for meter in kind.rack.meters]
    if legend := bars.render_legend(meters, BAR, pen.glyphs):
        yield f"bars: {legend}"


def _year(one: FacilitySummary) -> Iterator[str]:
    """Yield average power, and a year's energy, cost and emissions, with details."""
    known = {fact.name: fact for fact in one.year}
    for name, words in YEAR_DETAILS.items():
        if name in known:
            beside = ", ".join(
                f"{word} {_round(known[of].values.expected, known[of].unit)}" for word, of in words if of in known
            )
            yield _cut(f"{YEAR_LABELS[name]:<{NAME}}{_render_range(known[name])}{beside and '; '}{beside}", WIDTH)


def _render_range(fact: Fact) -> str:
    """Return a fact in human units, with its range if the ends differ."""
    expected, *ends = (_round(value, fact.unit) for value in (fact.values.expected, *_ends(fact)))
    return expected if len({expected, *ends}) == 1 else f"{expected} ({' to '.join(ends)})"


def _ends(fact: Fact) -> Sequence[float]:
    ends = (fact.values.best, fact.values.worst)
    return sorted(value for value in ends if isinstance(value, int | float))


def _round(value: object, unit: str) -> str:
    """Return a figure in human units with three digits."""
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
    bar = bars.draw(meter, AREA_BAR, pen.glyphs).ljust(AREA_BAR)
    head = f"{_cut(name, NAME - 1):<{NAME}}{_cut(safe(meter.name), 8):<9}{bar}  "
    if meter.limit is None:
        return head + _cut(bars.render_figures(meter), WIDTH - len(head))
    said = _cut(f"{bars.render_figures(meter)}  {bars.render_percent(meter)}".rstrip(), FIGURES)
    return f"{head}{said:<{FIGURES}} {pen.colour(meter.verdict, meter.verdict)}"


def _table(kinds: Sequence[RackGroup], pen: Pen) -> Iterator[str]:
    """Yield one line per group of identical racks, under the name of their row or room."""
    yield f"{'rack':<{NAME}} " + "".join(f"{name:<{CELL}} " for name in METER_COLUMNS) + "feeds"
    for place, group in itertools.groupby(kinds, key=lambda kind: kind.rack.place):
        if place:
            yield _cut(safe(place), WIDTH)
        yield from (_row(kind, "  " if place else "", pen) for kind in group)


def _row(kind: RackGroup, indent: str, pen: Pen) -> str:
    number = f" ×{kind.number}" if kind.number > 1 else ""
    name = indent + _cut(kind.title, NAME - len(indent) - len(number)) + number
    by_name = {meter.name: meter for meter in kind.rack.meters}
    cells = "".join(f"{_cell(by_name.get(name), pen)} " for name in METER_COLUMNS)
    feed = layout.find_worst_feed(kind.rack)
    said = pen.colour(SHORT_VERDICTS.get(feed.verdict, feed.verdict), feed.verdict) if feed else "none"
    return f"{name:<{NAME}} {cells}{said}"


def _cell(meter: Meter | None, pen: Pen) -> str:
    """Return a short bar and the expected share."""
    if meter is None or not bars.is_known(meter):
        return "?".ljust(CELL)
    if meter.limit is None:
        return "no limit".ljust(CELL)
    expected = meter.taken.expected if meter.taken else meter.least
    certain = meter._replace(taken=None, least=expected)
    more = "+" if meter.taken is None else ""
    share = bars.render_percent(certain).replace(" %", f"{more} %")
    text = f"{bars.draw(meter, CELL_BAR, pen.glyphs)} {_cut(share, CELL - CELL_BAR - 1)}".ljust(CELL)
    return pen.colour(text, meter.verdict)


# ---- racks


def _rack(kind: RackGroup, pen: Pen) -> Iterator[str]:
    """Yield the rack diagram with its meters and feeds on the right."""
    where = f" in {safe(kind.rack.place)}" if kind.rack.place else ""
    number = f", {kind.number} alike" if kind.number > 1 else ""
    place = f"  ({_place(kind.rack)})"
    yield _cut(_cut(f"rack {kind.title}{where}{number}", WIDTH - len(place)) + place, WIDTH)
    left = [*_draw_rack(kind.rack, pen.glyphs)]
    right = [*_meters(kind.rack.meters, pen), *_feeds(kind.rack, pen)]
    for box, detail in itertools.zip_longest(left, right, fillvalue=""):
        yield f"{box:<{LEFT}}  {detail}".rstrip()


def _draw_rack(rack: RackSummary, glyphs: Glyphs) -> Iterator[str]:
    slots, undrawn = layout.split_drawable(rack)
    blocks = list(layout.make_blocks(slots, rack.units))
    upper_left, upper_right, left, right, lower_left, lower_right = glyphs.corners
    line = glyphs.across * (LEFT - MARGIN - 2)
    for index, block in enumerate(blocks):
        ends = (left, right) if index else (upper_left, upper_right)
        yield f"{block.top:>{MARGIN - 1}} {line.join(ends)}"
        yield from (f"{'':>{MARGIN}}{glyphs.down} {inside} {glyphs.down}" for inside in _draw_inside(block))
    if blocks:
        yield f"{'':>{MARGIN}}{line.join((lower_left, lower_right))}"
    for note in layout.list_notes(rack, undrawn):
        yield from textwrap.wrap(note, LEFT, initial_indent=" " * MARGIN, subsequent_indent=" " * MARGIN)


def _draw_inside(block: Block) -> Iterator[str]:
    """Yield one line per two units, minus the frame. Free space has one line."""
    label = _cut(block.label, INSIDE - len(block.power) - 1) if block.power else _cut(block.label, INSIDE)
    yield f"{label}{block.power:>{INSIDE - len(label)}}"
    if not block.is_free:
        yield from [" " * INSIDE] * (min(math.ceil(block.units / 2) - 1, LINES_MAX) - 1)


def _meters(meters: Iterable[Meter], pen: Pen) -> Iterator[str]:
    for meter in meters:
        words = [_cut(safe(meter.name), 12), bars.render_figures(meter), bars.render_percent(meter)]
        wide = "  ".join(filter(None, words))
        yield wide if len(wide) <= RIGHT else _cut(" ".join(filter(None, words)), RIGHT)
        if bar := bars.draw(meter, BAR, pen.glyphs):
            yield pen.colour(f"{bar}  {meter.verdict}", meter.verdict)


def _feeds(rack: RackSummary, pen: Pen) -> Iterator[str]:
    if rack.meters and rack.feeds:
        yield ""
    for feed in rack.feeds:
        yield f"{_cut(layout.render_circuit(feed), RIGHT - len(feed.verdict) - 2)}: {pen.colour(feed.verdict, feed.verdict)}"
        yield from (
            f"  {_cut(line, RIGHT - 2)}" for line in (layout.render_supply(feed), layout.render_loads(feed)) if line
        )
