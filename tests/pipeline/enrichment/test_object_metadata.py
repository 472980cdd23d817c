"""What an object says of itself, as facts for the rules of an organisation."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pytest
from samples import ExampleRepository

from gpulint import adapters
from gpulint.facts import resolver
from gpulint.facts.model import Missing
from gpulint.pipeline.enrichment import hints, object_metadata
from gpulint.policy.conditions import cel
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.rule import Rule, Target
from gpulint.report.model import Severity
from gpulint.source import documents
from gpulint.workload import Role

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  namespace: search
  labels: {team: search, tier: gold}
  annotations: {approved-by: platform}
spec:
  replicas: 3
  template:
    metadata:
      labels: {app: chat, tier: silver}
    spec:
      nodeSelector: {karpenter.sh/capacity-type: spot}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen3-8B]
          resources: {limits: {nvidia.com/gpu: 2}}
"""
BATCH = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
srun torchrun --nproc_per_node=8 train.py
"""
SERVICE = """\
services:
  chat:
    image: vllm/vllm-openai:v0.11.0
    command: --model Qwen/Qwen3-8B
    labels: {labels}
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 1, capabilities: [gpu]}}]}}}}}}
"""
TASK = """\
name: train
resources: {accelerators: L4:1, use_spot: true}
run: python train.py
"""


def role(text: str, path: str = "spec.yaml", files: Mapping[str, bytes] | None = None) -> Role:
    """The first role of a spec, with what its object and its comments say."""
    loaded = documents.load(path, textwrap.dedent(text).encode())
    told, mistaken = hints.read_comments(loaded.comments)
    assert mistaken == []
    found = [one for document in loaded.documents for one in adapters.read(document, ExampleRepository())]
    return hints.apply(object_metadata.add_metadata(found[0], ExampleRepository(files)), told, (), "").roles[0]


def known(text: str, *names: str, path: str = "spec.yaml") -> list[Any]:
    """Facts of the first role of a spec; "unknown" where one is."""
    found = resolver.resolve(role(text, path), None)
    values = (found.expected(name) for name in names)
    return ["unknown" if isinstance(value, Missing) else value for value in values]


def test_an_object_says_whose_it_is() -> None:
    names = ("path", "workload_name", "object_kind", "object_namespace", "annotations", "image")
    assert known(DEPLOYMENT, *names, path="apps/chat.yaml") == [
        *("apps/chat.yaml", "chat", "Deployment", "search"),
        *({"approved-by": "platform"}, "vllm/vllm-openai:v0.11.0"),
    ]


def test_labels_of_the_pod_template_fill_in_what_the_object_does_not_state() -> None:
    assert known(DEPLOYMENT, "labels") == [{"app": "chat", "team": "search", "tier": "gold"}]


def test_a_comment_states_labels_beside_those_of_the_object() -> None:
    text = DEPLOYMENT.replace(
        "spec:\n  replicas", "# gpulint: labels=team:ads,cost:42 namespace=dev\nspec:\n  replicas"
    )
    assert known(text, "labels", "object_namespace") == [
        {"app": "chat", "team": "ads", "tier": "gold", "cost": "42"},
        "dev",
    ]


def test_a_batch_script_states_them_by_a_comment() -> None:
    script = BATCH.replace("srun", "# gpulint: labels=team:search annotations=approved-by:platform\nsrun")
    names = ("labels", "annotations", "object_namespace", "object_kind")
    assert known(script, *names, path="train.sbatch") == [{"team": "search"}, {"approved-by": "platform"}, None, None]
    assert known(BATCH, *names, path="train.sbatch") == [{}, {}, None, None]


@pytest.mark.parametrize("labels", ["{team: search}", "[team=search]"])
def test_a_service_of_compose_states_labels_in_two_ways(labels: str) -> None:
    assert known(SERVICE.format(labels=labels), "labels", path="compose.yaml") == [{"team": "search"}]


def test_a_namespace_that_the_object_leaves_out_or_a_tool_fills_in_is_unknown() -> None:
    assert known(DEPLOYMENT.replace("  namespace: search\n", ""), "object_namespace") == ["unknown"]
    assert known(DEPLOYMENT.replace("namespace: search", "namespace: ${NAMESPACE}"), "object_namespace") == ["unknown"]


def test_labels_that_a_chart_writes_are_unknown() -> None:
    values = """\
    servingEngineSpec:
      modelSpec:
        - {name: chat, repository: vllm/vllm-openai, tag: v0.11.0, modelURL: Qwen/Qwen3-8B, replicaCount: 1, requestGPU: 1}
    """
    assert known(values, "labels", "object_namespace", path="values.yaml") == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        (DEPLOYMENT, True),
        (DEPLOYMENT.replace(": spot}", ": on-demand}"), False),
        (TASK, True),
        (TASK.replace("true", "false"), False),
        ("type: task\nname: t\ncommands: [python t.py]\nresources: {gpu: L4}\nspot_policy: spot\n", True),
        ("type: task\nname: t\ncommands: [python t.py]\nresources: {gpu: L4}\nspot_policy: auto\n", False),
    ],
)
def test_spot_is_what_a_file_asks_for(text: str, spot: bool) -> None:
    assert known(text, "spot") == [spot]


def test_objectives_of_a_workload_are_those_of_all_its_roles() -> None:
    text = DEPLOYMENT.replace("spec:\n  replicas", "# gpulint: tpot=50ms prompt-tokens=100\nspec:\n  replicas")
    assert known(text, "stated_objectives", "has_objective") == [("tpot",), True]
    assert known(DEPLOYMENT, "stated_objectives", "has_objective") == [(), False]


@pytest.mark.parametrize(("name", "figure"), [("workload_gpus", 16), ("gpu_hours_limit", 384.0)])
def test_gpu_hours_of_a_batch_job_count_until_its_time_limit(name: str, figure: float) -> None:
    assert known(BATCH, name, path="train.sbatch") == [figure]


def test_gpus_of_a_service_are_those_of_all_replicas() -> None:
    assert known(DEPLOYMENT, "workload_gpus", "gpu_hours_limit") == [6, "unknown"]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("labels=team", "write labels=team:search,tier:gold, not team"),
        ("label=team:search", "no hint is called label; did you mean labels?"),
    ],
)
def test_a_label_that_cannot_be_read_is_refused(comment: str, message: str) -> None:
    loaded = documents.load("spec.yaml", f"# gpulint: {comment}\n{DEPLOYMENT}".encode())
    assert [why for _, why in hints.read_comments(loaded.comments)[1]] == [message]


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ('labels["team"] == "search"', "holds"),
        ('labels["team"] == "ads"', "silent"),
        ('"team" in labels', "holds"),
        ('!("cost-centre" in labels)', "holds"),
        ('labels["cost-centre"] == "42"', "needs labels"),
        ('"tpot" in stated_objectives', "silent"),
        ('object_namespace == "search" && workload_gpus > 2', "holds"),
        ('path.startsWith("prod/")', "silent"),
        ('image.endsWith(":latest")', "silent"),
    ],
)
def test_a_condition_reads_them(when: str, said: str) -> None:
    rule = Rule("own", "house", "s", Severity.ERROR, "w.", Target("workload"), when, "m")
    outcome = evaluate.evaluate([rule], resolver.resolve(role(DEPLOYMENT), None))
    lacking = [f"needs {', '.join(one.needs)}" for one in outcome.not_evaluated]
    assert [*(["holds"] if outcome.verdicts else []), *lacking] == ([] if said == "silent" else [said])


def test_a_map_reads_as_its_entries_in_a_message() -> None:
    assert evaluate.fill_message("labels {labels}", resolver.resolve(role(DEPLOYMENT), None)) == (
        "labels app=chat, tier=gold, team=search"
    )


def test_a_word_that_cel_keeps_for_itself_is_refused_with_the_fact_that_is_meant() -> None:
    with pytest.raises(cel.ConditionError, match=r"did you mean object_namespace\?"):
        cel.compile('namespace == "dev"')


KUSTOMIZATION = b"""\
namespace: prod
commonLabels: {team: ads}
labels: [{pairs: {tier: bronze}}]
commonAnnotations: {owner: ads}
resources: [deployment.yaml]
"""


def test_a_kustomization_of_the_same_folder_has_the_last_word() -> None:
    files = {"base/kustomization.yaml": KUSTOMIZATION}
    found = resolver.resolve(role(DEPLOYMENT, "base/deployment.yaml", files), None)
    names = ("object_namespace", "labels", "annotations", "kustomization")
    assert [found.expected(name) for name in names] == [
        "prod",
        {"app": "chat", "team": "ads", "tier": "bronze"},
        {"approved-by": "platform", "owner": "ads"},
        "base/kustomization.yaml",
    ]


def test_a_kustomization_that_does_not_list_the_file_says_nothing_of_it() -> None:
    files = {"base/kustomization.yaml": KUSTOMIZATION}
    found = resolver.resolve(role(DEPLOYMENT, "base/other.yaml", files), None)
    assert [found.expected(name) for name in ("object_namespace", "kustomization")] == ["search", None]
