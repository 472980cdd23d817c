"""Programs that compute nothing on a GPU, in containers that request one."""

from __future__ import annotations

import pytest
import reading

ASKED = "resources: {limits: {nvidia.com/gpu: 1}}\n"
PYTORCH = f"image: nvcr.io/nvidia/pytorch:24.10-py3\n{ASKED}"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("[sleep, infinity]", "sleep infinity"),
        ("[sh, -c, 'sleep 360000']", "sleep 360000"),
        ("[sleep, 2d]", "sleep 2d"),
        ("[bash, -c, 'echo ready && tail -f /dev/null']", "tail -f /dev/null"),
    ],
)
def test_a_container_that_only_waits_holds_its_gpus(command: str, found: str) -> None:
    role = reading.started(f"{PYTORCH}command: {command}\n")
    assert reading.values(role, "waiting_program") == [found]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"{PYTORCH}command: [sh, -c, 'python train.py && sleep infinity']", id="it computes first"),
        pytest.param(f"{PYTORCH}command: [sh, -c, 'nvidia-smi; sleep 60']", id="it tests the GPUs"),
        pytest.param(f"{PYTORCH}command: [sleep, 1h]", id="a bare pod that ends by itself"),
        pytest.param(f"image: busybox\n{ASKED}command: [sleep, infinity]", id="an example of scheduling"),
        pytest.param(f"image: nvidia/cuda:12.4.1-base-ubuntu22.04\n{ASKED}command: [sleep, infinity]", id="a base"),
        pytest.param(
            "image: nvcr.io/nvidia/pytorch:24.10-py3\nresources: {limits: {nvidia.com/gpu: 0}}\ncommand: [sleep, '60']",
            id="no GPU is requested",
        ),
        pytest.param(
            f"{PYTORCH}command: [sleep, infinity]\nlifecycle: {{postStart: {{exec: {{command: [python, serve.py]}}}}}}",
            id="a hook starts a program",
        ),
    ],
)
def test_a_container_that_may_compute_does_not_only_wait(lines: str) -> None:
    assert reading.values(reading.started(lines), "waiting_program") == [None]
