"""The answer on a training run whose network another program names: what states of a given size take, or which size fits."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint import units
from gpulint.catalog.architecture import Architecture, Resolution
from gpulint.facts.model import Facts
from gpulint.pipeline.summary import open_values
from gpulint.policy.rules.bounds import FITTING, Bounds, find_bounds
from gpulint.policy.rules.evaluate import Outcome
from gpulint.policy.rules.rule import Rule
from gpulint.workload import Field

SIZES = (1.0, 3.0, 7.0, 13.0, 34.0, 70.0, 180.0, 405.0, 1000.0)
"""Billions of parameters: common sizes of open models."""
EXAMPLE = 7.0
TRAINER = "transformers"
"""The trainer whose layout is assumed if no file names one: data parallelism only."""


def describe(facts: Facts, outcome: Outcome, rules: Sequence[Rule]) -> str:
    """Return on what size of network a run depends whose file says only how it is sharded; empty if it does not say that.

    If no file names the hardware, the answer is what a network of `EXAMPLE` billion parameters takes.
    """
    if "sharding" not in facts.role.fields:
        return ""
    example = _bound_size(facts, EXAMPLE)
    if example is None:
        return ""
    if example.reference:
        need = open_values.describe(example, outcome, rules).verdict
        return f"depends on the network: {EXAMPLE:g} billion parameters {_join(need)}"
    fitting = [size for size in SIZES if (found := _bound_size(facts, size)) and found.expected.rank >= FITTING]
    gpus = example.expected.facts.expected("gpus_per_replica")
    count = f"{units.human(gpus, '')} GPU" + ("" if gpus == 1 else "s")
    if not fitting:
        return f"depends on the network: states of {SIZES[0]:g} billion parameters do not fit on {count}"
    return f"depends on the network: states fit up to {max(fitting):g} billion parameters on {count}"


def _join(need: str) -> str:
    """Return a need as the end of a sentence about parameters."""
    return f"need {need.removeprefix('needs ')}" if need.startswith("needs ") else need


def _bound_size(facts: Facts, billions: float) -> Bounds | None:
    """Return the bounds of a role that trains a dense network of so many parameters."""
    name = f"a network of {billions:g} billion parameters"
    shape = Architecture(id=name, family="", named_parameters=billions * units.BILLION, checkpoint_dtype="bfloat16")
    role = facts.role.having(checkpoint=Field(name), engine=Field(TRAINER))
    return find_bounds(facts.fresh(role, Resolution(shape, "name")), assumes_shape=False)
