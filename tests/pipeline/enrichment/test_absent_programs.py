"""A script that starts a program where the repository has none says so; what may lie elsewhere says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository, WorkTree

JOB = "#!/bin/bash\n#SBATCH --gres=gpu:a100:1\n{}\n"
FILES = {"src/fit.py": b"import torch", "train/data.py": b"import torch", "tools/fit_all.py": b"import torch"}


def read(line: str, more: Mapping[str, bytes] = FILES) -> tuple[object, object]:
    repository = cast("Repository", ExampleRepository({"jobs/a.sbatch": JOB.format(line).encode(), **FILES, **more}))
    document = repository.read_documents("jobs/a.sbatch")[0]
    (workload,) = enrichment.read(document, repository)
    return workload.roles[0].value("absent_program"), workload.roles[0].value("present_program")


@pytest.mark.parametrize(
    ("line", "absent"),
    [
        ("srun python train/fit.py", "train/fit.py"),
        ("srun python ./train/fit.py --lr 1", "./train/fit.py"),
        ("torchrun --nproc_per_node=2 ../train/fit.py", "../train/fit.py"),
        ("srun python ../gone/fit.py", "../gone/fit.py"),
    ],
)
def test_a_program_in_another_folder_is_absent(line: str, absent: str) -> None:
    assert read(line) == (absent, "../src/fit.py")


@pytest.mark.parametrize(
    "line",
    [
        "srun python src/fit.py",
        "srun python ../src/fit.py",
        "srun python fit.py",
        "srun python /home/me/project/src/fit.py",
        "srun python /home/me/project/fit.py",
        "srun python project/fit.py",
        "srun python ../../other/fit.py",
        "srun python $ROOT/train/fit.py",
        "srun python train/$NAME.py",
        "srun python train/new.py",
        "srun python -m train.fit",
        "cd ../elsewhere\nsrun python train/fit.py",
        "git clone https://example.com/train\nsrun python train/fit.py",
        "cp src/fit.py train/fit.py\nsrun python train/fit.py",
        "srun --container-image=team/train:1 python train/fit.py",
        "singularity exec --nv train.sif python train/fit.py",
        "docker run --gpus all -v $PWD:/w -w /w team/train:1 python train/fit.py",
    ],
)
def test_a_program_that_may_be_there_is_not_absent(line: str) -> None:
    assert read(line) == (None, None)


def test_a_program_is_found_from_each_folder_above() -> None:
    assert read("srun python train/fit.py", {"jobs/train/fit.py": b"import torch"}) == (None, None)


@pytest.mark.parametrize(
    ("beside", "absent"),
    [("srun python /home/me/project/src/fit_all.py", True), ("srun python /home/me/other/src/fit_all.py", False)],
)
def test_scripts_beside_show_where_the_repository_lies(tmp_path: Path, beside: str, absent: bool) -> None:
    files = {"jobs/a.sbatch": JOB.format("srun python /home/me/project/fit.py"), "jobs/b.sbatch": JOB.format(beside)}
    for path, text in {**files, "src/fit.py": "import torch", "src/fit_all.py": "import torch"}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / ".git").mkdir()
    repository = WorkTree(tmp_path, base=tmp_path)
    assert len(list(repository.sources(["."]))) == 4
    (document,) = repository.read_documents("jobs/a.sbatch")
    (workload,) = enrichment.read(document, repository)
    assert ("absent_program" in workload.roles[0].fields) == absent
