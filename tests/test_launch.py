"""Launchers: where the program begins, and how many processes they start."""

from __future__ import annotations

import shlex

import pytest

from gpulint.adapters.programs import launchers as programs_launchers
from gpulint.engines import Argument
from gpulint.source.documents import load
from gpulint.workload import Field, Origin, Unknown

HERE = Origin(load("job.sh", b"#!/bin/sh\n").documents[0], ())


def taken(command: str) -> programs_launchers.Launch:
    """A command taken apart; a word `?` is one that cannot be known."""
    words = shlex.split(command)
    return programs_launchers.unwrap(
        [Argument(None if word == "?" else word, HERE, "$X is not known") for word in words]
    )


@pytest.mark.parametrize(
    ("command", "program", "launchers"),
    [
        ("python train.py --lr 1", "python train.py --lr 1", ()),
        ("exec nohup python train.py", "python train.py", ()),
        ("timeout -k 5s 10m vllm serve m", "vllm serve m", ()),
        ("taskset -c 0-7 python a.py", "python a.py", ()),
        ("numactl --cpunodebind=0 -m 0 python a.py", "python a.py", ()),
        ("stdbuf -oL python a.py", "python a.py", ()),
        ("conda run -n env --no-capture-output python a.py", "python a.py", ()),
        ("uv run --with vllm vllm serve m", "vllm serve m", ()),
        ("nsys profile -o out --trace=cuda,nvtx python a.py", "python a.py", ()),
        ("srun python a.py -N 4", "python a.py -N 4", ("srun",)),
        ("srun -l -n4 -N2 --mpi=pmi2 ./a.out -n 4", "./a.out -n 4", ("srun",)),
        ("srun --kill-on-bad-exit=1 -K --jobid 7 bash -c 'a b'", "bash -c 'a b'", ("srun",)),
        ("srun --container-image=img.sqsh --container-mounts /a:/b --exclusive python a.py", "python a.py", ("srun",)),
        ("torchrun --nnodes 2 --rdzv-id 1 train.py --nnodes 9", "train.py --nnodes 9", ("torchrun",)),
        ("torchrun --standalone --nproc_per_node=8 -m pkg.train x", "-m pkg.train x", ("torchrun",)),
        ("python3 -u -m torch.distributed.run --role a: --tee 3 t.py", "t.py", ("torchrun",)),
        ("python -m torch.distributed.launch --use_env t.py", "t.py", ("torchrun",)),
        ("accelerate launch --multi_gpu --config_file a.yaml t.py", "t.py", ("accelerate",)),
        ("python -m accelerate.commands.launch --num-processes 2 t.py", "t.py", ("accelerate",)),
        (
            "deepspeed --num_gpus 2 --master_port 1 main.py --deepspeed ds.json",
            "main.py --deepspeed ds.json",
            ("deepspeed",),
        ),
        ("mpirun -np 16 --allow-run-as-root -mca btl ^tcp -x A=b -bind-to none ./x -b 8", "./x -b 8", ("mpirun",)),
        ("horovodrun -np 4 -H a:4 python t.py", "python t.py", ("horovodrun",)),
        ("composer -n 8 t.py cfg.yaml", "t.py cfg.yaml", ("composer",)),
        ("ray job submit --working-dir . --no-wait -- python3 t.py a=b", "python3 t.py a=b", ("ray job submit",)),
        ("apptainer exec --nv --bind a:b i.sif python t.py", "python t.py", ("apptainer",)),
        ("srun singularity exec --nv i.sif torchrun t.py", "t.py", ("srun", "apptainer", "torchrun")),
        ("docker run --rm -it --gpus all -p 1:1 -v a:b img:1 --model m", "--model m", ("docker run",)),
        ("sudo docker run -d --gpus=all img python a.py", "python a.py", ("docker run",)),
        (
            "tune run --nproc_per_node 2 recipe --config c",
            "tune run --nproc_per_node 2 recipe --config c",
            ("tune run",),
        ),
        ("torchrun --nproc_per_node 8 ? train.py", "train.py", ("torchrun",)),
        ("? torchrun --nproc_per_node 8 train.py", "train.py", ("torchrun",)),
    ],
)
def test_the_program_begins_behind_its_launchers(command: str, program: str, launchers: tuple[str, ...]) -> None:
    found = taken(command)
    assert shlex.join(word.text or "?" for word in found.words) == shlex.join(shlex.split(program))
    assert found.launchers == launchers


@pytest.mark.parametrize(
    ("command", "processes", "nodes"),
    [
        ("torchrun --nproc_per_node 8 --nnodes 2 t.py", 8, 2),
        ("torchrun --nproc-per-node=8 --nnodes 2:2 t.py", 8, 2),
        ("torchrun --nproc_per 8 t.py", 8, None),
        ("torchrun t.py", 1, None),
        ("accelerate launch --num_processes 16 --num_machines 2 t.py", 8, 2),
        ("deepspeed --num_nodes 2 --num_gpus 4 t.py", 4, 2),
        ("deepspeed --include localhost:0,1,3 t.py", 3, 1),
        ("deepspeed --include a:0,1@b:0,1 t.py", 2, 2),
        ("mpirun -np 16 -N 8 t", 8, None),
        ("mpirun -np 16 --map-by ppr:4:node t", 4, None),
        ("mpirun -H a:8,b:8 t", 8, 2),
        ("srun --nodes 4 --ntasks-per-node 8 t", 8, 4),
        ("srun --ntasks 8 --nodes 2 t", 4, 2),
        ("srun -N 2 torchrun --nproc_per_node 8 t.py", 8, 2),
    ],
)
def test_processes_and_nodes_are_those_that_the_options_state(command: str, processes: int, nodes: int | None) -> None:
    fields = taken(command).fields
    assert fields["processes_per_pod"].value == processes
    assert fields.get("pods_per_replica", Field(None)).value == nodes


@pytest.mark.parametrize(
    "command",
    [
        "torchrun --nproc_per_node gpu t.py",
        "torchrun --nproc_per_node ? t.py",
        "torchrun ? t.py",
        "deepspeed t.py",
        "accelerate launch t.py",
        "mpirun -np 16 t",
        "deepspeed --include a:0,1@b:0 t.py",
        "deepspeed --include a@b t.py",
        "mpirun -np 5 -H a,b t",
    ],
)
def test_processes_that_nothing_states_stay_unknown(command: str) -> None:
    assert isinstance(taken(command).fields["processes_per_pod"].value, Unknown)


@pytest.mark.parametrize("command", ["torchrun --nnodes 1:4 t.py", "torchrun --nnodes ? t.py", "srun -N 2-4 t"])
def test_a_range_of_nodes_is_no_count(command: str) -> None:
    assert isinstance(taken(command).fields["pods_per_replica"].value, Unknown)


@pytest.mark.parametrize(
    "command",
    [
        "python t.py",
        "echo srun torchrun",
        "cat torchrun",
        "pip install deepspeed",
        "which mpirun",
        "accelerate config",
        "srun",
    ],
)
def test_a_command_without_a_launcher_has_none(command: str) -> None:
    found = taken(command)
    assert shlex.join(word.text or "" for word in found.words) == command
    assert found.launchers == ()
    assert found.fields == {}


def test_variables_are_those_that_stand_in_front_or_are_passed_on() -> None:
    one = taken("A=1 env B=2 mpirun -x C=3 -x PATH srun --export=ALL,D=4 docker run -e E=5 -e F img x")
    assert {name: argument.text for name, argument in one.environment.items()} == {
        "A": "1",
        "B": "2",
        "C": "3",
        "D": "4",
        "E": "5",
    }


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("$SLURM_GPUS_ON_NODE", "platform variable"),
        ("${SKYPILOT_NUM_GPUS_PER_NODE}", "platform variable"),
        ("$NPROC", "caller's variable"),
        ("$1", "caller's variable"),
        ("<number>", "placeholder"),
    ],
)
def test_a_count_that_cannot_be_read_says_who_decides_it(text: str, category: str) -> None:
    words = [
        Argument("torchrun", HERE),
        Argument("--nproc_per_node", HERE),
        Argument(None, HERE, f"{text} is not known"),
    ]
    value = programs_launchers.unwrap([*words, Argument("t.py", HERE)]).fields["processes_per_pod"].value
    assert isinstance(value, Unknown)
    assert value.category == category
