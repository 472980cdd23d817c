"""One spec through documents and adapters: what the tests of adapters and engines look at."""

from __future__ import annotations

import textwrap
from typing import Any

from samples import ExampleRepository

from gpulint import adapters
from gpulint.pipeline import enrichment
from gpulint.source import documents
from gpulint.workload import Role, Unknown, Workload


def workloads(text: str) -> list[Workload]:
    """The workloads of a spec."""
    spec = textwrap.dedent(text).lstrip("\n")
    loaded = documents.load("spec.sh" if spec.startswith("#!") else "spec.yaml", spec.encode())
    return [workload for document in loaded.documents for workload in enrichment.read(document, ExampleRepository())]


def workload(text: str) -> Workload:
    """The one workload of a spec."""
    (found,) = workloads(text)
    return found


def role(text: str) -> Role:
    """The one role of a spec."""
    (found,) = workload(text).roles
    return found


def values(of: Role, *names: str) -> list[Any]:
    """Values of a role; the reason, after "unknown: ", where one is unknown."""
    found = [of.value(name) for name in names]
    return [f"unknown: {value.reason}" if isinstance(value, Unknown) else value for value in found]


def place(of: Role, name: str, nth: int = 0) -> str:
    """Where a role's value stands, as line:column-end."""
    location = of.fields[name].origins[nth].location()
    end = "" if location.end_line == location.line else f"{location.end_line}:"
    return f"{location.line}:{location.column}-{end}{location.end_column}"


def source(of: Role, name: str, nth: int = 0) -> str:
    """The text that stands where a role's value is stated."""
    origin = of.fields[name].origins[nth]
    location = origin.location()
    lines = origin.document.text.splitlines()[location.line - 1 : location.end_line]
    lines[-1] = lines[-1][: location.end_column - 1]
    lines[0] = lines[0][location.column - 1 :]
    return "\n".join(lines)


def server(arguments: str, image: str = "vllm/vllm-openai:v0.10.1") -> Role:
    """The role of a pod whose one container has this image and these arguments (a YAML flow list)."""
    return role(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          containers:
            - name: server
              image: {image}
              args: {arguments}
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """
    )


def started(lines: str) -> Role:
    """The role of a pod whose one container has these further lines."""
    return role(_container(lines))


def started_all(lines: str) -> list[Role]:
    """Every role of such a pod; none where nothing is understood."""
    return [one for found in workloads(_container(lines)) for one in found.roles]


def _container(lines: str) -> str:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\nspec:\n  containers:\n    - name: server\n"
    return head + textwrap.indent(textwrap.dedent(lines).strip("\n"), " " * 6) + "\n"


def claimed(text: str, path: str = "values.yaml") -> str:
    """What a file is taken for: the kind of its first document; empty where no adapter claims it."""
    (document, *_) = documents.load(path, textwrap.dedent(text).lstrip("\n").encode()).documents
    adapter = adapters.find_adapter(document)
    return adapters.kind(adapter, document) if adapter else ""
