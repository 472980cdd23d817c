"""Facilities: every part of a facility under the rules about parts of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.facts import Facts
from gpulint.findings import Finding, Suggestion
from gpulint.parts import Part, PartFacts
from gpulint.policy import check
from gpulint.policy.rule import Rule
from gpulint.workload import Field, Value, Workload

Key = tuple[str, tuple[str, ...], tuple[str | int, ...]]
FROM_POLICY = "gpulint.yaml"


class Said(NamedTuple):
    """What the rules say of one part."""

    known: PartFacts
    rules: tuple[Rule, ...]
    outcome: check.Outcome

    @property
    def owner(self) -> Workload:
        """The part as findings name their owner."""
        return owner(self.known)


def facts_of(part: Part, thresholds: Mapping[str, Value]) -> PartFacts:
    """The facts of a facility and of all its parts, with what a policy says of the numbers that its rules compare with."""
    stated = {name: Field(value, source=FROM_POLICY) for name, value in thresholds.items()}
    return PartFacts(Part(part.kind, part.role.having(**stated), part.parts))


def judged(root: PartFacts, rules: Iterable[Rule]) -> tuple[Said, ...]:
    """What the rules say of every part, in the order of the file."""
    about = by_kind(rules)
    told = ((one, about.get(one.kind, ())) for one in root.all())
    return tuple(Said(known, mine, outcome(mine, known)) for known, mine in told if mine)


def outcome(rules: Iterable[Rule], known: PartFacts) -> check.Outcome:
    """What rules say of one part."""
    return check.judged(rules, known)


def by_kind(rules: Iterable[Rule]) -> Mapping[str, tuple[Rule, ...]]:
    """The rules about each kind of part."""
    about: dict[str, tuple[Rule, ...]] = {}
    for rule in rules:
        if rule.target.scope == "facility":
            for kind in rule.target.kind:
                about[kind] = (*about.get(kind, ()), rule)
    return about


def findings(
    said: Sequence[Said], offered: Mapping[tuple[Key, str], tuple[Suggestion, ...]]
) -> list[tuple[Finding, Facts]]:
    """The findings about parts with the alternatives that were found, each with the facts behind it."""
    spoken = ((one, verdict) for one in said for verdict in one.outcome.verdicts)
    return [
        (
            check.finding(verdict, one.owner, one.known)._replace(
                suggestions=offered.get((key(one.known), verdict.rule.name), ())
            ),
            one.known,
        )
        for one, verdict in spoken
    ]


def key(known: PartFacts) -> Key:
    """What a part is called in all variants of its facility."""
    return known.kind, known.path(), known.role.anchor.path


def owner(known: PartFacts) -> Workload:
    """A part as the owner of findings: called as what holds it, of the kind that it is."""
    name = "/".join(known.path()[:-1]) or known.root().role.name
    document = known.role.anchor.document
    return Workload(name, known.kind, "facility", document, known.role.anchor.path, (known.role,))
