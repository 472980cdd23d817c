"""Settings of a container: a larger /dev/shm, a memory limit, no list of devices, and the ranks of a draft, written in place."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import Suggestion

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args:
        - --model=meta-llama/Llama-3.1-70B-Instruct
        - --max-model-len=8192
        - --tensor-parallel-size=4
      resources:
        limits:
          nvidia.com/gpu: 4
"""
COMPOSE = """\
services:
  chat:
    image: vllm/vllm-openai:v0.10.1
    command: [--model, meta-llama/Llama-3.1-70B-Instruct, --max-model-len, "8192", --tensor-parallel-size, "4"]
    deploy:
      resources:
        reservations:
          devices: [{driver: nvidia, count: 4, capabilities: [gpu]}]
"""
MOUNT, VOLUME = "{name: shm, mountPath: /dev/shm}", "{name: shm, emptyDir: {medium: Memory}}"


def first(text: str, rule: str) -> Suggestion:
    (finding,) = samples.of_rule(samples.report(text), rule)
    return finding.suggestions[0]


def fixed(text: str, rule: str) -> str:
    """The text after the first suggestion, in which the rule is silent."""
    changed = samples.changed(text, first(text, rule))
    after = samples.report(changed)
    assert after.failures == ()
    assert samples.of_rule(after, rule) == []
    return changed


# ---- shared memory


def test_a_pod_gets_a_volume_and_its_mount() -> None:
    changed = fixed(POD, "shared-memory-too-small")
    assert f"          nvidia.com/gpu: 4\n      volumeMounts: [{MOUNT}]\n" in changed
    assert f"nvidia-h100-80gb}}\n  volumes: [{VOLUME}]\n  containers:" in changed


def test_lists_that_exist_get_one_more_item() -> None:
    mounts = "      volumeMounts:\n        - name: cache\n          mountPath: /cache\n"
    volumes = "  volumes:\n    - name: cache\n      emptyDir: {}\n"
    changed = fixed(POD + mounts + volumes, "shared-memory-too-small")
    assert changed == POD + f"{mounts}        - {MOUNT}\n{volumes}    - {VOLUME}\n"


def test_a_memory_backed_volume_that_exists_is_mounted() -> None:
    volumes = "  volumes:\n    - name: fast\n      emptyDir: {medium: Memory}\n"
    changed = fixed(POD + volumes, "memory-volume-not-mounted")
    assert changed == f"{POD}      volumeMounts: [{MOUNT.replace('shm,', 'fast,', 1)}]\n{volumes}"


def test_a_name_that_another_volume_has_is_not_taken() -> None:
    volumes = "  volumes:\n    - name: shm\n      emptyDir: {}\n"
    assert "name: dshm, emptyDir: {medium: Memory}" in fixed(POD + volumes, "shared-memory-too-small")


@pytest.mark.parametrize(("stated", "kept"), [("", ""), ("    shm_size: 64m\n", "")])
def test_a_service_of_compose_gets_a_size(stated: str, kept: str) -> None:
    changed = fixed(COMPOSE + stated, "shared-memory-too-small")
    assert changed.count("shm_size: 8g\n") == 1
    assert "64m" not in changed


def test_a_change_that_starts_ranks_takes_the_volume_with_it() -> None:
    """66 GiB on each of two A100 40 GB do not fit, 33 on four do; one rank needs no shared memory, four do."""
    one = POD.replace("nvidia-h100-80gb", "nvidia-a100-80gb").replace("size=4", "size=1").replace("gpu: 4", "gpu: 1")
    (finding,) = samples.of_rule(samples.report(one), "weights-exceed-memory")
    more = next(found for found in finding.suggestions if found.values.get("gpus_per_pod", 1) != 1)
    assert {"shared_memory_default", "gpus_per_pod", "tensor_parallel"} <= more.values.keys()
    after = samples.report(samples.changed(one, more))
    assert samples.of_rule(after, "shared-memory-too-small") == []


# ---- memory, devices, drafts


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [("16Gi", "152Gi"), ("20G", "164G"), ("16384Mi", "155648Mi")],
)
def test_a_memory_limit_holds_what_the_ranks_load_in_its_own_unit(limit: str, wanted: str) -> None:
    """131.4 GiB of weights and 4 GiB for each of four ranks are 147.4: 152 as a multiple of 8, 163.2 in 10^9."""
    text = POD.replace("          nvidia.com/gpu: 4\n", f"          nvidia.com/gpu: 4\n          memory: {limit}\n")
    assert f"memory: {wanted}\n" in fixed(text, "host-memory-below-weights")


def test_a_request_that_repeats_the_limit_follows_it() -> None:
    text = POD.replace(
        "          nvidia.com/gpu: 4\n",
        "          nvidia.com/gpu: 4\n          memory: 16Gi\n        requests: {memory: 16Gi}\n",
    )
    assert fixed(text, "host-memory-below-weights").count("memory: 152Gi") == 2


ENVIRONMENT = (
    '      env:\n        - {name: HF_HOME, value: /cache}\n        - {name: CUDA_VISIBLE_DEVICES, value: "0,1"}\n'
)


def test_a_list_that_hides_requested_gpus_is_removed() -> None:
    changed = fixed(POD + ENVIRONMENT, "visible-devices-too-few")
    assert changed == POD + ENVIRONMENT.splitlines(keepends=True)[0] + ENVIRONMENT.splitlines(keepends=True)[1]


def test_a_draft_gets_one_rank() -> None:
    draft = (
        '{"model": "meta-llama/Llama-3.2-1B-Instruct", "num_speculative_tokens": 4, "draft_tensor_parallel_size": 2}'
    )
    text = POD.replace("size=4\n", f"size=4\n        - '--speculative-config={draft}'\n")
    changed = fixed(text, "draft-tensor-parallel-invalid")
    assert changed == text.replace('parallel_size": 2', 'parallel_size": 1')


# ---- where nothing is certain


@pytest.mark.parametrize(
    "text",
    [
        POD.replace("kind: Pod", "kind: Pod\nx-args: &mounts []").replace(
            "      args:", "      volumeMounts: *mounts\n      args:"
        ),
        POD.replace("  containers:", "  hostIPC: true\n  containers:"),
    ],
)
def test_nothing_is_added_where_a_list_is_shared_or_the_memory_is_the_hosts(text: str) -> None:
    found = samples.of_rule(samples.report(text), "shared-memory-too-small")
    assert [finding.suggestions for finding in found] in ([()], [])
