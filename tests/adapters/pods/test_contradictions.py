"""Hazards: what of a pod works against its GPUs, and what only looks as if it did."""

from __future__ import annotations

import pytest
import reading

ASKED = "resources: {limits: {nvidia.com/gpu: 8}}"
SERVER = "image: vllm/vllm-openai:v0.10.1\nargs: [--model=Qwen/Qwen3-8B]\n"


def values(lines: str, name: str) -> list[object]:
    return reading.values(reading.started(lines), name)


# ---- privileged


def test_a_privileged_container_that_asks_for_gpus_sees_them_all() -> None:
    role = reading.started(f"image: train\n{ASKED}\nsecurityContext: {{privileged: true}}")
    assert (reading.values(role, "privileged"), reading.source(role, "privileged")) == ([True], "true")


@pytest.mark.parametrize(
    "lines",
    [
        f"image: train\n{ASKED}\nsecurityContext: {{privileged: false}}",
        f"image: train\n{ASKED}\nsecurityContext: {{capabilities: {{add: [IPC_LOCK]}}}}",
        f"{SERVER}securityContext: {{privileged: true}}",
    ],
    ids=["not privileged", "a capability", "asks for none"],
)
def test_other_containers_are_not_privileged(lines: str) -> None:
    assert values(lines, "privileged") == [None]


# ---- RDMA


def rdma(resource: str, variable: str, value: str) -> str:
    asked = f"resources: {{limits: {{nvidia.com/gpu: 8, {resource}: 1}}}}"
    return f"image: train\n{asked}\nenv: [{{name: {variable}, value: '{value}'}}]"


@pytest.mark.parametrize(
    ("resource", "variable", "value"),
    [
        ("rdma/rdma_shared_device_a", "NCCL_NET", "Socket"),
        ("rdma/ib", "NCCL_IB_DISABLE", "1"),
        ("nvidia.com/hostdev", "NCCL_IB_DISABLE", "1"),
        ("vpc.amazonaws.com/efa", "NCCL_NET", "Socket"),
    ],
)
def test_a_variable_keeps_nccl_off_the_devices_that_are_asked_for(resource: str, variable: str, value: str) -> None:
    """docs.nvidia.com NCCL environment variables: NCCL_NET names the network, NCCL_IB_DISABLE=1 turns verbs off."""
    role = reading.started(rdma(resource, variable, value))
    found = (reading.values(role, "rdma_switched_off"), reading.source(role, "rdma_switched_off"))
    assert found == ([variable], f"'{value}'")


@pytest.mark.parametrize(
    ("resource", "variable", "value"),
    [
        ("vpc.amazonaws.com/efa", "NCCL_IB_DISABLE", "1"),
        ("rdma/ib", "NCCL_IB_DISABLE", "0"),
        ("rdma/ib", "NCCL_NET", "IB"),
        ("example.com/nic", "NCCL_NET", "Socket"),
    ],
    ids=["EFA needs no verbs", "left on", "named", "no RDMA device"],
)
def test_rdma_is_not_switched_off_by(resource: str, variable: str, value: str) -> None:
    assert values(rdma(resource, variable, value), "rdma_switched_off") == [None]


# ---- visible devices without a claim to one

VISIBLE = "env: [{name: CUDA_VISIBLE_DEVICES, value: '%s'}]\n"


def test_devices_that_nobody_granted_go_round_the_scheduler() -> None:
    assert values(SERVER + VISIBLE % "0", "devices_unscheduled") == ["0"]
    assert values(SERVER + VISIBLE % "0,1" + "resources: {requests: {cpu: 4}}", "devices_unscheduled") == ["0,1"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(SERVER + VISIBLE % "0" + ASKED, id="asked for"),
        pytest.param(SERVER + VISIBLE % "" + "resources: {requests: {cpu: 4}}", id="none"),
        pytest.param(SERVER + VISIBLE % "-1", id="hidden"),
        pytest.param(
            SERVER + VISIBLE % "0" + "resources: {limits: {example.com/gpu: 1}}", id="another plugin's resource"
        ),
        pytest.param(SERVER + VISIBLE % "0" + "resources: {claims: [{name: gpu}]}", id="a claim"),
        pytest.param(SERVER + VISIBLE % "$(DEVICES)", id="not a list"),
    ],
)
def test_visible_devices_are_fine_where_something_grants_them_or_none_is_named(lines: str) -> None:
    assert values(lines, "devices_unscheduled") == [None]


def pod(spec: str, metadata: str = "{name: a}") -> str:
    return f"apiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {{{spec}}}\n"


SHOWN = (
    "{name: s, image: 'vllm/vllm-openai:v0.10.1', args: [--model=a/b], env: [{name: CUDA_VISIBLE_DEVICES, value: '0'}]}"
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pod(f"runtimeClassName: nvidia, containers: [{SHOWN}]"), id="a runtime that injects them"),
        pytest.param(pod(f"containers: [{SHOWN}]", "{name: a, annotations: {gpu-fraction: '0.5'}}"), id="a share"),
    ],
)
def test_devices_that_another_mechanism_grants_are_scheduled(text: str) -> None:
    assert reading.values(reading.role(text), "devices_unscheduled") == [None]


# ---- volumes in memory


def volumes(volume: str, mounts: str = "", more: str = "") -> str:
    container = f"{{name: train, image: train, {ASKED}{mounts}}}"
    return pod(f"volumes: [{volume}], containers: [{container}]{more}")


def test_a_volume_in_memory_that_nobody_mounts_is_named_at_its_name() -> None:
    role = reading.role(volumes("{name: shm, emptyDir: {medium: Memory, sizeLimit: 40Gi}}"))
    found = (reading.values(role, "unmounted_memory_volume"), reading.source(role, "unmounted_memory_volume"))
    assert found == (["shm"], "shm")


MEMORY = "{name: shm, emptyDir: {medium: Memory}}"
MOUNT = ", volumeMounts: [{name: shm, mountPath: /dev/shm}]"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(volumes(MEMORY, MOUNT), id="mounted"),
        pytest.param(volumes(MEMORY, more=f", initContainers: [{{name: i{MOUNT}}}]"), id="at the start"),
        pytest.param(volumes("{name: gke-gcsfuse-cache, emptyDir: {medium: Memory}}"), id="for an injected sidecar"),
        pytest.param(volumes("{name: scratch, emptyDir: {}}"), id="on the disk"),
        pytest.param(
            volumes(MEMORY).replace("apiVersion: v1", "apiVersion: ml.example.com/v1"), id="an operator may mount it"
        ),
    ],
)
def test_a_volume_is_of_use_where(text: str) -> None:
    assert reading.values(reading.role(text), "unmounted_memory_volume") == [None]


# ---- devices that a variable hides


@pytest.mark.parametrize(
    ("value", "found"),
    [("-1", "-1"), ("-1,0", "-1,0"), ("0,-1", None), ("0", None), ("-10", None), ("all", None), ("", None)],
)
def test_cuda_stops_reading_at_a_number_that_no_device_has(value: str, found: str | None) -> None:
    """CUDA C++ Programming Guide, CUDA environment variables: -1 hides the devices behind it."""
    variable = f"env: [{{name: CUDA_VISIBLE_DEVICES, value: '{value}'}}]"
    assert values(f"image: train\n{ASKED}\n{variable}", "hidden_devices") == [found]


def test_a_container_without_gpus_has_none_to_hide() -> None:
    assert values(f"{SERVER}env: [{{name: CUDA_VISIBLE_DEVICES, value: '-1'}}]", "hidden_devices") == [None]


# ---- mounts without a path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (volumes(MEMORY, ", volumeMounts: [{name: shm}]"), "shm"),
        (volumes(MEMORY, ", volumeMounts: [{name: shm, mountPath: }]"), "shm"),
        (volumes(MEMORY, ", volumeMounts: [{name: shm, mountPath: ''}]"), "shm"),
        (volumes(MEMORY, ", volumeMounts: [{name: shm, subPath: a}]"), "shm"),
        (volumes(MEMORY, MOUNT), None),
        (volumes(MEMORY, ", volumeMounts: [{mountPath: /dev/shm}]"), None),
        (volumes(MEMORY, ", volumeMounts: [{name: shm, $patch: delete}]"), None),
        (volumes(MEMORY, ", volumeMounts: [{name: shm}]").replace("v1", "ml.example.com/v1"), None),
    ],
)
def test_a_mount_names_its_path(text: str, found: str | None) -> None:
    assert reading.values(reading.role(text), "mount_without_path") == [found]
