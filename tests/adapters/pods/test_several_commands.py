"""Several commands of one container: one of them runs, each is tried after the one before it, or all share the GPUs."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import Report

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{node.kubernetes.io/instance-type: p5.48xlarge}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      command: [bash, -c]
      args:
        - |
          {script}
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
SERVE = "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len"


def check(script: str) -> Report:
    report = samples.report(POD.format(script=script.replace("\n", "\n          ")))
    assert report.failures == ()
    return report


def rules(script: str) -> list[str]:
    return [finding.rule for finding in check(script).open]


@pytest.mark.parametrize("between", ["||", "2>&1 ||", ">log || \\\n "])
def test_a_command_that_runs_after_a_failure_shares_no_gpu_with_the_one_that_failed(between: str) -> None:
    report = check(f"{SERVE} 8192 {between} {SERVE} 4096")
    assert "shared-gpu-fractions-over-one" not in [finding.rule for finding in report.open]
    assert len(report.workloads[0].roles) == 1


@pytest.mark.parametrize("between", ["&", "& sleep 60;"])
def test_commands_that_run_together_share_their_gpu(between: str) -> None:
    assert "shared-gpu-fractions-over-one" in rules(f"{SERVE} 8192 {between} {SERVE} 4096")


def test_what_the_first_attempt_alone_gets_wrong_is_no_error() -> None:
    assert "argument-unknown" not in rules(f"{SERVE} 8192 --no-such-thing 1 || {SERVE} 4096")


def test_what_every_attempt_gets_wrong_is_an_error() -> None:
    attempt = f"{SERVE} 8192 --no-such-thing 1"
    assert "argument-unknown" in rules(f"{attempt} || {attempt}")


@pytest.mark.parametrize("word", ["", "exec "])
def test_an_argument_that_is_refused_in_one_branch_is_reported(word: str) -> None:
    branches = f"if [ $LONG ]; then\n  {word}{SERVE} 8192 --no-such-thing 1\nelse\n  {word}{SERVE} 4096\nfi\necho over"
    (finding,) = [finding for finding in check(branches).open if finding.rule == "argument-unknown"]
    assert finding.location.line == 13


def test_the_branch_of_another_engine_is_not_judged_by_the_first() -> None:
    other = "python -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --max-model-len 4096"
    branches = f"if [ $LONG ]; then\n  {SERVE} 8192\nelse\n  {other}\nfi\necho over"
    assert not {"argument-unknown", "argument-misspelt"} & set(rules(branches))
