"""Claims: what a volume of a pod is made of, from the claim and the class that the repository shows."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import NamedTuple

from gpulint import units
from gpulint.adapters.objects import pod_templates as kinds
from gpulint.catalog import tables as catalog
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown

EPHEMERAL = ("container", "empty-dir")
"""What ends with a pod and counts against its limit of local disk."""
REQUESTED: Path = ("spec", "resources", "requests", "storage")
SINGLE_NODE, SINGLE_POD = "ReadWriteOnce", "ReadWriteOncePod"
ELSEWHERE = ("nfs", "csi", "persistentVolumeClaim", "image", "cephfs", "glusterfs", "azureFile", "flexVolume")
"""Sources of volumes that are not on the node, and keep what is written to them."""


class Volume(NamedTuple):
    """What a volume is made of: a row of `catalog/volumes.csv`, or where in the node it lies.

    `reach` is who may use it at once: one `node`, the nodes it is `shared` by, or what is `local` to a node; `bounded` says
    whether its size is enforced.
    """

    kind: str
    origin: Origin
    reach: str = ""
    bounded: bool = False
    size: Field | None = None
    modes: tuple[str, ...] = ()
    claim: str = ""
    bytes_per_s: Field | None = None


def of(document: Document, spec: Path, name: str, repository: Repository) -> Volume | None:
    """The volume of a pod by its name; None where the file does not show it."""
    for at in kinds.items(document, (*spec, "volumes")):
        if document.get((*at, "name")) == name:
            return _of_source(document, at, repository)
    for at in kinds.items(document, (*spec[:-2], "volumeClaimTemplates")):
        if document.get((*at, "metadata", "name")) == name:
            return _of_class(document, at, repository, Origin(document, (*at, "metadata", "name")))
    return None


def _of_source(document: Document, at: Path, repository: Repository) -> Volume | None:
    origin = Origin(document, (*at, "name"))
    if document.node((*at, "emptyDir")) is not None:
        kind = "memory" if document.get((*at, "emptyDir", "medium")) == "Memory" else "empty-dir"
        limit = size(document, (*at, "emptyDir", "sizeLimit"))
        return Volume(kind, origin, "local", bounded=True, size=limit)
    if document.get((*at, "hostPath")) is not None:
        return Volume("local", origin, "local")
    if document.get((*at, "ephemeral", "volumeClaimTemplate")) is not None:
        return _of_class(document, (*at, "ephemeral", "volumeClaimTemplate"), repository, origin)
    claimed = Origin(document, (*at, "persistentVolumeClaim", "claimName"))
    if isinstance(name := document.get(claimed.path), str):
        return _of_claim(document, name, claimed, repository)
    return Volume("unlisted", origin) if any(document.get((*at, key)) is not None for key in ELSEWHERE) else None


def _of_claim(document: Document, name: str, origin: Origin, repository: Repository) -> Volume:
    """What a claim of the same file, or else the only one of that name in the repository, says."""
    found = [one for one in document.beside if _is_claim(one, name)]
    found = found or [
        one for one in repository.objects("PersistentVolumeClaim", name, document.path) if one is not None
    ]
    if len(found) != 1:
        return Volume("unlisted", origin, claim=name)
    return _of_class(found[0], (), repository, origin)._replace(claim=name)


def _is_claim(document: Document, name: str) -> bool:
    return document.get(("kind",)) == "PersistentVolumeClaim" and document.get(("metadata", "name")) == name


def _of_class(document: Document, at: Path, repository: Repository, origin: Origin) -> Volume:
    """What a claim, or the template of one, asks for."""
    modes = document.get((*at, "spec", "accessModes"))
    listed = tuple(str(mode) for mode in modes) if isinstance(modes, list) else ()
    asked = size(document, (*at, *REQUESTED))
    named = document.get((*at, "spec", "storageClassName"))
    row, given = _row(str(named), document, repository, asked) if named else (None, None)
    if row is None:
        return Volume("unlisted", origin, size=asked, modes=listed)
    return Volume(row["class"], origin, row["reach"], row["bounded"] == "yes", asked, listed, bytes_per_s=given)


def _row(
    name: str, document: Document, repository: Repository, size: Field | None
) -> tuple[catalog.Row | None, Field | None]:
    """The catalog's row of a class, by the provisioner where the repository defines it, else by its name, and its rate."""
    defined = [one for one in document.beside if _is_class(one, name)]
    defined = defined or list(repository.objects("StorageClass", name, document.path))
    if len(defined) == 1:
        row = _provisioned(defined[0])
        return row, _throughput(defined[0], size) or _by_size(row, size)
    rows = (row for row in catalog.rows("volumes") if (row["named"], row["name"]) == ("class", name))
    row = None if defined else next(rows, None)
    return row, _by_size(row, size)


def _is_class(document: Document, name: str) -> bool:
    return document.get(("kind",)) == "StorageClass" and document.get(("metadata", "name")) == name


def _provisioned(document: Document) -> catalog.Row | None:
    provisioner = document.get(("provisioner",))
    rows = [row for row in catalog.rows("volumes") if (row["named"], row["name"]) == ("provisioner", provisioner)]
    return next((row for row in rows if _has(document, row["parameter"])), None)


def _has(document: Document, parameter: str) -> bool:
    """Whether a class has a parameter of that value; without one, it may say nothing; no parameter is any class."""
    name, _, value = parameter.partition("=")
    return not parameter or str(document.get(("parameters", name)) or "") == value


def _throughput(document: Document, size: Field | None) -> Field | None:
    """The throughput that a class of EBS disks is given, in MiB/s, or one of Lustre, in MB/s for each TiB."""
    provisioner = str(document.get(("provisioner",)))
    origin = Origin(document, ("parameters", "throughput" if "ebs" in provisioner else "perUnitStorageThroughput"))
    stated = str(document.get(origin.path))
    if not stated.isdecimal():
        return None
    if provisioner.startswith("ebs.csi."):
        return Field(int(stated) * units.MIB, (origin,))
    if provisioner == "fsx.csi.aws.com" and size is not None and isinstance(size.value, int):
        each = int(stated) * units.MILLION / (units.GIB * units.KIB)
        return Field(each * size.value, (origin, *size.origins))
    return None


def _by_size(row: catalog.Row | None, size: Field | None) -> Field | None:
    """The rate of a class that gives each byte of a volume a share of it."""
    if row is None or not row["bytes_per_s_per_byte"] or size is None or not isinstance(size.value, int):
        return None
    return Field(size.value * float(row["bytes_per_s_per_byte"]), size.origins)


def size(document: Document, path: Path) -> Field | None:
    """The bytes that a place states as Kubernetes reads them."""
    value = document.get(path)
    if value is None:
        return None
    try:
        return Field(units.bytes_of(value), (Origin(document, path),))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return Field(Unknown(f"{value} is not a quantity"), (Origin(document, path),))


def mounts(document: Document, container: Path) -> Iterator[Path]:
    """Where the mounts of a container stand that have a path."""
    for at in kinds.items(document, (*container, "volumeMounts")):
        if isinstance(document.get((*at, "mountPath")), str):
            yield at


def under(document: Document, container: Path, folder: str) -> Path | None:
    """The mount that holds a folder of a container, the nearest one."""
    inside = f"{posixpath.normpath(folder)}/"
    held = [at for at in mounts(document, container) if inside.startswith(f"{_bare(document, at)}/")]
    return max(held, key=lambda at: len(_bare(document, at)), default=None)


def _bare(document: Document, mount: Path) -> str:
    at = posixpath.normpath(str(document.get((*mount, "mountPath"))))
    return "" if at == "/" else at


def holding(document: Document, spec: Path, container: Path, folder: str, repository: Repository) -> Volume | None:
    """What holds a folder of a container: the volume that is mounted there, else the container's own layer."""
    mount = under(document, container, folder)
    if mount is None:
        return Volume("container", Origin(document, (*container, "name")), "local")
    found = of(document, spec, str(document.get((*mount, "name"))), repository)
    return None if found is None else found._replace(origin=Origin(document, (*mount, "mountPath")))


def words(document: Document, container: Path) -> str:
    """What a container is told: its command, environment and hooks as one text."""
    return " ".join(str(document.get((*container, key)) or "") for key in ("command", "args", "env", "lifecycle"))
