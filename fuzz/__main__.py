"""`python -m fuzz TARGET --runs N`, `python -m fuzz --all --seconds 60`, `python -m fuzz --list`.

Each failure is tried again in a process without instrumentation, and its smallest input is written to the folder of
`--keep`. `--record bench/fuzzing.tsv` adds a line for each target. Exit code 1 means that an input fails.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz.audit import ROOT

PATIENCE_S = 90
"""Without news for so long a worker is stopped; its current input is the failure."""
EDGES = re.compile(rb"cov: (\d+)")


class Outcome(NamedTuple):
    """What a search found: executions by target, the edges that it covered, seconds, and failures."""

    counts: Mapping[str, int]
    edges: int
    seconds: float
    failures: Sequence[Mapping[str, str]]


def main() -> None:
    """Search, print the executions and the failures, and end with 1 if there are any."""
    asked = _parse()
    if asked.replay:
        _replay(asked.targets[0], Path(asked.replay).read_bytes())
    from fuzz import targets

    if asked.list:
        print("\n".join(targets.find_all()))
        return
    names = [*targets.find()] if asked.all else asked.targets
    known = targets.select(names)
    if unknown := [name for name in names if name not in known] or ([] if names else ["nothing"]):
        sys.exit(f"no such target: {', '.join(unknown)}; --list lists them")
    mode = "coverage" if importlib.util.find_spec("atheris") and not asked.plain else "random"
    groups = [names] if asked.all else [[name] for name in names]
    outcomes = [_search(group, asked.runs, asked.seconds / len(groups), asked.seed, mode) for group in groups]
    confirmed = [failure for outcome in outcomes for failure in outcome.failures if _is_confirmed(failure)]
    for outcome in outcomes:
        _print(outcome, mode)
        if asked.record:
            _record(Path(asked.record), outcome, [failure["target"] for failure in confirmed], mode)
    for failure in confirmed:
        print(f"\n{failure['target']}: {failure['key']}\n{failure['text']}")
        if asked.keep:
            _write(Path(asked.keep), failure)
    sys.exit(bool(confirmed))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("targets", nargs="*", help="names of --list")
    parser.add_argument("--all", action="store_true", help="the main targets in one process")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument("--runs", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=10**6, help="of the whole search")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="mutate at random even if atheris is installed")
    parser.add_argument("--keep", default="", help="write the smallest input of each failure to this folder")
    parser.add_argument("--record", default="", metavar="FILE", help="add a line for each target to this table")
    parser.add_argument("--replay", default="", metavar="FILE", help="try one input of a target")
    return parser.parse_args()


def _search(names: Sequence[str], runs: int, seconds: float, seed: int, mode: str) -> Outcome:
    """Run workers until the runs or the seconds are used up; a worker that hangs is replaced by another one."""
    began, counts, edges = time.monotonic(), dict.fromkeys(names, 0), 0
    failures: dict[str, Mapping[str, str]] = {}
    while sum(counts.values()) < runs and time.monotonic() - began < seconds:
        left = runs - sum(counts.values())
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            out = Path(folder) / "found.json"
            words = [
                ",".join(names),
                str(out),
                str(left),
                str(seconds - (time.monotonic() - began)),
                str(seed + len(failures)),
                mode,
            ]
            covered, hung = _run_worker(words, out)
            edges = max(edges, covered)
            if not out.is_file():
                print("the worker ended without a result", file=sys.stderr)
                break
            found = json.loads(out.read_text(encoding="utf-8"))
            counts = {name: count + found["counts"][name] for name, count in counts.items()}
            failures |= {f"{failure['target']} {failure['key']}": failure for failure in found["failures"]}
            if hung is not None:
                failures[f"hang {len(failures)}"] = _describe_hang(names, hung)
            elif sum(found["counts"].values()) == 0:
                break
    return Outcome(counts, edges, time.monotonic() - began, [*failures.values()])


def _describe_hang(names: Sequence[str], data: bytes) -> Mapping[str, str]:
    name, content = (names[0], data) if len(names) == 1 else (names[(data[0] if data else 0) % len(names)], data[1:])
    encoded = base64.b64encode(content).decode()
    return {"target": name, "kind": "hang", "key": "no end", "text": f"no end in {PATIENCE_S} s", "input": encoded}


def _run_worker(words: Sequence[str], out: Path) -> tuple[int, bytes | None]:
    """Run one worker; return the edges that it covered, and the input at which it hung or died."""
    log = out.with_suffix(".log")
    with log.open("wb") as stream:
        worker = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", *words], cwd=ROOT, stdout=stream, stderr=subprocess.STDOUT
        )
        hung = False
        while worker.poll() is None:
            time.sleep(0.2)
            news = max((place.stat().st_mtime for place in (out, log) if place.exists()), default=time.time())
            if time.time() - news > PATIENCE_S:
                worker.kill()
                hung = True
    text = log.read_bytes()
    found = [int(number) for number in EDGES.findall(text)]
    if worker.returncode == 0:
        return max(found, default=0), None
    sys.stderr.write(text[-600:].decode("utf-8", "replace"))
    current = Path(f"{out}.current").read_bytes() if Path(f"{out}.current").exists() else b""
    data = current[4 : 4 + int.from_bytes(current[:4], "little")]
    return max(found, default=0), data if hung or current else None


def _is_confirmed(failure: Mapping[str, str]) -> bool:
    """Whether an input fails again in a process of its own."""
    with tempfile.NamedTemporaryFile(prefix="fuzz-") as file:
        file.write(base64.b64decode(failure["input"]))
        file.flush()
        words = [sys.executable, "-m", "fuzz", failure["target"], "--replay", file.name]
        try:
            return subprocess.run(words, cwd=ROOT, capture_output=True, timeout=PATIENCE_S, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            return True


def _replay(name: str, data: bytes) -> None:
    """Try one input twice, the second time without what the first one loaded; end with 1 if it fails."""
    from fuzz import targets, trial

    run = targets.select([name])[name].run
    trial.attempt(run, b"", 1, PATIENCE_S)
    trial.watch()
    failure = trial.attempt(run, data, 0)
    if failure is not None:
        sys.exit(f"{failure.kind}: {failure.key}\n{failure.text}")
    sys.exit(0)


def _print(outcome: Outcome, mode: str) -> None:
    for name, count in outcome.counts.items():
        rate = sum(outcome.counts.values()) / max(outcome.seconds, 0.001)
        edges = f", {outcome.edges} edges" if outcome.edges else ""
        print(f"{name}: {count} executions ({mode}, {rate:.0f}/s over all targets of the process{edges})")


def _record(table: Path, outcome: Outcome, failed: Sequence[str], mode: str) -> None:
    """Add a line for each target: its executions, the commit, the seconds of the process, its edges and its crashes."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    with table.open("a", encoding="utf-8") as stream:
        for name, count in outcome.counts.items():
            cells = (name, mode, count, commit, round(outcome.seconds), outcome.edges or "", failed.count(name))
            stream.write("\t".join(map(str, cells)) + "\n")


def _write(folder: Path, failure: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", f"{failure['target']}-{failure['key']}")[:120]
    (folder / name).write_bytes(base64.b64decode(failure["input"]))
    (folder / f"{name}.txt").write_text(f"{failure['key']}\n{failure['text']}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
