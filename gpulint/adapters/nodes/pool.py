"""A node pool: a set of like nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpulint.adapters.pods.taints import Taint
from gpulint.workload import Field, Origin

DECIDED = "queue or partition"
"""Why a file does not state an accelerator: the cluster decides it."""
QUEUES = ("kueue.x-k8s.io/queue-name", "scheduling.volcano.sh/queue-name", "kai.scheduler/queue", "runai/queue")
"""Labels that name a queue, whose flavours decide the nodes."""


class Amount(NamedTuple):
    """How many nodes a pool has at least and at most, and with how many it is created; None: not stated.

    With `of_gpus`, the numbers count GPUs instead of nodes.
    """

    least: Field | None
    most: Field | None
    start: Field | None = None
    of_gpus: bool = False

    def fields(self) -> tuple[Field | None, ...]:
        return self.least, self.most, self.start


class Pool(NamedTuple):
    """A set of like nodes: the allowed values of each label, and what the nodes have.

    `is_open` means that nodes may carry further labels. `naming` lists the labels that hold the pool's name.
    An `accelerator` of None means that the nodes have none. `boards` are the GPUs of a node whose `gpus` are
    unknown because several pods share each of them. `amount` is None if nothing states how many nodes there
    are. `basis` lists what an unknown accelerator or amount depends on.
    """

    name: str
    origin: Origin | None
    labels: Mapping[str, frozenset[str]]
    accelerator: Field
    gpus: Field | None = None
    machine: Field | None = None
    taints: tuple[Taint, ...] = ()
    is_open: bool = False
    source: str = ""
    naming: tuple[str, ...] = ()
    mig_profile: Field | None = None
    sharing: Field | None = None
    boards: Field | None = None
    amount: Amount | None = None
    basis: tuple[Origin, ...] = ()

    def has_card(self) -> bool:
        return self.accelerator.value is not None and (self.gpus is None or self.gpus.value != 0)

    def place(self) -> tuple[Origin, ...]:
        return (self.origin,) if self.origin else ()
