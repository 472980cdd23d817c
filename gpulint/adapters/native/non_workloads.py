"""Non-workloads: GPU-related files that declare no workload, recognised so that they are left alone."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from gpulint.adapters.claim import Claim
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("jobs", "steps", "panels", "devcontainer", "stage", "customizations")
TRIGGERS = ()
READS = ("plain",)
CLAIMS = ("shape",)

BY_NAME = {"devcontainer.json": "devcontainer", ".devcontainer.json": "devcontainer", ".gitlab-ci.yml": "GitLab CI"}
WORKFLOWS = ".github/workflows"
BY_KEYS = (
    ("GitHub Actions workflow", frozenset({"on", "jobs"})),
    ("Grafana dashboard", frozenset({"panels", "schemaVersion"})),
    ("CircleCI configuration", frozenset({"version", "jobs", "workflows"})),
)


def claims(document: Document) -> Claim:
    return Claim.SHAPE.where(kind(document))


def kind(document: Document) -> str:
    """Return the kind of a file by its name or its keys.

    It is empty if the file may be anything else.
    """
    data = document.data
    if named := BY_NAME.get(posixpath.basename(document.path)):
        return named
    if posixpath.dirname(document.path).endswith(WORKFLOWS):
        return "GitHub Actions workflow"
    if not isinstance(data, dict) or "apiVersion" in data:
        return ""
    keys = {"on" if key is True else str(key) for key in data}
    return next((name for name, wanted in BY_KEYS if wanted <= keys), _identify_pipeline(data))


def _identify_pipeline(data: Mapping[object, object]) -> str:
    """Recognise a Buildkite pipeline by its steps' keys, and a GitHub action by what it runs."""
    steps, runs = data.get("steps"), data.get("runs")
    if isinstance(runs, dict) and "using" in runs:
        return "GitHub action"
    marks = {"label", "agents", "plugins"}
    staged = isinstance(steps, list) and any(isinstance(step, dict) and marks & step.keys() for step in steps)
    return "Buildkite pipeline" if staged else ""


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield from ()
