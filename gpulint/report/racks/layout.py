"""Racks: what a terminal and a drawing show alike: the blocks of an elevation, which racks are alike, which are worst."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.report.formats.escaping import safe
from gpulint.report.model import FacilitySummary, FeedSummary, Meter, RackSummary, Slot, Worlds
from gpulint.report.racks import bars

FLAT = 2
"""Machines of so many units are one block where several alike stand on one another."""
SEVERAL = 3
OVER = ("exceeded", "overloaded", "no spare")
RANKS = (*OVER, *(f"likely {verdict}" for verdict in OVER), "cannot tell")
"""Verdicts, the worst first; what is not listed is in order."""


class Block(NamedTuple):
    """Units of a rack that hold a machine, several flat ones alike, or none."""

    top: int
    lowest: int
    label: str
    power: str = ""
    is_free: bool = False

    @property
    def units(self) -> int:
        return self.top - self.lowest + 1


class Drawn(NamedTuple):
    """Racks that are alike, drawn once."""

    rack: RackSummary
    last: str
    number: int

    @property
    def title(self) -> str:
        """The name, or the first and the last."""
        return safe(self.rack.name if self.number == 1 else f"{self.rack.name} to {self.last}")


def alike(racks: Sequence[RackSummary]) -> list[Drawn]:
    """Racks in their order; those that follow one another and differ by names alone are one."""
    groups = [list(group) for _, group in itertools.groupby(racks, _substance)]
    return [Drawn(_typed(group[0]) if len(group) > 1 else group[0], group[-1].name, len(group)) for group in groups]


def _substance(rack: RackSummary) -> RackSummary:
    """A rack without its name and line, and without the names of machines that have a type and of feeds that hold its own."""
    nowhere = rack.location._replace(line=1, column=1, end_line=1, end_column=1, text="", path="")
    return _typed(rack)._replace(name="", location=nowhere)


def _typed(rack: RackSummary) -> RackSummary:
    """A rack whose machines are called by their types, and whose feeds are called without its name."""
    slots = tuple(one._replace(name=one.type or one.name) for one in rack.slots)
    feeds = (one._replace(name=_own(one.name, rack.name), side=_own(one.side, rack.name)) for one in rack.feeds)
    return rack._replace(slots=slots, feeds=tuple(feeds))


def _own(name: str, rack: str) -> str:
    """What a name says beside that of the rack, as A in r01-A."""
    return name.replace(rack, "").strip("-_ ./:") or name


def chosen(racks: Sequence[RackSummary], only: Sequence[str]) -> list[Drawn]:
    """The racks that are asked for, else all, those that are alike together."""
    return alike([one for one in racks if not only or any(is_called(one, name) for name in only)])


def first(kinds: Sequence[Drawn], most: int) -> list[Drawn]:
    """The worst of many, in their order."""
    worst = sorted(range(len(kinds)), key=lambda at: rank(kinds[at].rack))[:most]
    return [kinds[at] for at in sorted(worst)]


def is_called(rack: RackSummary, name: str) -> bool:
    """Whether a name is that of a rack, with or without the parts above."""
    return name in (rack.name, f"{rack.place}/{rack.name}")


def areas(one: FacilitySummary) -> Iterator[tuple[str, Meter]]:
    """What is shown of what holds or feeds racks: its limits, and of several racks the sums; each with the name of its part."""
    for area in one.areas:
        for meter in area.meters:
            if area.kind == "facility" and bars.tells(meter) and len(one.racks) > 1:
                yield area.kind, meter
            elif meter.limit is not None:
                yield safe(f"{area.kind} {area.name}"), meter


def rank(rack: RackSummary) -> int:
    """How bad the worst of a rack is: 0 is the worst; what has no limit is in order."""
    said = [one.verdict for one in rack.meters if one.limit is not None] + [one.verdict for one in rack.feeds]
    return min(map(level, said), default=len(RANKS))


def worst(rack: RackSummary) -> str:
    """The worst verdict of a rack; empty where all is in order."""
    return (*RANKS, "")[rank(rack)]


def level(verdict: str) -> int:
    """How bad a verdict is: 0 is the worst."""
    return RANKS.index(verdict) if verdict in RANKS else len(RANKS)


def worst_feed(rack: RackSummary) -> FeedSummary | None:
    """The feed with the worst verdict."""
    return min(rack.feeds, key=lambda one: level(one.verdict), default=None)


# ---- elevation


def standing(rack: RackSummary) -> tuple[list[Slot], list[str]]:
    """The slots that can be drawn from the top down, and in words what cannot."""
    kept: list[Slot] = []
    left_out = [*map(safe, rack.undrawn)]
    for one in sorted(rack.slots, key=lambda slot: (-(slot.lowest + slot.units), slot.name)):
        if one.units < 1 or one.lowest < 1:
            left_out.append(f"{safe(one.name)} at U {one.lowest}")
        elif kept and one.lowest + one.units > kept[-1].lowest:
            left_out.append(f"{safe(one.name)} at U {one.lowest}, where {safe(kept[-1].name)} stands")
        else:
            kept.append(one)
    return kept, left_out


def blocks(slots: Sequence[Slot], height: int | None) -> Iterator[Block]:
    """The rack from the top down, with what is free."""
    above = height
    for run in _runs(slots):
        top, lowest = run[0].lowest + run[0].units - 1, run[-1].lowest
        if above is not None and above > top:
            yield _free(above, top + 1)
        yield Block(top, lowest, _label(run), _power(run))
        above = lowest - 1
    if above:
        yield _free(above, 1)


def _runs(slots: Sequence[Slot]) -> Iterator[list[Slot]]:
    """Slots one by one, or together where several flat ones alike stand on one another."""
    run: list[Slot] = []
    for one in slots:
        if run and not _continues(run[-1], one):
            yield from _folded(run)
            run = []
        run.append(one)
    if run:
        yield from _folded(run)


def _continues(above: Slot, one: Slot) -> bool:
    return one.lowest + one.units == above.lowest and one._replace(lowest=0) == above._replace(lowest=0)


def _folded(run: list[Slot]) -> Iterator[list[Slot]]:
    if len(run) >= SEVERAL and run[0].units <= FLAT:
        yield run
    else:
        yield from ([one] for one in run)


def _free(top: int, lowest: int) -> Block:
    return Block(top, lowest, f"{top - lowest + 1} U free", is_free=True)


def _label(run: Sequence[Slot]) -> str:
    name = " ".join(dict.fromkeys(filter(None, (safe(run[0].name), safe(run[0].type)))))
    return name if len(run) == 1 else f"{len(run)} × {name}, {run[0].units} U each"


def _power(run: Sequence[Slot]) -> str:
    drawn = [one.power_w for one in run if one.power_w is not None]
    if not drawn:
        return ""
    (shown,), unit = units.beside([sum(drawn)], "w")
    return f"{shown} {unit}"


def notes(rack: RackSummary, left_out: Sequence[str]) -> Iterator[str]:
    """What an elevation does not show, or assumes."""
    if rack.units is None:
        yield "height of the rack not stated"
    elif any(one.lowest + one.units - 1 > rack.units for one in rack.slots):
        yield f"drawn beyond the rack, which has {rack.units} U"
    if rack.stacked and rack.slots:
        yield "positions that are not stated are drawn from the bottom up"
    yield from (f"not drawn: {one}" for one in left_out)


# ---- feeds


def circuit(one: FeedSummary) -> str:
    """A feed by its name and the side that it fails with."""
    side = f" (side {safe(one.side)})" if one.side not in ("", one.name) else ""
    return f"feed {safe(one.name)}{side}"


def supply(one: FeedSummary) -> str:
    """What a feed is, and what of its power is taken."""
    stated = safe(one.supply) or "supply not stated"
    meter = Meter("load", "va", limit=one.usable_va, least=one.load_va and one.load_va.likely)
    if not bars.tells(meter):
        return stated
    taken = bars.figures(meter).removeprefix("at least ").removesuffix(", no limit stated")
    return f"{stated}: {taken}"


def loads(one: FeedSummary) -> str:
    """What the most loaded line of a feed carries today and after the loss of another side; empty where neither is known."""
    today, lost = _share(one.load_share), _share(one.lost_share)
    return ", ".join(filter(None, (today and f"line at {today}", lost and f"at {lost} with a side lost")))


def _share(share: Worlds[float] | None) -> str:
    return "" if share is None else bars.percent(Meter("load", "ratio", limit=1, least=share.likely))
