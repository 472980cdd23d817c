"""Explain a rule: what it checks and why, its condition and facts, samples, and how to suppress it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpulint.cli.explain import fact
from gpulint.cli.explain.parts import (
    Code,
    Explanation,
    Listing,
    Part,
    Table,
    Text,
    make_sentence,
    render_reference,
    render_references,
)
from gpulint.facts.glossary import glossary
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.conditions import cel
from gpulint.policy.rules import rule
from gpulint.policy.rules.rule import ALTERNATIVE, SMALLER_HARDWARE, Rule

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
"""Markdown language names by file suffix."""


def explain(subject: Rule, known: Iterable[Rule]) -> Explanation:
    """Return the explanation of a rule among the known rules."""
    sides = rule.load_examples(subject)
    parts: list[Part] = [
        Text(subject.why),
        Text(f"About {describe_target(subject)}."),
        *(_find_problem_text(subject) or _condition(subject)),
    ]
    if told := (*_place(subject), *_alternatives(subject), *_list_related(subject, known)):
        parts.append(Listing("Location, suggestions and related rules", told))
    for side, title in (("bad", "Wrong"), ("good", "Right")):
        parts += [Code(title, str(sample), _language(str(sample))) for sample in sides[side]]
    if subject.references:
        parts.append(Listing("See", subject.references))
    parts += list(_explain_suppression(subject))
    return Explanation(subject.name, "rule", make_sentence(subject.summary), tuple(_marks(subject)), tuple(parts))


def describe_target(subject: Rule) -> str:
    """Return what a rule checks, in words."""
    engines = render_references("engine", subject.target.engine)
    if subject.target.does:
        engines = f"an engine that does {' and '.join(f'`{name}`' for name in subject.target.does)}"
    if subject.target.scope == "facility":
        return f"each {' and each '.join(subject.target.kind).replace('_', ' ')} of a facility"
    scope = SCOPES.get(subject.target.scope) or ROLES.get(subject.target.kind, ROLES[()])
    return scope + (f" with {engines}" if engines else "")


def describe_status(subject: Rule) -> str:
    """Return the severity of a rule, and its status unless stable."""
    return subject.severity.word if subject.status == "stable" else f"{subject.severity.word}, {subject.status}"


def _marks(subject: Rule) -> Iterator[tuple[str, str]]:
    yield "", render_reference("family", subject.family)
    yield "", describe_status(subject)


def _find_problem_text(subject: Rule) -> tuple[Part, ...]:
    """Return a text instead of a condition that only names a syntax problem."""
    problem = cel.find_names(subject.when) == ("problem",)
    return (Text("It is found while the document is parsed; the message says what is wrong."),) if problem else ()


def _condition(subject: Rule) -> Iterator[Part]:
    yield Code("Fires when", subject.when.strip(), "cel")
    named = [glossary()[name] for name in subject.facts if name in glossary()]
    rows = tuple((render_reference("fact", each.name), fact.render_measure(each), each.meaning) for each in named)
    if rows:
        yield Table("Facts in it and in its message", ("fact", "unit", "meaning"), rows)
        yield Text("If one of them is unknown, the rule is not evaluated and the report says what to add.")
    limits = tuple(
        (render_reference("fact", each.name), fact.render_absent(each)) for each in named if each.of == "policy"
    )
    if limits:
        yield Table("Thresholds, which `thresholds:` in gpulint.yaml can change", ("fact", "value"), limits)
    yield Code("Message", subject.message)
    if subject.arithmetic:
        yield Code("Arithmetic below the message", "\n".join(subject.arithmetic))


def _language(sample: str) -> str:
    """Return the language of a sample by its first line or file name."""
    return "sh" if sample.startswith("#!") else read_language(samples.find_path(sample))


def read_language(path: str) -> str:
    """Return the Markdown language name of a file."""
    return LANGUAGES.get(path.rpartition(".")[2], "text")


def _place(subject: Rule) -> Iterator[str]:
    if subject.at:
        beside = f"; it also marks {render_reference('fact', subject.against)}" if subject.against else ""
        yield f"It marks the first declared of {render_references('fact', subject.at)}{beside}."


def _alternatives(subject: Rule) -> Iterator[str]:
    if subject.change:
        yield f"Suggestions change {render_references('fact', subject.change)}; the same rules check each of them."
    if subject.only_with == ALTERNATIVE:
        yield "It fires only if one of them passes all other rules."
    if subject.only_with == SMALLER_HARDWARE:
        yield "It fires only if smaller hardware holds the service, and names it with its list price."
    if subject.instead:
        yield f"The suggestion writes {render_reference('fact', subject.instead)} instead."
    if subject.superfluous:
        yield "The suggestion removes the setting."
    if subject.trade_off:
        yield f"Trade-off of the suggestion: {subject.trade_off}."


def _list_related(subject: Rule, known: Iterable[Rule]) -> Iterator[str]:
    above = tuple(sorted(other.name for other in known if subject.name in other.absorbs))
    if subject.absorbs:
        yield f"It replaces findings of {render_references('rule', subject.absorbs)}."
    if above:
        yield f"Not reported if one of these fires: {render_references('rule', above)}."


def _explain_suppression(subject: Rule) -> Iterator[Part]:
    lines = (f"# gpulint: ignore[{subject.name}] REASON", f'gpulint/ignore: "{subject.name}: REASON"')
    yield Code("Suppress one location with a comment, or a whole object with an annotation", "\n".join(lines), "yaml")
    yield Text(f"Owner, end date, condition and whole paths: {render_reference('page', 'waivers')}.")
