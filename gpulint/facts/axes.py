"""Axes: the kinds of parallelism, and the formulas that hold for the ranks of each.

A formula of `sizing.interconnect._groups` is written once, for a group of ranks. Here it becomes one formula
for each axis: its parameters that begin with `group` are renamed to the facts of the axis.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping

from gpulint.catalog.axes import FORMULAS, rename, rename_in
from gpulint.sizing.interconnect import _groups
from gpulint.workload import Value


def bind_formulas() -> Mapping[str, Callable[..., Value]]:
    """Return the formulas of all axes by the name of the fact that each computes."""
    bound = (_bind(getattr(_groups, name), axis) for axis, names in FORMULAS.items() for name in names)
    return {formula.__name__: formula for formula in bound}


def _bind(formula: Callable[..., Value], axis: str) -> Callable[..., Value]:
    """Return a formula of a group for one axis: the same code with other names of the parameters.

    >>> formula = _bind(_groups.group_bus_bytes_per_s, "shard")
    >>> formula.__name__, formula.__code__.co_varnames, formula(400e9, 1.25) / 1e9
    ('shard_bus_bytes_per_s', ('shard_nominal_bytes_per_s', 'shard_slowdown'), 320.0)
    """
    code = formula.__code__
    names = tuple(rename(name, axis) for name in code.co_varnames)
    name = rename(formula.__name__, axis)
    bound = types.FunctionType(
        code.replace(co_varnames=names, co_name=name), _groups.__dict__, name, formula.__defaults__
    )
    bound.__annotations__ = {rename(parameter, axis): kind for parameter, kind in formula.__annotations__.items()}
    bound.__doc__ = rename_in(formula.__doc__ or "", axis)
    bound.__module__ = _groups.__name__
    return bound
