"""The order of path arguments changes no byte of any report."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from command_line import ELSEWHERE, RIGHT, WRONG, Run, write

from gpulint.cli import output_files

PATHS = ("services", "wrong.yaml", "services/chat.yaml", "broken.yaml")


@pytest.fixture
def specs(run: Run) -> Run:
    write("services/chat.yaml", RIGHT)
    write("services/talk.yaml", WRONG.replace("chat", "talk"))
    write("services/other.yaml", ELSEWHERE)
    write("wrong.yaml", WRONG)
    write("broken.yaml", WRONG + "  broken: [\n")
    Path("link.yaml").symlink_to("wrong.yaml")
    return run


@pytest.mark.parametrize("name", output_files.list_formats())
def test_no_format_depends_on_the_order_of_the_paths(specs: Run, name: str) -> None:
    orders = [PATHS, PATHS[::-1], (*PATHS[2:], *PATHS[:2]), (*PATHS, PATHS[0])]
    first, *others = [specs("check", "--format", name, *order).output for order in orders]
    assert first
    assert all(other == first for other in others)


def test_a_baseline_does_not_depend_on_the_order_of_the_paths(specs: Run) -> None:
    texts = set()
    for order in itertools.permutations(("services", "wrong.yaml")):
        assert specs("baseline", *order).exit_code == 0
        texts.add(Path(".gpulint-baseline.json").read_bytes())
        Path(".gpulint-baseline.json").unlink()
    assert len(texts) == 1
