"""Labels: how the place that names an accelerator would name another, and the cloud it belongs to."""

from __future__ import annotations

from gpulint import hardware, offers
from gpulint.workload import Origin, Role

TODAY = "NVIDIA-"
"""Drivers since 470 put the maker in front of a product's name; labels of older ones are still listed."""
OWN_KEYS = frozenset({"gpulint/accelerator", "accelerator"})
"""Whose whole value is an id of the catalog; part of a value is another format's name for the product (Truss: `H100:2`)."""


def relabelled(role: Role, product: str) -> tuple[str, ...] | None:
    """The text each place would hold for another product, in the order of the origins; None when one of them cannot."""
    field = role.fields.get("accelerator")
    texts = tuple(_renamed(role, origin, product) for origin in (field.origins if field else ()))
    return None if None in texts else tuple(text for text in texts if text is not None)


def cloud(role: Role) -> str | None:
    """The cloud that the place that names the accelerator belongs to; None when any may."""
    field = role.fields.get("accelerator")
    if field is None or not field.origins:
        return None
    return hardware.cloud_of(_key(field.origins[0]), field.origins[0].text())


def _renamed(role: Role, origin: Origin, product: str) -> str | None:
    key = _key(origin)
    if key in OWN_KEYS:
        return product if origin.span is None else None
    if key.endswith("/instance-type"):
        return _other_machine(role, origin.text(), product)
    values = [value for (label, value), named in hardware.labels().items() if label == key and named == product]
    return min(values, key=lambda value: (not value.startswith(TODAY), len(value), value), default=None)


def _key(origin: Origin) -> str:
    """The label that a selector or affinity value belongs to."""
    if not origin.path:
        return ""
    if isinstance(origin.path[-1], str):
        return origin.path[-1]
    return str(origin.document.get((*origin.path[:-2], "key")))


def _other_machine(role: Role, now: str, product: str) -> str | None:
    machine, gpus = hardware.node(now), role.value("gpus_per_pod")
    if machine is None or not isinstance(gpus, int):
        return None
    other = offers.cheapest(role.available, product, gpus, machine.cloud)
    return other.instance_type or None if other else None
