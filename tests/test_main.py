"""The program: a fault is 3, an interruption 130, lost output 2, and none of them prints a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import RIGHT, WRONG

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and /dev/full")
PROGRAM = (sys.executable, "-m", "gpulint")
PATCHED = """
import sys
from gpulint import __main__ as program
{patch}
program.run()
"""


def ran(words: Sequence[str], folder: Path, shell: str = "", patch: str = "") -> subprocess.CompletedProcess[str]:
    """Run gpulint in a folder; `shell` is a redirection, `patch` replaces a part of gpulint first."""
    command = (sys.executable, "-c", PATCHED.format(patch=patch)) if patch else PROGRAM
    command = (*command, *words)
    if shell:
        command = ("bash", "-c", f'"$@" {shell}', "bash", *command)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "right.yaml").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text(WRONG, encoding="utf-8")
    return tmp_path


# ---- a run that did its work


@pytest.mark.parametrize(
    ("words", "code"), [(["check", "right.yaml"], 0), (["check", "wrong.yaml"], 1), (["check", "absent.yaml"], 2)]
)
def test_the_exit_code_of_a_command_is_that_of_the_program(folder: Path, words: list[str], code: int) -> None:
    assert ran(words, folder).returncode == code


def test_closed_messages_fail_nothing(folder: Path) -> None:
    done = ran(["check", "right.yaml"], folder, "2>&-")
    assert (done.returncode, done.stdout.count("1 file, 1 workload, no findings\n")) == (0, 1)


def test_a_report_in_a_file_needs_no_stdout(folder: Path) -> None:
    done = ran(["check", "--output", "json:report.json", "right.yaml"], folder, ">&-")
    assert done.returncode == 0
    assert (folder / "report.json").read_text(encoding="utf-8").startswith("{")


# ---- output that nobody receives


@pytest.mark.parametrize(
    "words",
    [
        ["check", "right.yaml"],
        ["check", "--format", "json", "right.yaml"],
        ["check", "--diff", "--unsafe", "wrong.yaml"],
        ["--help"],
        ["--version"],
        ["rules"],
        ["facts"],
        ["size", "right.yaml"],
        ["catalog", "accelerators"],
        ["explain", "weights-exceed-memory"],
        ["policy", "show"],
        ["rule", "test", "--help"],
    ],
)
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_two_and_says_so(folder: Path, words: list[str], where: str) -> None:
    done = ran(words, folder, where)
    assert done.returncode == 2, done.stderr
    reason = "no space left on device" if "full" in where else "bad file descriptor"
    assert done.stderr.endswith(f"gpulint: stdout could not be written: {reason}\n")
    assert "Traceback" not in done.stderr


def test_a_pipe_that_nobody_reads_is_no_success(folder: Path) -> None:
    done = ran(["rules"], folder, "| (exec 0<&-; sleep 1); exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (2, "")


def test_messages_that_cannot_be_written_are_no_success(folder: Path) -> None:
    (folder / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    done = ran(["check", "other.yaml"], folder, "2>/dev/full")
    assert done.returncode == 2


def test_a_closed_stdin_is_no_empty_file(folder: Path) -> None:
    done = ran(["check", "-"], folder, "<&-")
    assert done.returncode == 3
    assert done.stderr == "gpulint: the run could not finish: bad file descriptor\n"


# ---- faults


def test_a_fault_of_gpulint_is_three_and_one_line(folder: Path) -> None:
    patch = "import gpulint.cli.commands.rules as module; module.command.callback = lambda **words: 1 // 0"
    done = ran(["rules"], folder, patch=patch)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("gpulint: internal error")
    assert "ZeroDivisionError: integer division or modulo by zero; report this line " in done.stderr


def test_a_fault_while_gpulint_is_imported_is_three(folder: Path) -> None:
    done = ran(["rules"], folder, patch="sys.modules['click'] = None")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1


def test_a_file_that_the_system_refuses_is_three_and_named(folder: Path) -> None:
    patch = (
        "import gpulint.cli.commands.rules as module\n"
        "def refuse(**words): raise PermissionError(13, 'Permission denied', 'place\\n.yaml')\n"
        "module.command.callback = refuse"
    )
    done = ran(["rules"], folder, patch=patch)
    assert done.returncode == 3
    assert done.stderr == "gpulint: the run could not finish: place .yaml: permission denied\n"


# ---- interruptions


@pytest.mark.parametrize(
    "patch",
    [
        "import gpulint.cli.commands.rules as module; module.command.callback = lambda **words: stop()",
        "class Importing(dict):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': stop()\n"
        "sys.meta_path.insert(0, Importing())",
        "import gpulint.cli.commands.rules as module\n"
        "def swallow(**words):\n"
        "    try: stop()\n"
        "    except BaseException: pass\n"
        "module.command.callback = swallow",
    ],
    ids=["in a command", "during an import", "where it is swallowed"],
)
def test_an_interruption_is_130_without_a_traceback(folder: Path, patch: str) -> None:
    stop = "import os, signal\nstop = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
    done = ran(["rules"], folder, patch=stop + patch)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr


def test_an_interruption_that_the_caller_ignores_stays_ignored(folder: Path) -> None:
    patch = (
        "import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import gpulint.cli.commands.rules as module\n"
        "module.command.callback = lambda **words: os.kill(os.getpid(), signal.SIGINT)"
    )
    assert ran(["rules"], folder, patch=patch).returncode == 0
