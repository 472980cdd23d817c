"""Axes: the kinds of parallelism, and the formulas of a group of ranks that hold for each.

A formula of `sizing.interconnect._groups` is written once, for a group of ranks. It holds for an axis with
`group` replaced by the axis in its name and in its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

MODULE = "interconnect._groups"
"""The module of `sizing` with the formulas of a group."""
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
_MEDIUM, _NOMINAL, _BUS = "group_medium", "group_nominal_bytes_per_s", "group_bus_bytes_per_s"
FORMULAS: Mapping[str, tuple[str, ...]] = {
    "tensor": (_BUS,),
    "expert": (_MEDIUM, _BUS),
    "pipeline": (_MEDIUM,),
    **dict.fromkeys(("context", "data", "shard", "copy"), (_MEDIUM, _NOMINAL, _BUS)),
}
"""The formulas of a group that hold for each axis; the others have a formula of their own in `sizing`."""


def rename(name: str, axis: str) -> str:
    """Return the name that a fact of a group has for an axis.

    >>> rename("group_bus_bytes_per_s", "shard"), rename("group_ranks", "shard")
    ('shard_bus_bytes_per_s', 'state_ranks')
    """
    own = {f"{GROUP}_ranks": AXES[axis].ranks, f"{GROUP}_stride": AXES[axis].stride}
    return own.get(name) or name.replace(f"{GROUP}_", f"{axis}_")


def rename_in(text: str, axis: str) -> str:
    """Return the docstring that a formula of a group has for an axis.

    >>> rename_in("Medium that connects the ranks of a group, group_stride GPUs apart.", "copy")
    'Medium that connects ranks with the same part in different state replicas, copy_stride GPUs apart.'
    """
    return re.sub(rf"\b{GROUP}_\w+", lambda name: rename(name[0], axis), text.replace(RANKS, AXES[axis].words))
