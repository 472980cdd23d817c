"""Electricity of a facility: published circuits, what feeds carry before and after a loss, and what must stay silent."""

from __future__ import annotations

import itertools
import math

import pytest
import samples

from gpulint.adapters.native import facility
from gpulint.facility.model import ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.policy.rules import facility as rules_facility
from gpulint.report.model import Severity
from gpulint.sizing.power import circuits, failover, three_phase
from gpulint.sizing.power._feed_loads import Draw
from gpulint.source import documents


def spec(inside: str) -> str:
    return f"apiVersion: gpulint/v1\nkind: Facility\nmetadata: {{name: ams1}}\nspec:\n{inside}"


def known(inside: str) -> ComponentFacts:
    (document,) = documents.load("facility.yaml", spec(inside).encode()).documents
    described = facility.read_facility(document)
    assert described is not None
    return rules_facility.resolve_facts(described, {})


def of(kind: str, inside: str) -> ComponentFacts:
    return known(inside).list_components(kind)[0]


def rack(feeds: str, servers: str, more: str = "redundancy: 2N") -> str:
    return f"  racks:\n    - name: r12\n      {more}\n      feeds: {feeds}\n      servers: {servers}\n"


def said(inside: str) -> dict[str, Severity]:
    """The rules that speak, of the family that is tested here."""
    found = samples.report(spec(inside), path="facility.yaml")
    assert found.failures == ()
    assert [one for one in found.findings if one.rule == "invalid-spec"] == []
    return {one.rule: one.severity for one in found.findings if one.family == "power"}


# ---- circuits, as published


@pytest.mark.parametrize(
    ("volts", "phase", "amps", "kva"),
    [  # HP power basics note, table of circuits at 80 %
        (120, 1, 20, 1.92),
        (120, 1, 30, 2.88),
        (208, 1, 30, 4.99),
        (240, 1, 30, 5.76),
        (208, 3, 20, 5.76),
        (208, 3, 30, 8.65),
        (208, 3, 60, 17.3),
        (230, 1, 32, 7.36),
        (230, 1, 63, 14.49),
        (400, 3, 32, 22.17),
        (400, 3, 63, 43.65),
    ],
)
def test_circuits_carry_what_their_tables_say(volts: int, phase: int, amps: int, kva: float) -> None:
    code = {"240": "code: NEC"}.get(str(volts), "redundancy: N")
    feed = f"[{{voltage: {volts} V, phases: {phase}, breaker: {amps} A}}]"
    assert of("feed", rack(feed, "[]", code)).expected("feed_usable_va") == pytest.approx(kva * 1000, rel=0.002)


@pytest.mark.parametrize(
    ("stated", "scenarios"),
    [
        ("voltage: 415 V, code: NEC", (48, 48, 48)),
        ("voltage: 415 V, code: IEC", (60, 60, 60)),
        ("voltage: 415 V", (60, 48, 48)),
        ("voltage: 208 V, derating: 100 %", (60, 60, 60)),
        ("voltage: 400 V, derating: 0.8", (48, 48, 48)),
        ("voltage: 208 V, pdu_amps: 24 A", (24, 24, 24)),
    ],
)
def test_a_breaker_carries_all_day_what_its_code_says(stated: str, scenarios: tuple[float, ...]) -> None:
    feed = of("feed", rack(f"[{{{stated}, phases: 3, breaker: 60 A}}]", "[]"))
    assert feed.scenarios("feed_usable_a") == scenarios


def test_the_code_of_a_room_holds_for_its_feeds() -> None:
    inside = "  rooms:\n    - name: hall\n      code: IEC\n      racks:\n        - name: r1\n          feeds:\n"
    inside += "            - {voltage: 415 V, phases: 3, breaker: 32 A}\n"
    assert of("feed", inside).scenarios("feed_usable_a") == (32, 32, 32)


def test_80_percent_of_a_breaker_is_not_taken_for_a_breaker() -> None:
    feed = of("feed", rack("[{voltage: 208 V, phases: 3, breaker: 24 A}]", "[]"))
    assert isinstance(feed.scenarios("feed_usable_a"), Missing)


def test_230_volts_on_three_phases_are_asked_about_unless_wired_in_delta() -> None:
    stated = "voltage: 230 V, phases: 3, breaker: 32 A"
    assert isinstance(of("feed", rack(f"[{{{stated}}}]", "[]")).scenarios("feed_usable_va"), Missing)
    delta = of("feed", rack(f"[{{{stated}, wiring: delta}}]", "[]"))
    assert delta.expected("feed_usable_va") == pytest.approx(12748, rel=0.001)


# ---- lines


@pytest.mark.parametrize("count", range(1, 13))
@pytest.mark.parametrize("line_v", [208, 400])
def test_an_even_spread_is_the_best_of_all_spreads(count: int, line_v: int) -> None:
    """Every assignment of supplies to three phases, by the law of cosines between lines and by the neutral above."""
    draws = ((Draw("A", 1000.0 * count, float(count)),),)
    splits = [(a, b, count - a - b) for a in range(count + 1) for b in range(count + 1 - a)]
    best = min(max(lines(split, line_v)) for split in splits)
    assert three_phase.feed_line_a("A", 3, line_v, 1.0, draws) == pytest.approx(best)


def lines(split: tuple[int, ...], line_v: int) -> list[float]:
    if line_v == 400:
        return [1000 * one * math.sqrt(3) / line_v for one in split]
    pairs = itertools.combinations(split, 2)
    return [1000 * math.sqrt(a * a + b * b + a * b) / line_v for a, b in pairs]


@pytest.mark.parametrize("line_v", [208, 400])
@pytest.mark.parametrize(
    "groups", [((4, 900), (3, 2000)), ((5, 700), (2, 3100)), ((1, 3000), (1, 1000)), ((3, 1500), (4, 400))]
)
def test_no_spread_of_two_kinds_of_supplies_is_better_than_the_bound(
    groups: tuple[tuple[int, int], ...], line_v: int
) -> None:
    """Every assignment of every supply to a phase."""
    draws = tuple((Draw("A", float(count * watts), float(count)),) for count, watts in groups)
    supplies = [watts for count, watts in groups for _ in range(count)]
    best = min(
        max(
            lines(
                tuple(sum(w for w, at in zip(supplies, places, strict=True) if at == one) for one in range(3)), line_v
            )
        )
        for places in itertools.product(range(3), repeat=len(supplies))
    )
    assert three_phase.feed_line_a("A", 3, line_v, 1.0, draws) <= best / 1000 + 1e-9


def test_a_line_that_two_loads_share_carries_less_than_their_sum() -> None:
    """Raritan, How to Calculate Current on a 3-phase, 208V Rack PDU: 10 A on each of two banks are 17.3 A on the line between."""
    feeds = "[{voltage: 208 V, phases: 3, breaker: 30 A}]"
    servers = "[{name: s, count: 2, power: 2080 W, psus: 1, plug: C20}]"
    feed = of("feed", rack(feeds, servers, "power_factor: 1.0"))
    assert feed.expected("feed_line_a") == pytest.approx(17.32, abs=0.01)


def test_nine_servers_overload_one_phase_of_a_unit_whose_sum_has_room() -> None:
    """datacentermd.com: 6,180 VA on 208 V, three phases, 30 A (8,646 VA at 80 %); spread evenly no line is overloaded."""
    servers = "[{name: a, count: 3, power: 1000 W, psus: 1}, {name: b, count: 6, power: 530 W, psus: 1}]"
    feed = of("feed", rack("[{voltage: 208 V, phases: 3, breaker: 30 A}]", servers, "power_factor: 1.0"))
    assert feed.expected("feed_usable_va") == pytest.approx(8646, rel=0.001)
    assert feed.expected("feed_load_va") == pytest.approx(6180)
    assert feed.expected("feed_line_a") == pytest.approx(6180 / 208 / math.sqrt(3))
    assert feed.expected("phase_imbalance") == pytest.approx(0, abs=1e-9)


def test_a_supply_more_on_one_phase_is_an_imbalance() -> None:
    feed = of(
        "feed", rack("[{voltage: 400 V, phases: 3, breaker: 32 A}]", "[{name: s, count: 4, power: 3 kW, psus: 1}]")
    )
    assert feed.expected("phase_imbalance") == pytest.approx(0.5)


def test_the_deviation_of_three_lines_is_that_of_a_published_example() -> None:
    """calcspec.com, PDU Load Balance Calculator: 45, 38 and 52 A are 15.6 % off their average of 45 A."""
    assert three_phase.phase_imbalance((45.0, 38.0, 52.0)) == pytest.approx(0.156, abs=0.0005)


# ---- what is left when a side fails

FOUR = "[{name: A, voltage: 208 V, phases: 3, breaker: 60 A}, {name: B, voltage: 208 V, phases: 3, breaker: 60 A}]"
THREE = (
    "[{name: A, voltage: 415 V, phases: 3, breaker: 60 A, code: NEC}, {name: B, voltage: 415 V, phases: 3, breaker: 60 A, "
    "code: NEC}, {name: C, voltage: 415 V, phases: 3, breaker: 60 A, code: NEC}]"
)


@pytest.mark.parametrize(
    ("server", "feeds", "left", "needed"),
    [
        ("dgx-a100", FOUR, 3, 3),
        ("dgx-h100", FOUR, 3, 4),
        ("dgx-h100", THREE, 4, 4),
        ("dgx-b200", FOUR, 3, 5),
        ("dgx-b200", THREE, 4, 5),
        ("dgx-b300", FOUR, 6, 6),
    ],
)
def test_supplies_left_against_those_needed(server: str, feeds: str, left: int, needed: int) -> None:
    """Vendor guides: 3+3, 4+2, 5+1 and N+N supplies; the loss of one of k feeds takes a k-th of them."""
    one = of("server", rack(feeds, f"[{{type: {server}}}]"))
    assert (one.expected("supplies_left"), one.expected("supplies_needed")) == (left, needed)
    assert ("psu-redundancy-broken" in said(rack(feeds, f"[{{type: {server}}}]", "redundancy: N+1"))) is (left < needed)


def test_a_capped_server_needs_fewer_supplies() -> None:
    """At 500 W a card, 8.6 kW are left of 10.2 kW: three supplies of 3.3 kW give 9.9 kW."""
    one = of("server", rack(FOUR, "[{type: dgx-h100, gpu_power_cap: 500 W}]"))
    assert one.expected("server_w") == pytest.approx(8600)
    assert one.expected("supplies_needed") == 3


def test_five_supplies_on_two_feeds_leave_two() -> None:
    one = of("server", rack(FOUR, "[{name: s, power: 3 kW, psus: 5}]"))
    assert one.expected("supplies_left") == 2


def test_a_lost_feed_leaves_all_to_the_others() -> None:
    feed = of("feed", rack(THREE, "[{type: dgx-h100, count: 4}]", "redundancy: N+1\n      power_factor: 0.95"))
    assert feed.expected("feed_load_va") == pytest.approx(40800 / 3 / 0.95)
    assert feed.expected("feed_failover_va") == pytest.approx(40800 / 2 / 0.95)


def test_feeds_of_one_side_fail_together() -> None:
    sides = FOUR.replace("name: B", "name: B, side: A").replace("name: A,", "name: A, side: A,")
    assert of("rack", rack(sides, "[{type: dgx-a100}]")).expected("sides_count") == 1
    assert said(rack(sides, "[{type: dgx-a100}]")) == {"redundancy-on-one-side": Severity.ERROR}


def test_2n_over_four_feeds_without_sides_has_half_of_them() -> None:
    assert left((8.0,) * 4, ("1", "2", "3", "4"), "2N") == 16.0
    assert left((8.0,) * 4, ("A", "A", "B", "B"), "2N") == 16.0
    assert left((8.0,) * 4, ("1", "2", "3", "4"), "N+1") == 24.0
    assert left((8.0, 4.0), ("A", "B"), "2N") == 4.0


def left(usable: tuple[float, ...], sides: tuple[str, ...], redundancy: str) -> float | None:
    names = tuple(f"feed {at}" for at in range(len(usable)))
    even = (tuple(Draw(name, 1.0, None) for name in names),)
    return failover.survivors_va(even, names, sides, usable, redundancy)


def test_stated_cords_carry_by_their_number() -> None:
    inside = rack(FOUR, "[{type: dgx-h100, cords: {A: 4, B: 2}}]", "power_factor: 1.0")
    loads = [one.expected("feed_load_va") for one in known(inside).list_components("feed")]
    assert loads == [pytest.approx(6800), pytest.approx(3400)]


def test_what_is_no_count_of_cords_is_unknown() -> None:
    assert isinstance(
        of("server", rack(FOUR, "[{type: dgx-h100, cords: {A: three}}]")).scenarios("feed_draws"), Missing
    )


def test_switches_of_a_rack_draw_from_its_feeds() -> None:
    inside = rack(
        FOUR, "[{type: dgx-a100}]", "power_factor: 1.0\n      switches: [{name: leaf, power: 1.7 kW}, {name: spare}]"
    )
    assert of("rack", inside).expected("load_w") == 6500 + 1700
    assert [one.expected("feed_load_va") for one in known(inside).list_components("feed")] == [4100, 4100]
    assert known(inside).expected("load_w") == 8200


# ---- panels

RACKS = """\
  panels:
    - {name: ups, power_limit: 100 kW}
    - {name: a, panel: ups}
    - {name: b}
  racks:
    - name: r[01-10]
      redundancy: 2N
      feeds:
        - {name: A, voltage: 400 V, phases: 3, breaker: 32 A, panel: a}
        - {name: B, voltage: 400 V, phases: 3, breaker: 32 A, panel: b}
      servers:
        - {type: dgx-a100}
"""


def test_a_panel_carries_its_half_and_all_of_it_when_the_other_side_fails() -> None:
    ups, a, b = known(RACKS).list_components("panel")
    for panel in (ups, a, b):
        assert panel.expected("panel_load_w") == pytest.approx(32_500)
        assert panel.expected("panel_failover_w") == pytest.approx(65_000)
    assert ups.expected("panel_capacity_w") == 100_000
    assert said(RACKS) == {}
    assert said(RACKS.replace("100 kW", "60 kW")) == {"panel-failover-over-capacity": Severity.ERROR}
    assert said(RACKS.replace("100 kW", "30 kW")) == {"panel-over-capacity": Severity.ERROR}
    assert said(RACKS.replace("100 kW", "60 kW").replace("redundancy: 2N", "redundancy: N")) == {}
    assert said(RACKS.replace("100 kW", "60 kW, diversity: 0.9")) == {}


def test_a_panel_of_both_sides_carries_no_more_when_one_of_them_fails() -> None:
    both = RACKS.replace("panel: b", "panel: a")
    assert known(both).list_components("panel")[1].expected("panel_failover_w") == pytest.approx(65_000)


def test_panels_that_hang_on_one_another_end() -> None:
    inside = RACKS.replace("{name: ups, power_limit: 100 kW}", "{name: ups, panel: a, power_limit: 10 kW}")
    assert said(inside).keys() <= {"panel-over-capacity", "panel-failover-over-capacity"}


# ---- must speak


def test_four_dgx_h100_on_two_60_amp_feeds_fail_twice_over() -> None:
    assert said(rack(FOUR, "[{type: dgx-h100, count: 4}]")) == {
        "rack-over-circuit": Severity.ERROR,
        "failover-over-circuit": Severity.ERROR,
        "psu-redundancy-broken": Severity.WARNING,
    }


@pytest.mark.parametrize(
    ("feeds", "servers", "more", "rules"),
    [
        (FOUR, "[{type: dgx-a100, count: 4}]", "redundancy: 2N", {"failover-over-circuit"}),
        (FOUR, "[{type: dgx-a100, count: 6}]", "redundancy: N", {"rack-over-circuit"}),
        (FOUR, "[{type: dgx-a100}, {name: s, power: 500 W, psus: 1}]", "redundancy: 2N", {"single-supply-in-redundant-rack"}),
        (FOUR.replace("208 V", "480 V"), "[{type: dgx-a100}]", "redundancy: N", {"voltage-outside-supply-range"}),
        (FOUR.replace("208 V", "480 V"), "[{name: s, power: 2 kW, plug: C20}]", "units: 42", {"voltage-outside-supply-range"}),
        (FOUR, "[{type: dgx-a100, cords: {A: 3, B: 4}}]", "redundancy: N", {"cords-exceed-supplies"}),
        (FOUR, "[{type: dgx-a100, cords: {A: 1, B: 1}}]", "redundancy: N", {"cords-too-few"}),
        (FOUR, "[{type: dgx-a100, count: 2}]", "power_limit: 12 kW", {"power-limit-exceeded"}),
        ("[{voltage: 240 V, phases: 3, breaker: 60 A}]", "[{type: dgx-a100}]", "redundancy: N", {"voltage-per-leg"}),
        (FOUR, "[{name: s, power: 5 kW, psus: 2, plug: C13}]", "redundancy: N", {"outlet-over-rating"}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(feeds: str, servers: str, more: str, rules: set[str]) -> None:
    assert set(said(rack(feeds, servers, more))) == rules


def test_a_load_between_100_and_80_percent_is_a_warning_where_the_code_is_not_known() -> None:
    """415 V are in use under both codes: 61.2 kW are 85 % of two breakers of 50 A, which carry all of it by IEC."""
    feeds = FOUR.replace("208 V", "415 V").replace("60 A", "50 A")
    servers = "[{type: dgx-h100, count: 6}]"
    assert said(rack(feeds, servers, "redundancy: N"))["rack-over-circuit"] is Severity.WARNING
    assert said(rack(feeds, servers, "code: NEC"))["rack-over-circuit"] is Severity.ERROR
    assert said(rack(feeds, servers, "code: IEC")) == {}


def circuits_of(*breakers: str, volts: str = "voltage: 230 V, phases: 1") -> str:
    """Feeds A, B, C … with a breaker each; without one where it is empty."""
    stated = (f", breaker: {one}" if one else "" for one in breakers)
    return "[" + ", ".join(f"{{name: {name}, {volts}{one}}}" for name, one in zip("ABCD", stated, strict=False)) + "]"


BOX = "{name: box, count: 3, power: 6059 W, psus: 2, cords: {A: 2}}"
HEADS = "{name: s, count: 4, power: 1528 W, cords: {A: 1}}"


@pytest.mark.parametrize(
    ("feeds", "servers"),
    [
        # 18.2 to 19.1 kVA on the 6.9 kVA of A, while both feeds carry 18.9 kVA together
        (circuits_of("30 A", "52 A"), f"[{BOX}]"),
        # on 11.5 kVA, whatever the other breaker is, and whatever another server draws
        (circuits_of("50 A", ""), f"[{BOX}]"),
        (circuits_of("50 A", "50 A"), f"[{BOX}, {{name: unknown}}]"),
    ],
)
def test_a_feed_that_cords_overload_in_every_scenario_is_an_error(feeds: str, servers: str) -> None:
    found = said(rack(feeds, servers, "code: IEC"))
    assert {name for name, severity in found.items() if severity is Severity.ERROR} == {"feed-over-circuit"}


def test_a_feed_that_cords_overload_after_a_loss_in_every_scenario_is_an_error() -> None:
    """11.7 to 12.3 kVA come upon the 11.5 kVA of A when B fails; after that A and C together carry 69 kVA."""
    volts = "voltage: 415 V, phases: 3, code: NEC"
    feeds = circuits_of("20 A", "20 A", "100 A", volts=volts)
    servers = "[{name: box, count: 2, power: 5850 W, psus: 6, psus_needed: 2, cords: {A: 2, B: 4}}]"
    assert said(rack(feeds, servers, "redundancy: N+1")) == {"feed-failover-over-circuit": Severity.ERROR}
    less = servers.replace("5850", "3600")
    assert said(rack(feeds, less, "redundancy: N+1")) == {}


def test_a_line_that_is_over_in_every_scenario_is_an_error_though_the_feed_is_in_some() -> None:
    """Four supplies on three lines: 6.96 kW on one of 4.79 kVA; all four make 13.9 to 14.7 kVA of 14.4 kVA."""
    volts = "voltage: 415 V, phases: 3, code: IEC"
    servers = "[{name: box, count: 4, power: 6959 W, psus: 4, cords: {A: 2, B: 2}}]"
    assert (
        said(rack(circuits_of("60 A", "20 A", volts=volts), servers, "redundancy: N"))["phase-over-circuit"]
        is Severity.ERROR
    )


def test_one_finding_tells_of_a_rack_whose_feeds_are_all_over() -> None:
    servers = "[{type: dgx-h100, count: 4, cords: {A: 3, B: 3}}]"
    assert said(rack(FOUR, servers, "redundancy: N")) == {"rack-over-circuit": Severity.ERROR}


def test_a_panel_does_not_take_over_servers_of_one_supply() -> None:
    """Ten racks of 6.5 kW, half on either panel: what has one supply goes dark with its side, and nothing moves."""
    panel = known(RACKS.replace("type: dgx-a100", "name: s, power: 6.5 kW, psus: 1")).list_components("panel")[1]
    assert panel.expected("panel_failover_w") == pytest.approx(32_500)


# ---- must stay silent

SHELF = "[{name: shelf, power: 33 kW, plug: busbar, volts_min: 346, volts_max: 480}]"
TRAYS = "[{name: tray, count: 4, power: 5 kW, psus: 0, plug: busbar}]"
EDGE = "[{name: edge, power: 900 W, psus: 1, volts_min: 100, volts_max: 240, plug: C14}]"


@pytest.mark.parametrize(
    ("feeds", "servers", "more"),
    [
        # what has one supply goes dark with its feed, and burdens no other
        (circuits_of("30 A", "20 A"), f"[{HEADS}]", "redundancy: 2N\n      code: IEC"),
        (circuits_of("30 A", "30 A"), f"[{HEADS}, {HEADS.replace('A: 1', 'B: 1')}]", "redundancy: 2N\n      code: IEC"),
        # capped or measured maxima
        (FOUR, "[{type: dgx-a100, count: 2, measured: 5 kW}]", "redundancy: 2N"),
        (FOUR, "[{type: dgx-h100, count: 4, measured: 8 kW}]", "redundancy: N"),
        (FOUR.replace("208 V", "415 V"), "[{type: dgx-h100, count: 3, measured: 8.2 kW}]", "redundancy: 2N"),
        # a rack of batch work that may go down with a side
        (FOUR, "[{type: dgx-a100, count: 4}]", "redundancy: N"),
        (FOUR, "[{type: dgx-h100, count: 3}]", "redundancy: N"),
        # nothing said of redundancy
        (FOUR, "[{type: dgx-h100, count: 3}]", "units: 42"),
        # breakers that are rated for 100 %, and a code without 80 %
        (FOUR, "[{type: dgx-h100, count: 4}]", "derating: 1.0"),
        ("[{voltage: 400 V, phases: 3, breaker: 32 A}]", "[{type: dgx-h100, count: 2}]", "redundancy: N"),
        # servers that nobody knows
        (FOUR, "[{name: secret, count: 40}]", "redundancy: 2N"),
        (FOUR, "[{type: dgx-a100, count: 2}, {name: secret, count: 9}]", "redundancy: 2N"),
        # no feeds, or feeds of which little is stated
        ("[]", "[{type: dgx-h100, count: 40}]", "redundancy: 2N"),
        ("[{name: A}, {name: B}]", "[{type: dgx-a100, count: 40}]", "redundancy: 2N"),
        # 415 V, 240 V to neutral; a shelf that takes 480 V between lines
        (FOUR.replace("208 V", "415 V"), "[{type: dgx-a100, count: 2}]", "redundancy: 2N"),
        (FOUR.replace("208 V", "480 V"), SHELF, "redundancy: 2N"),
        # a rack whose power shelves hang on a busbar needs no outlets
        (FOUR.replace("208 V", "415 V").replace("60 A", "60 A, outlets: {C13: 2}"), TRAYS, "redundancy: 2N"),
        # a small server on 120 V
        ("[{voltage: 120 V, phases: 1, breaker: 20 A}]", EDGE, "redundancy: N"),
        # a plate that counts the 80 % already
        (FOUR.replace("60 A", "60 A, pdu_amps: 48 A"), "[{type: dgx-a100, count: 2}]", "redundancy: 2N"),
        # few supplies on a feed that is nearly empty
        ("[{voltage: 400 V, phases: 3, breaker: 63 A}]", "[{name: s, count: 4, power: 1 kW, psus: 1}]", "redundancy: N"),
        # outlets of a kind that is not in the catalog
        (FOUR.replace("60 A", "60 A, outlets: {Cx: 12}"), "[{type: dgx-a100, count: 2}]", "redundancy: 2N"),
        # Norway: 230 V between lines
        ("[{voltage: 230 V, phases: 3, breaker: 63 A, wiring: delta}]", "[{type: dgx-a100, count: 3}]", "redundancy: N"),
        # supplies of an unknown make whose shelves have three phases
        (THREE, "[{name: shelf, power: 30 kW, psus: 4}]", "redundancy: N"),
        # a plug that is named by its connector
        (FOUR, "[{name: s, power: 3 kW, psus: 2, plug: C19/C20}]", "redundancy: N"),
        # what is taken off a breaker where the share belongs
        (FOUR, "[{type: dgx-h100, count: 3}]", "derating: 20 %"),
        # cords of a rack whose feeds are not stated
        ("[]", "[{type: dgx-h100, count: 4, cords: {A: 3, B: 3}}]", "redundancy: 2N"),
        # a supply of unknown range on 120 V and on 240 V to neutral
        ("[{voltage: 120 V, phases: 1, breaker: 20 A}]", "[{name: s, power: 900 W, plug: C14}]", "units: 42"),
        (FOUR.replace("208 V", "415 V"), "[{name: s, power: 2 kW, plug: C20}]", "units: 42"),
        # supplies on each feed that are no multiple of three, and room on every line
        (FOUR, "[{name: s, power: 1 kW, count: 4, psus: 2, psus_needed: 1, plug: C14}]", "redundancy: 2N"),
        # an empty rack
        (FOUR, "[]", "redundancy: 2N"),
    ],
)  # fmt: skip
def test_what_is_right_or_not_known_stays_silent(feeds: str, servers: str, more: str) -> None:
    assert said(rack(feeds, servers, more)) == {}


def test_an_nvl72_on_power_shelves_is_not_asked_for_outlets() -> None:
    inside = rack(THREE.replace("60 A", "125 A"), "[{type: gb200-nvl72}]", "redundancy: N+1")
    assert said(inside) == {}


# ---- fitted terms


@pytest.mark.parametrize(("less", "more"), [(1.0, 1.02), (1.02, 1.053)])
def test_more_volt_amperes_for_a_watt_never_leave_more_room(less: float, more: float) -> None:
    """va_per_w."""
    loads = [circuits.load_va(10200, circuits.supply_power_factor(None, each)) for each in (less, more)]
    assert loads[0] < loads[1]


def test_more_of_a_breaker_for_an_ampere_never_leaves_more_room() -> None:
    """continuous_load_ratio."""
    usable = [circuits.breaker_usable_a(60, circuits.continuous_share(None, each)) for each in (1.0, 1.25)]
    assert usable == [60.0, 48.0]


def test_a_supply_that_wastes_less_has_to_give_more() -> None:
    """supply_efficiency: what a server draws is what its supplies give and what they waste."""
    assert [failover.supplies_needed(9800, 10200, 4, 3000, each) for each in (0.9, 0.94, 0.96)] == [3, 4, 4]


# ---- what is asked for

INTERNAL = {"feed_lines_a"}
"""Hangs on psus, plug and cords of every server alike, which its own words ask for."""


@pytest.mark.parametrize("feeds", [FOUR, THREE, FOUR.replace("208 V", "0 V"), FOUR.replace("name: B", "name: A")])
@pytest.mark.parametrize(
    "server",
    [
        "{name: x}",
        "{name: x, power: 3 kW}",
        "{name: x, power: 3 kW, psus: 0}",
        "{name: x, power: 3 kW, psus: 0, plug: C20}",
        "{name: x, power: 30 kW, psus: 2}",
        "{name: x, power: 3 kW, psus: 2, plug: weird}",
        "{type: dgx-h100, cords: {A: 0}}",
        "{type: dgx-h100, cords: {A: three}}",
        "{type: gb200-nvl72}",
    ],
)
def test_what_is_asked_for_is_a_key_of_the_file(feeds: str, server: str) -> None:
    (room,) = samples.report(spec(rack(feeds, f"[{server}]")), path="facility.yaml").facilities
    asked = {need for lack in room.not_evaluated for need in lack.needs}
    assert {need for need in asked if not glossary()[need].key} <= INTERNAL


def test_words_where_cords_are_counted_are_asked_for_as_cords() -> None:
    report = samples.report(spec(rack(FOUR, "[{type: dgx-h100, cords: {A: three}}]")), path="facility.yaml")
    assert report.asks["cords"] == "state cords of the server by feed: {A: 3, B: 3}"
    assert not report.asks.keys() & {"cord_shares", "supplies_left", "plugged_supplies"}
