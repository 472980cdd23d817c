"""Compose devices: the GPUs that a service of a compose file is given, and how many, where the file tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.adapters.compose_service import CALLER, Service, Stated
from gpulint.engines import Argument
from gpulint.workload import Field, Origin, Unknown, Value

HOST = "any host"
ALL = "the container gets all GPUs of the host, and their number is not stated"
"""compose-spec, deploy.md: without a count, all devices that satisfy the capabilities are reserved."""
RESERVED = ("deploy", "resources", "reservations", "devices")
DRIVERS = frozenset({"nvidia", "cdi", "amd"})
GENERIC = re.compile(r"(?i)(?:nvidia[-_])?gpus?")
"""What administrators of a swarm call their GPUs: NVIDIA-GPU in the examples of dockerd's `node-generic-resources`."""
KFD = "/dev/kfd"
DRI = "/dev/dri"
RENDER = re.compile(r"/dev/dri/renderD\d+")
CDI = re.compile(r"(?:nvidia|amd)\.com/gpu=(?P<device>[\w:.-]+)")
NUMBERED = re.compile(r"/dev/(?:nvidia|dri/renderD)\d+")
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
LISTED = re.compile(r"(?:\d+|GPU-[\w-]+)(?:\s*,\s*(?:\d+|GPU-[\w-]+))*")


def fields(service: Service, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """The GPUs of a service; none where nothing gives it any."""
    asked = [*_requests(service), *_passed_through(service)] or list(_by_runtime(service, environment))
    if not asked:
        return {}
    origins = tuple(origin for field in asked for origin in field.origins)
    unknown = next((field for field in asked if isinstance(field.value, Unknown)), None)
    if unknown is None:
        counted = Field(sum(field.value for field in asked if isinstance(field.value, int)), origins)
    else:
        counted = _visible(environment) or Field(unknown.value, origins)
    place = origins or (service.origin,)
    return {
        "gpus_per_pod": counted,
        "accelerator": Field(Unknown("the host decides which GPU it is", HOST), place),
    }


def _requests(service: Service) -> Iterator[Field]:
    """Device reservations, and `gpus` with the same keys."""
    for stated in (*service.items(*RESERVED), *service.items("gpus")):
        if isinstance(stated.value, dict) and _for_gpus(stated):
            yield _request(service, stated)
    for stated in service.items("deploy", "resources", "reservations", "generic_resources"):
        kind, value = (_inner(stated, "discrete_resource_spec", key) for key in ("kind", "value"))
        if GENERIC.fullmatch(str(kind.value)):
            word = service.word(value)
            yield Field(_number(word, word.text or ""), (word.origin,))
    whole = service.text("gpus")
    if whole is not None and whole.text:
        yield Field(_number(whole, whole.text), (whole.origin,))


def _for_gpus(stated: Stated) -> bool:
    """Whether a reservation is one of GPUs, by its capabilities or its driver; `gpus` asks for nothing else."""
    asked = stated.value if isinstance(stated.value, dict) else {}
    capabilities = asked.get("capabilities")
    named = {str(one) for one in capabilities} if isinstance(capabilities, list) else set()
    return "gpus" in stated.origin.path or "gpu" in named or str(asked.get("driver")) in DRIVERS


def _request(service: Service, stated: Stated) -> Field:
    """The count of one reservation: as stated, as many as there are ids, or all."""
    asked = stated.value if isinstance(stated.value, dict) else {}
    ids = asked.get("device_ids")
    if isinstance(ids, list | str):
        listed = [_inner(stated, "device_ids", at) for at in range(len(ids))] if isinstance(ids, list) else []
        return _ids(service, listed or [_inner(stated, "device_ids")])
    if "count" in asked and asked["count"] is not None:
        count = _inner(stated, "count")
        word = service.word(count)
        return Field(_number(word, word.text or ""), (word.origin,))
    return Field(Unknown(ALL, HOST), (stated.reference or stated.origin,))


def _inner(stated: Stated, *keys: str | int) -> Stated:
    path = (*stated.origin.path, *keys)
    return Stated(stated.origin.document.get(path), stated.origin._replace(path=path), stated.reference)


def _ids(service: Service, listed: list[Stated]) -> Field:
    """As many GPUs as there are ids; one string may hold several of them."""
    words = [service.word(one) for one in listed]
    origins = tuple(word.origin for word in words)
    open_word = next((word for word in words if word.text is None), None)
    if open_word is not None:
        return Field(Unknown(open_word.why, CALLER), origins)
    ids = [name.strip() for word in words for name in (word.text or "").split(",") if name.strip()]
    if any(name == "all" or name.endswith("=all") for name in ids):
        return Field(Unknown(ALL, HOST), origins)
    return Field(len(ids) or Unknown("no device is named"), origins)


def _number(word: Argument, text: str) -> Value | Unknown:
    if word.text is None:
        return Unknown(word.why, CALLER)
    if text == "all" or text == "-1":
        return Unknown(ALL, HOST)
    return int(text) if text.isdecimal() else Unknown(f"the GPU count is {text}")


def _passed_through(service: Service) -> Iterator[Field]:
    """Devices handed in by name: CDI names, NVIDIA's nodes, or AMD's, of which /dev/kfd stands for any of them."""
    listed = [(str(one.value), one) for one in service.items("devices")]
    names = [(match["device"], one) for name, one in listed if (match := CDI.fullmatch(name))]
    nodes = [(name.partition(":")[0], one) for name, one in listed]
    numbered = [one for name, one in nodes if NUMBERED.fullmatch(name)]
    amd = any(name == KFD for name, _ in nodes)
    origins = tuple(one.reference or one.origin for _, one in names)
    if names:
        everything = any(device == "all" for device, _ in names)
        yield Field(Unknown(ALL, HOST) if everything else len(names), origins)
    elif numbered and (amd or "/dev/nvidiactl" in {name for name, _ in nodes}):
        yield Field(len(numbered), tuple(one.reference or one.origin for one in numbered))
    elif amd:
        place = next(one.reference or one.origin for name, one in nodes if name == KFD)
        yield Field(Unknown(ALL, HOST), (place,))


def rendering(service: Service) -> dict[str, Field]:
    """The GPUs of a service that runs an engine and is handed render nodes, as those of Intel; others may only decode."""
    listed = [(str(one.value).partition(":")[0].rstrip("/"), one) for one in service.items("devices")]
    given = [(name, one) for name, one in listed if name == DRI or RENDER.fullmatch(name)]
    if not given:
        return {}
    places = tuple(one.reference or one.origin for _, one in given)
    count = Unknown(ALL, HOST) if any(name == DRI for name, _ in given) else len(given)
    return {
        "gpus_per_pod": Field(count, places),
        "accelerator": Field(Unknown("the host decides which GPU it is", HOST), places),
    }


def _by_runtime(service: Service, environment: Mapping[str, Argument]) -> Iterator[Field]:
    """`runtime: nvidia` gives what NVIDIA_VISIBLE_DEVICES lists."""
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


def _visible(environment: Mapping[str, Argument]) -> Field | None:
    """The count that the program's own variable leaves of all GPUs."""
    for name in VISIBLE:
        stated = environment.get(name)
        if stated is not None and LISTED.fullmatch(stated.text or ""):
            return Field(len((stated.text or "").split(",")), (stated.origin,))
    return None


def named(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """How many devices stay visible, where they are listed."""
    found = _visible(environment)
    return {"visible_devices": found} if found else {}


def place_of(service: Service, *keys: str) -> Origin:
    """Where a key of a service stands in the checked file."""
    stated = service.stated(*keys)
    return (stated.reference or stated.origin) if stated else service.origin
