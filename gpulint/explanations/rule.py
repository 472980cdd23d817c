"""A rule, explained: what it judges and why, its condition with the facts behind it, samples, and how to silence it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpulint import facts
from gpulint.explanations import fact
from gpulint.explanations.parts import Code, Explanation, Listing, Part, Table, Text, reference, references, sentence
from gpulint.policy import rule
from gpulint.policy.rule import Rule

ROLES: Mapping[tuple[str, ...], str] = {
    (): "each role of a workload",
    ("inference",): "each role of an inference service",
    ("training",): "each role of a training job",
}
SCOPES: Mapping[str, str] = {
    "document": "each document of a file",
    "repository": "all workloads of a repository",
    "facility": "the facility",
}


def explained(one: Rule, known: Iterable[Rule]) -> Explanation:
    """A rule among those that are known, which it may speak instead of."""
    samples = rule.examples(one)
    parts: list[Part] = [Text(one.why), Text(f"About {about(one)}."), *_condition(one), Code("Message", one.message)]
    if one.arithmetic:
        parts.append(Code("Arithmetic below the message", "\n".join(one.arithmetic)))
    for side, title in (("bad", "Wrong"), ("good", "Right")):
        parts += [Code(title, str(sample), "yaml") for sample in samples[side]]
    parts += [*_place(one), *_alternatives(one), *_beside(one, known)]
    if one.references:
        parts.append(Listing("See", one.references))
    parts += list(_silence(one))
    return Explanation(one.name, "rule", sentence(one.summary), tuple(_marks(one)), tuple(parts))


def about(one: Rule) -> str:
    """What a rule is about, in words."""
    engines = ", ".join(one.target.engine)
    scope = SCOPES.get(one.target.scope) or ROLES.get(one.target.kind, ROLES[()])
    return scope + (f" with {engines}" if engines else "")


def _marks(one: Rule) -> Iterator[tuple[str, str]]:
    yield "", one.family
    yield "", one.severity.word
    if one.status != "stable":
        yield "", one.status


def _condition(one: Rule) -> Iterator[Part]:
    yield Code("Holds when", one.when.strip(), "cel")
    named = [facts.glossary()[name] for name in one.facts if name in facts.glossary()]
    rows = tuple((reference("fact", each.name), fact.measure(each), each.meaning) for each in named)
    if rows and one.target.scope != "document":
        yield Table("Facts in it and in its message", ("fact", "unit", "meaning"), rows)
        yield Text("Where one of them cannot be known, the rule is not evaluated, and the report says what to add.")


def _place(one: Rule) -> Iterator[Part]:
    if one.at:
        told = f"The finding stands where the first of these is stated: {references('fact', one.at)}."
        yield Text(told + (f" It is held against {reference('fact', one.against)}." if one.against else ""))


def _alternatives(one: Rule) -> Iterator[Part]:
    if one.change:
        yield Text(f"Alternatives change {references('fact', one.change)}; each is checked by the same rules.")
    if one.only_with:
        yield Text("It speaks only where one of them passes all the other rules.")
    if one.instead:
        yield Text(f"The alternative writes {reference('fact', one.instead)} in its place.")
    if one.superfluous:
        yield Text("The alternative takes the setting out.")
    if one.gives_up:
        yield Text(f"The alternative gives up {one.gives_up}.")


def _beside(one: Rule, known: Iterable[Rule]) -> Iterator[Part]:
    above = tuple(sorted(other.name for other in known if one.name in other.absorbs))
    if one.absorbs:
        yield Text(f"Speaks instead of {references('rule', one.absorbs)}.")
    if above:
        yield Text(f"Left out where one of these speaks: {references('rule', above)}.")


def _silence(one: Rule) -> Iterator[Part]:
    lines = [f"# gpulint: ignore[{one.name}] REASON"]
    if one.target.scope != "document":
        lines.append(f'gpulint/ignore: "{one.name}: REASON"')
    yield Code("Silence one place, or a whole object by its annotation", "\n".join(lines), "yaml")
