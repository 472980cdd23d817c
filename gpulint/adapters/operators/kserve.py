"""KServe: inference services of a model format and its serving runtime, or of own containers."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters import kubernetes
from gpulint.adapters.claim import Claim
from gpulint.adapters.operators import kserve_llm, kserve_predictor
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("serving.kserve.io", "serving.kubeflow.org")

GROUPS = ("serving.kserve.io", "serving.kubeflow.org")
TEMPLATES = ("ServingRuntime", "ClusterServingRuntime", kserve_llm.CONFIG)
"""Kinds that other objects are created from; they are known and are no workloads themselves."""
KINDS = frozenset((group, kind) for group in GROUPS for kind in (*TEMPLATES, "InferenceService", kserve_llm.KIND))


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workload of a service.

    Runtimes and configurations are read where a service names them.
    """
    kind = document.get(("kind",))
    if kind == kserve_llm.KIND:
        yield from kserve_llm.workloads(document, repository)
    elif kind == "InferenceService":
        yield from kserve_predictor.workloads(document, repository)
