"""Cog: a model on Replicate that needs a GPU, and the program that predicts."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown

PREDICTOR = """
    import torch
    from cog import BasePredictor
    from transformers import AutoModelForCausalLM
    class Predictor(BasePredictor):
        def setup(self):
            self.model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype=torch.bfloat16).to("cuda")
"""


def read(text: str, path: str) -> list[Role]:
    files = {"model/cog.yaml": text, "model/predict.py": PREDICTOR}
    repository = ExampleRepository({name: textwrap.dedent(one).encode() for name, one in files.items()})
    (document,) = repository.read_documents(path)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def test_a_model_that_needs_a_gpu_runs_its_predictor() -> None:
    (role,) = read("build: {gpu: true, python_version: '3.12'}\npredict: predict.py:Predictor\n", "model/cog.yaml")
    assert {name: role.value(name) for name in ("engine", "checkpoint", "weight_dtype", "task")} == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-8B",
        "weight_dtype": "bfloat16",
        "task": "inference",
    }
    assert isinstance(role.value("accelerator"), Unknown)


def test_the_program_that_predicts_is_no_workload_of_its_own() -> None:
    assert read("build: {gpu: true}\npredict: predict.py:Predictor\n", "model/predict.py") == []


@pytest.mark.parametrize(
    "text",
    [
        "build: {gpu: false}\npredict: predict.py:Predictor\n",
        "build: {python_version: '3.12'}\npredict: predict.py:Predictor\n",
        "build: {gpu: true}\npredict: later\n",
        "build: {gpu: true}\npredict: predict.py:Predictor\njobs: {}\n",
    ],
)
def test_another_file_is_none(text: str) -> None:
    assert read(text, "model/cog.yaml") == []
