"""Facility evaluation: apply the rules to every component of a facility."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.facility.model import NAME_FACTS, Component, ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts
from gpulint.policy.conditions import cel
from gpulint.policy.rules import evaluate, identity
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Suggestion
from gpulint.workload import Field, Role, Value, Workload

Key = tuple[str, tuple[str, ...], tuple[str | int, ...]]
FROM_POLICY = "gpulint.yaml"
NAMED_MAX = 3
"""Maximum number of further components that a message names."""


class Evaluation(NamedTuple):
    """The verdicts of the rules on one component."""

    known: ComponentFacts
    rules: tuple[Rule, ...]
    outcome: evaluate.Outcome

    @property
    def path(self) -> str:
        """The names that lead to the component."""
        return "/".join(self.known.path())

    @property
    def owner(self) -> Workload:
        """The component as findings name their owner."""
        return build_owner(self.known)


def resolve_facts(part: Component, thresholds: Mapping[str, Value]) -> ComponentFacts:
    """Return the facts of a facility and its components, with the thresholds of a policy."""
    stated = {name: Field(value, source=FROM_POLICY) for name, value in thresholds.items()}
    return ComponentFacts(Component(part.kind, part.role.having(**stated), part.parts))


def evaluate_component(root: ComponentFacts, rules: Iterable[Rule]) -> tuple[Evaluation, ...]:
    """Evaluate the rules on every component, in the order of the file."""
    return _evaluate(root, rules, {})


def reevaluate(before: tuple[Evaluation, ...], root: ComponentFacts, rules: Iterable[Rule]) -> tuple[Evaluation, ...]:
    """Evaluate the rules on a changed facility.

    Components that the changes do not reach keep their verdicts.
    """
    old = tuple(before[0].known.root().all()) if before else ()
    new = tuple(root.all())
    if [identify(component) for component in old] != [identify(component) for component in new]:
        return evaluate_component(root, rules)
    changed = {
        id(component): now.role
        for component, now in zip(old, new, strict=True)
        if _list_values(component.role) != _list_values(now.role)
    }
    return _evaluate(old[0].vary(changed, {}), rules, {id(evaluation.known): evaluation for evaluation in before})


def _evaluate(root: ComponentFacts, rules: Iterable[Rule], earlier: Mapping[int, Evaluation]) -> tuple[Evaluation, ...]:
    """Evaluate the rules on every component except those with earlier verdicts in `held`."""
    about = group_by_kind(rules)
    parts = [component for component in root.all() if component.kind in about and not _is_none(component)]
    found = evaluate_components((component for component in parts if id(component) not in earlier), about)
    new = {id(component): Evaluation(component, about[component.kind], outcome) for component, outcome in found}
    return tuple(earlier.get(id(component)) or new[id(component)] for component in parts)


def _list_values(role: Role) -> Mapping[str, object]:
    return {name: field.value for name, field in role.fields.items()}


def evaluate_components(
    parts: Iterable[ComponentFacts], about: Mapping[str, tuple[Rule, ...]]
) -> Iterator[tuple[ComponentFacts, evaluate.Outcome]]:
    """Yield the outcome of the rules for each component.

    Identical components are evaluated once.
    """
    by_name = {
        kind for kind, rules in about.items() if any(NAME_FACTS & {*cel.find_names(rule.when)} for rule in rules)
    }
    found: dict[object, evaluate.Outcome] = {}
    for component in parts:
        alike = component if component.kind in by_name else component.common
        if alike not in found:
            found[alike] = evaluate.evaluate(about.get(component.kind, ()), component.facts)
        yield component, found[alike]


def _is_none(facts: ComponentFacts) -> bool:
    """Return whether a component is a group of zero servers."""
    return facts.kind == "server" and facts.expected("servers") == 0


def group_by_kind(rules: Iterable[Rule]) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules by kind of component."""
    about: dict[str, tuple[Rule, ...]] = {}
    for rule in rules:
        if rule.target.scope == "facility":
            for kind in rule.target.kind:
                about[kind] = (*about.get(kind, ()), rule)
    return about


class ComponentFinding(NamedTuple):
    """A finding about a component, or about all components of one entry of the file."""

    finding: Finding
    said: Evaluation
    verdict: evaluate.Verdict


def find_findings(evaluations: Sequence[Evaluation]) -> list[ComponentFinding]:
    """Return the findings about components, one for each entry of the file, without those that a
    rack's finding absorbs.
    """
    groups: dict[object, list[ComponentFinding]] = {}
    for evaluation, verdict in _find_unabsorbed(evaluations):
        found = _build_finding(evaluation, verdict)
        same = found.rule, found.severity, found.location, found.nameless, evaluation.known.role.anchor.path
        groups.setdefault(same, []).append(ComponentFinding(found, evaluation, verdict))
    return [_merge(alike) for alike in groups.values()]


def _find_unabsorbed(evaluations: Sequence[Evaluation]) -> Iterator[tuple[Evaluation, evaluate.Verdict]]:
    """Yield the verdicts that no verdict on the component's rack absorbs."""
    of_racks = {
        id(evaluation.known): evaluation.outcome.verdicts
        for evaluation in evaluations
        if evaluation.known.kind == "rack"
    }
    for evaluation in evaluations:
        rack = evaluation.known.nearest(("rack",)) if evaluation.outcome.verdicts else None
        for verdict in evaluation.outcome.verdicts:
            if not evaluate.is_absorbed(verdict, of_racks.get(id(rack), ())):
                yield evaluation, verdict


def attach_suggestions(
    component_findings: Iterable[ComponentFinding], offered: Mapping[tuple[Key, str], tuple[Suggestion, ...]]
) -> list[tuple[Finding, Facts]]:
    """Return the findings about components with their suggestions and facts."""
    return [
        (
            component_finding.finding._replace(
                suggestions=offered.get((identify(component_finding.said.known), component_finding.finding.rule), ())
            ),
            component_finding.said.known.facts,
        )
        for component_finding in component_findings
    ]


def _merge(alike: list[ComponentFinding]) -> ComponentFinding:
    """Return the first finding about one entry with the names of the other components in its
    message.
    """
    first, *others = alike
    names = list(dict.fromkeys(_shorten(other.said.known) for other in others))
    if not names:
        return first
    found = first.finding
    value = identity.normalise(f"{found.subject.value}; {', '.join(names)}")
    message = f"{found.message}; {name_components(names)}"
    return first._replace(finding=found._replace(message=message, subject=found.subject._replace(value=value)))


def name_components(names: Sequence[str]) -> str:
    """Return the end of a message that names further components."""
    further = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"so in {', '.join(names[:NAMED_MAX])}{further}"


def _shorten(facts: ComponentFacts) -> str:
    """Return the name of a component, prefixed with its rack's name if it is in one."""
    return "/".join(facts.path()[-2:]) if facts.nearest(("rack",)) else facts.role.name


def _build_finding(evaluation: Evaluation, verdict: evaluate.Verdict) -> Finding:
    """Return the finding about a component. Its identity changes when the servers there change."""
    found = evaluate.make_finding(
        verdict, evaluation.owner, evaluation.known.facts, _inherit(evaluation.known, verdict.rule)
    )
    value = "; ".join(filter(None, (found.subject.value, _describe_servers(evaluation.known))))
    return found._replace(
        role=evaluation.path,
        fingerprint=evaluate.fingerprint(found.fingerprint, evaluation.path),
        subject=found.subject._replace(value=value),
    )


def _inherit(facts: ComponentFacts, rule: Rule) -> Role:
    """Return the component's role with inherited values of the quantities that a rule points at."""
    named = (name for name in (*rule.at, rule.against) if name and glossary()[name].inherits)
    stated = ((name, _find_inherited(facts, name)) for name in named if name not in facts.role.fields)
    return facts.role.having(**{name: field for name, field in stated if field is not None})


def _find_inherited(facts: ComponentFacts, name: str) -> Field | None:
    above = facts.nearest(glossary()[name].part)
    while above is not None and name not in above.role.fields:
        above = above.nearest(glossary()[name].part)
    return above.role.fields[name] if above else None


def _describe_servers(facts: ComponentFacts) -> str:
    """Return the servers of a component, or of its rack, by kind and count."""
    holder = facts if facts.list_components("server") else facts.nearest(("rack",))
    counted: Counter[str] = Counter()
    for server in holder.list_components("server") if holder else ():
        count = server.expected("servers")
        counted[server.role.name] += round(count) if isinstance(count, int | float) else 0
    return identity.normalise(", ".join(f"{count} {name}" for name, count in sorted(counted.items())))


def identify(facts: ComponentFacts) -> Key:
    """Return the identity of a component in all variants of its facility."""
    return facts.kind, facts.path(), facts.role.anchor.path


def build_owner(facts: ComponentFacts) -> Workload:
    """Return a component as the owner of findings, named after the facility and with its own
    kind.
    """
    document = facts.role.anchor.document
    return Workload(facts.root().role.name, facts.kind, "facility", document, facts.role.anchor.path, (facts.role,))
