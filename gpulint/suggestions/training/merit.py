"""Training merits: what makes one shape of a run better than another: the cost of the same work, its time, and what it learns."""

from __future__ import annotations

from gpulint.catalog import hardware
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Suggestion
from gpulint.suggestions.serving.changes import count_of

LEARNT = frozenset({"lora_rank", "lora_targets", "optimizer", "sequence_length", "global_batch_size"})
"""What decides which weights a training run ends with."""
WORTHWHILE = 0.8
"""Share of today's cost below which the same work costs less for sure: a step is estimated to about a fifth."""
DEARER = 1.5
"""How much more the same work costs before it counts: recomputation alone costs a third."""
EMPTY = 0.7
"""Share of every card that a run leaves free in any case before its machine counts as too large for it."""
NO_DEARER = 1.05
"""How much more the same work may cost on fewer cards where most of today's are empty: less is waited for each other there."""
SLOWEST = 10.0
"""How much longer a run may take: one card of a machine of eight, and what it loses beside."""


LONGER = 1.1
"""How much longer a run takes before an option says so."""


def timed(one: Suggestion, before: Facts, after: Facts) -> Suggestion:
    """An option with how long it takes for what today's shape does in an hour, and with what that gives up."""
    ratio = hours(before, after)
    lost = ""
    if ratio > LONGER:
        told = _tokens_per_s(before) and _tokens_per_s(after)
        lost = f"time: {ratio:.1f} times as long" if told else f"speed: the cards' peaks are {1 / ratio:.0%} of today's"
    gives_up = "; ".join(filter(None, (one.gives_up, lost)))
    return one._replace(hours=ratio, gives_up=gives_up, learns_otherwise=_learns_otherwise(one, before, after))


def _learns_otherwise(one: Suggestion, before: Facts, after: Facts) -> bool:
    batches = [count_of(known, "step_sequences") for known in (before, after)]
    if None not in batches and batches[0] != batches[1]:
        return True
    return not LEARNT.isdisjoint(one.values) or one.values.get("quantization") == "nf4"


def is_worthwhile(one: Suggestion, empty: bool) -> bool:
    """Whether a change that no rule asks for saves money and learns the same; on cards that are mostly empty, by the hour too."""
    before, after = one.cost_before_usd_per_hour, work_usd(one)
    if before is None or after is None or one.learns_otherwise:
        return False
    smaller = empty and (one.cost_after_usd_per_hour or before) < WORTHWHILE * before
    return after < (NO_DEARER if smaller else WORTHWHILE) * before


def by_the_hour(one: Suggestion, before: Facts) -> Suggestion:
    """An option as it compares where today's cards stay empty: what an hour costs counts, since nothing is wanted by a time."""
    return one._replace(hours=1.0) if is_empty(before) else one


def is_empty(known: Facts) -> bool:
    """Whether most of every card stays empty, and nothing states when the run has to end."""
    room = known.worlds("training_room")
    if isinstance(room, Missing) or isinstance(known.likely("target_training_s"), int | float):
        return False
    return isinstance(room.adverse, int | float) and room.adverse > EMPTY


def costs_more(one: Suggestion) -> bool:
    """Whether the same work costs more than estimates of a step err."""
    before, after = one.cost_before_usd_per_hour, work_usd(one)
    return before is not None and after is not None and after > DEARER * before


def work_usd(one: Suggestion) -> float | None:
    """What the work of one of today's hours costs."""
    cost = one.cost_after_usd_per_hour
    return None if cost is None else cost * one.hours


def hours(before: Facts, after: Facts) -> float:
    """How long a changed run takes for what today's does in an hour: by its tokens, else no less than by its cards' peaks."""
    old, new = _tokens_per_s(before), _tokens_per_s(after)
    if old and new:
        return old / new
    old, new = _flop_per_s(before), _flop_per_s(after)
    return max(1.0, old / new) if old and new else 1.0


def _tokens_per_s(known: Facts) -> float | None:
    each, world = known.likely("training_tokens_per_s_per_gpu"), count_of(known, "world_size")
    return each * world if isinstance(each, int | float) and world else None


def _flop_per_s(known: Facts) -> float | None:
    card, gpus = hardware.accelerator(known.role.text("accelerator")), count_of(known, "world_size")
    return dense_peak(card) * gpus if card and gpus else None


def dense_peak(product: hardware.Accelerator) -> float:
    """Dense peak of a card in 16 bits [FLOP/s]; zero where none is established."""
    return product.dense_bf16_flop_per_s or product.dense_fp16_flop_per_s or 0.0
