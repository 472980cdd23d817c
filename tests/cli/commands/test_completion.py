"""Completion: what a shell is told, through the script that it is given and the entry that the script calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("gpulint")
BASH = shutil.which("bash")


def script(shell: str) -> str:
    done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True, check=True)
    return done.stdout


def completed(*words: str) -> list[str]:
    """What bash offers for the last of these words, once it has read the script."""
    assert BASH
    listed = " ".join(f"'{word}'" for word in words)
    asked = f"{script('bash')}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}\n"
    asked += (
        'compopt() { printf "compopt %s %s\\n" "$@"; }\n_gpulint_completion gpulint\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [BASH, "--norc", "-c", asked], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def told(shell: str, *words: str) -> list[str]:
    """The lines that the entry prints for a shell whose cursor stands in the last of these words."""
    last = words[-1] if shell == "fish" else str(len(words) - 1)
    asked = {"_GPULINT_COMPLETE": f"{shell}_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": last}
    done = subprocess.run([PROGRAM], capture_output=True, text=True, check=True, env={**os.environ, **asked})
    return done.stdout.splitlines()


needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")


@needs_bash
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("gpulint", "expl"), ["explain"]),
        (("gpulint", "check", "--exit"), ["--exit-zero"]),
        (("gpulint", "check", "--fail-on", ""), ["error", "warning", "note"]),
        (("gpulint", "check", "--select", "weights-exceed-m"), ["weights-exceed-memory"]),
        (("gpulint", "check", "--ignore", "oversi"), ["oversizing"]),
        (("gpulint", "check", "--ignore", "oversizing,weights-exceed-m"), ["oversizing,weights-exceed-memory"]),
        (("gpulint", "check", "--accelerator", "h100-sxm-8"), ["h100-sxm-80gb"]),
        (("gpulint", "suggest", "--accelerator", "gh200"), ["gh200-144gb", "gh200-96gb"]),
        (("gpulint", "explain", "weight_bytes_per"), ["weight_bytes_per_gpu"]),
        (
            ("gpulint", "size", "Qwen/Qwen2.5-72B-Instruct-G"),
            ["Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8"],
        ),
        (("gpulint", "size", "Qwen/Qwen3-8B", "--engine", "sg"), ["sglang"]),
        (("gpulint", "catalog", "accelerators", "h100-p"), ["h100-pcie-80gb"]),
        (("gpulint", "catalog", "prices", "p5e.4"), ["p5e.48xlarge"]),
        (("gpulint", "completion", "z"), ["zsh"]),
        (("gpulint", "check", "--output", "sari"), ["sarif"]),
        (("gpulint", "facts", "weight_bytes_per"), ["weight_bytes_per_gpu"]),
        (("gpulint", "rule", "ne"), ["new"]),
        (("gpulint", "policy", "packs", "fino"), ["finops"]),
        (("gpulint", "rule", "new", "x", "--family", "oversi"), ["oversizing"]),
        (("gpulint", "rule", "test", "--select", "weights-exceed-m"), ["weights-exceed-memory"]),
    ],
    ids=" ".join,
)
def test_bash_completes_what_the_program_knows(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@needs_bash
@pytest.mark.parametrize(
    "words",
    [
        ("check", "dep"),
        ("check", "--rules", ""),
        ("rule", "test", "po"),
        ("facts", "--of", ""),
        ("suggest", "x"),
        ("size", "./chat"),
    ],
)
def test_where_a_path_belongs_bash_completes_files_itself(words: tuple[str, ...]) -> None:
    assert completed("gpulint", *words) == ["compopt -o default", ""]


@needs_bash
@pytest.mark.parametrize(
    "words", [("nonsense", "x"), ("check", "--select", "zzz"), ("explain", "zzz"), ("catalog", "prices", "zzz")]
)
def test_of_what_nobody_knows_nothing_is_offered_and_nothing_is_said(words: tuple[str, ...]) -> None:
    assert completed("gpulint", *words) == [""]


def test_zsh_and_fish_are_told_the_same() -> None:
    assert told("zsh", "gpulint", "check", "--select", "weights-exceed-m") == ["plain", "weights-exceed-memory", "_"]
    assert told("fish", "gpulint", "check", "--select", "weights-exceed-m") == ["plain,weights-exceed-memory"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_one_that_its_shell_can_read(shell: str) -> None:
    shown = script(shell)
    assert "gpulint" in shown
    assert shell != "zsh" or shown.startswith("#compdef gpulint\n")
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=shown, text=True, check=True)


def test_a_shell_that_is_not_known_is_a_misuse() -> None:
    done = subprocess.run([PROGRAM, "completion", "csh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
