"""Compose files for tests: a service, and what is read of it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from samples import ExampleRepository

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Field, Role, Unknown, Workload

GPU = "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 2, capabilities: [gpu]}]}}}"


def workloads(text: str, files: Mapping[str, str] | None = None) -> list[Workload]:
    held = ExampleRepository({path: content.encode() for path, content in (files or {}).items()})
    loaded = documents.load("deploy/compose.yaml", textwrap.dedent(text).encode())
    return [one for document in loaded.documents for one in adapters.read(document, held)]


def role(text: str, files: Mapping[str, str] | None = None) -> Role:
    (workload,) = workloads(text, files)
    (found,) = workload.roles
    return found


def service(*lines: str, files: Mapping[str, str] | None = None) -> Role:
    return role("services:\n  chat:\n" + "".join(f"    {line}\n" for line in lines), files)


def asked(field: Field | None) -> tuple[object, str]:
    assert field is not None
    return ("unknown", field.value.category) if isinstance(field.value, Unknown) else (field.value, "")
