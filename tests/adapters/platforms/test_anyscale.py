"""Anyscale: a job runs its command on the machines that its compute configuration states."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.adapters.platforms import anyscale
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown

TRAIN = """
    import torch
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype=torch.bfloat16).to("cuda")
    model.generate(None)
"""
JOB = """
    name: run
    compute_config:
      head_node: {instance_type: m5.2xlarge}
      worker_nodes:
        - {instance_type: p4d.24xlarge, min_nodes: 2, max_nodes: 2}
    entrypoint: python train.py
"""


def read(text: str, path: str = "job.yaml") -> list[Role]:
    files = {"job.yaml": text, "train.py": TRAIN}
    repository = ExampleRepository({name: textwrap.dedent(one).encode() for name, one in files.items()})
    (document,) = repository.read_documents(path)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def test_a_job_runs_on_the_machines_that_it_states() -> None:
    (role,) = read(JOB)
    names = ("accelerator", "gpus_per_pod", "pods_per_replica", "gpus_per_replica", "checkpoint")
    assert [role.value(name) for name in names] == ["a100-sxm4-40gb", 8, 2, 16, "Qwen/Qwen3-8B"]


def test_the_program_of_a_job_is_no_workload_of_its_own() -> None:
    assert read(JOB, "train.py") == []


def test_the_number_of_machines_is_open_if_anyscale_scales_them() -> None:
    repository = ExampleRepository({"job.yaml": textwrap.dedent(JOB.replace("min_nodes: 2", "min_nodes: 0")).encode()})
    (document,) = repository.read_documents("job.yaml")
    (workload,) = anyscale.workloads(document, repository)
    (role,) = workload.roles
    assert (role.value("gpus_per_pod"), isinstance(role.value("pods_per_replica"), Unknown)) == (8, True)


def test_the_head_counts_if_no_worker_has_gpus() -> None:
    alone = JOB.replace("p4d.24xlarge", "m5.xlarge").replace("m5.2xlarge", "g6e.xlarge")
    (role,) = read(alone)
    assert [role.value(name) for name in ("accelerator", "gpus_per_replica")] == ["l40s", 1]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(JOB.replace("p4d.24xlarge", "m5.xlarge"), id="no GPUs"),
        pytest.param("head_node: {instance_type: g5.xlarge}\nworker_nodes: []\n", id="machines without a job"),
        pytest.param("entrypoint: python train.py\ncompute_config: name-of-one\n", id="machines by name"),
    ],
)
def test_files_without_a_run_on_gpus(text: str) -> None:
    assert read(text) == []
