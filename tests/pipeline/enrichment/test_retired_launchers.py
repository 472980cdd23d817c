"""A launcher is retired only where the required release of PyTorch has its change."""

from __future__ import annotations

from typing import cast

import pytest

from gpulint.adapters.programs import unknown_settings
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository

SCRIPT = "#!/bin/bash\n#SBATCH --gres=gpu:a100:8\npython -m torch.distributed.launch --nproc_per_node=8 train.py\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: trainer
      image: pytorch/pytorch:TAG
      command: [python, -m, torch.distributed.launch, --nproc_per_node=8, train.py]
      resources: {limits: {nvidia.com/gpu: 8}}
"""


def launcher(files: dict[str, str]) -> object:
    repository = cast("Repository", ExampleRepository({name: text.encode() for name, text in files.items()}))
    (document,) = repository.read_documents(next(iter(files)))
    (role,) = (role for workload in enrichment.read(document, repository) for role in workload.roles)
    return role.value("retired_launcher")


@pytest.mark.parametrize(
    ("name", "line", "is_retired"),
    [
        ("requirements.txt", "torch==1.13.1+cu117", False),
        ("requirements.txt", "torch>=1.10,<2", False),
        ("requirements.txt", "torch<2.0.0", False),
        ("environment.yml", "- pytorch=1.12.1", False),
        ("requirements.txt", "torch==2.0.1", True),
        ("requirements.txt", "torch>=1.10", True),
        ("requirements.txt", "torch<=2.1", True),
        ("requirements.txt", "torchvision==0.14.1", True),
        ("requirements.txt", "pytorch-lightning==1.9", True),
        ("requirements.txt", "numpy==1.24", True),
    ],
)
def test_a_script_beside_the_requirements_of_its_repository(name: str, line: str, is_retired: bool) -> None:
    found = launcher({"train.sh": SCRIPT, name: f"{line}\n"})
    assert found == ("torch.distributed.launch" if is_retired else None)


@pytest.mark.parametrize(
    ("tag", "is_retired"), [("1.13.1-cuda11.6", False), ("2.1.0-cuda12.1", True), ("latest", True)]
)
def test_an_image_of_pytorch_states_its_release(tag: str, is_retired: bool) -> None:
    found = launcher({"pod.yaml": POD.replace("TAG", tag)})
    assert found == ("torch.distributed.launch" if is_retired else None)


def test_another_package_with_the_name_of_a_trainer_in_its_own_is_no_pin() -> None:
    files = {"requirements.txt": b"sentence-transformers==2.2.2\ntransformers<5\n"}
    pins = unknown_settings.pins(cast("Repository", ExampleRepository(files)))
    assert (4, 57, 6) < pins["transformers"] < (5,)
