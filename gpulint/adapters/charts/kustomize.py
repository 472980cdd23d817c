"""kustomize: what a Kustomization makes of the workloads of its resources; a patch is never read as a whole object."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpulint import adapters
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import merge, references, synthetic
from gpulint.adapters.objects.references import KUSTOMIZATIONS
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Role, Workload

if TYPE_CHECKING:
    from gpulint.adapters.charts import kustomize_build

MENTIONS = ("kustomize", "resources:", "patches", "op:", "components:")
TRIGGERS = ("kustomize.config.k8s.io",)
READS = ("object", "plain")

GROUP = "kustomize.config.k8s.io/"
KINDS = frozenset({("kustomize.config.k8s.io", "Kustomization"), ("kustomize.config.k8s.io", "Component")})
OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})
"""RFC 6902."""
CHANGES = frozenset(
    {"patches", "patchesStrategicMerge", "patchesJson6902", "components", "images", "replicas", "configMapGenerator"}
)
CONTAINERS = ("containers", "predictor", "Spec", "spec")
"""Words of objects that may have pods."""
SHOWN_ONLY = frozenset({"image_vendor", "moving_image"})
"""Facts of an image that do not change what it runs."""
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
    """Yield the workloads that the Kustomization changes, and those of charts that it inflates with inline values."""
    from gpulint.adapters import charts  # few Kustomizations hold values

    if document.get(("kind",)) != "Component":
        yield from _read_changed(document, repository)

    listed = document.get(("helmCharts",))
    for at, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("valuesInline"), dict):
            values = charts.Values(document, ("helmCharts", at, "valuesInline"))
            for workload in charts.workloads(values, repository, str(entry.get("name", ""))):
                yield replace(workload, adapter="kustomize")


def _read_changed(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of objects that a Kustomization builds, as far as it changes what they run or run on."""
    from gpulint.adapters.charts import kustomize_build  # few documents are Kustomizations

    if not CHANGES & (document.data.keys() if isinstance(document.data, dict) else set()):
        return
    built = kustomize_build.build(document, repository)
    generated = {name: one for one in built.objects if (name := kustomize_build.find_config_map(one))}
    changed = {name for name, one in generated.items() if one.is_changed}
    for one in built.objects:
        if one in generated.values() or not (one.is_changed or changed & set(references.find_names(one.source.data))):
            continue
        adapter = adapters.find_adapter(one.source)
        if adapter is None or not one.source.mentions(*CONTAINERS):
            continue
        before, made = one.source.copy(), _make(one, document)
        references.complete(before, repository)
        kept = (beside for beside in before.beside if beside.get(("metadata", "name")) not in generated)
        made.beside = (*(_make(config_map, document, made) for config_map in generated.values()), *kept)
        plain = [role for workload in adapter.workloads(before, repository) for role in workload.roles]
        for workload in adapter.workloads(made, repository):
            roles = tuple(built.places.resolve(role) for role in workload.roles)
            if any(_differs(role, plain) for role in roles):
                yield replace(workload, adapter="kustomize", roles=roles)


def _make(built: kustomize_build.Built, document: Document, user: Document | None = None) -> Document:
    """Return a built object as a document of the file of the Kustomization, in the namespace of the object that uses it."""
    root = built.root
    if user is not None and isinstance(namespace := user.get(("metadata", "namespace")), str):
        place = synthetic.place(document, ("kind",))
        root = merge.merge(root, synthetic.build_node({"metadata": {"namespace": namespace}}, place)) or root
    return Document(document.path, document.index, document.text, root, document.format)


def _differs(role: Role, before: Sequence[Role]) -> bool:
    """Whether a role states another value than each role without the Kustomization; what may be absent tells nothing."""
    ours = {name: role.value(name) for name in role.fields if name not in SHOWN_ONLY}
    stated = [(name, value) for name, value in ours.items() if value is not None]
    return all(any(_is_other(value, other, name) for name, value in stated) for other in before)


def _is_other(value: object, other: Role, name: str) -> bool:
    return name not in other.fields or other.value(name) not in (None, value)


def _is_operation(entry: dict[str, object]) -> bool:
    return entry.get("op") in OPERATIONS and str(entry.get("path", "")).startswith("/")
