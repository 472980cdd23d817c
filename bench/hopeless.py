"""Whether hopeless commands are errors: a 70B model trained in full on one 40 GB GPU, or served on one 24 GB GPU.

    python bench/hopeless.py [--list]

`hopeless.tsv` has one command for each trainer and engine that gpulint knows, written from the program's own help. Each runs in
a pod with one GPU, where no choice of further settings could make it fit: a full training run keeps at least 2 bytes for each of
70 billion weights, and so does a server in 16 bits. Each must be an error. Variants change the model, the GPU and the kind of
object by a seeded choice. The sound counterpart of a server, an 8B model on one 80 GB GPU, must give no error.
"""

from __future__ import annotations

import argparse
import csv
import random
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import gpulint
from gpulint.report.model import Severity

HERE = Path(__file__).parent
LARGE = ("meta-llama/Llama-3.1-70B-Instruct", "Qwen/Qwen2.5-72B-Instruct", "meta-llama/Llama-3.3-70B-Instruct")
SMALL = {"training": "nvidia-tesla-a100", "inference": "nvidia-l4"}
VARIANTS_OF = {"training": ("nvidia-tesla-a100", "nvidia-l4"), "inference": ("nvidia-l4", "nvidia-tesla-t4")}
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: {accelerator}}}
  containers:
    - name: main
      image: {image}
      command: {command}
      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeSelector: {{cloud.google.com/gke-accelerator: {accelerator}}}
      restartPolicy: Never
      containers:
        - name: main
          image: {image}
          command: [bash, -c, "{joined}"]
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


class Case(NamedTuple):
    """A spec, and whether it must be an error."""

    name: str
    text: str
    is_hopeless: bool


def list_cases(seed: int = 22) -> Iterator[Case]:
    """Yield the commands as they are, their seeded variants, and the sound counterparts of servers."""
    chance = random.Random(seed)
    with (HERE / "hopeless.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        yield Case(row["program"], _write(POD, row, LARGE[0], SMALL[row["task"]], 1), True)
    for row in rows:
        model = chance.choice(LARGE) if "{model}" in row["command"] else LARGE[0]
        text = _write(JOB, row, model, chance.choice(VARIANTS_OF[row["task"]]), 1)
        yield Case(f"{row['program']}, variant", text, True)
    for row in rows:
        if row["task"] == "inference" and "{model}" in row["command"]:
            text = _write(POD, row, "meta-llama/Llama-3.1-8B-Instruct", "nvidia-h100-80gb", 1)
            yield Case(f"{row['program']}, sound", text, False)


def _write(template: str, row: dict[str, str], model: str, accelerator: str, gpus: int) -> str:
    command = row["command"].format(model=model, gpus=gpus)
    words = "[" + ", ".join(f'"{word}"' for word in shlex.split(command)) + "]"
    name = row["program"].replace(".", "-")
    return template.format(
        name=name, accelerator=accelerator, image=row["image"], command=words, joined=command, gpus=gpus
    )


def main() -> None:
    """Print how many hopeless cases are errors, and how many sound ones are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print each case that misses")
    listed = parser.parse_args().list
    counts = {True: [0, 0], False: [0, 0]}
    for case in list_cases():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "spec.yaml").write_text(case.text, encoding="utf-8")
            report = gpulint.check(folder)
        is_error = any(finding.severity is Severity.ERROR for finding in report.open)
        counts[case.is_hopeless][0] += is_error
        counts[case.is_hopeless][1] += 1
        if listed and is_error is not case.is_hopeless:
            verdicts = "; ".join(role.verdict for workload in report.workloads for role in workload.roles)
            print(f"{case.name}: {verdicts or 'no workload'}")
    print(f"hopeless and an error: {counts[True][0]} of {counts[True][1]}")
    print(f"sound and an error: {counts[False][0]} of {counts[False][1]}")


if __name__ == "__main__":
    main()
