"""The Python API: what a program gets from gpulint without the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gpulint
from gpulint import cli
from gpulint.cli import output_files
from gpulint.report.formats import json

TOO_BIG = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=meta-llama/Llama-3.1-70B-Instruct]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""70 billion parameters of 2 bytes on a card of 24 GB."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.yaml").write_text(TOO_BIG)
    return tmp_path


def test_check_gives_the_report_on_a_folder(folder: Path) -> None:
    report = gpulint.check(folder)
    assert [(one.rule, one.severity, one.location.line) for one in report.open] == [
        ("weights-exceed-memory", gpulint.Severity.ERROR, 9)
    ]
    assert [workload.name for workload in report.workloads] == ["chat"]


def test_the_command_line_prints_the_report_that_check_gives(folder: Path) -> None:
    day = gpulint.Options(today="2026-11-22")
    printed = CliRunner().invoke(cli.main, ["check", "--today=2026-11-22", "--format=json", "chat.yaml"])
    assert printed.stdout == json.render(gpulint.check("chat.yaml", options=day))


def test_options_say_what_the_command_line_would(folder: Path) -> None:
    assert gpulint.check("chat.yaml", options=gpulint.Options(ignore=("memory",))).open == ()
    assert gpulint.check(".", options=gpulint.Options(exclude=("chat.yaml",))).files == 0


@pytest.mark.parametrize(
    ("paths", "options", "said"),
    [
        ("nowhere.yaml", {}, "there is no file or folder nowhere.yaml"),
        (".", {"select": ("memroy",)}, "no such rule or family: memroy; did you mean memory?"),
        (".", {"accelerator": "h10"}, "no accelerator is called h10; did you mean"),
        (".", {"rules": ("nowhere",)}, "nowhere: no such folder of rules"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    folder: Path, paths: str, options: Mapping[str, str], said: str
) -> None:
    with pytest.raises(gpulint.Unusable) as caught:
        gpulint.check(paths, options=gpulint.Options(**options))  # type: ignore[arg-type]
    assert str(caught.value).startswith(said)


def test_settings_that_cannot_be_used_are_refused_with_their_place(folder: Path) -> None:
    (folder / "gpulint.yaml").write_text("fail-in: note\n")
    with pytest.raises(gpulint.Unusable, match=r"gpulint\.yaml:1:1: unknown key fail-in; did you mean fail-on\?"):
        gpulint.check("chat.yaml")


def test_size_tells_the_terms_of_a_checkpoint() -> None:
    """8,190,735,360 parameters of two bytes each, as the checkpoint's own index adds them up."""
    (found,) = gpulint.size("Qwen/Qwen3-8B", {"accelerator": "l4", "max_model_len": 8192})
    terms = {term.name: term.scenarios.expected for term in found.terms}
    assert terms["weight_bytes_per_gpu"] == 16_381_470_720
    assert found.verdict in ("fits", "likely fits")


def test_size_tells_the_terms_of_a_file_and_of_one_workload_of_it(folder: Path) -> None:
    (found,) = gpulint.size(folder / "chat.yaml")
    assert (found.verdict, found.title.split(",")[0]) == ("does not fit", "chat/server")
    assert gpulint.size("chat.yaml:chat") == (found,)


def test_size_takes_the_words_of_a_role_with_units() -> None:
    words = {"checkpoint": "Qwen/Qwen3-8B", "engine": "vllm", "accelerator": "l4", "max_model_len": "8k"}
    (found,) = gpulint.size(words)
    terms = {term.name: term.scenarios.expected for term in found.terms}
    assert terms["weight_bytes_per_gpu"] == 16_381_470_720


@pytest.mark.parametrize(
    ("workload", "stated", "said"),
    [
        ("Qwen/Qwen3-8C", {}, "no checkpoint is called Qwen/Qwen3-8C; did you mean"),
        ("chat.yaml:caht", {}, "chat.yaml contains no workload named caht"),
        ({"checkpont": "Qwen/Qwen3-8B"}, {}, "unknown key checkpont; did you mean checkpoint?"),
        ("Qwen/Qwen3-8B", {"accelerator": "l44"}, "no accelerator is called l44; did you mean"),
        ("Qwen/Qwen3-8B", {"tensor_paralel": 2}, "no quantity is called tensor_paralel; did you mean tensor_parallel"),
    ],
)
def test_what_cannot_be_sized_is_refused_by_name(
    folder: Path, workload: str | Mapping[str, object], stated: Mapping[str, object], said: str
) -> None:
    with pytest.raises(gpulint.SizingError) as caught:
        gpulint.size(workload, stated)
    assert str(caught.value).startswith(said)


def test_importing_gpulint_imports_nothing_else_of_it() -> None:
    script = "import sys, gpulint; print(sorted(one for one in sys.modules if one.startswith('gpulint')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['gpulint', 'gpulint.version']"


def test_every_public_name_is_there() -> None:
    assert [name for name in gpulint.__all__ if not hasattr(gpulint, name)] == []


# ---- a policy that is named


def spoken(report: gpulint.Report) -> list[str]:
    return [finding.rule for finding in report.open]


def test_a_policy_that_is_named_stands_in_place_of_every_other(folder: Path) -> None:
    (folder / "gpulint.yaml").write_text("accelerator: a100-sxm-80gb\nignore: [memory]\n")
    (folder / "policies").mkdir()
    (folder / "policies" / "own.yaml").write_text("exclude: [chat.yaml]\n")
    (folder / "policies" / "plain.yaml").write_text("fail-on: note\n")
    assert spoken(gpulint.check(".")) == []
    assert spoken(gpulint.check(".", policy="policies/plain.yaml")) == ["weights-exceed-memory"]
    assert gpulint.check(".", policy=folder / "policies" / "own.yaml").workloads == ()


def test_a_policy_may_be_stated_instead_of_written(folder: Path) -> None:
    report = gpulint.check(".", policy={"severity": {"weights-exceed-memory": "note"}, "fail-on": "warning"})
    assert [(one.rule, one.severity) for one in report.open] == [("weights-exceed-memory", gpulint.Severity.NOTE)]
    assert report.failing == ()


def test_a_policy_outside_the_repository_is_read_where_it_is_named(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("company") / "gate.yaml"
    place.write_text("extends: [./base.yaml]\n")
    (place.parent / "base.yaml").write_text("ignore: [memory]\n")
    (folder / ".git").mkdir()
    assert spoken(gpulint.check(".", policy=place)) == []


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("nowhere.yaml", "there is no policy file nowhere.yaml"),
        ({"fail-in": "note"}, "policy.yaml:1:2: unknown key fail-in; did you mean fail-on?"),
        ({"ignore": ["memroy"]}, "policy.yaml:1:13: no such rule or family: memroy; did you mean memory?"),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused(folder: Path, policy: str | Mapping[str, object], said: str) -> None:
    with pytest.raises(gpulint.Unusable) as caught:
        gpulint.check(".", policy=policy)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"select": "memory"}, 'select is a list of names: write ("memory",)'),
        ({"today": "2026-13-01"}, "today is a day such as 2026-11-22, not 2026-13-01"),
        ({"fail_on": "warn"}, "fail_on is error, warning or note, not warn"),
    ],
)
def test_an_option_of_another_kind_is_refused_before_anything_is_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(gpulint.Unusable) as caught:
        gpulint.Options(**options)
    assert str(caught.value) == said


def test_a_format_that_there_is_not_is_refused_by_its_name(folder: Path) -> None:
    names = ", ".join(output_files.list_formats())
    with pytest.raises(output_files.OutputError, match=f"no format is called srif; the formats are {names}"):
        output_files.render(gpulint.check("."), "srif")


def test_the_command_line_names_a_policy_too(folder: Path) -> None:
    (folder / "quiet.yaml").write_text("ignore: [memory]\n")
    assert CliRunner().invoke(cli.main, ["check", "--policy", "quiet.yaml", "chat.yaml"]).exit_code == 0
    result = CliRunner().invoke(cli.main, ["check", "--policy", "loud.yaml", "chat.yaml"])
    assert (result.exit_code, result.stderr) == (2, "gpulint: there is no policy file loud.yaml\n")


def test_a_policy_with_more_lines_than_are_read_is_refused(folder: Path) -> None:
    with pytest.raises(gpulint.Unusable, match=r"^policy\.yaml:1:2: 5,001 lines exceed the limit of 5,000$"):
        gpulint.check(".", policy={"exclude": ["x"] * 5_001})
