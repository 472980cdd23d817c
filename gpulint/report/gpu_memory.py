"""The memory that a role takes of each GPU, in words."""

from __future__ import annotations

from gpulint.report.workload_summary import GpuMemory
from gpulint.units import GIB

WHOLE_FROM = 10
"""From so many GiB on, decimals are left out."""


def render(memory: GpuMemory) -> str:
    """Return the likely range, with a decimal only where it is small.

    >>> render(GpuMemory(6.1 * GIB, 7 * GIB, 8.44 * GIB)), render(GpuMemory(9.6 * GIB, 13 * GIB, 18.7 * GIB))
    ('likely 6.1 to 8.4 GiB per GPU', 'likely 10 to 19 GiB per GPU')
    >>> render(GpuMemory(14.96 * GIB, 14.96 * GIB, 14.96 * GIB)), render(GpuMemory(0.02 * GIB, 0.02 * GIB, 0.02 * GIB))
    ('15 GiB per GPU', '0.02 GiB per GPU')
    """
    has_decimals = memory.high_bytes < WHOLE_FROM * GIB
    low, high = (_write(value / GIB, has_decimals) for value in (memory.low_bytes, memory.high_bytes))
    return f"{low} GiB per GPU" if low == high else f"likely {low} to {high} GiB per GPU"


def _write(gib: float, has_decimals: bool) -> str:
    """Return a number of GiB with two significant digits below 1, else with a decimal or none."""
    return f"{gib:.2g}" if has_decimals and 0 < gib < 1 else f"{gib:.1f}" if has_decimals else f"{gib:.0f}"
