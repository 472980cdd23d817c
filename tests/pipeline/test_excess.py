"""A file that exceeds a limit of gpulint is not checked, and the gate says which limit it is."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import gpulint
from gpulint.report.model import Report
from gpulint.source import excess

SERVE = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8"
HEAD = "#!/bin/bash\n#SBATCH --gres=gpu:h100:8\n"


def pod(script: str) -> str:
    """A pod that runs a script."""
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\nspec:\n  containers:\n    - name: server\n"
    head += "      image: vllm/vllm-openai:v0.11.0\n"
    limits = "      resources: {limits: {nvidia.com/gpu: 1}}\n"
    return f"{head}{limits}      command: [bash, -c]\n      args:\n        - |\n{textwrap.indent(script, ' ' * 10)}\n"


def nest(levels: int) -> str:
    """Functions that call one another, the last of which starts a server."""
    calls = "".join(f"f{at}() {{ f{at + 1}; }}\n" for at in range(levels))
    return f"{calls}f{levels}() {{ {SERVE}; }}\nf0\n"


def quote(levels: int) -> str:
    """A command within scripts within scripts."""
    return SERVE if not levels else f"bash <<'E{levels}'\n{quote(levels - 1)}\nE{levels}"


def assign(names: int) -> str:
    """A script that sets so many variables."""
    return "".join(f"v{at}=1\n" for at in range(names)) + SERVE


ROLES = "".join(f"srun --gres=gpu:8 torchrun --nproc-per-node 8 train{at}.py\n" for at in range(101))
DEEP_LIST = " && ".join(["true"] * 120) + f" && {SERVE}\n"
CALLS = f"f() {{ x $1; }}\nfor a in 1; do\n{'f 1' + chr(10)}done\n" + "f 1\n" * 2_001 + SERVE
LONG_TEXT = f'M="{"x" * 4_100}"\nvllm serve "${{M%y}}" --tensor-parallel-size 8\n'
DEEP_KEYS = "".join(f"{' ' * at}a:\n" for at in range(1, 26))

OVER: dict[str, tuple[str, str]] = {
    "calls.sh": (HEAD + CALLS, "a script calls its functions more than 2,000 times"),
    "nested.sh": (HEAD + nest(17), "functions of a script call one another more than 16 deep"),
    "list.sh": (HEAD + DEEP_LIST, "a script nests statements deeper than 100 levels"),
    "text.sh": (HEAD + LONG_TEXT, "a script changes a text of more than 4,096 characters"),
    "within.sh": (HEAD + quote(5), "scripts within a script nest deeper than 4 levels"),
    "roles.sh": (HEAD + ROLES, "a script starts more than 100 programs on GPUs"),
    "calls.yaml": (pod(CALLS), "a script calls its functions more than 2,000 times"),
    "nested.yaml": (pod(nest(17)), "functions of a script call one another more than 16 deep"),
    "list.yaml": (pod(DEEP_LIST), "a script nests statements deeper than 100 levels"),
    "text.yaml": (pod(LONG_TEXT), "a script changes a text of more than 4,096 characters"),
    "names.yaml": (pod(assign(2_001)), "a script sets more than 2,000 variables"),
    "large.yaml": (pod(f"# {'x' * 256_000}\n{SERVE}"), "a script has more than 256,000 characters"),
    "values.yaml": (
        f"vllm:\n{DEEP_KEYS}{' ' * 26}resources: {{limits: {{nvidia.com/gpu: 8}}}}\n",
        "values nest deeper than 24 levels",
    ),
}


def list_unchecked(report: Report) -> list[tuple[str, str]]:
    """The path and the message of each finding about a file that was not checked."""
    return [
        (finding.location.path, finding.message) for finding in report.failing if finding.rule == "file-not-checked"
    ]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", OVER)
def test_a_file_over_a_limit_fails_where_it_is_named(name: str) -> None:
    content, reason = OVER[name]
    Path(name).write_text(content)
    report = gpulint.check([name])
    advice = "Split the file, or exclude it in gpulint.yaml if it deploys nothing."
    assert list_unchecked(report) == [(name, f"this file was not checked: {reason}. {advice}")]
    assert [(skip.path, skip.reason, skip.cause) for skip in gpulint.check(".").skipped] == [(name, reason, "limit")]


WITHIN: dict[str, str] = {
    "calls.sh": HEAD + CALLS.replace("f 1\n" * 2_001, "f 1\n" * 1_900),
    "nested.sh": HEAD + nest(15),
    "list.sh": HEAD + DEEP_LIST.replace("true && " * 40, ""),
    "recursive.sh": f"{HEAD}f() {{ f; }}\nf\n{SERVE}\n",
    "text.sh": HEAD + LONG_TEXT.replace("x" * 100, ""),
    "within.sh": HEAD + quote(4),
    "roles.sh": HEAD + ROLES.partition("\n")[2],
    "large.yaml": pod(f"# {'x' * 200_000}\n{SERVE}"),
    "names.yaml": pod(assign(1_900)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_a_file_within_the_limits_is_checked(name: str) -> None:
    Path(name).write_text(WITHIN[name])
    report = gpulint.check([name])
    assert list_unchecked(report) == []
    assert report.skipped == ()


def test_a_sourced_file_over_a_limit_fails_the_script_that_sources_it() -> None:
    Path("run.sh").write_text(f"{HEAD}source ./lib.sh\n{SERVE}\n")
    Path("lib.sh").write_text(f"A=1 # {'x' * 256_000}\n")
    report = gpulint.check(["run.sh"])
    assert [message.partition(". ")[0] for _, message in list_unchecked(report)] == [
        "this file was not checked: a script has more than 256,000 characters"
    ]


def test_a_large_file_that_a_script_only_tests_for_exceeds_nothing() -> None:
    Path("run.sh").write_text(f"{HEAD}if [ -f ./data.bin ]; then\n{SERVE}\nfi\n")
    Path("data.bin").write_text("x" * 300_000)
    report = gpulint.check(["run.sh"])
    assert report.skipped == ()
    assert [workload.name for workload in report.workloads] == ["run"]


def test_terraform_whose_values_take_too_many_steps_fails() -> None:
    levels = 10
    values = "".join(f'  v{at} = "{f"${{local.v{at + 1}}}" * 3}"\n' for at in range(levels))
    pool = 'resource "google_container_node_pool" "p" {\n  node_config {\n    machine_type = local.v0\n'
    pool += "    guest_accelerator {\n      type = local.v0\n      count = 1\n    }\n  }\n}\n"
    text = f'locals {{\n{values}  v{levels} = ""\n}}\n{pool}'
    Path("main.tf").write_text(text)
    report = gpulint.check(["main.tf"])
    assert [message.partition(". ")[0] for _, message in list_unchecked(report)] == [
        "this file was not checked: a Terraform value takes more than 10,000 steps to resolve"
    ]


def test_the_same_file_is_told_again_in_the_same_process() -> None:
    Path("main.sh").write_text(HEAD + CALLS)
    assert gpulint.check(["main.sh"]) == gpulint.check(["main.sh"])


def test_what_one_block_collects_another_does_not() -> None:
    with excess.collect() as outer:
        assert excess.is_over(3, 2, "more than {} lines")
        with excess.collect() as inner:
            assert not excess.is_over(2, 2, "more than {} words")
            excess.note("")
    assert [entry.reason for entry in outer] == ["more than 2 lines"]
    assert inner == {}
    assert excess.is_over(3, 2, "more than {} lines")


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
    - name: server
      image: registry.example/llm:1
      command: [python, PROGRAM]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
LOOPS = "for a in [1, 2, 3, 4, 5, 6, 7, 8]:\n"
PROGRAMS = {
    "long.py": (
        f"from vllm import LLM\nLLM('a/b')\n{'a = 1' + chr(10)}" * 9_000,
        "a Python file has more than 256,000 characters",
    ),
    "large.py": ("from vllm import LLM\nLLM('a/b')\n#" + "x" * 5_000_000, "a program has more than 5,000,000 bytes"),
    "large.ipynb": ('{"cells": [' + " " * 5_000_000 + "]}", "a program has more than 5,000,000 bytes"),
    "steps.py": (
        "from vllm import LLM\n" + "".join(" " * at + LOOPS for at in range(9)) + " " * 9 + "b = 1\nLLM('a/b')",
        "a Python program takes more than 60,000 steps to evaluate",
    ),
    "deep.py": ("from vllm import LLM\nx = " + "-" * 50_000 + "1", "a Python file is nested too deep to be parsed"),
    "old.py": ("from vllm import LLM\nprint 'a'\n", "a Python file that does not parse as Python 3"),
    "broken.ipynb": ('{"cells": [', "a notebook that cannot be read: "),
    "binary.py": ("from vllm import LLM\0", "a program that gpulint does not read"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_over_a_limit_is_reported_for_the_manifest_that_starts_it(name: str) -> None:
    content, reason = PROGRAMS[name]
    Path(".git").mkdir()
    Path(name).write_text(content)
    Path("pod.yaml").write_text(POD.replace("PROGRAM", name))
    Path("second.yaml").write_text(POD.replace("PROGRAM", name).replace("llm", "second"))
    for paths in (["pod.yaml"], ["pod.yaml", "second.yaml"]):
        report = gpulint.check(paths)
        assert list_unchecked(report) == []
        (skip,) = report.skipped
        assert (skip.path, skip.cause) == (name, "language")
        assert skip.reason.startswith(reason)
