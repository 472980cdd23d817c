"""Transceivers, cables and switches of the catalog, and what of them fits together: figures from standards and product pages."""

from __future__ import annotations

import math

import pytest
from click.testing import CliRunner

from gpulint.catalog import tables
from gpulint.catalog.errors import MissingInput
from gpulint.catalog.hardware import switches, transceivers
from gpulint.cli.commands.catalog import command
from gpulint.sizing.cabling import connectors, endpoint_match, reach_and_loss, switch_ports

GBIT = 125_000_000
"""A gigabit per second in bytes per second."""

REACHES = [
    ("100GBASE-SR4", "OM3", 70),  # IEEE 802.3bm, table 95-1
    ("100GBASE-SR4", "OM4", 100),
    ("200GBASE-SR4", "OM4", 100),  # IEEE 802.3cd, table 138-1
    ("400GBASE-SR8", "OM3", 70),  # TIA Fiber Optics Tech Consortium, 400GBASE-SR8
    ("400GBASE-SR8", "OM5", 100),
    ("400GBASE-SR4.2", "OM3", 70),  # TIA Fiber Optics Tech Consortium, 400GBASE-SR4.2
    ("400GBASE-SR4.2", "OM4", 100),
    ("400GBASE-SR4.2", "OM5", 150),
    ("400GBASE-DR4", "OS2", 500),
    ("800GBASE-DR8", "OS2", 500),  # TIA Fiber Optics Tech Consortium, 800GBASE-DR8
    ("100GBASE-FR1", "OS2", 2_000),  # TIA Fiber Optics Tech Consortium, 100GBASE-FR1
    ("400GBASE-LR8", "OS2", 10_000),  # TIA Fiber Optics Tech Consortium, 400GBASE-LR8
    ("400G-LR4", "OS2", 10_000),
    ("MMA4Z00-NS", "OM3", 30),  # NVIDIA: "length: 30m OM3, 50m OM4, 50m OM5" in its EEPROM
    ("MMA4Z00-NS", "OM4", 50),
    ("MMA4Z00-NS400", "OM5", 50),
    ("MMS4X00-NM", "OS2", 500),  # NVIDIA, MMS4X00-NM: 500 m
    ("MMS4X00-NS", "OS2", 100),  # NVIDIA, MMS4X00-NS: 100 m
    ("MMS4X50-NM", "OS2", 2_000),  # NVIDIA, MMS4X50-NM: 2 km
    ("MMS4A00-XM", "OS2", 500),  # NVIDIA, MMS4A00: 500 m
    ("mma1b00-c100d", "OM3", 70),  # NVIDIA, MMA1B00-C100D: 70 m
]


@pytest.mark.parametrize(("name", "medium", "reach_m"), REACHES)
def test_a_link_reaches_as_far_as_the_standard_or_the_maker_says(name: str, medium: str, reach_m: float) -> None:
    assert reach_and_loss.link_reach_m(name, None, medium) == reach_m


@pytest.mark.parametrize("far", ["MMS4X00-NS400", "MMS4X00-NS"])
def test_a_transceiver_for_500_m_reaches_one_for_100_m_over_100_m(far: str) -> None:
    assert reach_and_loss.link_reach_m("MMS4X00-NM", far, "OS2") == 100
    assert reach_and_loss.link_reach_m(far, "MMS4X00-NM", "OS2") == 100


@pytest.mark.parametrize(("name", "medium"), [("MMA4Z00-NS", "OS2"), ("400GBASE-DR4", "OM4"), ("100GBASE-SR4", "OM1")])
def test_a_reach_that_nobody_publishes_is_unknown(name: str, medium: str) -> None:
    with pytest.raises(LookupError):
        reach_and_loss.link_reach_m(name, None, medium)


def test_a_transceiver_that_is_not_listed_is_unknown() -> None:
    with pytest.raises(MissingInput, match=r"^optic$"):
        reach_and_loss.link_reach_m("MMA4Z00", None, "OM4")
    with pytest.raises(MissingInput, match="far_optic"):
        reach_and_loss.link_reach_m("MMA4Z00-NS", "MMA4Z00", "OM4")


INTEROPERATE = [
    ("MMA4Z00-NS", "MMA1Z00-NS400"),  # a twin port and an adapter: NVIDIA, MMA4Z00-NS overview
    ("MMS4X00-NM", "MMS1X00-NS400"),
    ("400GBASE-SR4", "400GBASE-VR4"),
    ("400GBASE-DR4", "100GBASE-DR"),  # broken out
    ("MMS4X50-NM", "400GBASE-FR4"),  # NVIDIA, MMS4X50-NM application overview: QSFP-DD 400G FR4
    ("400GBASE-SR8", "200GBASE-SR4"),  # FS, 400G QSFP-DD transceiver types: SR8 breaks out to 2 x 200G SR4
    ("400GBASE-SR4.2", "100GBASE-SR1.2"),
    ("MCP4Y10-N002", "MMA4Z00-NS"),  # a cable has no signal of its own
]
DO_NOT = [
    ("400GBASE-DR4", "400GBASE-FR4"),
    ("400GBASE-SR4", "400GBASE-SR8"),
    ("400GBASE-SR4", "400GBASE-SR4.2"),
    ("100GBASE-SR4", "100GBASE-SR1.2"),
    ("100GBASE-LR4", "100G-CWDM4"),
    ("MMS4A20", "MMS4X00-NS400"),  # 200 against 100 Gb/s a lane
    ("MMA4Z00-NS", "MMA1T00-HS"),
]


@pytest.mark.parametrize(("near", "far"), INTEROPERATE)
def test_what_sends_the_same_lanes_interoperates(near: str, far: str) -> None:
    assert endpoint_match.optics_interoperate(near, far)
    assert endpoint_match.optics_interoperate(far, near)


@pytest.mark.parametrize(("near", "far"), DO_NOT)
def test_other_wavelengths_or_lane_rates_do_not_interoperate(near: str, far: str) -> None:
    assert not endpoint_match.optics_interoperate(near, far)
    assert not endpoint_match.optics_interoperate(far, near)


@pytest.mark.parametrize("connector", [None, "MPO-12", "MTP-12", "MPO-8"])
def test_eight_fibres_fit_into_a_ferrule_of_twelve(connector: str | None) -> None:
    assert connectors.connector_fits(connector, "MMS4X00-NM")


@pytest.mark.parametrize(
    ("connector", "name"), [("MPO-16", "MMS4X00-NM"), ("LC", "400GBASE-DR4"), ("MPO-12", "MMS4X50-NM")]
)
def test_another_connector_does_not_fit(connector: str, name: str) -> None:
    assert not connectors.connector_fits(connector, name)


@pytest.mark.parametrize(
    ("cage", "name"),
    [
        ("OSFP", "MMA4Z00-NS400"),
        ("OSFP", "MMA4Z00-NS"),
        (None, "MMA4Z00-NS"),
        ("QSFP-DD", "MMA1T00-HS"),
        ("CFP2", "MMA4Z00-NS"),
    ],
)
def test_a_cage_takes_its_plugs_and_nothing_is_said_of_others(cage: str | None, name: str) -> None:
    assert connectors.cage_fits(cage, name)


@pytest.mark.parametrize(
    ("cage", "name"),
    [
        ("OSFP-RHS", "MMA4Z00-NS"),
        ("OSFP-IHS", "MMA4Z00-NS400"),
        ("QSFP112", "MMA4Z00-NS400"),
        ("QSFP56", "MMA1Z00-NS400"),
    ],
)
def test_a_finned_module_does_not_fit_an_adapter_nor_a_larger_plug_a_smaller_cage(cage: str, name: str) -> None:
    assert not connectors.cage_fits(cage, name)


@pytest.mark.parametrize(
    ("medium", "gbit", "reach_m"),
    [
        ("DAC", 100, 5),
        ("DAC", 200, 3),
        ("DAC", 400, 3),
        ("DAC", 800, 3),
        ("ACC", 800, 5),
        ("AEC", 800, 7),
        ("OM4", 400, math.inf),
    ],
)
def test_passive_copper_is_made_as_long_as_its_lanes_allow(medium: str, gbit: float, reach_m: float) -> None:
    assert reach_and_loss.copper_reach_m(medium, gbit * GBIT) == reach_m


@pytest.mark.parametrize(
    ("name", "length_m"),
    [
        ("MCP4Y10-N00A", 0.5),
        ("MCP7Y00-N02A", 2.5),
        ("MCA4J80-N005", 5),
        ("MFS1S00-H100V", 100),
        ("MFA7U10-H030-FLT", 30),
    ],
)
def test_a_cable_is_as_long_as_its_part_number_says(name: str, length_m: float) -> None:
    assert reach_and_loss.assembly_length_m(name) == length_m


@pytest.mark.parametrize(
    ("name", "ports", "tbit"),
    [
        ("QM9700", 128, 25.6),
        ("MQM8790-HS2F", 80, 8.0),
        ("SN5600", 257, 51.2),
        ("SN4700", 128, 12.8),
    ],  # NVIDIA's throughputs count both directions of InfiniBand
)
def test_a_switch_takes_and_carries_what_its_maker_says(name: str, ports: int, tbit: float) -> None:
    assert switch_ports.switch_ports(name) == ports
    assert switch_ports.switch_capacity_bytes_per_s(name) == pytest.approx(tbit * 1000 * GBIT)


def test_a_superpod_leaf_is_not_oversubscribed() -> None:
    """NVIDIA, DGX SuperPOD H100 reference architecture: 32 links down and 32 up on each leaf of 64 ports."""
    assert switch_ports.oversubscription(32, 400 * GBIT, 32, 400 * GBIT) == 1


def test_names_of_the_catalog_are_told_apart_in_either_case() -> None:
    for table, named in (("optics", transceivers.find_optic), ("switches", switches.find_switch)):
        names = [
            name.lower()
            for row in tables.rows(table)
            for name in (row["name"], *filter(None, row["aliases"].split(";")))
        ]
        assert len(names) == len(set(names))
        assert all(named(name.upper()) is not None for name in names)


def test_every_transceiver_states_what_the_rules_ask_of_it() -> None:
    for one in transceivers.optics():
        assert one.kind in {"standard", "transceiver", "dac", "acc", "aoc"}, one
        assert (one.length_m is None) == (one.kind in {"standard", "transceiver"}), one
        assert bool(one.reach_m) == bool(one.signal) == bool(one.fibre) == (one.length_m is None), one
        assert set(one.reach_m) <= ({"OS2"} if one.fibre == "single-mode" else {"OM3", "OM4", "OM5"}), one
        assert set(one.loss_db) <= set(one.reach_m), one


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("optics",), "MMA4Z00-NS      "),
        (("optics", "mma4z00-ns"), "OM3=30 m, OM4=50 m"),
        (("switches",), "QM9700    64     400 Gb/s  128"),
        (("switches", "QM9790"), "32 OSFP cages"),
    ],
)
def test_the_catalog_lists_what_it_knows_of_links(arguments: tuple[str, ...], shown: str) -> None:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0
    assert shown in result.output


def test_a_name_that_the_catalog_lacks_is_answered_with_the_nearest() -> None:
    result = CliRunner().invoke(command, ("switches", "QM9900"))
    assert "the catalog has no switch QM9900; did you mean QM9700" in str(result.output) + str(result.exception)
