"""Node pools of a comparison: the hardware that files provision before and after a change, apart from workloads.

The same machines run the workloads, so no sum adds the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpulint.report.workload_summary import Figures


class PoolFigures(NamedTuple):
    """The hardware of a node pool or of machines outside of pools."""

    accelerator: str | None = None
    """Empty: no accelerator. Null: not known."""
    instance_type: str = ""
    most: Figures = Figures()
    """The maximum of the pool; the size of a fixed pool."""
    least: Figures = Figures()
    """The minimum of the pool."""
    start: Figures | None = None
    """The size at creation; null: not stated."""

    def is_fixed(self) -> bool:
        """True if the pool cannot grow."""
        return self.most == self.least

    def select(self, level: str) -> Figures:
        """Return the figures at a level. A pool that does not state its start begins with the least."""
        if level == "most":
            return self.most
        return self.start if level == "start" and self.start is not None else self.least


class PoolChange(NamedTuple):
    """A node pool before and after a change; null: it does not exist."""

    pool: str
    path: str
    before: PoolFigures | None
    after: PoolFigures | None

    def sides(self) -> Iterator[PoolFigures]:
        """Yield the figures of the sides on which the pool exists."""
        yield from (side for side in (self.before, self.after) if side is not None)
