"""Parts of Terraform blocks that describe nodes: inner blocks, labels, taints, names, machine types."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from gpulint.adapters.nodes import machine_types
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.adapters.pods.taints import Taint
from gpulint.workload import Field, Unknown

EFFECTS: Mapping[str, str] = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


def blocks(spot: Spot, modules: Modules) -> tuple[Spot, ...]:
    """Return the inner blocks of a kind."""
    items = modules.items(spot)
    return () if isinstance(items, Unknown) else items


def read_labels(spot: Spot, modules: Modules) -> tuple[dict[str, frozenset[str]], bool]:
    """Return the labels of a map with known values, and whether there may be others."""
    entries = modules.entries(spot)
    if isinstance(entries, Unknown):
        return {}, True
    labels: dict[str, frozenset[str]] = {}
    unknown = False
    for key, value in entries.items():
        field = modules.field(value)
        set_label(labels, key, field)
        unknown = unknown or (field is not None and isinstance(field.value, Unknown))
    return labels, unknown


def set_label(labels: dict[str, frozenset[str]], key: str, field: Field | None) -> None:
    """Return a label with its one value, written as Kubernetes writes it."""
    if field is None or isinstance(field.value, Unknown):
        return
    value = field.value
    labels[key] = frozenset({str(value).lower() if isinstance(value, bool) else str(value)})


def read_taints(spot: Spot, modules: Modules) -> tuple[Taint, ...]:
    """Return the known taints of a list or a map of blocks."""
    items = modules.items(spot)
    if isinstance(items, Unknown):
        entries = modules.entries(spot)
        items = items if isinstance(entries, Unknown) else tuple(entries.values())
    if isinstance(items, Unknown):
        return ()
    taint_parts = [[modules.field(item.descend(key)) for key in ("key", "value", "effect")] for item in items]
    return tuple(_read_taint(*parts) for parts in taint_parts if all(_is_known(part) for part in parts))


def _is_known(part: Field | None) -> bool:
    return part is None or not isinstance(part.value, Unknown)


def _read_taint(key: Field | None, value: Field | None, effect: Field | None) -> Taint:
    texts = ["" if part is None else str(part.value) for part in (key, value, effect)]
    if value is not None and isinstance(value.value, bool):
        texts[1] = texts[1].lower()
    return Taint(texts[0], texts[1], EFFECTS.get(texts[2], texts[2]))


def read_name(name: Field | None, spot: Spot) -> str:
    if name is not None and isinstance(name.value, str):
        return name.value
    return str(spot.path[-1]) if isinstance(spot.path[-1], str) else posixpath.basename(spot.document.path)


def find_listed_type(kind: Field | None, cloud: str = "") -> Field | None:
    """Return the machine type in the catalog's spelling."""
    if kind is None or isinstance(kind.value, Unknown):
        return None
    node = machine_types.find_machine_type(str(kind.value), cloud)
    return Field(node.instance_type, kind.origins) if node else None
