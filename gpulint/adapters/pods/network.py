"""Network: what a pod asks for so that its ranks reach those of other pods, and what of it works against that."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.objects import pod_templates as kinds
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

EFA = "vpc.amazonaws.com/efa"
DEVICES = re.compile(
    rf"rdma|{re.escape(EFA)}|hostdev|infiniband|networking\.gke\.io|(?:^|/)(?:roce|ib|sriov|mlnx|mellanox)|nic(?:s|-|_|$)"
)
"""Resources of network interfaces, as device plug-ins and clouds call them."""
VERBS = re.compile(r"rdma/(?!ib$)[\w.-]+|nvidia\.com/(?:hostdev|mlnxnics|roce|ib)[\w.-]*|mellanox\.com/[\w.-]+")
"""Resources of the device plug-ins of NVIDIA's network operator, which raise no limit: a program locks what it registers.

Clouds with names of their own, CoreWeave's rdma/ib among them, raise it on their nodes.
"""
ATTACHED = re.compile(
    r"k8s\.v1\.cni\.cncf\.io/networks|networking\.gke\.io/|v1\.multus-cni\.io/|k8s\.volcengine\.com/.*rdma|rdma"
)
"""Annotations and labels by which a cluster attaches further networks to a pod."""
DEVICE_FOLDER = "/dev/infiniband"
DAEMON = re.compile(r"tcpgpudmarxd|fastrak|tcpx|rxdm")
"""Images and names of the daemon that receives for GPUDirect-TCPX and TCPXO (docs.cloud.google.com, GKE, GPUDirect)."""
FACTS = (
    *("efa_devices", "device_folder", "unlocked_devices", "network_devices_absent", "receive_daemon_absent"),
    "cluster_names_lost",
)
OWN_NAMES = frozenset({"ClusterFirstWithHostNet", "None", "Default"})
"""DNS policies that somebody chose; the others of a pod in the host's network resolve no name of the cluster."""


def of(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """What a container that asks for GPUs says of its network, where its pod is as the file states it."""
    fields: dict[str, Field] = {}
    limits = document.get((*path, "resources", "limits"))
    names = [str(name) for name in limits] if isinstance(limits, dict) else []
    if EFA in names:
        fields["efa_devices"] = _number(document, Origin(document, (*path, "resources", "limits", EFA)))
        if folder := _device_folder(document, spec):
            fields["device_folder"] = folder
    verbs = next((name for name in names if VERBS.fullmatch(name)), "")
    if verbs and not _may_lock(document, path):
        place = Origin(document, (*path, "resources", "limits", verbs), key=True)
        fields["unlocked_devices"] = Field(verbs, (place,))
    if not (_asks_for_devices(document, path) or _is_attached(document, spec, path)):
        fields["network_devices_absent"] = Field(True, _gpus(document, path))
    if not any(DAEMON.search(said) for said in _said(document, spec)):
        fields["receive_daemon_absent"] = Field(True)
    if lost := _lost_names(document, spec):
        fields["cluster_names_lost"] = lost
    return fields


def of_machines(cloud: Field | None, card: Field | None, gpus_per_pod: object) -> dict[str, Field]:
    """The one kind of network of all machines that a cloud has with a card, where a pod fills any of them."""
    if cloud is None or card is None or not isinstance(card.value, str):
        return {}
    held = [one for one in hardware.nodes() if (one.cloud, one.accelerator) == (cloud.value, card.value)]
    kinds_of = {one.network_kind for one in held}
    if len(kinds_of) != 1 or any(one.node_gpus != gpus_per_pod for one in held) or kinds_of & {None, "tcp"}:
        return {}
    return {"machine_network": Field(kinds_of.pop(), card.origins)}


def _number(document: Document, origin: Origin) -> Field:
    value = document.get(origin.path)
    text = str(value)
    return Field(int(text) if text.isdecimal() else Unknown(f"the count is {text}"), (origin,))


def _gpus(document: Document, path: Path) -> tuple[Origin, ...]:
    """Where the GPUs are asked for, which is where the network is not."""
    at = (*path, "resources", "limits")
    return (Origin(document, at, key=True),) if document.get(at) is not None else ()


def _asks_for_devices(document: Document, path: Path) -> bool:
    """Whether a container asks for interfaces of a network, in either list or by a claim."""
    asked = [document.get((*path, "resources", side)) for side in ("limits", "requests")]
    names = [str(name) for amounts in asked if isinstance(amounts, dict) for name in amounts]
    return any(DEVICES.search(name) for name in names) or bool(document.get((*path, "resources", "claims")))


def _is_attached(document: Document, spec: Path, path: Path) -> bool:
    """Whether a pod reaches the interfaces of its node in another way, or may."""
    if document.get((*spec, "hostNetwork")) is True or document.get((*spec, "resourceClaims")):
        return True
    if document.get((*path, "securityContext", "privileged")) is True:
        return True
    metadata = [document.get(at) for at in (("metadata",), (*spec[:-1], "metadata"))]
    given = [one.get(part) for one in metadata if isinstance(one, dict) for part in ("annotations", "labels")]
    keys = [str(key) for one in given if isinstance(one, dict) for key in one]
    return any(ATTACHED.search(key) for key in keys) or bool(_device_folder(document, spec))


def _device_folder(document: Document, spec: Path) -> Field | None:
    """A volume that shows all RDMA devices of the node."""
    for at in kinds.items(document, (*spec, "volumes")):
        place = (*at, "hostPath", "path")
        if str(document.get(place) or "").rstrip("/") == DEVICE_FOLDER:
            return Field(DEVICE_FOLDER, (Origin(document, place),))
    return None


def _may_lock(document: Document, path: Path) -> bool:
    """Whether a container may lock as much memory as it registers."""
    context = (*path, "securityContext")
    added = document.get((*context, "capabilities", "add"))
    capabilities = {str(one).upper().removeprefix("CAP_") for one in added} if isinstance(added, list) else set()
    return document.get((*context, "privileged")) is True or bool(capabilities & {"IPC_LOCK", "SYS_RESOURCE", "ALL"})


def _said(document: Document, spec: Path) -> Iterator[str]:
    """Names and images of all containers of a pod."""
    for key in ("containers", "initContainers"):
        for at in kinds.items(document, (*spec, key)):
            yield from (str(document.get((*at, part)) or "") for part in ("name", "image"))


def _lost_names(document: Document, spec: Path) -> Field | None:
    """A pod in the host's network whose names are resolved by the host."""
    place = (*spec, "hostNetwork")
    if document.get(place) is not True or str(document.get((*spec, "dnsPolicy"), "")) in OWN_NAMES:
        return None
    return Field("hostNetwork", (Origin(document, place),)) if not document.get((*spec, "hostAliases")) else None
