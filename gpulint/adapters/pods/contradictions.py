"""Contradictory pod settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.adapters.objects import pod_templates
from gpulint.adapters.pods import network
from gpulint.adapters.programs import nccl_variables, visible_devices
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin

DEVICES = re.compile(r"(?:\d+|GPU-[\w-]+)(?:,(?:\d+|GPU-[\w-]+))*")
INFINIBAND = re.compile(r"rdma/|nvidia\.com/hostdev|/rdma")
"""Resources of NICs that NCCL uses through verbs, which NCCL_IB_DISABLE turns off.

Amazon's EFA is not one of them.
"""
SIDECAR_VOLUMES = ("gke-gcsfuse", "istio-")
"""Name prefixes of volumes for containers that a webhook adds."""
SHARES = ("gpu-fraction", "gpu-memory", "runai/")
"""Annotations by which a scheduler of its own assigns shares of GPUs."""


def find_contradictions(
    document: Document, spec: Path, path: Path, environment: Mapping[str, Argument], asked: bool
) -> dict[str, Field]:
    """Return the contradictory settings of a container; `asked` is true if it requests GPUs."""
    fields: dict[str, Field] = {}
    privileged = Origin(document, (*path, "securityContext", "privileged"))
    if asked and document.get(privileged.path) is True:
        fields["privileged"] = Field(True, (privileged,))
    if variable := _find_rdma_switch(document, path, environment):
        fields["rdma_switched_off"] = Field(variable, (environment[variable].origin,))
    if not asked and (devices := _find_unscheduled(document, spec, path, environment)):
        fields["devices_unscheduled"] = devices
        fields["gpus_per_pod"] = Field(len(str(devices.value).split(",")), devices.origins)
    if asked:
        fields |= visible_devices.find_first(environment)
    return fields


def find_pod_contradictions(document: Document, spec: Path) -> dict[str, Field]:
    """Return the contradictory settings of a pod's volumes."""
    volume = next(_find_unmounted(document, spec), None)
    return {"unmounted_memory_volume": volume} if volume else {}


def _find_rdma_switch(document: Document, path: Path, environment: Mapping[str, Argument]) -> str | None:
    """Return the variable that keeps NCCL off the RDMA devices that a container requests."""
    limits = document.get((*path, "resources", "limits"))
    names = [str(name) for name in limits] if isinstance(limits, dict) else []
    verbs = any(INFINIBAND.search(name) for name in names)
    efa = network.EFA in names
    if (verbs or efa) and nccl_variables.is_set(environment, "NCCL_NET", frozenset({"socket"})):
        return "NCCL_NET"
    if efa and nccl_variables.is_set(environment, "FI_PROVIDER", nccl_variables.NO_FABRIC["FI_PROVIDER"]):
        return "FI_PROVIDER"
    return (
        "NCCL_IB_DISABLE"
        if verbs and nccl_variables.is_set(environment, "NCCL_IB_DISABLE", nccl_variables.ON)
        else None
    )


def _find_unscheduled(document: Document, spec: Path, path: Path, environment: Mapping[str, Argument]) -> Field | None:
    """Return the devices that a container without a GPU request makes visible to itself."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if (
        visible is None
        or not DEVICES.fullmatch(visible.text or "")
        or not isinstance(document.get((*path, "image")), str)
    ):
        return None
    asked = [document.get((*path, "resources", side)) for side in ("limits", "requests", "claims")]
    if any("/" in str(name) for amounts in asked if isinstance(amounts, dict) for name in amounts) or asked[2]:
        return None
    if any(document.get((*spec, key)) for key in ("runtimeClassName", "resourceClaims")) or _has_fraction(
        document, spec
    ):
        return None
    return Field(str(visible.text), (visible.origin,))


def _has_fraction(document: Document, spec: Path) -> bool:
    annotations = (
        document.get(path) for path in (("metadata", "annotations"), (*spec[:-1], "metadata", "annotations"))
    )
    return any(str(key).startswith(SHARES) for given in annotations if isinstance(given, dict) for key in given)


def _find_unmounted(document: Document, spec: Path) -> Iterator[Field]:
    """Yield memory volumes that no container mounts."""
    mounted = {name for key in ("containers", "initContainers") for name in _list_mounts(document.get((*spec, key)))}
    for at in pod_templates.items(document, (*spec, "volumes")):
        name = document.get((*at, "name"))
        if document.get((*at, "emptyDir", "medium")) != "Memory" or not isinstance(name, str):
            continue
        if name not in mounted and not name.startswith(SIDECAR_VOLUMES):
            yield Field(name, (Origin(document, (*at, "name")),))


def _list_mounts(containers: object) -> Sequence[str]:
    listed = (
        [container for container in containers if isinstance(container, dict)] if isinstance(containers, list) else []
    )
    given = [mounts for container in listed if isinstance(mounts := container.get("volumeMounts"), list)]
    return [str(mount.get("name")) for mounts in given for mount in mounts if isinstance(mount, dict)]
