"""The memory that a role takes of each GPU, or the part of it that is known, as the interval that reports print."""

from __future__ import annotations

from gpulint.facts.model import Facts
from gpulint.policy.rules import memory_verdict
from gpulint.report.model import GpuMemory

PARTS = {"weights": "spread_weight_bytes", "states": "state_bytes_per_gpu"}
"""What each part takes of one GPU."""
LEFT = {"weights": "spread_headroom", "states": "training_state_room"}
"""The share of a GPU that each part leaves."""
SERVING = "required_bytes_per_gpu"
"""What a server takes; its budget is only a share of the GPU."""


def measure(facts: Facts, part: str = "") -> GpuMemory | None:
    """Return the memory that a role, or a part of it, takes of one GPU; None if it is not known.

    Optimizer states that the driver may move to host memory do not count.
    """
    if part:
        return _measure_fact(facts, PARTS[part], part)
    name = memory_verdict.list_headroom_facts(facts)[0]
    if name == "headroom_bytes":
        return _measure_fact(facts, SERVING, part)
    memory, left, ends = facts.number("device_memory_bytes"), facts.number(name), facts.ends(name)
    if memory is None or left is None or ends is None:
        return None
    low, high = (memory - memory_verdict.to_number(end) for end in reversed(ends))
    return GpuMemory(low, memory - left, high)


def _measure_fact(facts: Facts, name: str, part: str) -> GpuMemory | None:
    expected, ends = facts.number(name), facts.ends(name)
    if expected is None or ends is None:
        return None
    low, high = map(memory_verdict.to_number, ends)
    return GpuMemory(low, expected, high, part)
