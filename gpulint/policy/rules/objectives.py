"""Aims: each objective that a role states, beside what is likely and what is possible at best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import evaluate as check
from gpulint.report.model import Aim, Fact, Worlds
from gpulint.workload import Value


class Compared(NamedTuple):
    """An objective in words, the fact of what is likely, those of what is possible at best, and whether less is better."""

    words: str
    likely: str
    best: tuple[str, ...]
    less: bool

    def known_best(self, known: Facts) -> str:
        """The first of the facts that can be told, else the first."""
        return next((name for name in self.best if not isinstance(known.find(name), Missing)), self.best[0])


COMPARED: dict[str, Compared] = {
    "target_tpot_s": Compared("time per token", "tpot_s", ("tpot_floor_s", "weight_read_floor_s"), True),
    "target_ttft_s": Compared("time to the first token", "ttft_s", ("ttft_floor_s", "weight_read_floor_s"), True),
    "target_tokens_per_s": Compared("output tokens", "service_tokens_per_s", ("service_tokens_per_s_ceiling",), False),
    "target_requests_per_s": Compared("requests", "service_requests_per_s", ("service_requests_per_s_ceiling",), False),
    "target_concurrency": Compared("requests at once", "service_concurrency", ("service_batch",), False),
    "target_training_s": Compared("time to train", "training_run_s", ("training_floor_s",), True),
}
STATED = ("request_prompt_tokens", "request_output_tokens", "target_growth", "training_total_tokens")
MISSED = {"beyond physics": "undersized", "missed": "undersized", "likely missed": "likely undersized"}
"""What a spec that fits in memory is called when an objective turns out so."""


def of(known: Facts) -> tuple[Aim, ...]:
    """The objectives that are stated, each with its verdict; of a role without one, nothing is computed."""
    return tuple(_aim(known, name, one) for name, one in COMPARED.items() if _wanted(known, name) is not None)


def shown(known: Facts) -> Iterator[Fact]:
    """The facts behind them, for reports that machines read."""
    stated = [name for name in COMPARED if _wanted(known, name) is not None]
    if not stated:
        return
    behind = (fact for name in stated for fact in (name, COMPARED[name].likely, COMPARED[name].known_best(known)))
    for name in (*behind, *(name for name in STATED if name in known.role.fields)):
        if fact := known.shown(name):
            yield fact


def untold(known: Facts) -> str:
    """The first stated objective of which it cannot be told whether it is met; empty where there is none."""
    stated = (one for name, one in COMPARED.items() if _wanted(known, name) is not None)
    return next((one.words for one in stated if isinstance(known.worlds(one.likely), Missing)), "")


def undersized(aims: tuple[Aim, ...]) -> str:
    """What a role that fits is called for its objectives; empty where none of them is missed."""
    found = [MISSED[aim.verdict] for aim in aims if aim.verdict in MISSED]
    return min(found, key=len, default="")


def _wanted(known: Facts, name: str) -> float | None:
    """The stated objective as a number."""
    value = known.role.value(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _aim(known: Facts, name: str, one: Compared) -> Aim:
    likely, best = (
        None if known.ends(fact) is None else check.shown(fact, known) for fact in (one.likely, one.known_best(known))
    )
    needs = () if likely else tuple(sorted(known.missing((one.likely,))))
    return Aim(one.words, check.shown(name, known), likely or "", best or "", _verdict(known, name, one), needs)


def _verdict(known: Facts, name: str, one: Compared) -> str:
    """Whether physics forbids it, or in how many worlds it is met."""
    wanted = _wanted(known, name) or 0.0
    if (physics := _physics(known, name, one)) and _worse(known.worlds(physics), wanted, one.less) == 3:
        return "beyond physics"
    worlds = known.worlds(one.likely)
    if isinstance(worlds, Missing):
        return "cannot tell"
    return ("met", "likely met", "likely missed", "missed")[_worse(worlds, wanted, one.less)]


def _physics(known: Facts, name: str, one: Compared) -> str:
    """What nothing can beat: a prompt may be cached, but weights are read for any token."""
    if name == "target_concurrency" or (known.role.value("speculative") and not known.likely("draft_tokens")):
        return ""
    cached = name == "target_ttft_s" and known.likely("enable_prefix_caching") is not False
    return "weight_read_floor_s" if cached else one.known_best(known)


def _worse(worlds: Worlds[Value] | Missing, wanted: float, less: bool) -> int:
    """In how many worlds a quantity is worse than what is wanted."""
    found = () if isinstance(worlds, Missing) else worlds
    numbers = [value for value in found if isinstance(value, int | float)]
    return sum((number > wanted) if less else (number < wanted) for number in numbers)
