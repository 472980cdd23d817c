"""Servers of the catalog: what vendors publish, under the names that people and device-type libraries write."""

from __future__ import annotations

import re

import pytest

from gpulint.catalog import hardware, tables
from gpulint.catalog.hardware import servers

SERVERS = servers.list_servers()


@pytest.mark.parametrize(
    ("written", "server"),
    [
        ("dgx-h100", "dgx-h100"),
        ("DGX H100", "dgx-h100"),
        ("NVIDIA DGX H100", "dgx-h100"),
        ("nvidia-dgx-h100", "dgx-h100"),
        ("nvidia-dgx-a100-640gb", "dgx-a100-640gb"),
        ("DGX A100", "dgx-a100"),
        ("Dell PowerEdge XE9680", "poweredge-xe9680"),
        ("dell_poweredge_r760xa", "poweredge-r760xa"),
        ("XE9680", "poweredge-xe9680"),
        ("supermicro-as-8125gs-tnmr2", "as-8125gs-tnmr2"),
        ("lenovo-thinksystem-sr680a-v3", "thinksystem-sr680a-v3"),
        ("GB200 NVL72", "gb200-nvl72"),
    ],
)
def test_a_server_is_found_by_the_names_that_are_listed_in_either_case(written: str, server: str) -> None:
    found = servers.find_server(written)
    assert found is not None
    assert found.id == server


@pytest.mark.parametrize("written", ["DGX", "H100", "DGX H1000", "dgx h100 ", "NVL72", "B200", "GB200", "SR680a", ""])
def test_a_part_of_a_name_is_no_server(written: str) -> None:
    assert servers.find_server(written) is None


def test_no_name_means_two_servers() -> None:
    written = [
        name.lower() for one in SERVERS for name in {one.id, f"{one.vendor} {one.name}".lower(), one.name.lower()}
    ]
    written += [row["name"].lower() for row in tables.rows("server_names")]
    assert sorted(name for name in set(written) if written.count(name) > 1) == []


def test_every_listed_name_is_of_a_server_with_a_row() -> None:
    assert {row["server"] for row in tables.rows("server_names")} <= {one.id for one in SERVERS}


def test_a_dgx_h100_is_what_its_user_guide_prints() -> None:
    found = servers.find_server("dgx-h100")
    assert found is not None
    assert (found.server_max_w, found.psus, found.psu_w, found.psus_needed) == (10200, 6, 3300, 4)
    assert (found.server_units, found.server_weight_kg, found.psu_inlet) == (8, 130.45, "C20")
    assert found.server_heat_w == pytest.approx(11_300, rel=1e-4)
    assert found.server_airflow_m3_per_s == pytest.approx(0.5215, rel=1e-3)


def test_servers_name_accelerators_of_the_catalog_or_none() -> None:
    assert [one.id for one in SERVERS if one.accelerator and hardware.accelerator(one.accelerator) is None] == []


def test_ids_are_kebab_case_and_sources_are_more_than_a_name() -> None:
    for one in SERVERS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one.id), one.id
        assert len(one.source) > 30, one.id


@pytest.mark.parametrize("one", SERVERS, ids=lambda one: one.id)
def test_figures_of_a_server_agree_with_each_other(one: servers.Server) -> None:
    assert one.server_cooling in ("air", "liquid", "hybrid", None)
    if one.psus is not None and one.psus_needed is not None:
        assert one.psus_needed <= one.psus
    if one.psu_w and one.psus_needed and one.server_max_w:
        assert one.psu_w * one.psus_needed >= one.server_max_w
    if one.server_heat_w and one.server_max_w:
        assert 0.95 < one.server_heat_w / one.server_max_w < 1.15
    if one.server_inlet_min_c is not None and one.server_inlet_max_c is not None:
        assert 0 < one.server_inlet_min_c < one.server_inlet_max_c <= 45
    if one.server_liquid_share is not None:
        assert 0 < one.server_liquid_share <= 1
        assert one.server_cooling in ("liquid", "hybrid")
    if one.server_airflow_m3_per_s and one.server_max_w:
        assert 5 < one.server_max_w / (1200 * one.server_airflow_m3_per_s) < 25, "degrees that the air warms by"


def test_an_empty_cell_is_none() -> None:
    found = servers.find_server("poweredge-xe9680l")
    assert found is not None
    assert (found.server_max_w, found.accelerator, found.server_heat_w) == (None, None, None)


@pytest.mark.parametrize("written", ["Dell XE9680", "dell_xe9680", "DELL-XE9680", "Dell PowerEdge XE9680", "XE9680"])
def test_what_stands_between_the_words_of_a_name_does_not_matter(written: str) -> None:
    found = servers.find_server(written)
    assert found is not None
    assert found.id == "poweredge-xe9680"


@pytest.mark.parametrize("written", ["Dell XE 9680", "XE968", "Dell", "Dell XE9680 XE9680", ""])
def test_another_name_is_still_another_name(written: str) -> None:
    assert servers.find_server(written) is None
