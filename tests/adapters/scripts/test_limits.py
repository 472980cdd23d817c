"""A script that exceeds a limit is named, and what is within the limits is read."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint

HEAD = "#!/bin/bash\n#SBATCH --gpus-per-node=8\n"
LAST = "srun torchrun --nproc-per-node 8 train.py\n"
LONG = "A=" + "a" * 60 + "\n" + f'B="{"$A" * 20}"\n' + f"for i in 1 2 3; do echo {' $B' * 20}; done\n" * 300


def find_limits(folder: Path, text: str) -> list[str]:
    (folder / "train.sbatch").write_text(text)
    report = gpulint.check(folder)
    assert report.failures == ()
    return [finding.message for finding in report.failing if finding.rule == "input-limit"]


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("a | b\n" * 1_001, "a script has more than 1,000 pipes, cases, arithmetic and nested expansions"),
        ("echo step\n" * 30_000, "a script has more than 256,000 characters"),
        (LONG, "a script expands to more than gpulint follows"),
    ],
    ids=["constructs", "characters", "expansions"],
)
def test_a_script_that_exceeds_a_limit_fails(tmp_path: Path, body: str, limit: str) -> None:
    assert find_limits(tmp_path, HEAD + body + LAST) == [f"gpulint does not read this: {limit}"]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "a | b\n" * 900 + LAST,
        HEAD + "echo step\n" * 9_000 + LAST,
        HEAD + "# a | b\n" * 2_000 + LAST,
        "#!/bin/csh\n" + "a | b\n" * 2_000,
        HEAD,
        "#!/bin/bash\n# used by the job on the GPU nodes\n" + LONG,
    ],
    ids=["constructs", "characters", "comments", "another language", "no command", "a library of functions"],
)
def test_a_script_within_the_limits_does_not(tmp_path: Path, text: str) -> None:
    assert find_limits(tmp_path, text) == []
