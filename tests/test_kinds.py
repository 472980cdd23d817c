"""Kinds of training, of batches and of Ray: which pods form one run, how many there are, and what joins them."""

from __future__ import annotations

import textwrap

import pytest
import reading
from samples import ExampleRepository

from gpulint import adapters
from gpulint.adapters import kubernetes
from gpulint.catalog import tables
from gpulint.source import documents
from gpulint.workload import Role, Unknown, Workload

COUNTS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas")
CONTAINER = "{name: train, image: registry.example.com/train:1, resources: {limits: {nvidia.com/gpu: 8}}}"
SPEC = f"{{containers: [{CONTAINER}]}}"
CPU = "{containers: [{name: mpi, image: registry.example.com/train:1, command: [%s]}]}"


def made(version: str, kind: str, spec: str) -> str:
    """An object of that kind, its spec in flow style."""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"


def of(text: str, files: dict[str, str] | None = None) -> list[Workload]:
    """The workloads of a spec in a repository that holds other files."""
    repository = ExampleRepository({path: textwrap.dedent(content).encode() for path, content in (files or {}).items()})
    loaded = documents.load("spec.yaml", textwrap.dedent(text).encode())
    return [workload for document in loaded.documents for workload in adapters.read(document, repository)]


def only(found: list[Workload]) -> Role:
    (workload,) = found
    (role,) = workload.roles
    return role


def category(role: Role, name: str) -> str:
    value = role.value(name)
    return value.category if isinstance(value, Unknown) else f"known: {value}"


# ---- Kubeflow, version 1


def pytorch_job(replicas: str, more: str = "") -> str:
    return made("kubeflow.org/v1", "PyTorchJob", f"{{{more}pytorchReplicaSpecs: {{{replicas}}}}}")


MASTER = f"Master: {{replicas: 1, template: {{spec: {SPEC}}}}}"
WORKER = f"Worker: {{replicas: 3, template: {{spec: {SPEC}}}}}"


def test_master_and_workers_of_a_pytorch_job_are_nodes_of_one_run() -> None:
    (found,) = of(pytorch_job(f"{WORKER}, {MASTER}"))
    master, worker = found.roles
    assert (found.kind, master.name, worker.name) == ("training", "master/train", "worker/train")
    assert reading.values(master, *COUNTS, "part_of") == [8, 1, 32, 1, None]
    assert reading.values(worker, *COUNTS, "part_of") == [8, 3, 24, 1, "master/train"]


def test_ranks_a_node_are_read_as_number_or_text_and_left_open_where_torchrun_counts() -> None:
    """training-operator v1.9.0 pytorch_types.go: nprocPerNode is one of auto, cpu, gpu or a number."""
    assert reading.values(only(of(pytorch_job(WORKER, 'nprocPerNode: "4", '))), "processes_per_pod") == [4]
    assert reading.values(only(of(pytorch_job(WORKER, "nprocPerNode: auto, "))), "processes_per_pod") == [None]
    assert reading.values(only(of(pytorch_job(WORKER))), "processes_per_pod") == [None]


def test_an_elastic_policy_makes_the_workers_a_range_and_its_metric_an_autoscaler() -> None:
    metric = "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]"
    role = only(of(pytorch_job(WORKER, f"elasticPolicy: {{minReplicas: 1, maxReplicas: 3, {metric}}}, ")))
    reason = "unknown: the elastic policy scales the workers (1 to 3)"
    assert reading.values(role, *COUNTS) == [8, reason, reason, 1]
    assert reading.values(role, "autoscaler_metric") == ["cpu"]
    assert reading.source(role, "autoscaler_metric") == "cpu"


def test_an_elastic_policy_whose_bounds_are_the_replicas_scales_nothing() -> None:
    role = only(of(pytorch_job(WORKER, "elasticPolicy: {minReplicas: 3, maxReplicas: 3}, ")))
    assert reading.values(role, "pods_per_replica", "autoscaler_metric") == [3, None]
    assert reading.values(only(of(pytorch_job(WORKER, "elasticPolicy: {}, "))), "pods_per_replica") == [3]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        *(("TFJob", "tfReplicaSpecs"), ("XGBoostJob", "xgbReplicaSpecs"), ("PaddleJob", "paddleReplicaSpecs")),
        ("JAXJob", "jaxReplicaSpecs"),
    ],
)
def test_the_other_jobs_of_kubeflow_count_their_replicas_as_nodes(kind: str, key: str) -> None:
    text = made("kubeflow.org/v1", kind, f"{{{key}: {{Worker: {{replicas: 2, template: {{spec: {SPEC}}}}}}}}}")
    assert reading.values(only(of(text)), *COUNTS) == [8, 2, 16, 1]


def mpi_job(version: str = "kubeflow.org/v2beta1", more: str = "slotsPerWorker: 8, ") -> str:
    launcher = f"Launcher: {{replicas: 1, template: {{spec: {CPU % 'mpirun, -np, 16, python, train.py'}}}}}"
    worker = f"Worker: {{replicas: 2, template: {{spec: {SPEC}}}}}"
    return made(version, "MPIJob", f"{{{more}mpiReplicaSpecs: {{{launcher}, {worker}}}}}")


@pytest.mark.parametrize("version", ["kubeflow.org/v2beta1", "kubeflow.org/v1"])
def test_the_launcher_of_an_mpi_job_has_no_gpu_and_says_what_the_workers_run(version: str) -> None:
    role = only(of(mpi_job(version)))
    assert role.name == "worker/train"
    assert reading.values(role, *COUNTS, "processes_per_pod", "device") == [8, 2, 16, 1, 8, None]
    said = "program" if "program" in role.fields else "engine"
    assert role.fields[said].origins[0].path[1:3] == ("mpiReplicaSpecs", "Launcher")


def test_an_mpi_job_without_gpus_is_none_of_ours() -> None:
    launcher = f"Launcher: {{replicas: 1, template: {{spec: {CPU % 'mpirun, -np, 16, python, train.py'}}}}}"
    assert of(made("kubeflow.org/v1", "MPIJob", f"{{mpiReplicaSpecs: {{{launcher}}}}}")) == []


def test_replica_specs_of_hyper_pod_add_up() -> None:
    specs = f"[{{name: pods, replicas: 4, template: {{spec: {SPEC}}}}}]"
    text = made("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob", f'{{nprocPerNode: "8", replicaSpecs: {specs}}}')
    role = only(of(text))
    assert reading.values(role, *COUNTS, "processes_per_pod") == [8, 4, 32, 1, 8]


def test_tasks_of_a_volcano_job_start_together() -> None:
    tasks = f"[{{name: worker, replicas: 2, template: {{spec: {SPEC}}}}}]"
    text = made("batch.volcano.sh/v1alpha1", "Job", f"{{minAvailable: 2, tasks: {tasks}}}")
    assert reading.values(only(of(text)), *COUNTS) == [8, 2, 16, 1]


# ---- JobSet, LeaderWorkerSet


def job_set(*jobs: str) -> str:
    return made("jobset.x-k8s.io/v1alpha2", "JobSet", f"{{replicatedJobs: [{', '.join(jobs)}]}}")


def replicated(name: str, spec: str, replicas: int, parallelism: int) -> str:
    job = f"{{spec: {{parallelism: {parallelism}, completions: {parallelism}, template: {{spec: {spec}}}}}}}"
    return f"{{name: {name}, replicas: {replicas}, template: {job}}}"


def test_replicated_jobs_times_their_parallelism_are_the_nodes_of_a_run() -> None:
    assert reading.values(only(of(job_set(replicated("workers", SPEC, 2, 4)))), *COUNTS) == [8, 8, 64, 1]


def test_jobs_of_a_set_that_each_serve_are_not_one_instance() -> None:
    asked = "resources: {limits: {nvidia.com/gpu: 1}}"
    server = (
        f"{{containers: [{{name: chat, image: 'vllm/vllm-openai:v0.10.1', args: [--model=Qwen/Qwen3-8B], {asked}}}]}}"
    )
    (found,) = of(job_set(replicated("one", server, 1, 1), replicated("two", server, 1, 1)))
    assert [reading.values(role, "gpus_per_replica", "part_of") for role in found.roles] == [[1, None], [1, None]]


def leader_worker_set(leader: str, worker: str, metadata: str = "{name: a}") -> str:
    template = f"{{size: 2, leaderTemplate: {{spec: {leader}}}, workerTemplate: {{spec: {worker}}}}}"
    return (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n"
        f"metadata: {metadata}\nspec: {{leaderWorkerTemplate: {template}}}\n"
    )


PINNED = f"{{nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}, containers: [{CONTAINER}]}}"


def test_workers_that_any_node_may_take_lack_the_selector_of_their_leader() -> None:
    (found,) = of(leader_worker_set(PINNED, SPEC))
    leader, worker = found.roles
    assert reading.values(worker, "selector_missing") == ["cloud.google.com/gke-accelerator: nvidia-h100-80gb"]
    assert reading.values(leader, "selector_missing") == [None]
    assert worker.fields["selector_missing"].origins[0].path[-1] == "workerTemplate"


@pytest.mark.parametrize(
    ("leader", "worker", "metadata"),
    [
        pytest.param(PINNED, PINNED, "{name: a}", id="both are pinned"),
        pytest.param(SPEC, SPEC, "{name: a}", id="neither is"),
        pytest.param(
            PINNED,
            f"{{affinity: {{podAffinity: {{}}, nodeAffinity: {{a: b}}}}, containers: [{CONTAINER}]}}",
            "{name: a}",
            id="affinity",
        ),
        pytest.param(
            PINNED, f"{{nodeSelector: {{agentpool: h100}}, containers: [{CONTAINER}]}}", "{name: a}", id="another label"
        ),
        pytest.param(PINNED, SPEC, "{name: a, labels: {kueue.x-k8s.io/queue-name: q}}", id="a queue adds selectors"),
        pytest.param(
            PINNED,
            SPEC,
            "{name: a, annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}}",
            id="one topology",
        ),
        pytest.param(PINNED, "{containers: [{name: wait, image: busybox}]}", "{name: a}", id="workers without GPUs"),
    ],
)
def test_no_selector_is_missed_where_something_steers_the_workers(leader: str, worker: str, metadata: str) -> None:
    (found,) = of(leader_worker_set(leader, worker, metadata))
    assert [reading.values(role, "selector_missing") for role in found.roles] == [[None]] * len(found.roles)


def test_the_size_of_a_group_is_known_to_the_arguments_of_its_leader() -> None:
    """lws v0.10.0 pkg/utils/pod/pod_utils.go: every container is told LWS_GROUP_SIZE."""
    leader = (
        "{containers: [{name: chat, image: 'vllm/vllm-openai:v0.10.1', resources: {limits: {nvidia.com/gpu: 8}}, "
        "args: [--model=Qwen/Qwen3-8B, --tensor-parallel-size=8, --pipeline-parallel-size=$(LWS_GROUP_SIZE)]}]}"
    )
    (found,) = of(leader_worker_set(leader, SPEC))
    assert reading.values(found.roles[0], "pipeline_parallel") == [2]


# ---- Trainer 2

TRAIN_JOB = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: tune}
    spec:
      runtimeRef: {name: torch}
      trainer:
        numNodes: 2
        command: [python, train.py]
        resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
    """
RUNTIME = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: ClusterTrainingRuntime
    metadata: {name: torch}
    spec:
      mlPolicy: {numNodes: 3, torch: {}}
      template:
        spec:
          replicatedJobs:
            - name: model-initializer
              template: {spec: {template: {spec: {containers: [{name: model-initializer, image: init}]}}}}
            - name: node
              template:
                metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                spec:
                  template:
                    spec:
                      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
                      volumes: [{name: shm, emptyDir: {medium: Memory}}]
                      containers:
                        - name: node
                          image: registry.example.com/train:1
                          command: [python, default.py]
                          volumeMounts: [{name: shm, mountPath: /dev/shm}]
                          resources: {limits: {nvidia.com/gpu: 8}}
    """


def test_a_train_job_states_its_nodes_and_gpus_and_its_runtime_the_rest() -> None:
    role = only(of(TRAIN_JOB, {"runtime.yaml": RUNTIME}))
    assert reading.values(role, *COUNTS, "accelerator", "program") == [4, 2, 8, 1, "l4", "train.py"]
    assert reading.values(role, "shared_memory_default", "unmounted_memory_volume") == [False, None]
    first, second = role.fields["accelerator"].origins
    assert (first.path, second.document.path) == (("spec", "runtimeRef", "name"), "runtime.yaml")


def test_what_a_train_job_leaves_out_its_runtime_decides() -> None:
    text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec: {runtimeRef: {name: torch}}\n"
    role = only(of(text, {"runtime.yaml": RUNTIME}))
    assert reading.values(role, *COUNTS, "program") == [8, 3, 24, 1, "default.py"]


def test_without_the_runtime_a_train_job_says_who_decides() -> None:
    role = only(of(TRAIN_JOB))
    assert reading.values(role, *COUNTS) == [4, 2, 8, 1]
    assert category(role, "accelerator") == "another object"
    assert role.fields["accelerator"].origins[0].text() == "torch"
    assert reading.values(role, "shared_memory_default") == [False]


def test_a_selector_that_a_train_job_patches_in_is_its_own() -> None:
    patch = """
      runtimePatches:
        - manager: example.com/team
          trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec:
            {nodeSelector: {cloud.google.com/gke-accelerator: nvidia-b200}}}}}}]}}}
    """
    role = only(
        of(
            textwrap.dedent(TRAIN_JOB).rstrip()
            + "\n"
            + textwrap.indent(textwrap.dedent(patch).strip("\n"), "  ")
            + "\n"
        )
    )
    assert reading.values(role, "accelerator") == ["b200-sxm-180gb"]


def test_the_model_that_a_run_is_initialised_with_is_its_checkpoint() -> None:
    """kubeflow/trainer v2.2.0 trainjob_types.go ModelInitializer: storageUri, hf:// of the hub."""
    own = textwrap.dedent(TRAIN_JOB).rstrip() + "\n  initializer: {model: {storageUri: hf://Qwen/Qwen3-8B}}\n"
    assert reading.values(only(of(own)), "checkpoint") == ["hf://Qwen/Qwen3-8B"]
    step = "template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: model-initializer}}, spec:"
    uri = "image: init, env: [{name: STORAGE_URI, value: 'hf://Qwen/Qwen3-4B'}]}]}}}}"
    runtime = RUNTIME.replace(
        "template: {spec: {template: {spec: {containers: [{name: model-initializer",
        step + " {template: {spec: {containers: [{name: m",
    )
    runtime = runtime.replace("image: init}]}}}}", uri)
    role = only(of(TRAIN_JOB, {"runtime.yaml": runtime}))
    assert reading.values(role, "checkpoint") == ["hf://Qwen/Qwen3-4B"]


def test_a_model_of_elsewhere_names_no_checkpoint() -> None:
    own = textwrap.dedent(TRAIN_JOB).rstrip() + "\n  initializer: {model: {storageUri: s3://bucket/model}}\n"
    assert reading.values(only(of(own)), "checkpoint") == [None]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(RUNTIME, id="a runtime alone"),
        pytest.param(TRAIN_JOB.replace("nvidia.com/gpu: 4", "cpu: 4"), id="a run on CPUs"),
        pytest.param("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nspec: 7\n", id="no spec"),
    ],
)
def test_runtimes_and_runs_without_gpus_are_no_workloads(text: str) -> None:
    assert of(text) == []


# ---- Ray


def ray_cluster(group: str, more: str = "") -> str:
    worker = f"{{groupName: gpus, {group}template: {{spec: {SPEC}}}}}"
    return made("ray.io/v1", "RayCluster", f"{{{more}workerGroupSpecs: [{worker}]}}")


@pytest.mark.parametrize(
    ("group", "more", "pods"),
    [
        ("replicas: 3, ", "", 3),
        ("replicas: 3, numOfHosts: 2, ", "", 6),
        ("replicas: 3, minReplicas: 1, maxReplicas: 2, ", "", 2),
        ("minReplicas: 2, ", "", 2),
        ("replicas: 2, minReplicas: 2, maxReplicas: 2, ", "enableInTreeAutoscaling: true, ", 2),
        (
            *("replicas: 2, minReplicas: 1, maxReplicas: 4, ", "enableInTreeAutoscaling: true, "),
            "unknown: Ray's autoscaler decides how many workers the group has",
        ),
        ("replicas: 0, ", "", "unknown: the group starts without workers"),
    ],
)
def test_workers_of_a_ray_group_are_its_replicas_within_its_bounds(group: str, more: str, pods: object) -> None:
    """kuberay v1.7.0 ray-operator/controllers/ray/utils/util.go GetWorkerGroupDesiredReplicas."""
    assert reading.values(only(of(ray_cluster(group, more))), "pods_per_replica") == [pods]


def test_a_cluster_computes_what_is_submitted_to_it_and_its_operator_mounts_shared_memory() -> None:
    role = only(of(ray_cluster("replicas: 1, ")))
    assert (reading.values(role, "shared_memory_default"), category(role, "engine")) == ([False], "another object")


def test_the_entrypoint_of_a_ray_job_is_what_its_cluster_runs() -> None:
    worker = f"{{groupName: gpus, replicas: 2, template: {{spec: {SPEC}}}}}"
    text = made(
        "ray.io/v1", "RayJob", f"{{entrypoint: python train.py, rayClusterSpec: {{workerGroupSpecs: [{worker}]}}}}"
    )
    role = only(of(text))
    assert reading.values(role, *COUNTS, "program") == [8, 2, 16, 1, "train.py"]
    assert reading.source(role, "program") == "train.py"


def test_the_image_of_an_engine_runs_nothing_where_ray_starts_the_container() -> None:
    """kuberay v1.7.0 ray-operator/controllers/ray/common/pod.go: a container without a command is given `ray start`."""
    image = CONTAINER.replace("registry.example.com/train:1", "'vllm/vllm-openai:v0.10.1'")
    worker = f"{{groupName: gpus, replicas: 1, template: {{spec: {{containers: [{image}]}}}}}}"
    cluster = f"{{headGroupSpec: {{template: {{spec: {{containers: [{image}]}}}}}}, workerGroupSpecs: [{worker}]}}"
    (found,) = of(made("ray.io/v1", "RayJob", f"{{entrypoint: python serve.py, rayClusterSpec: {cluster}}}"))
    assert [reading.values(role, "engine", "part_of") for role in found.roles] == [[None, None], [None, "head/train"]]
    assert reading.values(found.roles[0], "program", "gpus_per_replica") == ["serve.py", 16]


# ---- Spark, Argo


def test_executors_of_spark_name_their_gpus_by_a_key_of_their_own() -> None:
    """spark-operator v2.5.2 api/v1beta2/sparkapplication_types.go GPUSpec."""
    selector = "{cloud.google.com/gke-accelerator: nvidia-l4}"
    executor = f"{{instances: 4, gpu: {{name: nvidia.com/gpu, quantity: 1}}, nodeSelector: {selector}}}"
    text = made(
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        f"{{image: spark, driver: {{cores: 1}}, executor: {executor}}}",
    )
    role = only(of(text))
    assert role.name == "executor"
    assert reading.values(role, *COUNTS, "accelerator") == [1, 1, 1, 4, "l4"]
    assert reading.source(role, "gpus_per_pod") == "1"


def test_a_spark_application_on_cpus_is_no_workload() -> None:
    assert (
        of(made("sparkoperator.k8s.io/v1beta2", "SparkApplication", "{image: spark, executor: {instances: 4}}")) == []
    )


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [("Workflow", "", ""), ("CronWorkflow", "workflowSpec: {", "}"), ("WorkflowTemplate", "", "")],
)
def test_a_step_of_a_workflow_is_a_pod_of_one_container(kind: str, before: str, after: str) -> None:
    step = f"{{name: train, nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}, container: {CONTAINER}}}"
    text = made("argoproj.io/v1alpha1", kind, f"{{{before}templates: [{{name: main, steps: []}}, {step}]{after}}}")
    role = only(of(text))
    assert (role.name, *reading.values(role, "gpus_per_pod", "pods_per_replica", "accelerator")) == (
        "train",
        8,
        1,
        "l4",
    )


def test_a_script_of_a_workflow_is_a_container_too() -> None:
    step = "{name: train, script: {image: train, command: [python], source: 'print()', resources: {limits: {nvidia.com/gpu: 2}}}}"
    assert reading.values(
        only(of(made("argoproj.io/v1alpha1", "Workflow", f"{{templates: [{step}]}}"))), "gpus_per_pod"
    ) == [2]


# ---- Knative


@pytest.mark.parametrize(
    ("annotations", "replicas"),
    [
        ("autoscaling.knative.dev/min-scale: '2', autoscaling.knative.dev/max-scale: '2'", 2),
        (
            "autoscaling.knative.dev/minScale: '1', autoscaling.knative.dev/maxScale: '3'",
            "unknown: the Knative autoscaler decides the number of pods",
        ),
        ("", "unknown: the Knative autoscaler decides the number of pods"),
    ],
)
def test_knative_runs_as_many_pods_as_its_bounds_leave(annotations: str, replicas: object) -> None:
    template = f"{{metadata: {{annotations: {{{annotations}}}}}, spec: {SPEC}}}"
    role = only(of(made("serving.knative.dev/v1", "Service", f"{{template: {template}}}")))
    assert reading.values(role, "replicas") == [replicas]


# ---- what wraps, describes or queues


def test_an_app_wrapper_holds_whole_objects() -> None:
    inner = f"{{apiVersion: v1, kind: Pod, metadata: {{name: inside}}, spec: {SPEC}}}"
    (found,) = of(made("workload.codeflare.dev/v1beta2", "AppWrapper", f"{{components: [{{template: {inner}}}]}}"))
    assert (found.name, found.location().line) == ("inside", 4)
    assert reading.values(found.roles[0], *COUNTS) == [8, 1, 8, 1]


def test_objects_of_a_list_are_read_by_their_own_adapters() -> None:
    worker = f"{{groupName: gpus, replicas: 2, template: {{spec: {SPEC}}}}}"
    inner = (
        f"{{apiVersion: ray.io/v1, kind: RayCluster, metadata: {{name: r}}, spec: {{workerGroupSpecs: [{worker}]}}}}"
    )
    (found,) = of(f"apiVersion: v1\nkind: List\nitems:\n  - {inner}\n")
    assert (found.name, found.adapter) == ("r", "ray")


def queued(spec: str) -> str:
    labels = "{kueue.x-k8s.io/queue-name: team}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, labels: {labels}}}\nspec: {{template: {{spec: {spec}}}}}\n"


def test_a_queue_explains_who_decides_the_card() -> None:
    role = only(of(queued(SPEC)))
    assert (category(role, "accelerator"), reading.source(role, "accelerator")) == ("queue or partition", "team")


def test_a_selector_says_more_than_a_queue() -> None:
    assert reading.values(only(of(queued(PINNED))), "accelerator") == ["h100-sxm-80gb"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            made("rbac.authorization.k8s.io/v1", "ClusterRole", "{rules: [{resources: [nvidia.com/gpu]}]}"), id="rights"
        ),
        pytest.param(made("v1", "PodTemplate", f"{{template: {{spec: {SPEC}}}}}"), id="a template of pods"),
        pytest.param(
            made("kueue.x-k8s.io/v1beta2", "ClusterQueue", "{resourceGroups: [{coveredResources: [nvidia.com/gpu]}]}"),
            id="a queue",
        ),
        pytest.param(
            made("karpenter.sh/v1", "NodePool", "{limits: {nvidia.com/gpu: 8}, template: {spec: {requirements: []}}}"),
            id="a node pool",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  pod.yaml: |\n"
            + textwrap.indent(made("v1", "Pod", SPEC), "    "),
            id="a text that holds an object",
        ),
        pytest.param(
            made("batch/v1", "Job", f"{{template: {{spec: {SPEC.replace('nvidia.com/gpu', 'google.com/tpu')}}}}}"),
            id="TPUs",
        ),
        pytest.param(
            made("argoproj.io/v1alpha1", "Rollout", "{strategy: {canary: {}}}"), id="another kind of the group"
        ),
    ],
)
def test_what_only_speaks_of_gpus_is_recognised_and_left_alone(text: str) -> None:
    (document,) = documents.load("spec.yaml", text.encode()).documents
    assert adapters.find_adapter(document) is not None
    assert of(text) == []


# ---- what operators add


@pytest.mark.parametrize(
    ("text", "runtimes"),
    [
        (pytorch_job(WORKER), True),
        (job_set(replicated("workers", SPEC, 1, 1)), True),
        (ray_cluster("replicas: 1, "), False),
        (made("ml.example.com/v1", "Fleet", f"{{template: {{spec: {SPEC}}}}}"), False),
    ],
    ids=["PyTorchJob", "JobSet", "RayCluster", "a kind that nobody looked up"],
)
def test_shared_memory_is_the_runtimes_only_where_the_operator_is_known_to_mount_none(
    text: str, runtimes: bool
) -> None:
    assert reading.values(only(of(text)), "shared_memory_default") == [runtimes]


def test_every_kind_that_is_read_says_what_its_operator_does_with_shared_memory() -> None:
    """But for HyperPod's, whose operator's source is not public: it stays open."""
    told = {(row["group"], row["kind"]) for row in tables.rows("operators") if row["quantity"] == "shared_memory"}
    assert set(kubernetes.KINDS_READ) - told == {("sagemaker.amazonaws.com", "HyperPodPyTorchJob")}


def test_rows_of_operators_are_sorted_once_each_and_sourced() -> None:
    rows = [(row["group"], row["kind"], row["quantity"]) for row in tables.rows("operators")]
    assert rows == sorted(set(rows))
    assert all(row["source"] and row["date"] for row in tables.rows("operators"))
