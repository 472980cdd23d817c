"""Rooms that look wrong and are right, and rooms that are wrong; what is found in each was written down before it was run."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
import samples
import yaml

from gpulint.report.model import Severity

HEAD = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: ams1}\nspec:\n"
ROOMS = sorted(Path(__file__).with_name("rooms").glob("*.yaml"))


def cases() -> list[Any]:
    """Every room with what it says of itself."""
    every = [(path.stem, one) for path in ROOMS for one in yaml.safe_load(path.read_text())]
    return [pytest.param(one, id=f"{topic}: {one['says']}") for topic, one in every]


def files(one: dict[str, Any]) -> str:
    """The files of a room, with the workloads that are placed in it."""
    spec = one.get("text") or yaml.safe_dump(one["spec"], sort_keys=False)
    every = {"gpulint.yaml": "facility: hall.yaml\n", "hall.yaml": HEAD + textwrap.indent(spec, "  ")}
    return "".join(f"# file: {path}\n{text}" for path, text in (every | one.get("files", {})).items())


@pytest.mark.parametrize("one", cases())
def test_a_room_is_told_what_is_wrong_with_it_and_nothing_else(one: dict[str, Any]) -> None:
    found = samples.severities(samples.report(files(one)))
    rooms = {"power", "cooling", "cabling", "placement", "syntax"}
    said = {
        rule: severity.name.lower()
        for rule, severity in found.items()
        if severity >= Severity.WARNING and samples.load_shipped()[rule].family in rooms
    }
    assert said == one["finds"]
