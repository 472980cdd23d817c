"""The Kubernetes adapter: kinds, their multipliers, and which objects hold workloads."""

from __future__ import annotations

import pytest
import reading

COUNTS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas")
CONTAINER = "{name: train, image: registry.example.com/train:1, resources: {limits: {nvidia.com/gpu: 4}}}"
SPEC = f"{{containers: [{CONTAINER}]}}"
VLLM = (
    "{{name: {name}, image: 'vllm/vllm-openai:v0.10.1', args: [--model=Qwen/Qwen3-8B], "
    "resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}"
)


def made(version: str, kind: str, spec: str) -> str:
    """An object of that kind."""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"


def counts(text: str) -> list[object]:
    return reading.values(reading.role(text), *COUNTS)


# ---- kinds and multipliers


def test_a_pod_is_one_replica_of_one_pod() -> None:
    assert counts(made("v1", "Pod", SPEC)) == [4, 1, 4, 1]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_replicated_kinds_take_their_replicas_and_one_when_none_are_stated(kind: str) -> None:
    assert counts(made("apps/v1", kind, f"{{replicas: 3, template: {{spec: {SPEC}}}}}")) == [4, 1, 4, 3]
    assert counts(made("apps/v1", kind, f"{{template: {{spec: {SPEC}}}}}")) == [4, 1, 4, 1]


def test_replicas_that_a_template_fills_in_are_unknown_never_one() -> None:
    text = made("apps/v1", "Deployment", f"\n  replicas: ${{REPLICAS}}\n  template: {{spec: {SPEC}}}")
    assert counts(text) == [4, 1, 4, "unknown: replicas is ${REPLICAS}"]


def test_a_daemon_set_has_one_pod_a_node_and_nobody_knows_how_many_nodes() -> None:
    text = made("apps/v1", "DaemonSet", f"{{template: {{spec: {SPEC}}}}}")
    assert counts(text) == [4, 1, 4, "unknown: one pod a node"]


def test_a_job_runs_its_parallelism_side_by_side() -> None:
    text = made("batch/v1", "Job", f"{{parallelism: 2, completions: 6, template: {{spec: {SPEC}}}}}")
    assert counts(text) == [4, 1, 4, 2]


def test_an_indexed_job_is_one_run_over_its_completions() -> None:
    text = made(
        "batch/v1", "Job", f"{{completionMode: Indexed, parallelism: 2, completions: 2, template: {{spec: {SPEC}}}}}"
    )
    assert counts(text) == [4, 2, 8, 1]


def test_a_cron_job_runs_the_job_of_its_template() -> None:
    text = made("batch/v1", "CronJob", f"{{jobTemplate: {{spec: {{parallelism: 3, template: {{spec: {SPEC}}}}}}}}}")
    assert counts(text) == [4, 1, 4, 3]


def test_the_size_of_a_leader_worker_set_counts_the_leader() -> None:
    found = reading.workload(
        f"""
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {{name: group}}
        spec:
          replicas: 2
          leaderWorkerTemplate:
            size: 3
            leaderTemplate: {{spec: {{containers: [{VLLM.format(name="leader", gpus=8)}]}}}}
            workerTemplate: {{spec: {{containers: [{CONTAINER}]}}}}
        """
    )
    leader, worker = found.roles
    assert (leader.name, worker.name) == ("leader/leader", "worker/train")
    assert reading.values(leader, *COUNTS) == [8, 1, 16, 2]
    assert reading.values(worker, *COUNTS) == [4, 2, 8, 2]


def test_the_gpus_of_a_set_are_known_although_its_leader_starts_ray() -> None:
    script = "vllm serve Qwen/Qwen3-8B --distributed-executor-backend ray -tp 8 -pp 2"
    leader = f"{{name: leader, command: [sh, -c, '{script}'], resources: {{limits: {{nvidia.com/gpu: 8}}}}}}"
    found = reading.workload(
        f"""
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {{name: group}}
        spec:
          leaderWorkerTemplate:
            size: 2
            leaderTemplate: {{spec: {{containers: [{leader}]}}}}
            workerTemplate: {{spec: {{containers: [{CONTAINER}]}}}}
        """
    )
    assert reading.values(found.roles[0], "gpus_per_replica") == [12]


def test_workers_of_a_set_without_a_leader_template_lead_too() -> None:
    text = f"""
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {{name: group}}
        spec: {{leaderWorkerTemplate: {{size: 4, workerTemplate: {{spec: {SPEC}}}}}}}
        """
    assert counts(text) == [4, 4, 16, 1]


def test_each_object_of_a_list_is_its_own_workload() -> None:
    found = reading.workloads(
        f"""
        apiVersion: v1
        kind: List
        items:
          - {{apiVersion: v1, kind: Pod, metadata: {{name: first}}, spec: {SPEC}}}
          - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: between}}}}
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {{name: second}}
            spec: {{replicas: 5, template: {{spec: {SPEC}}}}}
        """
    )
    assert [one.name for one in found] == ["first", "second"]
    assert reading.values(found[1].roles[0], "replicas") == [5]


def test_containers_of_a_kind_that_nobody_knows_are_read_and_their_number_stays_unknown() -> None:
    text = made("ml.example.com/v1", "Fleet", f"{{pool: {{template: {{spec: {SPEC}}}}}}}")
    found = reading.role(text)
    assert found.name == "pool/train"
    reason = "unknown: how many pods a Fleet makes is not known"
    assert reading.values(found, *COUNTS) == [4, reason, reason, reason]


def test_a_kind_of_another_group_is_not_taken_for_the_known_one() -> None:
    text = made("example.com/v1", "Deployment", f"{{replicas: 3, template: {{spec: {SPEC}}}}}")
    assert reading.values(reading.role(text), "replicas") == ["unknown: how many pods a Deployment makes is not known"]


# ---- names and purposes


def test_a_workload_is_named_by_its_object_and_pointed_at_by_its_kind() -> None:
    found = reading.workload(f"apiVersion: v1\nkind: Pod\nmetadata: {{generateName: run-}}\nspec: {SPEC}\n")
    assert found.name == "run-"
    assert (found.location().line, found.location().column) == (2, 7)


def test_an_object_that_runs_an_engine_is_an_inference_service_whatever_its_kind() -> None:
    spec = f"{{containers: [{VLLM.format(name='server', gpus=1)}]}}"
    job = made("batch/v1", "Job", f"{{template: {{spec: {spec}}}}}")
    assert reading.workload(job).kind == "inference"
    trained = made("batch/v1", "Job", f"{{template: {{spec: {SPEC}}}}}")
    assert reading.workload(trained).kind == "training"
    pod = made("v1", "Pod", SPEC)
    assert reading.workload(pod).kind == "unknown"


@pytest.mark.parametrize(
    ("own", "templates"), [("gpulint/accelerator: l4", ""), ("", "gpulint/accelerator: l4")], ids=["object", "template"]
)
def test_annotations_of_the_object_and_of_the_template_are_heard(own: str, templates: str) -> None:
    text = f"""
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: a, annotations: {{{own}}}}}
        spec: {{template: {{metadata: {{annotations: {{{templates}}}}}, spec: {SPEC}}}}}
        """
    assert reading.values(reading.role(text), "accelerator") == ["l4"]


# ---- what holds no workload


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: v1\nkind: ConfigMap\ndata: {gpu: nvidia.com/gpu}\n", id="no containers"),
        pytest.param("kind: Deployment\nspec: {template: {spec: {containers: []}}}\n", id="no apiVersion"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: web, image: nginx}]}\n",
            id="no GPU",
        ),
        pytest.param(
            made("v1", "Pod", f"{{initContainers: [{CONTAINER}], containers: [{{name: web}}]}}"),
            id="an init container alone",
        ),
        pytest.param("apiVersion: v1\nkind: List\nitems: [7, null, {kind: Pod}]\n", id="a List of nothing"),
        pytest.param("apiVersion: 1\nkind: Pod\n", id="apiVersion is a number"),
        pytest.param("apiVersion: v1\nkind: Pod\nspec: []\n", id="spec is a list"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nspec: {containers: [null, 7, train]}\n", id="containers are no mappings"
        ),
        pytest.param("apiVersion: apps/v1\nkind: Deployment\nspec: {template: null}\n", id="no template"),
        pytest.param("- apiVersion: v1\n  kind: Pod\n", id="a sequence"),
        pytest.param(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
            "spec: {versions: [{schema: {properties: {containers: {type: array}}}}]}\n",
            id="a definition that only describes containers",
        ),
    ],
)
def test_what_asks_for_no_gpu_is_no_workload(text: str) -> None:
    assert reading.workloads(text) == []
