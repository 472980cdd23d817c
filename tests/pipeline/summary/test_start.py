"""A role that an error keeps from starting does not fit, whatever memory it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import samples

from gpulint.pipeline.summary import start
from gpulint.policy.rules.rule import Rule, load_examples, load_shipped
from gpulint.report import verdicts
from gpulint.report.model import Report, Severity

CHECKED = [
    pytest.param(rule, text, id=f"{rule.name}-{number}")
    for rule in load_shipped().values()
    if rule.severity is Severity.ERROR
    and rule.target.scope in ("workload", "document")
    and rule.family not in ("governance", "suppressions", "syntax")
    for number, text in enumerate(load_examples(rule)["bad"])
]
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen2.5-7B-Instruct, {arguments}]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


def find_verdicts(found: Report) -> list[str]:
    return [role.verdict for role in samples.roles(found)]


@pytest.mark.parametrize(("rule", "text"), CHECKED)
def test_the_verdict_beside_an_error_is_not_that_it_fits(rule: Rule, text: str) -> None:
    found = samples.report(text)
    for finding in samples.of_rule(found, rule.name):
        named = [workload for workload in found.workloads if finding.workload in ("", workload.name)]
        beside = [role.verdict for workload in named for role in workload.roles if finding.role in ("", role.name)]
        outcomes = {verdicts.sort_verdict(verdict) for verdict in beside}
        assert not beside or outcomes & {verdicts.FAIL, verdicts.UNKNOWN, ""}, beside


def test_an_argument_that_the_engine_refuses_does_not_run() -> None:
    spec = POD.format(arguments="--max-model-len=4096, --tensor-parallel-sise=1")
    assert find_verdicts(samples.report(spec)) == ["does not run"]
    assert find_verdicts(samples.report(POD.format(arguments="--max-model-len=4096"))) == ["fits"]


def test_a_role_on_open_hardware_keeps_what_it_needs() -> None:
    spec = POD.format(arguments="--max-model-len=4096, --tensor-parallel-sise=1")
    spec = spec.replace("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n", "")
    (verdict,) = find_verdicts(samples.report(spec))
    assert verdict.startswith("does not run; needs 1 × L4 24GB")
    assert verdicts.sort_verdict(verdict) == verdicts.FAIL


def test_the_severity_that_a_policy_gives_a_rule_does_not_decide() -> None:
    arguments = "--max-model-len=4096, --enforce-eager"
    rule = load_shipped()["enforce-eager-in-production"]
    raised = replace(rule, severity=Severity.ERROR, stated=rule.severity)
    found = samples.report(POD.format(arguments=arguments), rules=[raised])
    assert [finding.severity for finding in found.open] == [Severity.ERROR]
    assert find_verdicts(found) == ["fits"]


@pytest.mark.parametrize("verdict", ["fits", "likely fits", "depends on sequence length: fits up to 2048", "no model"])
def test_without_an_error_a_verdict_stays(verdict: str) -> None:
    assert start.correct(verdict, ()) == verdict
