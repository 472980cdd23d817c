"""Facilities: every part of a facility under the rules about parts of its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.facility.model import CALLED, Part, PartFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts
from gpulint.policy.rules import cel
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules import identity as subject
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Suggestion
from gpulint.workload import Field, Role, Value, Workload

Key = tuple[str, tuple[str, ...], tuple[str | int, ...]]
FROM_POLICY = "gpulint.yaml"
NAMED_MAX = 3
"""Further parts that a message names."""


class Said(NamedTuple):
    """What the rules say of one part."""

    known: PartFacts
    rules: tuple[Rule, ...]
    outcome: check.Outcome

    @property
    def path(self) -> str:
        """What the part is called: the names that lead to it."""
        return "/".join(self.known.path())

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
    return _judged(root, rules, {})


def again(before: tuple[Said, ...], root: PartFacts, rules: Iterable[Rule]) -> tuple[Said, ...]:
    """What the rules say of a facility that was judged before and now states other values: only what these reach is judged."""
    old = tuple(before[0].known.root().all()) if before else ()
    new = tuple(root.all())
    if [key(one) for one in old] != [key(one) for one in new]:
        return judged(root, rules)
    changed = {id(one): now.role for one, now in zip(old, new, strict=True) if _values(one.role) != _values(now.role)}
    return _judged(old[0].varied(changed, {}), rules, {id(one.known): one for one in before})


def _judged(root: PartFacts, rules: Iterable[Rule], held: Mapping[int, Said]) -> tuple[Said, ...]:
    """What the rules say of every part, of one that was judged before what they said then."""
    about = by_kind(rules)
    parts = [one for one in root.all() if one.kind in about and not _is_none(one)]
    found = outcomes((one for one in parts if id(one) not in held), about)
    new = {id(one): Said(one, about[one.kind], said) for one, said in found}
    return tuple(held.get(id(one)) or new[id(one)] for one in parts)


def _values(role: Role) -> Mapping[str, object]:
    return {name: field.value for name, field in role.fields.items()}


def outcomes(
    parts: Iterable[PartFacts], about: Mapping[str, tuple[Rule, ...]]
) -> Iterator[tuple[PartFacts, check.Outcome]]:
    """What the rules about its kind say of each part, found once for parts that have everything in common."""
    by_name = {kind for kind, rules in about.items() if any(CALLED & {*cel.names(rule.when)} for rule in rules)}
    found: dict[object, check.Outcome] = {}
    for one in parts:
        alike = one if one.kind in by_name else one.common
        if alike not in found:
            found[alike] = check.judged(about.get(one.kind, ()), one.facts)
        yield one, found[alike]


def _is_none(one: PartFacts) -> bool:
    """Whether a part stands for machines of which there are none yet."""
    return one.kind == "server" and one.likely("servers") == 0


def by_kind(rules: Iterable[Rule]) -> Mapping[str, tuple[Rule, ...]]:
    """The rules about each kind of part."""
    about: dict[str, tuple[Rule, ...]] = {}
    for rule in rules:
        if rule.target.scope == "facility":
            for kind in rule.target.kind:
                about[kind] = (*about.get(kind, ()), rule)
    return about


class Spoken(NamedTuple):
    """A finding about a part, or about all that one entry of the file describes, with the part that it is told of."""

    finding: Finding
    said: Said
    verdict: check.Verdict


def spoken(said: Sequence[Said]) -> list[Spoken]:
    """The findings about parts; of those that one entry describes once, and not what is said of a part's rack already."""
    told: dict[object, list[Spoken]] = {}
    for one, verdict in _unabsorbed(said):
        found = _finding(one, verdict)
        same = found.rule, found.severity, found.location, found.nameless, one.known.role.anchor.path
        told.setdefault(same, []).append(Spoken(found, one, verdict))
    return [_as_one(alike) for alike in told.values()]


def _unabsorbed(said: Sequence[Said]) -> Iterator[tuple[Said, check.Verdict]]:
    """What is said of each part, without what is said of its rack and has the same cause."""
    of_racks = {id(one.known): one.outcome.verdicts for one in said if one.known.kind == "rack"}
    for one in said:
        rack = one.known.nearest(("rack",)) if one.outcome.verdicts else None
        for verdict in one.outcome.verdicts:
            if not check.is_absorbed(verdict, of_racks.get(id(rack), ())):
                yield one, verdict


def findings(
    told: Iterable[Spoken], offered: Mapping[tuple[Key, str], tuple[Suggestion, ...]]
) -> list[tuple[Finding, Facts]]:
    """The findings about parts with the alternatives that were found, each with the facts behind it."""
    return [
        (
            one.finding._replace(suggestions=offered.get((key(one.said.known), one.finding.rule), ())),
            one.said.known.facts,
        )
        for one in told
    ]


def _as_one(alike: list[Spoken]) -> Spoken:
    """The first of findings about one entry, with the names of the other parts: one more of them is another finding."""
    first, *others = alike
    names = list(dict.fromkeys(_short(one.said.known) for one in others))
    if not names:
        return first
    found = first.finding
    value = subject.plain(f"{found.subject.value}; {', '.join(names)}")
    message = f"{found.message}; {so_in(names)}"
    return first._replace(finding=found._replace(message=message, subject=found.subject._replace(value=value)))


def so_in(names: Sequence[str]) -> str:
    """Of which further parts the same is said."""
    further = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"so in {', '.join(names[:NAMED_MAX])}{further}"


def _short(known: PartFacts) -> str:
    """A part by its name, one in a rack with the rack's."""
    return "/".join(known.path()[-2:]) if known.nearest(("rack",)) else known.role.name


def _finding(one: Said, verdict: check.Verdict) -> Finding:
    """The finding about a part; it is another one once other servers stand there."""
    found = check.finding(verdict, one.owner, one.known.facts, _inheriting(one.known, verdict.rule))
    value = "; ".join(filter(None, (found.subject.value, _servers(one.known))))
    return found._replace(
        role=one.path,
        fingerprint=check.fingerprint(found.fingerprint, one.path),
        subject=found.subject._replace(value=value),
    )


def _inheriting(known: PartFacts, rule: Rule) -> Role:
    """The part with what parts above state for it, of the quantities that a rule points at."""
    named = (name for name in (*rule.at, rule.against) if name and glossary()[name].inherits)
    stated = ((name, _from_above(known, name)) for name in named if name not in known.role.fields)
    return known.role.having(**{name: field for name, field in stated if field is not None})


def _from_above(known: PartFacts, name: str) -> Field | None:
    above = known.nearest(glossary()[name].part)
    while above is not None and name not in above.role.fields:
        above = above.nearest(glossary()[name].part)
    return above.role.fields[name] if above else None


def _servers(known: PartFacts) -> str:
    """The servers of a part, or of the rack that it stands in, by how many there are of each kind."""
    holder = known if known.of_kind("server") else known.nearest(("rack",))
    counted: Counter[str] = Counter()
    for one in holder.of_kind("server") if holder else ():
        count = one.likely("servers")
        counted[one.role.name] += round(count) if isinstance(count, int | float) else 0
    return subject.plain(", ".join(f"{count} {name}" for name, count in sorted(counted.items())))


def key(known: PartFacts) -> Key:
    """What a part is called in all variants of its facility."""
    return known.kind, known.path(), known.role.anchor.path


def owner(known: PartFacts) -> Workload:
    """A part as the owner of findings: called as the whole facility, of the kind that it is."""
    document = known.role.anchor.document
    return Workload(known.root().role.name, known.kind, "facility", document, known.role.anchor.path, (known.role,))
