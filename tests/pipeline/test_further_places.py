"""A mistake that occurs several times in one role is reported at each place."""

from __future__ import annotations

from pathlib import Path

import gpulint
from gpulint.report.model import Finding

SERVER = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: IMAGE
      args:
        - --model=Qwen/Qwen2.5-7B-Instruct
        - --max-model-len=4096
ARGS
      env:
        - {name: NCCL_DEBUG, value: INFO}
ENV
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def find(
    folder: Path, rule: str, image: str = "vllm/vllm-openai:v0.13.0", args: str = "", env: str = ""
) -> list[Finding]:
    text = SERVER.replace("IMAGE", image)
    text = text.replace("ARGS", "\n".join(f"        - {word}" for word in args.split()))
    text = text.replace("ENV", "\n".join(f"        - {{name: {name}, value: eth0}}" for name in env.split()))
    (folder / "pod.yaml").write_text(text)
    report = gpulint.check(folder / "pod.yaml")
    assert report.failures == ()
    return [finding for finding in report.open if finding.rule == rule]


def test_every_argument_that_a_release_lacks_has_its_line_its_release_and_its_successor(tmp_path: Path) -> None:
    found = find(tmp_path, "argument-unavailable", args="--task=generate --worker-use-ray --num-scheduler-steps=8")
    assert [(finding.location.line, finding.message.partition(": ")[2]) for finding in found] == [
        (12, "removed in 0.13.0; use --runner and --convert instead"),
        (13, "removed in 0.7.0; use --distributed-executor-backend ray instead"),
        (14, "removed in 0.10.1"),
    ]


def test_an_argument_of_a_later_release_says_when_it_was_added(tmp_path: Path) -> None:
    (finding,) = find(tmp_path, "argument-unavailable", args="--sleep-mode-offload-cudagraph")
    assert finding.message == "vllm 0.13.0 has no argument --sleep-mode-offload-cudagraph: added in 0.32.0"


def test_every_argument_that_later_releases_removed_is_reported_where_none_is_pinned(tmp_path: Path) -> None:
    found = find(
        tmp_path, "argument-removed", "vllm/vllm-openai:latest", "--task=generate --guided-decoding-backend=outlines"
    )
    assert [finding.location.line for finding in found] == [12, 13]
    assert "removed in 0.12.0; use --structured-outputs-config instead" in found[1].message


def test_every_unknown_argument_has_its_own_correction(tmp_path: Path) -> None:
    found = find(tmp_path, "argument-unknown", args="--max-num-seqz=8 --tensor-paralel-size=1")
    assert [suggestion.edits[0].new for finding in found for suggestion in finding.suggestions] == [
        "--max-num-seqs",
        "--tensor-parallel-size",
    ]


def test_every_misspelt_variable_has_its_own_correction(tmp_path: Path) -> None:
    found = find(tmp_path, "variable-misspelt", env="NCCL_SOCKET_IFNAM NCCL_OOB_NET_IFNAM GLOO_SOKET_IFNAME")
    assert [(finding.location.line, finding.suggestions[0].edits[0].new) for finding in found] == [
        (15, "NCCL_SOCKET_IFNAME"),
        (16, "NCCL_OOB_NET_IFNAME"),
        (17, "GLOO_SOCKET_IFNAME"),
    ]


def test_the_places_have_different_fingerprints(tmp_path: Path) -> None:
    found = find(tmp_path, "variable-misspelt", env="NCCL_SOCKET_IFNAM GLOO_SOKET_IFNAME")
    assert len({finding.fingerprint for finding in found}) == 2


def test_a_variable_that_a_program_of_the_repository_reads_is_no_misspelling(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "serve.py").write_text("import os\n\nname = os.environ['NCCL_SOCKET_IFNAM']\n")
    found = find(tmp_path, "variable-misspelt", env="NCCL_SOCKET_IFNAM GLOO_SOKET_IFNAME")
    assert [finding.location.line for finding in found] == [16]


def test_a_program_that_sets_a_misspelt_variable_does_not_read_it(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "serve.py").write_text("import os\n\nos.environ['NCCL_SOCKET_IFNAM'] = 'eth0'\n")
    assert len(find(tmp_path, "variable-misspelt", env="NCCL_SOCKET_IFNAM")) == 1
