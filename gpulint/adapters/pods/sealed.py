"""Whether the files of a container are those of its image alone, and the image is one that its publisher describes.

Nothing in such a container has been configured for a user: programs are as released, and no file of a home folder exists.
"""

from __future__ import annotations

from gpulint.catalog import tables
from gpulint.source.documents import Document, Path

EMPTY = "emptyDir"


def is_sealed(document: Document, spec: Path, path: Path) -> bool:
    """Return whether a container of a published image mounts nothing but empty folders."""
    image = document.get((*path, "image"))
    if not isinstance(image, str) or _find_repository(image) not in tables.index_rows("published_images", "image"):
        return False
    if document.get((*spec, "initContainers")) or document.get((*path, "lifecycle")):
        return False
    mounts = document.get((*path, "volumeMounts"))
    named = {mount.get("name") for mount in mounts if isinstance(mount, dict)} if isinstance(mounts, list) else set()
    volumes = document.get((*spec, "volumes"))
    listed = volumes if isinstance(volumes, list) else []
    empty = {volume.get("name") for volume in listed if isinstance(volume, dict) and EMPTY in volume}
    return named <= empty


def _find_repository(image: str) -> str:
    """Return an image without its tag and digest, and without the name of Docker's own registry."""
    path, _, name = image.split("@", 1)[0].rpartition("/")
    return f"{path.removeprefix('docker.io').lstrip('/')}/{name.split(':', 1)[0]}".lstrip("/")
