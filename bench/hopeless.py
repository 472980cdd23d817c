"""Whether hopeless commands are errors: 70B and more trained in full on one 40 GB GPU, or served on one 24 GB GPU.

    python bench/hopeless.py [--list]

`hopeless.yaml` has a command for each trainer and engine that gpulint reads, written from the program's own help and source.
Each runs in a pod with one GPU, where no choice of further settings makes it fit, and must be an error; so must its variants,
which change model, GPU and kind of object by a seeded choice, and its spelling with DeepSeek-V3. The sound counterparts, a small
model on one 80 GB GPU, must give nothing about memory.
"""

from __future__ import annotations

import argparse
import random
import shlex
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

import gpulint
from gpulint.report.model import Finding, Severity

HERE = Path(__file__).parent
TASKS = {"trainers": "training", "engines": "inference"}
LARGE = ("meta-llama/Llama-3.1-70B-Instruct", "Qwen/Qwen2.5-72B-Instruct", "meta-llama/Llama-3.3-70B-Instruct")
LARGEST = "deepseek-ai/DeepSeek-V3"
SOUND = {"training": "meta-llama/Llama-3.2-1B", "inference": "meta-llama/Llama-3.1-8B-Instruct"}
SMALL_GPU = {"training": "nvidia-tesla-a100", "inference": "nvidia-l4"}
SMALL_GPUS = {"training": ("nvidia-tesla-a100", "nvidia-l4"), "inference": ("nvidia-l4", "nvidia-tesla-t4")}
GPU_LABEL = "cloud.google.com/gke-accelerator"
LARGE_GPU = "nvidia-h100-80gb"
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeSelector: {selector}
  containers:
    - name: main
      image: {image}
{words}      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
{mounts}"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  template:
    spec:
      nodeSelector: {selector}
      restartPolicy: Never
      containers:
        - name: main
          image: {image}
{words}          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
{mounts}"""

MOUNTED = """\
{depth}    volumeMounts: [{{name: files, mountPath: /config}}]
{depth}volumes: [{{name: files, configMap: {{name: files}}}}]
"""


class Case(NamedTuple):
    """A spec, and whether it must be an error."""

    name: str
    text: str
    is_hopeless: bool


def list_cases(seed: int = 22) -> Iterator[Case]:
    """Yield each command as it is, its seeded variant, its spelling of DeepSeek-V3, and its sound counterpart."""
    chance = random.Random(seed)
    listed = YAML(typ="safe").load((HERE / "hopeless.yaml").read_text(encoding="utf-8"))
    for section, task in TASKS.items():
        for row in listed[section]:
            large = row.get("large", LARGE)
            small = row.get("small", SOUND[task])
            yield Case(row["program"], _write(POD, row, large[0], SMALL_GPU[task]), True)
            model, gpu = chance.choice(large), chance.choice(SMALL_GPUS[task])
            yield Case(f"{row['program']}, variant", _write(JOB, row, model, gpu), True)
            if "large" not in row:
                text = _write(POD, row, LARGEST, SMALL_GPU[task])
                yield Case(f"{row['program']}, DeepSeek-V3", text, True)
            yield Case(f"{row['program']}, sound", _write(POD, row, small, LARGE_GPU), False)

    for row in listed["sound"]:
        spelled = {"image": "registry.example/train:1", "machines": {row["gpu"]: row.get("machine", "")}, **row}
        yield Case(row["program"], _write(POD, spelled, "", row["gpu"]), False)


def _write(template: str, row: Mapping[str, Any], model: str, accelerator: str) -> str:
    command = row["command"].format(model=model)
    words = shlex.split(command)
    if template == JOB and words[:2] != ["bash", "-c"]:
        words = ["bash", "-c", command]
    listed = "".join(f"\n            - {_quote(word)}" for word in words)
    machine = row.get("machines", {}).get(accelerator)
    key, place = ("node.kubernetes.io/instance-type", machine) if machine else (GPU_LABEL, accelerator)
    depth = " " * (2 if template == POD else 6)
    text = template.format(
        name="".join(char if char.isalnum() else "-" for char in row["program"]),
        selector=f"{{{key}: {place}}}",
        gpus=row.get("gpus", 1),
        image=_quote(row["image"].format(model=model)),
        words=f"{depth}    command:{listed}\n" if words and command else "",
        mounts=MOUNTED.format(depth=depth) if "files" in row else "",
    )
    return text + _write_files(row["files"]) if "files" in row else text


def _write_files(files: Mapping[str, str]) -> str:
    """Return the ConfigMap whose files a pod finds below /config."""
    parts = (f"  {name}: |\n{textwrap.indent(text, '    ')}" for name, text in files.items())
    return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\ndata:\n" + "".join(parts)


def _quote(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check(case: Case) -> gpulint.Report:
    """Return the report on a case, alone in its repository."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "spec.yaml").write_text(case.text, encoding="utf-8")
        return gpulint.check(folder)


def is_about_memory(finding: Finding) -> bool:
    """Return whether a finding says that something does not fit in memory."""
    return finding.family == "memory" and finding.severity in (Severity.ERROR, Severity.WARNING)


def main() -> None:
    """Print how many hopeless cases are errors, and how many sound ones have an error or a finding about memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print each case that misses")
    listed = parser.parse_args().list
    found = errors = sound = alarms = 0
    for case in list_cases():
        report = check(case)
        is_error = any(finding.severity is Severity.ERROR for finding in report.open)
        is_alarm = is_error or any(map(is_about_memory, report.open))
        found, errors = found + case.is_hopeless, errors + (case.is_hopeless and is_error)
        sound, alarms = sound + (not case.is_hopeless), alarms + (not case.is_hopeless and is_alarm)
        if listed and (not is_error if case.is_hopeless else is_alarm):
            verdicts = "; ".join(role.verdict for workload in report.workloads for role in workload.roles)
            print(f"{case.name}: {verdicts or 'no workload'}")
    print(f"hopeless and an error: {errors} of {found}")
    print(f"sound with an error or a finding about memory: {alarms} of {sound}")


if __name__ == "__main__":
    main()
