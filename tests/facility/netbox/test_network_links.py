"""Network cables of an inventory: those of which its interfaces say enough are judged, and all others are left alone."""

from __future__ import annotations

import json

import pytest

from gpulint.adapters.native import facility
from gpulint.facility.model import ComponentFacts
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.policy.rules import evaluate, rule
from gpulint.policy.rules import facility as rules_facility
from gpulint.source import documents

Row = dict[str, object]
FILE = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: ams1}\nspec:\n  netbox: [export]\n"
RACK: Row = {"id": 7, "url": "https://nb.example.com/api/dcim/racks/7/", "name": "r07", "u_height": 48}
URL = "https://nb.example.com/api/dcim/{}/1/"


def interface(number: int, device: str, name: str, kind: str) -> Row:
    place = {"url": URL.format("interfaces"), "id": number, "name": name}
    return {**place, "device": {"id": number, "name": device}, "type": {"value": kind, "label": kind.upper()}}


def end(number: int, device: str, name: str, model: str = "interface") -> Row:
    held = {"id": number, "name": name, "device": {"id": number, "name": device}}
    return {"object_type": f"dcim.{model}", "object_id": number, "object": held}


def cable(kind: str | None, length: float | None = 4, unit: str = "m", model: str = "interface", **more: object) -> Row:
    ends: Row = {"a_terminations": [end(1, "leaf1", "swp1", model)], "b_terminations": [end(2, "node1", "eth0", model)]}
    stated: Row = {"type": kind, "length": length, "length_unit": {"value": unit, "label": unit}}
    return {"url": URL.format("cables"), "id": 1, "label": "", **ends, **stated, **more}


def cables(row: Row, near: str = "400gbase-x-qsfpdd", far: str = "400gbase-x-qsfp112") -> list[ComponentFacts]:
    interfaces = [interface(1, "leaf1", "swp1", near), interface(2, "node1", "eth0", far)]
    lists: dict[str, list[Row]] = {"racks": [RACK], "cables": [row], "interfaces": interfaces}
    files = {f"export/{name}.json": json.dumps({"results": rows}).encode() for name, rows in lists.items()}
    (document,) = documents.load("facility.yaml", FILE.encode()).documents
    described = facility.read_facility(document, ExampleRepository(files))
    assert described is not None
    return list(rules_facility.resolve_facts(described, {}).list_components("cable"))


def test_passive_copper_has_the_speed_of_its_slower_interface() -> None:
    (one,) = cables(cable("dac-passive"), far="200gbase-x-qsfp56")
    stated = {name: one.expected(name) for name in ("cable_from", "cable_to", "cable_medium", "cable_length_m")}
    assert stated == {"cable_from": "leaf1:swp1", "cable_to": "node1:eth0", "cable_medium": "DAC", "cable_length_m": 4}
    assert one.expected("cable_bytes_per_s") == 25_000_000_000
    assert one.role.name == "leaf1:swp1 to node1:eth0"


def test_copper_that_nobody_makes_is_found_at_the_cable_of_the_export() -> None:
    (one,) = cables(cable("dac-passive"))
    outcome = evaluate.evaluate([each for each in rule.load_shipped().values() if each.family == "cabling"], one.facts)
    assert [each.rule.name for each in outcome.verdicts] == ["copper-too-long"]
    assert outcome.verdicts[0].rule.name
    assert one.role.fields["cable_length_m"].origins[0].document.path == "export/cables.json"


def test_an_interface_that_names_its_standard_says_the_transceiver() -> None:
    (one,) = cables(cable("mmf-om3", 90), "400gbase-sr8", "400gbase-sr8")
    assert (one.expected("optic"), one.expected("far_optic"), one.expected("link_reach_m")) == (
        "400gbase-sr8",
        "400gbase-sr8",
        70,
    )


@pytest.mark.parametrize(
    ("kind", "gbit"),
    [("infiniband-ndr", 400), ("800gbase-x-osfp", 800), ("1.6tbase-x-osfp1600", 1600), ("40gbase-x-qsfpp", 40)],
)
def test_an_interface_has_the_speed_of_its_type(kind: str, gbit: float) -> None:
    (one,) = cables(cable("dac-passive"), kind, kind)
    assert one.expected("cable_bytes_per_s") == gbit * 125_000_000


@pytest.mark.parametrize(("length", "unit", "metres"), [(12, "ft", 3.6576), (500, "cm", 5), (0.1, "km", 100)])
def test_a_length_is_read_with_its_unit(length: float, unit: str, metres: float) -> None:
    (one,) = cables(cable("dac-passive", length, unit))
    assert one.expected("cable_length_m") == pytest.approx(metres)


@pytest.mark.parametrize(
    ("row", "near"),
    [
        pytest.param(
            cable("mmf-om4"), "400gbase-x-osfp", id="fibre between cages, of which nobody says what is in them"
        ),
        pytest.param(cable("dac-passive", None), "400gbase-x-osfp", id="no length"),
        pytest.param(cable("dac-passive"), "other", id="no speed"),
        pytest.param(cable("cat6a"), "10gbase-t", id="twisted pairs"),
        pytest.param(cable("power"), "400gbase-x-osfp", id="a power cable"),
        pytest.param(cable(None), "400gbase-x-osfp", id="no type"),
        pytest.param(cable("dac-passive", model="frontport"), "400gbase-x-osfp", id="a patch panel"),
        pytest.param(
            cable("dac-passive", b_terminations=[end(2, "n", "a"), end(3, "n", "b")]),
            "400gbase-x-osfp",
            id="a splitter",
        ),
        pytest.param(
            cable("dac-passive", status={"value": "decommissioning"}), "400gbase-x-osfp", id="a cable that goes"
        ),
    ],
)
def test_what_cannot_be_judged_is_no_cable(row: Row, near: str) -> None:
    assert cables(row, near, near) == []


def test_a_table_says_the_same() -> None:
    head = "Label,Termination A,Device A,Termination B,Device B,Type,Status,Length,Length unit\n"
    row = ",swp1,leaf1,eth0,node1,Direct Attach Copper (Passive),Connected,4.00 m,\n"
    interfaces = "Device,Name,Type\nleaf1,swp1,QSFP-DD (400GE)\nnode1,eth0,QSFP112 (400GE)\n"
    files = {
        "export/racks.json": json.dumps([RACK]),
        "export/cables.csv": head + row,
        "export/interfaces.csv": interfaces,
    }
    (document,) = documents.load("facility.yaml", FILE.encode()).documents
    described = facility.read_facility(
        document, ExampleRepository({path: text.encode() for path, text in files.items()})
    )
    assert described is not None
    (one,) = rules_facility.resolve_facts(described, {}).list_components("cable")
    assert (one.expected("cable_medium"), one.expected("cable_length_m")) == ("DAC", 4)
    assert one.expected("cable_bytes_per_s") == 50_000_000_000
