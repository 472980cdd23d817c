"""The quick look at a Facility file: what it passes, the contract accepts."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path

import pydantic
import pytest

from gpulint.facility import quick_check, schema
from gpulint.source import documents

EXAMPLES = sorted(Path(__file__).parents[1].joinpath("examples").glob("facility-*.yaml"))
ODD: tuple[object, ...] = (
    None,
    True,
    3,
    2.5,
    "text",
    [],
    {},
    ["a"],
    [1],
    {"a": "b"},
    {"a": None},
    {1: 2},
    [{}],
    [None],
)
NAMES = (
    "name",
    "racks",
    "feeds",
    "servers",
    "cords",
    "cooling",
    "inlet",
    "units",
    "panels",
    "unheard",
    "netbox",
    "psus",
)


def data(text: str) -> dict[str, object]:
    (document,) = documents.load("f.yaml", text.encode()).documents
    assert isinstance(document.data, dict)
    return document.data


def accepted(stated: object) -> bool:
    try:
        schema.facility_model().model_validate(stated)
    except pydantic.ValidationError:
        return False
    return True


def holders(stated: object) -> Iterator[dict[object, object] | list[object]]:
    """Every mapping and list of a document."""
    if isinstance(stated, dict | list):
        yield stated
        for one in stated.values() if isinstance(stated, dict) else stated:
            yield from holders(one)


@pytest.mark.parametrize("path", EXAMPLES, ids=[one.stem for one in EXAMPLES])
def test_the_examples_are_plain(path: Path) -> None:
    assert quick_check.is_plain(data(path.read_text()))


@pytest.mark.parametrize(
    "text",
    [
        "{apiVersion: gpulint/v2, kind: Facility, metadata: {name: a}, spec: {}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {}, spec: {}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {name: a}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {name: a}, spec: {}, status: {}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {name: a}, spec: {racks: [{units: 42}]}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {name: a}, spec: {racks: [{name: r, unit: 42}]}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {name: a}, spec: {racks: {name: r}}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {name: a}, spec: {feeds: [{breaker: 60 A}]}}",
        "{apiVersion: gpulint/v1, kind: Facility, metadata: {name: a}, spec: {racks: [{name: r, feeds: [{breaker: [60]}]}]}}",
    ],
)
def test_what_the_contract_refuses_is_not_plain(text: str) -> None:
    assert not accepted(data(text))
    assert not quick_check.is_plain(data(text))


def test_nothing_plain_is_refused_whatever_is_changed_in_it() -> None:
    chance = random.Random(10)
    plain = 0
    for path in EXAMPLES:
        stated = data(path.read_text())
        for _ in range(150):
            changed = copy.deepcopy(stated)
            for _ in range(chance.randint(1, 2)):
                held = chance.choice(list(holders(changed)))
                if isinstance(held, dict):
                    held[chance.choice((*held, *NAMES))] = copy.deepcopy(chance.choice(ODD))
                else:
                    held.append(copy.deepcopy(chance.choice(ODD)))
            if quick_check.is_plain(changed):
                plain += 1
                assert accepted(changed), changed
    assert plain > 20
