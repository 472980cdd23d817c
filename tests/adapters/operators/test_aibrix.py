"""AIBrix and RoleBasedGroup: roles with templates, and how many pods form one instance of each."""

from __future__ import annotations

import textwrap

import pytest
import reading

from gpulint.workload import Role

COUNTS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas")
COMMAND = "[python3, -m, sglang.launch_server, --model-path, Qwen/Qwen3-8B, --tp, '2']"
SERVER = f"{{name: server, image: 'lmsysorg/sglang:v0.5.5', command: {COMMAND}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}"
POD = f"template: {{spec: {{containers: [{SERVER}]}}}}"
ROUTER = "{name: router, replicas: 1, template: {spec: {containers: [{name: r, image: 'aibrix/router:1'}]}}}"


def storm(roles: str, replicas: str = "replicas: 2") -> str:
    return f"""
    apiVersion: orchestration.aibrix.ai/v1alpha1
    kind: StormService
    metadata: {{name: chat}}
    spec:
      {replicas}
      template: {{spec: {{roles: [{ROUTER}, {roles}]}}}}
    """


def group(role: str, templates: str = "") -> list[Role]:
    head = "apiVersion: workloads.x-k8s.io/v1alpha2\nkind: RoleBasedGroup\nmetadata: {name: chat}\nspec:\n"
    text = f"{head}{templates}  roles:\n    - name: serve\n{textwrap.indent(textwrap.dedent(role).strip(chr(10)), ' ' * 6)}\n"
    return [one for found in reading.workloads(text) for one in found.roles]


def test_a_role_has_groups_of_pods_in_every_service() -> None:
    """aibrix v0.7.0 api/orchestration/v1alpha1/roleset_types.go: podGroupSize pods form one instance."""
    role = reading.role(storm(f"{{name: prefill, replicas: 3, podGroupSize: 2, {POD}}}"))
    assert role.name == "prefill"
    assert reading.values(role, *COUNTS, "engine", "tensor_parallel") == [1, 2, 2, 6, "sglang", 2]
    assert [reading.source(role, "replicas", nth) for nth in (0, 1)] == ["2", "3"]


def test_counts_that_are_not_stated_are_one() -> None:
    role = reading.role(storm(f"{{name: prefill, {POD}}}", replicas="stateful: true"))
    assert reading.values(role, *COUNTS) == [1, 1, 1, 1]


def test_prefill_and_decode_are_roles_and_the_router_is_none() -> None:
    found = reading.workload(storm(f"{{name: prefill, {POD}}}, {{name: decode, replicas: 4, {POD}}}"))
    assert (found.kind, [role.name for role in found.roles]) == ("inference", ["prefill", "decode"])


def test_arguments_for_other_pods_leave_a_single_pod_open() -> None:
    joining = POD.replace("--tp, '2'", "--tp, '2', --nnodes, '2'")
    alone, grouped = (reading.role(storm(f"{{name: prefill, {size} {joining}}}")) for size in ("", "podGroupSize: 2,"))
    assert reading.values(alone, "gpus_per_replica")[0].startswith("unknown: which other GPUs take part")
    assert reading.values(grouped, "gpus_per_replica") == [2]


def test_pods_that_aibrix_makes_have_no_shared_memory_of_their_own() -> None:
    assert reading.values(reading.role(storm(f"{{name: prefill, {POD}}}")), "shared_memory_default") == [True]


FLEET = """
apiVersion: orchestration.aibrix.ai/v1alpha1
kind: RayClusterFleet
metadata: {name: chat}
spec:
  replicas: 2
  template:
    spec:
      headGroupSpec:
        template:
          spec:
            containers:
              - name: head
                image: vllm/vllm-openai:v0.10.1
                command: [/bin/bash, -lc, --]
                args:
                  - ray start --head; vllm serve Qwen/Qwen3-32B --tensor-parallel-size 24 --distributed-executor-backend ray
                resources: {limits: {nvidia.com/gpu: 8}}
      workerGroupSpecs:
        - groupName: more
          replicas: 2
          template:
            spec:
              containers:
                - {name: worker, image: "vllm/vllm-openai:v0.10.1", command: [sleep], resources: {limits: {nvidia.com/gpu: 8}}}
"""


@pytest.mark.parametrize("kind", ["RayClusterFleet", "RayClusterReplicaSet"])
def test_head_and_workers_of_a_ray_cluster_form_one_instance(kind: str) -> None:
    head, worker = reading.workload(FLEET.replace("RayClusterFleet", kind)).roles
    assert reading.values(head, *COUNTS, "engine", "shared_memory_default") == [8, 1, 24, 2, "vllm", False]
    assert reading.values(worker, *COUNTS, "part_of") == [8, 2, 16, 2, "head"]


# ---- RoleBasedGroup


@pytest.mark.parametrize("role", [f"replicas: 2\n{POD}", f"replicas: 2\nstandalonePattern: {{{POD}}}"])
def test_a_role_of_single_pods(role: str) -> None:
    """rbg v0.8.0 api/workloads/v1alpha1 and v1alpha2 rolebasedgroup_types.go."""
    (found,) = group(role)
    assert (found.name, *reading.values(found, *COUNTS)) == ("serve", 1, 1, 1, 2)


@pytest.mark.parametrize("key", ["leaderWorkerPattern", "leaderWorkerSet"])
def test_a_leader_and_its_workers_form_one_instance(key: str) -> None:
    (found,) = group(f"replicas: 2\n{key}: {{size: 4, {POD}}}")
    assert (found.name, *reading.values(found, *COUNTS)) == ("serve", 1, 4, 4, 2)


def test_a_patch_tells_the_leader_from_its_workers() -> None:
    patch = "workerTemplatePatch: {spec: {containers: [{name: server, resources: {limits: {nvidia.com/gpu: 2}}}]}}"
    leader, worker = group(f"replicas: 2\nleaderWorkerPattern: {{size: 3, {POD}, {patch}}}")
    assert (leader.name, *reading.values(leader, *COUNTS, "tensor_parallel")) == ("serve/leader", 1, 1, 5, 2, 2)
    assert (worker.name, *reading.values(worker, *COUNTS, "part_of")) == ("serve/worker", 2, 2, 4, 2, "serve/leader")


def test_a_template_may_be_referred_to() -> None:
    templates = f"  roleTemplates: [{{name: base, {POD}}}]\n"
    (found,) = group("standalonePattern: {templateRef: {name: base}}", templates)
    assert reading.values(found, "gpus_per_pod", "engine") == [1, "sglang"]
    patch = "{spec: {containers: [{name: server, resources: {limits: {nvidia.com/gpu: 4}}}]}}"
    (patched,) = group(f"standalonePattern: {{templateRef: {{name: base, patch: {patch}}}}}", templates)
    assert reading.values(patched, "gpus_per_pod", "engine") == [4, "sglang"]
    assert group("standalonePattern: {templateRef: {name: another}}", templates) == []


def test_components_of_several_templates_form_one_instance() -> None:
    leader, others = group(
        f"customComponentsPattern: {{components: [{{name: first, {POD}}}, {{name: more, size: 3, {POD}}}]}}"
    )
    assert [leader.name, others.name] == ["serve/first", "serve/more"]
    assert [reading.values(role, "gpus_per_replica", "part_of") for role in (leader, others)] == [
        [4, None],
        [3, "serve/first"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: orchestration.aibrix.ai/v1alpha1\nkind: StormService\nspec: {}\n", id="empty"),
        pytest.param("apiVersion: workloads.x-k8s.io/v1alpha2\nkind: RoleBasedGroup\nspec: {roles: 3}\n", id="no list"),
        pytest.param(storm("{name: odd, template: 3}"), id="a template that is none"),
    ],
)
def test_what_states_no_pods_is_no_workload(text: str) -> None:
    assert reading.workloads(text) == []
