"""Every command with every call of the system failing once: no run that did not do its work ends with exit 0.

    python bench/faults.py [--commands NAME,NAME] [--every N] [--at KIND:NUMBER:HOW] [--verbose]

Each command runs in a small repository, first undisturbed, then once for each open, read, write, fsync,
rename, listing and git that it needs, with that one call failing (bench/fault_injection.py has the
list of errors). A run passes if

- it ends with exit 0 only where its output and its files are those of the undisturbed run;
- it prints no traceback;
- each file is as it was before the run, or as the undisturbed run leaves it, and no other file is there.

--every N takes only every N-th call of a kind. Exit code 1 where a run does not pass.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from fault_injection import FAULTS, Fault, Shim

import gpulint
from gpulint import __main__ as program

STEPS = {"data": 12, "docs": 6}
"""How many calls are taken of shipped data, and of each kind by the command that writes 549 files."""
OUTPUTS = frozenset({"found.json", "found.sarif"})
"""Reports: those of a run that failed say so, and are complete."""
LIMIT_S = 60
COMMANDS = {
    "check": "check --today 2026-11-22 .",
    "check-json": "check --today 2026-11-22 --format json apps/chat.yaml",
    "check-output": "check --today 2026-11-22 --exit-zero --output json:found.json --output sarif:found.sarif",
    "check-base": "check --today 2026-11-22 --exit-zero --base HEAD~1",
    "check-policy-from": "check --today 2026-11-22 --exit-zero --base HEAD~1 --policy-from HEAD~1",
    "check-changed": "check --today 2026-11-22 --exit-zero --changed",
    "fix": "check --today 2026-11-22 --exit-zero --fix",
    "diff": "check --today 2026-11-22 --exit-zero --diff",
    "baseline": "baseline --today 2026-11-22 --output new.json",
    "baseline-prune": "baseline --today 2026-11-22 --prune",
    "init": "init --today 2026-11-22 --spec spec.yaml --facility",
    "rule-new": "rule new gpus-above-team-quota",
    "rule-test": "rule test policies/gpulint",
    "docs": "docs reference",
    "size": "size apps/chat.yaml",
    "suggest": "suggest --today 2026-11-22 apps/chat.yaml",
    "facts": "facts weight_bytes --of apps/chat.yaml",
    "facility": "facility --today 2026-11-22 --exit-zero facility.yaml apps",
    "policy": "policy show",
}
WITHOUT = {"init": ("gpulint.yaml", "facility.yaml")}
"""Files of the repository that a command starts without."""
CHAT = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-num-batched-token=8192, --max-model-len=8192]
      envFrom: [{configMapRef: {name: settings}}]
      resources: {limits: {nvidia.com/gpu: 1}}
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {VLLM_LOGGING_LEVEL: INFO}\n"
POLICY = "fail-on: error\nrules: [policies/gpulint]\n"


class Outcome(NamedTuple):
    """How a run ended: its exit code, what it printed, the files of the folder, and the calls that it made."""

    code: int
    stdout: bytes
    stderr: str
    files: Mapping[str, bytes]
    calls: Counter[str]


def main() -> None:
    """Run every command with every fault, and print what did not pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--at", default="")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    _import_all()
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        _make_repository(work / "original")
        for name in asked.commands.split(","):
            for verdict in _try_command(name, work, asked.every, asked.at, asked.verbose):
                totals[verdict] += 1
    print(", ".join(f"{number} {verdict}" for verdict, number in sorted(totals.items())))
    sys.exit(1 if totals["failed"] else 0)


def _import_all() -> None:
    """Import every module, so that a run begins with its work; each run reads cached data again."""
    for module in pkgutil.walk_packages(gpulint.__path__, "gpulint."):
        importlib.import_module(module.name)


def _make_repository(root: Path) -> None:
    """Make a repository with two commits, a policy, a rule, a baseline and a facility."""
    root.mkdir()
    examples = Path(__file__).parent.parent / "examples"
    variables = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=gpulint", "-c", "user.email=gpulint@example.com"]

    def git(*words: str) -> None:
        subprocess.run(["git", *identity, *words], cwd=root, env=variables, check=True, capture_output=True)

    files = {"apps/settings.yaml": SETTINGS, "gpulint.yaml": POLICY, ".gitignore": "ignored/\n", "ignored/a.yaml": CHAT}
    files["facility.yaml"] = (examples / "facility-dgx-on-three-feeds.yaml").read_text(encoding="utf-8")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "gpulint"]
    subprocess.run([*command, "rule", "new", "replicas-above-quota"], cwd=root, check=True, capture_output=True)
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "before")
    (root / "apps/chat.yaml").write_text(CHAT, encoding="utf-8")
    (root / "apps/talk.yaml").write_text(CHAT.replace("chat", "talk"), encoding="utf-8")
    subprocess.run([*command, "baseline", "apps/talk.yaml"], cwd=root, check=True, capture_output=True)
    git("add", "-A")
    git("commit", "-q", "-m", "after")


# ---- one command


def _try_command(name: str, work: Path, every: int, at: str, verbose: bool) -> Iterator[str]:
    """Yield the verdict on each run of a command, and print what did not pass."""
    before = _read_files(_copy(name, work))
    plain = _run(name, work, Fault())
    counted: Counter[str] = Counter()
    for fault in _list_faults(name, plain.calls, every, at):
        found = _run(name, work, fault)
        reason = _find_objection(before, plain, found)
        verdict = "failed" if reason else "refused" if found.code not in (0, plain.code) else "unaffected"
        counted[verdict] += 1
        if reason or verbose:
            last = found.stderr.strip().splitlines()[-1:] or [""]
            print(
                f"{name} {fault.kind}:{fault.number}:{fault.how}: exit {found.code}: {reason or 'passes'}: {last[0][:160]}"
            )
        yield verdict
    calls = ", ".join(f"{number} {kind}" for kind, number in sorted(plain.calls.items()))
    numbers = ", ".join(f"{number} {verdict}" for verdict, number in sorted(counted.items()))
    print(f"{name}: exit {plain.code} undisturbed ({calls}); {numbers}", flush=True)


def _list_faults(name: str, calls: Counter[str], every: int, at: str) -> Iterator[Fault]:
    """Yield each fault of a command; of shipped data only a sample."""
    if at:
        words = at.split(":")
        yield Fault(words[0], int(words[1]), words[2])
        return
    for kind, hows in FAULTS.items():
        step = max(every, calls[kind] // min(STEPS.get(kind, calls[kind] + 1), STEPS.get(name, calls[kind] + 1)))
        for number in range(1, calls[kind] + 1, step):
            yield from (Fault(kind, number, how) for how in hows)


def _find_objection(before: Mapping[str, bytes], plain: Outcome, found: Outcome) -> str:
    """Return why a run does not pass; empty if it does."""
    if "Traceback" in found.stderr:
        return "a traceback"
    if found.code == 0 and (plain.code != 0 or found.stdout != plain.stdout or found.files != plain.files):
        return "exit 0 with another result"
    for path, content in found.files.items():
        if path in OUTPUTS and found.code and content.endswith(b"}\n"):
            continue
        if content not in (before.get(path), plain.files.get(path)):
            return f"{path} is neither old nor new"
    if lost := before.keys() - found.files.keys():
        return f"{min(lost)} is gone"
    return "" if found.code in (0, 1, 2, 3) else "another exit code"


# ---- one run


def _copy(name: str, work: Path) -> Path:
    """Return a fresh copy of the repository."""
    folder = work / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(work / "original", folder, symlinks=True)
    for path in WITHOUT.get(name, ()):
        (folder / path).unlink()
    return folder


def _read_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder but for git's."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def _run(name: str, work: Path, fault: Fault) -> Outcome:
    """Run a command in a child process with one fault."""
    folder = _copy(name, work)
    child = os.fork()
    if child == 0:
        _run_child(name, folder, work, fault)
    _, status = os.waitpid(child, 0)
    calls = [line.split("=") for line in (work / "calls").read_text(encoding="utf-8").splitlines()]
    return Outcome(
        os.waitstatus_to_exitcode(status),
        (work / "stdout").read_bytes(),
        (work / "stderr").read_text(encoding="utf-8", errors="replace"),
        _read_files(folder),
        Counter({kind: int(number) for kind, number in calls}),
    )


def _run_child(name: str, folder: Path, work: Path, fault: Fault) -> None:
    """Run the program in this process, which ends with it."""
    code = 70
    try:
        (work / "calls").write_text("", encoding="utf-8")
        for descriptor, stream in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(work / stream, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        os.chdir(folder)
        sys.argv = ["gpulint", *COMMANDS[name].split()]
        shim = Shim(str(folder), str(Path(gpulint.__file__).parent.parent), fault)
        with shim.installed():
            try:
                program.run()
            except SystemExit as ended:
                code = int(ended.code or 0)
        with contextlib.suppress(OSError):
            (work / "calls").write_text("".join(f"{kind}={n}\n" for kind, n in shim.calls.items()), encoding="utf-8")
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
