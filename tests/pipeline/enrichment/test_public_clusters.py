"""Public clusters: the partitions, queues and paths that only one of them has, and those of any cluster."""

from __future__ import annotations

import pytest
import samples

JOB = """\
#!/bin/bash
#SBATCH --nodes=1
{requests}
#SBATCH --gres=gpu:1
{lines}
srun vllm serve Qwen/Qwen3-32B --max-model-len 4096
"""


def shown(requests: str, lines: str = "", path: str = "job.sbatch") -> str:
    text = JOB.format(requests=f"#SBATCH {requests}", lines=lines)
    (role,) = samples.roles(samples.report(text, path=path))
    return role.accelerator


@pytest.mark.parametrize(
    ("requests", "lines", "accelerator"),
    [
        ("--qos=acc_bsccs", "", "1 × H100 SXM5 64GB (MareNostrum 5)"),
        ("--qos=acc_ehpc", "# 1x H100-80G, all models fit", "1 × H100 SXM5 64GB (MareNostrum 5)"),
        ("--partition=acc", "cd /gpfs/projects/team", "1 × H100 SXM5 64GB (MareNostrum 5)"),
        ("--partition=booster", "source ~/jupiter/env.sh", "1 × GH200 Grace Hopper 96GB"),
        ("--partition=develbooster", "module load juwels", "1 × A100 SXM4 40GB"),
        ("--partition=boost_usr_prod", "", "1 × A100 SXM 64GB (Leonardo)"),
        ("--partition=small-g", "", "1 × Instinct MI250X (per 64GB device)"),
        ("--partition=accelerated", "#SBATCH --account=hk-project-p0021", "1 × A100 SXM4 40GB"),
        ("--partition=accelerated-h100", "#SBATCH --account=hk-project-p0021", "1 × H100 SXM5 80GB"),
        ("--partition=qgpu_exp", "source ~/karolina.profile", "1 × A100 SXM4 40GB"),
        ("--partition=gpumedium", "cd /scratch/mahti/team", "1 × A100 SXM4 40GB"),
        ("--partition=gh-dev", "", "1 × GH200 Grace Hopper 96GB"),
        ("--partition=workq", "module load brics/nccl", "1 × GH200 Grace Hopper 96GB"),
    ],
)
def test_a_partition_of_one_public_cluster_is_its_accelerator(requests: str, lines: str, accelerator: str) -> None:
    assert shown(requests, lines) == accelerator


@pytest.mark.parametrize(
    ("requests", "lines"),
    [
        ("--partition=acc", ""),
        ("--partition=booster", ""),
        ("--partition=booster", "# as on juwels and jupiter"),
        ("--partition=gpu", "cd /gpfs/projects/team"),
        ("--partition=large", ""),
        ("--partition=accelerated", ""),
        ("--partition=qgpu", ""),
        ("--partition=gpumedium", ""),
        ("--partition=regular-g", ""),
        ("--partition=boost_fua_prod", ""),
        ("--partition=gh", ""),
        ("--partition=grace", "cd ~/isambard3"),
        ("--qos=acc_short", ""),
    ],
)
def test_a_name_that_any_cluster_may_have_says_nothing(requests: str, lines: str) -> None:
    assert "? (" in shown(requests, lines)
