"""Rooms drawn at random: what the definitions give, counted here in the plainest way, is what the facts say."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from gpulint.facility import reader
from gpulint.facility.model import ComponentFacts
from gpulint.policy.rules import facility
from gpulint.source import documents

HEAD = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: drawn}\nspec:\n  racks:\n"
SUPPLIES = ((208, 3, "NEC"), (415, 3, "NEC"), (400, 3, "IEC"), (240, 1, "NEC"), (230, 1, "IEC"), (380, 3, "IEC"))
BREAKERS = (20, 30, 50, 60, 100)
CONTINUOUS = {"NEC": 0.8, "IEC": 1.0}


class Group(NamedTuple):
    """Servers alike: how many, the watts and supplies of each, and its cords where they are stated."""

    count: int
    watts: int
    psus: int
    cords: Mapping[str, int] | None


class Room(NamedTuple):
    """One rack: its supply, the breaker and side of each feed, its power factor and its servers."""

    volts: int
    phases: int
    code: str
    breakers: Mapping[str, int]
    sides: Mapping[str, str]
    power_factor: float
    groups: tuple[Group, ...]


def drawn(seed: int) -> Room:
    rng = random.Random(seed)
    names = "abcd"[: rng.choice((2, 2, 3, 4))]
    paired = len(names) == 4 and rng.random() < 0.7
    groups = []
    for _ in range(rng.choice((1, 2))):
        psus = rng.choice((2, 4, 6))
        plugged = [rng.choice(names) for _ in range(psus)]
        cords = {name: plugged.count(name) for name in names if name in plugged} if rng.random() < 0.4 else None
        groups.append(Group(rng.randint(1, 4), rng.randint(500, 14_000), psus, cords))
    return Room(
        *rng.choice(SUPPLIES),
        breakers={name: rng.choice(BREAKERS) for name in names},
        sides={name: f"s{at // 2}" if paired else name for at, name in enumerate(names)},
        power_factor=rng.choice((0.9, 0.95, 1.0)),
        groups=tuple(groups),
    )


def written(room: Room) -> str:
    feeds = (
        f"        - {{name: {name}, side: {room.sides[name]}, voltage: {room.volts} V, phases: {room.phases}, breaker: {amps} A}}"
        for name, amps in room.breakers.items()
    )
    servers = (
        f"        - {{name: g{at}, count: {one.count}, power: {one.watts} W, psus: {one.psus}, cooling: air"
        + (f", cords: {{{', '.join(f'{name}: {cords}' for name, cords in one.cords.items())}}}" if one.cords else "")
        + "}"
        for at, one in enumerate(room.groups)
    )
    rack = f"    - name: r\n      code: {room.code}\n      power_factor: {room.power_factor}\n"
    return "\n".join([HEAD + rack + "      feeds:", *feeds, "      servers:", *servers, ""])


def facts_of(room: Room) -> list[ComponentFacts]:
    (document,) = documents.load("drawn.yaml", written(room).encode()).documents
    return list(facility.resolve_facts(reader.read(document), {}).all())


def usable_va(room: Room, feed: str) -> float:
    return room.breakers[feed] * CONTINUOUS[room.code] * room.volts * (math.sqrt(3) if room.phases == 3 else 1)


def load_va(room: Room, feed: str, lost: str = "") -> float:
    """What a feed carries with one side out: every server leans on the supplies that still have power."""
    if room.sides[feed] == lost:
        return 0.0
    total = 0.0
    for group in room.groups:
        cords = group.cords or dict.fromkeys(room.breakers, 1)
        alive = sum(number for name, number in cords.items() if room.sides[name] != lost)
        total += group.count * group.watts * cords.get(feed, 0) / alive if alive else 0.0
    return total / room.power_factor


def left(room: Room, group: Group) -> float:
    """The supplies of one server that the worst loss of a side leaves."""
    cords = group.cords or dict.fromkeys(room.breakers, group.psus / len(room.breakers))
    return min(
        sum(number for name, number in cords.items() if room.sides[name] != lost) for lost in room.sides.values()
    )


@pytest.mark.parametrize("seed", range(60))
def test_a_room_drawn_at_random_is_counted_as_the_definitions_count_it(seed: int) -> None:
    room = drawn(seed)
    parts = facts_of(room)
    (rack,) = [one for one in parts if one.kind == "rack"]
    watts = sum(group.count * group.watts for group in room.groups)
    assert rack.expected("load_w") == watts
    assert rack.expected("heat_w") == watts
    assert rack.expected("rack_usable_va") == pytest.approx(sum(usable_va(room, feed) for feed in room.breakers))
    for feed in (one for one in parts if one.kind == "feed"):
        name = feed.role.name
        assert feed.expected("feed_usable_va") == pytest.approx(usable_va(room, name))
        assert feed.expected("feed_load_va") == pytest.approx(load_va(room, name))
        worst = max(load_va(room, name, lost) for lost in ("", *room.sides.values()))
        assert feed.expected("feed_failover_va") == pytest.approx(worst)
    for group, server in zip(room.groups, [one for one in parts if one.kind == "server"], strict=True):
        if group.cords or group.psus % len(room.breakers) == 0:
            assert server.expected("supplies_left") == pytest.approx(left(room, group))


class Machine(NamedTuple):
    """Servers alike, as what cools them sees them: how many, and the heat, liquid share, weight and units of each."""

    count: int
    heat: int
    liquid: float
    kilograms: int
    units: int


JOULES = {"water": 992.2 * 4179, "PG25": 1022.5 * 3920}
"""What a cubic metre of coolant takes up for each kelvin, at 40 °C: NIST Chemistry WebBook; Dow, DOWFROST LC 25, table 2."""
AIR_JOULES = 1.2 * 1005


@pytest.mark.parametrize("seed", range(40))
def test_heat_air_coolant_and_weight_of_a_room_drawn_at_random_are_counted_as_the_definitions_count_them(
    seed: int,
) -> None:
    rng = random.Random(1000 + seed)
    coolant, air_rise, coolant_rise = rng.choice(("water", "PG25")), rng.choice((8, 11, 18)), rng.choice((6, 10, 15))
    racks = [
        [
            Machine(
                rng.randint(1, 3),
                rng.randint(500, 130_000),
                rng.choice((0.0, 0.6, 0.85, 1.0)),
                rng.randint(10, 200),
                rng.randint(1, 8),
            )
            for _ in range(rng.choice((1, 2)))
        ]
        for _ in range(rng.choice((1, 2, 3)))
    ]
    head = (
        "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: drawn}\nspec:\n  cdus: [{name: c, cooling_capacity: 1 MW}]\n"
        f"  rooms:\n    - cooling: direct-liquid\n      coolant: {coolant}\n      cdu: c\n      air_rise: {air_rise} K\n"
        f"      coolant_rise: {coolant_rise} K\n      racks:\n"
    )
    text = head + "".join(
        f"        - name: r{at}\n          floor_area: 1.5 m2\n          weight: 120 kg\n          servers:\n"
        + "".join(
            f"            - {{count: {one.count}, power: {one.heat} W, weight: {one.kilograms} kg, units: {one.units}, "
            + (f"cooling: hybrid, liquid_share: {one.liquid}}}\n" if one.liquid else "cooling: air}\n")
            for one in machines
        )
        for at, machines in enumerate(racks)
    )
    (document,) = documents.load("drawn.yaml", text.encode()).documents
    parts = list(facility.resolve_facts(reader.read(document), {}).all())
    into_liquid = 0.0
    for machines, rack in zip(racks, [one for one in parts if one.kind == "rack"], strict=True):
        heat = sum(one.count * one.heat for one in machines)
        liquid = sum(one.count * one.heat * one.liquid for one in machines)
        kilograms = 120 + sum(one.count * one.kilograms for one in machines)
        into_liquid += liquid
        assert rack.expected("heat_w") == heat
        assert rack.expected("air_heat_w") == pytest.approx(heat - liquid)
        assert rack.expected("needed_airflow_m3_per_s") == pytest.approx((heat - liquid) / AIR_JOULES / air_rise)
        assert rack.expected("needed_flow_m3_per_s") == pytest.approx(liquid / JOULES[coolant] / coolant_rise)
        assert rack.expected("units_used") == sum(one.count * one.units for one in machines)
        assert rack.expected("least_weight_kg") == kilograms
        assert rack.expected("foot_load_kg") == kilograms / 4
        assert rack.expected("floor_load_kg_per_m2") == pytest.approx(kilograms / 1.5)
    (cdu,) = [one for one in parts if one.kind == "cdu"]
    assert cdu.expected("loop_heat_w") == pytest.approx(into_liquid)
