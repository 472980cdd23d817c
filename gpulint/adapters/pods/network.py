"""Network: the network devices that a pod requests for its ranks, and settings that work against
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.objects import pod_templates
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

EFA = "vpc.amazonaws.com/efa"
DEVICES = re.compile(
    rf"rdma|{re.escape(EFA)}|hostdev|infiniband|networking\.gke\.io|(?:^|/)(?:roce|ib|sriov|mlnx|mellanox)|nic(?:s|-|_|$)"
)
"""Resources of network interfaces, as device plug-ins and clouds name them."""
VERBS = re.compile(r"rdma/(?!ib$)[\w.-]+|nvidia\.com/(?:hostdev|mlnxnics|roce|ib)[\w.-]*|mellanox\.com/[\w.-]+")
"""Resources of the device plug-ins of NVIDIA's network operator.

They raise no memlock limit, so the program has to lock the memory that it registers. Clouds with their
own names, such as CoreWeave's rdma/ib, raise the limit on their nodes.
"""
ATTACHED = re.compile(
    r"k8s\.v1\.cni\.cncf\.io/networks|networking\.gke\.io/|v1\.multus-cni\.io/|k8s\.volcengine\.com/.*rdma|rdma"
)
"""Annotations and labels with which a cluster attaches further networks to a pod."""
DEVICE_FOLDER = "/dev/infiniband"
DAEMON = re.compile(r"tcpgpudmarxd|fastrak|tcpx|rxdm")
"""Images and names of the receive daemon of GPUDirect-TCPX and TCPXO (docs.cloud.google.com, GKE,
GPUDirect).
"""
FACTS = (
    *("efa_devices", "device_folder", "unlocked_devices", "network_devices_absent", "receive_daemon_absent"),
    "cluster_names_lost",
)
OWN_NAMES = frozenset({"ClusterFirstWithHostNet", "None", "Default"})
"""Deliberate DNS policies.

With any other, a pod in the host's network resolves no cluster names.
"""


def read_network(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """Return the network facts of a container that requests GPUs, as the file declares its pod."""
    fields: dict[str, Field] = {}
    limits = document.get((*path, "resources", "limits"))
    names = [str(name) for name in limits] if isinstance(limits, dict) else []
    if EFA in names:
        fields["efa_devices"] = _read_count(document, Origin(document, (*path, "resources", "limits", EFA)))
        if folder := _find_device_folder(document, spec):
            fields["device_folder"] = folder
    verbs = next((name for name in names if VERBS.fullmatch(name)), "")
    if verbs and not _can_lock_memory(document, path):
        place = Origin(document, (*path, "resources", "limits", verbs), key=True)
        fields["unlocked_devices"] = Field(verbs, (place,))
    if not (_requests_devices(document, path) or _is_attached(document, spec, path)):
        fields["network_devices_absent"] = Field(True, _locate_gpus(document, path))
    if not any(DAEMON.search(text) for text in _list_names_and_images(document, spec)):
        fields["receive_daemon_absent"] = Field(True)
    if lost := _find_lost_names(document, spec):
        fields["cluster_names_lost"] = lost
    return fields


def find_machine_network(cloud: Field | None, card: Field | None, gpus_per_pod: object) -> dict[str, Field]:
    """Return the network of all machines of a cloud with an accelerator, if one pod fills any of
    them.
    """
    if cloud is None or card is None or not isinstance(card.value, str):
        return {}
    nodes = [node for node in hardware.list_nodes() if (node.cloud, node.accelerator) == (cloud.value, card.value)]
    kinds_of = {node.network_kind for node in nodes}
    if len(kinds_of) != 1 or any(node.node_gpus != gpus_per_pod for node in nodes) or kinds_of & {None, "tcp"}:
        return {}
    return {"machine_network": Field(kinds_of.pop(), card.origins)}


def _read_count(document: Document, origin: Origin) -> Field:
    value = document.get(origin.path)
    text = str(value)
    return Field(int(text) if text.isdecimal() else Unknown(f"the count {text} is not a number"), (origin,))


def _locate_gpus(document: Document, path: Path) -> tuple[Origin, ...]:
    """Return where the GPUs are requested: the location at which a missing network is reported."""
    at = (*path, "resources", "limits")
    return (Origin(document, at, key=True),) if document.get(at) is not None else ()


def _requests_devices(document: Document, path: Path) -> bool:
    """Return True if a container requests network interfaces, by either list or by a claim."""
    asked = [document.get((*path, "resources", side)) for side in ("limits", "requests")]
    names = [str(name) for amounts in asked if isinstance(amounts, dict) for name in amounts]
    return any(DEVICES.search(name) for name in names) or bool(document.get((*path, "resources", "claims")))


def _is_attached(document: Document, spec: Path, path: Path) -> bool:
    """Return True if a pod reaches its node's interfaces in another way, or may."""
    if document.get((*spec, "hostNetwork")) is True or document.get((*spec, "resourceClaims")):
        return True
    if document.get((*path, "securityContext", "privileged")) is True:
        return True
    metadata = [document.get(at) for at in (("metadata",), (*spec[:-1], "metadata"))]
    texts = [
        metadata_part.get(part)
        for metadata_part in metadata
        if isinstance(metadata_part, dict)
        for part in ("annotations", "labels")
    ]
    keys = [str(key) for text_map in texts if isinstance(text_map, dict) for key in text_map]
    return any(ATTACHED.search(key) for key in keys) or bool(_find_device_folder(document, spec))


def _find_device_folder(document: Document, spec: Path) -> Field | None:
    """Return the volume that exposes all RDMA devices of the node."""
    for at in pod_templates.items(document, (*spec, "volumes")):
        place = (*at, "hostPath", "path")
        if str(document.get(place) or "").rstrip("/") == DEVICE_FOLDER:
            return Field(DEVICE_FOLDER, (Origin(document, place),))
    return None


def _can_lock_memory(document: Document, path: Path) -> bool:
    """Return True if a container may lock as much memory as it registers."""
    context = (*path, "securityContext")
    added = document.get((*context, "capabilities", "add"))
    capabilities = (
        {str(capability).upper().removeprefix("CAP_") for capability in added} if isinstance(added, list) else set()
    )
    return document.get((*context, "privileged")) is True or bool(capabilities & {"IPC_LOCK", "SYS_RESOURCE", "ALL"})


def _list_names_and_images(document: Document, spec: Path) -> Iterator[str]:
    """Yield names and images of all containers of a pod."""
    for key in ("containers", "initContainers"):
        for at in pod_templates.items(document, (*spec, key)):
            yield from (str(document.get((*at, part)) or "") for part in ("name", "image"))


def _find_lost_names(document: Document, spec: Path) -> Field | None:
    """Return the host network setting of a pod if the host resolves its names."""
    place = (*spec, "hostNetwork")
    if document.get(place) is not True or str(document.get((*spec, "dnsPolicy"), "")) in OWN_NAMES:
        return None
    return Field("hostNetwork", (Origin(document, place),)) if not document.get((*spec, "hostAliases")) else None
