"""Starts and stops of a server: its probes, its hooks, the Service before it, and the weights that a new container needs."""

from __future__ import annotations

import textwrap

import pytest
import samples

from gpulint.policy.rules import rule

NAMES = frozenset(
    {
        *("rollout-waits-for-gpus", "grace-period-below-pre-stop", "health-check-tool-missing", "lone-pod-serves"),
        *("post-start-blocks-probes", "probe-restarts-other-container", "readiness-probe-delayed"),
        *("readiness-probe-missing", "output-folder-lost-with-pod", "single-node-volume-autoscaled"),
        "weights-not-kept",
    }
)
OURS = tuple(one for one in rule.load_shipped().values() if one.name in NAMES)
SERVICE = (
    "---\napiVersion: v1\nkind: Service\nmetadata: {name: chat}\nspec: {selector: {app: chat}, ports: [{port: 8000}]}\n"
)
READY = "readinessProbe: {httpGet: {path: /health, port: 8000}}"
CACHE = "volumeMounts: [{name: cache, mountPath: /root/.cache/huggingface}]"
CLAIM = "volumes: [{name: cache, persistentVolumeClaim: {claimName: weights}}]"
EMPTY = "volumes: [{name: cache, emptyDir: {}}]"


def said(text: str, files: dict[str, bytes] | None = None) -> set[str]:
    return {one.rule for one in samples.report(text, rules=OURS, files=files, alternatives=False).open}


def server(*lines: str, pod: str = "", spec: str = "", kind: str = "Deployment", more: str = "") -> str:
    """A Deployment of vLLM with these lines of its container, its pod, its specification and its pod's list."""
    container = textwrap.indent("\n".join(lines), " " * 10)
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: chat}}\nspec:\n  {spec or 'paused: false'}\n"
        "  template:\n    metadata: {labels: {app: chat}}\n    spec:\n"
        f"      {pod or 'hostNetwork: false'}\n      containers:\n"
        "        - name: server\n          image: vllm/vllm-openai:v0.11.0\n"
        "          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]\n"
        f"          resources: {{limits: {{nvidia.com/gpu: 1}}}}\n{container}\n{textwrap.indent(more, ' ' * 8)}\n"
    )


def stopping(hook: str, pod: str = "") -> str:
    return server(f"lifecycle: {{preStop: {hook}}}", pod=pod)


def composed(*lines: str, image: str = "ollama/ollama:0.12.6") -> str:
    """A service of compose with a GPU."""
    rest = textwrap.indent("\n".join(lines), "    ")
    gpus = "{resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}"
    return (
        f"services:\n  chat:\n    image: {image}\n    deploy: {gpus}\n{rest}\nvolumes: {{models: {{}}, cache: {{}}}}\n"
    )


def checked(test: str) -> str:
    return composed("volumes: [models:/root/.ollama]", f"healthcheck: {{test: {test}}}")


# ---- hooks and probes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(stopping("{sleep: {seconds: 30}}"), True, id="as long as the default of 30 s"),
        pytest.param(stopping("{sleep: {seconds: 29}}"), False, id="shorter"),
        pytest.param(stopping("{exec: {command: [sleep, '45']}}"), True, id="a command"),
        pytest.param(stopping("{exec: {command: [/bin/sleep, 45s]}}"), True, id="a command with its unit"),
        pytest.param(stopping("{exec: {command: [sh, -c, 'sleep 45 && kill 1']}}"), True, id="a shell"),
        pytest.param(
            stopping("{exec: {command: [sh, -c, 'sleep 20; sleep 25']}}"), False, id="two sleeps are not added"
        ),
        pytest.param(
            stopping("{exec: {command: [sh, -c, 'while busy; do sleep 45; done']}}"), False, id="a loop may end earlier"
        ),
        pytest.param(stopping("{sleep: {seconds: 45}}", "terminationGracePeriodSeconds: 90"), False, id="time enough"),
        pytest.param(stopping("{sleep: {seconds: 45}}", "terminationGracePeriodSeconds: 45"), True, id="no time left"),
        pytest.param(stopping("{sleep: {seconds: 45}}", "terminationGracePeriodSeconds:"), True, id="an empty key"),
        pytest.param(stopping("{}"), False, id="an empty hook"),
    ],
)
def test_the_hook_counts_against_the_grace_period(text: str, expected: bool) -> None:
    assert ("grace-period-below-pre-stop" in said(text)) is expected


WAITING = "exec: {command: [sh, -c, 'until curl -fs localhost:8000/health; do sleep 5; done']}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param((f"lifecycle: {{postStart: {{{WAITING}}}}}", READY), True, id="a loop until the server answers"),
        pytest.param((f"lifecycle: {{postStart: {{{WAITING}}}}}",), False, id="no probe to keep from running"),
        pytest.param(
            ("lifecycle: {postStart: {exec: {command: [sh, -c, 'nvidia-smi > /tmp/gpus']}}}", READY),
            False,
            id="no loop",
        ),
    ],
)
def test_a_hook_that_waits_for_the_server(lines: tuple[str, ...], expected: bool) -> None:
    assert ("post-start-blocks-probes" in said(server(*lines))) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(("readinessProbe: {tcpSocket: {port: 8000}, initialDelaySeconds: 120}",), True, id="two minutes"),
        pytest.param(("readinessProbe: {tcpSocket: {port: 8000}, initialDelaySeconds: 60}",), False, id="one minute"),
        pytest.param(
            (
                "readinessProbe: {tcpSocket: {port: 8000}, initialDelaySeconds: 300}",
                "startupProbe: {tcpSocket: {port: 8000}, failureThreshold: 60}",
            ),
            False,
            id="a startup probe beside it",
        ),
    ],
)
def test_the_first_delay_of_a_readiness_probe(lines: tuple[str, ...], expected: bool) -> None:
    assert ("readiness-probe-delayed" in said(server(*lines))) is expected


SIDECAR = (
    "- name: other\n  image: curlimages/curl:8.10.1\n  command: [sleep, infinity]\n  {}: {{httpGet: {{port: {}}}}}\n"
)
PORT = "ports: [{containerPort: 8000}]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(server(PORT, more=SIDECAR.format("livenessProbe", 8000)), True, id="liveness"),
        pytest.param(server(PORT, more=SIDECAR.format("startupProbe", 8000)), True, id="startup"),
        pytest.param(server(PORT, more=SIDECAR.format("readinessProbe", 8000)), False, id="readiness restarts nothing"),
        pytest.param(server(PORT, more=SIDECAR.format("livenessProbe", 9000)), False, id="a port of its own"),
        pytest.param(
            server(PORT, more=SIDECAR.format("livenessProbe", 8000) + "  ports: [{containerPort: 8000}]\n"),
            False,
            id="a port that both name",
        ),
        pytest.param(
            server(PORT, "livenessProbe: {tcpSocket: {port: 8000}}", more=SIDECAR.format("livenessProbe", 8000)),
            False,
            id="the server has its own",
        ),
    ],
)
def test_a_probe_of_another_container(text: str, expected: bool) -> None:
    assert ("probe-restarts-other-container" in said(text)) is expected


# ---- the Service before a server


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(server() + SERVICE, True, id="no probe"),
        pytest.param(server("readinessProbe:") + SERVICE, True, id="an empty probe is none"),
        pytest.param(server(READY) + SERVICE, False, id="a readiness probe"),
        pytest.param(server("startupProbe: {tcpSocket: {port: 8000}}") + SERVICE, False, id="a startup probe"),
        pytest.param(server(), False, id="no Service"),
        pytest.param(server() + SERVICE.replace("app: chat", "app: web"), False, id="a Service of other pods"),
        pytest.param(server() + SERVICE.replace("{app: chat}", "{}"), False, id="a Service without a selector"),
        pytest.param(
            server() + SERVICE.replace("{name: chat}", "{name: chat, namespace: b}"), False, id="another namespace"
        ),
        pytest.param(server(pod="readinessGates: [{conditionType: loaded}]") + SERVICE, False, id="a gate"),
        pytest.param(
            server("command: [sh, -c, 'ray start --head && vllm serve Qwen/Qwen2.5-7B-Instruct']") + SERVICE,
            False,
            id="the workers of Ray join through the Service",
        ),
        pytest.param(
            server('command: [sh, -c, "set -e\\nray start --head\\nvllm serve Qwen/Qwen2.5-7B-Instruct"]') + SERVICE,
            False,
            id="a script of several lines starts Ray",
        ),
    ],
)
def test_requests_before_the_weights_are_loaded(text: str, expected: bool) -> None:
    assert ("readiness-probe-missing" in said(text)) is expected


def test_a_service_of_another_file_of_the_folder_counts() -> None:
    assert "readiness-probe-missing" in said(server(), {"service.yaml": SERVICE.encode()})


def lone(policy: str = "") -> str:
    return textwrap.dedent(f"""\
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat, labels: {{app: chat}}}}
        spec:
          restartPolicy: {policy}
          containers:
            - name: server
              image: vllm/vllm-openai:v0.11.0
              args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(lone() + SERVICE, {"lone-pod-serves", "weights-not-kept"}, id="a Service needs it"),
        pytest.param(lone(), set(), id="a trial"),
        pytest.param(lone("Never") + SERVICE, {"weights-not-kept"}, id="a pod that is meant to end"),
    ],
)
def test_a_pod_that_nothing_creates_again(text: str, expected: set[str]) -> None:
    assert said(text) == expected


# ---- updates and autoscalers

HOST = "nodeSelector: {kubernetes.io/hostname: gpu-1}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(server(pod=HOST), True, id="the default starts the new pod first"),
        pytest.param(server(pod="nodeName: gpu-1"), True, id="a node by its name"),
        pytest.param(server(pod="nodeName: gpu-1", spec="strategy:"), True, id="an empty strategy"),
        pytest.param(server(), False, id="any node"),
        pytest.param(server(pod=HOST, spec="strategy: {type: Recreate}"), False, id="the old pod stops first"),
        pytest.param(server(pod=HOST, spec="strategy: {rollingUpdate: {maxSurge: 0}}"), False, id="no surge"),
        pytest.param(
            server(pod=HOST, spec="strategy: {rollingUpdate: {maxUnavailable: 1}}"), False, id="the old pod may stop"
        ),
        pytest.param(server(pod=HOST, kind="StatefulSet"), False, id="a StatefulSet stops first"),
    ],
)
def test_an_update_on_the_only_node(text: str, expected: bool) -> None:
    assert ("rollout-waits-for-gpus" in said(text)) is expected


# ---- health checks of compose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(checked("[CMD, curl, -f, 'http://localhost:11434']"), True, id="curl"),
        pytest.param(checked("'wget -q http://localhost:11434 || exit 1'"), True, id="a text"),
        pytest.param(checked("[CMD-SHELL, 'curl -f localhost:11434 || exit 1']"), True, id="a shell"),
        pytest.param(checked("[CMD-SHELL, 'curl -f localhost:11434 || ollama list']"), False, id="an alternative"),
        pytest.param(checked("[CMD, ollama, list]"), False, id="a program of the image"),
        pytest.param(checked("[NONE]"), False, id="none"),
        pytest.param(checked(""), False, id="an empty check"),
        pytest.param(
            composed(
                "volumes: [cache:/root/.cache/huggingface]",
                "command: --model Qwen/Qwen2.5-7B-Instruct",
                "healthcheck: {test: [CMD, curl, -f, 'http://localhost:8000/health']}",
                image="vllm/vllm-openai:v0.11.0",
            ),
            False,
            id="an image with curl",
        ),
        pytest.param(
            composed("build: .", "healthcheck: {test: [CMD, curl, localhost:11434]}"), False, id="an image of its own"
        ),
    ],
)
def test_a_tool_that_the_image_lacks(text: str, expected: bool) -> None:
    assert ("health-check-tool-missing" in said(text)) is expected


# ---- weights that no volume keeps


def custom(*lines: str, pod: str = EMPTY) -> str:
    """A server of an image of its own."""
    text = server(*lines, pod=pod).replace("vllm/vllm-openai:v0.11.0", "registry.example.com/chat:1")
    return text.replace("          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]\n", "")


KSERVE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: chat}
spec:
  predictor:
    containers:
      - name: kserve-container
        image: nvcr.io/nim/meta/llama3-8b-instruct:1.0.0
        resources: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(KSERVE, False, id="an operator may mount more"),
        pytest.param(composed(), True, id="a service without a volume"),
        pytest.param(composed("volumes:"), True, id="an empty list"),
        pytest.param(composed("volumes: [models:/root/.ollama]"), False, id="a volume"),
        pytest.param(composed("volumes: [models:/root]"), False, id="a volume above"),
        pytest.param(composed("volumes: [models:/root/.ollama/models:rw]"), False, id="a volume below"),
        pytest.param(composed("volumes: [models:/models]"), True, id="a volume elsewhere"),
        pytest.param(
            composed("volumes: [models:/models]", "environment: {OLLAMA_MODELS: /models}"),
            False,
            id="a folder of its own",
        ),
        pytest.param(composed("volumes: ['models:${FOLDER}']"), False, id="a folder that is not known"),
        pytest.param(composed("volumes: [{type: tmpfs, target: /root/.ollama}]"), True, id="memory keeps nothing"),
        pytest.param(composed("tmpfs: /root/.ollama"), True, id="memory by its key keeps nothing"),
        pytest.param(composed("volumes_from: [data]"), False, id="volumes of another container"),
        pytest.param(server(CACHE, pod=EMPTY), True, id="an emptyDir"),
        pytest.param(
            server(CACHE, pod=EMPTY.replace("emptyDir: {}", "ephemeral: {volumeClaimTemplate: {spec: {}}}")),
            True,
            id="a volume that is made for each pod",
        ),
        pytest.param(server(CACHE, pod=CLAIM), False, id="a claim"),
        pytest.param(server(CACHE, "env: [{name: HF_HUB_OFFLINE, value: '1'}]", pod=EMPTY), False, id="no download"),
        pytest.param(server(), False, id="a pod without volumes may be a trial"),
        pytest.param(server() + SERVICE, True, id="a Service needs it"),
        pytest.param(custom(CACHE), True, id="the cache of an image of its own"),
        pytest.param(custom(CACHE, "args: [--model=/models/chat]"), False, id="weights in a folder"),
        pytest.param(custom(CACHE, pod=CLAIM), False, id="a claim for an image of its own"),
        pytest.param(
            custom("env: [{name: HF_HOME, value: /c/hf}]", "volumeMounts: [{name: cache, mountPath: /c}]"),
            True,
            id="a folder that a variable names",
        ),
        pytest.param(
            custom("env: [{name: HF_HOME, value: /d/hf}]", "volumeMounts: [{name: cache, mountPath: /c}]"),
            False,
            id="another folder that a variable names",
        ),
        pytest.param(custom("volumeMounts: [{name: cache, mountPath: /dev/shm}]"), False, id="another emptyDir"),
        pytest.param(
            custom(CACHE).replace(
                "      containers:",
                "      initContainers:\n        - name: copy\n          image: registry.example.com/weights:1\n"
                "          command: [cp, -r, /weights, /cache]\n"
                "          volumeMounts: [{name: cache, mountPath: /cache}]\n      containers:",
            ),
            False,
            id="another container brings the weights",
        ),
    ],
)
def test_weights_that_each_new_container_downloads(text: str, expected: bool) -> None:
    assert ("weights-not-kept" in said(text)) is expected
