"""CUDA_VISIBLE_DEVICES: the devices of its list that a program sees.

CUDA stops reading the list at the first number that does not exist (CUDA C++ Programming Guide, CUDA environment
variables), and a list that names a device twice shows none (torch/cuda/__init__.py _parse_visible_devices: repeated
id results in empty set).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Argument
from gpulint.workload import Field

VARIABLE = "CUDA_VISIBLE_DEVICES"
NUMBERS = re.compile(r"\d+(?:\s*,\s*\d+)*")
NAMED = re.compile(r"(?:\d+|GPU-[\w-]+)(?:\s*,\s*(?:\d+|GPU-[\w-]+))*")


def find_repeated(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return a device that the list names twice."""
    stated = environment.get(VARIABLE)
    if stated is None or not NAMED.fullmatch(stated.text or ""):
        return {}
    names = [name.strip() for name in (stated.text or "").split(",")]
    repeated = next((name for at, name in enumerate(names) if name in names[:at]), None)
    return {} if repeated is None else {"repeated_visible_device": Field(repeated, (stated.origin,))}


def find_first(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the first number of the list; nothing if NVIDIA_VISIBLE_DEVICES limits what the container runtime shows."""
    stated = environment.get(VARIABLE)
    if stated is None or not NUMBERS.fullmatch(stated.text or "") or "NVIDIA_VISIBLE_DEVICES" in environment:
        return {}
    return {"first_visible_device": Field(int((stated.text or "").partition(",")[0]), (stated.origin,))}


def is_granted(granted: Field | None, environment: Mapping[str, Argument]) -> bool:
    """Return whether a count of GPUs is stated apart from the list itself."""
    stated = environment.get(VARIABLE)
    value = granted.value if granted is not None else None
    counted = granted is not None and stated is not None and stated.origin in granted.origins
    return isinstance(value, int) and not isinstance(value, bool) and not counted


def cut_short(environment: Mapping[str, Argument], granted: Field | None) -> dict[str, Field]:
    """Return where CUDA stops reading the list of a container that numbers its GPUs from 0, and the devices before.

    Nothing if it stops at the first device, or if the program sees all granted GPUs even so.
    """
    stated, count = environment.get(VARIABLE), granted.value if granted is not None else None
    if stated is None or not NUMBERS.fullmatch(stated.text or "") or "NVIDIA_VISIBLE_DEVICES" in environment:
        return {}
    if not isinstance(count, int) or not is_granted(granted, environment):
        return {}
    numbers = [int(number) for number in (stated.text or "").split(",")]
    seen = next((at for at, number in enumerate(numbers) if number >= count), len(numbers))
    if not 0 < seen < min(count, len(numbers)):
        return {}
    return {
        "missing_visible_device": Field(numbers[seen], (stated.origin,)),
        "visible_devices": Field(seen, (stated.origin,)),
    }
