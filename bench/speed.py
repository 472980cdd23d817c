"""CPU seconds of gpulint's phases beside bare Python, yamllint and checkov, all in one run.

    python bench/speed.py NAME=PATH/TO/gpulint ... [--peers PATH/TO/yamllint PATH/TO/checkov] [--rounds N] [--compare]

NAME labels an installation (`wheel=…/bin/gpulint editable=…/bin/gpulint`). Every command runs once to warm up, then N rounds
follow in which all commands take turns; figures are medians of user and system time of the child (wait4). The
input is generated into a temporary directory. A target that is missed is marked, with exit code 1.
`--compare` takes wheels of different versions: it prints each phase's ratio to the first NAME.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import alone

FURTHER = 50
SIBLINGS = 1000
MIB_OF_KIB = 1024
IMPORT_SHOWN_MS = 2.0
IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \| \s*([\w.]+)")

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-NUMBER}
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: web
          image: nginx:1.27
          ports: [{containerPort: 80}]
          resources: {limits: {memory: 256Mi, cpu: "1"}}
"""
CHAT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat-NUMBER}
spec:
  replicas: 2
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: CARD}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args:
            - --model=CHECKPOINT
            - --max-model-len=LENGTH
            - --tensor-parallel-size=TP
          resources: {limits: {nvidia.com/gpu: GPUS}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
SCRIPT = (
    """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
export MODEL=meta-llama/Llama-3.1-8B
ARGS=(--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 64)
"""
    + "export SETTING_NUMBER=1\necho starting $SETTING_NUMBER on $(hostname)\n" * 140
    + """\
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 pretrain_gpt.py "${ARGS[@]}" --seq-length 4096
"""
)
SETTINGS_OF = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings-NUMBER}
data: {MODEL: meta-llama/Llama-3.1-8B-Instruct}
"""
CLEAN = {
    "CARD": "nvidia-h100-80gb",
    "CHECKPOINT": "meta-llama/Llama-3.1-8B-Instruct",
    "LENGTH": "32768",
    "TP": "1",
    "GPUS": "1",
}
DEFECTS: tuple[Mapping[str, str], ...] = (
    {
        **CLEAN,
        "CARD": "nvidia-l4",
        "CHECKPOINT": "meta-llama/Llama-3.1-70B-Instruct",
        "LENGTH": "8192",
        "TP": "2",
        "GPUS": "2",
    },
    {**CLEAN, "TP": "2"},
    {**CLEAN, "TP": "2", "GPUS": "4"},
    {**CLEAN, "LENGTH": "524288"},
)
TARGETS_S: Mapping[str, float | None] = {
    "bare python": None,
    "--version": 0.08,
    "one file without GPUs": 0.15,
    "one GPU file": 0.15,
    "one GPU file, gpulint.yaml": 0.28,
    "one file of findings": None,
    "one script of 286 lines": None,
    "one GPU file, joined over 1001 files": None,
}
SETTINGS = "hints:\n  - {path: 'other/*.yaml', accelerator: l4}\n"
IN_PROCESS = """\
import json, sys, time
from gpulint.pipeline.check import check_files
from gpulint.policy.resolved import Given
from gpulint.policy.rules import selection
from gpulint.source import repository
rules = selection.speaking(selection.known())
source = repository.Source("bad.yaml", open(sys.argv[1], "rb").read())
def run(alternatives):
    given = Given(rules, alternatives=alternatives)
    start = time.process_time()
    report = check_files([source], repository.WorkTree("."), given)
    return time.process_time() - start, len(report.findings), sum(bool(one.suggestions) for one in report.findings)
cold_off, cold_on = run(False), run(True)
off, on = [run(False)[0] for _ in range(7)], [run(True)[0] for _ in range(7)]
print(json.dumps({"findings": cold_on[1], "answered": cold_on[2], "off": sorted(off)[3], "on": sorted(on)[3]}))
"""


class Cost(NamedTuple):
    """CPU seconds and peak memory of one child."""

    cpu_s: float
    peak_mib: float


class Figure(NamedTuple):
    """One line of the result: a value, its unit, and the target it must not exceed."""

    name: str
    value: float
    unit: str
    target: float | None = None

    @property
    def missed(self) -> bool:
        return self.target is not None and self.value > self.target


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("installed", nargs="+", metavar="NAME=GPULINT")
    parser.add_argument("--peers", nargs="*", default=[], metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--compare", action="store_true", help="only the phases, each with its ratio to the first NAME")
    arguments = parser.parse_args()
    programs = {name: Path(path).absolute() for name, _, path in (word.partition("=") for word in arguments.installed)}
    peers = {Path(path).name: Path(path).absolute() for path in arguments.peers}
    with tempfile.TemporaryDirectory() as folder:
        missed = _measured(Path(folder), programs, peers, arguments.rounds, arguments.compare)
    sys.exit(missed)


def _measured(
    folder: Path, programs: Mapping[str, Path], peers: Mapping[str, Path], rounds: int, compare: bool
) -> bool:
    inputs = written(folder)
    commands: dict[str, list[str]] = {}
    for name, program in programs.items():
        commands |= {f"{name}: {phase}": words for phase, words in phases(program, inputs).items()}
    for name, program in peers.items():
        commands |= {f"{name}: {phase}": words for phase, words in peer_phases(name, program, inputs).items()}
    costs = medians(commands, folder, rounds)
    if compare:
        print(compared(costs, list(programs)))
        return False
    missed = False
    for name, program in programs.items():
        figures = summary(name, costs, spent_on_alternatives(program, inputs["bad"], folder))
        missed |= any(figure.missed for figure in figures)
        print(f"\n{name}\n{alone.table(_rows(figures, name, costs))}")
        print(f"\n{name}: imports, self time by top-level package, above {IMPORT_SHOWN_MS:g} ms")
        print("\n".join(imports(phase, words, folder) for phase, words in phases(program, inputs).items()))
    if peers:
        bare = next(cost for phase, cost in costs.items() if phase.endswith(": bare python")).cpu_s
        rows: list[tuple[str, ...]] = [("peer", "CPU s", "of bare python", "peak MiB")]
        for phase, cost in costs.items():
            if phase.partition(":")[0] in peers:
                rows.append((phase, f"{cost.cpu_s:.3f}", f"{cost.cpu_s / bare:.1f} ×", f"{cost.peak_mib:.0f}"))
        print(f"\n{alone.table(rows)}")
    return missed


def compared(costs: Mapping[str, Cost], names: Sequence[str]) -> str:
    """A table of the CPU seconds of each phase in each installation, with the ratio to the first."""
    first, *others = names
    rows: list[tuple[str, ...]] = [("phase", first, *(word for name in others for word in (name, "ratio")))]
    for phase in (phase.partition(": ")[2] for phase in costs if phase.startswith(f"{first}: ")):
        base = costs[f"{first}: {phase}"].cpu_s
        times = [costs[f"{name}: {phase}"].cpu_s for name in others]
        rows.append((phase, f"{base:.3f}", *(word for time in times for word in (f"{time:.3f}", f"{time / base:.2f}"))))
    return alone.table(rows)


# ---- input


def written(folder: Path) -> dict[str, Path]:
    """The input files: without GPUs, clean, clean beside settings, many clean ones, and one of defects."""
    shapes = {"web": WEB, "chat": _filled(CHAT, CLEAN), "bad": "---\n".join(_filled(CHAT, one) for one in DEFECTS)}
    inputs = {name: folder / f"{name}.yaml" for name in shapes}
    for name, text in shapes.items():
        inputs[name].write_text(text.replace("NUMBER", "0"), encoding="utf-8")
    for name, shape in (("webs", WEB), ("chats", _filled(CHAT, CLEAN))):
        inputs[name] = folder / name
        inputs[name].mkdir()
        for number in range(FURTHER + 1):
            (inputs[name] / f"{number}.yaml").write_text(shape.replace("NUMBER", str(number)), encoding="utf-8")
    inputs["settled"] = folder / "settled" / "chat.yaml"
    inputs["settled"].parent.mkdir()
    inputs["settled"].write_text(_filled(CHAT, CLEAN), encoding="utf-8")
    (inputs["settled"].parent / "gpulint.yaml").write_text(SETTINGS, encoding="utf-8")
    inputs["script"] = folder / "train.sbatch"
    inputs["script"].write_text(SCRIPT, encoding="utf-8")
    inputs["joined"] = _siblings(folder / "repository")
    return inputs


def _siblings(root: Path) -> Path:
    """A GPU file whose model another of many folders states."""
    (root / ".git").mkdir(parents=True)
    for number in range(SIBLINGS):
        place = root / f"app-{number}" / "settings.yaml"
        place.parent.mkdir()
        place.write_text(SETTINGS_OF.replace("NUMBER", str(number)), encoding="utf-8")
    joined = root / "chat" / "chat.yaml"
    joined.parent.mkdir()
    named = "          envFrom: [{configMapRef: {name: settings-7}}]\n          resources"
    text = _filled(CHAT, {**CLEAN, "CHECKPOINT": "$(MODEL)"}).replace("          resources", named)
    joined.write_text(text.replace("NUMBER", "0"), encoding="utf-8")
    return joined


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def phases(program: Path, inputs: Mapping[str, Path]) -> dict[str, list[str]]:
    """The commands measured of one installation."""
    check = [str(program), "check", "--exit-zero"]
    return {
        "bare python": [str(program.parent / "python"), "-c", "pass"],
        "--version": [str(program), "--version"],
        "one file without GPUs": [*check, str(inputs["web"])],
        "one GPU file": [*check, str(inputs["chat"])],
        "one GPU file, gpulint.yaml": [*check, str(inputs["settled"])],
        f"{FURTHER + 1} files without GPUs": [*check, str(inputs["webs"])],
        f"{FURTHER + 1} GPU files": [*check, str(inputs["chats"])],
        "one file of findings": [*check, str(inputs["bad"])],
        "one script of 286 lines": [*check, str(inputs["script"])],
        "one GPU file, joined over 1001 files": [*check, str(inputs["joined"])],
    }


def peer_phases(name: str, program: Path, inputs: Mapping[str, Path]) -> dict[str, list[str]]:
    """The same of another tool; checkov reads Kubernetes alone, without the network."""
    if name == "checkov":
        own = [str(program), "--framework", "kubernetes", "--compact", "--quiet", "--skip-download"]
        return {
            "one GPU file": [*own, "-f", str(inputs["chat"])],
            f"{FURTHER + 1} GPU files": [*own, "-d", str(inputs["chats"])],
        }
    return {
        phase: [str(program), str(inputs[key])]
        for phase, key in (("one GPU file", "chat"), (f"{FURTHER + 1} GPU files", "chats"))
    }


# ---- measuring


def medians(commands: Mapping[str, Sequence[str]], folder: Path, rounds: int) -> dict[str, Cost]:
    """The median cost of each command, all taking turns after a warm-up."""
    for words in commands.values():
        spent(words, folder)
    found: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, words in commands.items():
            found[name].append(spent(words, folder))
    return {
        name: Cost(statistics.median(one.cpu_s for one in costs), statistics.median(one.peak_mib for one in costs))
        for name, costs in found.items()
    }


def spent(words: Sequence[str], folder: Path) -> Cost:
    """Run a command to its end; a peer's findings (exit code 1) are no failure."""
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)} ended with {child.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MIB_OF_KIB)


def spent_on_alternatives(program: Path, bad: Path, folder: Path) -> Mapping[str, float]:
    """CPU of linting a file of findings with alternatives on and off, inside one process."""
    words = [str(program.parent / "python"), "-c", IN_PROCESS, str(bad)]
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    found: Mapping[str, float] = json.loads(done.stdout)
    return found


def imports(phase: str, words: Sequence[str], folder: Path) -> str:
    """The packages that take longest to import in one phase."""
    python = str(Path(words[0]).parent / "python")
    rest = words[1:] if phase == "bare python" else words
    done = subprocess.run([python, "-X", "importtime", *rest], cwd=folder, check=True, capture_output=True, text=True)
    spent_ms: Counter[str] = Counter()
    for micros, module in IMPORT.findall(done.stderr):
        spent_ms[module.partition(".")[0]] += int(micros)
    slow = [f"{name} {micros / 1000:.0f}" for name, micros in spent_ms.most_common() if micros / 1000 > IMPORT_SHOWN_MS]
    return f"  {phase}: {sum(spent_ms.values()) / 1000:.0f} ms ({', '.join(slow) or 'nothing above'})"


# ---- figures


def summary(name: str, costs: Mapping[str, Cost], inside: Mapping[str, float]) -> list[Figure]:
    """The figures of one installation beside their targets."""
    own = {phase.removeprefix(f"{name}: "): cost for phase, cost in costs.items() if phase.startswith(f"{name}: ")}
    figures = [Figure(phase, own[phase].cpu_s, "s", target) for phase, target in TARGETS_S.items()]
    for kind in ("file without GPUs", "GPU file"):
        slope = (
            (own[f"{FURTHER + 1} {kind.replace('file', 'files')}"].cpu_s - own[f"one {kind}"].cpu_s) / FURTHER * 1000
        )
        figures.append(Figure(f"each further {kind}", slope, "ms", 2))
    per_finding = (inside["on"] - inside["off"]) / inside["findings"] * 1000
    figures.append(Figure(f"each of {inside['findings']:.0f} findings with alternatives", per_finding, "ms", 20))
    figures.append(Figure("peak memory", max(cost.peak_mib for cost in own.values()), "MiB", 80))
    return figures


def _rows(figures: Sequence[Figure], name: str, costs: Mapping[str, Cost]) -> list[tuple[str, ...]]:
    bare = costs[f"{name}: bare python"].cpu_s
    peer = costs.get("yamllint: one GPU file")
    rows: list[tuple[str, ...]] = [("figure", "measured", "target", "", "of bare python", "of yamllint, one file")]
    for figure in figures:
        shown = f"{figure.value:.3f} s" if figure.unit == "s" else f"{figure.value:.1f} {figure.unit}"
        target = "-" if figure.target is None else f"{figure.target:g} {figure.unit}"
        verdict = "" if figure.target is None else "MISSED" if figure.missed else "met"
        ratios = (f"{figure.value / bare:.1f} ×", f"{figure.value / peer.cpu_s:.2f} ×" if peer else "-")
        rows.append((figure.name, shown, target, verdict, *(ratios if figure.unit == "s" else ("", ""))))
    return rows


if __name__ == "__main__":
    main()
