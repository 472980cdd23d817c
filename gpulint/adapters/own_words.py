"""Own words: what variables and the arguments of a program that is no trainer of ours say of the GPUs of a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from gpulint import catalog
from gpulint.engines import Argument
from gpulint.workload import Field

KOKKOS = frozenset({"-k", "-kokkos"})
"""LAMMPS documentation, command-line options: `-k on g 4` tells how many GPUs of a node its ranks share."""


def retired(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """The first variable that its library no longer reads, and what took its place."""
    listed = catalog.by("retired_variables", "variable")
    name = next((name for name in environment if name in listed), None)
    if name is None:
        return {}
    row = listed[name]
    return {"retired_variable": Field(name, (environment[name].origin,)), "successor_variable": Field(row["successor"])}


def devices(words: Iterable[Argument]) -> dict[str, Field]:
    """How many GPUs of a node LAMMPS is told to use."""
    given = [word for word in words if word.text is not None]
    starts = next((at for at, word in enumerate(given) if word.text in KOKKOS), None)
    if starts is None or [word.text for word in given[starts + 1 : starts + 2]] != ["on"]:
        return {}
    for key, value in itertools.pairwise(given[starts + 2 : starts + 8]):
        if key.text in ("g", "gpus") and (value.text or "").isdecimal():
            return {"program_devices": Field(int(value.text or ""), (value.origin,))}
    return {}
