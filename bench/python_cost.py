"""CPU time that Python programs and their like cost, and what reading them adds to a hook run, all in one run.

    python bench/python_cost.py before=PATH/TO/gpulint after=PATH/TO/gpulint [--files N] [--rounds N]

NAME=PATH labels an installation. The input is generated into a temporary directory. Every command runs once to warm up,
then N rounds follow in which all commands take turns; figures are medians of user and system time of the child (wait4).
A file costs the difference between a repository with N such files and one without, divided by N. A target that is
missed is marked, with exit code 1: a Python file without a word about GPUs costs at most 0.3 ms, and a hook run on a
manifest at most 15 % more with the last installation than with the first. A hook run on a script or a program also looks up
the files that use it, which has no target.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import alone

FILE_MS_MAX = 0.3
HOOK_RATIO_MAX = 1.15
SIBLINGS = 200

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat-NUMBER}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]
      resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}
"""
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:h100:8
#SBATCH --time=24:00:00
source ./cluster.sh
vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8 --max-model-len 8192
"""
PROGRAM = '''\
"""Reads table NUMBER and writes the rows that changed since the last run."""

import argparse
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import requests

LOG = logging.getLogger(__name__)
LIMIT = 500


@dataclass
class Row:
    key: str
    value: float
    source: str = "table-NUMBER"


class Client:
    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        self.token = token or os.environ.get("TOKEN_NUMBER")

    def read(self, page: int) -> list[Row]:
        answer = requests.get(f"{self.url}/rows?page={page}&limit={LIMIT}", timeout=30)
        answer.raise_for_status()
        return [Row(one["key"], float(one["value"])) for one in answer.json()["rows"]]


def pages(client: Client) -> Iterator[Row]:
    for page in range(1, 100):
        rows = client.read(page)
        if not rows:
            return
        yield from rows


FUNCTIONS
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="https://example.org/NUMBER")
    parser.add_argument("--out", type=Path, default=Path("rows-NUMBER.json"))
    args = parser.parse_args()
    rows = list(pages(Client(args.url)))
    args.out.write_text(json.dumps([row.__dict__ for row in rows]))
    LOG.info("%s rows of table NUMBER", len(rows))


if __name__ == "__main__":
    main()
'''
FUNCTION = '''\
def change_AT(rows: list[Row], factor: float = 1.AT) -> list[Row]:
    """Scale the values of some rows and leave out those that become small."""
    kept = []
    for row in rows:
        scaled = row.value * factor
        if abs(scaled) < 0.0AT:
            continue
        kept.append(Row(row.key.strip().lower(), scaled, row.source))
    return kept


'''
MAKEFILE = """\
IMAGE ?= registry.example/table-NUMBER
build:
\tdocker build -t $(IMAGE) .
test:
\tpytest -q tests
run: build
\tdocker run --rm $(IMAGE) python main.py --url https://example.org/NUMBER
"""
CALLER = POD.replace("vllm/vllm-openai:v0.10.1", "registry.example/chat:1").replace(
    "args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]", "command: [python, /srv/app/serve.py]"
)
SERVE = "from vllm import LLM\n\nllm = LLM('Qwen/Qwen2.5-7B-Instruct', max_model_len=8192)\n"


class Cost(NamedTuple):
    """The CPU time of a command in ms, and of each file of a kind if it is about many."""

    cpu_ms: float
    file_ms: float | None = None


def main() -> None:
    """Measure, print and compare; exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("installations", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    programs = {
        name: str(Path(path).absolute()) for name, _, path in (one.partition("=") for one in asked.installations)
    }
    with tempfile.TemporaryDirectory() as folder:
        commands = build(Path(folder), asked.files)
        found = measure(programs, commands, asked.rounds)
    costs = {name: list_costs(medians, asked.files) for name, medians in found.items()}
    print(alone.table(render(costs)))
    missed = list_missed(costs)
    print("\n".join(missed))
    sys.exit(bool(missed))


def build(root: Path, files: int) -> dict[str, tuple[Path, list[str]]]:
    """Write the input and return the folder and the words of each command."""
    write(root / "bare", {"k8s/chat.yaml": POD.replace("NUMBER", "0")})
    kinds = {
        "Python": {f"src/part_{at % 50}/table_{at}.py": make_program(at) for at in range(files)},
        "notebook": {f"notes/part_{at % 50}/table_{at}.ipynb": make_notebook(at) for at in range(files)},
        "Makefile": {f"src/table_{at}/Makefile": MAKEFILE.replace("NUMBER", str(at)) for at in range(files)},
        ".env": {f"src/table_{at}/.env": f"TOKEN=a{at}\nURL=https://example.org\n" for at in range(files)},
    }
    commands = {"bare": (root / "bare", ["."])}
    for kind, texts in kinds.items():
        write(root / kind, {"k8s/chat.yaml": POD.replace("NUMBER", "0"), **texts})
        commands[kind] = (root / kind, ["."])
    write(root / "hook", {"app/serve.py": SERVE, "k8s/serve.yaml": CALLER.replace("NUMBER", "x")})
    write(root / "hook", {f"k8s/chat-{at}.yaml": POD.replace("NUMBER", str(at)) for at in range(SIBLINGS)})
    write(root / "hook", {f"src/table_{at}.py": make_program(at) for at in range(SIBLINGS)})
    write(root / "hook", {"train.sbatch": SCRIPT, "cluster.sh": "export NCCL_DEBUG=INFO\n"})
    hook = root / "hook"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(hook)]
    for words in (["add", "-A"], ["commit", "-qm", "a"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    commands["hook: manifest"] = (hook, ["k8s/chat-0.yaml"])
    commands["hook: 50 manifests"] = (hook, [f"k8s/chat-{at}.yaml" for at in range(50)])
    commands["hook: script"] = (hook, ["train.sbatch"])
    commands["hook: program that a manifest starts"] = (hook, ["app/serve.py"])
    commands["hook: Python without a word about GPUs"] = (hook, ["src/table_0.py"])
    return commands


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files below a repository."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for path, text in texts.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def make_program(number: int) -> str:
    """Return a program of 2 to 6 KB that computes nothing on GPUs."""
    functions = "".join(FUNCTION.replace("AT", str(at)) for at in range(1, 2 + number % 12))
    return PROGRAM.replace("FUNCTIONS\n", functions).replace("NUMBER", str(number))


def make_notebook(number: int) -> str:
    """Return a notebook with the same program, and an output."""
    lines = make_program(number).splitlines(keepends=True)
    code = {"cell_type": "code", "source": lines, "outputs": [{"text": ["0.1234\n"] * 40}]}
    return json.dumps({"cells": [code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def measure(
    programs: Mapping[str, str], commands: Mapping[str, tuple[Path, Sequence[str]]], rounds: int
) -> dict[str, dict[str, float]]:
    """Return the median CPU time of each command of each installation; all take turns."""
    taken: dict[tuple[str, str], list[float]] = {(name, label): [] for name in programs for label in commands}
    for number in range(rounds + 1):
        for label, (folder, paths) in commands.items():
            for name, program in programs.items():
                spent_ms = spend([program, "check", "--exit-zero", *paths], folder)
                if number:
                    taken[name, label].append(spent_ms)
    return {name: {label: statistics.median(taken[name, label]) for label in commands} for name in programs}


def spend(words: Sequence[str], folder: Path) -> float:
    """Return the CPU time of a command in ms."""
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(words)} failed in {folder}")
    return (usage.ru_utime + usage.ru_stime) * 1_000


def list_costs(medians: Mapping[str, float], files: int) -> dict[str, Cost]:
    """Return the cost of each command; of a repository with many files, also that of one of them."""
    bare = medians["bare"]
    return {
        label: Cost(cpu_ms, None if label == "bare" or label.startswith("hook") else (cpu_ms - bare) / files)
        for label, cpu_ms in medians.items()
    }


def render(costs: Mapping[str, Mapping[str, Cost]]) -> list[tuple[str, ...]]:
    """Return the rows of the table: each command with its cost by installation, and the ratio of the last to the first."""
    names = list(costs)
    rows = [("CPU ms", *names, "ratio", *(f"a file, {name}" for name in names))]
    for label in costs[names[0]]:
        taken = [costs[name][label] for name in names]
        ratio = f"{taken[-1].cpu_ms / taken[0].cpu_ms:.2f}"
        each = ["" if one.file_ms is None else f"{one.file_ms:.3f}" for one in taken]
        rows.append((label, *(f"{one.cpu_ms:.0f}" for one in taken), ratio, *each))
    return rows


def list_missed(costs: Mapping[str, Mapping[str, Cost]]) -> list[str]:
    """Return the targets that the last installation misses."""
    first, *_, last = costs.values()
    each = last["Python"].file_ms or 0
    missed = [f"missed: a Python file costs {each:.3f} ms, at most {FILE_MS_MAX} ms"] if each > FILE_MS_MAX else []
    for label in ("hook: manifest", "hook: 50 manifests"):
        ratio = last[label].cpu_ms / first[label].cpu_ms
        if ratio > HOOK_RATIO_MAX:
            missed.append(f"missed: {label} costs {ratio:.2f} of before, at most {HOOK_RATIO_MAX}")
    return missed


if __name__ == "__main__":
    main()
