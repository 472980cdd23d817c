"""What unseen repositories showed of Kubernetes kinds: the smallest spec of each cause."""

from __future__ import annotations

import pytest
import reading
import samples

from gpulint.workload import Role


def _container(resources: str, selector: str = "") -> Role:
    text = f"{{name: train, image: example.org/train:1, resources: {resources}}}"
    return reading.role(
        f"""
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: fine-tune}}
        spec: {{template: {{spec: {{{selector}containers: [{text}]}}}}}}
        """
    )


@pytest.mark.parametrize(
    ("name", "accelerator"),
    [
        ("nvidia.com/a40", "a40"),
        ("nvidia.com/rtxa6000", "rtx-a6000"),
        ("nvidia.com/rtx8000", "quadro-rtx-8000"),
        ("nvidia.com/a100", "unknown: the accelerator depends on the nodes that offer nvidia.com/a100"),
        ("nvidia.com/gh200", "unknown: the accelerator depends on the nodes that offer nvidia.com/gh200"),
        ("nvidia.com/mig-small", "unknown: the cluster decides which MIG slice nvidia.com/mig-small is"),
    ],
)
def test_a_cluster_that_offers_cards_under_their_products_names_grants_gpus(name: str, accelerator: str) -> None:
    """National Research Platform, GPU pods, Requesting special GPUs: the list of resources."""
    role = _container(f"{{limits: {{{name}: 2}}, requests: {{{name}: 2}}}}")
    assert reading.values(role, "gpus_per_pod", "gpu_limit", "gpu_request", "accelerator") == [2, 2, 2, accelerator]
    assert reading.source(role, "accelerator") == name


def test_a_node_label_tells_which_of_the_products_a_renamed_resource_is() -> None:
    label = "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}, "
    assert reading.values(_container("{limits: {nvidia.com/a100: 1}}", label), "accelerator") == ["a100-sxm4-80gb"]
    of_cluster = "nodeSelector: {example.org/pool: big}, "
    assert reading.values(_container("{limits: {nvidia.com/a40: 1}}", of_cluster), "accelerator") == ["a40"]


def test_the_slice_of_a_clusters_own_name_is_never_the_whole_card_of_the_label() -> None:
    label = "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}, "
    role = _container("{limits: {nvidia.com/mig-small: 1}}", label)
    assert reading.values(role, "accelerator") == [
        "unknown: the cluster decides which MIG slice nvidia.com/mig-small is"
    ]
    sliced = "nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-1g.10gb}, "
    told = _container("{limits: {nvidia.com/mig-small: 1}}", sliced)
    assert reading.values(told, "accelerator", "mig_profile") == ["a100-sxm4-80gb", "1g.10gb"]


@pytest.mark.parametrize(
    "name", ["nvidia.com/hostdev", "nvidia.com/GRID_A100-10C", "nvidia.com/A10-12Q", "nvidia.com/tools"]
)
def test_resources_of_other_devices_and_shares_of_cards_are_no_gpus(name: str) -> None:
    assert not reading.workloads(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: agent}}
        spec: {{containers: [{{name: agent, image: example.org/agent:1, resources: {{limits: {{{name}: 1}}}}}}]}}
        """
    )


def test_the_program_behind_mpirun_is_what_the_workers_run() -> None:
    role = reading.role(
        """
        apiVersion: kubeflow.org/v2beta1
        kind: MPIJob
        metadata: {name: bandwidth}
        spec:
          slotsPerWorker: 8
          mpiReplicaSpecs:
            Launcher:
              template:
                spec:
                  containers:
                    - name: launcher
                      image: example.org/nccl-tests:1
                      command: [/bin/bash, -c]
                      args: ["sleep 5; mpirun -np 16 --bind-to none -x NCCL_DEBUG=INFO /opt/all_reduce_perf -b 8 -e 8G"]
            Worker:
              replicas: 2
              template:
                spec:
                  containers:
                    - {name: worker, image: "example.org/nccl-tests:1", resources: {limits: {nvidia.com/gpu: 8}}}
        """
    )
    assert reading.values(role, "program", "gpus_per_pod", "pods_per_replica") == ["all_reduce_perf", 8, 2]


def test_the_workers_of_an_mpi_job_of_the_first_version_stand_in_one_template() -> None:
    """kubeflow/mpi-operator v0.2.3 pkg/apis/kubeflow/v1alpha1/types.go: replicas or processing units."""
    text = """
        apiVersion: kubeflow.org/v1alpha1
        kind: MPIJob
        metadata: {{name: resnet}}
        spec:
          {count}
          template:
            spec:
              containers:
                - name: worker
                  image: example.org/horovod:1
                  command: [mpirun, python, train.py]
                  resources: {{limits: {{nvidia.com/gpu: 4}}}}
        """
    known = reading.role(text.format(count="replicas: 2"))
    assert reading.values(known, "gpus_per_pod", "pods_per_replica", "gpus_per_replica") == [4, 2, 8]
    open_ended = reading.role(text.format(count="processingUnits: 8"))
    reason = "unknown: the operator spreads the processing units over nodes"
    assert reading.values(open_ended, "gpus_per_pod", "pods_per_replica") == [4, reason]


def test_an_elastic_run_that_no_metric_scales_has_the_workers_it_states() -> None:
    """kubeflow/training-operator v1.9.0 pkg/controller.v1/pytorch/hpa.go: no metrics, no autoscaler."""
    text = """
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {{name: fsdp}}
        spec:
          elasticPolicy: {{minReplicas: 1, maxReplicas: 96{metrics}}}
          pytorchReplicaSpecs:
            Worker:
              replicas: 2
              template:
                spec:
                  containers:
                    - name: pytorch
                      image: example.org/fsdp:1
                      command: [torchrun, --nproc_per_node=8, --nnodes=2, train.py]
                      resources: {{limits: {{nvidia.com/gpu: 8}}}}
        """
    assert reading.values(reading.role(text.format(metrics="")), "pods_per_replica") == [2]
    scaled = reading.role(text.format(metrics=", metrics: [{type: Resource, resource: {name: cpu}}]"))
    assert reading.values(scaled, "pods_per_replica") == ["unknown: the elastic policy scales the workers (1 to 96)"]


OPENSHIFT_TEMPLATE = """
    apiVersion: template.openshift.io/v1
    kind: Template
    metadata: {{name: serving}}
    parameters: [{{name: GPUS, value: "1"}}]
    objects:
      - apiVersion: {api}
        kind: {kind}
        metadata: {{name: chat}}
        spec: {spec}
    """
SERVER = "{name: server, image: example.org/chat:1, resources: {limits: {nvidia.com/gpu: GPUS}}}"


def test_the_objects_of_an_openshift_template_are_read_as_what_they_are() -> None:
    """openshift/api template/v1/types.go: Template.objects."""
    containers = SERVER.replace("GPUS", "'${GPUS}'")
    spec = f"{{replicas: 2, template: {{spec: {{containers: [{containers}]}}}}}}"
    role = reading.role(OPENSHIFT_TEMPLATE.format(api="apps/v1", kind="Deployment", spec=spec))
    assert reading.values(role, "gpus_per_pod", "replicas") == ["unknown: the GPU count is ${GPUS}", 2]


def test_a_serving_runtime_in_an_openshift_template_is_no_workload() -> None:
    spec = f"{{containers: [{SERVER.replace('GPUS', '1')}]}}"
    text = OPENSHIFT_TEMPLATE.format(api="serving.kserve.io/v1alpha1", kind="ServingRuntime", spec=spec)
    assert not reading.workloads(text)


@pytest.mark.parametrize(("kind", "privileged"), [("Deployment", True), ("DaemonSet", None)])
def test_what_looks_after_nodes_may_be_privileged(kind: str, privileged: bool | None) -> None:
    role = reading.role(
        f"""
        apiVersion: apps/v1
        kind: {kind}
        metadata: {{name: exporter}}
        spec:
          template:
            spec:
              containers:
                - name: exporter
                  image: example.org/exporter:1
                  securityContext: {{privileged: true}}
                  resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """
    )
    assert reading.values(role, "privileged") == [privileged]


def test_a_runtime_that_services_are_made_from_is_not_told_to_be_unread() -> None:
    """Its adapter knows it; a custom object of a kind that nobody knows, with GPUs where no pod is seen, is told."""
    spec = "{containers: [{name: server, image: example.org/chat:1, resources: {limits: {nvidia.com/gpu: 1}}}]}"
    known = f"apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {{name: own}}\nspec: {spec}\n"
    unknown = "apiVersion: example.org/v1\nkind: Fleet\nspec: {worker: {resources: {limits: {nvidia.com/gpu: 8}}}}\n"
    assert samples.report(known).skipped == ()
    assert [skip.reason for skip in samples.report(unknown).skipped] == [
        "requests GPUs in an object of an unknown kind"
    ]


@pytest.mark.parametrize(("annotations", "replicas"), [("", 1), ("kubeflow-resource-stopped: '2026-11-20'", 0)])
def test_a_notebook_is_one_pod_and_none_once_it_is_stopped(annotations: str, replicas: int) -> None:
    """kubeflow/notebooks components/notebook-controller/controllers/notebook_controller.go: generateStatefulSet."""
    role = reading.role(
        f"""
        apiVersion: kubeflow.org/v1
        kind: Notebook
        metadata: {{name: explore, annotations: {{{annotations}}}}}
        spec: {{template: {{spec: {{containers: [{SERVER.replace("GPUS", "1")}]}}}}}}
        """
    )
    assert reading.values(role, "gpus_per_pod", "pods_per_replica", "replicas") == [1, 1, replicas]


def test_a_patch_that_asks_for_gpus_is_counted_as_a_patch_and_not_as_unread() -> None:
    resources = "{limits: {nvidia.com/gpu: 1}}"
    spec = f"{{template: {{spec: {{containers: [{{name: nim, resources: {resources}}}]}}}}}}"
    patch = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: nim}}\nspec: {spec}\n"
    assert [(skip.reason, skip.cause) for skip in samples.report(patch).skipped] == [("patch", "patch")]


def test_a_switch_that_is_neither_on_nor_off_is_unknown_and_breaks_no_rule() -> None:
    arguments = "[--model=Qwen/Qwen2.5-7B-Instruct, --max-num-batched-tokens=1024, --max-model-len=4096, {}]"
    open_ended = reading.server(arguments.format("--enable-chunked-prefill, maybe"))
    assert reading.values(open_ended, "enable_chunked_prefill") == ["unknown: maybe is neither true nor false"]
    assert reading.values(reading.server(arguments.format("--enable-chunked-prefill")), "enable_chunked_prefill") == [
        True
    ]


def test_a_probe_whose_path_is_no_text_is_left_alone() -> None:
    probe = "{httpGet: {path: [/health], port: 8000}, periodSeconds: 5}"
    spec = f"{{replicas: 1, template: {{spec: {{containers: [{{name: s, image: i, livenessProbe: {probe}}}]}}}}}}"
    text = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: vllm}}\nspec: {spec}\n"
    asked = text.replace("image: i", "image: i, resources: {limits: {nvidia.com/gpu: 1}}")
    assert samples.report(asked).failures == ()


def test_a_pod_that_any_node_with_gpus_may_take_says_who_decides_the_product() -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {{name: chat}}\nspec: {{{selector}containers: [{container}]}}\n"
    asking = SERVER.replace("GPUS", "1")
    (role,) = samples.roles(samples.report(pod.format(selector="", container=asking)))
    (told,) = (one for one in role.explained if one.quantity == "accelerator")
    assert (told.category, told.location.line) == ("any host", 4)
    assert told.reason == "the accelerator depends on the nodes that offer nvidia.com/gpu"


@pytest.mark.parametrize(
    ("selector", "gpus"),
    [
        ("nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}, ", "1"),
        ("nodeSelector: {example.org/pool: a}, ", "1"),
        ("", "0"),
    ],
)
def test_where_a_label_or_a_count_of_none_tells_the_nodes_are_not_said_to_decide(selector: str, gpus: str) -> None:
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: chat}}\nspec: {{{selector}containers: [{SERVER}]}}\n"
    reported = samples.roles(samples.report(pod.replace("GPUS", gpus)))
    assert not any("no label names" in one.reason for role in reported for one in role.explained)
