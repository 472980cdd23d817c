"""GPUs as charts count them.

The count is under a resource name, under a key of its own, or in a section next to the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.adapters import pods
from gpulint.adapters.charts.values import Values
from gpulint.catalog import resource_names
from gpulint.source.documents import Node

IMAGES = ("image", "containerImage", "dockerImage")
COUNTS = ("gpus", "gpuCount", "numGPUs", "numGpus", "num_gpus", "gpu_count", "nvidiaGpu", "nGpus")
"""Keys whose number can only be one of GPUs."""
COUNTED = ("count", "number", "quantity", "num")
COUNTING = ("gpu", "gpus", "accelerator", "accelerators")
"""Sections that count GPUs.

Examples: `accelerator: {resourceName, count}`, `gpu: {enabled, nvidia: {count}}`.
"""
VENDORS = ("nvidia", "amd", "intel", "habana")
RESOURCE_NAMES = ("resourceName", "resource", "resourceKey", "nvidiaResource")
SECTIONS = ("vllm", "sglang", "tgi", "engine", "server", "deployment", "container", "inference", "llm")
"""Sections of one pod's settings, next to its resources."""
SWITCHES = ("enabled", "enable", "create")


def is_disabled(block: Mapping[str, object]) -> bool:
    return any(block.get(switch) is False for switch in SWITCHES) or block.get("disabled") is True


def requests_gpus(block: Mapping[str, object]) -> bool:
    """Return whether `resources` request an accelerator with a count that is not zero."""
    resources = block.get("resources")
    sides = [resources.get(side) for side in ("limits", "requests")] if isinstance(resources, dict) else []
    return any(
        pods.GPU.fullmatch(str(name)) and str(count) not in ("0", "None")
        for amounts in sides
        if isinstance(amounts, dict)
        for name, count in amounts.items()
    )


def has_count(block: Mapping[str, object]) -> bool:
    """Return whether a key next to an image or a command counts GPUs."""
    return _has_program(block) and bool(key(block))


def key(block: Mapping[str, object]) -> str:
    """Return the key that counts GPUs; empty if none does."""
    return next((name for name in (*COUNTS, "gpu") if is_count(block.get(name))), "")


def _has_program(block: Mapping[str, object]) -> bool:
    return any(key in block for key in (*IMAGES, "command", "script", "args", "resources"))


def is_count(value: object) -> bool:
    """Return whether a value is a number of GPUs, as a number or in quotes."""
    return (
        not isinstance(value, bool)
        and isinstance(value, int | str)
        and re.fullmatch(r"[1-9]\d{0,3}", str(value)) is not None
    )


def find_count(block: Values) -> tuple[str, ...]:
    """Return the path where a section next to the program counts GPUs; empty if none does.

    Disabled sections do not count.
    """
    if not _has_program(block.entries()) and not {"model", *SECTIONS} & block.entries().keys():
        return ()
    return next((path for path in _find_count_paths(block) if is_count(block.get(*path))), ())


def _find_count_paths(block: Values) -> Iterator[tuple[str, ...]]:
    """Yield the paths at which GPUs may be counted, without those of disabled sections."""
    for section in COUNTING:
        if not is_disabled(block.entries(section)):
            yield from ((section, name) for name in COUNTED)
            for vendor in VENDORS:
                if not is_disabled(block.entries(section, vendor)):
                    yield from ((section, vendor, name) for name in COUNTED)
    for side in (("resources",), ("resources", "limits")):
        yield from ((*side, name) for name in (*COUNTS, "gpu"))


def resource(block: Values, path: tuple[str, ...]) -> str | Node:
    """Return the resource that a section counts: the named one, else by vendor, else NVIDIA's."""
    section = path[:-1]
    named = next((key for key in RESOURCE_NAMES if pods.GPU.fullmatch(block.text(*section, key))), "")
    if named and section[0] in COUNTING:
        return block.scalar(*section, named) or block.text(*section, named)
    stated = (block.text(*section, key).lower() for key in ("vendor", "type"))
    vendor = next((name for name in (section[-1], *stated) if name in VENDORS), "nvidia")
    return block.key(resource_names.find_name(vendor), *path)
