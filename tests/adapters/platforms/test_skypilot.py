"""SkyPilot: which files are tasks, what they may run on, and what their script starts there."""

from __future__ import annotations

import textwrap

import pytest
import reading
from reading import source, values

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown

TORCHRUN = "torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE train.py"


def task(resources: str, run: str = "python serve.py", more: str = "") -> Role:
    return reading.role(f"name: job\nresources: {resources}\nrun: |\n{textwrap.indent(run, '  ')}\n{more}")


def claimed(text: str) -> bool:
    (document,) = documents.load("task.yaml", textwrap.dedent(text).encode()).documents
    adapter = adapters.find_adapter(document)
    return adapter is not None and adapters.kind(adapter, document) == "SkyPilot task"


def asked(role: Role, name: str) -> object:
    value = role.value(name)
    return f"unknown: {value.category}" if isinstance(value, Unknown) else value


# ---- which files are one


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("resources: {accelerators: 'H100:8'}", id="accelerators alone"),
        pytest.param("resources: {cloud: aws, cpus: 4}\nrun: echo", id="a CPU task"),
        pytest.param("num_nodes: 2\nrun: echo hi", id="nodes and a script"),
        pytest.param("setup: pip install x\nrun: echo $SKYPILOT_NODE_RANK", id="a script of SkyPilot's variables"),
        pytest.param("resources: {infra: k8s/x, image_id: 'docker:a/b'}\nservice: {replicas: 2}", id="a service"),
    ],
)
def test_a_mapping_of_its_keys_is_a_task(text: str) -> None:
    assert claimed(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("run: make", id="a run key alone"),
        pytest.param("name: x\nresources: {limits: {nvidia.com/gpu: 1}}", id="Helm values"),
        pytest.param("name: x\nresources: {memory: 4, cpus: 2}", id="resources that are anyone's"),
        pytest.param("model_name: x\nresources: {accelerator: L4}", id="Truss"),
        pytest.param("type: task\nresources: {gpu: 1}\ncommands: [ls]", id="dstack"),
        pytest.param("on: push\njobs: {a: {steps: [{run: make}]}}", id="a workflow"),
    ],
)
def test_another_file_is_none(text: str) -> None:
    assert not claimed(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("resources: {accelerators: tpu-v6e-8}\nrun: python train.py", id="a TPU"),
        pytest.param("resources: {cloud: aws}\nrun: python train.py", id="no accelerator"),
    ],
)
def test_a_task_without_gpus_is_no_workload(text: str) -> None:
    assert reading.workloads(text) == []


# ---- what it runs on


@pytest.mark.parametrize(
    ("accelerators", "product", "count"),
    [
        ("'H100:8'", "h100-sxm-80gb", 8),
        ("H100", "h100-sxm-80gb", 1),
        ("A100", "a100-sxm4-40gb", 1),
        ("'A100-80GB:4'", "a100-sxm4-80gb", 4),
        ("{L4: 2}", "l4", 2),
        ("a100:8", "a100-sxm4-40gb", 8),
        ("'H100:8 '", "h100-sxm-80gb", 8),
        ("{'L4:2': null}", "l4", 2),
        ("{L4: 1, A10G: 1}", "unknown: queue or partition", 1),
        ("{L4: 8, A100-80GB: 2}", "unknown: queue or partition", "unknown: queue or partition"),
        ("['L4:8', 'L40S:8']", "unknown: queue or partition", 8),
        ("['H100:8', 'H100-SXM:8']", "h100-sxm-80gb", 8),
        ("'L4:0.5'", "l4", "unknown: queue or partition"),
        ("'MyGPU:2'", "unknown: ", 2),
        ("'H100:${N}'", "h100-sxm-80gb", "unknown: placeholder"),
    ],
)
def test_the_accelerators_of_a_task(accelerators: str, product: str, count: object) -> None:
    found = task(f"{{accelerators: {accelerators}}}")
    assert (asked(found, "accelerator"), asked(found, "gpus_per_pod")) == (product, count)


@pytest.mark.parametrize("written", ["H100:8", "H100:8 "])
def test_the_location_of_a_count_ends_before_a_blank(written: str) -> None:
    (origin,) = task(f"{{accelerators: '{written}'}}").fields["gpus_per_pod"].origins
    assert origin.span == (5, 6)


@pytest.mark.parametrize("key", ["any_of", "ordered"])
def test_several_offers_leave_the_product_open(key: str) -> None:
    found = task(f"{{{key}: [{{infra: aws, accelerators: 'L4:4'}}, {{infra: gcp, accelerators: 'L40S:4'}}]}}")
    assert asked(found, "accelerator") == "unknown: queue or partition"
    assert values(found, "gpus_per_pod") == [4]


def test_offers_of_one_accelerator_in_several_clouds_leave_nothing_open() -> None:
    found = task("{accelerators: 'H100:8', any_of: [{infra: aws}, {infra: gcp}]}")
    assert values(found, "accelerator", "gpus_per_pod") == ["h100-sxm-80gb", 8]


def test_a_machine_type_tells_both() -> None:
    found = task("{instance_type: p4d.24xlarge}")
    assert values(found, "accelerator", "gpus_per_pod") == ["a100-sxm4-40gb", 8]


def test_each_part_of_a_request_has_its_place() -> None:
    found = task("{accelerators: 'A100-80GB:4'}")
    assert (source(found, "accelerator"), source(found, "gpus_per_pod")) == ("A100-80GB", "4")


# ---- what it starts


def test_parallelism_from_skypilots_own_count_is_that_count() -> None:
    run = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size $SKYPILOT_NUM_GPUS_PER_NODE"
    found = task("{accelerators: 'H100:4', image_id: 'docker:vllm/vllm-openai:v0.10.1'}", run)
    assert values(found, "engine", "engine_version", "checkpoint", "tensor_parallel") == [
        "vllm",
        "0.10.1",
        "Qwen/Qwen3-8B",
        4,
    ]


def test_a_launcher_has_the_nodes_and_processes_of_the_task() -> None:
    found = task("{accelerators: 'H100:8'}", TORCHRUN, "num_nodes: 4")
    assert values(found, "processes_per_pod", "pods_per_replica", "gpus_per_replica") == [8, 4, 32]


def test_variables_of_the_task_reach_the_script() -> None:
    run = "vllm serve $MODEL --max-model-len ${LEN}"
    found = task("{accelerators: L4}", run, "envs: {MODEL: Qwen/Qwen3-8B, LEN: 4096}")
    assert values(found, "checkpoint", "max_model_len") == ["Qwen/Qwen3-8B", 4096]


def test_a_variable_without_a_value_is_the_callers() -> None:
    found = task("{accelerators: L4}", "vllm serve --model $MODEL", "envs: {MODEL: null}")
    assert asked(found, "checkpoint") == "unknown: caller's variable"


@pytest.mark.parametrize(
    ("service", "replicas"),
    [
        ("{replicas: 2}", 2),
        ("{replica_policy: {min_replicas: 1, max_replicas: 4}}", "unknown: "),
        ("{replica_policy: {min_replicas: 3}}", 3),
    ],
)
def test_the_replicas_of_a_service(service: str, replicas: object) -> None:
    found = task("{accelerators: L4}", "vllm serve a/b", f"service: {service}")
    assert asked(found, "replicas") == replicas


def test_servers_on_several_nodes_may_not_be_one() -> None:
    found = task("{accelerators: 'H100:8'}", "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8", "num_nodes: 2")
    assert isinstance(found.value("gpus_per_replica"), Unknown)


def test_every_document_of_a_pipeline_is_a_task_of_its_own() -> None:
    text = "name: pipe\n---\nname: a\nresources: {accelerators: L4}\nrun: x\n---\nname: b\nresources: {accelerators: T4}\nrun: y"
    assert [one.name for one in reading.workloads(text)] == ["a", "b"]


# ---- what a cloud means by a name


@pytest.mark.parametrize(
    ("resources", "product"),
    [
        ("{accelerators: 'RTXA4000:2'}", "rtx-a4000"),
        ("{accelerators: RTX6000-Ada}", "rtx-6000-ada"),
        ("{accelerators: RTXPRO6000-WK}", "rtx-pro-6000-ws"),
        ("{cloud: runpod, accelerators: H100}", "h100-pcie-80gb"),
        ("{infra: RunPod/US, accelerators: 'A100-80GB:4'}", "a100-pcie-80gb"),
        ("{cloud: runpod, accelerators: H100-SXM}", "h100-sxm-80gb"),
        ("{cloud: aws, accelerators: 'H100:8'}", "h100-sxm-80gb"),
    ],
)
def test_a_cloud_may_mean_another_product_by_a_name(resources: str, product: str) -> None:
    assert task(resources).value("accelerator") == product


@pytest.mark.parametrize("program", ['"$HOME_OF/bin/vllm"', "${VENV}/vllm", "$(which vllm)", "$(command -v vllm)"])
def test_an_engine_in_a_folder_that_is_not_known_is_read_by_its_name(program: str) -> None:
    found = task("{accelerators: L4}", f"{program} serve a/b -tp 1")
    assert values(found, "engine", "checkpoint", "tensor_parallel") == ["vllm", "a/b", 1]


@pytest.mark.parametrize("run", ['"$PROGRAM" serve a/b', "$(./pick vllm) serve a/b", "$X/vllm/run serve a/b"])
def test_a_program_that_a_variable_names_is_no_engine(run: str) -> None:
    assert task("{accelerators: L4}", run).text("engine") == ""
