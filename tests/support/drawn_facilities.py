"""Facilities made by hand, for tests of drawings."""

from __future__ import annotations

from gpulint.report.model import (
    AreaSummary,
    FacilitySummary,
    FeedSummary,
    Location,
    Meter,
    RackSummary,
    Scenarios,
    Slot,
)


def at(line: int) -> Location:
    return Location("room.yaml", line, 1, line, 2)


def all_scenarios(value: float) -> Scenarios[float]:
    return Scenarios(value, value, value)


def dgx(lowest: int) -> Slot:
    return Slot("dgx-h100", lowest, 8, 10_200)


FEEDS = tuple(
    FeedSummary(
        name,
        side,
        "208 V, 3 phases, 60 A",
        17_292.6,
        all_scenarios(20_606),
        all_scenarios(20_606 / 17_292.6),
        all_scenarios(41_212 / 17_292.6),
        "overloaded",
    )
    for name, side in (("a", "A"), ("b", "B"))
)
FOUR = RackSummary(
    "r01",
    "hall-1",
    at(9),
    units=42,
    servers=4,
    slots=tuple(map(dgx, (1, 9, 17, 25))),
    meters=(
        Meter("power", "w", all_scenarios(40_800), 17_292.6, verdict="exceeded"),
        Meter("cooling", "w", all_scenarios(45_200), needs=("cooling_capacity_w",)),
        Meter("weight", "kg", all_scenarios(522), 1000, verdict="within"),
        Meter("space", "u", all_scenarios(32), 42, verdict="within"),
    ),
    feeds=FEEDS,
)
"""Four DGX H100 on two circuits of 17.3 kVA: each is overloaded while both are up."""
OVERLOADED = FacilitySummary("garching", at(3), racks=(FOUR,))
PARTLY_KNOWN = FacilitySummary(
    "lab",
    at(3),
    racks=(
        RackSummary(
            "r02",
            "",
            at(6),
            servers=3,
            slots=(dgx(1),),
            stacked=True,
            undrawn=("2 × box-x, whose units are not known",),
            meters=(
                Meter("power", "w", None, 17_292.6, least=10_200, needs=("server_w",)),
                Meter("cooling", "w", needs=("server_heat_w",)),
                Meter("weight", "kg", None, 1000, needs=("server_weight_kg",)),
                Meter("space", "u", None, least=8, needs=("rack_units", "server_units")),
            ),
            feeds=(FeedSummary("a", "a", needs=("feed_voltage_v",)),),
        ),
    ),
)
"""A rack of which the units, two of its machines and its circuit's voltage are not stated."""


def alike(name: str, row: str, line: int) -> RackSummary:
    """A rack that is in order."""
    holds = [
        FeedSummary(one, one, "415 V", 34_500, all_scenarios(10_303), all_scenarios(0.3), all_scenarios(0.6), "holds")
        for one in "AB"
    ]
    return RackSummary(
        name,
        f"hall/{row}",
        at(line),
        units=42,
        servers=2,
        slots=(dgx(1), dgx(9)),
        meters=(
            Meter("power", "w", all_scenarios(20_400), 34_500, verdict="within"),
            Meter("cooling", "w", all_scenarios(22_600), 40_000, verdict="within"),
            Meter("weight", "kg", all_scenarios(261), needs=("rack_load_limit_kg",)),
            Meter("space", "u", all_scenarios(16), 42, verdict="within"),
        ),
        feeds=tuple(holds),
    )


FIFTY = FacilitySummary(
    "campus",
    at(3),
    areas=(
        AreaSummary(
            "facility", "campus", at(3), (Meter("power", "w", Scenarios(1e6, 1e6, 1e6), 2e6, verdict="within"),)
        ),
        AreaSummary("room", "hall", at(4), (Meter("cooling", "w", None, 1.2e6, least=9e5, needs=("server_heat_w",)),)),
        AreaSummary("panel", "rpp-1", at(5), (Meter("power", "w", all_scenarios(90_000), 80_000, verdict="exceeded"),)),
        AreaSummary("cdu", "cdu-1", at(5), (Meter("flow", "m3_per_s", needs=("server_flow_m3_per_s",)),)),
    ),
    racks=(
        *(alike(f"r{number:02}", "row-a", 10) for number in range(1, 25)),
        *(alike(f"r{number:02}", "row-b", 20) for number in range(25, 49)),
        FOUR._replace(name="r49", place="hall/row-b"),
        PARTLY_KNOWN.racks[0]._replace(name="r50", place="hall/row-b"),
    ),
)


def every_facility() -> list[FacilitySummary]:
    nasty = "a\x1b[31m\u202e\n" + "ä" * 100
    strange = RackSummary(
        nasty,
        nasty,
        at(1),
        units=10,
        slots=(
            Slot(nasty, 1, 4, 1e9),
            Slot("over", 3, 4),
            Slot("beyond", 9, 30),
            Slot("flat", 20, 0),
            Slot("below", -3, 2),
        ),
        undrawn=(nasty,),
        meters=(
            Meter(nasty, "w", all_scenarios(0), 0),
            Meter("x", "kg", all_scenarios(1e12), 1e-9, verdict="exceeded"),
        ),
        feeds=(
            FeedSummary(nasty, nasty, nasty, 0, all_scenarios(0), all_scenarios(1e9), all_scenarios(1e9), "no spare"),
        ),
    )
    area = AreaSummary(nasty, nasty, at(1), (Meter(nasty, "w", all_scenarios(1), 2),))
    empty = RackSummary("empty", "", at(1))
    return [
        OVERLOADED,
        PARTLY_KNOWN,
        FIFTY,
        FacilitySummary(nasty, at(1), (area,), (strange, empty)),
        FacilitySummary("nothing", at(1)),
    ]
