"""Programs behind a launcher of training, as containers start them."""

from __future__ import annotations

import shlex

import pytest

from gpulint.adapters.trainers import custom_trainer
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import load
from gpulint.workload import Origin, Unknown, Value

HERE = Origin(load("job.sh", b"#!/bin/sh\n").documents[0], ())


def told(*commands: str) -> dict[str, Value | Unknown]:
    image = Argument("image", HERE)
    words = (tuple(Argument(word, HERE) for word in shlex.split(command)) for command in commands)
    found = custom_trainer.fields([Invocation(image, one, {}, entrypoint=False) for one in words])
    return {name: field.value for name, field in found.items()}


def test_the_launcher_stands_for_the_engine() -> None:
    expected = {"engine": "torchrun", "launcher": "torchrun", "processes_per_pod": 4, "program": "train.py"}
    assert told("cd /app", "torchrun --nproc_per_node 4 --nnodes 2 train.py --lr 1") == expected


def test_processes_are_shared_out_over_the_machines() -> None:
    found = told("accelerate launch --num_machines 2 --num_processes 4 fine_tune.py")
    assert (found["engine"], found["processes_per_pod"]) == ("accelerate", 2)


def test_a_default_is_left_to_the_operator() -> None:
    assert "processes_per_pod" not in told("torchrun train.py")


def test_several_runs_of_one_launcher_tell_no_more_than_the_launcher() -> None:
    assert told("torchrun --nproc_per_node 4 a.py", "torchrun --nproc_per_node 8 b.py") == {
        "engine": "torchrun",
        "launcher": "torchrun",
    }


@pytest.mark.parametrize(
    "commands",
    [
        ("python train.py",),
        ("vllm serve m",),
        ("echo torchrun train.py",),
        ("pip install deepspeed",),
        ("mpirun -np 2 all_reduce_perf",),
        ("sleep infinity",),
        (),
        ("torchrun --nproc_per_node 4 a.py", "deepspeed b.py"),
    ],
)
def test_what_no_launcher_of_training_starts_is_left_alone(commands: tuple[str, ...]) -> None:
    assert told(*commands) == {}
