"""Rules about cables and switches: what they must say, and the links that are right and must not be spoken of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import samples

from gpulint.adapters.native import facility
from gpulint.policy.rules import facility as rules_facility
from gpulint.policy.rules import rule
from gpulint.source import documents

HEAD = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: ams1}\nspec:\n"
SWITCHES = """\
  switches:
    - {name: leaf1, type: QM9700}
    - {name: spine1, type: MQM9790-NS2F}
    - {name: stor1, type: SN5600}
"""


def said(spec: str) -> set[str]:
    """The rules that speak of a facility."""
    return {found.rule for found in samples.report(HEAD + spec, path="facility.yaml").open}


def cable(stated: str) -> str:
    return f"  cables:\n    - {{{stated}}}\n"


RIGHT = [
    pytest.param(
        "optic: mms4x00-nm, medium: os1a, length: 400 m, connector: mpo, polish: apc",
        id="words in lower case, and MPO of no known size",
    ),
    pytest.param("optic: MMA1B00-C100D, medium: OM4, length: 40 m, polish: PC", id="PC is flat too"),
    pytest.param(
        "optic: MFA7U10-H010, medium: AOC, length: 10 m, speed: 400G, far_speed: 200G",
        id="a cable with two plugs at its far end",
    ),
    pytest.param(
        "optic: MMA4Z00-NS, far_optic: MMA4Z00-NS400, medium: OM4, length: 9 m, speed: 800G, far_speed: 400G",
        id="the speed of a cage with two links",
    ),
    pytest.param(
        "optic: MMA4Z00-NS, medium: OM4, length: 20 m, loss: 2.2 dB", id="a maker's part whose loss no standard limits"
    ),
    pytest.param(
        "optic: MMA4Z00-NS, far_optic: MMA4Z00-NS400, medium: OM4, length: 50 m, connector: MPO-12, polish: APC",
        id="a twin port to an adapter, to the metre",
    ),
    pytest.param("optic: MMA4Z00-NS, far_optic: MMA1Z00-NS400, medium: OM3, length: 30 m", id="the same on OM3"),
    pytest.param(
        "optic: MMS4X00-NM, far_optic: MMS1X00-NS400, breakout: 2, medium: OS2, length: 80 m",
        id="a splitter to adapters at half the speed",
    ),
    pytest.param(
        "optic: MMS4X00-NM, breakout: 2, connector: MPO-16, medium: OS2, length: 80 m",
        id="the ends of a fan-out cable are not known apart",
    ),
    pytest.param("optic: 400GBASE-SR4.2, medium: OM5, length: 150 m, connector: MPO-12", id="a bidi part on OM5"),
    pytest.param(
        "optic: QDD-400G-SR4.2-BD, far_optic: 400G-BD4.2, medium: OM4, length: 100 m", id="a bidi part under two names"
    ),
    pytest.param(
        "optic: QSFP-40/100-SRBD, medium: OM3, length: 90 m, connector: LC", id="a bidi part that is not listed"
    ),
    pytest.param("optic: ACME-400G-SR4-PLUS, medium: OM4, length: 140 m", id="a vendor's part that is not listed"),
    pytest.param(
        "optic: 400GBASE-DR4, medium: OS2, length: 800 m, loss: 2.1 dB, loss_limit: 3 dB",
        id="an engineered link within its measured loss",
    ),
    pytest.param(
        "optic: 400GBASE-DR4, far_optic: 100GBASE-FR1, breakout: 4, medium: OS2, length: 400 m",
        id="a breakout into four",
    ),
    pytest.param("optic: 400G-LR4, medium: OS1, length: 9 km", id="ten kilometres, on OS1"),
    pytest.param(
        "optic: MMS4X50-NM, far_optic: 400GBASE-FR4, medium: OS2, length: 2 km, connector: LC", id="FR4 of both makes"
    ),
    pytest.param(
        "optic: 2x400G-FR4, medium: OS2, length: 500 m, connector: SN", id="another duplex connector of a standard"
    ),
    pytest.param(
        "optic: MMA1B00-C100D, medium: OM4, length: 100 m, connector: MTP-12, polish: UPC", id="MTP is a make of MPO"
    ),
    pytest.param(
        "optic: 800G-DR8, far_optic: 2x400G-DR4, medium: OS2, length: 300 m", id="two names of the same eight lanes"
    ),
    pytest.param("medium: DAC, length: 3 m, speed: 400G", id="the longest passive copper of 400 Gb/s"),
    pytest.param("medium: DAC, length: 5 m, speed: 100GbE", id="the longest passive copper of 100 Gb/s"),
    pytest.param("medium: AOC, length: 100 m, speed: 400G", id="an active optical cable of no known make"),
    pytest.param(
        "optic: MFS1S00-H100V, medium: AOC, length: 100 m, speed: 200G",
        id="the longest active optical cable that is listed",
    ),
    pytest.param("optic: MCA4J80-N005, medium: ACC, length: 4.5 m", id="a ready-made cable with some to spare"),
    pytest.param(
        "optic: MCP7Y00-N003, medium: DAC, length: 3 m, breakout: 2, speed: 400G, far_speed: 200G",
        id="a ready-made splitter",
    ),
    pytest.param(
        "medium: OM4, length: 20 m, from: leaf1, to: node3", id="nothing but the fibre, as an inventory has it"
    ),
    pytest.param("medium: OM2, optic: 100GBASE-SR4, length: 20 m", id="a grade without a published reach"),
    pytest.param(
        "optic: MMA4Z00-NS, cage: OSFP, far_optic: MMA4Z00-NS400, far_cage: OSFP, medium: OM4, length: 9 m",
        id="cages of which the heat sink is not known",
    ),
    pytest.param(
        "optic: MMA1T00-HS, network: ethernet, medium: OM4, length: 90 m", id="an HDR part that Ethernet switches take"
    ),
    pytest.param(
        "optic: 400GBASE-SR4, polish: UPC, medium: OM4, length: 60 m", id="a polish that the standard leaves open"
    ),
    pytest.param(
        "optic: MMA4Z00-NS, speed: 200G, far_speed: 200G, medium: OM4, length: 9 m",
        id="a port below the rate of its transceiver",
    ),
]


@pytest.mark.parametrize("stated", RIGHT)
def test_a_link_that_is_right_or_not_known_is_not_spoken_of(stated: str) -> None:
    assert said(cable(stated)) == set()


@pytest.mark.parametrize("stated", RIGHT)
def test_nor_does_it_become_wrong_on_racks_with_known_switches(stated: str) -> None:
    assert said(cable(stated) + SWITCHES) == set()


WRONG = [
    pytest.param(
        "optic: MMS4X50-NM, medium: OS2, length: 40 m, connector: MPO",
        "optic-connector-differs",
        id="MPO of any size in LC",
    ),
    pytest.param(
        "optic: MMS4X00-NM, medium: OS2, length: 40 m, polish: PC", "optic-polish-differs", id="PC against an angle"
    ),
    pytest.param(
        "optic: 400GBASE-SR8, medium: OM4, length: 40 m, loss: 2 dB",
        "link-loss-beyond-standard",
        id="more loss than a standard allows",
    ),
    pytest.param(
        "optic: 400GBASE-SR8, medium: OM4, length: 40 m, loss: 2 dB, loss_limit: 1.5 dB",
        "link-loss-exceeded",
        id="more loss than is allowed",
    ),
    pytest.param("optic: MMA4Z00-NS, medium: OM3, length: 31 m", "fibre-reach-exceeded", id="a metre beyond OM3"),
    pytest.param(
        "optic: MMA4Z00-NS, far_optic: 400GBASE-SR4, medium: OM4, length: 60 m",
        "fibre-reach-exceeded",
        id="the shorter reach counts",
    ),
    pytest.param(
        "optic: 400GBASE-DR4, medium: OS2, length: 620 m, loss: 3.4 dB, loss_limit: 3 dB",
        "fibre-reach-exceeded",
        id="an engineered link beyond its loss",
    ),
    pytest.param(
        "optic: 400GBASE-SR4.2, medium: OM4, length: 120 m",
        "fibre-reach-exceeded",
        id="a bidi part reaches less on OM4",
    ),
    pytest.param(
        "optic: QDD-400G-SR4.2-BD, far_optic: QDD-400G-SR8-S, medium: OM4, length: 60 m",
        "optics-incompatible",
        id="a bidi part against eight lanes",
    ),
    pytest.param(
        "optic: MMS4A00-XM, far_optic: MMS4X00-NS400, medium: OS2, length: 60 m",
        "optics-incompatible",
        id="XDR against NDR",
    ),
    pytest.param("optic: 400G-FR4, medium: OM4, length: 60 m", "optic-on-wrong-fibre", id="single-mode on OM4"),
    pytest.param(
        "optic: QDD-400G-SR8-S, medium: OM4, length: 60 m, connector: MPO-12",
        "optic-connector-differs",
        id="sixteen fibres in twelve",
    ),
    pytest.param(
        "optic: MMA1B00-C100D, medium: OM4, length: 60 m, polish: APC",
        "optic-polish-differs",
        id="an angled end in a flat port",
    ),
    pytest.param("medium: DAC, length: 5 m, speed: 800G", "copper-too-long", id="passive copper of 800 Gb/s"),
    pytest.param("medium: ACC, length: 7 m, speed: 800G", "copper-too-long", id="active copper of 800 Gb/s"),
    pytest.param(
        "optic: MFS1S00-H010V, medium: AOC, length: 12 m",
        "ready-made-cable-too-short",
        id="an active optical cable that does not reach",
    ),
    pytest.param(
        "medium: OS2, length: 60 m, optic: 400GBASE-DR4, speed: 400G, far_speed: 800G",
        "port-speeds-differ",
        id="unlike ports",
    ),
    pytest.param(
        "medium: OS2, length: 60 m, optic: 100GBASE-DR, speed: 400G", "optic-slower-than-port", id="a slow transceiver"
    ),
    pytest.param(
        "medium: OM4, length: 9 m, optic: MMA1Z00-NS400, cage: OSFP-RHS",
        "optic-does-not-fit-cage",
        id="QSFP112 in OSFP",
    ),
    pytest.param(
        "medium: OM4, length: 9 m, optic: MMA4Z00-NS-T, from: 'leaf1:1/1'",
        "optic-of-other-network",
        id="Ethernet alone in an InfiniBand switch",
    ),
    pytest.param(
        "medium: OS2, length: 9 m, optic: MMS4X00-NM, from: leaf1, to: stor1",
        "link-joins-two-networks",
        id="between two networks",
    ),
]


@pytest.mark.parametrize(("stated", "name"), WRONG)
def test_a_link_that_cannot_work_is_told_by_one_rule(stated: str, name: str) -> None:
    assert said(cable(stated) + SWITCHES) == {name}


RIGHT_SWITCHES = [
    pytest.param(
        "ports: 32, speed: 800G, uplinks: 32, uplink_speed: 400G, downlinks: 32, downlink_speed: 400G",
        id="cages of two links each",
    ),
    pytest.param(
        "type: QM9700, ports: 32, uplinks: 32, downlinks: 32, traffic: training", id="cages of a switch that is known"
    ),
    pytest.param("type: QM9700, traffic: training, uplinks: 32, downlinks: 32", id="a SuperPOD leaf"),
    pytest.param("type: QM9700, traffic: training, uplinks: 0, downlinks: 64", id="a rail without a spine"),
    pytest.param("type: SN4700, traffic: storage, uplinks: 4, downlinks: 28", id="storage"),
    pytest.param(
        "type: SN5600, traffic: training, uplinks: 32, uplink_speed: 800G, downlinks: 64, downlink_speed: 400G",
        id="uplinks of twice the speed",
    ),
    pytest.param("type: QM9700, traffic: inference, uplinks: 20, downlinks: 40", id="two to one for inference"),
    pytest.param("type: QM9700, uplinks: 8, downlinks: 48", id="nobody said what it carries"),
    pytest.param(
        "type: QM9700, traffic: training, uplinks: 64, uplink_speed: 200G, downlinks: 64, downlink_speed: 200G",
        id="every port split",
    ),
    pytest.param(
        "type: Q3400-RA, uplinks: 200, uplink_speed: 400G, downlinks: 88, downlink_speed: 400G, traffic: storage",
        id="splits that are not established",
    ),
    pytest.param("type: no-such-switch, uplinks: 90, downlinks: 90", id="an unknown switch"),
]


@pytest.mark.parametrize("stated", RIGHT_SWITCHES)
def test_a_switch_that_is_right_or_not_known_is_not_spoken_of(stated: str) -> None:
    assert said(f"  switches:\n    - {{name: s1, {stated}}}\n") == set()


def test_links_beyond_the_ports_are_counted_from_the_cables_that_name_a_switch() -> None:
    up, down = (
        "{count: 40, from: leaf1, to: spine1, medium: OS2}",
        "{count: 25, from: node, to: 'leaf1:5', medium: OS2}",
    )
    cables = f"  cables:\n    - {up}\n    - {down}\n"
    switch = "  racks:\n    - {name: r1, switches: [{name: leaf1, ports: PORTS}]}\n"
    assert said(cables + switch.replace("PORTS", "64")) == {"switch-ports-exceeded"}
    assert said(cables + switch.replace("PORTS", "65")) == set()


def judged(spec: str, thresholds: dict[str, float]) -> tuple[rules_facility.Evaluation, ...]:
    """What all rules say of each part under a policy."""
    document = documents.load("facility.yaml", (HEAD + spec).encode()).documents[0]
    described = facility.read_facility(document)
    assert described is not None
    return rules_facility.evaluate_component(
        rules_facility.resolve_facts(described, thresholds), rule.load_shipped().values()
    )


def test_what_a_policy_allows_is_not_oversubscribed() -> None:
    spec = "  switches:\n    - {name: s1, type: QM9700, traffic: training, uplinks: 24, downlinks: 36}\n"
    assert said(spec) == {"switch-oversubscribed"}
    allowed = judged(spec, {"training_oversubscription_most": 1.5})
    assert [verdict.rule.name for one in allowed for verdict in one.outcome.verdicts] == []


def test_what_lacks_a_transceiver_says_what_to_add() -> None:
    found = judged(cable("medium: OM4, length: 20 m, optic: ACME-1"), {})
    (one,) = (each for each in found if each.known.kind == "cable")
    lacking = {each.rule: each.needs for each in one.outcome.not_evaluated}
    assert lacking["fibre-reach-exceeded"] == ("optic",)
    assert {name for needs in lacking.values() for name in needs} == {"optic"}


def test_the_page_shows_what_is_said_of_its_example() -> None:
    page = (Path(__file__).parents[1] / "docs" / "facility_cabling.md").read_text(encoding="utf-8")
    example, shown = (re.search(rf"```{language}\n(.*?)```", page, re.DOTALL) for language in ("yaml", "console"))
    assert example
    assert shown
    found = samples.report(example[1], path="site/hall.yaml").open
    lines = [f"{one.location.path}:{one.location.line}:{one.location.column}" for one in found]
    said = [
        f"{line}: {one.severity.name.lower()}[{one.rule}] {one.message}" for line, one in zip(lines, found, strict=True)
    ]
    assert said == [line for line in shown[1].splitlines() if line.startswith("site/")]


def alternatives(stated: str) -> list[str]:
    """What is proposed for the one finding of a cable."""
    (found,) = samples.report(HEAD + cable(stated) + SWITCHES, path="facility.yaml").open
    return [one.title for one in found.suggestions]


@pytest.mark.parametrize(
    ("stated", "titles"),
    [
        pytest.param("optic: 400GBASE-VR4, medium: OM4, length: 80 m", ["400GBASE-SR4"], id="the same fibre first"),
        pytest.param(
            "optic: MMA4Z00-NS, medium: OM4, length: 80 m, from: leaf1", ["MMS4X00-NS"], id="then another one"
        ),
        pytest.param(
            "optic: 400GBASE-SR8, medium: OM3, length: 90 m",
            ["OM4 instead of OM3", "400GBASE-DR4"],
            id="a better grade",
        ),
        pytest.param(
            "optic: MMA4Z00-NS-T, medium: OM4, length: 9 m, from: leaf1", ["MMA4Z00-NS"], id="the part for its network"
        ),
        pytest.param(
            "optic: MCP4Y10-N002, medium: DAC, length: 3 m, from: leaf1",
            ["MCA4J80-N003"],
            id="a longer cable to the same plug",
        ),
        pytest.param(
            "optic: MCP4Y10-N002, medium: DAC, length: 3 m, from: stor1", [], id="which Ethernet does not take"
        ),
        pytest.param("medium: DAC, length: 4 m, speed: 400G", ["ACC instead of DAC"], id="active copper"),
        pytest.param("medium: DAC, length: 12 m, speed: 400G", [], id="longer than any copper"),
        pytest.param(
            "optic: MMA4Z00-NS, cage: OSFP-RHS, medium: OM4, length: 9 m",
            ["MMA4Z00-NS-FLT"],
            id="the same part with a flat top",
        ),
    ],
)
def test_what_is_proposed_goes_into_the_same_ports(stated: str, titles: list[str]) -> None:
    assert alternatives(stated) == titles
