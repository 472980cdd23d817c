"""A server is asked on the port on which it listens; what cannot be known says nothing."""

from __future__ import annotations

import textwrap
from typing import cast

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository

COMPOSE = """
services:
  chat:
    image: {image}
    {keys}
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 1, capabilities: [gpu]}}]}}}}}}
"""
POD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: ["--model=m", "--port=8001"]
          ports: [{name: http, containerPort: 8001}, {name: old, containerPort: 8000}]
          PROBE
          resources: {limits: {nvidia.com/gpu: 1}}
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: chat}, ports: PORTS}
"""
VLLM = "vllm/vllm-openai:v0.11.0"


def read(path: str, files: dict[str, str]) -> tuple[object, object]:
    held = ExampleRepository({name: text.encode() for name, text in files.items()})
    repository = cast("Repository", held)
    document = repository.read_documents(path)[0]
    (workload,) = enrichment.read(document, repository)
    return workload.roles[0].value("unserved_port"), workload.roles[0].value("listening_port")


@pytest.mark.parametrize(
    ("image", "keys", "found"),
    [
        (VLLM, "command: --model m --port 8001\n    ports: ['9998:8000']", ("8000", "8001")),
        (VLLM, "command: --model m\n    ports: ['127.0.0.1:80:80/tcp']", ("80", "8000")),
        (VLLM, "command: --model m\n    ports: [{target: 80, published: 80}]", ("80", "8000")),
        (VLLM, "command: --model m\n    ports: ['${PORT}:80']", ("80", "8000")),
        ("ollama/ollama:0.12.3", "ports: ['8080:8080']", ("8080", "11434")),
        (
            "ollama/ollama:0.12.3",
            "ports: ['1:11434']\n    environment: {OLLAMA_HOST: 'http://0.0.0.0'}",
            ("11434", "80"),
        ),
        (VLLM, "command: --model m --port 8001\n    ports: ['9998:8001']", (None, None)),
        (VLLM, "command: --model m --port 8001\n    ports: ['9998:8001', '9000:9000']", (None, None)),
        (VLLM, "command: --model m\n    ports: ['80:${PORT}']", (None, None)),
        (VLLM, "command: --model m --port $PORT\n    ports: ['80:80']", (None, None)),
        (VLLM, "command: --model m --config c.yaml\n    ports: ['80:80']", (None, None)),
        (VLLM, "command: --model m\n    ports: ['80:80']\n    network_mode: host", (None, None)),
        (VLLM, "ports: ['80:80']", (None, None)),
        (VLLM, "entrypoint: bash -c 'vllm serve m & nginx'\n    ports: ['80:80']", (None, None)),
        (VLLM, "command: --model m\n    expose: ['80']", (None, None)),
        ("ollama/ollama:0.12.3", "ports: ['1:1']\n    environment: {OLLAMA_HOST: '0.0.0.0:1'}", (None, None)),
        ("ollama/ollama:0.12.3", "ports: ['1:1']\n    environment: [OLLAMA_HOST]", (None, None)),
        ("team/chat:1", "command: python serve.py\n    ports: ['80:80']", (None, None)),
    ],
)
def test_a_published_port_is_one_on_which_the_server_listens(
    image: str, keys: str, found: tuple[object, object]
) -> None:
    assert read("compose.yaml", {"compose.yaml": COMPOSE.format(image=image, keys=keys)}) == found


@pytest.mark.parametrize(
    ("probe", "asked", "found"),
    [
        ("readinessProbe: {httpGet: {path: /health, port: 8000}}", "", ("8000", "8001")),
        ("livenessProbe: {tcpSocket: {port: old}}", "", ("8000", "8001")),
        ("", "[{port: 80, targetPort: 8000}]", ("8000", "8001")),
        ("", "[{port: 80, targetPort: old}]", ("8000", "8001")),
        ("", "[{port: 80}]", ("80", "8001")),
        ("", "[{port: 80, targetPort: http}, {port: 9000}]", (None, None)),
        ("", "[{port: 80, targetPort: web}]", (None, None)),
        ("readinessProbe: {httpGet: {path: /health, port: http}}", "[{port: 8001}]", (None, None)),
        ("readinessProbe: {exec: {command: [ls]}}", "", (None, None)),
    ],
)
def test_a_probe_and_a_service_ask_the_port_of_the_server(probe: str, asked: str, found: tuple[object, object]) -> None:
    service = {"k/service.yaml": SERVICE.replace("PORTS", asked)} if asked else {}
    assert read("k/chat.yaml", {"k/chat.yaml": POD.replace("PROBE", probe), **service}) == found


def test_a_service_that_selects_another_deployment_as_well_may_mean_that_one() -> None:
    other = textwrap.dedent(POD).replace("name: chat}", "name: web}").replace("PROBE", "")
    files = {
        "k/chat.yaml": POD.replace("PROBE", ""),
        "k/web.yaml": other,
        "k/s.yaml": SERVICE.replace("PORTS", "[{port: 80}]"),
    }
    assert read("k/chat.yaml", files) == (None, None)


def test_a_sidecar_may_answer_a_probe() -> None:
    pod = POD.replace("PROBE", "readinessProbe: {httpGet: {path: /health, port: 8000}}")
    assert read("pod.yaml", {"pod.yaml": f"{pod}        - {{name: proxy, image: envoy}}\n"}) == (None, None)
