"""Edits: where a file states quantities of a role, and the text that would state other values there.

Exactly, or not at all: a place whose characters are not plainly the present value is not rewritten.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpulint import engines
from gpulint.adapters.pods.placement import PARTITION_KEY
from gpulint.catalog import gpu_sharing as shares
from gpulint.catalog import hardware, resource_names
from gpulint.report.model import Edit, Location
from gpulint.source.documents import Path
from gpulint.suggestions.edits import accelerator_names as labels
from gpulint.suggestions.edits import exact_places as stated
from gpulint.suggestions.edits import insertions as additions
from gpulint.suggestions.edits import values as spellings
from gpulint.suggestions.edits.exact_places import Place
from gpulint.workload import Field, Origin, Role, Value

WHOLE = resource_names.find_name("nvidia")
SLICE = resource_names.slice_prefix()
NODE_COUNT = "cloud.google.com/gke-accelerator-count"
"""GPUs of the node that Autopilot makes for a pod: cloud.google.com/kubernetes-engine/docs/how-to/autopilot-gpus."""
FOLLOWING = frozenset({"gpus_per_replica", "gpu_limit", "gpu_request", "gpu_count_whole", "visible_devices"})
"""Counts that follow from those of a pod's GPUs and an instance's pods."""
SPELLED = frozenset({"kv_cache_dtype", "quantization", "weight_dtype"})
"""Words of an engine's own, of which one engine knows what another does not."""
SIDES = frozenset({"limits", "requests"})
LEAST = frozenset({"minReplicas", "min_replicas"})
MOST = frozenset({"maxReplicas", "max_replicas"})
REFERENCE = re.compile(r"\$|\{\{")
NAMED_FILE = re.compile(r"\.(?:ya?ml|json|toml)[\"']?$")
"""A place that names the file whose value counts: what stands there stands there too."""


def of(role: Role, values: Mapping[str, Value]) -> tuple[Edit, ...] | None:
    """The edits after which the file states these values; None where one of them cannot be written exactly."""
    found: dict[Location | Edit, Edit] = {}
    for name, value in values.items():
        written = _written(role, name, value, values)
        if written is None:
            return None
        for edit in written:
            at = edit.location if edit.location and edit.old else edit
            if found.setdefault(at, edit).new != edit.new:
                return None
    return None if _further(role, values, found.values()) else tuple(found.values())


def _further(role: Role, values: Mapping[str, Value], written: Iterable[Edit]) -> bool:
    """Whether a count that is rewritten takes part in another, which nobody says what it is to be."""
    numbers = ((one.location, spellings.stated_number(one.old), spellings.stated_number(one.new)) for one in written)
    counts = {at: (old, new) for at, old, new in numbers if old is not None}
    known = {*values, *FOLLOWING} | ({"gpus_per_pod"} if {"gpu_limit", "gpu_request"} & values.keys() else set())
    for name, field in role.fields.items():
        if name in known or isinstance(field.value, bool) or not isinstance(field.value, int | float):
            continue
        for at in filter(None, map(stated.place, field.origins)):
            old, new = counts.get(at.location, (field.value, None))
            if old != field.value and not (name == "pods_per_replica" and field.value == 1 and (new or 0) <= old):
                return True  # but what fits in one pod fits there with fewer ranks too
    return False


def together(role: Role, values: Mapping[str, Value]) -> Mapping[str, Value]:
    """The values, and those of further counts that the same places state."""
    places = {(origin.path, origin.span): name for name in values for origin in _numeric(role, name)}
    further = {
        other: values[places[origin.path, origin.span]]
        for other, field in role.fields.items()
        if other not in values
        for origin in field.origins
        if (origin.path, origin.span) in places
        and field.value == role.value(places[origin.path, origin.span])
        and origin.document is role.anchor.document
    }
    if "gpus_per_pod" in values and "visible_devices" in role.fields:
        further["visible_devices"] = values["gpus_per_pod"]
    return {**further, **values}


def _numeric(role: Role, name: str) -> Sequence[Origin]:
    field = role.fields.get(name)
    if field is None or not isinstance(field.value, int) or isinstance(field.value, bool):
        return ()
    return [origin for origin in field.origins if spellings.stated_number(origin.text()) == field.value]


def _written(role: Role, name: str, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    field = role.fields.get(name)
    if field is not None and field.value == value and not (name == "accelerator" and field.origins):
        return ()
    if name == "gpus_per_pod":
        return _gpus(role, value, values)
    if name == "sharing":
        return _shared(role, str(value))
    if field is None or not field.origins:
        return _sliced(role, str(value)) if name == "mig_profile" else additions.of(role, name, value)
    if name == "accelerator":
        return _of_product(field, labels.relabelled(role, str(value), values))
    if name == "instance_type":
        return _of_machine(role, field, str(value), values)
    restated = _restated(role, name, field, value, values)
    if restated is None and name == "sharding":  # the Trainer's argument counts over its launcher's file
        return additions.of(role, name, value)
    return restated


def _restated(role: Role, name: str, field: Field, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """Every place that states a quantity, rewritten."""
    places = _places(field.origins)
    if name in SPELLED and engines.spelled(role.text("engine"), role.text("engine_version"), name, value) is None:
        return None
    numbers = [spellings.stated_number(one.text) for one in places]
    if isinstance(field.value, int) and len(places) > 1 and None not in numbers and not _repeated(places, field):
        if _made(role, places, value, {other: one for other, one in values.items() if other != name}):
            return ()
        places = _factor(places, numbers, field.value)
    texts = [spellings.text(name, one, field.value, value) or _argued(role, name, value, one) for one in places]
    written = _edits(name, places, texts)
    whole = isinstance(field.value, int) and isinstance(value, int)
    bounds = _bounds(name, places, field.value, value) if whole else ()  # type: ignore[arg-type]
    return None if written is None or bounds is None else [*written, *bounds]


def _argued(role: Role, name: str, value: Value, place: Place) -> str | None:
    """The value of an argument, or the whole of it, as the engine spells it, where the same argument stands."""
    argument = engines.spelled(role.text("engine"), role.text("engine_version"), name, value) or ""
    flag, equals, word = argument.partition("=")
    if not equals:
        return None
    if place.text.partition("=")[0] == flag and "=" in place.text:
        return argument
    return word if place.before.rstrip("\"'").endswith((f"{flag}=", f"{flag} ")) else None


def _edits(name: str, places: Sequence[Place], texts: Sequence[str | None]) -> Sequence[Edit] | None:
    if not places or None in texts:
        return None
    pairs = zip(places, texts, strict=True)
    return [Edit(name, one.location, one.text, new) for one, new in pairs if new is not None and new != one.text]


def _places(origins: Iterable[Origin]) -> list[Place]:
    """The places of origins that state the value themselves; none where one of them is not exact.

    One that names another file's value, or a variable, stays as it is.
    """
    stating = [one for one in dict.fromkeys(origins) if not REFERENCE.search(one.text())]
    stating = [one for one in stating if not NAMED_FILE.search(one.text())] or stating
    first = stating[0].document.path if stating else ""
    elsewhere = {one.document.path for one in stating}
    if len(elsewhere) > 1:
        return []
    found = [stated.place(one) for one in stating if one.document.path == first]
    return [] if None in found else [one for one in found if one is not None]


def _repeated(places: Sequence[Place], field: Field) -> bool:
    """Whether several places repeat one number as limits and requests."""
    sides = all(SIDES & {part for part in one.origin.path if isinstance(part, str)} for one in places)
    return sides and {spellings.stated_number(one.text) for one in places} == {field.value}


def _bounds(name: str, places: Sequence[Place], now: int, value: int) -> Sequence[Edit] | None:
    """The bounds beside a number of replicas that it would leave, or that state it together."""
    found: list[Edit] = []
    for origin in {one.origin for one in places if one.origin.path}:
        for other in _beside(origin, value):
            at = stated.place(other)
            new = spellings.number(at.text, now, value) if at else None
            if at is None or new is None:
                return None
            found.append(Edit(name, at.location, at.text, new))
    return found


def _beside(origin: Origin, value: int) -> Iterator[Origin]:
    """The bounds of a number of replicas that another number would have to move."""
    mapping, key = origin.document.get(origin.path[:-1]), origin.path[-1]
    for bound, stated_bound in mapping.items() if isinstance(mapping, dict) else ():
        if bound == key or bound not in LEAST | MOST:
            continue
        inside = isinstance(stated_bound, int) and (stated_bound <= value if bound in LEAST else stated_bound >= value)
        if not inside or key in LEAST | MOST:
            yield Origin(origin.document, (*origin.path[:-1], bound))


def _factor(places: list[Place], numbers: Sequence[float | None], now: int) -> list[Place]:
    """Of the factors of a product the only one that is not one."""
    larger = [one for one, number in zip(places, numbers, strict=True) if number != 1]
    return larger if len(larger) == 1 and spellings.stated_number(larger[0].text) == now else []


def _made(role: Role, places: Sequence[Place], value: Value, others: Mapping[str, Value]) -> bool:
    """Whether other quantities that are to change are the factors of a product, and make the value."""
    new = {(one.path, one.span): others[name] for name in others for one in _numeric(role, name)}
    at = [(one.origin.path, one.origin.span) for one in places]
    factors = [new.get(key, spellings.stated_number(one.text)) for key, one in zip(at, places, strict=True)]
    return bool(new.keys() & set(at)) and math.prod(one for one in factors if isinstance(one, int | float)) == value


# ---- counts of GPUs


def _gpus(role: Role, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """A pod's GPUs at every place that counts them: limits, requests, visible devices, the label of the node to be made."""
    field = role.fields.get("gpus_per_pod")
    if field is None:
        return None
    written = _counted(role, field, value, values)
    visible, node = _visible(role, field, value), _of_node(role, field, value)
    return None if written is None or visible is None or node is None else [*written, *visible, *node]


def _counted(role: Role, field: Field, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    named = role.fields.get("accelerator")
    request = named.origins if named else ()
    if any(hardware.node(one.text()) for one in field.origins):
        return _of_whole_machine(role, field, value, values)
    if request and (not field.origins or _texts(field.origins) == _texts(request)):
        product = str(values["accelerator"]) if "accelerator" in values else None
        texts, places = [labels.requested(one, product, value) for one in request], _places(request)
        if None not in texts and len(places) == len(texts):
            return _edits("gpus_per_pod", places, texts)
    return _restated(role, "gpus_per_pod", field, value, values) if field.origins else None


def _texts(origins: Iterable[Origin]) -> set[tuple[Path, str]]:
    return {(one.path, one.text().strip()) for one in origins}


def _of_whole_machine(role: Role, field: Field, value: Value, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """Another machine type, where the count is that of the machine."""
    product = str(values.get("accelerator") or role.text("accelerator"))
    places = _places(field.origins)
    if isinstance(wanted := values.get("instance_type"), str):
        node = hardware.node(wanted)
        return _edits("gpus_per_pod", places, [wanted if node and node.node_gpus == value else None for _ in places])
    return _edits(
        "gpus_per_pod", places, [labels.machine(role, one.text, product, value, whole=True) for one in places]
    )


def _visible(role: Role, counted: Field, value: Value) -> Sequence[Edit] | None:
    """The list of visible devices, where it is as long as the count."""
    field = role.fields.get("visible_devices")
    if field is None or not field.origins or field.value != counted.value or field.origins == counted.origins:
        return ()
    places = _places(field.origins)
    return _edits("visible_devices", places, [spellings.devices(one, field.value, value) for one in places])


def _of_node(role: Role, field: Field, value: Value) -> Sequence[Edit] | None:
    """The label that says how many GPUs the pod's node is to have, where it says as many as the pod asks for."""
    for origin in field.origins[:1]:
        if "containers" in origin.path:
            path = (*origin.path[: origin.path.index("containers")], "nodeSelector", NODE_COUNT)
            if str(origin.document.get(path)) == str(field.value):
                places = _places([Origin(origin.document, path)])
                texts = [spellings.text("gpus_per_pod", one, field.value, value) for one in places]
                return _edits("gpus_per_pod", places, texts)
    return ()


# ---- products, machines and slices


def _of_product(field: Field, texts: tuple[str, ...] | None) -> Sequence[Edit] | None:
    places = _places(field.origins)
    return _edits("accelerator", places, texts) if texts and len(places) == len(texts) else None


def _of_machine(role: Role, field: Field, value: str, values: Mapping[str, Value]) -> Sequence[Edit] | None:
    """Another machine type, with the card and as many of it as are to be."""
    node = hardware.node(value)
    if node is None or node.accelerator != values.get("accelerator", role.value("accelerator")):
        return None
    counted = role.fields.get("gpus_per_pod")
    gpus = values.get("gpus_per_pod", role.value("gpus_per_pod"))
    whole = counted is not None and any(hardware.node(one.text()) for one in counted.origins)
    if not isinstance(gpus, int) or (node.node_gpus != gpus if whole else node.node_gpus < gpus):
        return None
    places = _places(field.origins)
    known = all(hardware.node(one.text) for one in places)
    return _edits("instance_type", places, [value] * len(places)) if known else None


def renames_resource(role: Role) -> bool:
    """Whether a slice would be asked for by the name of a resource of its own."""
    return role.value("mig_profile") is None and "gcp" not in (labels.cloud(role), role.text("cloud"))


def _sliced(role: Role, profile: str) -> Sequence[Edit] | None:
    """The resource of whole cards replaced by that of a slice, where the device plugin's mixed strategy may offer it.

    GKE offers slices under the name of whole cards, to pods that select a partition size.
    """
    field = role.fields.get("gpus_per_pod")
    offered = [name for name, _ in hardware.slices(role.text("accelerator")) if "+" not in name and ".me" not in name]
    if field is None or role.value("accelerator_resource") != WHOLE or profile not in offered:
        return None
    if role.value("sharing"):
        return None
    if not renames_resource(role):
        return _partitioned(role, profile)
    if not all(one.path[-1:] == (WHOLE,) for one in field.origins):
        return None
    places = _places(one._replace(key=True) for one in field.origins)
    return _edits("mig_profile", places, [f"{SLICE}{profile}" if one.text == WHOLE else None for one in places])


def _partitioned(role: Role, profile: str) -> Sequence[Edit] | None:
    """The size of a partition beside GKE's label of the card."""
    return _labelled(role, "mig_profile", [f"{PARTITION_KEY}: {profile}"])


def _labelled(role: Role, name: str, written: Sequence[str]) -> Sequence[Edit] | None:
    """Further labels of the node beside GKE's label of the card."""
    origins = role.fields["accelerator"].origins
    if len(origins) != 1 or origins[0].path[-2:] != ("nodeSelector", labels.GKE):
        return None
    beside = stated.place(origins[0]._replace(key=True))
    return [Edit(name, beside.location, "", one, "key") for one in written] if beside else None


def _shared(role: Role, sharing: str) -> Sequence[Edit] | None:
    """GKE's two labels of a shared card, the words of gpulint's own spec, or another number of clients in either."""
    now, count = role.fields.get("sharing"), shares.clients(sharing)
    if now is None or now.value is None:
        if role.value("accelerator_resource") != WHOLE or labels.cloud(role) != "gcp":
            return additions.of(role, "sharing", sharing)
        added = (f"{shares.STRATEGY_KEY}: {shares.strategy(sharing)}", f'{shares.CLIENTS_KEY}: "{count}"')
        return _labelled(role, "sharing", added)
    before = shares.clients(str(now.value))
    if before is None or count is None or shares.strategy(sharing) != shares.strategy(str(now.value)):
        return None
    counted = [one for one in now.origins if one.path[-2:] == ("nodeSelector", shares.CLIENTS_KEY)]
    places = _places(counted or now.origins)
    words = {str(before): str(count), str(now.value): sharing}
    return _edits("sharing", places, [words.get(one.text) for one in places])
