"""Rooms as their makers publish them: nothing of them is an error, and one change of each is found by the rule about it."""

from __future__ import annotations

import pytest
from samples import report

from gpulint.report.model import Severity

HEAD = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: design}\nspec:\n"
SUPERPOD_H100 = """\
  # NVIDIA, DGX SuperPOD RA-11333-001 V11 and its data center design: four systems a rack, three sources of 415 V 60 A.
  rooms:
    - name: hall
      cooling: contained
      cooling_capacity: 500 kW
      inlet: 22 C
      code: NEC
      redundancy: N+1
      racks:
        - name: c[01-08]
          units: 48
          cooling_capacity: 50 kW
          load_limit: 1360 kg
          feeds:
            - {name: a, voltage: 415 V, phases: 3, breaker: 60 A, outlets: {C19: 18, C13: 6}}
            - {name: b, voltage: 415 V, phases: 3, breaker: 60 A, outlets: {C19: 18, C13: 6}}
            - {name: c, voltage: 415 V, phases: 3, breaker: 60 A, outlets: {C19: 18, C13: 6}}
          servers:
            - {name: low, type: DGX H100, count: 2, position: 3}
            - {name: high, type: DGX H100, count: 2, position: 22}
"""
SUPERPOD_B200 = """\
  # NVIDIA, Data Center Best Practices with DGX B200 (2024-06): two a rack on two circuits of 380 V 32 A, N.
  rooms:
    - name: hall
      code: IEC
      redundancy: N
      inlet: 23 C
      cooling: contained
      racks:
        - name: r[01-16]
          units: 52
          cooling_capacity: 30 kW
          feeds:
            - {name: a, voltage: 380 V, phases: 3, breaker: 32 A, outlets: {C19: 12}}
            - {name: b, voltage: 380 V, phases: 3, breaker: 32 A, outlets: {C19: 12}}
          servers:
            - {type: DGX B200, count: 2, position: 3}
"""
SUPERPOD_B300 = """\
  # NVIDIA, DGX SuperPOD B300 XDR, Architecture: four a rack, three PDUs.
  rooms:
    - name: hall
      code: NEC
      redundancy: N+1
      inlet: 23 C
      cooling: rear-door
      racks:
        - name: r[01-18]
          units: 52
          cooling_capacity: 65 kW
          feeds:
            - {name: a, voltage: 415 V, phases: 3, breaker: 60 A}
            - {name: b, voltage: 415 V, phases: 3, breaker: 60 A}
            - {name: c, voltage: 415 V, phases: 3, breaker: 60 A}
          servers:
            - {type: DGX B300, count: 4, position: 3}
"""
SUPERPOD_GB200 = """\
  # NVIDIA, DGX GB Rack Scale Systems User Guide: eight power shelves, four on each of two sides, every one three-phase.
  cdus:
    - {name: cdu-1, cooling_capacity: 1.3 MW}
  rooms:
    - name: hall
      code: NEC
      redundancy: 2N
      cooling: direct-liquid
      air_cooling: contained
      cdu: cdu-1
      inlet: 24 C
      racks:
        - name: g[1-8]
          units: 48
          feeds:
            - {name: "a[1-4]", side: a, voltage: 415 V, phases: 3, breaker: 60 A}
            - {name: "b[1-4]", side: b, voltage: 415 V, phases: 3, breaker: 60 A}
          servers:
            - {type: DGX GB200, position: 1}
"""
LAB = """\
  # Two DGX A100 on two 208 V 60 A feeds: 13 kW, which either carries, and three of six supplies are enough.
  racks:
    - name: r1
      units: 42
      cooling: room
      cooling_capacity: 15 kW
      inlet: 21 C
      redundancy: 2N
      feeds:
        - {name: a, voltage: 208 V, phases: 3, breaker: 60 A}
        - {name: b, voltage: 208 V, phases: 3, breaker: 60 A}
      servers:
        - {type: DGX A100, count: 2, position: 1}
"""
EUROPE = """\
  # Four servers of a team's own on two 400 V 32 A feeds: 13.6 kW, and 22 kVA are left when one fails.
  code: IEC
  racks:
    - name: r1
      units: 42
      redundancy: 2N
      cooling: contained
      inlet: 24 C
      feeds:
        - {name: a, voltage: 400 V, phases: 3, breaker: 32 A, outlets: {C13: 24, C19: 8}}
        - {name: b, voltage: 400 V, phases: 3, breaker: 32 A, outlets: {C13: 24, C19: 8}}
      servers:
        - {name: own, count: 4, power: 3400 W, units: 4, psus: 4, psus_needed: 2, plug: C20, weight: 40 kg, cooling: air}
"""
DESIGNS = {
    "superpod-h100": SUPERPOD_H100,
    "superpod-b200": SUPERPOD_B200,
    "superpod-b300": SUPERPOD_B300,
    "superpod-gb200": SUPERPOD_GB200,
    "lab": LAB,
    "europe": EUROPE,
}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_as_it_is_published_is_not_alarmed_about(name: str) -> None:
    found = report(HEAD + DESIGNS[name])
    assert [(one.rule, one.message) for one in found.open if one.severity > Severity.NOTE] == []


LIQUID = "cooling: direct-liquid\n      air_cooling: contained\n      cdu: cdu-1"
CHANGED = [
    ("superpod-h100", "breaker: 60 A", "breaker: 30 A", "failover-over-circuit"),
    ("superpod-h100", "redundancy: N+1", "redundancy: 2N", ""),
    ("superpod-h100", "cooling_capacity: 50 kW", "cooling_capacity: 40 kW", "rack-heat-over-cooling"),
    ("superpod-h100", "inlet: 22 C", "inlet: 31 C", "inlet-over-server-limit"),
    ("superpod-h100", "units: 48", "units: 30", "rack-units-exceeded"),
    ("superpod-h100", "load_limit: 1360 kg", "load_limit: 500 kg", "rack-load-exceeded"),
    ("superpod-h100", "cooling_capacity: 500 kW", "cooling_capacity: 300 kW", "room-heat-over-cooling"),
    ("superpod-h100", "{C19: 18, C13: 6}", "{C19: 6, C13: 18}", "outlet-kind-runs-out"),
    ("superpod-h100", "position: 22", "position: 10", "rack-units-taken-twice"),
    ("superpod-b200", "redundancy: N\n", "redundancy: 2N\n", "failover-over-circuit"),
    ("superpod-b200", "breaker: 32 A", "breaker: 16 A", "rack-over-circuit"),
    ("superpod-b200", "voltage: 380 V", "voltage: 480 V", "voltage-outside-supply-range"),
    ("superpod-b300", "count: 4", "count: 5", "rack-heat-over-cooling"),
    ("superpod-gb200", "1.3 MW", "700 kW", "cdu-heat-exceeded"),
    ("superpod-gb200", LIQUID, "cooling: contained", "liquid-server-in-air"),
    ("superpod-gb200", "breaker: 60 A", "breaker: 40 A", "failover-over-circuit"),
    ("lab", "count: 2", "count: 3", "failover-over-circuit"),
    ("lab", "DGX A100", "DGX H100", "failover-over-circuit"),
    ("europe", "breaker: 32 A", "breaker: 16 A", "failover-over-circuit"),
    ("europe", "psus_needed: 2", "psus_needed: 3", "psu-redundancy-broken"),
    ("europe", "count: 4", "count: 11", "rack-units-exceeded"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new", "rule"),
    CHANGED,
    ids=[f"{name}-{new.split(':')[0]}-{at}" for at, (name, _, new, _) in enumerate(CHANGED)],
)
def test_one_change_of_a_design_is_found_by_the_rule_about_it(name: str, old: str, new: str, rule: str) -> None:
    assert old in DESIGNS[name]
    found = report(HEAD + DESIGNS[name].replace(old, new))
    loud = {one.rule for one in found.open if one.severity > Severity.NOTE}
    assert rule in loud if rule else not loud
