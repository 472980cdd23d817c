"""Training merits: compare shapes of a run by cost of the same work, time, and training result."""

from __future__ import annotations

from gpulint.catalog import hardware
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Suggestion
from gpulint.suggestions.serving.changes import find_count

LEARNT = frozenset({"lora_rank", "lora_targets", "optimizer", "sequence_length", "global_batch_size"})
"""Quantities that decide which weights a training run produces."""
WORTHWHILE = 0.8
"""Share of today's cost below which the same work is definitely cheaper; a step is estimated to
about a fifth.
"""
DEARER = 1.5
"""Cost factor above which the same work counts as more expensive; recomputation alone costs a
third.
"""
EMPTY = 0.7
"""Share of every GPU that a run leaves free in any case before its machine counts as too large."""
NO_DEARER = 1.05
"""Cost factor allowed on fewer GPUs if most of today's are empty: fewer ranks wait for each other.
"""
SLOWEST = 10.0
"""Maximum slowdown of a run: one GPU of a machine of eight, with a margin."""


LONGER = 1.1
"""Slowdown above which an option mentions it."""


def add_duration(suggestion: Suggestion, before: Facts, after: Facts) -> Suggestion:
    """Return an option with its duration relative to today's, and with that trade-off."""
    ratio = estimate_hours(before, after)
    lost = ""
    if ratio > LONGER:
        is_known = _find_tokens_per_s(before) and _find_tokens_per_s(after)
        lost = (
            f"a run {ratio:.1f} times as long"
            if is_known
            else f"lower speed: peak FLOP/s is {1 / ratio:.0%} of today's"
        )
    trade_off = "; ".join(filter(None, (suggestion.trade_off, lost)))
    return suggestion._replace(
        hours=ratio, trade_off=trade_off, learns_otherwise=_learns_otherwise(suggestion, before, after)
    )


def _learns_otherwise(suggestion: Suggestion, before: Facts, after: Facts) -> bool:
    batches = [find_count(known, "step_sequences") for known in (before, after)]
    if None not in batches and batches[0] != batches[1]:
        return True
    return not LEARNT.isdisjoint(suggestion.values) or suggestion.values.get("quantization") == "nf4"


def is_worthwhile(suggestion: Suggestion, empty: bool) -> bool:
    """Return whether an unrequested change saves money with the same training result.

    On mostly empty GPUs, the hourly cost counts too.
    """
    before, after = suggestion.cost_before_usd_per_hour, work_usd(suggestion)
    if before is None or after is None or suggestion.learns_otherwise:
        return False
    smaller = empty and (suggestion.cost_after_usd_per_hour or before) < WORTHWHILE * before
    return after < (NO_DEARER if smaller else WORTHWHILE) * before


def compare_hourly(suggestion: Suggestion, before: Facts) -> Suggestion:
    """Return an option for comparison by hourly cost if today's GPUs are mostly empty."""
    return suggestion._replace(hours=1.0) if is_empty(before) else suggestion


def is_empty(facts: Facts) -> bool:
    """Return whether most of every GPU stays empty and no end time is declared."""
    room = facts.scenarios("training_room")
    if isinstance(room, Missing) or isinstance(facts.expected("target_training_s"), int | float):
        return False
    return isinstance(room.worst, int | float) and room.worst > EMPTY


def costs_more(suggestion: Suggestion) -> bool:
    """Return whether the same work costs more, beyond the error of the estimate."""
    before, after = suggestion.cost_before_usd_per_hour, work_usd(suggestion)
    return before is not None and after is not None and after > DEARER * before


def work_usd(suggestion: Suggestion) -> float | None:
    """Return the cost of the work of one of today's hours."""
    cost = suggestion.cost_after_usd_per_hour
    return None if cost is None else cost * suggestion.hours


def estimate_hours(before: Facts, after: Facts) -> float:
    """Return how long a changed run takes for an hour of today's work: by tokens, else at least by
    the GPUs' peaks.
    """
    old, new = _find_tokens_per_s(before), _find_tokens_per_s(after)
    if old and new:
        return old / new
    old, new = _find_flop_per_s(before), _find_flop_per_s(after)
    return max(1.0, old / new) if old and new else 1.0


def _find_tokens_per_s(facts: Facts) -> float | None:
    tokens_per_s, world = facts.expected("training_tokens_per_s_per_gpu"), find_count(facts, "world_size")
    return tokens_per_s * world if isinstance(tokens_per_s, int | float) and world else None


def _find_flop_per_s(facts: Facts) -> float | None:
    card, gpus = hardware.accelerator(facts.role.text("accelerator")), find_count(facts, "world_size")
    return find_dense_peak(card) * gpus if card and gpus else None


def find_dense_peak(product: hardware.Accelerator) -> float:
    """Return the dense 16-bit peak of an accelerator [FLOP/s]; zero if unknown."""
    return product.dense_bf16_flop_per_s or product.dense_fp16_flop_per_s or 0.0
