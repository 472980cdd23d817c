"""Facilities as SVG: racks side by side with their use of each limit and the state of their feeds.

The drawing has no script, link or font of its own. Colours follow the light or dark scheme, and text repeats what they say.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.report.escaping import XML_HEAD, count, render_element, safe
from gpulint.report.model import FacilitySummary, FeedSummary, Meter, RackSummary
from gpulint.report.racks import bars, layout
from gpulint.report.racks.layout import Block, RackGroup

MARGIN = 24
CARD = 280
COLUMNS = 4
GAP = 28
UNIT = 10
"""The height of a rack unit, enough for a line of small text."""
LINE = 14
RULER = 24
"""The width of the unit numbers."""
BAR = 6
LETTERS = 50
"""The number of letters across a rack."""
LABEL = 40
TITLE = 28
NOTE = 46
VERDICT_LETTERS = 46
"""The number of letters that fit on one line with a verdict."""
BAD_LEVELS = len(layout.OVER)
LIGHT = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "muted": "#59636e",
    "slot": "#ddf4ff",
    "taken": "#0969da",
    "track": "#d1d9e0",
    "bad": "#cf222e",
    "doubt": "#9a6700",
    "good": "#1a7f37",
}
DARK = {
    "page": "#0d1117",
    "ink": "#f0f6fc",
    "muted": "#9198a1",
    "slot": "#10243e",
    "taken": "#4493f8",
    "track": "#3d444d",
    "bad": "#f85149",
    "doubt": "#d29922",
    "good": "#3fb950",
}


class Card(NamedTuple):
    """A drawing relative to its upper left corner, and its height."""

    height: float
    elements: tuple[str, ...]


def render(facilities: Sequence[FacilitySummary], only: Sequence[str] = ()) -> str:
    """Return one drawing of all facilities, or of the racks in `only`. It is deterministic."""
    height: float = MARGIN
    drawn: list[str] = []
    for facility in facilities:
        card = _facility(facility, only)
        drawn.append(_translate(MARGIN, height, card.elements))
        height += card.height + GAP
    name = ", ".join(safe(facility.name) for facility in facilities) or "no facility"
    columns = max((_columns(facility, only) for facility in facilities), default=1) or 1
    width = 2 * MARGIN + columns * (CARD + GAP) - GAP
    size = {"width": width, "height": f"{height:g}", "viewBox": f"0 0 {width} {height:g}"}
    head = {
        "xmlns": "http://www.w3.org/2000/svg",
        **size,
        "role": "img",
        "aria-labelledby": "gpulint-title gpulint-desc",
    }
    lines = [line for facility in facilities for line in _describe(facility, only)]
    inside = [
        render_element("title", {"id": "gpulint-title"}, words=f"Racks of {name}"),
        render_element("desc", {"id": "gpulint-desc"}, words="\n".join(lines)),
        render_element("style", {}, words=_style()),
        _hatch(),
        render_element("rect", {"class": "page", "width": width, "height": f"{height:g}"}),
        *drawn,
    ]
    return XML_HEAD + render_element("svg", head, inside) + "\n"


def _columns(facility: FacilitySummary, only: Sequence[str]) -> int:
    return min(COLUMNS, max(len(layout.select_racks(facility.racks, only)), len(list(_areas(facility)))))


def _describe(facility: FacilitySummary, only: Sequence[str]) -> Iterator[str]:
    """Yield the drawing in words, one line per item."""
    for name, meters in _areas(facility):
        yield f"{name}: {'; '.join(map(_render_meter, meters))}."
    for kind in layout.select_racks(facility.racks, only):
        feeds = (f"{layout.render_circuit(feed)} {feed.verdict}" for feed in kind.rack.feeds)
        yield f"{_name(kind)}: {'; '.join((*map(_render_meter, kind.rack.meters), *feeds)) or 'unknown'}."


def _render_meter(meter: Meter) -> str:
    parts = (
        f"{safe(meter.name)} {bars.render_figures(meter)}",
        bars.render_percent(meter),
        meter.verdict if meter.limit is not None else "",
    )
    return ", ".join(filter(None, parts))


def _name(kind: RackGroup) -> str:
    where = f" in {safe(kind.rack.place)}" if kind.rack.place else ""
    return f"rack {kind.title}{where}" + (f", {kind.number} alike" if kind.number > 1 else "")


# ---- layout


def _facility(facility: FacilitySummary, only: Sequence[str]) -> Card:
    servers = sum(rack.servers for rack in facility.racks)
    counts = f"{count(len(facility.racks), 'rack')}, {count(servers, 'server')}"
    areas = _grid([_area(name, meters) for name, meters in _areas(facility)])
    kinds = _grid([_rack(kind) for kind in layout.select_racks(facility.racks, only)])
    head = (_text(0, LINE, _cut(safe(facility.name), TITLE), "title"), _text(0, 2 * LINE + 2, counts, "words"))
    top = 3 * LINE + 4
    below = top + areas.height
    return Card(below + kinds.height, (*head, _translate(0, top, areas.elements), _translate(0, below, kinds.elements)))


def _grid(cards: Sequence[Card]) -> Card:
    """Arrange cards in rows. Each row has the height of its highest card."""
    top: float = 0
    drawn: list[str] = []
    for first in range(0, len(cards), COLUMNS):
        row = cards[first : first + COLUMNS]
        drawn += [_translate(at * (CARD + GAP), top, card.elements) for at, card in enumerate(row)]
        top += max(card.height for card in row) + GAP
    return Card(top, tuple(drawn))


def _stack(cards: Iterable[Card]) -> Card:
    """Arrange cards below one another."""
    top: float = 0
    drawn: list[str] = []
    for card in cards:
        drawn.append(_translate(0, top, card.elements))
        top += card.height
    return Card(top, tuple(drawn))


def _area(name: str, meters: Iterable[Meter]) -> Card:
    head = Card(LINE + 6, (_text(0, LINE - 3, name, "name"),))
    return _stack((head, *map(_meter, meters)))


def _areas(facility: FacilitySummary) -> Iterator[tuple[str, list[Meter]]]:
    for name, group in itertools.groupby(layout.list_areas(facility), key=lambda pair: pair[0]):
        yield name, [meter for _, meter in group]


def _rack(kind: RackGroup) -> Card:
    head = Card(LINE + 6, (render_element("title", {}, words=_name(kind)), _text(0, LINE - 3, _name(kind), "name")))
    rack = kind.rack
    return _stack((head, _draw_rack(rack), *map(_meter, rack.meters), *map(_feed, rack.feeds)))


# ---- racks


def _draw_rack(rack: RackSummary) -> Card:
    slots, left_out = layout.split_drawable(rack)
    blocks = list(layout.make_blocks(slots, rack.units))
    top = blocks[0].top if blocks else 0
    drawn = [element for block in blocks for element in _block(block, top)]
    notes = [line for note in layout.list_notes(rack, left_out) for line in textwrap.wrap(note, NOTE)]
    below = UNIT * top
    lines = [_text(RULER, below + LINE * (at + 1), note, "small") for at, note in enumerate(notes)]
    return Card(below + LINE * len(notes) + 12, (*drawn, *lines))


def _block(block: Block, top: int) -> Iterator[str]:
    y, height = UNIT * (top - block.top), UNIT * block.units
    box = {"x": RULER, "y": y, "width": CARD - RULER, "height": height, "class": "free" if block.is_free else "slot"}
    words = f"U {block.lowest} to {block.top}: {block.label} {block.power}".rstrip()
    yield render_element("rect", box, [render_element("title", {}, words=words)])
    yield _text(RULER - 4, y + 8, str(block.top), "ruler")
    middle = y + height / 2 + 3
    yield _text(RULER + 6, middle, _cut(block.label, LABEL), "small")
    if block.power:
        yield _text(CARD - 6, middle, block.power, "amount")


def _meter(meter: Meter) -> Card:
    text = ", ".join(filter(None, (f"{safe(meter.name)} {bars.render_figures(meter)}", bars.render_percent(meter))))
    if meter.limit is None:
        return Card(LINE + 6, (_text(0, LINE - 3, text, "words"),))
    below = LINE if len(text) + len(meter.verdict) > VERDICT_LETTERS else 0
    verdict = _text(CARD, LINE - 3 + below, meter.verdict, f"verdict {_tone(meter.verdict)}")
    bar = _translate(0, LINE + 2 + below, _bar(meter))
    return Card(LINE + BAR + 10 + below, (_text(0, LINE - 3, text, "words"), verdict, bar))


def _bar(meter: Meter) -> Iterator[str]:
    """Yield the limit as a line, and certain and possible use up to it and above."""
    yield _stretch(0, CARD, "track")
    limit, range_ = meter.limit or 0, bars.find_range(meter)
    if range_ is None:
        yield _stretch(0, CARD, "untold")
        return
    low, high = range_
    whole = max(limit, high) or 1
    certain, possible, line = (CARD * (value / whole) for value in (low, high, limit))
    yield _stretch(0, min(certain, line), "taken")
    if low > limit:
        yield _stretch(line, certain, "over")
    if high > low:
        yield _stretch(certain, possible, "may-be")
    if meter.taken is None and high < limit:
        yield _stretch(possible, CARD, "untold")
    yield render_element("rect", {"x": f"{line - 1:.1f}", "y": -3, "width": 2, "height": BAR + 6, "class": "limit"})


def _stretch(start: float, end: float, style: str) -> str:
    return render_element(
        "rect", {"x": f"{start:.1f}", "width": f"{max(end - start, 0):.1f}", "height": BAR, "class": style}
    )


def _feed(feed: FeedSummary) -> Card:
    """Return the verdict with its own mark shape, and the lines below."""
    head = (_mark(feed.verdict), _text(14, LINE - 3, f"{layout.render_circuit(feed)}: {feed.verdict}", "words"))
    lines = [line for line in (layout.render_supply(feed), layout.render_loads(feed)) if line]
    below = [_text(14, LINE * (at + 2) - 3, line, "small") for at, line in enumerate(lines)]
    return Card(LINE * (len(lines) + 1) + 6, (*head, *below))


def _mark(verdict: str) -> str:
    """Return the mark of a verdict: disc for fine, triangle for doubt, cross for a problem, ring for unknown."""
    tone = _tone(verdict)
    if tone == "bad":
        return render_element("path", {"d": "M1 3 L9 11 M9 3 L1 11", "class": "cross"})
    if tone == "doubt":
        return render_element("path", {"d": "M5 2 L10 11 L0 11 Z", "class": "triangle"})
    return render_element("circle", {"cx": 5, "cy": 7, "r": 4, "class": "disc" if tone == "good" else "ring"})


def _tone(verdict: str) -> str:
    level = layout.level(verdict)
    if level >= len(layout.RANKS):
        return "good"
    if level < BAD_LEVELS:
        return "bad"
    return "untold-word" if verdict == layout.RANKS[-1] else "doubt"


# ---- elements


def _translate(x: float, y: float, elements: Iterable[str]) -> str:
    return render_element("g", {"transform": f"translate({x:g} {y:g})"}, elements)


def _text(x: float, y: float, words: str, style: str) -> str:
    return render_element("text", {"x": f"{x:g}", "y": f"{y:g}", "class": style}, words=_cut(words, LETTERS))


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def _hatch() -> str:
    """Return the stripe patterns for unknown and exceeded use, which differ without colour."""
    patterns = []
    for name, slope in (("over", "M-1 7 L7 -1"), ("may-be", "M3 0 L3 6"), ("untold", "M1 3 L4 3")):
        size = {"id": f"gpulint-{name}", "width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
        patterns.append(
            render_element("pattern", size, [render_element("path", {"d": slope, "class": f"stripe-{name}"})])
        )
    return render_element("defs", {}, patterns)


def _style() -> str:
    dark = "\n".join(_colours(DARK))
    return "\n".join((*_shapes(), *_colours(LIGHT), "@media (prefers-color-scheme: dark) {", dark, "}"))


def _shapes() -> Iterator[str]:
    yield "text { font: 11px system-ui, sans-serif; }"
    yield ".title { font-size: 16px; font-weight: 600; }"
    yield ".name { font-size: 12px; font-weight: 600; }"
    yield ".small, .ruler, .amount { font-size: 9.5px; }"
    yield ".ruler, .amount, .verdict { text-anchor: end; }"
    yield ".free, .ring, .cross { fill: none; }"
    yield ".free { stroke-dasharray: 3 3; }"
    yield ".cross { stroke-width: 3; }"
    yield ".over { fill: url(#gpulint-over); }"
    yield ".may-be { fill: url(#gpulint-may-be); }"
    yield ".untold { fill: url(#gpulint-untold); }"
    yield ".stripe-over, .stripe-may-be, .stripe-untold { fill: none; stroke-width: 3; }"


def _colours(scheme: dict[str, str]) -> Iterator[str]:
    yield f".page {{ fill: {scheme['page']}; }}"
    yield f".title, .name, .words, .small, .amount, .limit {{ fill: {scheme['ink']}; }}"
    yield f".ruler, .untold-word {{ fill: {scheme['muted']}; }}"
    yield f".slot {{ fill: {scheme['slot']}; stroke: {scheme['taken']}; }}"
    yield f".free, .ring, .stripe-untold {{ stroke: {scheme['muted']}; }}"
    yield f".track {{ fill: {scheme['track']}; }}"
    yield f".taken {{ fill: {scheme['taken']}; }}"
    yield f".good, .disc {{ fill: {scheme['good']}; }}"
    yield f".doubt, .triangle {{ fill: {scheme['doubt']}; }}"
    yield f".bad {{ fill: {scheme['bad']}; }}"
    yield f".cross, .stripe-over {{ stroke: {scheme['bad']}; }}"
    yield f".stripe-may-be {{ stroke: {scheme['doubt']}; }}"
