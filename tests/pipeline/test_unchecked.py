"""Unchecked files: in the gate, a file that was not checked fails the run, and every report counts it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import commits
import pytest
from click.testing import CliRunner, Result
from gate_sides import EXCEEDS, RIGHT, WRONG, put

import gpulint
from gpulint.cli import main
from gpulint.report.model import Report

RULE = "file-not-checked"
LIMIT = "input-limit"
HELM = "apiVersion: v1\nkind: Pod\nspec:\n{{ range .Values.gpus }}\n  a: nvidia.com/gpu\n"
DEFINITION = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gpus.nvidia.com}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one right file, which is the current folder."""
    root = commits.started(tmp_path / "repository")
    put(root, {"a.yaml": RIGHT})
    commits.committed(root)
    monkeypatch.chdir(root)
    return root


def failing(report: Report) -> dict[str, str]:
    """The failing rule of each path."""
    return {finding.location.path: finding.rule for finding in report.failing}


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def write(root: Path, name: str, content: str | bytes) -> None:
    (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())


HIDDEN: dict[str, tuple[str | bytes, str]] = {
    "shebang.yaml": (f"#!x\n{WRONG}", EXCEEDS),
    "message.yaml": (f"MIME-Version: '1.0'\n{WRONG}", EXCEEDS),
    "large.yaml": (f"{WRONG}# {'x' * 5_000_000}\n", RULE),
    "nul.yaml": (WRONG.replace("\n", "\n\0", 1), RULE),
    "utf16.yaml": (WRONG.encode("utf-16-le"), RULE),
    "utf32.yaml": (WRONG.encode("utf-32"), RULE),
    "python.sh": ("#!/usr/bin/python3\ntorchrun --nproc-per-node 8 train.py\n", RULE),
    "deploy.txt": (WRONG, EXCEEDS),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_spec_in_a_new_file_does_not_pass_the_gate(repository: Path, name: str) -> None:
    content, rule = HIDDEN[name]
    write(repository, name, content)
    assert failing(gpulint.check([name])) == {name: rule}
    commits.committed(repository)
    assert failing(gpulint.check(".", gpulint.Options(base="HEAD~1"))) == {name: rule}


HARMLESS: dict[str, str | bytes] = {
    "chart.yaml": HELM,
    "definition.yaml": DEFINITION,
    "large.json": b'{"question": "Which gpu has the most memory?", "b": "' + b"x" * 5_000_000 + b'"}',
    "large.yaml": b"a: " + b"x" * 5_000_000,
    "notes.txt": "apply this: apiVersion: v1, nvidia.com/gpu: 1\n",
    "old.yaml.bak": WRONG,
    "broken.json": '{"name": "the gpu page", }}',
    "user-data.yaml": "MIME-Version: 1.0\n\n--B\nnvidia: a: b\n",
    "binary.sub": b"\0\1\2\3",
    "program": b"\x7fELF\0\0 libcuda.so nvidia",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_known_or_unrelated_file_does_not_fail_the_gate(repository: Path, name: str) -> None:
    write(repository, name, HARMLESS[name])
    commits.committed(repository)
    assert failing(gpulint.check(".", gpulint.Options(base="HEAD~1"))) == {}


@pytest.mark.parametrize("name", ["chart.yaml", "definition.yaml"])
def test_a_known_file_is_counted_and_fails_where_the_user_asks_for_it(repository: Path, name: str) -> None:
    write(repository, name, HARMLESS[name])
    report = gpulint.check(".")
    assert [skip.path for skip in report.skipped] == [name]
    assert failing(report) == {}
    assert failing(gpulint.check(".", gpulint.Options(fail_on_unread=True))) == {name: RULE}


def test_an_unread_file_that_did_not_change_does_not_fail_the_gate(repository: Path) -> None:
    write(repository, "nul.yaml", "nvidia.com/gpu: \0")
    commits.committed(repository)
    write(repository, "b.yaml", RIGHT)
    commits.committed(repository)
    assert failing(gpulint.check(".", gpulint.Options(base="HEAD~1"))) == {}
    assert failing(gpulint.check(".", gpulint.Options(changed=True))) == {}
    assert [skip.path for skip in gpulint.check(".").skipped] == ["nul.yaml"]


@pytest.mark.parametrize("change", [lambda path: path.write_bytes(b"nvidia.com/gpu: \0\n"), lambda path: path.unlink()])
def test_only_the_changed_files_of_the_work_tree_must_be_read(
    repository: Path, change: Callable[[Path], object]
) -> None:
    write(repository, "nul.yaml", "nvidia.com/gpu: \0")
    commits.committed(repository)
    change(repository / "nul.yaml")
    expected = {"nul.yaml": RULE} if (repository / "nul.yaml").exists() else {}
    assert failing(gpulint.check(".", gpulint.Options(changed=True))) == expected


def test_a_patch_is_counted_and_does_not_fail_the_gate(repository: Path) -> None:
    write(repository, "kustomization.yaml", "resources: [a.yaml]\npatches: [{path: patch.yaml}]\n")
    write(repository, "patch.yaml", WRONG)
    commits.committed(repository)
    report = gpulint.check(".", gpulint.Options(base="HEAD~1"))
    assert [(skip.path, skip.cause) for skip in report.skipped] == [("patch.yaml", "patch")]
    assert failing(report) == {}


def test_a_name_that_makes_a_file_deployable_makes_its_findings_new(repository: Path) -> None:
    write(repository, "pod.txt", WRONG)
    commits.committed(repository)
    (repository / "pod.txt").rename(repository / "pod.yaml")
    commits.committed(repository)
    assert failing(gpulint.check(".", gpulint.Options(base="HEAD~1"))) == {"pod.yaml": EXCEEDS}


def test_an_excluded_file_is_counted_and_never_fails(repository: Path) -> None:
    write(repository, "b.yaml", WRONG)
    write(repository, "gpulint.yaml", "exclude: [b.yaml]\n")
    report = gpulint.check(".", gpulint.Options(fail_on_unread=True))
    assert [(skip.path, skip.cause) for skip in report.skipped] == [("b.yaml", "excluded")]
    assert failing(report) == {}


def test_a_link_out_of_the_repository_fails_where_it_is_named(repository: Path) -> None:
    os.symlink("../elsewhere.yaml", repository / "link.yaml")
    assert failing(gpulint.check(["link.yaml"])) == {"link.yaml": RULE}


def test_selected_rules_do_not_hide_a_file_that_cannot_be_parsed(repository: Path) -> None:
    write(repository, "b.yaml", "nvidia.com/gpu: {a}b\n")
    assert failing(gpulint.check(["b.yaml"], gpulint.Options(select=("memory",)))) == {"b.yaml": RULE}
    write(repository, "gpulint.yaml", "select: [memory]\n")
    assert failing(gpulint.check(["b.yaml"])) == {"b.yaml": RULE}
    assert failing(gpulint.check(["b.yaml"], gpulint.Options(ignore=(RULE,)))) == {}


def test_a_file_whose_problem_is_reported_is_reported_once(repository: Path) -> None:
    write(repository, "b.yaml", "nvidia.com/gpu: {a}b\n")
    assert failing(gpulint.check(["b.yaml"])) == {"b.yaml": "invalid-syntax"}


def test_a_baseline_keeps_the_entries_of_a_file_that_cannot_be_read(repository: Path) -> None:
    write(repository, "b.yaml", WRONG)
    assert run("baseline").exit_code == 0
    before = (repository / ".gpulint-baseline.json").read_bytes()
    for content in (f"{WRONG}\0", f"{WRONG}{'#' * 5_000_000}", f"{WRONG}a: {{b}}c\n"):
        write(repository, "b.yaml", content)
        run("baseline", "--prune")
        assert (repository / ".gpulint-baseline.json").read_bytes() == before


@pytest.mark.parametrize("text", ["tensor-parallel-size: 8\n", "serving: {vllm: {max_num_seqs: 8}}\n", "gpus: 4\n"])
def test_a_file_of_gpu_settings_that_no_format_claims_is_counted(repository: Path, text: str) -> None:
    write(repository, "args.yaml", text)
    (skip,) = gpulint.check(["args.yaml"]).skipped
    assert (skip.path, skip.cause) == ("args.yaml", "settings")
    assert "nothing here concerns GPUs" not in run("check", "args.yaml").stderr


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("gpulint.yaml", "hints: [{path: '*', accelerator: l4}]\n"),
        ("gpulint.yaml", "accelerator: l4\n"),
        ("pyproject.toml", '[tool.gpulint]\naccelerator = "l4"\n'),
    ],
)
def test_settings_of_gpulint_are_not_counted(repository: Path, path: str, text: str) -> None:
    write(repository, path, text)
    assert gpulint.check([path]).skipped == ()


def test_settings_of_another_tool_beside_them_are_counted(repository: Path) -> None:
    write(repository, "pyproject.toml", '[tool.gpulint]\naccelerator = "l4"\n[tool.other]\ngpus = 4\n')
    assert [skip.cause for skip in gpulint.check(["pyproject.toml"]).skipped] == ["settings"]


@pytest.mark.parametrize(
    "text", ["name: the gpu page\n", "- nvidia\n", "apiVersion: v1\nkind: ConfigMap\ndata: {gpu: a}\n"]
)
def test_a_file_without_gpu_settings_is_not_counted(repository: Path, text: str) -> None:
    write(repository, "page.yaml", text)
    assert gpulint.check(["page.yaml"]).skipped == ()


def test_nothing_concerns_gpus_is_said_only_if_it_is_true(repository: Path) -> None:
    write(repository, "a.yaml", "name: web\n")
    assert "nothing here concerns GPUs" in run("check", "a.yaml").stderr
    write(repository, "b.yaml", HELM)
    assert "nothing here concerns GPUs" not in run("check", "b.yaml").stderr
    assert "no GPU workload was found in the files that were checked" in run("check", "b.yaml").stderr


def test_a_file_that_base_could_not_read_either_does_not_pass(repository: Path) -> None:
    write(repository, "b.yaml", f"{WRONG}\0")
    commits.committed(repository)
    write(repository, "b.yaml", f"# edited\n{WRONG}\0")
    commits.committed(repository)
    assert failing(gpulint.check(".", gpulint.Options(base="HEAD~1"))) == {"b.yaml": RULE}


def test_a_json_patch_is_counted(repository: Path) -> None:
    write(
        repository,
        "patch.yaml",
        "- op: replace\n  path: /spec/containers/0/resources/limits/nvidia.com~1gpu\n  value: 8\n",
    )
    assert [(skip.path, skip.cause) for skip in gpulint.check(["patch.yaml"]).skipped] == [("patch.yaml", "patch")]


def test_a_new_link_to_a_folder_outside_fails_the_gate(repository: Path) -> None:
    os.symlink("../elsewhere", repository / "overlays")
    commits.committed(repository)
    assert failing(gpulint.check(".", gpulint.Options(base="HEAD~1"))) == {"overlays": RULE}


def test_a_file_too_deep_in_folders_fails_the_gate(repository: Path) -> None:
    folder = repository.joinpath(*["d"] * 120)
    folder.mkdir(parents=True)
    write(folder, "b.yaml", WRONG)
    commits.committed(repository)
    (rule,) = failing(gpulint.check(".", gpulint.Options(base="HEAD~1"))).values()
    assert rule == RULE


def test_no_change_in_gpus_is_not_said_of_a_file_that_was_not_checked(repository: Path) -> None:
    write(repository, "args.yaml", "tensor-parallel-size: 4\n")
    commits.committed(repository)
    write(repository, "args.yaml", "tensor-parallel-size: 8\n")
    commits.committed(repository)
    assert (
        "change from HEAD~1: in the files that were checked: no change in GPUs, cost or power; 1 changed file not checked"
        in (run("check", "--base", "HEAD~1").stdout)
    )


def test_a_path_that_is_too_long_is_a_usage_error(repository: Path) -> None:
    result = run("check", "a" * 5_000)
    assert (result.exit_code, "file name too long" in result.stderr) == (2, True)
