"""The suggestions of a finding: candidates that the same rules, evaluated again on the changed
facts, accept.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpulint.facts.model import Facts
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity, Suggestion
from gpulint.suggestions import changed_role, companions, generators, pricing
from gpulint.suggestions.allowance import Allowance
from gpulint.suggestions.generators import Candidate
from gpulint.suggestions.verification import clears
from gpulint.workload import Value

PRINTED = 3
TRIED = 24
CHANGES_ANSWERS = frozenset({"quantization", "weight_dtype", "kv_cache_dtype", "max_model_len"})
"""Quantities that change the answers of a service, or the requests that it accepts."""
ROOM = ("memory", "parallelism")
"""Families of rules whose notes say what happens in one of three scenarios, or what would be a little better."""
DEAR = 2.0
"""Times today's price that other hardware may cost at most if the same hardware can do."""


class Accepted(NamedTuple):
    """A suggestion that the rules accept, the number of errors of other rules after it, how far it is from today's
    hardware, and what it was made of.
    """

    errors: int
    suggestion: Suggestion
    steps_away: int
    candidate: Candidate
    facts: Facts


@dataclass
class Search:
    """The search for suggestions of one verdict: the role, and the sets of values that were tried.

    A rule that fires only with a suggestion is new after a candidate only if it would have a
    suggestion of its own. With `is_nested` this is assumed, because the search for it would repeat
    itself without end.
    """

    verdict: Verdict
    role: EvaluatedRole
    allowance: Allowance
    is_nested: bool = False
    tried: set[frozenset[tuple[str, Value]]] = field(default_factory=set)

    def accept(self, candidates: Iterator[Candidate]) -> Iterator[Accepted]:
        """Yield the candidates that the rules accept."""
        for candidate in candidates:
            values = frozenset(candidate.values.items())
            if values in self.tried or not self._is_possible(candidate) or len(self.tried) >= TRIED:
                continue
            if not self.allowance.candidates.spend():
                return
            self.tried.add(values)
            accepted = self._evaluate(candidate)
            if accepted is not None:
                yield accepted

    def _is_possible(self, candidate: Candidate) -> bool:
        role = self.role.facts.role
        return changed_role.is_expressible(role, candidate) and changed_role.is_available(role, candidate)

    def _evaluate(self, candidate: Candidate) -> Accepted | None:
        """Return a candidate as a suggestion if the changed role clears the rule and fires nothing
        new.
        """
        before, rule = self.role.outcome, self.verdict.rule
        changed = _trace(self.role.facts).variant(changed_role.apply(self.role.facts.role, candidate.values))
        rules = tuple(evaluate.select(self.role.rules, self.role.workload, changed.role))
        after = evaluate.evaluate(rules, changed)
        if self.role.bounds:
            from gpulint.policy.rules import bounded_rules

            after = bounded_rules.judge_outcome(after, rules, changed)[1]
        unsure = [verdict for verdict in after.verdicts if verdict.rule.only_with and _is_new(verdict, before)]
        sure = after._replace(verdicts=tuple(verdict for verdict in after.verdicts if verdict not in unsure))
        if not clears([rule.name], before, sure):
            new = [verdict for verdict in after.verdicts if _is_new(verdict, before)]
            alone = all(companions.is_companion(verdict) for verdict in new)
            both = companions.add(candidate, new, self.role.facts.role, changed) if alone else None
            return self._evaluate(both) if both else None
        if any(self._has_suggestion(verdict, after, changed) for verdict in unsure):
            return None
        suggestion = pricing.build_suggestion(candidate, self.role.facts, changed)
        saves = after.holding <= before.holding and _saves(suggestion, self.role.facts, rule)
        if rule.only_with and not saves:
            return None
        steps_away = changed_role.count_steps_away(self.role.facts.role, candidate.values)
        is_slight = self.verdict.severity == Severity.NOTE and rule.family in ROOM
        if is_slight and (steps_away or _cuts_most(candidate, self.role.facts)):
            return None  # what may not fit in one case is no reason for other GPUs, or for less than half the length
        return Accepted(
            sum(verdict.severity == Severity.ERROR for verdict in after.verdicts),
            suggestion,
            steps_away,
            candidate,
            changed,
        )

    def _has_suggestion(self, verdict: Verdict, outcome: Outcome, changed: Facts) -> bool:
        if self.is_nested:
            return True
        role = self.role._replace(facts=changed, outcome=outcome)
        inner = Search(verdict, role, self.allowance, is_nested=True)
        found = (next(inner.accept(generators.propose(name, changed)), None) for name in verdict.rule.change)
        return any(found)


def generate(verdict: Verdict, role: EvaluatedRole, allowance: Allowance) -> tuple[Suggestion, ...]:
    """Return up to three suggestions after which the rule is evaluated, fires in no scenario, and
    nothing else is new.

    Those that leave the fewest errors of other rules come first, then those that do not cost more,
    then the smallest. A rule that fires only with a suggestion takes only those that do the same
    for less and make no other rule hold.
    """
    search = Search(verdict, role, allowance)
    by_quantity = {name: search.accept(generators.propose(name, role.facts)) for name in verdict.rule.change}
    accepted = [entry for found in by_quantity.values() for entry in itertools.islice(found, 1)]
    if "accelerator" in by_quantity:  # a second accelerator differs more than a second length or count
        accepted += itertools.islice(by_quantity["accelerator"], max(0, PRINTED - len(accepted)))
    return _price_alike(_drop_dear(sorted(accepted, key=_rank))[:PRINTED], role.facts)


def _drop_dear(entries: Sequence[Accepted]) -> list[Accepted]:
    """Leave out what costs far more than today, if the same hardware can do."""
    if not entries or entries[0].steps_away:
        return list(entries)
    return [entry for entry in entries if not entry.steps_away or _count_times(entry.suggestion) <= DEAR]


def _count_times(suggestion: Suggestion) -> float:
    """Return how many times today's price a suggestion costs; 1 if a price is unknown."""
    before, after = suggestion.cost_before_usd_per_hour, suggestion.cost_after_usd_per_hour
    return after / before if before and after else 1.0


def _rank(entry: Accepted) -> tuple[int, int, bool, int]:
    return entry.errors, entry.steps_away, pricing.raises_cost(entry.suggestion), len(entry.suggestion.values)


def _price_alike(entries: Sequence[Accepted], facts: Facts) -> tuple[Suggestion, ...]:
    """Return suggestions at the prices of one cloud, so that they can be compared."""
    cloud = pricing.find_common_cloud(facts.role, [entry.facts.role for entry in entries])
    if cloud is None:
        return tuple(entry.suggestion for entry in entries)
    return tuple(pricing.build_suggestion(entry.candidate, facts, entry.facts, cloud) for entry in entries)


@functools.lru_cache(maxsize=1)
def _trace(facts: Facts) -> Facts:
    """Return facts whose variants take over every value that a change does not reach."""
    return facts if facts.is_traced else facts.start_trace()


def _is_new(verdict: Verdict, before: Outcome) -> bool:
    """Whether a rule did not fire before, or not as severely."""
    others: Iterable[Verdict] = before.verdicts
    return all(verdict.rule.name != other.rule.name or verdict.severity > other.severity for other in others)


def _cuts_most(candidate: Candidate, facts: Facts) -> bool:
    """Whether less than half of the length of sequences would be left."""
    now, then = facts.expected("max_model_len"), candidate.values.get("max_model_len")
    return isinstance(now, int) and isinstance(then, int) and then * 2 < now


def _saves(suggestion: Suggestion, facts: Facts, rule: Rule) -> bool:
    """Whether the same is done for less: another accelerator costs less, any other change takes no
    more of the same.
    """
    if CHANGES_ANSWERS & set(suggestion.values) - set(rule.change):
        return False
    before, after = suggestion.cost_before_usd_per_hour, suggestion.cost_after_usd_per_hour
    if before is not None and after is not None:
        return after < before if "accelerator" in suggestion.values else after <= before
    names = ("gpus_per_pod", "replicas", "pods_per_replica")
    counts = ((suggestion.values.get(name), facts.expected(name)) for name in names)
    more = any(isinstance(new, int) and isinstance(old, int) and new > old for new, old in counts)
    return "accelerator" not in suggestion.values and not more
