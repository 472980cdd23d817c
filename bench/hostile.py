"""Hostile inputs and pull requests: time, memory, exit code and verdict of each, beside the outcome that must follow.

    python bench/hostile.py [--only WORD] [--json FILE] [--peers FOLDER [--sample N]]

Each case of hostile_cases/ is written into a new folder and checked by a process of its own: an input by its name or by
folder, a pull request by two commits. A run must stay below 10 CPU seconds for each file and 300 MiB, and must not end
with 3, print a traceback, read or write elsewhere, connect, execute or import what the checkout holds. An audit hook in
that process notes all that. `--peers` runs checkov and yamllint of that folder of programs on the same inputs. Exit
code 1 means that an outcome was missed.
"""

from __future__ import annotations

import argparse
import collections
import compileall
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hostile_cases import changes, gates, harm, outputs, repositories
from hostile_cases.model import EXECUTED, OUTSIDE, Case, Change

ROOT = Path(__file__).parent.parent
CPU_S_PER_FILE, CPU_S_MAX, MEMORY_MIB, WALL_PER_CPU = 10, 60, 300, 6
STOPPED = "stopped"
UNREAD_RULES = frozenset({"file-not-checked", "input-limit", "invalid-syntax"})
FOUND, MISUSED, BROKEN = 1, 2, 3
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": os.devnull, "LANG": "C.UTF-8"}


class Run(NamedTuple):
    """One run of a program: its exit code (negative: a signal), seconds, peak of memory and output."""

    code: int
    wall_s: float
    cpu_s: float
    memory_mib: float
    printed: bytes


class Built(NamedTuple):
    """A case that was written to disk: the words of its command, and how many files it has."""

    words: Sequence[str]
    files: int


class Result(NamedTuple):
    """A case with its run, what became of it, and what was wrong with that."""

    case: Case | Change
    run: Run
    verdict: str
    misses: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="cases whose name or way contains this word")
    parser.add_argument("--json", default="", help="write all results to this file")
    parser.add_argument("--peers", default="", help="the folder of the programs checkov and yamllint")
    parser.add_argument("--sample", type=int, default=60, help="so many inputs for each of them, evenly chosen")
    asked = parser.parse_args()
    inputs = [case for case in (*gates.list_cases(), *harm.list_cases()) if _is_asked(case, asked.only)]
    if asked.peers:
        _run_peers(Path(asked.peers), inputs, asked.sample)
        return
    compileall.compile_dir(ROOT / "gpulint", quiet=2)
    requests = [change for change in changes.list_changes() if _is_asked(change, asked.only)]
    results = [_try(case) for case in _watch((*inputs, *requests))]
    _print(results)
    if asked.json:
        Path(asked.json).write_text(json.dumps([_describe(result) for result in results], indent=1), encoding="utf-8")
    sys.exit(any(result.misses for result in results))


def _is_asked(case: Case | Change, word: str) -> bool:
    return word in case.name or word in case.way


def _watch(cases: Sequence[Case | Change]) -> Iterator[Case | Change]:
    """Yield the cases; name each on a terminal."""
    for number, case in enumerate(cases):
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{len(cases)} {case.name:50}", end="", file=sys.stderr)
        yield case


# ---- one case


def _try(case: Case | Change) -> Result:
    """Build the case, run it and compare the outcome."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        work = Path(name)
        built = _build(case, work)
        if built is None:
            return Result(case, Run(0, 0, 0, 0, b""), "not built", ("the case could not be built",))
        words, count = built
        cpu_s = min(CPU_S_PER_FILE * count, CPU_S_MAX)
        log, report = work / "watch.log", work / "out" / "report.json"
        command = [
            sys.executable, "-P", str(ROOT / "fuzz" / "watched.py"), str(work / "checkout"), str(log), str(work / "out"),
            *words, *(() if "--format" in words else ("--format", "text")), "--output", f"json:{report}",
        ]  # fmt: skip
        run = _run(command, work / "checkout", work / "printed", cpu_s)
        left = outputs.read_report(report)
        verdict = _judge(case, run, left)
        misses = [*_compare(case, verdict), *_find_faults(case, run, left, cpu_s)]
        misses += _find_escapes(work, run, report, log)
        with contextlib.suppress(OSError):
            misses += outputs.find_faults(_find_format(words), run.printed)
        return Result(case, run, verdict, tuple(misses))


def _find_format(words: Sequence[str]) -> str:
    return words[words.index("--format") + 1] if "--format" in words else ""


def _build(case: Case | Change, work: Path) -> Built | None:
    """Build a case in a child, so that this process stays small; return None if that failed."""
    place = work / "built"
    child = os.fork()
    if child == 0:
        try:
            place.write_text(json.dumps(repositories.build(case, work)), encoding="utf-8")
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    failed = os.waitpid(child, 0)[1] != 0
    return None if failed else Built(*json.loads(place.read_text(encoding="utf-8")))


def _run(command: Sequence[str], folder: Path, printed: Path, cpu_s: float) -> Run:
    """Run a program, at most a little longer than it may take."""
    began = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))}
    with printed.open("wb") as stream:
        process = subprocess.Popen(
            ["nice", *command], cwd=folder, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**environment, **GIT}, start_new_session=True,
        )  # fmt: skip
        stop = began + WALL_PER_CPU * cpu_s
        while True:
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > stop:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    shown = printed.read_bytes()[:5_000_000]
    return Run(
        process.returncode, time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, shown
    )


# ---- the outcome


def _judge(case: Case | Change, run: Run, report: outputs.Found | None) -> str:
    """Return what became of a case in the words of the expectations."""
    if run.code < 0:
        return STOPPED
    if run.code == MISUSED:
        return "refused"
    if run.code == BROKEN or report is None:
        return "broken"
    failing = [finding for finding in report.findings if finding.is_failing]
    if run.code == FOUND:
        right = [finding for finding in failing if finding.rule not in UNREAD_RULES and case.rule in ("", finding.rule)]
        if right:
            return "checked"
        return "not checked" if any(finding.rule in UNREAD_RULES for finding in failing) else "another finding"
    if report.findings:
        return "noted"
    return "counted" if report.skipped or report.hints else "clean"


def _compare(case: Case | Change, verdict: str) -> Iterator[str]:
    accepted = {
        "ends": {"checked", "not checked", "another finding", "noted", "counted", "clean", "refused"},
        "noted": {"noted", "checked", "another finding", "not checked"},
        "clean": {"clean", "counted", "noted"},
    }
    if verdict not in accepted.get(case.expected, set(case.expected.split("|"))):
        yield f"expected {case.expected}{f' ({case.rule})' if case.rule else ''}, but it is {verdict}"


def _find_faults(case: Case | Change, run: Run, report: outputs.Found | None, cpu_s: float) -> Iterator[str]:
    """Yield what no run may do, whatever its verdict."""
    if run.cpu_s > cpu_s:
        yield f"it takes {run.cpu_s:.1f} CPU seconds"
    if run.memory_mib > MEMORY_MIB:
        yield f"it takes {run.memory_mib:.0f} MiB"
    if b"Traceback (most recent call last)" in run.printed:
        yield "it prints a traceback"
    if report is not None and report.invalid:
        yield f"its JSON is invalid: {report.invalid}"
    for words in case.absent:
        if words.encode() in run.printed:
            yield f"it prints {words!r}"


def _find_escapes(work: Path, run: Run, report: Path, log: Path) -> Iterator[str]:
    """Yield what the run read, executed or wrote beyond its checkout."""
    written = report.read_bytes() if report.is_file() else b""
    if OUTSIDE.encode() + b"-content" in run.printed + written:
        yield "it prints a file outside the checkout"
    if any(work.rglob(EXECUTED)):
        yield "it executes a command of the checkout"
    if log.is_file():
        noted = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line]
        yield from (f"it does: {line[:160]}" for line in noted[:3])
    elif run.code >= 0:
        yield "the audit hook wrote nothing"


# ---- other programs


def _run_peers(programs: Path, inputs: Sequence[Case], sample: int) -> None:
    """Print time, memory and exit codes of other programs on the same inputs."""
    named = [case for case in inputs if not case.words and case.way != "links"]
    for name, chosen, words in (
        ("yamllint", [case for case in named if _has_yaml(case)], ()),
        ("checkov", named, ("--compact", "--quiet", "--skip-download", "-f")),
    ):
        step = max(1, len(chosen) // sample)
        runs = [_run_peer([str(programs / name), *words], case) for case in chosen[::step][:sample]]
        _print_runs(name, [run for run in runs if run is not None])


def _has_yaml(case: Case) -> bool:
    return "yaml" in case.name or case.way not in ("shell", "shell spelling", "escapes")


def _run_peer(command: Sequence[str], case: Case) -> Run | None:
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        work = Path(name)
        built = _build(case, work)
        if built is None:
            return None
        return _run([*command, *built.words[1:]], work / "checkout", work / "printed", CPU_S_PER_FILE)


# ---- what is printed


def _print(results: Sequence[Result]) -> None:
    for group, kind in ((Case, "inputs"), (Change, "pull requests")):
        mine = [result for result in results if isinstance(result.case, group)]
        if mine:
            print(f"\n{len(mine)} hostile {kind}")
            _print_group(mine)
    missed = [result for result in results if result.misses]
    print(f"\n{len(missed)} of {len(results)} miss what must follow")
    for result in missed:
        kind = "change" if isinstance(result.case, Change) else "input"
        print(f"  {kind} {result.case.name} ({result.case.way}): {'; '.join(result.misses)}")


def _print_group(results: Sequence[Result]) -> None:
    by_way: dict[str, list[Result]] = collections.defaultdict(list)
    for result in results:
        by_way[result.case.way].append(result)
    for way, mine in by_way.items():
        verdicts = collections.Counter(result.verdict for result in mine)
        shown = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
        missed = sum(bool(result.misses) for result in mine)
        print(f"  {way:26} n={len(mine):<4} missed {missed:<4} {shown}")
    _print_runs("  gpulint", [result.run for result in results])


def _print_runs(name: str, runs: Sequence[Run]) -> None:
    if not runs:
        return
    codes = collections.Counter(run.code for run in runs)
    print(
        f"{name}: n={len(runs)}, median {statistics.median(run.wall_s for run in runs):.2f} s; "
        f"worst {max(run.wall_s for run in runs):.1f} s, {max(run.cpu_s for run in runs):.1f} CPU s, "
        f"{max(run.memory_mib for run in runs):.0f} MiB; "
        f"exit codes {', '.join(f'{code}: {count}' for code, count in sorted(codes.items()))}"
    )


def _describe(result: Result) -> dict[str, object]:
    case, run = result.case, result.run
    return {
        "name": case.name,
        "kind": "change" if isinstance(case, Change) else "input",
        "way": case.way,
        "expected": case.expected,
        "verdict": result.verdict,
        "exit_code": run.code,
        "wall_s": round(run.wall_s, 3),
        "cpu_s": round(run.cpu_s, 3),
        "memory_mib": round(run.memory_mib, 1),
        "misses": list(result.misses),
    }


if __name__ == "__main__":
    main()
