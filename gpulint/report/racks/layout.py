"""Rack diagrams for terminal and SVG: blocks, groups of identical racks, and the worst verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.report.escaping import safe
from gpulint.report.model import FacilitySummary, FeedSummary, Meter, RackSummary, Scenarios, Slot
from gpulint.report.racks import bars
from gpulint.report.verdicts import NOT_EVALUATED

FLAT_UNITS_MAX = 2
"""Identical adjacent machines of at most this height are drawn as one block."""
GROUP_MIN = 3
OVER = ("exceeded", "overloaded", "no spare")
RANKS = (*OVER, *(f"likely {verdict}" for verdict in OVER), NOT_EVALUATED)
"""Verdicts, the worst first. A verdict that is not listed is no problem."""


class Block(NamedTuple):
    """Units of a rack with a machine, with several identical flat ones, or free."""

    top: int
    lowest: int
    label: str
    power: str = ""
    is_free: bool = False

    @property
    def units(self) -> int:
        return self.top - self.lowest + 1


class RackGroup(NamedTuple):
    """Identical racks, drawn once."""

    rack: RackSummary
    last: str
    number: int

    @property
    def title(self) -> str:
        """The name, or the first and the last."""
        return safe(self.rack.name if self.number == 1 else f"{self.rack.name} to {self.last}")


def group_racks(racks: Sequence[RackSummary]) -> list[RackGroup]:
    """Return the racks in order. Adjacent racks that differ only in names are grouped."""
    groups = [list(group) for _, group in itertools.groupby(racks, _strip_identity)]
    return [
        RackGroup(_name_by_type(group[0]) if len(group) > 1 else group[0], group[-1].name, len(group))
        for group in groups
    ]


def _strip_identity(rack: RackSummary) -> RackSummary:
    """Return a rack without names and location, for comparison."""
    nowhere = rack.location._replace(line=1, column=1, end_line=1, end_column=1, text="", path="")
    return _name_by_type(rack)._replace(name="", location=nowhere)


def _name_by_type(rack: RackSummary) -> RackSummary:
    """Return a rack whose machines have type names and whose feeds lack the rack's name."""
    slots = tuple(slot._replace(name=slot.type or slot.name) for slot in rack.slots)
    feeds = (
        feed._replace(name=_remove_rack_name(feed.name, rack.name), side=_remove_rack_name(feed.side, rack.name))
        for feed in rack.feeds
    )
    return rack._replace(slots=slots, feeds=tuple(feeds))


def _remove_rack_name(name: str, rack: str) -> str:
    """Return a name without that of the rack: A for r01-A."""
    return name.replace(rack, "").strip("-_ ./:") or name


def select_racks(racks: Sequence[RackSummary], only: Sequence[str]) -> list[RackGroup]:
    """Return the requested racks, or all, with identical ones grouped."""
    return group_racks([rack for rack in racks if not only or any(is_called(rack, name) for name in only)])


def select_worst(kinds: Sequence[RackGroup], limit: int) -> list[RackGroup]:
    """Return the worst of many groups, in their order."""
    worst = sorted(range(len(kinds)), key=lambda index: rank(kinds[index].rack))[:limit]
    return [kinds[index] for index in sorted(worst)]


def is_called(rack: RackSummary, name: str) -> bool:
    """True if a name is that of a rack, with or without the components above it."""
    return name in (rack.name, f"{rack.place}/{rack.name}")


def list_areas(facility: FacilitySummary) -> Iterator[tuple[str, Meter]]:
    """Yield the limits of areas that contain or feed racks, and the totals of several racks, by name."""
    for area in facility.areas:
        for meter in area.meters:
            if area.kind == "facility" and bars.is_known(meter) and len(facility.racks) > 1:
                yield area.kind, meter
            elif meter.limit is not None:
                yield safe(f"{area.kind} {area.name}"), meter


def rank(rack: RackSummary) -> int:
    """Return the severity of a rack's worst verdict: 0 is the worst. A meter without a limit is no problem."""
    verdicts = [meter.verdict for meter in rack.meters if meter.limit is not None]
    verdicts += [feed.verdict for feed in rack.feeds]
    return min(map(level, verdicts), default=len(RANKS))


def find_worst(rack: RackSummary) -> str:
    """Return the worst verdict of a rack; empty if there is no problem."""
    return (*RANKS, "")[rank(rack)]


def level(verdict: str) -> int:
    """Return the severity of a verdict: 0 is the worst."""
    return RANKS.index(verdict) if verdict in RANKS else len(RANKS)


def find_worst_feed(rack: RackSummary) -> FeedSummary | None:
    """Return the feed with the worst verdict."""
    return min(rack.feeds, key=lambda feed: level(feed.verdict), default=None)


# ---- rack diagram


def split_drawable(rack: RackSummary) -> tuple[list[Slot], list[str]]:
    """Return the slots that can be drawn from the top down, and descriptions of the others."""
    drawn: list[Slot] = []
    undrawn = [*map(safe, rack.undrawn)]
    for slot in sorted(rack.slots, key=lambda slot: (-(slot.lowest + slot.units), slot.name)):
        if slot.units < 1 or slot.lowest < 1:
            undrawn.append(f"{safe(slot.name)} at U {slot.lowest}")
        elif drawn and slot.lowest + slot.units > drawn[-1].lowest:
            undrawn.append(f"{safe(slot.name)} at U {slot.lowest}, occupied by {safe(drawn[-1].name)}")
        else:
            drawn.append(slot)
    return drawn, undrawn


def make_blocks(slots: Sequence[Slot], height: int | None) -> Iterator[Block]:
    """Yield the blocks of a rack from the top down, including free space."""
    above = height
    for run in _group_slots(slots):
        top, lowest = run[0].lowest + run[0].units - 1, run[-1].lowest
        if above is not None and above > top:
            yield _free(above, top + 1)
        yield Block(top, lowest, _label(run), _power(run))
        above = lowest - 1
    if above:
        yield _free(above, 1)


def _group_slots(slots: Sequence[Slot]) -> Iterator[list[Slot]]:
    """Yield single slots, or groups of identical flat machines on top of each other."""
    run: list[Slot] = []
    for slot in slots:
        if run and not _continues(run[-1], slot):
            yield from _split_group(run)
            run = []
        run.append(slot)
    if run:
        yield from _split_group(run)


def _continues(above: Slot, slot: Slot) -> bool:
    return slot.lowest + slot.units == above.lowest and slot._replace(lowest=0) == above._replace(lowest=0)


def _split_group(run: list[Slot]) -> Iterator[list[Slot]]:
    if len(run) >= GROUP_MIN and run[0].units <= FLAT_UNITS_MAX:
        yield run
    else:
        yield from ([slot] for slot in run)


def _free(top: int, lowest: int) -> Block:
    return Block(top, lowest, f"{top - lowest + 1} U free", is_free=True)


def _label(run: Sequence[Slot]) -> str:
    name = " ".join(dict.fromkeys(filter(None, (safe(run[0].name), safe(run[0].type)))))
    return name if len(run) == 1 else f"{len(run)} × {name}, {run[0].units} U each"


def _power(run: Sequence[Slot]) -> str:
    drawn = [slot.power_w for slot in run if slot.power_w is not None]
    if not drawn:
        return ""
    (shown,), unit = units.write_together([sum(drawn)], "w")
    return f"{shown} {unit}"


def list_notes(rack: RackSummary, left_out: Sequence[str]) -> Iterator[str]:
    """Yield what a diagram does not show or assumes."""
    if rack.units is None:
        yield "undeclared rack height"
    elif any(slot.lowest + slot.units - 1 > rack.units for slot in rack.slots):
        yield f"drawn above the rack, which has {rack.units} U"
    if rack.stacked and rack.slots:
        yield "undeclared positions are drawn from the bottom up"
    yield from (f"not drawn: {slot}" for slot in left_out)


# ---- feeds


def render_circuit(feed: FeedSummary) -> str:
    """Return a feed's name and the side with which it fails."""
    side = f" (side {safe(feed.side)})" if feed.side not in ("", feed.name) else ""
    return f"feed {safe(feed.name)}{side}"


def render_supply(feed: FeedSummary) -> str:
    """Return a feed's supply and its used power."""
    stated = safe(feed.supply) or "supply not declared"
    meter = Meter("load", "va", limit=feed.usable_va, least=feed.load_va and feed.load_va.expected)
    if not bars.is_known(meter):
        return stated
    taken = bars.render_figures(meter).removeprefix("at least ").removesuffix(", no limit declared")
    return f"{stated}: {taken}"


def render_loads(feed: FeedSummary) -> str:
    """Return the load of a feed's most loaded line today and after a side is lost; empty if unknown."""
    today, lost = _share(feed.load_share), _share(feed.lost_share)
    return ", ".join(filter(None, (today and f"line at {today}", lost and f"at {lost} with a side lost")))


def _share(share: Scenarios[float] | None) -> str:
    return "" if share is None else bars.render_percent(Meter("load", "ratio", limit=1, least=share.expected))
