"""Alternatives of a facility: changes after which the same rules, run on everything they reach, have nothing new to say."""

from __future__ import annotations

import samples

from gpulint.adapters.native import facility
from gpulint.facility.model import Component
from gpulint.policy.rules import facility as rules_facility
from gpulint.report.model import Finding
from gpulint.source import documents

HALL = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  racks:
    - name: r1
      units: 42
      servers:
        - {type: big, units: 8, count: 6}
    - name: r2
      units: 42
      servers:
        - {type: big, units: 8, count: COUNT}
"""


def finding(text: str) -> Finding:
    (found,) = samples.report(text, path="facility.yaml").findings
    return found


def test_servers_that_do_not_fit_go_where_there_is_room() -> None:
    (one,) = finding(HALL.replace("COUNT", "4")).suggestions
    assert one.title == "5 × big in r1, 1 in r2"
    assert [(edit.old, edit.new) for edit in one.edits] == [("6", "5"), ("", "1 × big in r2")]


def test_no_rack_that_is_full_takes_another_server() -> None:
    (one,) = finding(HALL.replace("COUNT", "5")).suggestions
    assert one.title == "5 × big in r1, 1 in other racks"
    assert one.trade_off == "space for 1 in other racks"


def test_a_place_that_describes_several_racks_changes_all_of_them() -> None:
    alike = HALL.replace("r1\n", "r[1-3]\n").replace("r2\n", "s1\n").replace("COUNT", "1")
    (found,) = samples.report(alike, path="facility.yaml").findings
    assert [one.title for one in found.suggestions] == ["5 × big in each of 3 racks, 3 in other racks"]


def test_an_alternative_is_a_plan_for_people_and_never_safe_to_write_unasked() -> None:
    for count in ("4", "5"):
        assert not any(one.is_safe for one in finding(HALL.replace("COUNT", count)).suggestions)


def test_what_comes_in_elsewhere_is_not_offered_where_it_would_break_a_limit_there() -> None:
    """Two racks of 42 units hold ten servers of eight; the eleventh has no place in either."""
    text = HALL.replace("COUNT", "5").replace("count: 6", "count: 7")
    (one,) = finding(text).suggestions
    assert one.title == "5 × big in r1, 2 in other racks"


def test_air_that_a_room_states_is_changed_where_it_is_stated() -> None:
    text = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  rooms:
    - name: hall
      inlet: 32 C
      racks:
        - {name: r1, servers: [{type: dgx-h100}]}
"""
    (one,) = finding(text).suggestions
    assert one.title == "supply air at 27 °C"
    assert [(edit.location.line, edit.old, edit.new) for edit in one.edits if edit.location] == [(7, "32 C", "27 °C")]


def test_a_flow_is_offered_that_does_in_the_worst_case_too() -> None:
    """115 to 132 kW at 1.25 to 2 L/min a kilowatt: 224.4 litres a minute at the most."""
    text = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  racks:
    - {name: r1, cooling: direct-liquid, flow: 90 L/min, servers: [{type: gb200-nvl72}]}
"""
    (one,) = finding(text).suggestions
    assert one.title == "230 L/min"


TWO_FEEDS = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  code: NEC
  power_factor: 0.95
  racks:
    - name: r1
      redundancy: 2N
      feeds:
        - {name: a, voltage: 208 V, phases: 3, breaker: 60 A}
        - {name: b, voltage: 208 V, phases: 3, breaker: 60 A}
      servers:
        - {type: DGX H100, count: 4}
"""


def titles(text: str, rule: str) -> list[str]:
    (found,) = [one for one in samples.report(text, path="facility.yaml").findings if one.rule == rule]
    return [one.title for one in found.suggestions]


def test_what_leaves_no_error_comes_first() -> None:
    """42.9 kVA. One server (10.7) runs on one feed of 17.3; of three feeds of 34.5 the two that are left carry 69.0 kVA.

    Two 100 A breakers carry 57.6 kVA together, and the one that is left 28.8: the rack is not redundant.
    """
    assert titles(TWO_FEEDS, "rack-over-circuit") == [
        "1 × DGX H100 in r1, 3 in other racks",
        "3 three-phase 415 V feeds",
        "100 A breakers",
    ]


def test_a_value_is_written_with_its_unit_wherever_it_stands() -> None:
    (found,) = [one for one in samples.report(TWO_FEEDS, path="f.yaml").findings if one.rule == "rack-over-circuit"]
    (edits,) = [one.edits for one in found.suggestions if one.title == "100 A breakers"]
    assert [(edit.old, edit.new) for edit in edits] == [("60 A", "100 A")] * 2


def test_what_absorbs_a_lesser_word_has_said_it_already() -> None:
    """45.2 kW of heat are over what contained air takes; 33.9 kW are near it, which is no new trouble."""
    feeds = "        - {name: c, voltage: 415 V, phases: 3, breaker: 60 A}\n      servers:"
    text = TWO_FEEDS.replace("208 V", "415 V").replace("      servers:", feeds)
    text = text.replace("  racks:", "  cooling: contained\n  racks:")
    assert titles(text, "density-over-cooling-class") == [
        "rear-door cooling",
        "3 × DGX H100 in r1, 1 in other racks",
    ]


def test_what_cures_a_rack_leaves_none_of_its_feeds_over_its_breaker() -> None:
    """At 415 V the two breakers carry 51.7 kVA together, and the smaller one 17.3 kVA of the half that its cords bring it."""
    text = TWO_FEEDS.replace("60 A", "30 A", 1).replace("count: 4", "count: 4, cords: {a: 3, b: 3}")
    assert titles(text, "rack-over-circuit") == ["1 × DGX H100 in r1, 3 in other racks", "100 A breakers"]


def test_nothing_goes_to_a_rack_of_which_nobody_knows_what_it_carries() -> None:
    unfed = TWO_FEEDS + "    - name: r2\n      units: 48\n"
    assert "1 × DGX H100 in r1, 3 in other racks" in titles(unfed, "rack-over-circuit")


def test_what_one_place_says_of_several_racks_is_said_once() -> None:
    alike = samples.report(TWO_FEEDS.replace("r1", "r[1-6]"), path="facility.yaml").findings
    (over,) = [one for one in alike if one.rule == "rack-over-circuit"]
    assert over.message.endswith("; so in r2, r3, r4 and 2 more")
    assert over.role == "r1"


def test_what_a_room_states_is_found_where_the_room_states_it() -> None:
    text = TWO_FEEDS.replace("  power_factor: 0.95\n", "  power_factor: 0.95\n  inlet: 35 C\n")
    (found,) = [
        one for one in samples.report(text, path="facility.yaml").findings if one.rule == "inlet-over-server-limit"
    ]
    assert found.location.line == 7


# ---- a text after a change

SHARED = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  rooms:
    - name: hall
      cooling: contained
      cooling_capacity: 60 kW
      panels: [{name: p1, voltage: 415 V, phases: 3, breaker: 100 A}, {name: p2, power_limit: 90 kW}]
      racks:
        - name: r[1-3]
          units: 42
          redundancy: 2N
          feeds:
            - {name: a, voltage: 415 V, phases: 3, breaker: 60 A, panel: p1}
            - {name: b, voltage: 415 V, phases: 3, breaker: 60 A, panel: p2}
          servers: [{type: dgx-h100, count: 2}, {name: store, power: 800 W, units: 2}]
        - name: s1
          units: 48
          feeds: [{name: a, voltage: 208 V, phases: 3, breaker: 30 A, panel: p1}]
          servers: [{type: dgx-a100, count: 2}]
"""
CHANGES = (
    ("count: 2}, {name", "count: 4}, {name"),
    ("power: 800 W", "power: 9 kW"),
    ("panel: p1}\n            - ", "panel: p2}\n            - "),
    ("breaker: 30 A", "breaker: 60 A"),
    ("60 kW", "20 kW"),
    ("breaker: 100 A", "breaker: 60 A"),
    ("redundancy: 2N", "redundancy: N"),
    ("count: 2}]\n", "count: 5, position: 1}]\n"),
    ("contained", "room"),
    ("units: 48", "units: 3"),
    ("name: s1", "name: s2"),
)


def described(text: str) -> Component:
    (document,) = documents.load("room.yaml", text.encode()).documents
    found = facility.read_facility(document)
    assert found is not None
    return found


def summed(one: rules_facility.Evaluation) -> tuple[frozenset[tuple[str, int]], frozenset[str]]:
    """What was said of a part: rules that speak, with their severity, and rules that lacked a fact."""
    spoken = frozenset((each.rule.name, int(each.severity)) for each in one.outcome.verdicts)
    return spoken, frozenset(each.rule for each in one.outcome.not_evaluated)


def test_a_text_that_differs_in_one_value_is_judged_as_if_it_were_new() -> None:
    """What is taken over from the text before is what a judgement of the whole says of it."""
    rules = tuple(samples.load_shipped().values())
    before = rules_facility.evaluate_component(rules_facility.resolve_facts(described(SHARED), {}), rules)
    for old, new in CHANGES:
        assert old in SHARED
        root = rules_facility.resolve_facts(described(SHARED.replace(old, new, 1)), {})
        partly = {(one.path, one.known.kind): summed(one) for one in rules_facility.reevaluate(before, root, rules)}
        whole = {(one.path, one.known.kind): summed(one) for one in rules_facility.evaluate_component(root, rules)}
        assert partly == whole, (old, new)
