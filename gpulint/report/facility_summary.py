"""Summary of a facility: how much of the limits of its racks, feeds and areas is taken."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from gpulint.report.fact import Facts, Scenarios
from gpulint.report.json_keys import Inlined, Items, Key, Words
from gpulint.report.location import Location
from gpulint.report.verdicts import NOT_EVALUATED

LIMITS = Words(("within", "likely within", "likely exceeded", "exceeded", NOT_EVALUATED))
LOADS = Words(
    (
        "holds",
        "likely holds",
        "not redundant",
        "likely no spare",
        "no spare",
        "likely overloaded",
        "overloaded",
        NOT_EVALUATED,
    )
)


class Meter(NamedTuple):
    """How much of one limit is taken, in base units; null: it is not known."""

    name: str
    """power, cooling, weight, space …"""
    unit: str
    """w, kg, u …"""
    taken: Scenarios[float] | None = None
    limit: float | None = None
    least: float | None = None
    """What the known components take, if others are not known."""
    usual: bool = False
    """The limit is not stated; it is what is usual for its kind."""
    verdict: Annotated[str, LIMITS] = NOT_EVALUATED
    needs: tuple[str, ...] = ()
    """The quantities that would have to be stated."""


class Slot(NamedTuple):
    """One machine in a rack."""

    name: str
    lowest: int
    """Its lowest rack unit."""
    units: int
    power_w: float | None = None
    """The most that it draws."""
    type: str = ""
    """As the catalog or the file lists it; empty: not stated."""


class FeedSummary(NamedTuple):
    """A circuit into a rack: its load, and the shares that its most loaded line carries."""

    name: str
    side: str
    """Feeds of one side fail together."""
    supply: str = ""
    usable_va: float | None = None
    load_va: Scenarios[float] | None = None
    load_share: Scenarios[float] | None = None
    """The share of what is usable."""
    lost_share: Scenarios[float] | None = None
    """The same after the worst loss of another side."""
    verdict: Annotated[str, LOADS] = NOT_EVALUATED
    """`no spare`: it would be overloaded after a loss, and redundancy is promised."""
    needs: tuple[str, ...] = ()


class RackSummary(NamedTuple):
    """What was understood of a rack."""

    name: str
    place: str
    """The names of the components above it."""
    location: Annotated[Location, Inlined(("line",))]
    units: int | None = None
    servers: int = 0
    slots: tuple[Slot, ...] = ()
    stacked: bool = False
    """No position is stated: the slots are drawn from the bottom up."""
    undrawn: tuple[str, ...] = ()
    """What has no place in the rack diagram."""
    meters: tuple[Meter, ...] = ()
    feeds: tuple[FeedSummary, ...] = ()


class AreaSummary(NamedTuple):
    """A component that holds or feeds several racks, such as a room or a panel."""

    kind: str
    name: str
    location: Annotated[Location, Inlined(("line",))]
    meters: tuple[Meter, ...] = ()


class Lacking(NamedTuple):
    """A rule that lacked the same facts of several components."""

    rule: str
    needs: Annotated[tuple[str, ...], Items(1)]
    parts: Annotated[tuple[str, ...], Items(1)]


class FacilitySummary(NamedTuple):
    """What was understood of a facility."""

    name: str
    location: Annotated[Location, Inlined(("path", "line"))]
    areas: tuple[AreaSummary, ...] = ()
    """The facility itself, its sites and rooms, and what feeds or cools them."""
    racks: tuple[RackSummary, ...] = ()
    not_evaluated: tuple[Lacking, ...] = ()
    year: Annotated[Facts, Key("facts")] = ()
    """Power idle, busy and on average; energy and cost of a year."""
