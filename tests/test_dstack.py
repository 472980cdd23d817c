"""dstack: which files are configurations, what they ask for, and what their commands start."""

from __future__ import annotations

import textwrap

import pytest
import reading
from reading import source, values

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown


def run(gpu: str, *commands: str, type: str = "task", more: str = "") -> Role:
    listed = "".join(f"  - {command}\n" for command in commands or ("python train.py",))
    return reading.role(f"type: {type}\nname: job\nresources: {{gpu: {gpu}}}\ncommands:\n{listed}{more}")


def claimed(text: str) -> str:
    (document,) = documents.load(".dstack.yml", textwrap.dedent(text).encode()).documents
    adapter = adapters.find_adapter(document)
    return adapters.kind(adapter, document) if adapter else ""


def asked(role: Role, name: str) -> object:
    value = role.value(name)
    return f"unknown: {value.category}" if isinstance(value, Unknown) else value


# ---- which files are one


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("type: task\ncommands: [ls]", "dstack task"),
        ("type: service\nport: 80\nresources: {gpu: 1}", "dstack service"),
        ("type: dev-environment\nide: vscode", "dstack dev-environment"),
        ("type: fleet\nnodes: 2", "dstack fleet"),
        ("type: volume\nbackend: aws\nsize: 100GB", "dstack volume"),
        ("type: gateway\nbackend: aws\ndomain: example.com", "dstack gateway"),
    ],
)
def test_a_type_of_dstacks_with_its_keys_is_one(text: str, kind: str) -> None:
    assert claimed(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "type: service\nurl: http://example.com",
        "type: task\nsteps: [a]\ncommands: [ls]",
        "type: volume",
        "type: docker\nimage: python\nresources: {gpu: 1}",
        "apiVersion: v1\nkind: Foo\ntype: task\ncommands: [ls]",
    ],
)
def test_another_file_is_none(text: str) -> None:
    assert not claimed(text).startswith("dstack")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("type: fleet\nnodes: 2\nresources: {gpu: 'H100:8'}", id="a fleet"),
        pytest.param("type: task\ncommands: [python train.py]", id="no GPU"),
        pytest.param("type: task\ncommands: [python train.py]\nresources: {gpu: 0}", id="zero GPUs"),
        pytest.param("type: task\ncommands: [python train.py]\nresources: {gpu: 'tpu:v5litepod-8'}", id="a TPU"),
    ],
)
def test_what_computes_on_no_gpu_is_no_workload(text: str) -> None:
    assert reading.workloads(text) == []


# ---- what it runs on


@pytest.mark.parametrize(
    ("gpu", "product", "count"),
    [
        ("'H100:8'", "h100-sxm-80gb", 8),
        ("MI300X", "mi300x", 1),
        ("8", "unknown: queue or partition", 8),
        ("24GB", "unknown: queue or partition", 1),
        ("1..8", "unknown: queue or partition", "unknown: queue or partition"),
        ("2..2", "unknown: queue or partition", 2),
        ("'80GB..:2'", "unknown: queue or partition", 2),
        ("'A100:80GB:2'", "a100-sxm4-80gb", 2),
        ("'A100:40GB'", "a100-sxm4-40gb", 1),
        ("'A100:48GB..'", "a100-sxm4-80gb", 1),
        ("A100", "unknown: ", 1),
        ("'A10G,L4:2'", "unknown: queue or partition", 2),
        ("'nvidia:L4:4'", "l4", 4),
        ("nvidia", "unknown: queue or partition", 1),
        ("{name: H100, count: 8}", "h100-sxm-80gb", 8),
        ("{name: [L4, L40S], count: 1..2}", "unknown: queue or partition", "unknown: queue or partition"),
        ("{name: A100, memory: 80GB, count: {min: 2, max: 2}}", "a100-sxm4-80gb", 2),
        ("{memory: 40GB..}", "unknown: queue or partition", 1),
        ("'MI250:4'", "unknown: ", 4),
    ],
)
def test_the_gpus_of_a_run(gpu: str, product: str, count: object) -> None:
    found = run(gpu)
    assert (asked(found, "accelerator"), asked(found, "gpus_per_pod")) == (product, count)


def test_each_part_of_a_request_has_its_place() -> None:
    found = run("'A100:80GB:2'")
    assert (source(found, "accelerator"), source(found, "gpus_per_pod")) == ("A100", "2")


@pytest.mark.parametrize(("resources", "default"), [("{gpu: 1}", True), ("{gpu: 1, shm_size: 16GB}", False)])
def test_shared_memory_is_dockers_unless_it_is_stated(resources: str, default: bool) -> None:
    found = reading.role(f"type: task\ncommands: [ls]\nresources: {resources}")
    assert found.value("shared_memory_default") is default


# ---- what it starts


def test_parallelism_from_dstacks_own_count_is_that_count() -> None:
    found = run("'MI300X:8'", "vllm serve $MODEL --tensor-parallel-size $DSTACK_GPUS_NUM", more="env: [MODEL=a/b]")
    assert values(found, "engine", "checkpoint", "tensor_parallel") == ["vllm", "a/b", 8]
    assert source(found, "checkpoint") == "a/b"


def test_a_count_that_is_not_fixed_leaves_the_platforms_variable_open() -> None:
    found = run("1..8", "vllm serve a/b --tensor-parallel-size $DSTACK_GPUS_NUM", type="service")
    assert asked(found, "tensor_parallel") == "unknown: platform variable"


def test_nodes_of_a_task_are_one_run() -> None:
    command = "torchrun --nnodes=$DSTACK_NODES_NUM --nproc-per-node=$DSTACK_GPUS_PER_NODE train.py"
    found = run("'H100:8'", command, more="nodes: 2")
    assert values(found, "processes_per_pod", "pods_per_replica", "gpus_per_replica") == [8, 2, 16]


def test_commands_are_one_script_whose_words_have_their_places() -> None:
    found = run("'H100:2'", "export TP=2", "cd /work", '"vllm serve a/b --tensor-parallel-size $TP"')
    assert found.value("tensor_parallel") == 2
    assert source(found, "checkpoint") == "a/b"


@pytest.mark.parametrize(
    ("stated", "replicas"), [("replicas: 2", 2), ("replicas: 1..4", "unknown: queue or partition")]
)
def test_the_replicas_of_a_service(stated: str, replicas: object) -> None:
    assert asked(run("H100", "vllm serve a/b", type="service", more=stated), "replicas") == replicas


def test_a_name_without_a_value_is_the_callers() -> None:
    found = run("H100", "vllm serve --model $MODEL", type="service", more="env: [MODEL]")
    assert asked(found, "checkpoint") == "unknown: caller's variable"


def test_groups_are_roles_of_their_own() -> None:
    text = """
    type: service
    port: 80
    groups:
      - {name: prefill, replicas: 1, resources: {gpu: 'H100:4'}, commands: [vllm serve a/b]}
      - {name: decode, replicas: 2, resources: {gpu: 'H200:2'}, commands: [vllm serve a/b]}
      - {name: router, replicas: 1, commands: [router --port 80]}
    """
    roles = reading.workload(text).roles
    assert [(one.name, one.value("gpus_per_pod"), one.value("replicas")) for one in roles] == [
        ("prefill", 4, 1),
        ("decode", 2, 2),
    ]


def test_the_checkpoint_of_a_program_of_ones_own() -> None:
    found = run("24GB", "python sft.py --model_name_or_path Qwen/Qwen3-8B --packing")
    assert values(found, "program", "checkpoint") == ["sft.py", "Qwen/Qwen3-8B"]


def test_a_file_called_as_dstack_wants_its_files_to_be_called_may_hold_a_key_that_is_not_known() -> None:
    assert claimed("type: task\nresources: {gpu: 1}\nbackend: aws\ncommands: [ls]") == "dstack task"
    (document,) = documents.load("task.yml", b"type: task\nresources: {gpu: 1}\nbackend: aws\ncommands: [ls]").documents
    assert adapters.find_adapter(document) is None
