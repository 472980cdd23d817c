"""Services: the Service that sends requests to the pods of a role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

NEEDED = ("ready_at_start", "lone_pod", "possible_trial")


def merge_services(workload: Workload, repository: Repository) -> Workload:
    """Return the workload with the Service of its pods where a rule may ask for it."""
    if not any(name in role.fields for role in workload.roles for name in NEEDED):
        return workload
    service = next(_find_services(workload, repository), None)
    if service is None:
        return workload
    named = Field(str(service.get(("metadata", "name"))), (Origin(service, ("metadata", "name")),))
    return replace(workload, roles=tuple(_mark(role, named) for role in workload.roles))


def _mark(role: Role, service: Field) -> Role:
    return role.having(requesting_service=service) if any(name in role.fields for name in NEEDED) else role


def _find_services(workload: Workload, repository: Repository) -> Iterator[Document]:
    """Yield the Services of the file, else of its folder, whose whole selector matches the labels of the pods."""
    document = workload.document
    labels = _read_labels(workload)
    if not labels:
        return
    beside = document.find_beside("Service")
    for service in (*beside, *repository.neighbours("Service", "", document.path).documents):
        selector = service.get(("spec", "selector"))
        same = service.get(("metadata", "namespace")) in (None, document.get((*workload.path, "metadata", "namespace")))
        is_service = service.get(("apiVersion",)) == "v1" and same
        if is_service and isinstance(selector, dict) and selector and selector.items() <= labels.items():
            yield service


def _read_labels(workload: Workload) -> Mapping[object, object]:
    document, path = workload.document, workload.path
    inner = () if document.get((*path, "kind")) == "Pod" else ("spec", "template")
    labels = document.get((*path, *inner, "metadata", "labels"))
    return labels if isinstance(labels, dict) else {}
