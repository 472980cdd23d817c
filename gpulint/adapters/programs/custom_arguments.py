"""Custom arguments: GPU counts in arguments of unrecognised programs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from gpulint.engines import Argument
from gpulint.workload import Field

KOKKOS = frozenset({"-k", "-kokkos"})
"""LAMMPS command-line options: `-k on g 4` sets how many GPUs of a node its ranks share."""


def read_devices(words: Iterable[Argument]) -> dict[str, Field]:
    """Return how many GPUs of a node LAMMPS is set to use."""
    given = [word for word in words if word.text is not None]
    starts = next((at for at, word in enumerate(given) if word.text in KOKKOS), None)
    if starts is None or [word.text for word in given[starts + 1 : starts + 2]] != ["on"]:
        return {}
    for key, value in itertools.pairwise(given[starts + 2 : starts + 8]):
        if key.text in ("g", "gpus") and (value.text or "").isdecimal():
            return {"program_devices": Field(int(value.text or ""), (value.origin,))}
    return {}
