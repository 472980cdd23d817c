"""Racks drawn at random: what a drawing says of them is what the rules say, and neither says more."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from gpulint.facility import reader
from gpulint.pipeline.facility import elevation
from gpulint.policy.rules import facility as rules_facility
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import FacilitySummary, RackSummary, Severity
from gpulint.source import documents

TYPES = ("DGX H100", "DGX A100", "DGX B200", "GB200 NVL72")
SUPPLIES = ((208, 3), (415, 3), (400, 3), (240, 1), (230, 1), (208, 1))
OVER = {
    "power": {"rack-over-circuit", "power-limit-exceeded"},
    "cooling": {"rack-heat-over-cooling"},
    "weight": {"rack-load-exceeded", "floor-load-exceeded"},
    "space": {"rack-units-exceeded"},
}
"""The errors about each meter."""
OVERLOADED = {"rack-over-circuit", "feed-over-circuit", "phase-over-circuit"}
NO_SPARE = {
    "failover-over-circuit",
    "feed-failover-over-circuit",
    "phase-failover-over-circuit",
    "redundancy-on-one-side",
}


def server(rng: random.Random, feeds: str) -> str:
    """One kind of server: of the catalog, of one's own with cords or without, or of which nothing is known."""
    if rng.random() < 0.15:
        return "name: unknown-box"
    if rng.random() < 0.5:
        return f"type: {rng.choice(TYPES)}, count: {rng.randint(1, 4)}"
    psus = rng.choice((1, 2, 4, 6))
    plugged = [rng.choice(feeds) for _ in range(psus)]
    cords = ", ".join(f"{name}: {plugged.count(name)}" for name in feeds if name in plugged)
    stated = f", cords: {{{cords}}}" if rng.random() < 0.4 else ""
    size = f"units: {rng.randint(1, 8)}, weight: {rng.randint(10, 150)} kg"
    return f"name: box, count: {rng.randint(1, 6)}, power: {rng.randint(300, 9000)} W, psus: {psus}, {size}{stated}"


def rack(rng: random.Random, name: str) -> Iterator[str]:
    """A rack of which some of its limits are stated."""
    yield f"    - name: {name}"
    for key, values in {
        "units": ("24", "42", "48"),
        "redundancy": ("N", "N+1", "2N"),
        "power_limit": ("10 kW", "20 kW", "45 kW"),
        "cooling_capacity": ("10 kW", "25 kW", "45 kW"),
        "cooling": ("room", "contained", "rear-door", "direct-liquid"),
        "load_limit": ("200 kg", "500 kg", "1400 kg"),
        "floor_limit": ("200 kg/m2", "700 kg/m2", "2400 kg/m2"),
    }.items():
        if rng.random() < 0.5:
            yield f"      {key}: {rng.choice(values)}"
    volts, phases = rng.choice(SUPPLIES)
    feeds = "ABCD"[: rng.choice((1, 2, 2, 3, 4))]
    yield "      feeds:"
    for at, feed in enumerate(feeds):
        side = f", side: s{at // 2}" if len(feeds) == 4 else ""
        amps = rng.choice((20, 30, 60, 100))
        yield f"        - {{name: {feed}, voltage: {volts} V, phases: {phases}, breaker: {amps} A{side}}}"
    yield "      servers:"
    yield from (f"        - {{{server(rng, feeds)}}}" for _ in range(rng.choice((1, 1, 2))))


def judged(seed: int) -> tuple[FacilitySummary, dict[str, set[str]]]:
    """A facility of four racks as it is drawn, and the errors about each rack and what is in it."""
    rng = random.Random(seed)
    head = f"spec:\n  code: {rng.choice(('NEC', 'IEC'))}\n  racks:\n"
    racks = "\n".join(line for number in range(4) for line in rack(rng, f"r{number}"))
    text = f"apiVersion: gpulint/v1\nkind: Facility\nmetadata: {{name: drawn}}\n{head}{racks}\n"
    (document,) = documents.load("room.yaml", text.encode()).documents
    root = rules_facility.resolve_facts(reader.read(document), {})
    said = rules_facility.evaluate_component(root, tuple(load_shipped().values()))
    errors: dict[str, set[str]] = {f"r{number}": set() for number in range(4)}
    for one in said:
        for verdict in one.outcome.verdicts:
            if verdict.severity is Severity.ERROR and one.known.path():
                errors[one.known.path()[0]].add(verdict.rule.name)
    return elevation.draw(root, said), errors


def contradicted(one: RackSummary, errors: set[str]) -> Iterator[str]:
    """Where a drawing and the rules say different things of a rack."""
    meters = {meter.name: meter.verdict for meter in one.meters}
    for name, rules in OVER.items():
        if (meters[name] == "exceeded") != bool(errors & rules):
            yield f"{one.name}: {name} {meters[name]}, {errors & rules}"
    feeds = {feed.verdict for feed in one.feeds}
    if ("overloaded" in feeds) != bool(errors & OVERLOADED):
        yield f"{one.name}: feeds {feeds}, {errors & OVERLOADED}"
    if "no spare" in feeds and not errors & NO_SPARE:
        yield f"{one.name}: feeds {feeds}, and no error of what is left after a loss"
    if errors & NO_SPARE and not feeds & {"no spare", "overloaded"}:
        yield f"{one.name}: feeds {feeds}, {errors & NO_SPARE}"


@pytest.mark.parametrize("seed", [*range(40), 56, 170, 215, 235, 258, 285, 317, 393, 468, 592, 618, 2004])
def test_a_drawing_and_the_rules_agree(seed: int) -> None:
    facility, errors = judged(seed)
    assert [line for one in facility.racks for line in contradicted(one, errors[one.name])] == []


def test_the_racks_at_random_are_of_all_kinds() -> None:
    racks = [one for seed in range(40) for one in judged(seed)[0].racks]
    assert {feed.verdict for one in racks for feed in one.feeds} >= {
        *("holds", "no spare", "not redundant", "overloaded", "likely overloaded", "not evaluated"),
    }
    assert {meter.verdict for one in racks for meter in one.meters} >= {"within", "exceeded", "not evaluated"}
