"""Training needs: what a rank keeps on its card, by cheap arithmetic, as layout, micro-batch and adapters change."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.facts import resolver as facts
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions import alternatives as suggest
from gpulint.suggestions.serving.changes import count_of
from gpulint.workload import Value

NF4_BYTES = 0.55
"""Of a base weight in 4 bits with its constants of quantisation: Dettmers et al., QLoRA, 2023, section 3, rounded up."""
HALF_BYTES = 2
EIGHT_BIT_MOMENTS = 2
"""Two moments in 8 bits: Dettmers et al., 8-bit Optimizers via Block-wise Quantization, 2022."""
HELD = 0.8
"""Share of a card that states may take where activations cannot be told."""


class States(NamedTuple):
    """Bytes of all weights, gradients and moments of one part of the network, before any sharing out."""

    weights: float
    gradients: float
    optimizer: float

    def on_rank(self, stage: int, ranks: int) -> float:
        """What stays on a card when so many ranks share out what a stage of ZeRO says."""
        shares = [1 / ranks if stage >= least else 1.0 for least in (3, 2, 1)]
        return sum(held * share for held, share in zip(self, shares, strict=True))


class Needs(NamedTuple):
    """A run's states, and in the adverse world what a card holds besides: always, for each sequence at work, and recomputed."""

    states: States
    parameters: float
    trains_all: bool
    fixed: float
    copied: float
    sequence: float | None
    recomputed: float | None

    def fits(self, memory: float, states: float, micro: int, recomputed: bool) -> bool:
        """Whether so many bytes of states and sequences fit; of states alone where activations cannot be told."""
        each = self.recomputed if recomputed else self.sequence
        if each is None:
            return states <= HELD * memory
        return states + self.fixed + micro * each <= memory

    def adapted(self, bytes_each: float) -> States:
        """States with adapters over a base of so many bytes a weight; what is trained is small beside it."""
        return States(self.parameters * bytes_each, 0.0, 0.0)

    def with_small_moments(self) -> States:
        return self.states._replace(optimizer=min(self.states.optimizer, self.parameters * EIGHT_BIT_MOMENTS))


def of(known: Facts) -> Needs | None:
    """The needs of a run; None where its states cannot be told."""
    parameters = _number(known, "stage_parameters")
    if parameters is None or (states := _states(known, parameters)) is None:
        return None
    micro = count_of(known, "micro_batch_size")
    sequence = _adverse(known, ("kept_activation_bytes", "layer_work_bytes", "loss_bytes"))
    needed = _adverse(known, ("training_needed_bytes",))
    held = _number(known, "state_bytes_per_gpu")
    copied = sum(_number(known, name) or 0.0 for name in ("bucket_bytes", "cast_bytes"))
    trains_all = known.likely("lora_rank") is None
    if not micro or sequence is None or needed is None or held is None:
        return Needs(states, parameters, trains_all, 0.0, copied, None, None)
    fixed = max(0.0, needed - held - sequence - copied)
    return Needs(states, parameters, trains_all, fixed, copied, sequence / micro, _recomputed(known, micro))


def _states(known: Facts, parameters: float) -> States | None:
    trained = _number(known, "trained_share")
    kept = _number(known, "parameter_bytes" if known.likely("lora_rank") is None else "adapter_bytes")
    frozen, gradient, moments = (
        _number(known, f"{name}_bytes_per_parameter") for name in ("frozen", "gradient", "optimizer")
    )
    if trained is None or kept is None or frozen is None or gradient is None or moments is None:
        return None
    learnt = parameters * trained
    return States(parameters * frozen + learnt * kept, learnt * gradient, learnt * moments)


def _recomputed(known: Facts, micro: int) -> float | None:
    """Activations of a sequence when layers are recomputed whole."""
    values: dict[str, Value] = {"activation_checkpointing": "full"}
    changed = facts.of(suggest.applied(known.role, values), known.resolved)
    needed = _adverse(changed, ("kept_activation_bytes", "layer_work_bytes", "loss_bytes"))
    return None if needed is None else needed / micro


def _adverse(known: Facts, names: tuple[str, ...]) -> float | None:
    """The sum of some quantities in the adverse world."""
    found = [known.worlds(name) for name in names]
    values = [one.adverse for one in found if not isinstance(one, Missing) and isinstance(one.adverse, int | float)]
    return sum(values) if len(values) == len(names) else None


def _number(known: Facts, name: str) -> float | None:
    value = known.likely(name)
    return float(value) if isinstance(value, int | float) else None
