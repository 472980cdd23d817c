"""The command line for tests: a folder of specs, and a run of `gpulint check` there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint import cli

Run = Callable[..., Result]
WRONG = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=40960]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
RIGHT = WRONG.replace("40960", "8192")
ELSEWHERE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: blue}\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs gpulint in an empty repository."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def invoke(*words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli.main, words, input=stdin)

    return invoke


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
