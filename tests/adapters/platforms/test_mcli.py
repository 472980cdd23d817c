"""MCLI: a run of the MosaicML platform has the GPUs that it counts, and LLM-Foundry's settings or its command."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown

RUN = """
    name: mpt
    image: mosaicml/llm-foundry:2.2.1
    compute: {gpus: 16, gpu_type: h100_80gb, cluster: r1z1}
    command: composer train/train.py /mnt/config/parameters.yaml
    parameters:
      max_seq_len: 2048
      global_train_batch_size: 512
      device_train_microbatch_size: 4
      model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, max_seq_len: "${max_seq_len}", vocab_size: 50368}
"""
SERVE = """
    name: serve
    image: vllm/vllm-openai:v0.10.1
    compute: {gpus: 2, gpu_type: a100_80gb}
    command: vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2
"""


def read(text: str) -> list[Role]:
    repository = ExampleRepository({"run.yaml": textwrap.dedent(text).encode()})
    (document,) = repository.read_documents("run.yaml")
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def values(role: Role, *names: str) -> list[object]:
    return [role.value(name) for name in names]


def test_a_run_of_llm_foundry_has_its_parameters_and_its_gpus() -> None:
    (role,) = read(RUN)
    assert values(role, "engine", "global_batch_size", "micro_batch_size") == ["llm-foundry", 512, 4]
    assert values(role, "accelerator", "gpus_per_replica", "gpus_per_pod", "pods_per_replica") == [
        "h100-sxm-80gb",
        16,
        8,
        2,
    ]
    assert role.fields["micro_batch_size"].origins[0].location().line == 9


def test_nodes_of_eight_are_assumed() -> None:
    (role,) = read(RUN)
    assert "8 GPUs" in role.fields["gpus_per_pod"].assumption
    (role,) = read(RUN.replace("gpus: 16", "gpus: 8"))
    assert values(role, "gpus_per_pod", "pods_per_replica") == [8, 1]
    assert role.fields["gpus_per_pod"].assumption == ""


def test_a_command_is_read_if_the_parameters_are_none_of_llm_foundry() -> None:
    (role,) = read(SERVE)
    assert values(role, "engine", "checkpoint", "tensor_parallel", "gpus_per_replica") == [
        "vllm",
        "Qwen/Qwen3-8B",
        2,
        2,
    ]


def test_older_runs_count_at_the_top() -> None:
    old = SERVE.replace("compute: {gpus: 2, gpu_type: a100_80gb}", "gpu_num: 2\n    gpu_type: a100_40gb")
    (role,) = read(old)
    assert values(role, "accelerator", "gpus_per_replica") == ["a100-sxm4-40gb", 2]


def test_the_cluster_decides_an_accelerator_that_is_not_stated() -> None:
    (role,) = read(SERVE.replace(", gpu_type: a100_80gb", ""))
    assert isinstance(role.value("accelerator"), Unknown)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SERVE.replace("gpus: 2", "gpus: 0"), id="no GPUs"),
        pytest.param("command: x\ncompute: {cpus: 4}\nimage: a\n", id="processors"),
        pytest.param("command: vllm serve a/b\ncompute: {gpus: 2}\n", id="no image"),
    ],
)
def test_other_files_are_no_run(text: str) -> None:
    assert read(text) == []
