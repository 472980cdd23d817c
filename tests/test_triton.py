"""Triton and TorchServe: that they run is all that their command tells; what they serve lies elsewhere."""

from __future__ import annotations

import pytest
import reading

from gpulint import engines

GPU = "resources: {limits: {nvidia.com/gpu: 2}}"
TRITON = "image: nvcr.io/nvidia/tritonserver:24.07-trtllm-python-py3"
TORCHSERVE = "image: pytorch/torchserve:0.12.0-gpu"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"{TRITON}\ncommand: [tritonserver, --model-repository=/models]", id="the command"),
        pytest.param(f"{TRITON}\nargs: [tritonserver, --model-store=/mnt/models]", id="in args, as in KServe"),
        pytest.param(f"{TRITON}\ncommand: [/opt/tritonserver/bin/tritonserver]", id="a path"),
        pytest.param(
            f"{TRITON}\ncommand: [sh, -c, 'tritonserver --model-repository=gs://bucket/models']", id="in a script"
        ),
        pytest.param(f"{TRITON}\ncommand: [mpirun, -n, '2', tritonserver, --model-repository=/m]", id="mpirun"),
        pytest.param(
            f"{TRITON}\ncommand: [python3, /tensorrtllm_backend/scripts/launch_triton_server.py, --model_repo=/m]",
            id="the launch script",
        ),
    ],
)
def test_a_triton_server_is_recognised(lines: str) -> None:
    found = reading.started(f"{lines}\n{GPU}")
    assert reading.values(found, "engine", "engine_version", "checkpoint", "tensor_parallel") == [
        "triton",
        "24.07",
        None,
        None,
    ]
    assert found.open_ended == "what Triton serves is in its model repository"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"{TRITON}", id="the image alone, which runs a shell"),
        pytest.param(f"{TRITON}\ncommand: [sleep, infinity]", id="the image, another command"),
        pytest.param("image: nvcr.io/nvidia/tritonserver:24.07-py3-sdk\ncommand: [perf_analyzer, -m, x]", id="the SDK"),
        pytest.param("image: example.com/app:1\ncommand: [pip, install, tritonserver]", id="only the word"),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, 'ls /opt/tritonserver/bin/tritonserver']", id="ls"),
        pytest.param("image: example.com/triton-exporter:1\nargs: [--port=8002]", id="an exporter"),
    ],
)
def test_what_is_no_triton_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine") == [None]


@pytest.mark.parametrize(
    ("arguments", "ranks"),
    [
        ("--world_size=4, --model_repo=/m", 4),
        ("--world_size, '2', --model_repo, /m", 2),
        ("--model_repo=/m", 1),
        ("--world_size=4, --multi-model", "unknown: several engines share the ranks"),
        ("--world_size=many", "unknown: many is not a number"),
    ],
)
def test_the_launch_script_tells_the_ranks_but_not_their_split(arguments: str, ranks: object) -> None:
    found = reading.started(f"{TRITON}\ncommand: [python3, launch_triton_server.py, {arguments}]\n{GPU}")
    assert reading.values(found, "parallel_size", "tensor_parallel", "pipeline_parallel") == [ranks, None, None]


def test_the_ranks_of_the_launch_script_have_their_place() -> None:
    found = reading.started(f"{TRITON}\ncommand: [python3, launch_triton_server.py, --world_size=4]\n{GPU}")
    assert reading.source(found, "parallel_size") == "--world_size=4"


def test_nothing_else_tells_the_ranks() -> None:
    found = reading.started(f"{TRITON}\ncommand: [tritonserver, --model-repository=/models]\n{GPU}")
    assert reading.values(found, "parallel_size") == [None]


# ---- TorchServe


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"{TORCHSERVE}", id="the image's entry point"),
        pytest.param(f"{TORCHSERVE}\nargs: [torchserve, --start, --model-store=/m]", id="in args"),
        pytest.param("image: example.com/app:1\ncommand: [torchserve, --start, --foreground]", id="the command"),
        pytest.param("image: pytorch/torchserve-kfs:0.12.0-gpu", id="KServe's build"),
    ],
)
def test_a_torchserve_server_is_recognised(lines: str) -> None:
    found = reading.started(f"{lines}\n{GPU}")
    assert reading.values(found, "engine", "checkpoint") == ["torchserve", None]
    assert found.open_ended == "what TorchServe serves is in its model store"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("image: example.com/app:1\ncommand: [torchserve, --stop]", id="its end"),
        pytest.param(f"{TORCHSERVE}\ncommand: [sleep, infinity]", id="the image, another command"),
        pytest.param(f"{TORCHSERVE}\nargs: [torch-model-archiver, --model-name=x]", id="its archiver"),
        pytest.param("image: example.com/torchserve-exporter:1", id="an exporter"),
    ],
)
def test_what_is_no_torchserve_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine") == [None]


def test_neither_has_an_argument_for_the_network_it_serves() -> None:
    assert engines.render_argument("triton", "24.07", "tensor_parallel", 2) is None
    assert engines.render_argument("torchserve", "0.12.0", "tensor_parallel", 2) is None
