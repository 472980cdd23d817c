"""The answer on a role whose file leaves values open: a verdict over all of them, or what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import offers
from gpulint.facts.model import Missing
from gpulint.policy.rules.bounds import Bounds, Probe, Tipping
from gpulint.policy.rules.evaluate import Outcome
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Fit, OpenDecision, Severity
from gpulint.suggestions import smallest_fit
from gpulint.workload import Decision

WEIGHTS = "spread_weight_bytes"
NAMED_MAX = 3
"""Members that a verdict names."""


class Answer(NamedTuple):
    """The verdict in words, the open decisions, and the smallest hardware if none is named."""

    verdict: str
    decisions: tuple[OpenDecision, ...]
    smallest: tuple[Fit, ...] = ()


def describe(bounds: Bounds, outcome: Outcome, rules: Sequence[Rule]) -> Answer:
    """Return the answer that bounds give."""
    tipping = {entry.decision.name: entry for entry in bounds.depends_on}
    listed = tuple(_list_decision(decision, tipping.get(decision.name)) for decision in bounds.decisions)
    if bounds.reference:
        return _describe_need(bounds, outcome, rules)._replace(decisions=listed)
    if bounds.depends_on:
        word = "weights fit" if bounds.is_about_weights else "fits"
        return Answer("; ".join(describe_tipping(entry, word) for entry in bounds.depends_on), listed)
    if bounds.is_about_weights and bounds.worst.rank > 1:
        return Answer(_describe_weights(bounds), listed)
    return Answer(bounds.verdict, listed)


def _describe_weights(bounds: Bounds) -> str:
    """Return that the weights fit, with the most that they take of one GPU: what else a program holds is unknown."""
    facts = bounds.worst.facts
    left = facts.scenarios(WEIGHTS)
    taken = None if isinstance(left, Missing) else left.worst if bounds.worst.verdict == "fits" else left.expected
    memory = facts.expected("device_memory_bytes")
    likely = "likely " if bounds.verdict.startswith("likely") else ""
    held, whole = units.human(taken, "bytes"), units.human(memory, "bytes")
    amount, _, unit = held.partition(" ")
    share = f"{amount if whole.endswith(unit) else held} of {whole}"
    return f"{_name_format(bounds)}weights {likely}fit{_name_count(bounds)}: {share}"


def _name_count(bounds: Bounds) -> str:
    """Return the number of GPUs for which weights are counted, if the file leaves it open."""
    if not any("gpus_per_replica" in decision.fields for decision in bounds.decisions):
        return ""
    gpus = bounds.worst.facts.expected("gpus_per_replica")
    return f" on {units.human(gpus, '')} GPU" + ("" if gpus == 1 else "s")


def _name_format(bounds: Bounds) -> str:
    """Return the number format for which weights are counted, if the file leaves it open."""
    chosen = bounds.worst.chosen
    formats = (decision for decision in bounds.decisions if "quantization" in decision.fields)
    named = (decision for decision in formats if bounds.find_spread(decision))
    return next((f"{decision.members[chosen[decision.name]].label} " for decision in named), "")


def _list_decision(decision: Decision, tipping: Tipping | None) -> OpenDecision:
    labels = tuple(member.label for member in decision.members)
    return OpenDecision(
        decision.name,
        decision.decider,
        decision.source,
        tuple(sorted(decision.fields)),
        labels,
        "" if decision.expected is None else labels[decision.expected],
        tuple(labels[at] for at in tipping.fitting) if tipping else (),
    )


def describe_tipping(tipping: Tipping, fits: str = "fits") -> str:
    """Return on what a verdict depends, and with which members the role fits."""
    decision, fitting = tipping
    labels = [decision.members[at].label for at in fitting]
    if not labels:
        return f"depends on {decision.name} and others"
    last = len(decision.members) - 1
    if decision.ordered and fitting == tuple(range(len(fitting))):
        return f"depends on {decision.name}: {fits} up to {labels[-1]}"
    if decision.ordered and fitting[-1] == last and fitting == tuple(range(fitting[0], last + 1)):
        return f"depends on {decision.name}: {fits} from {labels[0]}"
    shown = labels if len(labels) <= NAMED_MAX else [*labels[: NAMED_MAX - 1], f"{len(labels) - NAMED_MAX + 1} more"]
    return f"depends on {decision.name}: {fits} with {join_alternatives(shown)}"


def join_alternatives(words: Sequence[str]) -> str:
    """Return words as alternatives.

    >>> join_alternatives(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _describe_need(bounds: Bounds, outcome: Outcome, rules: Sequence[Rule]) -> Answer:
    """Return what a role takes whose accelerator no file names: with the likely members, and at most."""
    severe = tuple(rule for rule in rules if rule.severity is Severity.ERROR)
    fits = [_find_smallest(bounds, probe, outcome, severe) for probe in (bounds.expected, bounds.worst)]
    likely, most = (next(iter(found), None) for found in fits)
    purpose = " for the weights" if bounds.is_about_weights else ""
    if likely is None:
        return Answer(_describe_total(bounds) if purpose else "needs more than one machine", ())
    text = f"needs {_name(likely)}"
    if most is None:
        text += " or more"
    elif _name(most) != _name(likely):
        text += f" to {_name(most)}"
    return Answer(text + purpose, (), () if purpose else fits[0])


def _describe_total(bounds: Bounds) -> str:
    """Return the GPU memory that the weights take, if no machine of the catalog holds them."""
    total = bounds.expected.facts.expected("weight_bytes")
    return f"needs {units.human(total, 'bytes')} of GPU memory for the weights"


def _find_smallest(bounds: Bounds, probe: Probe, outcome: Outcome, severe: Sequence[Rule]) -> tuple[Fit, ...]:
    """Return the smallest hardware of an assignment."""
    known = bounds.release(probe)
    offered = offers.list_offers(known.role.available, smallest_fit.find_cloud(known))
    left = "spread_headroom" if bounds.is_about_weights else ""
    return smallest_fit.find_smallest(
        known, offered, lambda tried: smallest_fit.adds_no_error(severe, tried, outcome), left
    )


def _name(fit: Fit) -> str:
    return f"{fit.gpus} × {fit.name}"
