"""Faults of the system: a sample of the calls of four commands fails, and each run says that it did not do its work."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from folders import ROOT

pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the shim finds the path of a descriptor in /proc"),
]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "bench/faults.py", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_no_run_that_did_not_do_its_work_ends_with_success() -> None:
    done = run("--commands", "check,check-base,fix,baseline-prune", "--every", "6")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout


@pytest.mark.parametrize(
    ("command", "at", "code"),
    [
        ("check-json", "read:1:none", "exit 0"),
        ("check-json", "open:6:EIO", "exit 3"),
        ("check", "list:2:EACCES", "exit 2"),
        ("check-base", "git:1:missing", "exit 2"),
        ("check-base", "git:4:killed", "exit 2"),
        ("fix", "rename:1:EIO", "exit 2"),
        ("fix", "write:1:ENOSPC", "exit 2"),
        ("baseline-prune", "fsync:1:ENOSPC", "exit 2"),
    ],
)
def test_a_call_that_fails_ends_the_run_with_its_exit_code(command: str, at: str, code: str) -> None:
    assert f" {at}: {code}: passes" in run("--commands", command, "--at", at, "--verbose").stdout
