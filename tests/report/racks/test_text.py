"""The drawing of a facility at a terminal: whole screens for facilities made by hand, and what must never happen to them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
import samples
from drawn_facilities import FEEDS, FIFTY, FOUR, OVERLOADED, PARTLY_KNOWN, alike, all_scenarios, at, every_facility
from hypothesis import given, settings, strategies

from gpulint.report import escaping
from gpulint.report.formats import summary_line
from gpulint.report.formats import text as formats_text
from gpulint.report.model import (
    AreaSummary,
    Comparison,
    FacilitySummary,
    FeedSummary,
    Lacking,
    Meter,
    RackSummary,
    Report,
    Scenarios,
    Slot,
)
from gpulint.report.racks import bars, svg
from gpulint.report.racks import text as racks_text

SCREEN = """\
garching: 1 rack, 4 servers  (room.yaml:3)

rack r01 in hall-1  (room.yaml:9)
   42 ┌────────────────────────────┐  power  40.8 of 17.3 kW  236 %
      │ 10 U free                  │  ███████████┃▓▓▓▓▓▓▓▓▓▓▓▓▓  exceeded
   32 ├────────────────────────────┤  cooling  45.2 kW, no limit declared
      │ dgx-h100           10.2 kW │  weight  522 of 1,000 kg  52 %
      │                            │  █████████████············  within
      │                            │  space  32 of 42 U  76 %
   24 ├────────────────────────────┤  ███████████████████······  within
      │ dgx-h100           10.2 kW │
      │                            │  feed a (side A): overloaded
      │                            │    208 V, 3 phases, 60 A: 20.6 of 17.3 kVA
   16 ├────────────────────────────┤    line at 119 %, at 238 % with a side lost
      │ dgx-h100           10.2 kW │  feed b (side B): overloaded
      │                            │    208 V, 3 phases, 60 A: 20.6 of 17.3 kVA
      │                            │    line at 119 %, at 238 % with a side lost
    8 ├────────────────────────────┤
      │ dgx-h100           10.2 kW │
      │                            │
      │                            │
      └────────────────────────────┘

bars: █ used  ┃ the limit  ▓ above the limit
"""

IN_ASCII = """\
garching: 1 rack, 4 servers  (room.yaml:3)

rack r01 in hall-1  (room.yaml:9)
   42 +----------------------------+  power  40.8 of 17.3 kW  236 %
      | 10 U free                  |  ###########|!!!!!!!!!!!!!  exceeded
   32 +----------------------------+  cooling  45.2 kW, no limit declared
      | dgx-h100           10.2 kW |  weight  522 of 1,000 kg  52 %
      |                            |  #############............  within
      |                            |  space  32 of 42 U  76 %
   24 +----------------------------+  ###################......  within
      | dgx-h100           10.2 kW |
      |                            |  feed a (side A): overloaded
      |                            |    208 V, 3 phases, 60 A: 20.6 of 17.3 kVA
   16 +----------------------------+    line at 119 %, at 238 % with a side lost
      | dgx-h100           10.2 kW |  feed b (side B): overloaded
      |                            |    208 V, 3 phases, 60 A: 20.6 of 17.3 kVA
      |                            |    line at 119 %, at 238 % with a side lost
    8 +----------------------------+
      | dgx-h100           10.2 kW |
      |                            |
      |                            |
      +----------------------------+

bars: # used  | the limit  ! above the limit
"""


NOT_TOLD = """\
lab: 1 rack, 3 servers  (room.yaml:3)

rack r02  (room.yaml:6)
    8 ┌────────────────────────────┐  power  at least 10.2 of 17.3 kW  59 %
      │ dgx-h100           10.2 kW │  ███████████████??????????  not evaluated
      │                            │  cooling  unknown
      │                            │  weight  ? of 1,000 kg
      └────────────────────────────┘  ?????????????????????????  not evaluated
      undeclared rack height          space  at least 8 U, no limit declared
      undeclared positions are drawn
      from the bottom up              feed a: not evaluated
      not drawn: 2 × box-x, whose       supply not declared
      units are not known

bars: █ used  ? unknown
"""


def uncertain() -> RackSummary:
    """A rack whose load is an estimate, within its limit in two scenarios of three."""
    power = Meter("power", "w", Scenarios(9_000, 10_000, 13_000), 12_000, verdict="likely within")
    return RackSummary("r03", "", at(7), units=4, servers=1, slots=(Slot("gb-box", 1, 4),), meters=(power,))


ESTIMATED = """\
lab: 1 rack, 1 server  (room.yaml:3)

rack r03  (room.yaml:7)
    4 ┌────────────────────────────┐  power  10 of 12 kW  75 to 108 %
      │ gb-box                     │  █████████████████▒▒▒▒▒▒┃▒  likely within
      └────────────────────────────┘

bars: █ used  ┃ the limit  ▒ best to worst case
"""


@pytest.mark.parametrize(
    ("facility", "screen"),
    [
        (OVERLOADED, SCREEN),
        (PARTLY_KNOWN, NOT_TOLD),
        (FacilitySummary("lab", at(3), racks=(uncertain(),)), ESTIMATED),
    ],
    ids=["overloaded", "partly known", "estimated"],
)
def test_a_rack_stands_beside_what_it_takes_of_each_limit(facility: FacilitySummary, screen: str) -> None:
    assert racks_text.render((facility,)) == screen


def test_a_terminal_without_unicode_gets_the_same_screen_in_ascii() -> None:
    assert racks_text.render((OVERLOADED,), bars.ASCII) == IN_ASCII


def test_what_no_ascii_character_is_for_is_replaced_one_by_one() -> None:
    assert escaping.convert_to_ascii("2 × ä … → 5 µs\n") == "2 x ? ~ > 5 us\n"


# ---- a room


ROOM = """\
campus: 50 racks, 103 servers  (room.yaml:3)

facility        power    ████····  1 of 2 MW  50 %               within
room hall       cooling  ██████??  at least 0.9 of 1.2 MW  75 %  not evaluated
panel rpp-1     power    ██████┃▓  90 of 80 kW  112 %            exceeded

rack             power        cooling      weight       space        feeds
hall/row-a
  r01 to r24 ×24 ███·· 59 %   ███·· 56 %   no limit     ██··· 38 %   holds
hall/row-b
  r25 to r48 ×24 ███·· 59 %   ███·· 56 %   no limit     ██··· 38 %   holds
  r49            ██┃▓▓ 236 %  no limit     ███·· 52 %   ████· 76 %   overloaded
  r50            ███?? 59+ %  ?            ?????        no limit     ?
"""


def test_a_room_has_a_line_for_each_limit_above_racks_and_one_for_each_kind_of_rack() -> None:
    assert racks_text.render((FIFTY,)).startswith(ROOM)


def test_racks_that_are_alike_are_drawn_once() -> None:
    drawn = [line for line in racks_text.render((FIFTY,)).splitlines() if line.startswith("rack ")][1:]
    assert drawn == [
        "rack r01 to r24 in hall/row-a, 24 alike  (room.yaml:10)",
        "rack r25 to r48 in hall/row-b, 24 alike  (room.yaml:20)",
        "rack r49 in hall/row-b  (room.yaml:9)",
        "rack r50 in hall/row-b  (room.yaml:6)",
    ]


def test_of_many_unlike_racks_the_worst_are_drawn_and_the_others_counted() -> None:
    good = [alike(f"r{number}", "row", number)._replace(servers=number) for number in range(1, 10)]
    many = FacilitySummary("campus", at(1), racks=(*good, FOUR))
    text = racks_text.render((many,))
    drawn = [line.split()[1] for line in text.splitlines() if line.startswith("rack ")][1:]
    assert drawn == ["r1", "r2", "r3", "r4", "r5", "r01"]
    assert "4 more racks are not drawn; --rack NAME draws one" in text


def test_a_rack_that_is_asked_for_is_drawn_alone() -> None:
    text = racks_text.render((FIFTY,), only=("r49",))
    assert [line for line in text.splitlines() if line.startswith("rack ")][1:] == [
        "rack r49 in hall/row-b  (room.yaml:9)"
    ]


@pytest.mark.parametrize(
    ("meters", "feeds", "said"),
    [
        ((), (), "none over a limit"),
        ((Meter("power", "w", all_scenarios(2), 1, verdict="exceeded"),), (), "1 over a limit"),
        ((), FEEDS, "1 over a limit"),
        ((), (FEEDS[0]._replace(verdict="likely no spare"),), "none over a limit, 1 likely over one"),
        ((Meter("weight", "kg", all_scenarios(2)),), (), "none over a limit"),
        ((Meter("weight", "kg", None, 3),), (), "none over a limit, 1 unknown"),
        ((), (FEEDS[0]._replace(verdict="not evaluated"),), "none over a limit, 1 unknown"),
        ((), (FEEDS[0]._replace(verdict="not redundant"),), "none over a limit"),
    ],
)
def test_a_check_says_in_one_line_how_many_racks_are_over_a_limit(
    meters: tuple[Meter, ...], feeds: tuple[FeedSummary, ...], said: str
) -> None:
    rack = RackSummary("r1", "", at(2), servers=2, meters=meters, feeds=feeds)
    report = Report(facilities=(FacilitySummary("lab", at(1), racks=(rack,)),))
    expected = f"facility lab: 1 rack, 2 servers, {said}"
    assert list(summary_line.render_closing(report)) == ["0 files, 0 workloads, no findings", expected]


def test_a_room_over_its_limit_is_counted_beside_racks_that_are_not() -> None:
    hall = AreaSummary("room", "hall", at(1), (Meter("cooling", "w", all_scenarios(2), 1, verdict="exceeded"),))
    facility = FacilitySummary("lab", at(1), (hall,), (RackSummary("r1", "", at(2)),))
    assert summary_line.render_facility(facility).endswith("none over a limit, 1 room over its own limit")


def test_what_a_change_leaves_alone_is_no_line_of_it() -> None:
    report = Report(facilities=(OVERLOADED,), comparison=Comparison("main", "HEAD"))
    assert list(summary_line.render_closing(report)) == ["0 files, 0 workloads, no findings"]


def test_machines_of_one_type_make_racks_alike_whatever_they_are_called() -> None:
    pair = [
        RackSummary(
            f"r{rack}",
            "",
            at(rack),
            units=2,
            slots=tuple(Slot(f"n{rack}{unit}", unit, 1, 500, "box") for unit in (1, 2)),
        )
        for rack in (1, 2)
    ]
    text = racks_text.render((FacilitySummary("lab", at(1), racks=tuple(pair)),))
    assert "rack r1 to r2, 2 alike" in text and "n11" not in text
    alone = racks_text.render((FacilitySummary("lab", at(1), racks=tuple(pair[:1])),))
    assert "│ n11 box              500 W │" in alone


def test_racks_whose_feeds_are_called_after_them_are_alike() -> None:
    feeds = (FEEDS[0]._replace(name="NAME-A", side="NAME-A"), FEEDS[1]._replace(name="NAME-B", side="NAME-B"))
    both = [
        FOUR._replace(name=name, feeds=tuple(one._replace(name=one.name.replace("NAME", name)) for one in feeds))
        for name in ("r1", "r2")
    ]
    unalike = both[1]._replace(feeds=(both[1].feeds[0]._replace(verdict="holds"), both[1].feeds[1]))
    drawn = racks_text.render((FacilitySummary("lab", at(1), racks=tuple(both)),))
    assert "rack r1 to r2 in hall-1, 2 alike" in drawn and "feed A (side NAME-A): overloaded" in drawn
    assert "alike" not in racks_text.render((FacilitySummary("lab", at(1), racks=(both[0], unalike)),))


def test_what_checks_of_parts_lack_is_summed_up_over_them() -> None:
    parts = tuple(f"r{number}" for number in range(1, 51))
    lacking = (Lacking("rack-over-circuit", ("breaker_a",), parts), Lacking("other", ("breaker_a",), ("r1",)))
    report = Report(facilities=(FacilitySummary("lab", at(1), not_evaluated=lacking),), asks={"breaker_a": "state it"})
    assert list(summary_line.render_needs(report)) == [
        "not evaluated: 51 checks; to evaluate them, add",
        "  breaker_a (51 checks: r1; r2 and 48 more): state it",
    ]


# ---- what must never happen


@pytest.mark.parametrize("facility", every_facility(), ids=lambda one: one.name[:10])
@pytest.mark.parametrize("glyphs", [bars.BLOCKS, bars.ASCII], ids=["blocks", "ascii"])
def test_no_line_is_wider_than_a_terminal_of_80_columns(facility: FacilitySummary, glyphs: bars.Glyphs) -> None:
    assert [line for line in racks_text.render((facility,), glyphs).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("facility", every_facility(), ids=lambda one: one.name[:10])
def test_no_character_of_a_file_moves_the_cursor(facility: FacilitySummary) -> None:
    text = racks_text.render((facility,))
    assert all(one.isprintable() for one in text.replace("\n", ""))


@pytest.mark.parametrize("facility", every_facility(), ids=lambda one: one.name[:10])
def test_colour_adds_nothing_but_colour(facility: FacilitySummary) -> None:
    painted = racks_text.render((facility,), colour=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == racks_text.render((facility,))
    assert "\x1b[31;1m" in painted or facility not in (OVERLOADED, FIFTY)


def test_machines_that_stand_in_one_another_are_named_and_not_drawn_over_each_other() -> None:
    rack = RackSummary("r1", "", at(1), units=8, slots=(Slot("one", 1, 4), Slot("two", 3, 4)))
    text = racks_text.render((FacilitySummary("lab", at(1), racks=(rack,)),))
    assert "not drawn: one at U 1, occupied by two" in " ".join(text.split())


def test_a_run_of_flat_machines_is_one_block() -> None:
    trays = tuple(Slot("tray", number, 1, 5_000) for number in range(1, 19))
    rack = RackSummary("r1", "", at(1), units=18, slots=trays)
    text = racks_text.render((FacilitySummary("lab", at(1), racks=(rack,)),))
    assert text.count("tray") == 1
    assert "│ 18 × tray, 1 U each  90 kW │" in text


OF_METERS = strategies.sampled_from(["within", "likely within", "likely exceeded", "exceeded", "not evaluated"])
OF_FEEDS = strategies.sampled_from(["holds", "not redundant", "likely no spare", "likely overloaded", "not evaluated"])
NUMBERS = strategies.one_of(strategies.none(), strategies.floats(0, 1e12))
SPANS = strategies.one_of(
    strategies.none(), strategies.builds(Scenarios, *[strategies.floats(0, 1e12, allow_subnormal=False)] * 3)
)
METERS = strategies.builds(
    Meter,
    strategies.text(),
    strategies.sampled_from(["w", "va", "kg", "u"]),
    SPANS,
    NUMBERS,
    NUMBERS,
    strategies.booleans(),
    OF_METERS,
)
SLOTS = strategies.builds(Slot, strategies.text(), strategies.integers(-5, 90), strategies.integers(-1, 60), NUMBERS)
CIRCUITS = strategies.builds(FeedSummary, *[strategies.text()] * 3, NUMBERS, SPANS, SPANS, SPANS, OF_FEEDS)
RACKS = strategies.builds(
    RackSummary,
    strategies.text(),
    strategies.text(),
    strategies.just(at(1)),
    strategies.one_of(strategies.none(), strategies.integers(0, 60)),
    strategies.integers(0, 9),
    strategies.lists(SLOTS, max_size=6).map(tuple),
    strategies.booleans(),
    strategies.lists(strategies.text(), max_size=2).map(tuple),
    strategies.lists(METERS, max_size=4).map(tuple),
    strategies.lists(CIRCUITS, max_size=3).map(tuple),
)


@pytest.mark.sweep
@settings(max_examples=60, deadline=None)
@given(strategies.lists(RACKS, max_size=4))
def test_whatever_racks_are_like_they_are_drawn(some: list[RackSummary]) -> None:
    facility = FacilitySummary("lab", at(1), racks=tuple(some))
    assert all(len(line) <= 80 for line in racks_text.render((facility,)).splitlines())
    ElementTree.fromstring(svg.render((facility,)))


# ---- bars


@pytest.mark.parametrize(
    ("meter", "cells"),
    [
        (Meter("power", "w", all_scenarios(0), 10, verdict="within"), ".........."),
        (Meter("power", "w", all_scenarios(10), 10, verdict="within"), "##########"),
        (Meter("power", "w", all_scenarios(10.01), 10, verdict="exceeded"), "########|!"),
        (Meter("power", "w", all_scenarios(20), 10, verdict="exceeded"), "#####|!!!!"),
        (Meter("power", "w", all_scenarios(1000), 10, verdict="exceeded"), "|!!!!!!!!!"),
        (Meter("power", "w", Scenarios(2, 4, 6), 10, verdict="within"), "##~~~~...."),
        (Meter("power", "w", Scenarios(5, 9, 20), 10, verdict="likely within"), "##~~~|~~~~"),
        (Meter("power", "w", Scenarios(15, 16, 20), 10, verdict="exceeded"), "#####|!!~~"),
        (Meter("power", "w", None, 10, least=5), "#####?????"),
        (Meter("power", "w", None, 10, least=20, verdict="exceeded"), "#####|!!!!"),
        (Meter("power", "w", None, 10), "??????????"),
        (Meter("power", "w", all_scenarios(10), None), ""),
        (Meter("power", "w", all_scenarios(0), 0, verdict="within"), ".........."),
        (Meter("power", "w", all_scenarios(1), 0, verdict="exceeded"), "|!!!!!!!!!"),
    ],
)
def test_a_bar_shows_what_is_sure_what_may_be_and_where_the_limit_is(meter: Meter, cells: str) -> None:
    assert bars.draw(meter, 10, bars.ASCII) == cells


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        (50, "50 %"),
        (99.9, "99 %"),
        (100, "100 %"),
        (100.1, "101 %"),
        (0, "0 %"),
        (99.4, "99 %"),
        (100_000, "100,000 %"),
    ],
)
def test_a_share_is_a_hundred_percent_only_where_the_limit_is_met_exactly(taken: float, said: str) -> None:
    assert bars.render_percent(Meter("power", "w", all_scenarios(taken), 100)) == said


def test_what_is_said_of_many_racks_is_printed_once_and_counted_in_full() -> None:
    """Two entries of the file, so that the findings have places of their own."""
    rack = "    - {name: NAME, units: 42, servers: [{type: big, units: 8, count: 6}]}\n"
    head = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: ams1}\nspec:\n  racks:\n"
    text = head + "".join(rack.replace("NAME", f"r{number}") for number in range(1, 7))
    printed = formats_text.render(samples.report(text, path="facility.yaml"))
    assert printed.count("error[rack-units-exceeded]") == 1
    assert "  the same in r2 (7), r3 (8), r4 (9) and 2 more\n" in printed
    assert "6 errors" in printed
