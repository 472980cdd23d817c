"""Whether runs of preference and reinforcement learning are sized right: public runs that fitted or failed, by their commands.

    python bench/preference.py [--list]

`preference_cases.tsv` has the settings of each run as a command, with its source, its GPUs and what was measured. The file was
written and committed before gpulint ran on it. A run that fits must not be an error; one that failed should be called at least
"likely does not fit".
"""

from __future__ import annotations

import argparse
import collections
import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import gpulint
from gpulint.report.model import Severity

HERE = Path(__file__).parent
CASES = HERE / "preference_cases.tsv"
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --gres=gpu:{accelerator}:{gpus}
{command}
"""
ZERO = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config: {{zero_stage: {stage}, offload_optimizer_device: none, offload_param_device: none, zero3_init_flag: true}}
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""
STAGE_2 = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}\n'


class Judged(NamedTuple):
    """A case with the verdict on it, the expected memory of a step [GiB], and whether a finding is an error."""

    case: dict[str, str]
    verdict: str
    needed_gib: float | None
    is_error: bool

    @property
    def is_right(self) -> bool:
        if self.case["measured"] == "fits":
            return not self.is_error and "not fit" not in self.verdict and "does not start" not in self.verdict
        return "not fit" in self.verdict


def judge(case: dict[str, str], folder: Path) -> Judged:
    """Return the verdict on a case, read from a batch script with the files that it names."""
    root = folder / case["id"]
    root.mkdir()
    for stage in (2, 3):
        (root / f"zero{stage}.yaml").write_text(ZERO.format(stage=stage), encoding="utf-8")
    (root / "zero2.json").write_text(STAGE_2, encoding="utf-8")
    (root / "train.sh").write_text(SCRIPT.format(**case), encoding="utf-8")
    report = gpulint.check(root / "train.sh")
    roles = [role for workload in report.workloads for role in workload.roles]
    needed = next((fact.values for role in roles for fact in role.facts if fact.name == "training_needed_bytes"), None)
    found = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    verdict = roles[0].verdict if roles else "no workload"
    return Judged(
        case,
        verdict,
        needed.expected / 2**30 if needed and isinstance(needed.expected, int | float) else None,
        bool(found),
    )


def judge_all() -> Iterator[Judged]:
    with CASES.open(encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder:
        for case in csv.DictReader(file, delimiter="\t"):
            yield judge(case, Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", dest="listed", help="print each case")
    arguments = parser.parse_args()
    judged = list(judge_all())
    for one in judged:
        if arguments.listed or not one.is_right:
            needed = f"{one.needed_gib:.0f} GiB" if one.needed_gib else "-"
            peak = one.case["peak_gib"] or "-"
            print(f"{one.case['id']:24} {one.case['measured']:5} peak {peak:>3} needs {needed:>8} {one.verdict}")
    counts = collections.Counter((one.case["measured"], one.is_right) for one in judged)
    for measured in ("fits", "oom"):
        print(f"{measured}: {counts[measured, True]} of {counts[measured, True] + counts[measured, False]} right")
    print(f"errors on runs that fit: {sum(one.is_error for one in judged if one.case['measured'] == 'fits')}")


if __name__ == "__main__":
    main()
