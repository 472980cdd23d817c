"""docker run: the GPUs, shared memory and limits that its options give a container."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpulint import units
from gpulint.adapters.programs import processes
from gpulint.adapters.programs.processes import Step
from gpulint.catalog import resource_names
from gpulint.engines import Argument
from gpulint.workload import Field, Unknown

ALL = "the container gets every GPU of the machine, and their number is not stated"
MACHINE = "any host"
DEVICE = re.compile(r"\"?device=(?P<ids>[\w,.:-]+)\"?")
CDI = re.compile(rf"(?:{resource_names.pattern('gpus')})=(?P<id>[\w.:-]+)")
LISTED = re.compile(r"(?:\d+|GPU-[\w-]+)(?:,(?:\d+|GPU-[\w-]+))*")
KFD = "/dev/kfd"
SHARED_MEMORY = "/dev/shm"
HOST = "host"
"""The IPC namespace of the host."""
TARGET = re.compile(r"(?:^|,)(?:target|dst|destination)=(?P<folder>/[^,$]*)(?:,|$)")


def fields(step: Step, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return what a container gets; `gpus_per_pod` is absent if nothing gives it a GPU."""
    granted: dict[str, Field] = {}
    if (gpus := _resolve_gpus(step, environment)) is not None:
        granted["gpus_per_pod"] = gpus
    if step.launcher == "docker run":
        granted["shared_memory_default"] = _has_small_shared_memory(step)
        granted["shared_memory_remedy"] = Field("start the container with --shm-size=8g or --ipc=host")
        granted |= _find_unused_size(step)
    if (memory := step.last("memory")) is not None:
        granted["host_memory_bytes"] = _parse_bytes(memory)
    if privileged := step.stated.get("privileged"):
        granted["privileged"] = Field(True, processes.origins(privileged[-1]))
    return granted


def _resolve_gpus(step: Step, environment: Mapping[str, Argument]) -> Field | None:
    if (asked := step.last("gpus")) is not None:
        return _parse_request(asked)
    if passed := step.stated.get("every_gpu"):
        return Field(Unknown(ALL, MACHINE), processes.origins(passed[-1]))
    devices = step.stated.get("device", ())
    if named := [word for word in devices if CDI.fullmatch(word.text or "")]:
        return _count_named(named)
    if kfd := [word for word in devices if (word.text or "").partition(":")[0] == KFD]:
        return Field(Unknown(ALL, MACHINE), processes.origins(kfd[0]))
    runtime = step.last("runtime")
    if runtime is None or runtime.text != "nvidia":
        return None
    visible = environment.get("NVIDIA_VISIBLE_DEVICES")
    if visible is None:
        return Field(
            Unknown("the image decides which devices are visible", "image default"), processes.origins(runtime)
        )
    if LISTED.fullmatch(visible.text or ""):
        return Field(len((visible.text or "").split(",")), processes.origins(visible))
    return Field(Unknown(visible.why or ALL, processes.category(visible) or MACHINE), processes.origins(visible))


def _parse_request(word: Argument) -> Field:
    """Parse `--gpus all`, a count, or `"device=0,1"`; of other keys, `count=` is read."""
    text = (word.text or "").strip("'\"")
    if word.text is None:
        return Field(Unknown(word.why, processes.category(word)), processes.origins(word))
    if text.isdecimal():
        return Field(int(text), processes.origins(word))
    if match := DEVICE.fullmatch(text):
        return Field(len(match["ids"].split(",")), processes.origins(word))
    if match := re.search(r"(?:^|,)count=(\d+)(?:,|$)", text):
        return Field(int(match[1]), processes.origins(word))
    everything = "all" in text.split(",") or text in ("-1", "count=all")
    return Field(
        Unknown(ALL, MACHINE) if everything else Unknown(f"{text} does not name a count"), processes.origins(word)
    )


def _count_named(words: Sequence[Argument]) -> Field:
    ids = [match["id"] for word in words if (match := CDI.fullmatch(word.text or ""))]
    count = Unknown(ALL, MACHINE) if "all" in ids else len(ids)
    return Field(count, tuple(origin for word in words for origin in processes.origins(word)))


def _has_small_shared_memory(step: Step) -> Field:
    """Return whether /dev/shm is Docker's 64 MiB.

    That is so without a size, the host's IPC namespace, or a volume in its place.
    """
    given = [word for name in ("shared_memory", "ipc") for word in step.stated.get(name, ())]
    mounted = [word for word in step.stated.get("volume", ()) if SHARED_MEMORY in (word.text or SHARED_MEMORY)]
    larger = [word for word in given if word.text not in ("private", "shareable", "none", "64m")]
    deciding = (*larger, *mounted, *((step.open_ended,) if step.open_ended else ()))
    return Field(not deciding, processes.origins(deciding[0] if deciding else step.word))


def _find_unused_size(step: Step) -> dict[str, Field]:
    """Return a size of /dev/shm beside the host's IPC namespace, which brings the host's own /dev/shm.

    moby daemon/container_operations_unix.go, setupIPCDirs: only a container with a namespace of its own gets the size.
    """
    size, ipc = step.last("shared_memory"), step.last("ipc")
    if size is None or ipc is None or ipc.text != HOST:
        return {}
    return {"unused_shared_memory_size": Field(size.text or "…", processes.origins(size))}


def _parse_bytes(word: Argument) -> Field:
    """Parse `16g`; Docker's suffixes are powers of 1024."""
    match = re.fullmatch(r"(\d+)([bkmg]?)b?", (word.text or "").lower())
    if match is None:
        return Field(
            Unknown(word.why or f"{word.text} is not a size", processes.category(word)), processes.origins(word)
        )
    scale = {"": 1, "b": 1, "k": units.KIB, "m": units.MIB, "g": units.GIB}[match[2]]
    return Field(int(match[1]) * scale, processes.origins(word))


def list_mounts(step: Step) -> tuple[str | None, ...]:
    """Return the folders of a container that its volumes appear at; None for one that is not known."""
    targets = [_find_target(word) for word in step.stated.get("volume", ())]
    return (*targets, *((None,) if step.open_ended else ()))


def _find_target(word: Argument) -> str | None:
    """Return the folder of `-v source:folder[:options]` or of `--mount type=bind,target=folder`."""
    text = (word.text if word.text is not None else word.source_text).strip("'\"")
    if match := TARGET.search(text):
        return match["folder"]
    parts = text.split(":")
    if parts[-1] and not parts[-1].startswith(("/", "$")) and len(parts) > 1:
        parts.pop()
    return parts[-1] if parts[-1].startswith("/") and "$" not in parts[-1] else None
