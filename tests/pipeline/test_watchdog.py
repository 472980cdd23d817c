"""The watchdog ends a check that takes too long, and says so."""

from __future__ import annotations

import itertools
import signal
import threading
from pathlib import Path

import pytest

import gpulint
from gpulint.pipeline import evaluate
from gpulint.pipeline.watchdog import OutOfTime, Watchdog
from gpulint.report.model import Report

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
