"""Specs of the wrong shape: whatever stands where, nothing of ours fails."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from samples import report

from gpulint.source import documents

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.yaml"))
ODD: tuple[object, ...] = (None, True, -1, "", "${X}", [], {}, [None], {"a": None})

pytestmark = pytest.mark.first


def paths(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def replaced(data: Any, path: tuple[Any, ...], value: object) -> Any:
    if not path:
        return value
    copied = copy.deepcopy(data)
    place = copied
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return copied


@pytest.mark.sweep
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_no_odd_value_anywhere_in_a_spec_is_a_fault_of_ours(example: Path) -> None:
    data = documents.load("a.yaml", example.read_bytes()).documents[0].data
    for path in paths(data):
        for odd in ODD:
            changed = replaced(data, path, odd)
            text = json.dumps({"gpu": "nvidia.com/gpu", **changed} if isinstance(changed, dict) else changed)
            found = report(text, "a.json")
            assert found.failures == (), (path, odd)
