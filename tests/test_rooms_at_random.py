"""Rooms drawn at random: what the definitions give, counted here in the plainest way, is what the facts say."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from gpulint import documents, facilities
from gpulint.facility import reader
from gpulint.parts import PartFacts

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


def facts_of(room: Room) -> list[PartFacts]:
    (document,) = documents.load("drawn.yaml", written(room).encode()).documents
    return list(facilities.facts_of(reader.read(document), {}).all())


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
    assert rack.likely("load_w") == watts
    assert rack.likely("heat_w") == watts
    assert rack.likely("rack_usable_va") == pytest.approx(sum(usable_va(room, feed) for feed in room.breakers))
    for feed in (one for one in parts if one.kind == "feed"):
        name = feed.role.name
        assert feed.likely("feed_usable_va") == pytest.approx(usable_va(room, name))
        assert feed.likely("feed_load_va") == pytest.approx(load_va(room, name))
        worst = max(load_va(room, name, lost) for lost in ("", *room.sides.values()))
        assert feed.likely("feed_failover_va") == pytest.approx(worst)
    for group, server in zip(room.groups, [one for one in parts if one.kind == "server"], strict=True):
        if group.cords or group.psus % len(room.breakers) == 0:
            assert server.likely("supplies_left") == pytest.approx(left(room, group))
