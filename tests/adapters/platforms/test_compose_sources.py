"""A file that a service mounts or copies lies where its compose file says; what another folder may mean says nothing."""

from __future__ import annotations

from typing import cast

import pytest

from gpulint.adapters.platforms import compose_service, compose_sources
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository

COMPOSE = "services:\n  train:\n    {}\n"
FILES = {
    "etc/slurm.conf": "a",
    "requirements.txt": "torch",
    "data/x.csv": "1",
    "docker/here.txt": "1",
    "docker/Dockerfile": "FROM ubuntu:24.04\nCOPY requirements.txt /a/\n",
    "docker/Fine": "FROM ubuntu:24.04 AS one\nCOPY here.txt /a/\nCOPY --from=one requirements.txt /b/\nADD https://a.b/c /\n",
    "docker/Unknown": "FROM ubuntu:24.04\nCOPY new.txt $FILE *.txt . /a/\n",
    "docker/Unused": "FROM ubuntu:24.04 AS one\nCOPY requirements.txt /a/\nFROM ubuntu:24.04\nCOPY here.txt /a/\n",
    "docker/Stages": "FROM ubuntu:24.04 AS one\nCOPY requirements.txt /a/\nFROM ubuntu:24.04\nCOPY --from=one /a /a\n",
}


def read(keys: str, more: dict[str, str] | None = None) -> dict[str, object]:
    files = {"docker/compose.yaml": COMPOSE.format(keys), **FILES, **(more or {})}
    repository = cast("Repository", ExampleRepository({path: text.encode() for path, text in files.items()}))
    document = repository.read_documents("docker/compose.yaml")[0]
    found = compose_sources.find_misplaced(compose_service.read_service(document, "train", repository), repository)
    return {name: field.value for name, field in found.items()}


MOUNT = {"absent_mount": "./etc/slurm.conf", "present_mount": "../etc/slurm.conf"}
COPY = {"absent_copy": "requirements.txt", "present_copy": "../requirements.txt", "build_context": "."}


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("volumes: ['./etc/slurm.conf:/etc/slurm.conf']", MOUNT),
        ("volumes: ['./new:/new', './etc/slurm.conf:/etc/slurm.conf:ro']", MOUNT),
        ("volumes: [{type: bind, source: ./etc/slurm.conf, target: /etc/slurm.conf}]", MOUNT),
        ("build: .", COPY),
        ("build: {context: }", COPY),
        ("build: {context: ., dockerfile: Stages}", COPY),
    ],
)
def test_what_only_a_folder_above_has_is_misplaced(keys: str, found: dict[str, str]) -> None:
    assert read(keys) == found


@pytest.mark.parametrize(
    "keys",
    [
        "volumes: ['../etc/slurm.conf:/etc/slurm.conf']",
        "volumes: ['./here.txt:/here.txt']",
        "volumes: ['./new.conf:/etc/new.conf']",
        "volumes: ['./data:/data']",
        "volumes: ['etc:/etc/slurm.conf', '/etc/slurm.conf:/etc/slurm.conf']",
        "volumes: ['./$NAME/slurm.conf:/etc/slurm.conf']",
        "volumes: []",
        "volumes: ",
        "image: a:1",
        "build: {context: .., dockerfile: docker/Dockerfile}",
        "build: {context: ., dockerfile: Fine}",
        "build: {context: ., dockerfile: Unknown}",
        "build: {context: ., dockerfile: Unused}",
        "build: {context: ., dockerfile: Absent}",
        "build: {context: $FOLDER}",
        "build: {context: ., additional_contexts: {up: ..}}",
    ],
)
def test_other_sources_are_not_misplaced(keys: str) -> None:
    assert read(keys) == {}


@pytest.mark.parametrize(
    "more",
    [
        {"run.sh": "docker compose --project-directory . -f docker/compose.yaml up"},
        {"run.sh": "docker compose -f compose.yaml -f docker/compose.yaml up"},
        {"Makefile": "up:\n\tdocker compose -f base.yml \\\n\t  -f docker/compose.yaml up\n"},
        {"compose.yaml": "include:\n  - path: docker/compose.yaml\n    project_directory: .\n"},
    ],
)
def test_paths_may_start_in_another_folder(more: dict[str, str]) -> None:
    assert read("volumes: ['./etc/slurm.conf:/etc/slurm.conf']", more) == {}
