"""NetBox: what its exports and its library of device types say becomes the parts of a facility, and nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint import cli
from gpulint.adapters.native import facility
from gpulint.facility import inventories
from gpulint.facility.model import ComponentFacts
from gpulint.facts.model import Missing
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.policy.rules import facility as rules_facility
from gpulint.report.model import Scenarios
from gpulint.source import documents

COUNTED = ("power_port", "power_outlet", "interface", "console_port", "module_bay", "device_bay")
FILE = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  netbox: [export, library]
"""
Row = dict[str, object]
SITE: Row = {"id": 1, "name": "ams1"}
HALL: Row = {"id": 4, "name": "hall-1"}
RACK: Row = {"id": 7, "url": "https://nb.example.com/api/dcim/racks/7/", "name": "r07", "site": SITE, "location": HALL}
RACK |= {"u_height": 48, "max_weight": 3000, "weight_unit": {"value": "lb", "label": "Pounds"}}
FEED: Row = {"url": "https://nb.example.com/api/dcim/power-feeds/1/", "rack": {"id": 7, "name": "r07"}}
FEED |= {"power_panel": {"id": 2, "name": "RPP-1"}, "supply": {"value": "ac"}, "phase": {"value": "three-phase"}}
FEED |= {"voltage": 415, "amperage": 60, "max_utilization": 80, "status": {"value": "active"}}
A: Row = {**FEED, "id": 1, "name": "A", "type": {"value": "primary", "label": "Primary"}}
B: Row = {**FEED, "id": 2, "name": "B", "type": {"value": "redundant", "label": "Redundant"}}
LOADER: Row = {"manufacturer": {"id": 9, "name": "Acme"}, "model": "Loader 2000", "slug": "acme-loader-2000"}
NODE: Row = {"url": "https://nb.example.com/api/dcim/devices/1/", "rack": {"id": 7, "name": "r07"}, "site": SITE}
NODE |= {"device_type": LOADER, "status": {"value": "active"}, "face": {"value": "front"}}
LIBRARY = """\
---
manufacturer: Acme
model: Loader 2000
slug: acme-loader-2000
u_height: 2
is_full_depth: true
weight: 60
weight_unit: lb
power-ports:
  - {name: PSU1, type: iec-60320-c14, maximum_draw: 750}
  - {name: PSU2, type: iec-60320-c14, maximum_draw: 750}
interfaces:
  - {name: eth0, type: 10gbase-t}
"""


def pages(**lists: Sequence[Mapping[str, object]]) -> dict[str, bytes]:
    """Each list as a file that holds a page of the API."""
    return {
        f"export/{name}.json": json.dumps({"count": len(rows), "next": None, "results": rows}).encode()
        for name, rows in lists.items()
    }


def known(files: Mapping[str, bytes], text: str = FILE) -> ComponentFacts:
    (document,) = documents.load("facility.yaml", text.encode()).documents
    described = facility.read_facility(
        document, ExampleRepository({"library/Acme/loader.yaml": LIBRARY.encode(), **files})
    )
    assert described is not None
    return rules_facility.resolve_facts(described, {})


def only(files: Mapping[str, bytes], kind: str, text: str = FILE) -> ComponentFacts:
    (one,) = known(files, text).list_components(kind)
    return one


def stated(one: ComponentFacts, *names: str) -> dict[str, object]:
    return {name: one.role.value(name) for name in names}


def said(files: Mapping[str, bytes], text: str = FILE) -> list[str]:
    (document,) = documents.load("facility.yaml", text.encode()).documents
    held = ExampleRepository({"library/Acme/loader.yaml": LIBRARY.encode(), **files})
    return [one.message for one in facility.settle(document, held)]


# ---- racks and feeds


def test_a_rack_stands_in_its_site_and_location_with_its_height_and_load_limit() -> None:
    rack = only(pages(racks=[RACK]), "rack")
    assert rack.path() == ("ams1", "hall-1", "r07")
    assert rack.expected("rack_units") == 48
    assert rack.expected("rack_load_limit_kg") == pytest.approx(1360.78, rel=1e-4)  # 3,000 lb of 0.45359237 kg


def test_a_location_inside_another_is_a_row_of_its_room() -> None:
    row = {"id": 5, "name": "row-b", "site": SITE, "parent": HALL}
    files = pages(racks=[{**RACK, "location": {"id": 5, "name": "row-b"}}], locations=[row, {**HALL, "parent": None}])
    assert only(files, "rack").path() == ("ams1", "hall-1", "row-b", "r07")
    assert [one.role.name for one in known(files).list_components("row")] == ["row-b"]


def test_a_power_feed_states_its_circuit_and_the_share_that_may_be_drawn() -> None:
    feed = only(pages(racks=[RACK], **{"power-feeds": [A]}), "feed")
    names = ("feed_voltage_v", "feed_phases", "breaker_a", "breaker_continuous_share", "panel")
    assert stated(feed, *names) == {
        "feed_voltage_v": 415,
        "feed_phases": 3,
        "breaker_a": 60,
        "breaker_continuous_share": 0.8,
        "panel": "RPP-1",
    }


def test_primary_and_redundant_feeds_are_two_sides_of_a_rack_that_is_to_survive_one() -> None:
    files = pages(racks=[RACK], **{"power-feeds": [A, B]})
    assert [one.role.value("feed_side") for one in known(files).list_components("feed")] == ["primary", "redundant"]
    assert only(files, "rack").role.value("redundancy") == "2N"


def test_feeds_of_one_type_say_nothing_of_redundancy() -> None:
    files = pages(racks=[RACK], **{"power-feeds": [A, {**B, "type": {"value": "primary"}}]})
    assert only(files, "rack").role.value("redundancy") is None


@pytest.mark.parametrize("volts", [120, 230, 277])
def test_a_voltage_that_may_be_one_to_neutral_leaves_what_the_feed_carries_unknown(volts: int) -> None:
    feed = only(pages(racks=[RACK], **{"power-feeds": [{**A, "voltage": volts}]}), "feed")
    assert isinstance(feed.expected("feed_usable_va"), Missing)
    assert feed.expected("is_voltage_per_leg") is True


def test_a_feed_carries_what_netbox_says_is_available() -> None:
    """NetBox, PowerFeed.available_power: 415 V, 60 A, 80 %, times 1.732 is 34,502 VA."""
    feed = only(pages(racks=[RACK], **{"power-feeds": [A]}), "feed")
    assert feed.expected("feed_usable_va") == pytest.approx(34502, rel=1e-3)


def test_a_feed_of_direct_current_is_not_judged_as_one_of_alternating() -> None:
    direct = {**A, "supply": {"value": "dc", "label": "DC"}, "voltage": -48}
    assert isinstance(
        only(pages(racks=[RACK], **{"power-feeds": [direct]}), "feed").expected("feed_usable_va"), Missing
    )


@pytest.mark.parametrize("status", ["offline", "failed"])
def test_a_feed_that_is_down_carries_nothing(status: str) -> None:
    files = pages(racks=[RACK], **{"power-feeds": [A, {**B, "status": {"value": status}}]})
    assert [one.role.name for one in known(files).list_components("feed")] == ["A"]


# ---- devices


def test_a_device_has_its_place_and_what_its_type_says_in_the_library() -> None:
    server = only(pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1", "position": 13.0}]), "server")
    assert server.role.name == "n1"
    assert server.expected("position_u") == 13
    assert server.expected("server_units") == 2
    assert server.expected("server_weight_kg") == pytest.approx(27.2155, rel=1e-4)  # 60 lb
    assert (server.expected("psus"), server.expected("psu_inlet")) == (2, "C14")
    assert server.expected("inlets_w") == 1500


def test_units_that_are_counted_from_the_top_are_turned_round() -> None:
    rack = {**RACK, "desc_units": True, "u_height": 42}
    server = only(pages(racks=[rack], devices=[{**NODE, "id": 1, "name": "n1", "position": 1}]), "server")
    assert server.expected("position_u") == 41  # two units at the top of 42


def test_a_server_that_the_catalog_lists_has_its_maker_s_figures_and_not_those_of_its_inlets() -> None:
    kind = {"manufacturer": {"name": "Nvidia"}, "model": "NVIDIA DGX A100 640GB", "slug": "nvidia-dgx-a100-640gb"}
    ports = [{"id": at, "name": f"Power Supply {at}", "device": {"id": 1, "name": "n1"}} for at in (1, 2)]
    rows = [{**one, "type": {"value": "iec-60320-c14"}, "maximum_draw": 1071} for one in ports]
    device = {**NODE, "id": 1, "name": "n1", "position": 1, "device_type": kind}
    server = only(pages(racks=[RACK], devices=[device], **{"power-ports": rows}), "server")
    assert server.role.value("server_type") == "dgx-a100-640gb"
    assert server.expected("server_max_w") == 6500
    assert server.expected("psus") == 6
    assert server.expected("inlets_w") == 2142


def test_inlets_of_the_device_itself_count_before_those_of_its_type() -> None:
    ports = [{"id": 1, "name": "PSU1", "device": {"id": 1}, "type": {"value": "iec-60320-c20"}, "maximum_draw": 900}]
    server = only(
        pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}], **{"power-ports": ports}),
        "server",
    )
    assert (server.expected("inlets_w"), server.expected("psus"), server.expected("psu_inlet")) == (900, 1, "C20")


@pytest.mark.parametrize(("inlets", "expected"), [(1500, 1500), (3000, 3000)])
def test_what_inlets_draw_together_may_be_the_rating_of_supplies(inlets: int, expected: int) -> None:
    ports = [{"id": at, "name": f"PSU{at}", "device": {"id": 1}, "maximum_draw": inlets // 2} for at in (1, 2)]
    server = only(pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}], **{"power-ports": ports}), "server")
    scenarios = server.scenarios("server_w")
    assert isinstance(scenarios, Scenarios)
    assert scenarios == Scenarios(pytest.approx(0.36 * inlets), expected, expected)


def test_what_one_inlet_draws_may_be_the_rating_of_its_supply() -> None:
    ports = [{"id": 1, "name": "PSU1", "device": {"id": 1}, "maximum_draw": 900}]
    server = only(pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}], **{"power-ports": ports}), "server")
    assert server.scenarios("server_w") == Scenarios(pytest.approx(648), 900, 900)


def test_an_inlet_without_a_draw_leaves_the_draw_of_the_device_unknown() -> None:
    ports = [
        {"id": at, "name": f"PSU{at}", "device": {"id": 1}, "maximum_draw": 900 if at == 1 else None} for at in (1, 2)
    ]
    server = only(pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}], **{"power-ports": ports}), "server")
    assert server.role.value("inlets_w") is None


def test_a_device_of_a_type_that_nothing_describes_draws_something_unknown() -> None:
    device = {**NODE, "id": 1, "name": "n1", "device_type": {"model": "Mystery", "slug": "mystery"}}
    server = only(pages(racks=[RACK], devices=[device]), "server")
    assert server.role.value("server_max_w") is None
    assert server.role.value("inlets_w") is None


def test_a_patch_panel_draws_nothing() -> None:
    panel = "manufacturer: Acme\nmodel: Patch 24\nslug: acme-patch-24\nu_height: 1\nis_full_depth: false\n"
    device = {
        **NODE,
        "id": 1,
        "name": "p1",
        "position": 40,
        "device_type": {"model": "Patch 24", "slug": "acme-patch-24"},
    }
    server = only({**pages(racks=[RACK], devices=[device]), "library/p.yaml": panel.encode()}, "server")
    assert server.expected("server_max_w") == 0


def test_a_blade_without_a_chassis_draws_something_unknown() -> None:
    blade = "manufacturer: Acme\nmodel: Blade\nslug: blade\nu_height: 0\nis_full_depth: true\nsubdevice_role: child\n"
    device = {**NODE, "id": 1, "name": "b1", "device_type": {"model": "Blade", "slug": "blade"}}
    server = only({**pages(racks=[RACK], devices=[device]), "library/b.yaml": blade.encode()}, "server")
    assert server.role.value("server_max_w") is None
    assert isinstance(server.expected("server_w"), Missing)


def test_a_device_of_which_the_api_counts_nothing_that_could_draw_draws_nothing() -> None:
    counted = {f"{one}_count": 0 for one in COUNTED}
    device = {**NODE, "id": 1, "name": "p1", "device_type": {"model": "Patch", "slug": "patch"}, "front_port_count": 24}
    assert only(pages(racks=[RACK], devices=[device | counted]), "server").expected("server_max_w") == 0
    counted["interface_count"] = 1
    assert only(pages(racks=[RACK], devices=[device | counted]), "server").role.value("server_max_w") is None


def test_a_tray_without_inlets_that_has_interfaces_draws_something_unknown() -> None:
    tray = "manufacturer: Acme\nmodel: Tray\nslug: acme-tray\nu_height: 1\nis_full_depth: true\nis_powered: false\n"
    tray += "interfaces:\n  - {name: ib0, type: infiniband-xdr}\n"
    device = {**NODE, "id": 1, "name": "t1", "device_type": {"model": "Tray", "slug": "acme-tray"}}
    server = only({**pages(racks=[RACK], devices=[device]), "library/t.yaml": tray.encode()}, "server")
    assert server.role.value("server_max_w") is None
    assert server.expected("server_units") == 1


def test_a_device_at_the_back_that_is_half_as_deep_takes_no_further_units() -> None:
    switch = "manufacturer: Acme\nmodel: Leaf\nslug: leaf\nu_height: 1\nis_full_depth: false\ninterfaces: [{name: e, type: x}]\n"
    device = {**NODE, "id": 1, "name": "l1", "position": 13, "device_type": {"model": "Leaf", "slug": "leaf"}}
    files = {"library/l.yaml": switch.encode()}
    rear = {**device, "face": {"value": "rear", "label": "Rear"}}
    assert only({**pages(racks=[RACK], devices=[rear]), **files}, "server").expected("server_units") == 0
    nobody_knows = {**device, "face": None}
    assert only({**pages(racks=[RACK], devices=[nobody_knows]), **files}, "server").expected("server_units") == 0
    assert only({**pages(racks=[RACK], devices=[device]), **files}, "server").expected("server_units") == 1


@pytest.mark.parametrize("status", ["inventory", "decommissioning"])
def test_a_device_that_is_on_its_way_out_is_left_out(status: str) -> None:
    files = pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1", "status": {"value": status}}])
    assert not known(files).list_components("server")


def test_a_blade_draws_what_the_inlets_of_its_chassis_say() -> None:
    blade = {**NODE, "id": 2, "name": "b1", "parent_device": {"id": 1, "name": "n1"}}
    files = pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}, blade])
    chassis, held = known(files).list_components("server")
    assert (held.expected("server_max_w"), held.expected("server_units")) == (0, 0)
    assert chassis.expected("inlets_w") == 1500


def test_types_of_one_name_by_two_makers_are_two_types() -> None:
    other = LIBRARY.replace("Acme", "Zeta").replace("acme", "zeta").replace("u_height: 2", "u_height: 5")
    kinds = [LOADER, {"manufacturer": {"name": "Zeta"}, "model": "Loader 2000", "slug": "zeta-loader-2000"}]
    rows = [{**NODE, "id": at, "name": f"n{at}", "device_type": kind} for at, kind in enumerate(kinds)]
    files = {**pages(racks=[RACK], devices=rows), "library/Zeta/loader.yaml": other.encode()}
    assert [one.expected("server_units") for one in known(files).list_components("server")] == [2, 5]


def test_servers_alike_on_top_of_one_another_are_one_entry() -> None:
    rows = [{**NODE, "id": at, "name": f"n{at:02}", "position": 2 * at + 11} for at in (1, 2, 3)]
    server = only(pages(racks=[RACK], devices=rows), "server")
    assert (server.role.name, server.expected("servers"), server.expected("position_u")) == ("n[01-03]", 3, 13)
    assert server.expected("server_group_units") == 6


@pytest.mark.parametrize(
    "other",
    [
        {"position": 17},  # a gap of two units
        {"position": 15, "device_type": {**LOADER, "model": "Loader 3000", "slug": "acme-loader-3000"}},
        {"position": 15, "rack": {"id": 8, "name": "r08"}},
    ],
)
def test_servers_with_a_difference_are_entries_of_their_own(other: Row) -> None:
    rows = [{**NODE, "id": 1, "name": "n1", "position": 13}, {**NODE, "id": 2, "name": "n2", **other}]
    racks = [RACK, {**RACK, "id": 8, "name": "r08"}]
    assert [one.role.name for one in known(pages(racks=racks, devices=rows)).list_components("server")] == ["n1", "n2"]


CARD = {"manufacturer": {"name": "NVIDIA"}, "model": "H100 PCIe"}
HOLDER = {"device": {"id": 1, "name": "n1"}}


@pytest.mark.parametrize(
    "lists",
    [
        {"modules": [{**HOLDER, "id": at, "module_type": CARD} for at in range(4)]},
        {"inventory-items": [{**HOLDER, "name": f"GPU {at}", "part_id": "H100 PCIe", **CARD} for at in range(4)]},
    ],
)
def test_cards_that_an_inventory_lists_are_the_accelerators_of_their_server(lists: dict[str, list[Row]]) -> None:
    files = pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}], **lists)
    server = only(files, "server")
    assert (server.expected("accelerator"), server.expected("server_gpus")) == ("h100-pcie-80gb", 4)


@pytest.mark.parametrize(
    "kinds",
    [
        [CARD, {**CARD, "model": "NVIDIA L40S"}],  # of two kinds
        [{"manufacturer": {"name": "Acme"}, "model": "L4"}],  # another maker's L4
        [{"manufacturer": {"name": "NVIDIA"}, "model": "ConnectX-7"}],
    ],
)
def test_what_is_not_one_kind_of_accelerator_for_sure_says_nothing(kinds: list[Row]) -> None:
    rows = [{**HOLDER, "id": at, "module_type": kind} for at, kind in enumerate(kinds)]
    server = only(pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}], modules=rows), "server")
    assert server.role.value("accelerator") is None


# ---- cords and strips

STRIP = "manufacturer: Acme\nmodel: Strip\nslug: strip\nu_height: 0\nis_full_depth: false\n"
STRIP += "power-ports: [{name: In, type: cs8365c}]\npower-outlets:\n"
STRIP += "".join(f"  - {{name: O{at}, type: iec-60320-c19, power_port: In}}\n" for at in range(1, 7))
CABLED = {
    "devices": [
        {**NODE, "id": 1, "name": "n1", "position": 1},
        {**NODE, "id": 2, "name": "pdu-a", "device_type": {"model": "Strip", "slug": "strip"}},
        {**NODE, "id": 3, "name": "pdu-b", "device_type": {"model": "Strip", "slug": "strip"}},
    ],
    "power-ports": [
        {"id": 11, "name": "PSU1", "device": {"id": 1, "name": "n1"}, "maximum_draw": 750},
        {"id": 12, "name": "PSU2", "device": {"id": 1, "name": "n1"}, "maximum_draw": 750},
        {"id": 21, "name": "In", "device": {"id": 2, "name": "pdu-a"}},
        {"id": 31, "name": "In", "device": {"id": 3, "name": "pdu-b"}},
    ],
}


def end(kind: str, number: int, **of: object) -> dict[str, object]:
    return {"object_type": f"dcim.{kind}", "object_id": number, "object": {"id": number, **of}}


def cable(one: dict[str, object], other: dict[str, object]) -> dict[str, object]:
    return {"url": "https://nb.example.com/api/dcim/cables/1/", "a_terminations": [one], "b_terminations": [other]}


CABLES = [
    cable(end("powerport", 11), end("poweroutlet", 41, device={"id": 2, "name": "pdu-a"})),
    cable(end("poweroutlet", 51, device={"id": 3, "name": "pdu-b"}), end("powerport", 12)),
    cable(end("powerport", 21), end("powerfeed", 1)),
    cable(end("powerfeed", 2), end("powerport", 31)),
]


def test_cords_are_followed_through_the_strips_to_their_feeds() -> None:
    files = pages(racks=[RACK], **{**CABLED, "power-feeds": [A, B]}, cables=CABLES) | {"library/s.yaml": STRIP.encode()}
    (server,) = known(files).list_components("server")
    assert server.role.value("cords") == {"A": "1", "B": "1"}
    assert [one.role.value("outlets") for one in known(files).list_components("feed")] == [{"C19": "6"}, {"C19": "6"}]


def test_a_cord_that_leads_nowhere_leaves_the_cords_of_its_server_unknown() -> None:
    files = pages(racks=[RACK], **{**CABLED, "power-feeds": [A, B]}, cables=CABLES[:1] + CABLES[2:])
    (server,) = (one for one in known(files).list_components("server") if one.role.name == "n1")
    assert server.role.value("cords") is None


def test_a_strip_is_no_server() -> None:
    files = pages(racks=[RACK], **CABLED) | {"library/s.yaml": STRIP.encode()}
    assert [one.role.name for one in known(files).list_components("server")] == ["n1"]


def test_strips_that_are_alike_hang_on_one_feed_each_where_no_cable_says_it() -> None:
    files = pages(racks=[RACK], devices=CABLED["devices"], **{"power-feeds": [A, B]}) | {
        "library/s.yaml": STRIP.encode()
    }
    assert [one.role.value("outlets") for one in known(files).list_components("feed")] == [{"C19": "6"}, {"C19": "6"}]


def test_one_strip_beside_two_feeds_hangs_on_neither_for_sure() -> None:
    files = pages(racks=[RACK], devices=CABLED["devices"][:2], **{"power-feeds": [A, B]})
    files |= {"library/s.yaml": STRIP.encode()}
    assert [one.role.value("outlets") for one in known(files).list_components("feed")] == [None, None]


def test_outlets_of_a_kind_without_a_name_here_leave_the_outlets_of_a_feed_unknown() -> None:
    strip = STRIP + "  - {name: O7, type: nema-5-20r, power_port: In}\n"
    files = pages(racks=[RACK], **{**CABLED, "power-feeds": [A, B]}, cables=CABLES) | {"library/s.yaml": strip.encode()}
    assert [one.role.value("outlets") for one in known(files).list_components("feed")] == [None, None]


def test_a_strip_whose_feed_nobody_knows_leaves_the_outlets_of_all_feeds_unknown() -> None:
    cables = CABLES[:2] + CABLES[3:]  # without the cable of pdu-a
    files = pages(racks=[RACK], **{**CABLED, "power-feeds": [A, B]}, cables=cables) | {"library/s.yaml": STRIP.encode()}
    assert [one.role.value("outlets") for one in known(files).list_components("feed")] == [None, None]


def test_two_strips_on_one_feed_have_their_outlets_together() -> None:
    cables = [*CABLES[:3], cable(end("powerport", 31), end("powerfeed", 1))]
    files = pages(racks=[RACK], **{**CABLED, "power-feeds": [A]}, cables=cables) | {"library/s.yaml": STRIP.encode()}
    assert only(files, "feed").role.value("outlets") == {"C19": "12"}


# ---- tables

TABLES = {
    "export/netbox_racks.csv": "Name,Site,Location,Facility ID,Height,Max Weight\nr07,ams1,hall-1,F-7,48U,3000 lb\n",
    "export/netbox_power feeds.csv": (
        "Name,Power panel,Rack,Status,Type,Supply,Voltage,Amperage,Phase,Max utilization,Available power (VA)\n"
        "A,RPP-1,r07 (F-7),Active,Primary,AC,415,60,Three-phase,80%,34505\n"
    ),
    "export/netbox_devices.csv": (
        "Name,Status,Site,Location,Rack,Position (U),Face,Role,Manufacturer,Type\n"
        "n1,Active,ams1,hall-1,r07 (F-7),13.0,Front,GPU node,Acme,Loader 2000\n"
        '"two\nlines",Active,ams1,hall-1,r07 (F-7),20,Front,GPU node,Acme,Loader 2000\n'
        "n3,Active,ams1,hall-1,r07 (F-7),30,Front,GPU node,Acme,Loader 2000\n"
    ),
}


def test_tables_say_the_same_as_the_api() -> None:
    found = known({path: text.encode() for path, text in TABLES.items()})
    (rack,) = found.list_components("rack")
    (feed,) = found.list_components("feed")
    assert rack.path() == ("ams1", "hall-1", "r07")
    assert rack.expected("rack_load_limit_kg") == pytest.approx(1360.78, rel=1e-4)
    assert stated(feed, "feed_voltage_v", "feed_phases", "breaker_a", "breaker_continuous_share") == {
        "feed_voltage_v": 415,
        "feed_phases": 3,
        "breaker_a": 60,
        "breaker_continuous_share": 0.8,
    }
    first, *_ = found.list_components("server")
    assert (first.expected("position_u"), first.expected("inlets_w")) == (13, 1500)


def test_cords_are_followed_through_tables_too() -> None:
    files = {
        **TABLES,
        "export/power-ports.csv": "Device,Name,Type,Maximum draw\nn1,PSU1,C14,750\nn1,PSU2,C14,750\npdu-a,In,CS8365C,\n",
        "export/power-outlets.csv": "Device,Name,Type,Power port,Feed leg\npdu-a,O1,C13,In,A\npdu-a,O2,C13,In,B\n",
        "export/cables.csv": (
            "ID,Termination A,Device A,Termination B,Device B\n1,PSU1,n1,O1,pdu-a\n2,O2,pdu-a,PSU2,n1\n3,In,pdu-a,A,\n"
        ),
    }
    first, *_ = known({path: text.encode() for path, text in files.items()}).list_components("server")
    assert (first.role.name, first.role.value("cords")) == ("n1", {"A": "2"})


def test_a_row_of_a_table_is_found_at_its_line() -> None:
    servers = known({path: text.encode() for path, text in TABLES.items()}).list_components("server")
    assert [one.role.anchor.location().line for one in servers] == [2, 3, 5]


def test_an_object_of_the_api_is_found_at_its_line() -> None:
    rows = [{**NODE, "id": at, "name": f"n{at}", "position": 10 * at} for at in (1, 2)]
    page = json.dumps({"count": 2, "results": rows}, indent=1)
    files = {"export/devices.json": page.encode(), **pages(racks=[RACK])}
    _, second = known(files).list_components("server")
    place = second.role.fields["position_u"].origins[0].location()
    assert page.splitlines()[place.line - 1].strip() == '"position": 20'


# ---- merging


def test_what_the_file_states_of_a_rack_decides_and_the_rest_comes_from_the_inventory() -> None:
    text = FILE + "  racks:\n    - name: r07\n      units: 52\n      cooling: rear-door\n"
    files = pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}], **{"power-feeds": [A]})
    rack = only(files, "rack", text)
    assert rack.expected("rack_units") == 52
    assert rack.expected("rack_load_limit_kg") == pytest.approx(1360.78, rel=1e-4)
    assert [one.role.name for one in (*rack.list_components("feed"), *rack.list_components("server"))] == ["A", "n1"]


def test_a_room_that_the_file_names_holds_the_racks_of_the_location_of_that_name() -> None:
    text = FILE + "  rooms:\n    - name: hall-1\n      inlet: 24 C\n      racks:\n        - {name: r99, units: 42}\n"
    found = known(pages(racks=[RACK]), text)
    assert [one.path() for one in found.list_components("rack")] == [("hall-1", "r99"), ("hall-1", "r07")]
    assert not found.list_components("site")


def test_feeds_that_the_file_lists_stand_in_the_place_of_the_inventory_s() -> None:
    text = FILE + "  racks:\n    - name: r07\n      feeds: [{name: A, breaker: 32}, {name: X, breaker: 16}]\n"
    feeds = known(pages(racks=[RACK], **{"power-feeds": [A, B]}), text).list_components("feed")
    assert [(one.role.name, one.role.value("breaker_a"), one.role.value("feed_voltage_v")) for one in feeds] == [
        ("A", 32, 415),
        ("X", 16, None),
    ]


def test_racks_of_one_name_in_two_sites_are_not_taken_for_one_another() -> None:
    other = {**RACK, "id": 8, "site": {"id": 2, "name": "fra1"}, "location": None, "u_height": 40}
    text = FILE + "  sites:\n    - name: fra1\n      racks:\n        - {name: r07, cooling: in-row}\n"
    racks = known(pages(racks=[RACK, other]), text).list_components("rack")
    assert [(one.path()[0], one.expected("rack_units"), one.role.value("cooling")) for one in racks] == [
        ("fra1", 40, "in-row"),
        ("ams1", 48, None),
    ]


# ---- exports alone


def test_a_folder_of_exports_is_a_facility_of_its_own() -> None:
    found = inventories.synthesize_facility(
        "export", ExampleRepository(pages(racks=[RACK], devices=[{**NODE, "id": 1, "name": "n1"}]))
    )
    assert found is not None
    (document,) = documents.load(found.path, found.content).documents
    described = facility.read_facility(document, ExampleRepository(pages(racks=[RACK])))
    assert described is not None
    assert [one.role.name for one in rules_facility.resolve_facts(described, {}).list_components("rack")] == ["r07"]


def test_a_file_of_several_lists_is_a_facility_of_its_own() -> None:
    lists = json.dumps({"racks": {"count": 1, "results": [RACK]}, "power-feeds": [A]}).encode()
    held = ExampleRepository({"dcim/hall.json": lists})
    found = inventories.synthesize_facility("dcim/hall.json", held)
    assert found is not None
    (document,) = documents.load(found.path, found.content).documents
    described = facility.read_facility(document, held)
    assert described is not None
    known = rules_facility.resolve_facts(described, {})
    assert [one.role.name for one in (*known.list_components("rack"), *known.list_components("feed"))] == ["r07", "A"]


def test_tables_of_racks_have_a_column_of_facilities_and_are_exports_all_the_same() -> None:
    table = b"Name,Site,Location,Facility ID,Status,Height (U)\r\nr07,ams1,hall-1,,Active,48U\r\n"
    held = ExampleRepository({"export/netbox_racks.csv": table})
    found = inventories.synthesize_facility("export", held)
    assert found is not None
    (document,) = documents.load(found.path, found.content).documents
    described = facility.read_facility(document, held)
    assert described is not None
    assert [
        one.expected("rack_units") for one in rules_facility.resolve_facts(described, {}).list_components("rack")
    ] == [48]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("room/facility.yaml", FILE.encode()),
        ("room/values.json", b'{"replicas": 2}'),
        ("room/prefixes.json", b'{"results": [{"url": "https://nb.example.com/api/ipam/prefixes/1/"}]}'),
    ],
)
def test_what_is_no_export_is_left_to_its_own_readers(path: str, content: bytes) -> None:
    assert inventories.synthesize_facility("room", ExampleRepository({path: content})) is None
    assert inventories.synthesize_facility(path, ExampleRepository({path: content})) is None


# ---- what cannot be read


def test_what_cannot_be_read_is_said_and_the_rest_is_read() -> None:
    text = FILE.replace("[export, library]", "[export, gone.json]")
    files = {**pages(racks=[RACK]), "export/devices.json": b"{"}
    assert said(files, text) == [
        "gone.json: no such file or folder",
        "export/devices.json cannot be read: Expecting property name enclosed in double quotes",
    ]
    assert only(files, "rack", text).role.name == "r07"


def test_a_page_that_is_not_all_is_said() -> None:
    page = {"count": 400, "next": "https://nb.example.com/api/dcim/racks/?offset=50", "results": [RACK]}
    assert said({"export/racks.json": json.dumps(page).encode()}) == [
        "export/racks.json holds 1 of 400 racks: export the other pages too, such as ?limit=1000&offset=1"
    ]


def test_pages_that_are_all_together_are_silent() -> None:
    files = {
        f"export/racks-{at}.json": json.dumps({"count": 2, "results": [{**RACK, "id": at, "name": f"r{at}"}]}).encode()
        for at in (1, 2)
    }
    assert said(files) == []
    assert len(known(files).list_components("rack")) == 2


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"{}",
        b"null",
        b'{"results": 3}',
        b'{"results": [1, null]}',
        b'[{"name": {"a": {"b": 1}}}]',
        b'"x"',
        b"[" * 9999,
    ],
)
def test_a_stranger_s_file_breaks_nothing(content: bytes) -> None:
    for name in ("racks", "devices", "power-feeds", "power-ports", "cables", "device-types"):
        known({f"export/{name}.json": content, **pages(racks=[RACK])})


def test_lists_of_other_things_are_passed_over() -> None:
    address = {"id": 1, "url": "https://nb.example.com/api/ipam/ip-addresses/1/", "address": "192.0.2.1/24"}
    files = {"export/addresses.json": json.dumps([address]).encode(), **pages(racks=[RACK])}
    assert said(files) == []


# ---- judged


def test_a_rack_of_an_export_is_judged_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight DGX A100 draw 52 kW; one feed of 415 V, 60 A and 80 % carries 34.5 kVA when the other has failed."""
    monkeypatch.chdir(tmp_path)
    kind = {"manufacturer": {"name": "NVIDIA"}, "model": "NVIDIA DGX A100 640GB", "slug": "nvidia-dgx-a100-640gb"}
    nodes = [{**NODE, "id": at, "name": f"n{at}", "position": 6 * at - 5, "device_type": kind} for at in range(1, 9)]
    for path, content in pages(racks=[{**RACK, "u_height": 52}], devices=nodes, **{"power-feeds": [A, B]}).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(json.dumps(json.loads(content), indent=1))
    result = CliRunner().invoke(cli.main, ["facility", "export", "--format", "json"])
    report = json.loads(result.output)
    assert result.exit_code == 1
    found = {one["rule"]: one for one in report["findings"] if one["severity"] == "error"}
    assert list(found) == ["failover-over-circuit"]
    place = found["failover-over-circuit"]
    line = (tmp_path / place["path"]).read_text().splitlines()[place["line"] - 1]
    assert (place["path"], line.strip()) == ("export/power-feeds.json", '"type": {')
    assert "the remaining feeds can carry 34.5 kVA" in place["message"]
    edits = [edit for one in place["suggestions"] for edit in one["changes"] if edit.get("path")]
    assert [edit for edit in edits if not edit["old"]] == [], "an inventory takes no keys of ours"
