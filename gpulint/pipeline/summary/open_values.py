"""The answer on a role whose file leaves values open: a verdict over all of them, or what it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import offers
from gpulint.facts.model import Missing
from gpulint.policy.rules import taken_memory
from gpulint.policy.rules.bounded_rules import join_alternatives
from gpulint.policy.rules.bounds import FITTING, Bounds, Probe, Tipping
from gpulint.policy.rules.evaluate import Outcome
from gpulint.policy.rules.rule import Rule
from gpulint.report import gpu_memory
from gpulint.report.model import Fit, GpuMemory, OpenDecision, Severity
from gpulint.suggestions import smallest_fit
from gpulint.workload import Decision

NAMED_MAX = 3
"""Members that a verdict names."""
ANY_GPU = "any GPU"
SMALL_BYTES = 2 * units.GIB
"""What a role may take in all so that any GPU holds it: those of laptops have 4 GB."""
SMALL_PART_BYTES = 1 * units.GIB
"""The same of weights or states alone, beside which something else takes memory too."""


class Answer(NamedTuple):
    """The verdict in words, the open decisions, the smallest hardware if none is named, and the memory that the role takes."""

    verdict: str
    decisions: tuple[OpenDecision, ...]
    smallest: tuple[Fit, ...] = ()
    memory: GpuMemory | None = None


def describe(bounds: Bounds, outcome: Outcome, rules: Sequence[Rule]) -> Answer:
    """Return the answer that bounds give."""
    tipping = {entry.decision.name: entry for entry in bounds.depends_on}
    listed = tuple(_list_decision(decision, tipping.get(decision.name)) for decision in bounds.decisions)
    if bounds.reference:
        return _describe_need(bounds, outcome, rules)._replace(decisions=listed)
    return Answer(_describe_verdict(bounds), listed, (), taken_memory.measure(bounds.expected.facts, bounds.part))


def _describe_verdict(bounds: Bounds) -> str:
    """Return the verdict on a role whose hardware is named."""
    if bounds.depends_on:
        return _describe_dependence(bounds, f"{bounds.part} fit" if bounds.part else "fits")
    if bounds.part and bounds.worst.rank >= FITTING:
        return _describe_part(bounds)
    return bounds.verdict


def _describe_dependence(bounds: Bounds, fits: str) -> str:
    """Return on what a verdict depends: decisions that each decide it, or the members that are needed together."""
    tipping = bounds.depends_on
    if not any(entry.together for entry in tipping):
        return "; ".join(describe_tipping(entry, fits) for entry in tipping)
    needed = [_name_member(entry.decision, entry.fitting[-1]) for entry in tipping]
    named = needed if len(needed) <= NAMED_MAX else [*needed[: NAMED_MAX - 1], f"{len(needed) - NAMED_MAX + 1} more"]
    listed = f"{', '.join(named[:-1])} and {named[-1]}"
    if bounds.has_likely_members:
        return f"likely does not fit: {fits} only with {listed}"
    return f"depends on {len(needed)} settings: {fits} with {listed}"


def _describe_part(bounds: Bounds) -> str:
    """Return that weights or states fit, with the most that they take of one GPU: what else a program holds is unknown."""
    facts = bounds.worst.facts
    left = facts.scenarios(taken_memory.PARTS[bounds.part])
    taken = None if isinstance(left, Missing) else left.worst if bounds.worst.verdict == "fits" else left.expected
    memory = facts.expected("device_memory_bytes")
    likely = "likely " if bounds.verdict.startswith("likely") else ""
    held, whole = units.human(taken, "bytes"), units.human(memory, "bytes")
    amount, _, unit = held.partition(" ")
    share = f"{amount if whole.endswith(unit) else held} of {whole}"
    return f"{_name_format(bounds)}{bounds.part} {likely}fit{_name_count(bounds)}: {share}"


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
    """Return on which decision a verdict depends, and with which members the role fits."""
    return f"depends on {tipping.decision.name}: {fits} {_name_fitting(tipping)}"


def _name_fitting(tipping: Tipping) -> str:
    """Return the members with which a role fits."""
    decision, fitting = tipping.decision, tipping.fitting
    labels, last = [decision.members[at].label for at in fitting], len(decision.members) - 1
    if decision.ordered and 1 < len(labels) <= last:
        if fitting == tuple(range(len(fitting))):
            return f"up to {labels[-1]}"
        if fitting == tuple(range(fitting[0], last + 1)):
            return f"from {labels[0]}"
    shown = labels if len(labels) <= NAMED_MAX else [*labels[: NAMED_MAX - 1], f"{len(labels) - NAMED_MAX + 1} more"]
    return f"with {join_alternatives(shown)}"


def _describe_need(bounds: Bounds, outcome: Outcome, rules: Sequence[Rule]) -> Answer:
    """Return what a role takes whose accelerator no file names: with the likely members, else with the best ones."""
    severe = tuple(rule for rule in rules if rule.severity is Severity.ERROR)
    purpose = f" for the {bounds.part}" if bounds.part else ""
    fits = _find_smallest(bounds, bounds.expected, outcome, severe)
    if fits:
        is_wider = bounds.worst.chosen != bounds.expected.chosen
        most = next(iter(_find_smallest(bounds, bounds.worst, outcome, severe)), None) if is_wider else fits[0]
        return _build_need(f"{_name(fits[0])}{_name_end(fits[0], most)}{purpose}", fits, bounds.part)
    for probe in _list_changes(bounds):
        if fits := _find_smallest(bounds, probe, outcome, severe):
            return _build_need(f"{_name(fits[0])}{_name_changes(bounds, probe)}{purpose}", fits, bounds.part)
    return Answer(_describe_total(bounds) if purpose else "does not fit on any accelerator of the catalog", ())


def _build_need(hardware: str, fits: tuple[Fit, ...], part: str) -> Answer:
    """Return that a role needs hardware, with the memory that it takes of each GPU of the first."""
    memory = fits[0].memory
    amount = f": {gpu_memory.render(memory)}" if memory else ""
    return Answer(f"needs {hardware}{amount}", (), () if part else fits, memory)


def _list_changes(bounds: Bounds) -> Iterator[Probe]:
    """Yield assignments that differ from the likely one in few decisions: those with most effect, nearest member first."""
    chosen, expected = dict(bounds.expected.chosen), bounds.expected.chosen
    for decision in sorted(bounds.decisions, key=bounds.find_spread, reverse=True)[:NAMED_MAX]:
        near = sorted(range(len(decision.members)), key=lambda at: abs(at - expected[decision.name]))
        for at in near[1:]:
            yield bounds.search.probe({**chosen, decision.name: at})
        chosen[decision.name] = bounds.best.chosen[decision.name]
    yield bounds.best


def _name_end(likely: Fit, most: Fit | None) -> str:
    """Return the end of a need whose settings may take more."""
    if most is None:
        return " or more"
    return "" if _name(most) == _name(likely) else f" to {_name(most)}"


def _name_changes(bounds: Bounds, probe: Probe) -> str:
    """Return the members that a role needs beside the hardware, those with most effect first."""
    expected = bounds.expected.chosen
    moved = [decision for decision in bounds.decisions if probe.chosen[decision.name] != expected[decision.name]]
    named = sorted(moved, key=bounds.find_spread, reverse=True)[:NAMED_MAX]
    words = [_name_member(decision, probe.chosen[decision.name]) for decision in named]
    return (
        f" with {', '.join(words[:-1])} and {words[-1]}"
        if len(words) > 1
        else "".join(f" with {word}" for word in words)
    )


def _name_member(decision: Decision, at: int) -> str:
    """Return a member in words: a bare number with the name of its decision."""
    label = decision.members[at].label
    return f"{decision.name} {label}" if label[:1].isdigit() else label


def _describe_total(bounds: Bounds) -> str:
    """Return the GPU memory that weights or states take, if no machine of the catalog holds them."""
    facts = bounds.expected.facts
    if bounds.part == "weights":
        return f"needs {units.human(facts.expected('weight_bytes'), 'bytes')} of GPU memory for the weights"
    gpus = facts.expected("gpus_per_replica")
    taken = units.human(facts.expected("state_bytes_per_gpu"), "bytes")
    each = "1 GPU" if gpus == 1 else f"each of {units.human(gpus, '')} GPUs"
    return f"needs {taken} of memory for the states on {each}"


def _find_smallest(bounds: Bounds, probe: Probe, outcome: Outcome, severe: Sequence[Rule]) -> tuple[Fit, ...]:
    """Return the smallest hardware of an assignment."""
    known = bounds.release(probe)
    offered = offers.list_offers(known.role.available, smallest_fit.find_cloud(known))
    return smallest_fit.find_smallest(
        known, offered, lambda tried: smallest_fit.adds_no_error(severe, tried, outcome), bounds.part
    )


def _name(fit: Fit) -> str:
    return ANY_GPU if is_small(fit) else fit.hardware


def is_small(fit: Fit) -> bool:
    """Return whether one GPU of any kind holds what a role takes."""
    memory = fit.memory
    if memory is None or fit.gpus > 1:
        return False
    return memory.high_bytes <= (SMALL_PART_BYTES if memory.part else SMALL_BYTES)
