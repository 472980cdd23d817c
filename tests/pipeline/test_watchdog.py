"""The watchdog ends a check that takes too long, and says so."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

import gpulint
from gpulint.cli import main
from gpulint.pipeline import evaluate, memory_breakdown, plan, totals
from gpulint.pipeline.watchdog import OutOfTime, Watchdog
from gpulint.report.model import Report
from gpulint.suggestions import fixes

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - {name: server, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}
"""
needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of CPU time on this platform")


def spin() -> None:
    for _ in itertools.count():
        try:
            sum(range(1_000))
        except Exception:
            raise AssertionError from None


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the check of each file named slow.yaml go on for ever."""
    check = evaluate.file
    monkeypatch.setattr(
        evaluate, "file", lambda source, *given: spin() if "slow" in source.path else check(source, *given)
    )


def run(folder: Path, **limits: float) -> Report:
    for name in ("a.yaml", "slow.yaml", "z.yaml"):
        (folder / name).write_text(POD)
    return gpulint.check(folder, gpulint.Options(**limits))


def list_unchecked(report: Report) -> list[tuple[str, str]]:
    return [
        (Path(finding.location.path).name, finding.message)
        for finding in report.failing
        if finding.rule == "file-not-checked"
    ]


@needs_timer
@pytest.mark.usefixtures("slow")
def test_a_file_that_takes_too_long_fails_and_the_others_are_checked(tmp_path: Path) -> None:
    report = run(tmp_path, file_timeout_s=0.3)
    why = "its check took more than 0.3 s of CPU time. Split the file, or allow more with --file-timeout"
    assert list_unchecked(report) == [("slow.yaml", f"this file was not checked: {why}")]
    assert [(Path(skip.path).name, skip.cause) for skip in report.skipped] == [("slow.yaml", "limit")]
    assert [Path(entry.path).name for entry in report.documents] == ["a.yaml", "z.yaml"]
    assert report.failures == ()


@needs_timer
@pytest.mark.usefixtures("slow")
def test_files_that_a_run_does_not_reach_fail(tmp_path: Path) -> None:
    report = run(tmp_path, timeout_s=1)
    why = "the run used its 1 s of CPU time. Check fewer files at once, or allow more with --timeout"
    assert list_unchecked(report)[-2:] == [
        ("slow.yaml", f"this file was not checked: {why}"),
        ("z.yaml", f"this file was not checked: {why}"),
    ]


def test_a_run_within_its_time_reports_the_same(tmp_path: Path) -> None:
    assert run(tmp_path, file_timeout_s=60, timeout_s=600) == run(tmp_path)


@needs_timer
def test_the_timer_is_off_after_a_check() -> None:
    assert Watchdog(file_s=60).watch(lambda: signal.getitimer(signal.ITIMER_PROF)[0]) > 0
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_outside_the_main_thread_the_time_is_looked_at_between_stages() -> None:
    found: list[str] = []

    def work() -> None:
        watchdog = Watchdog(file_s=0.05)

        def stage() -> None:
            sum(range(20_000_000))
            watchdog.look()

        with pytest.raises(OutOfTime) as caught:
            watchdog.watch(stage)
        found.append(str(caught.value))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["its check took more than 0.05 s of CPU time. Split the file, or allow more with --file-timeout"]


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(gpulint.Unusable, match="seconds"):
        gpulint.Options(file_timeout_s=seconds)


LARGE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.0
          args: [--model, meta-llama/Llama-3.1-70B-Instruct, --tensor-parallel-size, "1"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def stop() -> NoReturn:
    raise OutOfTime("its time is up", Watchdog())


def test_a_check_within_a_check_does_not_take_the_time_limit_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "file", lambda *given: stop())
    (tmp_path / "a.yaml").write_text(POD)
    with pytest.raises(OutOfTime):
        gpulint.check(tmp_path)


@needs_timer
def test_fixes_that_take_too_long_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(LARGE)
    monkeypatch.setattr(fixes, "apply_verified", lambda *given: spin())
    result = CliRunner().invoke(main, ["check", "--fix", "--unsafe", "--file-timeout", "2", str(path)])
    assert result.exit_code == 1
    assert "no fix of this file was written: its check took more than 2 s of CPU time" in result.output
    assert path.read_text() == LARGE


@needs_timer
def test_budgets_that_take_too_long_fail_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpulint.yaml").write_text("budgets: [{paths: ['**'], gpus: 100}]\n")
    (tmp_path / "a.yaml").write_text(POD)
    monkeypatch.setattr(totals, "check", lambda *given: spin())
    report = gpulint.check(tmp_path, gpulint.Options(file_timeout_s=1))
    why = "its check took more than 1 s of CPU time. Split the file, or allow more with --file-timeout"
    assert list_unchecked(report) == [("gpulint.yaml", f"this file was not checked: {why}")]


@needs_timer
@pytest.mark.parametrize("command", ["suggest", "size", "baseline"])
def test_a_command_that_takes_too_long_ends_with_3_and_writes_nothing(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(POD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "plan_file", lambda *given: spin())
    monkeypatch.setattr(memory_breakdown, "compute", lambda *given: spin())
    monkeypatch.setattr(evaluate, "file", lambda *given: spin())
    result = CliRunner().invoke(main, [command, "a.yaml", "--file-timeout", "0.3"])
    assert result.exit_code == 3
    assert "a.yaml: " in result.output
    assert "its check took more than 0.3 s of CPU time" in result.output
    assert os.listdir(tmp_path) == ["a.yaml"]


POINTS = 6
INTERRUPTED = """\
import os, sys
import gpulint
from gpulint.pipeline.watchdog import OutOfTime, Watchdog
from gpulint.report.formats import json

def check():
    report = gpulint.check(["a.yaml", "b.yaml"], gpulint.Options(today="2026-11-22", file_timeout_s=1000))
    return json.render(report), [finding for finding in report.findings if finding.location.path == "b.yaml"]

def interrupt(point):
    calls = 0
    def arm(watchdog, seconds):
        def count(frame, event, argument):
            nonlocal calls
            calls += event == "call"
            if calls == point:
                sys.setprofile(None)
                raise OutOfTime("its time is up", watchdog)
        sys.setprofile(count if calls < point else None)
    Watchdog._arm = arm
    Watchdog._disarm = lambda watchdog: sys.setprofile(None)
    found = check()
    Watchdog._arm = lambda watchdog, seconds: None
    return calls, found

def fork(work):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, work().encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        found = answer.read()
    os.wait()
    return found

total = int(fork(lambda: str(interrupt(10**9)[0])))
whole = fork(lambda: str(hash(check()[0])))
others = fork(lambda: str(hash(str(check()[1]))))
def again(point):
    _, (cut, other) = interrupt(point)
    return f"{'its time is up' in cut} {hash(str(other))} {hash(check()[0])}"
for number in range(POINTS):
    found = fork(lambda: again(1 + number * total // (2 * POINTS)))
    print(found == f"True {others} {whole}", found)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_check_that_was_cut_short_anywhere_leaves_nothing_half_built_behind(tmp_path: Path) -> None:
    """The first of two files is cut short at many points of a cold process: the second and a further run are as ever."""
    (tmp_path / "a.yaml").write_text(LARGE)
    (tmp_path / "b.yaml").write_text(LARGE.replace("chat", "search").replace('"1"', '"2"'))
    script = INTERRUPTED.replace("POINTS", str(POINTS))
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [line.partition(" ")[0] for line in result.stdout.splitlines()] == ["True"] * POINTS, result.stdout
