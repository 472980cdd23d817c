"""Training needs: estimate what a rank keeps on its GPU as layout, micro-batch and adapters
change.
"""

from __future__ import annotations

from typing import NamedTuple

from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions import changed_role
from gpulint.suggestions.serving.changes import find_count
from gpulint.workload import Value

NF4_BYTES = 0.55
"""Bytes of a 4-bit base weight with its quantisation constants: Dettmers et al., QLoRA, 2023,
section 3, rounded up.
"""
HALF_BYTES = 2
EIGHT_BIT_MOMENTS = 2
"""Two moments in 8 bits: Dettmers et al., 8-bit Optimizers via Block-wise Quantization, 2022."""
HELD = 0.8
"""Share of GPU memory that states may take if activations are unknown."""


class States(NamedTuple):
    """Bytes of all weights, gradients and moments of one part of the model before sharding."""

    weights: float
    gradients: float
    optimizer: float

    def count_bytes_on_rank(self, stage: int, ranks: int) -> float:
        """Return the bytes on a GPU if so many ranks shard what a ZeRO stage says."""
        shares = [1 / ranks if stage >= least else 1.0 for least in (3, 2, 1)]
        return sum(size * share for size, share in zip(self, shares, strict=True))


class Needs(NamedTuple):
    """A run's states, and in the worst scenario the other bytes: fixed, per sequence, and per
    sequence with recomputation.
    """

    states: States
    parameters: float
    trains_all: bool
    fixed: float
    copied: float
    sequence: float | None
    recomputed: float | None

    def fits(self, memory: float, states: float, micro: int, recomputed: bool) -> bool:
        """Return whether the states and sequences fit; states alone if activations are unknown."""
        sequence_bytes = self.recomputed if recomputed else self.sequence
        if sequence_bytes is None:
            return states <= HELD * memory
        return states + self.fixed + micro * sequence_bytes <= memory

    def add_adapters(self, bytes_each: float) -> States:
        """Return the states with adapters on a base of so many bytes per weight.

        The trained part is negligible.
        """
        return States(self.parameters * bytes_each, 0.0, 0.0)

    def shrink_moments(self) -> States:
        return self.states._replace(optimizer=min(self.states.optimizer, self.parameters * EIGHT_BIT_MOMENTS))


def estimate(known: Facts) -> Needs | None:
    """Return the needs of a run; None if its states are unknown."""
    parameters = _find_number(known, "stage_parameters")
    if parameters is None or (states := _estimate_states(known, parameters)) is None:
        return None
    micro = find_count(known, "micro_batch_size")
    sequence = _sum_worst(known, ("kept_activation_bytes", "layer_work_bytes", "loss_bytes"))
    needed = _sum_worst(known, ("training_needed_bytes",))
    state_bytes = _find_number(known, "state_bytes_per_gpu")
    copied = sum(_find_number(known, name) or 0.0 for name in ("bucket_bytes", "cast_bytes"))
    trains_all = known.expected("lora_rank") is None
    if not micro or sequence is None or needed is None or state_bytes is None:
        return Needs(states, parameters, trains_all, 0.0, copied, None, None)
    fixed = max(0.0, needed - state_bytes - sequence - copied)
    return Needs(states, parameters, trains_all, fixed, copied, sequence / micro, _estimate_recomputed(known, micro))


def _estimate_states(known: Facts, parameters: float) -> States | None:
    trained = _find_number(known, "trained_share")
    kept = _find_number(known, "parameter_bytes" if known.expected("lora_rank") is None else "adapter_bytes")
    frozen, gradient, moments = (
        _find_number(known, f"{name}_bytes_per_parameter") for name in ("frozen", "gradient", "optimizer")
    )
    if trained is None or kept is None or frozen is None or gradient is None or moments is None:
        return None
    learnt = parameters * trained
    return States(parameters * frozen + learnt * kept, learnt * gradient, learnt * moments)


def _estimate_recomputed(known: Facts, micro: int) -> float | None:
    """Return the activations of a sequence with full recomputation."""
    values: dict[str, Value] = {"activation_checkpointing": "full"}
    changed = resolver.resolve(changed_role.apply(known.role, values), known.resolved)
    needed = _sum_worst(changed, ("kept_activation_bytes", "layer_work_bytes", "loss_bytes"))
    return None if needed is None else needed / micro


def _sum_worst(known: Facts, names: tuple[str, ...]) -> float | None:
    """Return the sum of some quantities in the worst scenario."""
    found = [known.scenarios(name) for name in names]
    values = [
        scenarios.worst
        for scenarios in found
        if not isinstance(scenarios, Missing) and isinstance(scenarios.worst, int | float)
    ]
    return sum(values) if len(values) == len(names) else None


def _find_number(known: Facts, name: str) -> float | None:
    value = known.expected(name)
    return float(value) if isinstance(value, int | float) else None
