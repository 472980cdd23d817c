"""Service-level objectives: each declared target against the expected and the best possible
value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import evaluate
from gpulint.report.model import Aim, Fact, Scenarios
from gpulint.report.verdicts import NOT_EVALUATED
from gpulint.workload import Value


class Objective(NamedTuple):
    """An objective in words, the fact of its expected value, the facts of its best value, and
    whether less is better.
    """

    words: str
    expected: str
    best: tuple[str, ...]
    less: bool

    def find_best(self, facts: Facts) -> str:
        """Return the first known fact for the best value, else the first."""
        return next((name for name in self.best if not isinstance(facts.find(name), Missing)), self.best[0])


OBJECTIVES: dict[str, Objective] = {
    "target_tpot_s": Objective("time per token", "tpot_s", ("tpot_floor_s", "weight_read_floor_s"), True),
    "target_ttft_s": Objective("time to the first token", "ttft_s", ("ttft_floor_s", "weight_read_floor_s"), True),
    "target_tokens_per_s": Objective("output tokens", "service_tokens_per_s", ("service_tokens_per_s_ceiling",), False),
    "target_requests_per_s": Objective(
        "requests", "service_requests_per_s", ("service_requests_per_s_ceiling",), False
    ),
    "target_concurrency": Objective("concurrent requests", "service_concurrency", ("service_batch",), False),
    "target_training_s": Objective("time to train", "training_run_s", ("training_floor_s",), True),
}
STATED = ("request_prompt_tokens", "request_output_tokens", "target_growth", "training_total_tokens")
MISSED = {"beyond physics": "undersized", "missed": "undersized", "likely missed": "likely undersized"}
"""What a spec that fits in memory is called if an objective has this verdict."""


def evaluate_objectives(facts: Facts) -> tuple[Aim, ...]:
    """Return the declared objectives with their verdicts.

    Nothing is computed for a role without any.
    """
    return tuple(
        _evaluate_objective(facts, name, objective)
        for name, objective in OBJECTIVES.items()
        if _find_target(facts, name) is not None
    )


def list_facts(facts: Facts) -> Iterator[Fact]:
    """Yield the facts behind the objectives, for machine-readable reports."""
    stated = [name for name in OBJECTIVES if _find_target(facts, name) is not None]
    if not stated:
        return
    behind = (fact for name in stated for fact in (name, OBJECTIVES[name].expected, OBJECTIVES[name].find_best(facts)))
    for name in (*behind, *(name for name in STATED if name in facts.role.fields)):
        if fact := facts.report(name):
            yield fact


def find_unknown(facts: Facts) -> str:
    """Return the first declared objective whose verdict is unknown; empty if there is none."""
    stated = (objective for name, objective in OBJECTIVES.items() if _find_target(facts, name) is not None)
    return next(
        (objective.words for objective in stated if isinstance(facts.scenarios(objective.expected), Missing)), ""
    )


def describe_misses(aims: tuple[Aim, ...]) -> str:
    """Return what to call a role that fits but misses an objective; empty if none is missed."""
    found = [MISSED[aim.verdict] for aim in aims if aim.verdict in MISSED]
    return min(found, key=len, default="")


def _find_target(facts: Facts, name: str) -> float | None:
    """Return the declared objective as a number."""
    value = facts.role.value(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _evaluate_objective(facts: Facts, name: str, objective: Objective) -> Aim:
    expected, best = (
        None if facts.ends(fact) is None else evaluate.render_fact(fact, facts)
        for fact in (objective.expected, objective.find_best(facts))
    )
    needs = () if expected else tuple(sorted(facts.missing((objective.expected,))))
    return Aim(
        objective.words,
        evaluate.render_fact(name, facts),
        expected or "",
        best or "",
        _find_verdict(facts, name, objective),
        needs,
    )


def _find_verdict(facts: Facts, name: str, objective: Objective) -> str:
    """Return whether physics rules the objective out, or in how many scenarios it is met."""
    wanted = _find_target(facts, name) or 0.0
    if (physics := _find_bound_fact(facts, name, objective)) and _count_misses(
        facts.scenarios(physics), wanted, objective.less
    ) == 3:
        return "beyond physics"
    scenarios = facts.scenarios(objective.expected)
    if isinstance(scenarios, Missing):
        return NOT_EVALUATED
    return ("met", "likely met", "likely missed", "missed")[_count_misses(scenarios, wanted, objective.less)]


def _find_bound_fact(facts: Facts, name: str, objective: Objective) -> str:
    """Return the fact of the hard bound.

    A prompt may be cached, but weights are read for every token.
    """
    if name == "target_concurrency" or (facts.role.value("speculative") and not facts.expected("draft_tokens")):
        return ""
    cached = name == "target_ttft_s" and facts.expected("enable_prefix_caching") is not False
    return "weight_read_floor_s" if cached else objective.find_best(facts)


def _count_misses(scenarios: Scenarios[Value] | Missing, wanted: float, less: bool) -> int:
    """Return the number of scenarios in which a quantity is worse than its target."""
    found = () if isinstance(scenarios, Missing) else scenarios
    numbers = [value for value in found if isinstance(value, int | float)]
    return sum((number > wanted) if less else (number < wanted) for number in numbers)
