"""Images of engines whose tags move are named in every format that starts containers."""

from __future__ import annotations

import textwrap
from typing import cast

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository
from gpulint.workload import Role

COMPOSE = """
    services:
      chat:
        image: IMAGE
        command: --model Qwen/Qwen2.5-7B-Instruct
        deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}
"""
SCRIPT = """
    IMAGE=${IMAGE:-vllm/vllm-openai:latest}
    docker run --gpus all $IMAGE --model Qwen/Qwen2.5-7B-Instruct
"""
DEPLOYMENT = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat}
    spec:
      selector: {matchLabels: {app: chat}}
      template:
        metadata: {labels: {app: chat}}
        spec:
          containers:
            - name: server
              image: IMAGE
              args: [--model=Qwen/Qwen2.5-7B-Instruct]
              resources: {limits: {nvidia.com/gpu: 1}}
"""
PUBLIC = "vllm/vllm-openai:latest"
OWN = "ghcr.io/acme/chat:latest"
DOCKERFILE = "FROM vllm/vllm-openai:v0.11.0\n"
WORKFLOW = """
    jobs:
      build:
        steps:
          - uses: docker/metadata-action@v5
            with:
              images: ghcr.io/acme/chat
              tags: TAGS
          - uses: docker/build-push-action@v5
            with: {context: ., push: true, tags: "${{ steps.meta.outputs.tags }}"}
"""


def read(files: dict[str, str], path: str) -> list[Role]:
    held = ExampleRepository({name: textwrap.dedent(text).lstrip("\n").encode() for name, text in files.items()})
    repository = cast("Repository", held)
    return [
        role
        for document in repository.read_documents(path)
        for workload in enrichment.read(document, repository)
        for role in workload.roles
    ]


def moving(files: dict[str, str], path: str) -> object:
    (role,) = read(files, path)
    return role.value("moving_image")


@pytest.mark.parametrize(
    ("image", "found"),
    [
        (PUBLIC, PUBLIC),
        ("vllm/vllm-openai", "vllm/vllm-openai"),
        ("vllm/vllm-openai:${TAG:-latest}", PUBLIC),
        ("vllm/vllm-openai:${TAG}", None),
        ("vllm/vllm-openai:v0.11.0", None),
        ("vllm/vllm-openai@sha256:00ff", None),
    ],
)
def test_a_service_whose_image_moves(image: str, found: str | None) -> None:
    assert moving({"compose.yaml": COMPOSE.replace("IMAGE", image)}, "compose.yaml") == found


def test_an_image_that_a_service_builds_is_its_own() -> None:
    text = COMPOSE.replace("image: IMAGE", "image: acme/chat:latest\n        build: .")
    files = {"compose.yaml": text, "Dockerfile": DOCKERFILE}
    assert moving(files, "compose.yaml") is None


def test_the_image_of_docker_run_is_found_at_its_variable() -> None:
    (role,) = read({"run.sh": SCRIPT}, "run.sh")
    assert role.value("moving_image") == PUBLIC


def test_a_program_without_an_engine_has_none() -> None:
    text = COMPOSE.replace("IMAGE", "acme/train:latest").replace("--model Qwen/Qwen2.5-7B-Instruct", "python train.py")
    assert moving({"compose.yaml": text}, "compose.yaml") is None


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ("type=raw,value=latest", None),
        ("type=sha", OWN),
        ("type=semver,pattern={{version}}", OWN),
    ],
)
def test_an_own_image_moves_if_its_build_also_pushes_a_tag_that_stays(tags: str, found: str | None) -> None:
    files = {
        "k8s/chat.yaml": DEPLOYMENT.replace("IMAGE", OWN),
        "Dockerfile": DOCKERFILE,
        ".github/workflows/build.yaml": WORKFLOW.replace("TAGS", f"'{tags}'"),
    }
    assert moving(files, "k8s/chat.yaml") == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("docker build -t ghcr.io/acme/chat:latest .", None),
        ("docker build -t ghcr.io/acme/chat .", None),
        ("docker build -t ghcr.io/acme/chat:${VERSION:-latest} .", None),
        ("docker build -t ghcr.io/acme/chat:1.4 .", OWN),
        ("docker build -t ghcr.io/acme/chat:$(git rev-parse HEAD) .", OWN),
    ],
)
def test_the_tags_of_a_build_script(command: str, found: str | None) -> None:
    files = {"k8s/chat.yaml": DEPLOYMENT.replace("IMAGE", OWN), "Dockerfile": DOCKERFILE, "build.sh": f"{command}\n"}
    assert moving(files, "k8s/chat.yaml") == found


@pytest.mark.parametrize(
    ("kustomization", "patch", "found"),
    [
        ("resources: [chat.yaml]", "", PUBLIC),
        ("resources: [chat.yaml]\nimages: [{name: vllm/vllm-openai, newTag: v0.11.0}]", "", None),
        ("resources: [chat.yaml]\nimages: [{name: busybox, newTag: '1.36'}]", "", PUBLIC),
        ("resources: [chat.yaml]\npatches: [{path: patch.yaml}]", "spec: {replicas: 2}", PUBLIC),
        ("resources: [chat.yaml]\npatches: [{path: patch.yaml}]", "spec: {image: a}", None),
        ("resources: [chat.yaml]\npatches: [{patch: '[{op: replace, path: /spec/a/0/image, value: b}]'}]", "", None),
    ],
)
def test_a_kustomization_leaves_a_tag_as_it_is_unless_it_sets_the_image(
    kustomization: str, patch: str, found: str | None
) -> None:
    files = {
        "k8s/chat.yaml": DEPLOYMENT.replace("IMAGE", PUBLIC),
        "k8s/kustomization.yaml": kustomization,
        "k8s/patch.yaml": patch,
    }
    assert moving(files, "k8s/chat.yaml") == found
