"""Parts of a facility: what is stated of them, what they have from the part above, and what they sum up."""

from __future__ import annotations

import dataclasses

import pytest
import samples

from gpulint import units
from gpulint.adapters.native import facility
from gpulint.facility import reader
from gpulint.facility.model import NAME_FACTS, ComponentFacts
from gpulint.facts.formulas import find_formulas, list_parameters
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.policy.rules import facility as rules_facility
from gpulint.policy.rules import rule
from gpulint.source import documents

HALL = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  rooms:
    - name: hall-1
      rows:
        - name: a
          units: 48
          racks:
            - name: a[01-03]
              servers:
                - {type: big, units: 8, count: 4}
                - {type: small}
            - {name: b1, units: 42}
  server_types:
    - {name: small, units: 2}
"""


def known(text: str) -> ComponentFacts:
    (document,) = documents.load("facility.yaml", text.encode()).documents
    described = facility.read_facility(document)
    assert described is not None
    return rules_facility.resolve_facts(described, {})


def racks(text: str) -> dict[str, ComponentFacts]:
    return {one.role.name: one for one in known(text).list_components("rack")}


def test_a_range_of_names_is_that_many_racks() -> None:
    assert list(racks(HALL)) == ["a01", "a02", "a03", "b1"]
    assert list(reader.expand_names("n[8-11]x")) == ["n8x", "n9x", "n10x", "n11x"]
    assert list(reader.expand_names("n[11-8]")) == ["n[11-8]"]


def test_a_rack_sums_its_servers_and_a_servers_type_may_be_the_files_own() -> None:
    assert racks(HALL)["a02"].expected("units_used") == 34
    assert racks(HALL)["b1"].expected("units_used") == 0


def test_a_server_asks_its_rack() -> None:
    server = racks(HALL)["a01"].list_components("server")[0]
    assert server.expected("rack_name") == "a01"
    assert server.path() == ("hall-1", "a", "a01", "big")


def test_what_nothing_states_is_missing_and_known_sums_leave_it_out() -> None:
    text = HALL.replace("units: 8, ", "")
    server = racks(text)["a01"].list_components("server")[0]
    assert server.scenarios("server_group_units") == Missing(frozenset({"server_units"}))
    assert racks(text)["a01"].expected("units_used") == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("            - {name: b1, unit: 42}\n", "unknown key unit of a rack; did you mean units?"),
        ("            - {name: b1, height: 42}\n", "unknown key height of a rack; did you mean units?"),
        ("            - {name: b1, pue: 1.3}\n", "unknown key pue of a rack; it is a key of a facility, site or room"),
        ("            - {name: b1, units: tall}\n", 'units: "tall" is not a number such as 42'),
        ("            - {name: b1, units: -42}\n", "units: -42 is negative"),
        ("            - {name: b1, servers: [{power: 1 kW, count: 1.5}]}\n", "count: 1.5 is not a whole number"),
        ("            - {units: 42}\n", "name: is missing"),
        ("            - {name: b1, units: [42]}\n", "units: write one number or text"),
        ("            - b1\n", "racks: begin the entry with a key, as `- name:` or `- type:`"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_at_its_place(line: str, message: str) -> None:
    found = samples.report(HALL.replace("            - {name: b1, units: 42}\n", line), path="facility.yaml")
    (finding,) = found.findings
    assert (finding.rule, finding.message, finding.location.line) == ("invalid-spec", message, 15)


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("60 A", "a", 60),
        ("208 V", "v", 208),
        ("17.3 kVA", "va", 17300),
        ("24 C", "c", 24),
        ("75.2 °F", "c", 24),
        ("-5 C", "c", -5),
        ("287.6 lbs", "kg", 130.453),
        ("1105 CFM", "m3_per_s", 0.52150),
        ("80 L/min", "liquid_m3_per_s", 0.0013333),
        ("250 psf", "kg_per_m2", 1220.61),
        ("30 m", "m", 30),
        ("38,557 BTU/h", "w", 11300),
        ("10 tons", "w", 35168.5),
    ],
)
def test_physical_quantities_are_read_as_people_write_them(text: str, unit: str, expected: float) -> None:
    assert units.parse(text, unit) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "unit"), [("60 Hz", "a"), ("sixty A", "a"), ("", "v"), ("24 K", "c"), ("30", "m3_per_s")]
)
def test_what_is_no_such_quantity_is_refused_with_an_example(text: str, unit: str) -> None:
    with pytest.raises(ValueError, match="such as"):
        units.parse(text, unit)


def test_debt_that_is_accepted_is_that_of_the_servers_that_stand_there() -> None:
    def subject(text: str) -> str:
        (found,) = samples.report(text, path="facility.yaml").findings
        return found.subject.value

    full = HALL.replace("count: 4", "count: 6").replace("[01-03]", "1")
    assert subject(full) == "48; rack_name a1; 6 big, 1 small"
    assert subject(full.replace("count: 6", "count: 7")) == "48; rack_name a1; 7 big, 1 small"
    assert subject(full.replace("name: ams1", "name: ams2")) == subject(full)


def test_a_rack_may_be_called_by_a_number() -> None:
    assert list(racks(HALL.replace("name: b1", "name: 12"))) == ["a01", "a02", "a03", "12"]


def test_ranges_within_ranges_are_counted_before_they_are_made() -> None:
    rows = ["    - name: r[1-9999]\n      racks: [{name: 'a[1-9999]', servers: [{type: big, units: 1}]}]\n"]
    text = HALL.partition("  rooms:")[0] + "  rows:\n" + "".join(rows)
    (found,) = samples.report(text, path="facility.yaml").findings
    assert found.message == "spec: 199,970,001 components, but a file may describe at most 50,000"


@pytest.mark.parametrize("name", ["y", "n", "on", "012", "1e3", "0x1F"])
def test_a_name_is_what_is_written_whatever_yaml_makes_of_it(name: str) -> None:
    text = HALL.replace("name: b1", f"name: {name}").replace("ams1", name)
    assert list(racks(text)) == ["a01", "a02", "a03", name]
    assert known(text).role.name == name


def test_a_word_is_what_is_written_whatever_yaml_makes_of_it() -> None:
    feeds = "{name: b1, feeds: [{side: y, voltage: 208 V, phases: 1, breaker: 30 A}], redundancy: N}"
    rack = known(HALL.replace("{name: b1, units: 42}", feeds)).list_components("rack")[3]
    assert rack.expected("redundancy") == "N"
    assert rack.list_components("feed")[0].expected("feed_side") == "y"


def test_what_alike_racks_and_their_parts_are_found_to_be_is_found_once() -> None:
    one, other, _, unlike = racks(HALL).values()
    assert one.common is other.common
    assert one.list_components("server")[0].common is other.list_components("server")[0].common
    assert one.common is not unlike.common
    assert one.list_components("server")[1].expected("rack_name") == "a01"
    assert other.list_components("server")[1].expected("rack_name") == "a02"


@pytest.mark.parametrize(
    ("line", "is_common"),
    [
        ("breaker: 60 A", True),
        ("breaker: 60.0 A", True),
        ("breaker: 63 A", False),
        ("side: x", False),
        ("name: B", False),
    ],
)
def test_feeds_have_in_common_what_they_state(line: str, is_common: bool) -> None:
    text = HALL.replace("{name: b1", "{name: b2, units: 42, feeds: [{breaker: 60 A}]}\n            - {name: b1")
    text = text.replace("units: 42}", f"units: 42, feeds: [{{{line}}}]}}")
    held = racks(text)
    (one,), (other,) = held["b2"].list_components("feed"), held["b1"].list_components("feed")
    assert (one.common is other.common) is is_common


def test_no_formula_takes_what_alike_parts_are_called() -> None:
    taken = {name for formula in find_formulas(None).values() for name in list_parameters(formula)}
    assert not taken & NAME_FACTS
    assert not {row.each for row in glossary().values()} & NAME_FACTS


def test_a_rule_about_a_name_speaks_of_that_rack_alone() -> None:
    of_racks = next(one for one in rule.load_shipped().values() if one.target.kind == ("rack",))
    said = rules_facility.evaluate_component(known(HALL), [dataclasses.replace(of_racks, when="rack_name == 'a02'")])
    assert [one.path for one in said if one.outcome.verdicts] == ["hall-1/a/a02"]


@pytest.mark.parametrize("written", ["42", "42U", "42 U", "42u"])
def test_rack_units_are_read_as_people_write_them(written: str) -> None:
    assert racks(HALL.replace("units: 42}", f"units: {written}}}"))["b1"].expected("rack_units") == 42


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: x}\nspec: {}\nrooms: []\n",
            ["unknown key rooms at the top level; rooms belongs under spec"],
        ),
        (
            "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: x}\nspec: {}\nname: x\n",
            ["unknown key name at the top level; it belongs under metadata"],
        ),
        (
            "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: x}\nspec: {rooms: [{name: a, servers: [], feeds: []}]}\n",
            [
                "unknown key feeds of a room; it is a key of a rack",
                "unknown key servers of a room; it is a key of a rack",
            ],
        ),
        (
            "apiVersion: gpulint/v1\nkind: facility\nmetadata: {name: x}\nspec: {racks: []}\n",
            ["kind: write one of InferenceService, TrainingJob, Facility"],
        ),
    ],
)
def test_what_stands_at_the_wrong_level_is_told_its_own(text: str, messages: list[str]) -> None:
    assert sorted(one.message for one in samples.report(text, path="facility.yaml").findings) == messages


def test_a_room_whose_cooling_has_no_reserve_may_say_so() -> None:
    text = HALL.replace("    - name: hall-1\n", "    - name: hall-1\n      cooling_redundancy: N\n")
    assert samples.report(text, path="facility.yaml").findings == ()
    assert known(text).list_components("room")[0].expected("cooling_redundancy") == "N"


def test_what_was_copied_and_not_renamed_is_told() -> None:
    found = samples.report(HALL.replace("name: b1", "name: a02"), path="facility.yaml").findings
    assert [(one.rule, one.message, one.location.line) for one in found] == [
        ("invalid-spec", "two racks are named a02; rename one (the first is in line 11)", 15)
    ]


def test_servers_of_one_name_in_a_rack_and_racks_of_one_name_in_two_rows_are_nothing_wrong() -> None:
    rows = HALL.replace("  server_types:", "        - {name: b, racks: [{name: a01, units: 42}]}\n  server_types:")
    assert (
        samples.report(rows.replace("- {type: small}", "- {type: big, units: 8}"), path="facility.yaml").findings == ()
    )


@pytest.mark.parametrize("version", ["gpulint/v2", "gpulint.io/v1", "gpulint"])
def test_another_version_of_our_api_is_told_the_one_that_is_read(version: str) -> None:
    (found,) = samples.report(HALL.replace("gpulint/v1", version), path="facility.yaml").findings
    assert (found.rule, found.message, found.location.line) == ("invalid-spec", "apiVersion: write gpulint/v1", 1)


def test_a_facility_of_somebody_elses_api_is_none_of_ours() -> None:
    assert samples.report(HALL.replace("gpulint/v1", "example.org/v1"), path="facility.yaml").findings == ()
