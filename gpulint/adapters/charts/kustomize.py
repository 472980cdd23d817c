"""kustomize: Kustomizations and Components are known; a patch is never read as a whole object."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.claim import Claim
from gpulint.adapters.objects.references import KUSTOMIZATIONS
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("kustomize", "resources:", "patches", "op:", "components:")
TRIGGERS = ()
READS = ("object", "plain")

GROUP = "kustomize.config.k8s.io/"
KINDS = frozenset({("kustomize.config.k8s.io", "Kustomization"), ("kustomize.config.k8s.io", "Component")})
OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})
"""RFC 6902."""
FIELDS = frozenset(
    {"resources", "bases", "patches", "patchesStrategicMerge", "patchesJson6902", "components", "images", "namespace"}
)


def claims(document: Document) -> Claim:
    data = document.data
    if isinstance(data, list):
        operations = bool(data) and all(isinstance(entry, dict) and _is_operation(entry) for entry in data)
        return Claim.SHAPE.where(operations)
    if not isinstance(data, dict):
        return Claim.NONE
    if str(data.get("apiVersion", "")).startswith(GROUP):
        return Claim.EXACT
    named = "kind" not in data and posixpath.basename(document.path) in KUSTOMIZATIONS
    return Claim.SHAPE.where(named and FIELDS & data.keys())


def kind(document: Document) -> str:
    if isinstance(document.data, list):
        return "kustomize patch"
    stated = document.get(("kind",))
    return f"{GROUP}{stated}" if stated else "Kustomization"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of charts that the Kustomization inflates with inline values."""
    from gpulint.adapters import charts  # few Kustomizations hold values

    listed = document.get(("helmCharts",))
    for at, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("valuesInline"), dict):
            values = charts.Values(document, ("helmCharts", at, "valuesInline"))
            for workload in charts.workloads(values, repository, str(entry.get("name", ""))):
                yield replace(workload, adapter="kustomize")


def _is_operation(entry: dict[str, object]) -> bool:
    return entry.get("op") in OPERATIONS and str(entry.get("path", "")).startswith("/")
