"""The basis of facts: what an error may rest on."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import samples

from gpulint.facts import resolver
from gpulint.pipeline import evaluate as evaluation
from gpulint.pipeline.rule_tests import samples as rule_samples
from gpulint.policy.rules import evaluate, evaluated_role
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import Rule, load_examples, load_shipped
from gpulint.report.model import Severity
from gpulint.workload import Field, Role

RULES = load_shipped()
ERRORS = sorted(
    rule.name for rule in RULES.values() if rule.severity is Severity.ERROR and rule.target.scope == "workload"
)
"""Rules about a role; rules about a document or a facility compare only what these state."""


def evaluate_alone(rule: Rule, found: EvaluatedRole, role: Role) -> list[Severity]:
    """Return how severe a rule is on a role, evaluated without any other."""
    is_named = any(field in role.fields for field in ("checkpoint", "network"))
    facts = resolver.resolve(role, found.facts.resolved if is_named else None)
    outcome = evaluate.evaluate((rule,), facts)
    capped = evaluated_role.cap_errors(EvaluatedRole(found.workload, facts, (rule,), outcome))
    return [verdict.severity for verdict in capped.outcome.verdicts]


def list_failing(rule: Rule) -> Iterator[EvaluatedRole]:
    """Yield the roles of a rule's bad samples on which it is an error by itself."""
    given = rule_samples.build_policy((rule,), tuple(RULES.values()), alternatives=False)
    for text in load_examples(rule)["bad"]:
        sources, repository = rule_samples.load_sources(str(text))
        policy = rule_samples.resolve_policy(str(text), given)
        for source in sources:
            for found in evaluation.file(source, repository, policy).roles:
                if not found.component and evaluate_alone(rule, found, found.facts.role) == [Severity.ERROR]:
                    yield found


def fails_without(rule: Rule, found: EvaluatedRole, name: str) -> bool:
    """Whether a rule is an error on a role that lacks a field."""
    role = found.facts.role
    left = replace(role, fields={field: value for field, value in role.fields.items() if field != name})
    try:
        return evaluate_alone(rule, found, left) == [Severity.ERROR]
    except evaluate.RuleDefect:  # a null where a number is compared
        return False


@pytest.mark.parametrize("name", ERRORS)
def test_no_error_rests_on_the_default_of_an_open_file(name: str) -> None:
    """A field without which the rule is silent decides it: as the default of an open file it must not make an error."""
    rule = RULES[name]
    decided = set()
    for found in list_failing(rule):
        role = found.facts.role
        for quantity, field in role.fields.items():
            if fails_without(rule, found, quantity):
                continue
            decided.add(quantity)
            opened = role.having(**{quantity: Field(field.value, source="default of the test", basis="open")})
            assert Severity.ERROR not in evaluate_alone(rule, found, opened), quantity
            assumed = role.having(**{quantity: Field(field.value, field.origins, assumption="by a name")})
            assert Severity.ERROR not in evaluate_alone(rule, found, assumed), quantity
    assert decided, "no bad sample of the rule is an error that a field decides"


def find_bases(text: str, rule: str, path: str = "spec.yaml") -> dict[str, str]:
    """Return the basis of each fact behind the only finding of a rule."""
    (finding,) = (one for one in samples.report(text, path=path).findings if one.rule == rule)
    return {fact: ground.basis for ground in finding.basis for fact in ground.facts}


SERVER = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args: [--model=meta-llama/Llama-3.3-70B-Instruct, --tensor-parallel-size=2]
          resources: {limits: {nvidia.com/gpu: 2}}
"""
ON_L4 = """      nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}
"""


def test_a_finding_says_how_each_value_behind_it_is_known() -> None:
    known = find_bases(SERVER + ON_L4, "weights-exceed-memory")
    assert known["tensor_parallel"] == known["accelerator"] == known["checkpoint"] == "stated"
    assert known["pipeline_parallel"] == "default"  # vllm v0.10.1 vllm/engine/arg_utils.py: 1
    assert known["parameters"] == known["cuda_memory_bytes"] == "catalog"


def test_a_value_that_only_a_comment_of_the_file_suggests_is_assumed() -> None:
    # 70.6 billion parameters in 16 bits take 65.7 GiB on each of two GPUs; an L4 has less than 24 GiB
    text = f"# 2x L4{SERVER}"
    (finding,) = (one for one in samples.report(text).findings if one.rule == "weights-exceed-memory")
    assert finding.severity < Severity.ERROR
    assert find_bases(text, "weights-exceed-memory")["accelerator"] == "assumed"


def test_the_file_that_states_a_value_is_named() -> None:
    (finding,) = (one for one in samples.report(SERVER + ON_L4).findings if one.rule == "weights-exceed-memory")
    places = {fact: ground.location for ground in finding.basis for fact in ground.facts}
    assert (location := places["tensor_parallel"]) is not None
    assert (location.path, location.line) == ("spec.yaml", 11)


@pytest.mark.parametrize(
    ("before", "severity"),
    [("", Severity.ERROR), ("ray start --head\n", Severity.WARNING), ("ssh node2 hostname\n", Severity.WARNING)],
)
def test_a_batch_script_runs_a_program_on_its_first_node(before: str, severity: Severity) -> None:
    text = f"#!/bin/bash\n#SBATCH --gpus-per-node=2\n{before}vllm serve Qwen/Qwen3-8B --tensor-parallel-size 4\n"
    assert samples.severities(samples.report(text, "serve.slurm"))["parallel-size-exceeds-gpus"] is severity
