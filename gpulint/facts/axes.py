"""Axes: the kinds of parallelism, and the formulas that hold for the ranks of each.

A formula of `sizing.interconnect._groups` is written once, for a group of ranks. Here it becomes one formula
for each axis: its parameters that begin with `group` are renamed to the facts of the axis.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gpulint.sizing.interconnect import _groups
from gpulint.workload import Value

GROUP = "group"
RANKS = "the ranks of a group"
"""What the formulas of a group call its ranks."""


class Axis(NamedTuple):
    """One kind of parallelism: the facts that count its ranks and their distance, and what they do together."""

    ranks: str
    stride: str
    operation: str
    words: str


AXES: Mapping[str, Axis] = {
    "tensor": Axis("tensor_parallel", "", "all_reduce", "tensor-parallel ranks"),
    "context": Axis("context_ranks", "tensor_parallel", "all_gather", "context-parallel ranks"),
    "data": Axis("data_ranks", "data_stride", "all_gather", "data-parallel ranks"),
    "shard": Axis("state_ranks", "tensor_parallel", "all_gather", "the ranks that shard one set of states"),
    "copy": Axis("state_copies", "copy_stride", "all_gather", "ranks with the same part in different state replicas"),
    "expert": Axis("expert_ranks", "expert_stride", "all_to_all", "expert-parallel ranks"),
    "pipeline": Axis("pipeline_parallel", "stage_stride", "send", "neighbouring pipeline stages"),
}
_MEDIUM, _NOMINAL, _BUS = _groups.group_medium, _groups.group_nominal_bytes_per_s, _groups.group_bus_bytes_per_s
_FORMULAS: Mapping[str, tuple[Callable[..., Value], ...]] = {
    "tensor": (_BUS,),
    "expert": (_MEDIUM, _BUS),
    "pipeline": (_MEDIUM,),
    **dict.fromkeys(("context", "data", "shard", "copy"), (_MEDIUM, _NOMINAL, _BUS)),
}
"""The formulas of a group that hold for each axis; the others have a formula of their own in `sizing`."""


def bind_formulas() -> Mapping[str, Callable[..., Value]]:
    """Return the formulas of all axes by the name of the fact that each computes."""
    bound = (_bind(formula, axis) for axis, formulas in _FORMULAS.items() for formula in formulas)
    return {formula.__name__: formula for formula in bound}


def _bind(formula: Callable[..., Value], axis: str) -> Callable[..., Value]:
    """Return a formula of a group for one axis: the same code with other names of the parameters.

    >>> formula = _bind(_groups.group_bus_bytes_per_s, "shard")
    >>> formula.__name__, formula.__code__.co_varnames, formula(400e9, 1.25) / 1e9
    ('shard_bus_bytes_per_s', ('shard_nominal_bytes_per_s', 'shard_slowdown'), 320.0)
    """
    code, facts = formula.__code__, AXES[axis]
    own = {f"{GROUP}_ranks": facts.ranks, f"{GROUP}_stride": facts.stride}

    def rename(name: str) -> str:
        return own.get(name) or name.replace(f"{GROUP}_", f"{axis}_")

    names = tuple(map(rename, code.co_varnames))
    name = rename(formula.__name__)
    bound = types.FunctionType(
        code.replace(co_varnames=names, co_name=name), _groups.__dict__, name, formula.__defaults__
    )
    bound.__annotations__ = {rename(parameter): kind for parameter, kind in formula.__annotations__.items()}
    text = (formula.__doc__ or "").replace(RANKS, facts.words)
    for parameter in (*code.co_varnames[: code.co_argcount], formula.__name__):
        text = text.replace(parameter, rename(parameter))
    bound.__doc__ = text
    bound.__module__ = _groups.__name__
    return bound
