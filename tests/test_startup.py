"""Start-up: the probes of a container, the time its server takes, and tags that move."""

from __future__ import annotations

import pytest
import reading
from reading import values

from gpulint.facts.model import Missing
from gpulint.facts.resolver import resolve
from gpulint.workload import Field

PROBED = """
image: vllm/vllm-openai:v0.11.0
args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
resources: {{limits: {{nvidia.com/gpu: 1}}}}
{probes}
"""


def probed(probes: str) -> list[object]:
    """The budget, the window, and whether a startup probe stands, of a pod with these probes."""
    role = reading.started(PROBED.format(probes=probes))
    return values(role, "startup_budget_s", "liveness_window_s", "startup_probe")


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        pytest.param(
            "livenessProbe: {httpGet: {path: /health, port: 8000}}", [30, 30, None], id="defaults: 3 times 10 s"
        ),
        pytest.param(
            "livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 120, periodSeconds: 5}",
            [135, 15, None],
            id="a first delay",
        ),
        pytest.param(
            "startupProbe: {httpGet: {path: /health, port: 8000}, failureThreshold: 60}\n"
            "livenessProbe: {httpGet: {path: /health, port: 8000}, failureThreshold: 90}",
            [600, None, True],
            id="a startup probe holds the liveness probe back",
        ),
        pytest.param("livenessProbe: {tcpSocket: {port: 8000}}", [None, None, None], id="a socket may be open early"),
        pytest.param("livenessProbe: {exec: {command: [pgrep, vllm]}}", [None, None, None], id="a command"),
        pytest.param(
            "livenessProbe: {httpGet: {path: /live, port: 9090}}", [None, 30, None], id="another server's path"
        ),
        pytest.param(
            "livenessProbe: {httpGet: {path: /health, port: 8000}, failureThreshold: '{{ n }}'}",
            [None, None, None],
            id="a template",
        ),
        pytest.param(
            "startupProbe: {exec: {command: [cat, /tmp/ready]}}\nlivenessProbe: {httpGet: {path: /health, port: 8000}}",
            [None, None, True],
            id="a startup probe of another sort",
        ),
        pytest.param(
            "readinessProbe: {httpGet: {path: /health, port: 8000}}", [None, None, None], id="readiness kills nothing"
        ),
        pytest.param("livenessProbe: null", [None, None, None], id="none"),
    ],
)
def test_how_long_probes_wait(probes: str, expected: list[object]) -> None:
    assert probed(probes) == expected


def test_an_operator_may_change_the_probes_of_its_pods() -> None:
    container = (
        "{name: worker, image: 'rayproject/ray:2.49.0', command: [vllm, serve, Qwen/Qwen2.5-7B-Instruct], "
        "livenessProbe: {httpGet: {path: /health, port: 8000}}, resources: {limits: {nvidia.com/gpu: 1}}}"
    )
    role = reading.role(
        f"""
        apiVersion: ray.io/v1
        kind: RayCluster
        metadata: {{name: chat}}
        spec:
          workerGroupSpecs: [{{groupName: gpu, replicas: 1, template: {{spec: {{containers: [{container}]}}}}}}]
        """
    )
    assert values(role, "startup_budget_s", "liveness_window_s") == [None, None]


def test_each_term_only_ever_costs_time() -> None:
    role = reading.started(PROBED.format(probes="")).having(
        weight_bytes=Field(145.4e9), engine_start_s=Field(44.0), weight_read_s_per_byte=Field(8.3e-10)
    )
    expected = resolve(role, None).expected("start_up_s")
    slower = [
        resolve(role.having(**{name: Field(value)}), None).expected("start_up_s")
        for name, value in (("engine_start_s", 95.0), ("weight_read_s_per_byte", 1.9e-9))
    ]
    assert expected == pytest.approx(164.7, abs=0.1)
    assert slower == pytest.approx([215.7, 320.3], abs=0.1)


def test_the_measured_start_of_a_large_model_lies_between_the_scenarios() -> None:
    """vLLM 0.19 took 175 s to start Qwen2.5-72B on two H100 (llm-d-incubation/llm-d-planner d3121e0)."""
    role = reading.started(PROBED.format(probes="")).having(weight_bytes=Field(145.4e9))
    scenarios = resolve(role, None).scenarios("start_up_s")
    assert not isinstance(scenarios, Missing)
    assert [scenarios.best, scenarios.worst] == pytest.approx([18.6, 371.3], abs=0.1)


@pytest.mark.parametrize(
    ("image", "moves"),
    [
        ("vllm/vllm-openai:latest", True),
        ("vllm/vllm-openai:nightly", True),
        ("vllm/vllm-openai:latest-cu129", True),
        ("registry.example.com:5000/vllm-openai:main", True),
        ("vllm/vllm-openai:v0.11.0", False),
        ("vllm/vllm-openai", False),
        ("vllm/vllm-openai:cu129", False),
        ("vllm/vllm-openai:nightly-2025-08-25", False),
        ("vllm/vllm-openai:nightly-8c1e2a7", False),
        ("registry.example.com/vllm-serve-cu121.0-9.ubuntu2204:latest", False),
        ("vllm/vllm-openai:latest@sha256:00ff", False),
        ("vllm/vllm-openai:nightly-0.11.1.dev3", False),
        ("ghcr.io/acme/vllm-openai:mainline7", False),
    ],
)
def test_a_tag_that_moves(image: str, moves: bool) -> None:
    assert reading.server("[--model=Qwen/Qwen2.5-7B-Instruct]", image).value("moving_image") == (
        image if moves else None
    )


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ("[{name: CUDA_VISIBLE_DEVICES, value: '2,3,1'}]", 2),
        ("[{name: CUDA_VISIBLE_DEVICES, value: GPU-8932f937}]", None),
        ("[{name: CUDA_VISIBLE_DEVICES, value: '3'}, {name: NVIDIA_VISIBLE_DEVICES, value: all}]", None),
        ("[{name: CUDA_VISIBLE_DEVICES, value: ''}]", None),
    ],
)
def test_the_first_of_the_visible_devices(environment: str, first: int | None) -> None:
    role = reading.started(PROBED.format(probes=f"env: {environment}"))
    assert role.value("first_visible_device") == first
