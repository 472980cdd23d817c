"""Produced weights: when two paths are those of one folder."""

from __future__ import annotations

import pytest

from gpulint.adapters.weights import produced
from gpulint.adapters.weights.produced import ENDING, INSIDE, SAME, Produced
from gpulint.source.documents import Document, Node
from gpulint.source.shell import HOLE
from gpulint.workload import Origin

DOCUMENT = Document("a.sh", 0, "", Node("scalar", 0, 0, ""), "shell", "")


@pytest.mark.parametrize(
    ("wanted", "written", "agreement"),
    [
        ("./models/own", "models/own/", SAME),
        ("/models/own", "/models/own", SAME),
        ("/app/models/own", "models/own", ENDING),
        ("~/models/own", "/home/me/models/own", ENDING),
        ("models/own/own-Q4_K_M.gguf", "models/own", INSIDE),
        ("/models/own", "/data/own", 0),
        ("/a/models/own", "/b/models/own", 0),  # two places of one machine
        ("models/own", f"{HOLE}/run-{HOLE}/own", 0),
        ("models/own/tokens", "models/own", 0),
        ("", "", 0),
    ],
)
def test_paths_agree_if_they_are_the_same_or_one_is_the_end_of_the_other(
    wanted: str, written: str, agreement: int
) -> None:
    one = Produced(written, "acme/own", "hf download", Origin(DOCUMENT, ()))
    assert produced.compare(produced.split(wanted), produced.split(written), one)[0] == agreement


def test_only_a_run_has_saved_states_below_its_folder() -> None:
    run = Produced("out/own", "acme/own", "Trainer", Origin(DOCUMENT, ()), is_run=True)
    wanted, written = produced.split("out/own/checkpoint-50"), produced.split("out/own")
    assert produced.compare(wanted, written, run)[0] == INSIDE
    assert produced.compare(wanted, written, run._replace(is_run=False))[0] == 0
