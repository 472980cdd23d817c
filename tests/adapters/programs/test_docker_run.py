"""docker run: what its options give a container."""

from __future__ import annotations

import shlex

import pytest

from gpulint.adapters.programs import docker_run, launchers
from gpulint.engines import Argument
from gpulint.source.documents import load
from gpulint.workload import Field, Origin, Unknown

HERE = Origin(load("run.sh", b"#!/bin/sh\n").documents[0], ())


def fields(options: str) -> dict[str, Field]:
    found = launchers.unwrap([Argument(word, HERE) for word in shlex.split(f"docker run {options} image:1 program")])
    assert found.container is not None
    assert found.image is not None
    assert found.image.text == "image:1"
    return docker_run.fields(found.container, found.environment)


@pytest.mark.parametrize(
    ("options", "gpus"),
    [
        ("--gpus 2", 2),
        ("--gpus '\"device=0,1\"'", 2),
        ("--gpus device=GPU-3a23c669", 1),
        ("--gpus 'count=2,capabilities=utility'", 2),
        ("--device nvidia.com/gpu=0 --device=nvidia.com/gpu=1", 2),
        ("--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=0,1,2", 3),
    ],
)
def test_a_container_has_the_gpus_that_are_named_or_counted(options: str, gpus: int) -> None:
    assert fields(options)["gpus_per_pod"].value == gpus


@pytest.mark.parametrize(
    "options",
    ["--gpus all", "--gpus=all --rm", "--device /dev/kfd --device /dev/dri", "--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=all",
     "--runtime nvidia", "--device nvidia.com/gpu=all"],
)  # fmt: skip
def test_all_of_a_machine_is_no_count(options: str) -> None:
    value = fields(options)["gpus_per_pod"].value
    assert isinstance(value, Unknown)
    assert value.category in ("any host", "image default")


@pytest.mark.parametrize(
    "options", ["--rm", "-e CUDA_VISIBLE_DEVICES=0", "--device /dev/fuse", "--runtime runc", "-v a:b"]
)
def test_a_container_that_nothing_gives_gpus_has_none_stated(options: str) -> None:
    assert "gpus_per_pod" not in fields(options)


@pytest.mark.parametrize(
    ("options", "small"),
    [("--rm", True), ("--ipc=private", True), ("--shm-size 64m", True), ("--shm-size=1g", False), ("--ipc=host", False),
     ("-v /dev/shm:/dev/shm", False), ("--ipc host --rm", False)],
)  # fmt: skip
def test_shared_memory_is_dockers_unless_it_is_made_larger(options: str, small: bool) -> None:
    assert fields(options)["shared_memory_default"].value is small


def test_the_remedy_for_small_shared_memory_is_an_option_of_docker() -> None:
    assert fields("--gpus 2")["shared_memory_remedy"].value == "start the container with --shm-size=8g or --ipc=host"


def test_limits_and_privileges_are_read() -> None:
    found = fields("-m 16g --privileged --gpus 1")
    assert found["host_memory_bytes"].value == 17_179_869_184
    assert found["privileged"].value is True
    assert "privileged" not in fields("--gpus 1")


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ("--ipc=host --shm-size=16g", "16g"),
        ("--shm-size 8G --gpus all --ipc host", "8G"),
        ("--ipc=private --shm-size=16g", None),
        ("--shm-size=16g", None),
        ("--ipc=host", None),
        ("--ipc=host --ipc=private --shm-size=1g", None),
    ],
)
def test_a_size_of_shared_memory_has_no_effect_beside_the_namespace_of_the_host(options: str, size: str | None) -> None:
    found = fields(f"--gpus 2 {options}").get("unused_shared_memory_size")
    assert (found.value if found else None) == size
