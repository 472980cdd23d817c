"""The power of a server: measured, published, else estimated from its accelerators, and what a cap of them saves."""

from __future__ import annotations

import pytest

from gpulint.adapters.native import facility
from gpulint.facility.model import ComponentFacts
from gpulint.facts.model import Missing
from gpulint.policy.rules import facility as rules_facility
from gpulint.sizing.power import server_power
from gpulint.source import documents

ROOM = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {{name: ams1}}
spec:
  server_types:
    - {{name: ours, gpus: 4, accelerator: l40s, psus: 2, psu: 2.4 kW}}
  racks:
    - name: r1
      servers:
        - {{{server}}}
"""


def server(stated: str) -> ComponentFacts:
    (document,) = documents.load("facility.yaml", ROOM.format(server=stated).encode()).documents
    described = facility.read_facility(document)
    assert described is not None
    return rules_facility.resolve_facts(described, {}).list_components("server")[0]


@pytest.mark.parametrize(
    ("stated", "watts"),
    [
        ("type: dgx-h100, count: 4", 40_800),
        ("type: DGX A100, count: 2", 13_000),
        ("type: dgx-b200, count: 32", 457_600),
        ("type: dgx-h100, power: 9 kW", 9_000),
        ("type: dgx-h100, measured: 8.1 kW, count: 2", 16_200),
        ("type: dgx-h100, power: 9 kW, measured: 8.1 kW", 8_100),
        ("type: anything, power: 2100 W, count: 3", 6_300),
    ],
)
def test_what_is_measured_goes_before_what_is_stated_and_that_before_the_catalog(stated: str, watts: float) -> None:
    assert server(stated).scenarios("server_group_w") == (watts, watts, watts)


def test_a_maximum_that_nobody_publishes_is_estimated_within_an_interval() -> None:
    estimate = server("type: sys-821ge-tnhr, accelerator: h100-sxm-80gb").scenarios("server_w")
    assert not isinstance(estimate, Missing)
    low, expected, high = estimate
    assert low < 10_200 < high
    assert expected == pytest.approx(10_200, rel=0.05)


@pytest.mark.parametrize(
    ("machine", "watts"),
    [
        ("dgx-a100-640gb", 6_500),
        ("dgx-h100", 10_200),
        ("dgx-b200", 14_300),
        ("dgx-b300", 15_000),
        ("poweredge-xe9680, accelerator: h100-sxm-80gb", 12_500),
        ("dgx-gb200", 120_000),
        ("gb200-nvl72", 132_000),
        ("gb300-nvl72", 142_000),
        ("gb200-compute-tray", 6_667),
    ],
)
def test_published_maxima_lie_inside_the_interval_of_the_estimate(machine: str, watts: float) -> None:
    low, expected, high = server(f"type: {machine}").scenarios("server_estimated_w")
    assert low <= watts <= high
    assert expected == pytest.approx(watts, rel=0.2)


def test_a_server_in_liquid_is_estimated_to_draw_no_less_than_was_measured_of_one() -> None:
    """MLPerf Inference v5.1: eight B200 of a Lenovo SR780a V3 draw 9.7 kW."""
    own = server("type: sr780a, gpus: 8, accelerator: b200-sxm-180gb, cooling: liquid").scenarios("server_w")
    assert own.expected > 9_700
    assert own.best == pytest.approx(9_600)


def test_installed_supplies_bound_an_estimate_from_above() -> None:
    own = server("type: ours").scenarios("server_w")
    assert not isinstance(own, Missing)
    assert own.worst <= 4_800
    assert own.best > 4 * 350


@pytest.mark.parametrize("stated", ["type: sys-821ge-tnhr", "type: unheard-of", "type: poweredge-xe9680l, gpus: 8"])
def test_without_a_maximum_and_without_an_accelerator_nothing_is_guessed(stated: str) -> None:
    found = server(stated).find("server_group_w")
    assert isinstance(found, Missing)
    assert "server_max_w" in found.names


@pytest.mark.parametrize(
    ("stated", "watts"),
    [
        ("type: dgx-h100, count: 1", 11_300),
        ("type: dgx-h100, measured: 8.1 kW", 8_100),
        ("type: dgx-b200", 14_300),
        ("type: DGX A100", 6_500),
        ("type: dgx-b300", 15_000),
        ("type: anything, power: 3 kW, heat: 3.2 kW, count: 2", 6_400),
        ("type: anything, power: 3 kW", 3_000),
    ],
)
def test_heat_is_what_is_drawn_or_more_where_the_vendor_says_so(stated: str, watts: float) -> None:
    assert server(stated).expected("server_group_heat_w") == pytest.approx(watts, rel=1e-3)


@pytest.mark.parametrize("term", ["board_overhead", "host_w"])
def test_an_estimate_grows_with_each_fitted_term(term: str) -> None:
    least, most = (server_power.server_estimated_w(4, 350, **terms(term, by)) for by in (1.0, 1.1))
    assert most > least


def terms(grown: str, by: float) -> dict[str, float]:
    return {
        name: value * (by if name == grown else 1) for name, value in {"board_overhead": 1.2, "host_w": 900.0}.items()
    }


@pytest.mark.parametrize(("machine", "imbalance"), [("gb200-nvl72", 0.0), ("dgx-b300-busbar", 0.0), ("dgx-h100", 0.0)])
def test_a_machine_that_takes_three_phases_loads_them_alike(machine: str, imbalance: float) -> None:
    feeds = "feeds: [{name: A, voltage: 415 V, phases: 3, breaker: 250 A}, {name: B, voltage: 415 V, phases: 3, breaker: 250 A}]"
    text = ROOM.format(server=f"type: {machine}").replace("    - name: r1\n", f"    - name: r1\n      {feeds}\n")
    (document,) = documents.load("facility.yaml", text.encode()).documents
    described = facility.read_facility(document)
    assert described is not None
    found = rules_facility.resolve_facts(described, {}).list_components("feed")[0].expected("phase_imbalance")
    assert found == pytest.approx(imbalance)


@pytest.mark.parametrize("written", ["H100", "h100-sxm-80gb", "H100 SXM5 80GB"])
def test_an_accelerator_is_named_as_everywhere(written: str) -> None:
    assert server(f"type: sys-821ge-tnhr, accelerator: {written}").expected("accelerator") == "h100-sxm-80gb"


def test_an_accelerator_that_nobody_knows_is_said_to_be_unknown() -> None:
    known = server("type: sys-821ge-tnhr, accelerator: H1000")
    assert known.find("server_w") == Missing(frozenset({"server_max_w"}))
    assert known.find("accelerator") == Missing(frozenset({"accelerator"}))
    assert known.facts.reasons["accelerator"].startswith("the catalog has no accelerator H1000; did you mean ")
