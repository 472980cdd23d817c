"""Facilities: every part of a facility under the rules about parts of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.facts import Facts
from gpulint.findings import Finding
from gpulint.parts import Part, PartFacts
from gpulint.policy import check
from gpulint.policy.rule import Rule
from gpulint.workload import Field, Value, Workload

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
    return tuple(Said(known, mine, check.judged(mine, known)) for known, mine in told if mine)


def by_kind(rules: Iterable[Rule]) -> Mapping[str, tuple[Rule, ...]]:
    """The rules about each kind of part."""
    about: dict[str, tuple[Rule, ...]] = {}
    for rule in rules:
        if rule.target.scope == "facility":
            for kind in rule.target.kind:
                about[kind] = (*about.get(kind, ()), rule)
    return about


def findings(said: Sequence[Said]) -> list[tuple[Finding, Facts]]:
    """The findings about parts, each with the facts behind it."""
    return [
        (check.finding(verdict, one.owner, one.known), one.known) for one in said for verdict in one.outcome.verdicts
    ]


def owner(known: PartFacts) -> Workload:
    """A part as the owner of findings: called as what holds it, of the kind that it is."""
    name = "/".join(known.path()[:-1]) or known.root().role.name
    document = known.role.anchor.document
    return Workload(name, known.kind, "facility", document, known.role.anchor.path, (known.role,))
