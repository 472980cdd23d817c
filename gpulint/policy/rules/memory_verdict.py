"""Whether a role fits in memory, from the headroom that its scenarios leave."""

from __future__ import annotations

from gpulint import engines
from gpulint.catalog import capabilities
from gpulint.facts.model import Facts, Missing
from gpulint.report.verdicts import NOT_EVALUATED

WEIGHTS_ALONE = "spread_headroom_bytes"
"""The memory that the weights alone leave if all GPUs of a replica share them: what decides if no engine is known."""
STATES_ALONE = "training_state_room_bytes"
"""The memory that weights, gradients and optimizer states leave: what decides if the activations are not known."""
PARTS = {WEIGHTS_ALONE: "weights", STATES_ALONE: "states"}
"""What is measured if not all that a role holds is known, by the fact that tells what memory is left."""


def find_verdict(facts: Facts) -> str:
    """Return whether a role fits in memory, from the scenarios in which headroom is left.

    A server is measured against its memory budget, a training run against the GPU. If the whole is
    unknown, a role still does not fit if a part of it does not: the model states or weights, or a
    server's weights and reserve.
    """
    if facts.role.text("device") not in ("", "gpu"):
        return "no GPU"
    whole, *parts = list_headroom_facts(facts)
    found = compare_headroom(facts, whole)
    if found != NOT_EVALUATED:
        return found
    return next((part for name in parts if "not fit" in (part := compare_headroom(facts, name))), found)


def is_generation(facts: Facts) -> bool:
    """Whether a role generates static batches in a program that is not a server."""
    return not engines.is_training(facts.role) and isinstance(facts.expected("generation_cache"), str)


def list_measures(facts: Facts) -> tuple[str, ...]:
    """Return the headroom that decides whether a role fits, then that of the part which decides where nothing else is known.

    GPUs must hold all weights of a server, unless its engine keeps some elsewhere, and all states of a training run.
    """
    whole, engine = list_headroom_facts(facts)[0], facts.role.text("engine")
    if engines.is_training(facts.role):
        return whole, STATES_ALONE
    moves = engine and (
        capabilities.lacks(engine, "loads_weights_on_gpu") or capabilities.does(engine, "moves_layers_to_cpu")
    )
    return (whole,) if moves else (whole, WEIGHTS_ALONE)


def list_headroom_facts(facts: Facts) -> tuple[str, ...]:
    """Return the headroom that decides whether a role fits, then those of its parts."""
    if engines.is_training(facts.role):
        return "training_room_bytes", STATES_ALONE, "training_weight_room_bytes"
    if is_generation(facts):
        return "generation_headroom_bytes", "generation_weight_headroom_bytes"
    return "headroom_bytes", "kv_cache_bytes", "weight_headroom_bytes"


def compare_headroom(facts: Facts, name: str) -> str:
    """Return the verdict that the scenarios of one headroom give."""
    left = facts.scenarios(name)
    if isinstance(left, Missing):
        return NOT_EVALUATED
    if to_number(left.worst) >= 0:
        return "fits"
    if to_number(left.best) < 0:
        return "does not fit"
    return "likely fits" if to_number(left.expected) >= 0 else "likely does not fit"


def to_number(value: object) -> float:
    """Return a fact as a number, 0 for anything else."""
    return float(value) if isinstance(value, int | float) else 0.0
