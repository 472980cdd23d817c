"""Alternatives: what a program computes each way that somebody else can decide, as decisions with their members.

The program is read again for each way of a point, so that what it sets together stays together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.python.words import OWN
from gpulint.engines import Reading
from gpulint.facts.decisions import NETWORKS
from gpulint.facts.glossary import glossary
from gpulint.source.python import Evaluated
from gpulint.source.python.points import OF_LOOP
from gpulint.source.python.values import CALLER, ENVIRONMENT, Place, Point
from gpulint.workload import Decision, Field, Member, Origin, Unknown, Value

POINTS_MAX, READINGS_MAX = 64, 32
"""Points that are tried, and how often a program is read to find those that matter."""
STEPS_MAX = 150_000
"""Steps that all readings of one program may take, about."""
DECIDED_MAX, MEMBERS_MAX = 4, 8
"""Points that matter, and members of a decision."""
LABELLED_MAX = 2
TOLD = ("checkpoint", "network", "quantization", "lora_rank", "weight_dtype", "training_dtype", "micro_batch_size")
"""Fields that tell most about a member that has no name of its own, the first ones first."""
UNTOLD = frozenset({"engine", "program", "task"})
Ways = Mapping[tuple[object, ...], int]
Read = Callable[[Ways], Reading | None]


class _Group(NamedTuple):
    """Points that settle fields together, and what the program computes each way."""

    points: tuple[Point, ...]
    readings: Mapping[tuple[int, ...], Reading]
    fields: frozenset[str]


def settle(found: Reading, points: Sequence[Point], read: Read) -> Reading:
    """Return a reading whose fields name the decisions that settle them, by the points that matter."""
    groups: list[_Group] = []
    for point in points:
        group = _read_group((point,), found, read)
        shared = [other for other in groups if other.fields & group.fields] if group else []
        if group is None or not shared:
            groups += [group] if group else []
            continue
        joined = tuple(itertools.chain.from_iterable((*(other.points for other in shared), (point,))))
        is_small = math.prod(len(one.members) for one in joined) <= MEMBERS_MAX
        merged = _read_group(joined, found, read) if is_small else None
        groups = [other for other in groups if other not in shared]
        groups += [merged] if merged else []
    known = [group._replace(fields=_list_known(group)) for group in groups]
    return found._replace(fields={**found.fields, **_list_fields(found, [one for one in known if one.fields])})


def _list_known(group: _Group) -> frozenset[str]:
    return frozenset(name for name in group.fields if _is_known(name, group.readings.values()))


def find_points(found: Reading, evaluated: Evaluated, read: Read) -> tuple[Point, ...]:
    """Return the points on which it depends what a program computes, found by halves."""
    budget = STEPS_MAX // max(1, evaluated.count_steps())
    left = [min(READINGS_MAX, budget)]

    def differs(points: Sequence[Point], at: int) -> bool:
        left[0] -= 1
        other = read({point.key: point.members[at] for point in points}) if left[0] >= 0 else None
        return other is not None and bool(_compare((found, other), found))

    def search(points: Sequence[Point]) -> list[Point]:
        if not points or not any(differs(points, at) for at in (0, -1)):
            return []
        half = len(points) // 2
        return list(points) if half == 0 else [*search(points[:half]), *search(points[half:])]

    found_points = search(list(evaluated.points.values())[:POINTS_MAX])[:DECIDED_MAX]
    ways = itertools.accumulate(len(point.members) for point in found_points)
    return tuple(point for point, number in zip(found_points, ways, strict=True) if number <= budget)


def _read_group(points: tuple[Point, ...], found: Reading, read: Read) -> _Group | None:
    """Return what a program computes each way of these points; None if it is the same, or if an engine differs."""
    readings: dict[tuple[int, ...], Reading] = {}
    for ways in itertools.product(*(point.members for point in points)):
        other = read({point.key: way for point, way in zip(points, ways, strict=True)})
        if other is not None:
            readings[ways] = other
    names = _compare(tuple(readings.values()), found)
    return _Group(points, readings, names) if len(readings) > 1 and names and not names & UNTOLD else None


def _compare(readings: Sequence[Reading], found: Reading) -> frozenset[str]:
    """Return the fields that are not the same in all readings, and known in all of them or open from the beginning."""
    first = readings[0] if readings else found
    names = frozenset().union(*(reading.fields for reading in readings))
    return frozenset(
        name
        for name in names & glossary().keys()
        if any(_find(other, name) != _find(first, name) for other in readings)
        and (isinstance(_find(found, name), Unknown) or _is_known(name, readings))
    )


def _is_known(name: str, readings: Iterable[Reading]) -> bool:
    """Return whether all readings say what a field is; each has to name a network where one of them does."""
    if name in NETWORKS:
        return all(any(isinstance(_find(reading, one), str) for one in NETWORKS) for reading in readings)
    return not any(isinstance(_find(reading, name), Unknown) for reading in readings)


def _find(reading: Reading, name: str) -> Value | Unknown:
    field = reading.fields.get(name)
    return field.value if field is not None else None


def _list_fields(found: Reading, groups: Sequence[_Group]) -> dict[str, Field]:
    """Return the fields that decisions settle, each with its decision."""
    fields: dict[str, Field] = {}
    for group in groups:
        decision = _build(group)
        if len(decision.members) < 2:
            continue
        fields |= _list_common(group, found)
        for name in group.fields:
            stated = found.fields.get(name)
            reason = stated.value.reason if stated is not None and isinstance(stated.value, Unknown) else ""
            unknown = Unknown(reason or f"{decision.name} decides it", OWN, decision=decision)
            fields[name] = Field(unknown, _find_origins(name, group))
    return fields


def _list_common(group: _Group, found: Reading) -> dict[str, Field]:
    """Return what a program computes each way alike, where it seems open before it is read way by way."""
    first = next(iter(group.readings.values()))
    open_fields = (
        name for name, field in found.fields.items() if isinstance(field.value, Unknown) and name in first.fields
    )
    return {
        name: first.fields[name]
        for name in open_fields
        if name not in group.fields and not isinstance(first.fields[name].value, Unknown)
    }


def _find_origins(name: str, group: _Group) -> tuple[Origin, ...]:
    for reading in group.readings.values():
        if name in reading.fields and reading.fields[name].origins:
            return reading.fields[name].origins
    return ()


def _build(group: _Group) -> Decision:
    """Return the decision that points make together; ways that compute the same are one member."""
    members: dict[tuple[object, ...], tuple[list[str], Mapping[str, Field]]] = {}
    for ways, reading in group.readings.items():
        kept = {name: reading.fields[name] for name in group.fields if name in reading.fields}
        key = tuple(repr(_find(reading, name)) for name in sorted(group.fields))
        members.setdefault(key, ([], kept))[0].append(_name_ways(group.points, ways))
    has_labels = all(all(labels) for labels, _ in members.values())
    listed = [
        Member(" or ".join(dict.fromkeys(labels)) if has_labels else _describe(fields, group), _fill(fields, group))
        for labels, fields in members.values()
    ]
    names = list(dict.fromkeys(_name_point(point) for point in group.points))
    return Decision(" and ".join(names), _name_decider(group.points[0]), _name_source(group.points[0]), tuple(listed))


def _fill(fields: Mapping[str, Field], group: _Group) -> dict[str, Field]:
    """Return the fields of a member with the value of absence for those that it does not set."""
    absent = {name: Field(glossary()[name].absent[0]) for name in group.fields if glossary()[name].absent}
    return {**absent, **fields}


def _name_ways(points: Sequence[Point], ways: Sequence[int]) -> str:
    """Return the labels of the ways that are taken; empty if one has none."""
    labels = []
    for point, way in zip(points, ways, strict=True):
        at = point.members.index(way)
        labels.append(point.labels[at] if at < len(point.labels) else "")
    return ", ".join(labels) if all(labels) else ""


def _describe(fields: Mapping[str, Field], group: _Group) -> str:
    """Return a member in words: the values that it sets."""
    told = [name for name in TOLD if name in group.fields] or sorted(group.fields)
    values = [(name, fields[name].value if name in fields else None) for name in told]
    stated = [_show(name, value) for name, value in values if value is not None]
    return ", ".join(stated[:LABELLED_MAX]) or f"no {told[0].replace('_', ' ')}"


def _show(name: str, value: Value | Unknown) -> str:
    if isinstance(value, Unknown):
        return "another value"
    if name == "checkpoint":
        return str(value).rstrip("/").rpartition("/")[2]
    return str(value) if isinstance(value, str) else f"{name.replace('_', ' ')} {value}"


def _name_point(point: Point) -> str:
    """Return what is decided at a point, as the user can set it."""
    if point.decider == CALLER and point.name:
        return point.name
    if point.decider == ENVIRONMENT and point.name:
        return f"${point.name}"
    place = _locate(point)
    return f"the loop{place}" if point.decider == OF_LOOP else f"the condition{place}"


def _name_decider(point: Point) -> str:
    named = {CALLER: f"the argument {point.name}", ENVIRONMENT: f"the environment variable {point.name}"}
    return named.get(point.decider, "the program at run time") if point.name else "the program at run time"


def _name_source(point: Point) -> str:
    return f"the program states each value{_locate(point)}"


def _locate(point: Point) -> str:
    place = point.place
    if not isinstance(place, Place):
        return ""
    location = Origin(place.document, place.path, place.span).location()
    return f" in line {location.line} of {place.document.path.rpartition('/')[2]}"
