"""Batch lines: what a job asks for, as sbatch reads it (sbatch(1) of Slurm 23.02)."""

from __future__ import annotations

import pytest

from gpulint.adapters.programs import slurm
from gpulint.source.documents import load
from gpulint.workload import Field, Origin, Unknown, Value


def job(*lines: str) -> slurm.Job | None:
    text = "\n".join(("#!/bin/bash", *lines, ""))
    document = load("job.sbatch", text.encode()).documents[0]
    return slurm.job(text, lambda start, end: Origin(document, (), span=(start, end)))


def stated(*lines: str) -> dict[str, Value | Unknown]:
    """Nodes, tasks of a node, GPUs of a node and of the job."""
    found = job(*lines)
    assert found is not None
    each = {"nodes": slurm.nodes, "tasks": slurm.tasks_per_node, "gpus": slurm.gpus_per_node, "all": slurm.gpus}
    return {name: (read(found.settings) or Field(None)).value for name, read in each.items()}


@pytest.mark.parametrize(
    ("options", "nodes", "tasks", "gpus", "whole"),
    [
        ("--nodes=4 --gres=gpu:8", 4, 1, 8, 32),
        ("-N 2 --gpus-per-node 4 --ntasks-per-node=4", 2, 4, 4, 8),
        ("-N2 --gres=gpu:a100:4", 2, 1, 4, 8),
        ("--nodes=1 --gres=gpu", 1, 1, 1, 1),
        ("--nodes=2 --gres=lustre:1,gpu:volta:4(S:0-1)", 2, 1, 4, 8),
        ("--nodes=2 --gpus-per-node=h100:8", 2, 1, 8, 16),
        ("--nodes=2 -G 16", 2, 1, 8, 16),
        ("--gpus 1", 1, 1, 1, 1),
        ("--nodes=2 --ntasks-per-node=2 --gpus-per-task=4", 2, 2, 8, 16),
        ("--ntasks=2 --nodes=2 --gpus-per-task=8", 2, 1, 8, 16),
        ("--ntasks=8 --ntasks-per-node=4 --gres=gpu:4", 2, 4, 4, 8),
        ("--nodes=4 # --nodes=8", 4, 1, None, None),
        ("--nodes='4' --gres=\"gpu:2\"", 4, 1, 2, 8),
        ("--nodes=2 --gres=gpu:0", 2, 1, 0, 0),
    ],
)
def test_a_job_asks_for_what_its_lines_say(
    options: str, nodes: int, tasks: int, gpus: int | None, whole: int | None
) -> None:
    assert stated(f"#SBATCH {options}") == {"nodes": nodes, "tasks": tasks, "gpus": gpus, "all": whole}


def test_the_last_line_wins_and_comments_between_do_not_count() -> None:
    assert stated("#SBATCH --nodes=2", "##SBATCH --nodes=3", "# SBATCH --nodes=5", "", "#SBATCH -N 4")["nodes"] == 4


def test_lines_behind_the_first_command_are_comments() -> None:
    assert stated("#SBATCH --nodes=2", "set -e", "#SBATCH --nodes=4")["nodes"] == 2


@pytest.mark.parametrize(
    "lines", [(), ("##SBATCH -N 2",), ("# SBATCH -N 2",), ("set -e", "#SBATCH -N 2"), ("cat <<E", "#SBATCH -N 2", "E")]
)
def test_a_script_without_leading_lines_is_no_job(lines: tuple[str, ...]) -> None:
    assert job(*lines) is None


@pytest.mark.parametrize(
    ("options", "quantity"),
    [
        ("--nodes=2-4 --gres=gpu:8", "nodes"),
        ("--nodes=$NODES --gres=gpu:8", "nodes"),
        ("--nodes={{ nodes }} --gres=gpu:8", "nodes"),
        ("--nodes=<nodes> --gres=gpu:8", "nodes"),
        ("--ntasks=16", "nodes"),
        ("--gpus=16", "nodes"),
        ("--nodes=3 --gpus=16", "gpus"),
        ("--gres=gpu:$N", "gpus"),
        ("--nodes=2 --ntasks=3", "tasks"),
    ],
)
def test_what_a_line_leaves_open_stays_unknown(options: str, quantity: str) -> None:
    assert isinstance(stated(f"#SBATCH {options}")[quantity], Unknown)


def test_nodes_that_the_script_asks_slurm_about_are_left_to_whoever_submits_it() -> None:
    found = stated("#SBATCH --gres=gpu:8", "echo $SLURM_NNODES")["nodes"]
    assert isinstance(found, Unknown)
    assert found.category == "caller's variable"


@pytest.mark.parametrize(
    ("options", "accelerator"),
    [
        ("--gres=gpu:h100:8", "h100-sxm-80gb"),
        ("--gres=gpu:nvidia_a100_80gb_pcie:2", "a100-pcie-80gb"),
        ("--gpus-per-node=A100-SXM4-40GB:4", "a100-sxm4-40gb"),
        ("--gpus=l40s:2 --nodes=1", "l40s"),
        ("--gres=gpu:8 --constraint=a100-80gb", "a100-sxm4-80gb"),
        ("--gres=gpu:4 -C v100-32g", "v100-sxm2-32gb"),
        ("--gres=gpu:4 --constraint='gpu&h200'", "h200-sxm-141gb"),
    ],
)
def test_a_card_is_known_where_a_type_or_feature_names_just_one_product(options: str, accelerator: str) -> None:
    found = job(f"#SBATCH {options}")
    assert found is not None
    assert slurm.read_accelerator(found.settings)["accelerator"].value == accelerator


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("--gres=gpu:a100:8", "gpu:a100:8"),
        ("--gres=gpu:8 --constraint=a100", "a100"),
        ("--gres=gpu:8 --constraint='h100|a100-80gb'", "'h100|a100-80gb'"),
        ("--gres=gpu:8 --partition=hopper", "hopper"),
        ("--gres=gpu:8", "gpu:8"),
        ("--gres=gpu:gold:8 --partition=p", "gpu:gold:8"),
    ],
)
def test_a_card_that_the_cluster_decides_is_explained_at_its_line(options: str, line: str) -> None:
    found = job(f"#SBATCH {options}")
    assert found is not None
    field = slurm.read_accelerator(found.settings)["accelerator"]
    assert isinstance(field.value, Unknown)
    assert field.value.category == "queue or partition"
    assert line.strip("'") in field.origins[0].text()


@pytest.mark.parametrize(
    ("options", "choices"),
    [
        ("--gres=gpu:gh200:4", ("gh200-144gb", "gh200-96gb")),
        ("--gres=gpu:a100_sxm4:4", ("a100-sxm4-40gb", "a100-sxm4-80gb")),
        ("--gres=gpu:8 --constraint=gh200", ("gh200-144gb", "gh200-96gb")),
        ("--gres=gpu:8 --constraint='h100|a100-80gb'", ("a100-sxm4-80gb", "h100-sxm-80gb")),
        ("--gres=gpu:8 --constraint='h100|gold'", ()),
        ("--gres=gpu:gold:8", ()),
        ("--gres=gpu:8 --partition=a100", ()),
    ],
)
def test_the_products_of_a_name_that_several_share_are_listed(options: str, choices: tuple[str, ...]) -> None:
    found = job(f"#SBATCH {options}")
    assert found is not None
    value = slurm.read_accelerator(found.settings)["accelerator"].value
    assert isinstance(value, Unknown)
    assert value.choices == choices


def test_a_mig_slice_is_named_by_the_type() -> None:
    found = job("#SBATCH --gres=gpu:1g.10gb:1")
    assert found is not None
    assert slurm.read_accelerator(found.settings)["mig_profile"].value == "1g.10gb"


def test_slurm_sets_variables_from_what_is_asked_for() -> None:
    found = job("#SBATCH --job-name=j -N 4 --ntasks-per-node=8 --gpus-per-node=8 -c 6")
    assert found is not None
    known = slurm.variables(found)
    expected = {
        **dict.fromkeys(("SLURM_NNODES", "SLURM_JOB_NUM_NODES"), "4"),
        **dict.fromkeys(("SLURM_NTASKS", "SLURM_NPROCS"), "32"),
        **dict.fromkeys(("SLURM_NTASKS_PER_NODE", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"), "8"),
        "SLURM_CPUS_PER_TASK": "6",
        "SLURM_JOB_NAME": "j",
    }
    assert {name: value for name, value in known.items() if value is not None} == expected


def test_a_variable_that_slurm_sets_only_for_an_option_is_not_set_without_it() -> None:
    found = job("#SBATCH -N 1 --gres=gpu:8")
    assert found is not None
    assert "SLURM_GPUS_PER_NODE" not in slurm.variables(found)
    assert slurm.variables(found)["SLURM_JOB_ID"] is None


def test_the_components_of_a_heterogeneous_job_are_kept_apart() -> None:
    found = job("#SBATCH -N 1 --gres=gpu:1", "#SBATCH hetjob", "#SBATCH -N 4 --gres=gpu:8")
    assert found is not None
    assert [slurm.gpus(one).value for one in found.components if slurm.gpus(one)] == [1, 32]


def test_pbs_and_lsf_lines_are_read_into_the_same_words() -> None:
    assert stated("#PBS -N j", "#PBS -l select=2:ncpus=16:ngpus=4:mpiprocs=4") == {
        "nodes": 2,
        "tasks": 4,
        "gpus": 4,
        "all": 8,
    }
    assert stated("#PBS -l nodes=2:ppn=8:gpus=2")["gpus"] == 2
    assert stated("#BSUB -nnodes 2", '#BSUB -gpu "num=4:mode=shared"') == {"nodes": 2, "tasks": 1, "gpus": 4, "all": 8}
