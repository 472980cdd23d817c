"""Compose devices: the GPUs of a service in a compose file, and their number if it is stated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.adapters.platforms.compose_service import CALLER, Service, StatedValue
from gpulint.catalog import resource_names
from gpulint.engines import Argument
from gpulint.workload import Field, Origin, Unknown, Value

HOST = "any host"
ALL = "the container gets all GPUs of the host, and their number is not stated"
"""Source: compose-spec, deploy.md.

Without a count, all devices with the capabilities are reserved.
"""
RESERVED = ("deploy", "resources", "reservations", "devices")
DRIVERS = frozenset({"nvidia", "cdi", "amd"})
GENERIC = re.compile(r"(?i)(?:nvidia[-_])?gpus?")
"""Names that Swarm administrators use for GPUs.

The examples of dockerd's `node-generic-resources` use NVIDIA-GPU.
"""
KFD = "/dev/kfd"
DRI = "/dev/dri"
RENDER = re.compile(r"/dev/dri/renderD\d+")
CDI = re.compile(rf"(?:{resource_names.pattern('gpus')})=(?P<device>[\w:.-]+)")
NUMBERED = re.compile(r"/dev/(?:nvidia|dri/renderD)\d+")
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
LISTED = re.compile(r"(?:\d+|GPU-[\w-]+)(?:\s*,\s*(?:\d+|GPU-[\w-]+))*")


def fields(service: Service, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the GPUs of a service; empty if nothing gives it any."""
    asked = [*_find_requests(service), *_find_passed_devices(service)] or list(_read_runtime(service, environment))
    if not asked:
        return {}
    origins = tuple(origin for field in asked for origin in field.origins)
    unknown = next((field for field in asked if isinstance(field.value, Unknown)), None)
    if unknown is None:
        counted = Field(sum(field.value for field in asked if isinstance(field.value, int)), origins)
    else:
        counted = _count_visible(environment) or Field(unknown.value, origins)
    place = origins or (service.origin,)
    return {
        "gpus_per_pod": counted,
        "accelerator": Field(Unknown("the accelerator depends on the host", HOST), place),
    }


def _find_requests(service: Service) -> Iterator[Field]:
    """Yield the device reservations, and `gpus`, which has the same keys."""
    for stated in (*service.items(*RESERVED), *service.items("gpus")):
        if isinstance(stated.value, dict) and _requests_gpus(stated):
            yield _count_reservation(service, stated)
    for stated in service.items("deploy", "resources", "reservations", "generic_resources"):
        kind, value = (_select_inner(stated, "discrete_resource_spec", key) for key in ("kind", "value"))
        if GENERIC.fullmatch(str(kind.value)):
            word = service.word(value)
            yield Field(_parse_number(word, word.text or ""), (word.origin,))
    whole = service.text("gpus")
    if whole is not None and whole.text:
        yield Field(_parse_number(whole, whole.text), (whole.origin,))


def _requests_gpus(stated: StatedValue) -> bool:
    """Return whether a reservation is for GPUs, by its capabilities or its driver.

    `gpus` requests nothing else.
    """
    asked = stated.value if isinstance(stated.value, dict) else {}
    capabilities = asked.get("capabilities")
    named = {str(capability) for capability in capabilities} if isinstance(capabilities, list) else set()
    return "gpus" in stated.origin.path or "gpu" in named or str(asked.get("driver")) in DRIVERS


def _count_reservation(service: Service, stated: StatedValue) -> Field:
    """Return the count of one reservation: as stated, the number of ids, or all."""
    asked = stated.value if isinstance(stated.value, dict) else {}
    ids = asked.get("device_ids")
    if isinstance(ids, list | str):
        listed = [_select_inner(stated, "device_ids", at) for at in range(len(ids))] if isinstance(ids, list) else []
        return _count_ids(service, listed or [_select_inner(stated, "device_ids")])
    if "count" in asked and asked["count"] is not None:
        count = _select_inner(stated, "count")
        word = service.word(count)
        return Field(_parse_number(word, word.text or ""), (word.origin,))
    return Field(Unknown(ALL, HOST), (stated.reference or stated.origin,))


def _select_inner(stated: StatedValue, *keys: str | int) -> StatedValue:
    path = (*stated.origin.path, *keys)
    return StatedValue(stated.origin.document.get(path), stated.origin._replace(path=path), stated.reference)


def _count_ids(service: Service, listed: list[StatedValue]) -> Field:
    """Return as many GPUs as there are different ids; one string may contain several."""
    words = [service.word(entry) for entry in listed]
    origins = tuple(word.origin for word in words)
    open_word = next((word for word in words if word.text is None), None)
    if open_word is not None:
        return Field(Unknown(open_word.why, CALLER), origins)
    ids = [name.strip() for word in words for name in (word.text or "").split(",") if name.strip()]
    if any(name == "all" or name.endswith("=all") for name in ids):
        return Field(Unknown(ALL, HOST), origins)
    return Field(len(set(ids)) or Unknown("no device is named"), origins)


def _parse_number(word: Argument, text: str) -> Value | Unknown:
    if word.text is None:
        return Unknown(word.why, CALLER)
    if text == "all" or text == "-1":
        return Unknown(ALL, HOST)
    return int(text) if text.isdecimal() else Unknown(f"the GPU count is {text}")


def _find_passed_devices(service: Service) -> Iterator[Field]:
    """Yield devices that are passed by name.

    Those are CDI names, NVIDIA's device nodes, or AMD's, where /dev/kfd means any GPU.
    """
    listed = [(str(entry.value), entry) for entry in service.items("devices")]
    names = [(match["device"], entry) for name, entry in listed if (match := CDI.fullmatch(name))]
    nodes = [(name.partition(":")[0], entry) for name, entry in listed]
    numbered = [entry for name, entry in nodes if NUMBERED.fullmatch(name)]
    amd = any(name == KFD for name, _ in nodes)
    origins = tuple(entry.reference or entry.origin for _, entry in names)
    if names:
        everything = any(device == "all" for device, _ in names)
        yield Field(Unknown(ALL, HOST) if everything else len(names), origins)
    elif numbered and (amd or "/dev/nvidiactl" in {name for name, _ in nodes}):
        yield Field(len(numbered), tuple(entry.reference or entry.origin for entry in numbered))
    elif amd:
        place = next(entry.reference or entry.origin for name, entry in nodes if name == KFD)
        yield Field(Unknown(ALL, HOST), (place,))


def read_render_nodes(service: Service) -> dict[str, Field]:
    """Return render nodes passed to a service with an engine, as Intel GPUs.

    Without an engine, a service may use them to decode video only.
    """
    listed = [(str(entry.value).partition(":")[0].rstrip("/"), entry) for entry in service.items("devices")]
    given = [(name, entry) for name, entry in listed if name == DRI or RENDER.fullmatch(name)]
    if not given:
        return {}
    places = tuple(entry.reference or entry.origin for _, entry in given)
    count = Unknown(ALL, HOST) if any(name == DRI for name, _ in given) else len(given)
    return {
        "gpus_per_pod": Field(count, places),
        "accelerator": Field(Unknown("the accelerator depends on the host", HOST), places),
    }


def _read_runtime(service: Service, environment: Mapping[str, Argument]) -> Iterator[Field]:
    """Yield what `runtime: nvidia` provides: the devices in NVIDIA_VISIBLE_DEVICES."""
    runtime = service.text("runtime")
    if runtime is None or runtime.text not in ("nvidia", "amd"):
        return
    visible = environment.get("NVIDIA_VISIBLE_DEVICES") or environment.get("AMD_VISIBLE_DEVICES")
    if visible is None:
        why = "the image decides which devices are visible"
        yield Field(Unknown(why, "image default"), (runtime.origin,))
    elif visible.text is None:
        yield Field(Unknown(visible.why, visible.category), (visible.origin,))
    elif LISTED.fullmatch(visible.text):
        yield Field(len(visible.text.split(",")), (visible.origin,))
    elif visible.text == "all":
        yield Field(Unknown(ALL, HOST), (visible.origin,))


def _count_visible(environment: Mapping[str, Argument]) -> Field | None:
    """Return the count that the program's own variable leaves of all GPUs."""
    for name in VISIBLE:
        stated = environment.get(name)
        if stated is not None and LISTED.fullmatch(stated.text or ""):
            return Field(len((stated.text or "").split(",")), (stated.origin,))
    return None


def read_visible_devices(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return how many devices stay visible, if a variable lists them."""
    visible = _count_visible(environment)
    return {"visible_devices": visible} if visible else {}


def locate(service: Service, *keys: str) -> Origin:
    """Return the location of a service's key in the checked file."""
    stated = service.find(*keys)
    return (stated.reference or stated.origin) if stated else service.origin
