"""Summary of a workload: what was understood of each of its roles."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, NamedTuple

from gpulint.report.fact import Facts, Scenarios
from gpulint.report.json_keys import HIDDEN, Between, Inlined, Items
from gpulint.report.location import Location


class NotEvaluated(NamedTuple):
    """A rule that matched a role but lacked facts."""

    rule: str
    needs: Annotated[tuple[str, ...], Items(1)]
    """The quantities that somebody would have to state."""


class Explanation(NamedTuple):
    """Why a quantity is not known, at the location that says so."""

    quantity: str
    category: str
    """Who decides it instead: platform variable, local path, image default …"""
    reason: str
    location: Annotated[Location, Inlined()]


class Aim(NamedTuple):
    """An objective that is stated, in words; the numbers are among the facts."""

    objective: str
    wanted: str
    expected: str = ""
    at_best: str = ""
    verdict: str = ""
    """met, likely met, likely missed, missed, beyond physics or not evaluated"""
    needs: tuple[str, ...] = ()
    """The quantities that would have to be stated."""


class GpuMemory(NamedTuple):
    """The memory that a role takes of each GPU: the likely range."""

    low_bytes: float
    expected_bytes: float
    high_bytes: float
    part: str = ""
    """weights or states if nothing tells what else the program holds; empty: all of it"""


class Fit(NamedTuple):
    """Hardware on which a role fits in every scenario; count and cost are of one instance."""

    accelerator: str
    name: str
    gpus: Annotated[int, Between(1)]
    tensor_parallel: Annotated[int, Between(1)]
    headroom: Scenarios[float]
    """The share of the memory budget that is left."""
    cost_usd_per_hour: float | None = None
    """The share of the machines that its GPUs take; null: not known."""
    prices: str = ""
    """Where and when the cost was listed."""
    pool: str = ""
    """The team's own nodes, if they have a name."""
    memory: GpuMemory | None = None
    """What the role takes of each of these GPUs; null: not known."""
    given_gpus: int | None = None
    """The GPUs that the file gives it, if those are fewer; null: they are enough, or not stated."""

    @property
    def hardware(self) -> str:
        """Return the count and the accelerator, and the count that the file states instead."""
        given = self.given_gpus
        instead = "" if given is None else f" instead of {given} GPU{'' if given == 1 else 's'}"
        return f"{self.gpus} × {self.name}{instead}"


class HintUse(NamedTuple):
    """A hint: a value that is declared for gpulint only."""

    text: str
    """The hint as a comment declares it, such as accelerator=l4."""
    kind: str
    """comment, annotation, settings, or name (of a partition, a file or a folder)"""
    path: str
    line: int
    workload: str = ""
    """Empty for settings, which may apply to several workloads."""
    stated: str = ""
    """What the file states or suggests instead; empty: it states nothing."""


class OpenDecision(NamedTuple):
    """Values that the file leaves open and that somebody settles together."""

    name: str
    decider: str
    """Who settles them."""
    source: str
    """Why these are the possible values."""
    quantities: tuple[str, ...]
    members: tuple[str, ...]
    """What they can be, in words."""
    expected: str = ""
    """The likely one; empty: no source names one."""
    fits_with: tuple[str, ...] = ()
    """The members with which the role fits, if the verdict depends on the decision."""


class Figures(NamedTuple):
    """What a workload or a role takes; null: it is not known."""

    gpus: float | None = None
    cost_usd_per_hour: float | None = None
    power_w: float | None = None
    headroom: float | None = None
    """The expected share of the memory budget that is left."""


class RoleSummary(NamedTuple):
    """What was understood of one role of a workload."""

    name: str
    engine: str = ""
    part_of: str = ""
    architecture: str = ""
    accelerator: str = ""
    parallelism: str = ""
    verdict: str = ""
    headroom: str = ""
    memory: GpuMemory | None = None
    """What the role takes of each GPU with the likely values; null: not known."""
    objectives: tuple[Aim, ...] = ()
    fits_on: tuple[str, ...] = ()
    borderline: tuple[str, ...] = ()
    too_small: tuple[str, ...] = ()
    smallest: tuple[Fit, ...] = ()
    """What fits if no file names the accelerator; the cheapest available one first."""
    facts: Facts = ()
    assumptions: tuple[str, ...] = ()
    unknown: Mapping[str, str] = MappingProxyType({})
    """quantity → why it is not known"""
    explained: tuple[Explanation, ...] = ()
    not_evaluated: tuple[NotEvaluated, ...] = ()
    cost: str = ""
    """The cost of an hour; empty: not known."""
    cost_of_work: str = ""
    """The cost of a million output tokens or of the run; empty: not known."""
    prices: str = ""
    """Whose prices the costs are based on, where they apply, of which day and how old."""
    open: tuple[OpenDecision, ...] = ()
    """What the file leaves to somebody else; the verdict holds for all of it or names what it depends on."""
    hints: tuple[HintUse, ...] = ()
    """The hints in comments and annotations that the checks use."""
    figures: Annotated[Figures | None, HIDDEN] = None
    """None if another role counts its hardware."""


class WorkloadSummary(NamedTuple):
    """What was understood of one workload."""

    name: str
    kind: str
    adapter: str
    location: Annotated[Location, Inlined(("path", "line"))]
    roles: tuple[RoleSummary, ...]
