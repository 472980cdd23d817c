"""Heat, air, liquid, weight and space of racks: against published figures, what is said of them, and what is not."""

from __future__ import annotations

import pytest
import samples

from gpulint import units
from gpulint.adapters.native import facility
from gpulint.catalog import tables
from gpulint.facility.model import ComponentFacts
from gpulint.policy.rules import facility as rules_facility
from gpulint.report.model import Severity
from gpulint.sizing.cabling import space_and_weight
from gpulint.sizing.cooling import airflow, coolant
from gpulint.source import documents

HEAD = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: ams1}\nspec:\n"


def spec(text: str) -> str:
    return HEAD + "\n".join(f"  {line}" for line in text.strip("\n").splitlines()) + "\n"


def rack(text: str) -> ComponentFacts:
    (document,) = documents.load("facility.yaml", spec(text).encode()).documents
    described = facility.read_facility(document)
    assert described is not None, text
    return rules_facility.resolve_facts(described, {}).list_components("rack")[0]


def said(text: str) -> dict[str, Severity]:
    return samples.severities(samples.report(spec(text), path="facility.yaml"))


# ---- published figures


@pytest.mark.parametrize(
    ("heat_w", "btu_per_h", "tons"),
    [
        (1000, 3412, 0.284),  # NIST SP 811
        (11_300, 38_557, 3.21),  # NVIDIA, DGX H100/H200 System User Guide: 38,557 BTU/h
        (6_500, 22_179, 1.85),  # NVIDIA, DGX A100 System User Guide: 22,179 BTU/h
        (14_300, 48_794, 4.07),  # NVIDIA, DGX B200 System User Guide: 48,794 BTU/h
        (3_516.85, 12_000, 1.0),  # a ton of refrigeration
    ],
)
def test_heat_that_is_stated_in_btu_or_tons_is_read_as_published(heat_w: float, btu_per_h: float, tons: float) -> None:
    assert units.parse(f"{btu_per_h} BTU/h", "w") == pytest.approx(heat_w, rel=1e-3)
    assert units.parse(f"{tons} tons", "w") == pytest.approx(heat_w, rel=3e-3)


@pytest.mark.parametrize(
    ("heat_w", "rise_f", "cfm"),
    [
        (1_000, 20, 158),  # 158 CFM a kW at 20 F: the rule of thumb of air conditioning
        (120_000, 20, 19_000),  # Coolnet, 120kW racks demand high-density cooling, not air: roughly 19,000 CFM
        (4_000, 20, 629),  # CFM = 3412 kW / (1.085 dT): Dell in insideHPC, 2011
        (10_000, 30, 1_048),  # the same
    ],
)
def test_airflow_for_a_measured_rise_is_as_published(heat_w: float, rise_f: float, cfm: float) -> None:
    found = airflow.server_group_airflow_m3_per_s(1, heat_w, "contained", rise_f / 1.8, 6e-5, 1)
    assert found / 0.3048**3 * 60 == pytest.approx(cfm, rel=0.01)


@pytest.mark.parametrize(
    ("altitude_m", "share"),
    [(0, 1.0), (1000, 89.87 / 101.325), (1500, 84.56 / 101.325), (2000, 79.50 / 101.325), (3000, 70.11 / 101.325)],
)
def test_air_thins_as_the_standard_atmosphere_does(altitude_m: float, share: float) -> None:
    assert airflow.air_density_share(altitude_m) == pytest.approx(share, rel=1e-3)


@pytest.mark.parametrize(
    ("heat_w", "liquid", "rise_k", "litres_per_min"),
    [
        (100_000, "PG25", 10, 150),  # OCP, Reservoir and Pumping Unit: 150 L/min for a rack of 100 kW
        (1_000, "PG25", 10, 1.5),  # OCP, OAI System Liquid Cooling Guidelines 1.0, section 3.2
        (69_700, "water", 10, 100),  # water carries 69.7 kW a 100 L/min and 10 K: 4.18 kJ/(kg K)
    ],
)
def test_coolant_for_a_design_rise_is_as_published(
    heat_w: float, liquid: str, rise_k: float, litres_per_min: float
) -> None:
    found = coolant.server_group_flow_m3_per_s(1, heat_w, liquid, rise_k, 2.5e-8)
    assert found * 60_000 == pytest.approx(litres_per_min, rel=0.02)


@pytest.mark.parametrize(
    ("name", "least", "recommended", "most"),
    [("A1", 15, 27, 32), ("A2", 10, 27, 35), ("A3", 5, 27, 40), ("A4", 5, 27, 45), ("H1", 5, 22, 25)],
)
def test_the_classes_of_ashrae_are_as_printed_in_its_table(
    name: str, least: float, recommended: float, most: float
) -> None:
    assert airflow.class_inlet_min_c(name) == least
    assert airflow.recommended_inlet_max_c(name) == recommended
    assert airflow.class_inlet_max_c(name, 0) == airflow.class_inlet_max_c(name, 900) == most


@pytest.mark.parametrize(
    ("name", "altitude_m", "most"),
    [("A1", 1500, 30), ("A2", 3000, 28), ("A3", 1600, 36), ("A4", 1650, 39), ("H1", 1900, 23)],
)
def test_the_classes_allow_less_above_900_metres(name: str, altitude_m: float, most: float) -> None:
    assert airflow.class_inlet_max_c(name, altitude_m) == most


def test_a_rack_of_132_kw_gives_115_to_liquid_and_17_to_air_as_its_vendor_says() -> None:
    found = rack("racks: [{name: r, cooling: direct-liquid, capture: 87.1 %, servers: [{type: gb200-nvl72}]}]")
    assert found.expected("heat_w") == 132_000
    assert found.expected("air_heat_w") == pytest.approx(17_000, rel=0.02)
    assert found.expected("cooled_heat_w") == pytest.approx(115_000, rel=0.02)


def test_four_dgx_h100_give_off_what_their_vendor_publishes_beyond_what_they_draw() -> None:
    found = rack("racks: [{name: r, cooling: contained, servers: [{type: dgx-h100, count: 4}]}]")
    assert found.expected("heat_w") == pytest.approx(45_200, rel=1e-3)  # 4 x 38,557 BTU/h; 4 x 10.2 kW are 40.8
    assert found.expected("needed_airflow_m3_per_s") == pytest.approx(4 * 1105 * 0.3048**3 / 60)
    assert found.expected("least_weight_kg") == pytest.approx(521.8)


def test_the_footprint_of_an_nvl72_bears_two_tonnes_a_square_metre() -> None:
    found = rack("racks: [{name: r, width: 600 mm, depth: 1068 mm, servers: [{type: gb200-nvl72}]}]")
    scenarios = found.scenarios("floor_load_kg_per_m2")
    assert scenarios == pytest.approx((934, 1061, 2122), rel=1e-3)  # type: ignore[comparison-overlap]
    spread = rack("racks: [{name: r, floor_area: 1.6 m2, servers: [{type: gb200-nvl72}]}]")
    assert spread.expected("floor_load_kg_per_m2") == 850


# ---- uncertain terms


@pytest.mark.parametrize(
    ("term", "fact"),
    [
        ("usual_residual_share", "air_heat_w"),
        ("usual_air_m3_per_j", "needed_airflow_m3_per_s"),
        ("usual_coolant_m3_per_j", "needed_flow_m3_per_s"),
        ("usual_racks_per_m2", "floor_load_kg_per_m2"),
        ("footprint_share", "floor_load_kg_per_m2"),
    ],
)
def test_more_of_an_uncertain_term_never_asks_for_less(term: str, fact: str) -> None:
    (row,) = (one for one in tables.rows("fitted") if one["name"] == term)
    found = rack(
        "racks: [{name: r, cooling: direct-liquid, cdu: c, "
        "servers: [{type: own, power: 50 kW, heat: 50 kW, cooling: hybrid, weight: 900}]}]"
    ).scenarios(fact)
    assert float(row["best"]) < float(row["expected"]) < float(row["worst"])
    assert found[0] < found[1] < found[2]  # type: ignore[operator]


def test_a_place_is_taken_twice_only_where_units_overlap() -> None:
    assert space_and_weight.units_taken_twice(((1, 8), (9, 16), (40, 40))) == 0
    assert space_and_weight.units_taken_twice(((1, 48), (10, 11), (20, 20))) == 3


# ---- what is said


@pytest.mark.parametrize(
    ("text", "rule", "severity"),
    [
        (  # the servers that are known are enough
            "racks: [{name: r, cooling: contained, cooling_capacity: 40 kW,"
            " servers: [{type: dgx-h100, count: 4}, {type: unheard-of}]}]",
            "rack-heat-over-cooling",
            Severity.ERROR,
        ),
        (  # 132 kW less 85 % published: 19.8 kW
            "racks: [{name: r, cooling: direct-liquid, air_cooling: room, servers: [{type: gb200-nvl72}]}]",
            "residual-air-heat",
            Severity.WARNING,
        ),
        (  # what is measured goes before what is published
            "racks: [{name: r, cooling: direct-liquid, capture: 70 %, air_capacity: 25 kW, servers: [{type: gb200-nvl72}]}]",
            "residual-heat-over-capacity",
            Severity.ERROR,
        ),
        (  # a door's heat goes to the unit that the rack names
            "cdus: [{name: c, cooling_capacity: 40 kW}]\n"
            "racks: [{name: r, cooling: rear-door, cdu: c, servers: [{type: dgx-h100, count: 4}]}]",
            "cdu-heat-exceeded",
            Severity.ERROR,
        ),
        (  # 900 kg/m2: between what the floor bears with and without the aisles
            "racks: [{name: r, width: 600 mm, depth: 1068 mm, floor_limit: 1000, servers: [{type: gb200-nvl72}]}]",
            "floor-load-exceeded",
            Severity.WARNING,
        ),
        (  # air-cooled servers among plates leave all their heat to air
            "racks: [{name: r, cooling: direct-liquid, air_capacity: 20 kW, servers: [{type: dgx-b200, count: 2}]}]",
            "residual-heat-over-capacity",
            Severity.ERROR,
        ),
        (  # a room states it once
            "rooms: [{name: h, inlet: 90 F, racks: [{name: r, servers: [{type: dgx-h100}]}]}]",
            "inlet-over-server-limit",
            Severity.ERROR,
        ),
        (  # 2,250 m take 4.5 K off the 32 of class A1
            "sites: [{name: s, altitude: 2250 m, racks: [{name: r, inlet: 28 C, inlet_class: A1, servers: [{type: x}]}]}]",
            "inlet-over-class",
            Severity.WARNING,
        ),
    ],
)
def test_what_is_too_much_is_said(text: str, rule: str, severity: Severity) -> None:
    assert said(text).get(rule) == severity


# ---- what must stay silent


@pytest.mark.parametrize(
    "text",
    [
        # a kilowatt a card does not make a server a liquid-cooled one
        "racks: [{name: r, cooling: contained, cooling_capacity: 30 kW, servers: [{type: dgx-b200, count: 2}]}]",
        # the capacity of the unit that is there goes before the band of its kind
        "racks: [{name: r, cooling: contained, cooling_capacity: 50 kW, servers: [{type: dgx-h100, count: 4}]}]",
        # nothing is said of how it is cooled
        "racks: [{name: r, servers: [{type: dgx-h100, count: 4}]}]",
        # nothing is known of the server
        "racks: [{name: r, units: 42, cooling: room, cooling_capacity: 5 kW, servers: [{type: unheard-of, count: 40}]}]",
        # plates in an air-cooled hall, fed by a unit that gives their heat to air
        "cdus: [{name: sidecar}]\nracks: [{name: r, cooling: contained, cdu: sidecar, servers: [{type: gb200-nvl72}]}]",
        # a rack that is built for it, in a hall of which nothing else is said
        "racks: [{name: r, cooling: direct-liquid, servers: [{type: gb300-nvl72}]}]",
        # the published range of the server goes before the class
        "racks: [{name: r, inlet: 22 C, inlet_class: A1, cooling: contained, servers: [{type: dgx-h100}]}]",
        "racks: [{name: r, inlet: 12 C, inlet_class: A1, cooling: contained, servers: [{type: dgx-h100}]}]",
        # doors and plates keep their heat out of the room
        "rooms: [{name: h, cooling_capacity: 10 kW, racks: ["
        "{name: r, cooling: rear-door, servers: [{type: dgx-h100, count: 3}]}]}]",
        # no reserve is promised
        "rooms: [{name: h, cooling_units: 2, cooling_unit: 20 kW, racks: ["
        "{name: r, cooling: contained, cooling_capacity: 40 kW, servers: [{type: dgx-h100, count: 3}]}]}]",
        # a total may or may not count the reserve
        "rooms: [{name: h, cooling_capacity: 40 kW, cooling_redundancy: N+1, racks: ["
        "{name: r, cooling: contained, cooling_capacity: 40 kW, servers: [{type: dgx-h100, count: 3}]}]}]",
        # measured: 25 K, and so less air than the vendor's fans may move
        "racks: [{name: r, air_rise: 25 K, airflow: 900 CFM, cooling: contained, servers: [{type: dgx-h100}]}]",
        # one above the other, the highest ending where the rack ends
        "racks: [{name: r, units: 16, servers: [{type: dgx-h100, position: 1}, {type: dgx-h100, position: 9}]}]",
        # an engineer counted the floor
        "racks: [{name: r, floor_area: 2 m2, floor_limit: 700, servers: [{type: gb200-nvl72}]}]",
        # what a rack may hold is known, what is in it is not
        "racks: [{name: r, load_limit: 100 kg, floor_limit: 10, tile_limit: 10, servers: [{type: unheard-of}]}]",
        # one unit for a loop whose racks promise nothing either
        "cdus: [{name: c}]\nracks: [{name: r, redundancy: N, cooling: direct-liquid, cdu: c, servers: [{type: gb200-nvl72}]}]",
        # two units on one loop
        "cdus: [{name: c, cooling_units: 2}]\n"
        "racks: [{name: r, redundancy: 2N, cooling: direct-liquid, cdu: c, servers: [{type: gb200-nvl72}]}]",
        # cards with open fans, apart from one another
        "racks: [{name: r, servers: [{type: own, gpus: 2, card_cooler: open-fan}]}]",
    ],
)
def test_what_is_right_or_unknown_is_not_spoken_of(text: str) -> None:
    assert said(text) == {}


def test_a_class_says_nothing_where_the_vendor_speaks() -> None:
    text = "racks: [{name: r, inlet: 29 C, inlet_class: H1, servers: [{type: dgx-h100}]}]"
    assert said(text) == {"inlet-above-recommended": Severity.NOTE}


def test_what_lacks_is_named_where_it_decides() -> None:
    text = "racks: [{name: r, cooling: room, cooling_capacity: 20 kW, servers: [{type: dgx-h100}, {type: unheard-of}]}]"
    (document,) = documents.load("facility.yaml", spec(text).encode()).documents
    described = facility.read_facility(document)
    assert described is not None
    rules = [one for one in samples.load_shipped().values() if one.name == "rack-heat-over-cooling"]
    (found,) = rules_facility.evaluate_component(rules_facility.resolve_facts(described, {}), rules)
    assert found.outcome.verdicts == ()
    assert [one.rule for one in found.outcome.not_evaluated] == ["rack-heat-over-cooling"]
