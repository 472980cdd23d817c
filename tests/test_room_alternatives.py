"""Alternatives of a facility: changes after which the same rules, run on everything they reach, have nothing new to say."""

from __future__ import annotations

import samples

from gpulint.findings import Finding

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
    assert one.title == "5 of big in r1, 1 in r2"
    assert [(edit.old, edit.new) for edit in one.edits] == [("6", "5"), ("", "1 × big in r2")]


def test_no_rack_that_is_full_takes_another_server() -> None:
    (one,) = finding(HALL.replace("COUNT", "5")).suggestions
    assert one.title == "5 of big in r1, 1 in other racks"
    assert one.gives_up == "place for 1 in other racks"


def test_a_place_that_describes_several_racks_changes_all_of_them() -> None:
    alike = HALL.replace("r1\n", "r[1-3]\n").replace("r2\n", "s1\n").replace("COUNT", "1")
    found = samples.report(alike, path="facility.yaml").findings
    assert [one.suggestions[0].title for one in found] == ["5 of big in each of 3 racks, 3 in other racks"] * 3


def test_an_alternative_is_a_plan_for_people_and_never_safe_to_write_unasked() -> None:
    for count in ("4", "5"):
        assert not any(one.is_safe for one in finding(HALL.replace("COUNT", count)).suggestions)


def test_what_comes_in_elsewhere_is_not_offered_where_it_would_break_a_limit_there() -> None:
    """Two racks of 42 units hold ten servers of eight; the eleventh has no place in either."""
    text = HALL.replace("COUNT", "5").replace("count: 6", "count: 7")
    (one,) = finding(text).suggestions
    assert one.title == "5 of big in r1, 2 in other racks"


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
    assert one.title == "air of 27 °C"
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
