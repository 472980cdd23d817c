"""Edits: where a file declares quantities of a role, and the edits that declare other values there.

An edit is exact or it is not made: a place whose characters are not plainly the present value is
never rewritten.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpulint import engines
from gpulint.adapters.pods.placement import PARTITION_KEY
from gpulint.catalog import gpu_sharing, hardware, resource_names
from gpulint.report.model import Edit, Location
from gpulint.source.documents import Path
from gpulint.suggestions.edits import accelerator_names, container_settings, exact_places, insertions
from gpulint.suggestions.edits import values as edits_values
from gpulint.suggestions.edits.exact_places import ExactLocation
from gpulint.workload import Field, Origin, Role, Value

WHOLE = resource_names.find_name("nvidia")
SLICE = resource_names.slice_prefix()
NODE_COUNT = "cloud.google.com/gke-accelerator-count"
"""GPUs of the node that Autopilot makes for a pod:
cloud.google.com/kubernetes-engine/docs/how-to/autopilot-gpus.
"""
FOLLOWING = frozenset({"gpus_per_replica", "gpu_limit", "gpu_request", "gpu_count_whole", "visible_devices"})
"""Counts that follow from the GPUs of a pod and the pods of an instance."""
SPELLED = frozenset({"kv_cache_dtype", "quantization", "weight_dtype"})
"""Quantities whose words differ between engines."""
SIDES = frozenset({"limits", "requests"})
LEAST = frozenset({"minReplicas", "min_replicas"})
MOST = frozenset({"maxReplicas", "max_replicas"})
REFERENCE = re.compile(r"\$|\{\{")
TEXTS = frozenset({"python", "notebook", "shell"})
"""Formats of files that the checked one only names: it starts them, or takes a value from them."""
NAMED_FILE = re.compile(r"\.(?:ya?ml|json|toml)[\"']?$")
"""A place that names the file which supplies the value."""


def write_values(role: Role, values: Mapping[str, Value]) -> tuple[Edit, ...] | None:
    """Return the edits after which the file declares these values;

    None if one cannot be written exactly.
    """
    found: dict[Location | Edit, Edit] = {}
    for name, value in values.items():
        written = _write_value(role, name, value, values)
        if written is None:
            return None
        for edit in written:
            at = edit.location if edit.location and edit.old else edit
            if found.setdefault(at, edit).new != edit.new:
                return None
    return None if _breaks_other_counts(role, values, found.values()) else tuple(found.values())


def _breaks_other_counts(role: Role, values: Mapping[str, Value], written: Iterable[Edit]) -> bool:
    """Return whether a rewritten count is part of another count whose new value is not given."""
    numbers = (
        (edit.location, edits_values.parse_number(edit.old), edits_values.parse_number(edit.new)) for edit in written
    )
    counts = {at: (old, new) for at, old, new in numbers if old is not None}
    covered = {*values, *FOLLOWING} | ({"gpus_per_pod"} if {"gpu_limit", "gpu_request"} & values.keys() else set())
    for name, field in role.fields.items():
        if name in covered or isinstance(field.value, bool) or not isinstance(field.value, int | float):
            continue
        for at in filter(None, map(exact_places.locate, field.origins)):
            old, new = counts.get(at.location, (field.value, None))
            if old != field.value and not (name == "pods_per_replica" and field.value == 1 and (new or 0) <= old):
                return True  # but what fits in one pod fits there with fewer ranks too
    return False


def add_shared_counts(role: Role, values: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the values, and those of further counts declared at the same places."""
    places = {(origin.path, origin.span): name for name in values for origin in _find_numeric(role, name)}
    further = {
        other: values[places[origin.path, origin.span]]
        for other, field in role.fields.items()
        if other not in values
        for origin in field.origins
        if (origin.path, origin.span) in places
        and not isinstance(field.value, bool)
        and field.value == role.value(places[origin.path, origin.span])
        and origin.document is role.anchor.document
    }
    if "gpus_per_pod" in values and "visible_devices" in role.fields:
        further["visible_devices"] = values["gpus_per_pod"]
    return {**further, **values}


def _find_numeric(role: Role, name: str) -> Sequence[Origin]:
    field = role.fields.get(name)
    if field is None or not isinstance(field.value, int) or isinstance(field.value, bool):
        return ()
    return [origin for origin in field.origins if edits_values.parse_number(origin.text()) == field.value]


def _write_value(role: Role, name: str, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    field = role.fields.get(name)
    if field is not None and field.value == value and not (name == "accelerator" and field.origins):
        return ()
    if name == "gpus_per_pod":
        return _write_gpus(role, value, values)
    if name == "sharing":
        return _write_sharing(role, str(value))
    if container_settings.handles(name, value):
        return container_settings.write(role, name, value)
    if field is None or not field.origins:
        if role.arguments is None and len(values) == 1 and (listed := insertions.add_argument_list(role, name, value)):
            return listed
        return _write_slice(role, str(value)) if name == "mig_profile" else insertions.insert(role, name, value)
    if name == "accelerator":
        return _write_product(field, accelerator_names.relabel(role, str(value), values))
    if name == "instance_type":
        return _write_machine(role, field, str(value), values)
    restated = _rewrite(role, name, field, value, values)
    if restated is None and name == "sharding":  # the Trainer's argument counts over its launcher's file
        return insertions.insert(role, name, value)
    return restated


def _rewrite(role: Role, name: str, field: Field, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """Return the edits of every place that declares a quantity."""
    places = _locate_all(field.origins)
    if (
        name in SPELLED
        and engines.render_argument(role.text("engine"), role.text("engine_version"), name, value) is None
    ):
        return None
    numbers = [edits_values.parse_number(place.text) for place in places]
    if isinstance(field.value, int) and len(places) > 1 and None not in numbers and not _is_repeated(places, field):
        if _is_produced(
            role, places, value, {other: new_value for other, new_value in values.items() if other != name}
        ):
            return ()
        places = _find_factor(places, numbers, field.value)
    texts = [
        edits_values.render(name, place, field.value, value) or _render_argument(role, name, value, place)
        for place in places
    ]
    written = _build_edits(name, places, texts)
    whole = isinstance(field.value, int) and isinstance(value, int)
    bounds = _rewrite_bounds(name, places, field.value, value) if whole else ()  # type: ignore[arg-type]
    return None if written is None or bounds is None else [*written, *bounds]


def _render_argument(role: Role, name: str, value: Value, place: ExactLocation) -> str | None:
    """Return the new value of an argument, or the whole argument, in the engine's spelling."""
    argument = engines.render_argument(role.text("engine"), role.text("engine_version"), name, value) or ""
    flag, equals, word = argument.partition("=")
    if not equals:
        return None
    if place.text.partition("=")[0] == flag and "=" in place.text:
        return argument
    return word if place.before.rstrip("\"'").endswith((f"{flag}=", f"{flag} ")) else None


def _build_edits(name: str, places: Sequence[ExactLocation], texts: Sequence[str | None]) -> Sequence[Edit] | None:
    if not places or None in texts:
        return None
    pairs = zip(places, texts, strict=True)
    return [
        Edit(name, place.location, place.text, new) for place, new in pairs if new is not None and new != place.text
    ]


def _locate_all(origins: Iterable[Origin]) -> list[ExactLocation]:
    """Return the exact places that declare a value themselves; none if one of them is not exact.

    Places that name another file or a variable are left unchanged.
    """
    stating = [origin for origin in dict.fromkeys(origins) if not REFERENCE.search(origin.text())]
    stating = [origin for origin in stating if not NAMED_FILE.search(origin.text())] or stating
    named = stating[0].document.path if stating else ""
    behind = [origin for origin in stating if origin.document.path != named and origin.document.format in TEXTS]
    stating = behind or stating
    first = stating[0].document.path if stating else ""
    elsewhere = {origin.document.path for origin in stating}
    if len(elsewhere) > 1:
        return []
    found = [exact_places.locate(origin) for origin in stating if origin.document.path == first]
    return [] if None in found else [place for place in found if place is not None]


def _is_repeated(places: Sequence[ExactLocation], field: Field) -> bool:
    """Return whether several places repeat one number as limits and requests."""
    sides = all(SIDES & {part for part in place.origin.path if isinstance(part, str)} for place in places)
    return sides and {edits_values.parse_number(place.text) for place in places} == {field.value}


def _rewrite_bounds(name: str, places: Sequence[ExactLocation], now: int, value: int) -> Sequence[Edit] | None:
    """Return the edits of the replica bounds that the new number would leave, or that declare it
    together.
    """
    found: list[Edit] = []
    for origin in {place.origin for place in places if place.origin.path}:
        for other in _find_bounds(origin, value):
            at = exact_places.locate(other)
            new = edits_values.render_number(at.text, now, value) if at else None
            if at is None or new is None:
                return None
            found.append(Edit(name, at.location, at.text, new))
    return found


def _find_bounds(origin: Origin, value: int) -> Iterator[Origin]:
    """Yield the replica bounds that another number would have to change."""
    mapping, key = origin.document.get(origin.path[:-1]), origin.path[-1]
    for bound, stated_bound in mapping.items() if isinstance(mapping, dict) else ():
        if bound == key or bound not in LEAST | MOST:
            continue
        inside = isinstance(stated_bound, int) and (stated_bound <= value if bound in LEAST else stated_bound >= value)
        if not inside or key in LEAST | MOST:
            yield Origin(origin.document, (*origin.path[:-1], bound))


def _find_factor(places: list[ExactLocation], numbers: Sequence[float | None], now: int) -> list[ExactLocation]:
    """Return the only factor of a product that is not one."""
    larger = [place for place, number in zip(places, numbers, strict=True) if number != 1]
    return larger if len(larger) == 1 and edits_values.parse_number(larger[0].text) == now else []


def _is_produced(role: Role, places: Sequence[ExactLocation], value: Value, others: Mapping[str, Value]) -> bool:
    """Return whether other changed quantities are the factors of the value and produce it."""
    new = {(origin.path, origin.span): others[name] for name in others for origin in _find_numeric(role, name)}
    at = [(place.origin.path, place.origin.span) for place in places]
    factors = [new.get(key, edits_values.parse_number(place.text)) for key, place in zip(at, places, strict=True)]
    return (
        bool(new.keys() & set(at))
        and math.prod(factor for factor in factors if isinstance(factor, int | float)) == value
    )


# ---- counts of GPUs


def _write_gpus(role: Role, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """Return the edits of a pod's GPU count: limits, requests, visible devices and the node's
    label.
    """
    field = role.fields.get("gpus_per_pod")
    if field is None:
        return None
    written = _write_count(role, field, value, values)
    visible, node = _write_visible_devices(role, field, value), _write_node_label(role, field, value)
    return None if written is None or visible is None or node is None else [*written, *visible, *node]


def _write_count(role: Role, field: Field, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    named = role.fields.get("accelerator")
    request = named.origins if named else ()
    if any(hardware.node(origin.text()) for origin in field.origins):
        return _write_whole_machine(role, field, value, values)
    if request and (not field.origins or _find_texts(field.origins) == _find_texts(request)):
        product = str(values["accelerator"]) if "accelerator" in values else None
        texts, places = (
            [accelerator_names.render_request(origin, product, value) for origin in request],
            _locate_all(request),
        )
        if None not in texts and len(places) == len(texts):
            return _build_edits("gpus_per_pod", places, texts)
    return _rewrite(role, "gpus_per_pod", field, value, values) if field.origins else None


def _find_texts(origins: Iterable[Origin]) -> set[tuple[Path, str]]:
    return {(origin.path, origin.text().strip()) for origin in origins}


def _write_whole_machine(role: Role, field: Field, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """Return another machine type, if the count is that of the machine."""
    product = str(values.get("accelerator") or role.text("accelerator"))
    places = _locate_all(field.origins)
    if isinstance(wanted := values.get("instance_type"), str):
        node = hardware.node(wanted)
        return _build_edits(
            "gpus_per_pod", places, [wanted if node and node.node_gpus == value else None for _ in places]
        )
    return _build_edits(
        "gpus_per_pod",
        places,
        [accelerator_names.find_machine(role, place.text, product, value, whole=True) for place in places],
    )


def _write_visible_devices(role: Role, counted: Field, value: Value) -> Sequence[Edit] | None:
    """Return the edits of the list of visible devices, if it is as long as the count."""
    field = role.fields.get("visible_devices")
    if field is None or not field.origins or field.value != counted.value or field.origins == counted.origins:
        return ()
    places = _locate_all(field.origins)
    return _build_edits(
        "visible_devices", places, [edits_values.render_devices(place, field.value, value) for place in places]
    )


def _write_node_label(role: Role, field: Field, value: Value) -> Sequence[Edit] | None:
    """Return the edits of the label with the node's GPU count, if it equals the pod's."""
    for origin in field.origins[:1]:
        if "containers" in origin.path:
            path = (*origin.path[: origin.path.index("containers")], "nodeSelector", NODE_COUNT)
            if str(origin.document.get(path)) == str(field.value):
                places = _locate_all([Origin(origin.document, path)])
                texts = [edits_values.render("gpus_per_pod", place, field.value, value) for place in places]
                return _build_edits("gpus_per_pod", places, texts)
    return ()


# ---- products, machines and slices


def _write_product(field: Field, texts: tuple[str, ...] | None) -> Sequence[Edit] | None:
    places = _locate_all(field.origins)
    return _build_edits("accelerator", places, texts) if texts and len(places) == len(texts) else None


def _write_machine(role: Role, field: Field, value: str, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """Return another machine type with the accelerator and enough of its GPUs."""
    node = hardware.node(value)
    if node is None or node.accelerator != values.get("accelerator", role.value("accelerator")):
        return None
    counted = role.fields.get("gpus_per_pod")
    gpus = values.get("gpus_per_pod", role.value("gpus_per_pod"))
    whole = counted is not None and any(hardware.node(origin.text()) for origin in counted.origins)
    if not isinstance(gpus, int) or (node.node_gpus != gpus if whole else node.node_gpus < gpus):
        return None
    places = _locate_all(field.origins)
    are_machines = all(hardware.node(place.text) for place in places)
    return _build_edits("instance_type", places, [value] * len(places)) if are_machines else None


def renames_resource(role: Role) -> bool:
    """Return whether a slice would be requested under a resource name of its own."""
    return role.value("mig_profile") is None and "gcp" not in (accelerator_names.find_cloud(role), role.text("cloud"))


def _write_slice(role: Role, profile: str) -> Sequence[Edit] | None:
    """Return the edits that request a slice instead of whole GPUs, for the device plugin's mixed
    strategy.

    On GKE, pods request slices under the name of whole GPUs and select a partition size.
    """
    field = role.fields.get("gpus_per_pod")
    offered = [name for name, _ in hardware.slices(role.text("accelerator")) if "+" not in name and ".me" not in name]
    if field is None or role.value("accelerator_resource") != WHOLE or profile not in offered:
        return None
    if role.value("sharing"):
        return None
    if not renames_resource(role):
        return _write_partition(role, profile)
    if not all(origin.path[-1:] == (WHOLE,) for origin in field.origins):
        return None
    places = _locate_all(origin._replace(key=True) for origin in field.origins)
    return _build_edits(
        "mig_profile", places, [f"{SLICE}{profile}" if place.text == WHOLE else None for place in places]
    )


def _write_partition(role: Role, profile: str) -> Sequence[Edit] | None:
    """Return the edit that adds the partition size next to GKE's accelerator label."""
    return _add_labels(role, "mig_profile", [f"{PARTITION_KEY}: {profile}"])


def _add_labels(role: Role, name: str, written: Sequence[str]) -> Sequence[Edit] | None:
    """Return the edits that add node labels next to GKE's accelerator label."""
    origins = role.fields["accelerator"].origins
    if len(origins) != 1 or origins[0].path[-2:] != ("nodeSelector", accelerator_names.GKE):
        return None
    beside = exact_places.locate(origins[0]._replace(key=True))
    return [Edit(name, beside.location, "", label, "key") for label in written] if beside else None


def _write_sharing(role: Role, sharing: str) -> Sequence[Edit] | None:
    """Return the edits for a shared GPU: GKE's labels, gpulint's own key, or another number of
    clients.
    """
    now, count = role.fields.get("sharing"), gpu_sharing.parse_clients(sharing)
    if now is None or now.value is None:
        if role.value("accelerator_resource") != WHOLE or accelerator_names.find_cloud(role) != "gcp":
            return insertions.insert(role, "sharing", sharing)
        added = (
            f"{gpu_sharing.STRATEGY_KEY}: {gpu_sharing.parse_strategy(sharing)}",
            f'{gpu_sharing.CLIENTS_KEY}: "{count}"',
        )
        return _add_labels(role, "sharing", added)
    before = gpu_sharing.parse_clients(str(now.value))
    if (
        before is None
        or count is None
        or gpu_sharing.parse_strategy(sharing) != gpu_sharing.parse_strategy(str(now.value))
    ):
        return None
    counted = [origin for origin in now.origins if origin.path[-2:] == ("nodeSelector", gpu_sharing.CLIENTS_KEY)]
    places = _locate_all(counted or now.origins)
    words = {str(before): str(count), str(now.value): sharing}
    return _build_edits("sharing", places, [words.get(place.text) for place in places])
