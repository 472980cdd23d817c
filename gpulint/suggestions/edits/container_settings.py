"""Container settings: the shared memory, the memory limit and the visible devices of a container, and the ranks of a draft."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from gpulint.report.model import Edit
from gpulint.source.documents import Document, Path
from gpulint.suggestions.edits import exact_places
from gpulint.workload import Origin, Role, Value

SHM = "shm_size"
SERVICE_SHM = "8g"
"""The size that a service of Compose gets: that of the remedy in the rule's message."""
MOUNT_BESIDE = ("resources", "env", "ports", "args", "command", "image", "name")
"""Keys of a container beside which its mounts are added, the first one that it has."""
VOLUME_NAMES = ("shm", "dshm", "shared-memory")
AMOUNT = re.compile(r"(?P<number>\d++(?:\.\d++)?+)(?P<unit>[A-Za-z]*+)")
DRAFT_RANKS = re.compile(r"\"draft_tensor_parallel_size\"\s*+:\s*+(?P<ranks>\d++)")


def handles(name: str, value: Value) -> bool:
    """Return whether a quantity is written here; of two, only that nothing is left of them."""
    return name in ("shared_memory_default", "host_memory_bytes", "draft_tensor_parallel") or (
        name in ("visible_devices", "unmounted_memory_volume") and value is None
    )


def write(role: Role, name: str, value: Value) -> Sequence[Edit] | None:
    """Return the edits after which the file declares the value; None if there is no certain place."""
    if name == "shared_memory_default":
        return _write_shared_memory(role)
    if name == "host_memory_bytes" and isinstance(value, int | float):
        return _write_host_memory(role, value)
    if name == "draft_tensor_parallel" and isinstance(value, int):
        return _write_draft_ranks(role, value)
    if name == "unmounted_memory_volume":
        return ()  # the mount that is written for the shared memory uses it
    return _remove_visible_devices(role)


# ---- shared memory


def _write_shared_memory(role: Role) -> Sequence[Edit] | None:
    """Return the edits that give a container a memory-backed /dev/shm; None if the file is neither a pod nor Compose's."""
    document, path = role.anchor.document, role.anchor.path
    if document.format != "yaml":
        return None
    if path[:1] == ("services",):
        return _write_service(document, path[:2])
    at = next((at for at, part in enumerate(path) if part == "containers"), None)
    return None if at is None or len(path) < at + 2 else _write_pod(document, path[:at], path[: at + 2])


def _write_service(document: Document, service: Path) -> Sequence[Edit] | None:
    """Return the size of a service's shared memory, in place of a smaller one or as a key of its own."""
    stated = document.get((*service, SHM))
    if stated is not None:
        place = exact_places.locate(Origin(document, (*service, SHM)))
        return [Edit("shared_memory_default", place.location, place.text, SERVICE_SHM)] if place else None
    beside = _find_key(document, service, ("image", "build"))
    return [Edit("shared_memory_default", beside.location(), "", f"{SHM}: {SERVICE_SHM}", "key")] if beside else None


def _write_pod(document: Document, spec: Path, container: Path) -> Sequence[Edit] | None:
    """Return the mount of a memory-backed volume, and the volume unless the pod has one."""
    volumes = document.get((*spec, "volumes"))
    listed = [volume for volume in volumes if isinstance(volume, dict)] if isinstance(volumes, list) else []
    present = next((str(volume["name"]) for volume in listed if _is_memory(volume)), "")
    taken = {str(volume.get("name")) for volume in listed}
    name = present or next((name for name in VOLUME_NAMES if name not in taken), "")
    mount = _add_to_list(document, container, "volumeMounts", f"name: {name}, mountPath: /dev/shm", MOUNT_BESIDE)
    others = (str(key) for key in _list_keys(document, spec) if key != "containers")
    volume = _add_to_list(
        document, spec, "volumes", f"name: {name}, emptyDir: {{medium: Memory}}", (*others, "containers")
    )
    if not name or mount is None or volume is None:
        return None
    return [mount] if present else [mount, volume]


def _is_memory(volume: dict[object, object]) -> bool:
    kept = volume.get("emptyDir")
    return isinstance(kept, dict) and kept.get("medium") == "Memory" and bool(volume.get("name"))


def _add_to_list(document: Document, holder: Path, key: str, item: str, beside: Sequence[str]) -> Edit | None:
    """Return the edit that adds an item after the last one of a list, or the list with it."""
    listed = document.get((*holder, key))
    if isinstance(listed, list) and listed:
        last = Origin(document, (*holder, key, len(listed) - 1))
        first = next(iter(_list_keys(document, last.path)), None)
        if first is None or not _is_written(document, (*last.path, str(first))):
            return None
        return Edit("shared_memory_default", last.location(), "", f"{{{item}}}", "item")
    place = _find_key(document, holder, beside) if listed is None else None
    written = f"{key}: [{{{item}}}]"
    return Edit("shared_memory_default", place.location(), "", written, "key") if place else None


def _list_keys(document: Document, path: Path) -> Iterator[object]:
    data = document.get(path)
    yield from data if isinstance(data, dict) else ()


def _find_key(document: Document, path: Path, names: Sequence[str]) -> Origin | None:
    """Return the first of some keys after whose value another entry can follow: not a block of text."""
    for name in names:
        node = document.node((*path, name))
        plain = node is not None and node.target is None and node.style not in ("|", ">")
        if plain and _is_written(document, (*path, name)):
            return Origin(document, (*path, name), key=True)
    return None


def _is_written(document: Document, path: Path) -> bool:
    """Return whether the file itself has the key there: that of another document is at no place of its own."""
    place = exact_places.locate(Origin(document, path, key=True))
    return place is not None and place.text == str(path[-1])


# ---- the others


def _write_host_memory(role: Role, needed_bytes: float) -> Sequence[Edit] | None:
    """Return a larger memory limit in the unit of the present one, and the same request where the two are equal."""
    limit, request = (role.fields.get(name) for name in ("host_memory_bytes", "host_memory_request_bytes"))
    if limit is None:
        return None
    repeated = request is not None and request.value == limit.value
    found: list[Edit] = []
    for origin in (*limit.origins, *(request.origins if request is not None and repeated else ())):
        place = exact_places.locate(origin)
        amount = AMOUNT.fullmatch(place.text) if place else None
        if place is None or amount is None or not isinstance(limit.value, int | float) or not limit.value:
            return None
        count = math.ceil(needed_bytes / (limit.value / float(amount["number"])))
        found.append(Edit("host_memory_bytes", place.location, place.text, f"{count}{amount['unit']}"))
    return found or None


def _write_draft_ranks(role: Role, ranks: int) -> Sequence[Edit] | None:
    """Return the edit of the one number in the speculative configuration."""
    field = role.fields.get("draft_tensor_parallel")
    origin = field.origins[0] if field and field.origins else None
    found = DRAFT_RANKS.search(origin.text()) if origin else None
    if origin is None or found is None:
        return None
    start = origin.span[0] if origin.span else 0
    span = (start + found.start("ranks"), start + found.end("ranks"))
    place = exact_places.locate(origin._replace(span=span))
    return [Edit("draft_tensor_parallel", place.location, place.text, str(ranks))] if place else None


def _remove_visible_devices(role: Role) -> Sequence[Edit] | None:
    """Return the edit that removes the variable."""
    field = role.fields.get("visible_devices")
    if field is None or not field.origins:
        return None
    origin = field.origins[0]
    return [Edit("visible_devices", origin.location(), origin.text(), "", "remove")]
