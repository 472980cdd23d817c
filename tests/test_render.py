"""--render: the user's own helm or kustomize, played by a small program, and the places of what it makes."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint import cli
from gpulint.pipeline import render

TOO_LONG = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=40960]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
RENDERED = """\
---
apiVersion: v1
kind: Service
metadata:
  name: chat
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
spec:
  selector:
    matchLabels:
      app: chat
  template:
    spec:
      containers:
      - args:
        - --model=Qwen/Qwen2.5-7B-Instruct
        - --max-model-len=40960
        image: vllm/vllm-openai:v0.10.1
        name: server
        resources:
          limits:
            nvidia.com/gpu: 1
      nodeSelector:
        cloud.google.com/gke-accelerator: nvidia-l4
"""


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that is the whole PATH, and a work folder to stand in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(work)
    return folder


def program(folder: Path, name: str, script: str) -> None:
    place = folder / name
    place.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    place.chmod(place.stat().st_mode | stat.S_IXUSR)


def prints(folder: Path, name: str, text: str) -> None:
    """A program that notes its words and prints a text."""
    (folder / "out.yaml").write_text(text, encoding="utf-8")
    program(
        folder,
        name,
        f'echo "$@" > {folder}/words\nwhile IFS= read -r line; do printf "%s\\n" "$line"; done < {folder}/out.yaml',
    )


def check(*words: str) -> Result:
    return CliRunner().invoke(cli.main, ["check", "--format", "json", *words])


def found(result: Result) -> list[tuple[str, str, int]]:
    report = json.loads(result.stdout)
    return [(one["rule"], one["path"], one["line"]) for one in report["findings"] if one["severity"] == "error"]


def test_a_finding_in_a_chart_is_told_by_its_object_and_rendered_line(bin: Path) -> None:
    Path("chart").mkdir()
    Path("more.yaml").write_text("a: 1\n", encoding="utf-8")
    prints(bin, "helm", RENDERED)
    result = check("--render", "helm", "chart/", "-f", "more.yaml")
    assert found(result) == [("context-exceeds-trained-maximum", "chart (rendered): Deployment/chat", 20)]
    assert result.exit_code == cli.FOUND
    words = (bin / "words").read_text(encoding="utf-8").split()
    assert words == [
        "template",
        "gpulint",
        str(Path("chart").resolve()),
        "--skip-tests",
        "--values",
        str(Path("more.yaml").resolve()),
    ]
    assert "helm rendered 2 objects from chart" in result.stderr


def test_a_finding_in_an_overlay_stands_in_the_one_file_that_says_the_same(bin: Path) -> None:
    Path("base").mkdir()
    Path("overlay").mkdir()
    Path("base/deployment.yaml").write_text(TOO_LONG, encoding="utf-8")
    Path("base/kustomization.yaml").write_text("resources: [deployment.yaml]\n", encoding="utf-8")
    Path("overlay/kustomization.yaml").write_text("resources: [../base]\n", encoding="utf-8")
    prints(bin, "kustomize", RENDERED)
    assert found(check("--render", "kustomize", "overlay")) == [
        ("context-exceeds-trained-maximum", "base/deployment.yaml", 12)
    ]


@pytest.mark.parametrize(
    "args",
    [
        "[--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=40960]",
        "[a, --max-model-len=1]",
    ],
)
def test_a_value_that_two_files_state_is_told_as_rendered(bin: Path, args: str) -> None:
    Path("overlay").mkdir()
    Path("overlay/deployment.yaml").write_text(TOO_LONG, encoding="utf-8")
    named = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\n"
    patch = f"{named}spec: {{template: {{spec: {{containers: [{{name: server, args: {args}}}]}}}}}}\n"
    Path("overlay/patch.yaml").write_text(patch, encoding="utf-8")
    Path("overlay/kustomization.yaml").write_text(
        "resources: [deployment.yaml]\npatches: [{path: patch.yaml}]\n", encoding="utf-8"
    )
    prints(bin, "kustomize", RENDERED)
    assert [path for _, path, _ in found(check("--render", "kustomize", "overlay"))] == [
        "overlay (rendered): Deployment/chat"
    ]


def test_kubectl_stands_in_for_kustomize(bin: Path) -> None:
    Path("overlay").mkdir()
    prints(bin, "kubectl", RENDERED)
    assert check("--render", "kustomize", "overlay").exit_code == cli.FOUND
    assert (bin / "words").read_text(encoding="utf-8").split()[0] == "kustomize"


def test_what_the_tool_complains_of_is_passed_on(bin: Path) -> None:
    Path("chart").mkdir()
    program(bin, "helm", "echo 'Error: values do not meet the schema' >&2; exit 1")
    result = check("--render", "helm", "chart")
    assert result.exit_code == cli.MISUSED
    assert "helm failed:\nError: values do not meet the schema" in result.stderr


def test_a_tool_that_is_missing_or_a_wrong_use_is_said(bin: Path) -> None:
    Path("chart").mkdir()
    for words, said in (
        (("--render", "helm", "chart"), "helm is not installed"),
        (("--render", "kustomize", "chart"), "kustomize is not installed"),
        (("--render", "helm", "nowhere"), "nowhere is not one"),
        (("--render", "helm", "chart", "-f", "no.yaml"), "the values file no.yaml does not exist"),
        (("-f", "no.yaml", "chart"), "-f requires --render helm"),
    ):
        result = check(*words)
        assert result.exit_code == cli.MISUSED
        assert said in result.stderr


def test_time_and_output_are_bounded(bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("chart").mkdir()
    monkeypatch.setattr(render, "TIMEOUT_S", 0.5)
    program(bin, "helm", "while :; do :; done")
    with pytest.raises(render.RenderError, match="took longer"):
        render.render("helm", "chart")
    monkeypatch.setattr(render, "OUTPUT_BYTES_MAX", 10_000)
    program(bin, "helm", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done")
    with pytest.raises(render.RenderError, match="printed more"):
        render.render("helm", "chart")


def test_nothing_is_rendered_unless_asked_for(bin: Path) -> None:
    Path("chart").mkdir()
    Path("chart/Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 0.1.0\n", encoding="utf-8")
    program(bin, "helm", f"touch {bin}/ran")
    assert check("chart").exit_code == cli.CLEAN
    assert not (bin / "ran").exists()
