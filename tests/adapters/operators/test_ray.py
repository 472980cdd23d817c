"""Ray Serve LLM: the configurations in the YAML text of a RayService, with exact places in it, and the pods they run on."""

from __future__ import annotations

import textwrap

import pytest
import reading

from gpulint.suggestions.edits import accelerator_names
from gpulint.workload import Role, Unknown, Workload

CONFIG = """
applications:
- name: llms
  import_path: ray.serve.llm:build_openai_app
  args:
    llm_configs:
    - model_loading_config:
        model_id: chat
        model_source: Qwen/Qwen2.5-7B-Instruct
      accelerator_type: L4
      engine_kwargs:
        tensor_parallel_size: 4
        max_model_len: 8192
        gpu_memory_utilization: 0.9
        enable_prefix_caching: true
        enforce_eager: false
        kv_cache_dtype: "fp8"
      deployment_config:
        autoscaling_config: {min_replicas: 1, max_replicas: 4}
"""
GROUP = """
- groupName: gpus
  replicas: 2
  template:
    spec:
      containers:
      - name: worker
        image: rayproject/ray-llm:2.52.0-py311-cu128
        resources: {limits: {nvidia.com/gpu: 4}}
"""


def service(config: str = CONFIG, groups: str = GROUP, style: str = "|") -> Workload:
    head = "{template: {spec: {containers: [{name: head, image: 'rayproject/ray-llm:2.52.0'}]}}}"
    return reading.workload(
        "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: llm}\nspec:\n"
        + f"  serveConfigV2: {style}\n{textwrap.indent(config.strip(), '    ')}\n"
        + f"  rayClusterConfig:\n    headGroupSpec: {head}\n"
        + f"    workerGroupSpecs:\n{textwrap.indent(groups.strip(), '    ')}\n"
    )


def only(workload: Workload) -> Role:
    (role,) = workload.roles
    return role


def test_a_configuration_runs_on_the_group_that_has_the_gpus() -> None:
    found = service()
    role = only(found)
    assert (found.name, found.kind, found.adapter, role.name) == ("llm", "inference", "ray", "chat")
    assert reading.values(role, "engine", "checkpoint", "gpus_per_pod", "accelerator_resource") == [
        "vllm",
        "Qwen/Qwen2.5-7B-Instruct",
        4,
        "nvidia.com/gpu",
    ]


@pytest.mark.parametrize(
    ("quantity", "value", "source"),
    [
        ("tensor_parallel", 4, "4"),
        ("max_model_len", 8192, "8192"),
        ("gpu_memory_utilization", 0.9, "0.9"),
        ("enable_prefix_caching", True, "true"),
        ("enforce_eager", False, "false"),
        ("kv_cache_dtype", "fp8", '"fp8"'),
        ("checkpoint", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct"),
        ("accelerator", "l4", "L4"),
    ],
)
def test_each_value_stands_where_the_text_has_it(quantity: str, value: object, source: str) -> None:
    role = only(service())
    assert (reading.values(role, quantity), reading.source(role, quantity)) == ([value], source)


def test_lines_of_the_inner_text_are_lines_of_the_file() -> None:
    assert reading.place(only(service()), "tensor_parallel") == "16:35-36"


def test_a_replica_takes_a_gpu_for_each_rank() -> None:
    """ray python/ray/llm/_internal/serve/engines/vllm/vllm_models.py, placement_bundles."""
    assert reading.values(only(service()), "gpus_per_replica") == [4]
    staged = CONFIG.replace("max_model_len: 8192", "pipeline_parallel_size: 2")
    assert reading.values(only(service(staged)), "gpus_per_replica") == [8]
    single = CONFIG.replace("tensor_parallel_size: 4", "seed: 1")
    assert reading.values(only(service(single)), "gpus_per_replica") == [1]


@pytest.mark.parametrize(
    "extra", ["placement_group_config: {bundles: [{GPU: 0.5}]}", "engine_kwargs: {data_parallel_size: 2}"]
)
def test_a_configuration_that_places_workers_itself_leaves_the_count_open(extra: str) -> None:
    config = CONFIG[: CONFIG.index("      engine_kwargs")] + f"      {extra}\n"
    found = reading.values(only(service(config)), "gpus_per_replica")
    assert found == ["unknown: the configuration places its workers itself"]


@pytest.mark.parametrize(
    ("lines", "replicas"),
    [
        ("{num_replicas: 3}", 3),
        ("{autoscaling_config: {min_replicas: 2, max_replicas: 2}}", 2),
        ("{autoscaling_config: {min_replicas: 0, max_replicas: 2}}", "unknown: Ray Serve scales the replicas"),
    ],
)
def test_replicas_are_known_where_nothing_scales_them(lines: str, replicas: object) -> None:
    config = CONFIG[: CONFIG.index("      deployment_config")] + f"      deployment_config: {lines}\n"
    assert reading.values(only(service(config)), "replicas") == [replicas]


def test_the_pods_own_label_counts_more_than_the_accelerator_type() -> None:
    labelled = GROUP.replace(
        "    spec:\n", "    spec:\n      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-b200}\n"
    )
    assert reading.values(only(service(groups=labelled)), "accelerator") == ["b200-sxm-180gb"]


def test_a_label_and_an_accelerator_type_of_the_same_product_change_together() -> None:
    """Ray places the model where its accelerator type is: with another card behind the label alone it waits forever."""
    groups = GROUP.replace(
        "      containers:", "      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n      containers:"
    )
    role = only(service(groups=groups))
    assert accelerator_names.relabel(role, "h100-sxm-80gb") == ("nvidia-h100-80gb", "H100")
    assert accelerator_names.relabel(role, "rtx-pro-6000-se") is None


def test_an_accelerator_type_of_several_products_is_unknown() -> None:
    found = only(service(CONFIG.replace("accelerator_type: L4", "accelerator_type: A100")))
    assert reading.values(found, "accelerator") == ["unknown: the accelerator A100 is not known"]


def test_the_id_is_the_checkpoint_where_no_source_is_named() -> None:
    config = CONFIG.replace("        model_source: Qwen/Qwen2.5-7B-Instruct\n", "").replace(
        "model_id: chat", "model_id: Qwen/Qwen3-8B"
    )
    assert reading.values(only(service(config)), "checkpoint") == ["Qwen/Qwen3-8B"]


def test_weights_in_a_bucket_are_not_known() -> None:
    config = CONFIG.replace("model_source: Qwen/Qwen2.5-7B-Instruct", "model_source: {bucket_uri: 's3://a/b'}")
    assert reading.values(only(service(config)), "checkpoint") == ["unknown: model_source is not text"]


def test_keyword_arguments_are_no_misspelt_command_line() -> None:
    role = only(service(CONFIG.replace("max_model_len: 8192", "device: auto")))
    assert [name for name in role.fields if name.endswith("_argument")] == []


def test_several_configurations_are_a_role_each() -> None:
    second = CONFIG[CONFIG.index("    - model_loading_config") : CONFIG.index("      accelerator_type")].replace(
        "chat", "draft"
    )
    assert [role.name for role in service(CONFIG.rstrip() + "\n" + second).roles] == ["chat", "draft"]


def test_with_two_groups_of_gpus_which_one_runs_it_is_not_known() -> None:
    second = GROUP.replace("gpus", "more").replace("name: worker", "name: other")
    roles = {role.name: role for role in service(groups=GROUP.rstrip() + second).roles}
    assert reading.values(roles["chat"], "gpus_per_pod", "accelerator") == [
        "unknown: the pods that run it are not stated",
        "l4",
    ]
    assert len(roles) == 3


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(
            CONFIG.replace("ray.serve.llm:build_openai_app", "serve:app").replace("model_loading_config", "model"),
            id="a program of one's own",
        ),
        pytest.param(
            CONFIG.replace("model_loading_config:", "llm_engine: other\n      model_loading_config:"),
            id="another engine",
        ),
        pytest.param(CONFIG.replace("    llm_configs:", "    llm_configs: file.yaml\n    others:"), id="a file"),
        pytest.param("applications: [", id="not YAML"),
        pytest.param("a: 1\n---\nb: 2", id="two documents"),
        pytest.param("applications: []", id="no application"),
    ],
)
def test_other_services_are_their_pods(config: str) -> None:
    role = only(service(config))
    assert isinstance(role.value("engine"), Unknown)
    assert reading.values(role, "gpus_per_pod") == [4]


OWN = """
applications:
- name: llm
  import_path: serve_chat:model
  runtime_env: {env_vars: {MODEL_ID: Qwen/Qwen3-8B, TENSOR_PARALLELISM: "2"}}
"""


def test_an_application_of_ones_own_serves_the_model_that_its_variable_names() -> None:
    role = only(service(OWN))
    assert reading.values(role, "checkpoint", "tensor_parallel", "gpus_per_pod") == ["Qwen/Qwen3-8B", None, 4]
    assert role.fields["checkpoint"].assumption == "the application serves Qwen/Qwen3-8B, which MODEL_ID names"
    assert reading.source(role, "checkpoint") == "Qwen/Qwen3-8B"


def test_what_an_application_of_ones_own_runs_is_said_to_be_its_own_program() -> None:
    role = only(service(OWN.replace("Qwen/Qwen3-8B", "chat")))
    for name in ("engine", "checkpoint"):
        value = role.value(name)
        assert isinstance(value, Unknown) and value.category == "own program"
        assert reading.source(role, name) == "serve_chat:model"


def test_with_several_applications_none_of_their_models_is_that_of_the_pods() -> None:
    second = OWN.replace("applications:", "").replace("name: llm", "name: other").strip("\n")
    assert reading.values(only(service(f"{OWN.rstrip()}\n{second}")), "checkpoint") == [None]


def test_the_application_of_an_older_service_stands_beside_its_environment() -> None:
    """kuberay v0.6 ray-operator/apis/ray/v1alpha1/rayservice_types.go: serveConfig.importPath and runtimeEnv, a text."""
    found = reading.workload(
        "apiVersion: ray.io/v1alpha1\nkind: RayService\nmetadata: {name: old}\nspec:\n"
        "  serveConfig:\n    importPath: chat:entrypoint\n"
        "    runtimeEnv: |\n      env_vars: {MODEL_ID: Qwen/Qwen3-8B}\n"
        f"  rayClusterConfig:\n    workerGroupSpecs:\n{textwrap.indent(GROUP.strip(), '    ')}\n"
    )
    assert reading.values(only(found), "checkpoint") == ["Qwen/Qwen3-8B"]
    assert reading.place(only(found), "checkpoint") == "8:28-41"


def test_ranks_that_fill_whole_pods_tell_how_many_there_are() -> None:
    staged = CONFIG.replace("max_model_len: 8192", "pipeline_parallel_size: 2")
    assert reading.values(only(service(staged)), "pods_per_replica") == [2]
    uneven = CONFIG.replace("tensor_parallel_size: 4", "tensor_parallel_size: 6")
    assert reading.values(only(service(uneven)), "pods_per_replica") == ["unknown: Ray spreads the ranks over the pods"]


def test_a_service_without_pods_of_gpus_is_its_configurations() -> None:
    found = service(groups=GROUP.replace("nvidia.com/gpu: 4", "cpu: 4"))
    assert reading.values(only(found), "engine", "gpus_per_pod") == [
        "vllm",
        "unknown: the pods that run it are not stated",
    ]


CLUSTER = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: chat}}
spec:
  headGroupSpec:
    template:
      spec:
        containers:
          - name: head
            image: registry.example/vllm:1
            command: [vllm, serve, meta-llama/Llama-3.1-70B-Instruct, --tensor-parallel-size, "16"]
            resources: {{limits: {{nvidia.com/gpu: 2}}}}
  workerGroupSpecs:
    - groupName: workers
      replicas: {replicas}
      template:
        spec:
          containers: [{{name: worker, image: "registry.example/vllm:1", resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]
"""


@pytest.mark.parametrize(("replicas", "gpus", "total"), [(7, 2, 16), (6, 2, 14)])
def test_a_server_in_the_head_of_a_cluster_has_the_gpus_of_all_its_pods(replicas: int, gpus: int, total: int) -> None:
    """2 GPUs of the head and 2 of each worker."""
    workload = reading.workload(CLUSTER.format(replicas=replicas, gpus=gpus))
    (server,) = [role for role in workload.roles if role.text("engine") == "vllm"]
    assert server.value("gpus_per_replica") == total


def test_groups_of_other_sizes_leave_the_gpus_of_a_cluster_open() -> None:
    workload = reading.workload(CLUSTER.format(replicas=3, gpus=4))
    (server,) = [role for role in workload.roles if role.text("engine") == "vllm"]
    assert isinstance(server.value("gpus_per_replica"), Unknown)
