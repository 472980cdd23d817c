"""Claims: the storage behind a pod's volume, from the claim and class in the repository."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

from gpulint import units
from gpulint.adapters.objects import pod_templates
from gpulint.catalog import tables
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown

EPHEMERAL = ("container", "empty-dir")
"""Storage that ends with a pod and counts against its limit of local disk."""
REQUESTED: Path = ("spec", "resources", "requests", "storage")
SINGLE_NODE, SINGLE_POD = "ReadWriteOnce", "ReadWriteOncePod"
ELSEWHERE = ("nfs", "csi", "persistentVolumeClaim", "image", "cephfs", "glusterfs", "azureFile", "flexVolume")
"""Sources of volumes that are not on the node and keep their data."""


class Volume(NamedTuple):
    """The storage behind a volume: a row of `catalog/volumes.csv`, or its location on the node.

    `reach` is who may use it at once: one `node`, the nodes that it is `shared` by, or what is
    `local` to a node. `bounded` is true if its size is enforced.
    """

    kind: str
    origin: Origin
    reach: str = ""
    bounded: bool = False
    size: Field | None = None
    modes: tuple[str, ...] = ()
    claim: str = ""
    bytes_per_s: Field | None = None


def find_volume(document: Document, spec: Path, name: str, repository: Repository) -> Volume | None:
    """Return the volume of a pod by its name; None if the file does not define it."""
    for at in pod_templates.items(document, (*spec, "volumes")):
        if document.get((*at, "name")) == name:
            return _read_source(document, at, repository)
    for at in pod_templates.items(document, (*spec[:-2], "volumeClaimTemplates")):
        if document.get((*at, "metadata", "name")) == name:
            return _read_class(document, at, repository, Origin(document, (*at, "metadata", "name")))
    return None


def _read_source(document: Document, at: Path, repository: Repository) -> Volume | None:
    origin = Origin(document, (*at, "name"))
    if document.node((*at, "emptyDir")) is not None:
        kind = "memory" if document.get((*at, "emptyDir", "medium")) == "Memory" else "empty-dir"
        limit = size(document, (*at, "emptyDir", "sizeLimit"))
        return Volume(kind, origin, "local", bounded=True, size=limit)
    if document.get((*at, "hostPath")) is not None:
        return Volume("local", origin, "local")
    if document.get((*at, "ephemeral", "volumeClaimTemplate")) is not None:
        return _read_class(document, (*at, "ephemeral", "volumeClaimTemplate"), repository, origin)
    claimed = Origin(document, (*at, "persistentVolumeClaim", "claimName"))
    if isinstance(name := document.get(claimed.path), str):
        return _read_claim(document, name, claimed, repository)
    return Volume("unlisted", origin) if any(document.get((*at, key)) is not None for key in ELSEWHERE) else None


def _read_claim(document: Document, name: str, origin: Origin, repository: Repository) -> Volume:
    """Read a claim of the same file, else the only one of that name in the repository."""
    kind = "PersistentVolumeClaim"
    candidates = document.find_beside(kind, name) or repository.objects(kind, name, document.path)
    if len(candidates) != 1:
        return Volume("unlisted", origin, claim=name)
    return _read_class(candidates[0], (), repository, origin)._replace(claim=name)


def _read_class(document: Document, at: Path, repository: Repository, origin: Origin) -> Volume:
    """Read what a claim, or a claim template, requests."""
    modes = document.get((*at, "spec", "accessModes"))
    listed = tuple(str(mode) for mode in modes) if isinstance(modes, list) else ()
    asked = size(document, (*at, *REQUESTED))
    named = document.get((*at, "spec", "storageClassName"))
    row, given = _find_row(str(named), document, repository, asked) if named else (None, None)
    if row is None:
        return Volume("unlisted", origin, size=asked, modes=listed)
    return Volume(row["class"], origin, row["reach"], row["bounded"] == "yes", asked, listed, bytes_per_s=given)


def _find_row(
    name: str, document: Document, repository: Repository, size: Field | None
) -> tuple[tables.Row | None, Field | None]:
    """Return the catalog row of a storage class, and its throughput.

    The provisioner decides the row if the repository defines the class, else its name does.
    """
    kind = "StorageClass"
    defined = document.find_beside(kind, name) or repository.objects(kind, name, document.path)
    if len(defined) == 1:
        row = _find_provisioner_row(defined[0])
        return row, _read_throughput(defined[0], size) or _scale_throughput(row, size)
    rows = (row for row in tables.rows("volumes") if (row["named"], row["name"]) == ("class", name))
    row = None if defined else next(rows, None)
    return row, _scale_throughput(row, size)


def _find_provisioner_row(document: Document) -> tables.Row | None:
    provisioner = document.get(("provisioner",))
    rows = [row for row in tables.rows("volumes") if (row["named"], row["name"]) == ("provisioner", provisioner)]
    return next((row for row in rows if _has_parameter(document, row["parameter"])), None)


def _has_parameter(document: Document, parameter: str) -> bool:
    """Return whether a class has a parameter with that value.

    Without a value the class must leave the parameter out; an empty parameter matches any class.
    """
    name, _, value = parameter.partition("=")
    return not parameter or str(document.get(("parameters", name)) or "") == value


def _read_throughput(document: Document, size: Field | None) -> Field | None:
    """Return the stated throughput: of EBS in MiB/s, of Lustre in MB/s per TiB."""
    provisioner = str(document.get(("provisioner",)))
    origin = Origin(document, ("parameters", "throughput" if "ebs" in provisioner else "perUnitStorageThroughput"))
    stated = str(document.get(origin.path))
    if not stated.isdecimal():
        return None
    if provisioner.startswith("ebs.csi."):
        return Field(int(stated) * units.MIB, (origin,))
    if provisioner == "fsx.csi.aws.com" and size is not None and isinstance(size.value, int):
        bytes_per_s_per_byte = int(stated) * units.MILLION / (units.GIB * units.KIB)
        return Field(bytes_per_s_per_byte * size.value, (origin, *size.origins))
    return None


def _scale_throughput(row: tables.Row | None, size: Field | None) -> Field | None:
    """Return the throughput of a class that grows with the size of the volume."""
    if row is None or not row["bytes_per_s_per_byte"] or size is None or not isinstance(size.value, int):
        return None
    return Field(size.value * float(row["bytes_per_s_per_byte"]), size.origins)


def size(document: Document, path: Path) -> Field | None:
    """Return the bytes at a path, read as Kubernetes reads quantities."""
    value = document.get(path)
    if value is None:
        return None
    try:
        return Field(units.bytes_of(value), (Origin(document, path),))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return Field(Unknown(f"{value} is not a quantity"), (Origin(document, path),))


def mounts(document: Document, container: Path) -> Iterator[Path]:
    """Yield the mounts of a container that have a path."""
    for at in pod_templates.items(document, (*container, "volumeMounts")):
        if isinstance(document.get((*at, "mountPath")), str):
            yield at


def find_mount(document: Document, container: Path, folder: str) -> Path | None:
    """Return the innermost mount that contains a folder of a container."""
    inside = f"{posixpath.normpath(folder)}/"
    containing = [at for at in mounts(document, container) if inside.startswith(f"{_normalize_mount(document, at)}/")]
    return max(containing, key=lambda at: len(_normalize_mount(document, at)), default=None)


def _normalize_mount(document: Document, mount: Path) -> str:
    at = posixpath.normpath(str(document.get((*mount, "mountPath"))))
    return "" if at == "/" else at


def find_storage(document: Document, spec: Path, container: Path, folder: str, repository: Repository) -> Volume | None:
    """Return the storage of a folder: the volume mounted there, else the container's own layer."""
    mount = find_mount(document, container, folder)
    if mount is None:
        return Volume("container", Origin(document, (*container, "name")), "local")
    volume = find_volume(document, spec, str(document.get((*mount, "name"))), repository)
    return None if volume is None else volume._replace(origin=Origin(document, (*mount, "mountPath")))


def words(document: Document, container: Path) -> str:
    """Return the command, environment and hooks of a container as one text."""
    return " ".join(str(document.get((*container, key)) or "") for key in ("command", "args", "env", "lifecycle"))
