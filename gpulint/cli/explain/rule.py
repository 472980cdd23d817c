"""A rule, explained: what it judges and why, its condition with the facts behind it, samples, and how to silence it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpulint.cli.explain import fact
from gpulint.cli.explain.parts import Code, Explanation, Listing, Part, Table, Text, reference, references, sentence
from gpulint.facts.glossary import glossary
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.rules import cel, rule
from gpulint.policy.rules.rule import Rule

ROLES: Mapping[tuple[str, ...], str] = {
    (): "each role of a workload",
    ("inference",): "each role of an inference service",
    ("training",): "each role of a training job",
}
SCOPES: Mapping[str, str] = {
    "document": "each document of a file",
    "repository": "all workloads of a repository",
}
LANGUAGES: Mapping[str, str] = {
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("sh", "sbatch", "slurm", "bash"), "sh"),
    **dict.fromkeys(("tf", "tfvars"), "hcl"),
    "toml": "toml",
    "json": "json",
}
"""How Markdown calls what a file of a sample is written in, by its suffix."""


def explained(one: Rule, known: Iterable[Rule]) -> Explanation:
    """A rule among those that are known, which it may speak instead of."""
    sides = rule.examples(one)
    parts: list[Part] = [Text(one.why), Text(f"About {about(one)}."), *(_found(one) or _condition(one))]
    if told := (*_place(one), *_alternatives(one), *_beside(one, known)):
        parts.append(Listing("What it marks, changes and speaks instead of", told))
    for side, title in (("bad", "Wrong"), ("good", "Right")):
        parts += [Code(title, str(sample), _language(str(sample))) for sample in sides[side]]
    if one.references:
        parts.append(Listing("See", one.references))
    parts += list(_silence(one))
    return Explanation(one.name, "rule", sentence(one.summary), tuple(_marks(one)), tuple(parts))


def about(one: Rule) -> str:
    """What a rule is about, in words."""
    engines = references("engine", one.target.engine)
    if one.target.scope == "facility":
        return f"each {' and each '.join(one.target.kind).replace('_', ' ')} of a facility"
    scope = SCOPES.get(one.target.scope) or ROLES.get(one.target.kind, ROLES[()])
    return scope + (f" with {engines}" if engines else "")


def standing(one: Rule) -> str:
    """How severely a rule speaks, and whether it speaks only where rules in preview do."""
    return one.severity.word if one.status == "stable" else f"{one.severity.word}, {one.status}"


def _marks(one: Rule) -> Iterator[tuple[str, str]]:
    yield "", reference("family", one.family)
    yield "", standing(one)


def _found(one: Rule) -> tuple[Part, ...]:
    """What stands in place of a condition that only names a problem of the text."""
    problem = cel.names(one.when) == ("problem",)
    return (Text("It is found while the document is read; the message says what is wrong there."),) if problem else ()


def _condition(one: Rule) -> Iterator[Part]:
    yield Code("Holds when", one.when.strip(), "cel")
    named = [glossary()[name] for name in one.facts if name in glossary()]
    rows = tuple((reference("fact", each.name), fact.measure(each), each.meaning) for each in named)
    if rows:
        yield Table("Facts in it and in its message", ("fact", "unit", "meaning"), rows)
        yield Text("Where one of them cannot be known, the rule is not evaluated, and the report says what to add.")
    limits = tuple((reference("fact", each.name), fact.absent(each)) for each in named if each.of == "policy")
    if limits:
        yield Table("Thresholds of these, which `thresholds:` in gpulint.yaml may change", ("fact", "value"), limits)
    yield Code("Message", one.message)
    if one.arithmetic:
        yield Code("Arithmetic below the message", "\n".join(one.arithmetic))


def _language(sample: str) -> str:
    """The language of a sample, by its first line or by the file that it is."""
    return "sh" if sample.startswith("#!") else language(samples.path_of(sample))


def language(path: str) -> str:
    """How Markdown calls what a file is written in."""
    return LANGUAGES.get(path.rpartition(".")[2], "text")


def _place(one: Rule) -> Iterator[str]:
    if one.at:
        beside = f"; beside it, {reference('fact', one.against)}" if one.against else ""
        yield f"It marks the first of these that is stated: {references('fact', one.at)}{beside}."


def _alternatives(one: Rule) -> Iterator[str]:
    if one.change:
        yield f"Alternatives change {references('fact', one.change)}; each is checked by the same rules."
    if one.only_with:
        yield "It speaks only where one of them passes all the other rules."
    if one.instead:
        yield f"The alternative writes {reference('fact', one.instead)} in its place."
    if one.superfluous:
        yield "The alternative takes the setting out."
    if one.gives_up:
        yield f"The alternative gives up {one.gives_up}."


def _beside(one: Rule, known: Iterable[Rule]) -> Iterator[str]:
    above = tuple(sorted(other.name for other in known if one.name in other.absorbs))
    if one.absorbs:
        yield f"Speaks instead of {references('rule', one.absorbs)}."
    if above:
        yield f"Left out where one of these speaks: {references('rule', above)}."


def _silence(one: Rule) -> Iterator[Part]:
    lines = (f"# gpulint: ignore[{one.name}] REASON", f'gpulint/ignore: "{one.name}: REASON"')
    yield Code("Silence one place by a comment, or a whole object by an annotation", "\n".join(lines), "yaml")
    yield Text(f"An owner, a last day, a bound, and whole paths: {reference('page', 'waivers')}.")
