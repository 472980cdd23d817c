"""Evaluate rules over facts in every scenario, and build findings and lists of missing facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import package_data
from gpulint.facts import basis
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.policy.conditions import cel
from gpulint.policy.rules import identity as rules_identity
from gpulint.policy.rules.rule import Rule, find_placeholders, is_own
from gpulint.report.model import (
    Edit,
    Finding,
    Ground,
    Location,
    NotEvaluated,
    Related,
    RuleCard,
    Scenarios,
    Severity,
    Suggestion,
)
from gpulint.version import SITE
from gpulint.workload import Origin, Role, Value, Workload, list_occurrences

INSTANCE_FAMILIES = frozenset(
    {"memory", "oversizing", "parallelism", "performance", "precision", "serving", "storage", "training"}
)
"""Families of rules about a whole instance. They are evaluated on its first role only."""
SHAPE = ("checkpoint", "accelerator")
"""The facts that identify such an instance, whichever fact a finding points to."""


LABELS: Mapping[str, str] = {
    "abbreviated_argument": "{value} is abbreviated",
    "annotations_place": "belongs in {value}",
    "cores_unstated": "no --cpus-per-task",
    "enforce_eager": "CUDA graphs off",
    "first_node_only": "{value} runs on the first node only",
    "gpus_isolated": "each task sees only its own GPUs",
    "impossible_argument": "{value} is refused",
    "labels_place": "belongs in {value}",
    "least_candidate": "{value} has the least memory",
    "liveness_window_s": "{key}: kills after {value}",
    "local_rendezvous": "{value} means each node itself",
    "missing_profile": "no profile {value} on this GPU",
    "network_devices_absent": "no network devices requested",
    "network_tier_unset": "no network_tier",
    "objective_required": "an objective is required",
    "off_card_program": "{value} does not use a GPU",
    "outdated_argument": "{value} was removed in later releases",
    "permitted_accelerators": "allowed: {value}",
    "pool_taint": "taint: {value}",
    "removed_argument": "{value} was removed in later releases",
    "requeue_refused": "not requeued after a node failure",
    "required_annotations": "required: {value}",
    "required_facts": "required: {value}",
    "required_labels": "required: {value}",
    "retired_launcher": "{value} is deprecated",
    "retired_setting": "{value} was renamed or removed",
    "selector_missing": "{key}: no node selector",
    "standalone": "each node forms a group of its own",
    "startup_budget_s": "{key}: kills after {value}",
    "time_limit_missing": "no --time",
    "unavailable_argument": "{value} is not in this release",
    "misspelt_argument": "{value} is unknown",
    "unexpanded_reference": "{value} is not expanded",
    "unexpanded_variable": "${{{value}}} is not expanded",
    "unknown_argument": "{value} is unknown",
    "unlocked_devices": "{value} without IPC_LOCK",
    "unsplit_argument": "flag and value in one argument",
    "whole_node": "reserves the whole node",
}
"""What a place means, where a name and a value would not say it."""
NAMES: Mapping[str, str] = {
    "enable_chunked_prefill": "chunked prefill",
    "enable_lora": "LoRA",
    "max_input_len": "max input length",
    "max_model_len": "max model length",
    "max_num_batched_tokens": "max batched tokens",
    "max_num_seqs": "max sequences",
    "save_steps": "steps between checkpoints",
}
"""Names of quantities in words, where those of the glossary do not read well."""
ACRONYMS: Mapping[str, str] = {
    **{word: word.upper() for word in ("cpu", "gpu", "kv", "mig", "tpot", "ttft")},
    "gpus": "GPUs",
    "lora": "LoRA",
    "loras": "LoRAs",
}
COUNTED = re.compile(
    r"\{(?P<name>\w+)\}(?: (?:attention|concurrent|CPU|data-parallel|EFA|expert-parallel|granted|KV|LoRA|pipeline|query"
    r"|running|such))? (?:GPUs|answers|bits|checkpoints|cores|devices|engines|experts|heads|inlets|interfaces|layers"
    r"|nodes|pods|prompts|ranks|replicas|requests|slots|stages|steps|tasks|tokens)\b"
)
"""A count in a message, and what it counts."""
LABEL_MAX = 80
"""A longer value is left out of a label: the line above shows it."""
FITTED = ("fitted: ", "measured: ")
"""How the values of fitted rows begin; their sources are in the reference of facts."""
ROOM, ROOM_SHARE = "_room_bytes", 0.25
"""Quantities of memory that is left, and the share of a GPU's memory above which only the worst case fails."""
TEXTS = frozenset({"python", "notebook", "shell"})
"""Formats of files that a checked one only names: it starts them, or takes a value from them."""


class Verdict(NamedTuple):
    """A rule that fires, the number of scenarios in which it does, and the resulting severity.

    If it fires whatever open values are, `facts` are those under which it fires least, and `whatever` says so.
    """

    rule: Rule
    confidence: int
    severity: Severity
    facts: Facts | None = None
    whatever: str = ""


class Outcome(NamedTuple):
    """The results for one role. `holding` names rules that hold in any scenario, reported or not.

    `bounded` names the rules that were evaluated over all members of what the file leaves open.
    """

    verdicts: tuple[Verdict, ...]
    not_evaluated: tuple[NotEvaluated, ...]
    holding: frozenset[str]
    bounded: frozenset[str] = frozenset()


class RuleDefect(Exception):
    """A built-in rule whose condition fails although every fact is known, or any rule whose condition takes too many steps."""


def select(rules: Iterable[Rule], workload: Workload, role: Role) -> Iterator[Rule]:
    """Yield the rules that apply to this role: without a GPU, those about what its own words state."""
    device = role.text("device")
    if device not in ("", "gpu", "cpu"):
        return
    is_part = bool(role.text("part_of"))
    for rule in rules:
        target = rule.target
        if device == "cpu" and not (target.anywhere and all(name in role.fields for name in cel.find_names(rule.when))):
            continue
        if is_part and rule.family in INSTANCE_FAMILIES:
            continue
        if target.scope != "workload" or (target.kind and workload.kind not in target.kind):
            continue
        if target.includes_engine(role.text("engine")):
            yield rule


def evaluate(rules: Iterable[Rule], facts: Facts) -> Outcome:
    """Return the rules that fire after absorption, and those that lack facts."""
    verdicts: list[Verdict] = []
    not_evaluated: list[NotEvaluated] = []
    holding: set[str] = set()
    for rule in rules:
        scenarios = count_scenarios(rule, facts)
        if isinstance(scenarios, Missing):
            not_evaluated.append(NotEvaluated(rule.name, tuple(sorted(scenarios.names))))
        elif scenarios:
            holding.add(rule.name)
            severity = rule.severity.lower_by(3 - scenarios)
            if severity and (scenarios > 1 or _is_plausible(rule, facts)):
                verdicts.append(Verdict(rule, scenarios, severity))
    reported = tuple(verdict for verdict in verdicts if not is_absorbed(verdict, verdicts))
    return Outcome(reported, tuple(not_evaluated), frozenset(holding))


def is_absorbed(verdict: Verdict, others: Iterable[Verdict]) -> bool:
    """True if another rule reports the same cause with at least the same severity.

    The declared severities decide, so that lowering one rule does not surface another. A rule raised by a policy is reported.
    """
    is_raised = verdict.rule.stated is not None and verdict.rule.stated < verdict.rule.severity
    return any(
        verdict.rule.name in other.rule.absorbs
        and _original_level(other) >= _original_level(verdict)
        and not (is_raised and verdict.severity > other.severity)
        for other in others
    )


def _original_level(verdict: Verdict) -> int:
    """Return the severity of a verdict before the policy changed its rule."""
    stated = verdict.rule.stated or verdict.rule.severity
    return stated.lower_by(3 - verdict.confidence) or 0


def count_scenarios(rule: Rule, facts: Facts) -> int | Missing:
    """Return the number of scenarios in which a rule's condition holds, or the missing facts."""
    if any(facts.scenarios(name) == (value, value, value) for name, value in cel.find_guards(rule.when).items()):
        return 0
    resolved = {name: facts.scenarios(name) for name in cel.find_names(rule.when)}
    available = {name: scenarios for name, scenarios in resolved.items() if not isinstance(scenarios, Missing)}
    scenarios = 0
    for count, values in _group_scenarios(available):
        try:
            outcome = cel.evaluate(rule.when, values)
        except cel.KeyAbsent:
            return Missing(frozenset(name for name in resolved if glossary()[name].type == "map"))
        except cel.ConditionError as error:
            if is_own(rule):
                return Missing(frozenset(resolved))
            raise RuleDefect(f"rule {rule.name}: {error}") from None
        except cel.WorkExceeded as error:
            raise RuleDefect(f"rule {rule.name}: {error}") from None
        if outcome is None:
            return Missing(facts.missing(set(resolved) - set(available)))
        scenarios += count * outcome
    return scenarios


def _is_plausible(rule: Rule, facts: Facts) -> bool:
    """True if a rule that holds in one scenario also holds at the end of the printed interval.

    A scenario sets every uncertain term to its worst value at once. A note that contradicts its own interval is a false alarm.
    """
    names = cel.find_names(rule.when)
    if any(_has_room(name, facts) for name in names):
        return False
    values = {name: _end(name, facts) for name in names}
    return cel.evaluate(rule.when, values) is True


def _has_room(name: str, facts: Facts) -> bool:
    """True if a quantity is the memory that a step leaves, and it likely leaves more than `ROOM_SHARE` of the GPU's."""
    room, memory = (facts.number(name), facts.number("device_memory_bytes")) if name.endswith(ROOM) else (None, None)
    return room is not None and memory is not None and room > ROOM_SHARE * memory


def _end(name: str, facts: Facts) -> Value:
    """Return the end of a fact's printed interval on the side of the worst scenario."""
    scenarios, ends = facts.scenarios(name), facts.ends(name)
    if isinstance(scenarios, Missing) or ends is None:
        return None
    if not isinstance(scenarios.worst, int | float) or not isinstance(scenarios.expected, int | float):
        return scenarios.worst
    return ends[0] if scenarios.worst < scenarios.expected else ends[1]


def _group_scenarios(facts: Mapping[str, Scenarios[Value]]) -> Iterator[tuple[int, dict[str, Value]]]:
    """Yield the facts of the scenarios, with the number of scenarios that share them."""
    if all(scenarios.best == scenarios.expected == scenarios.worst for scenarios in facts.values()):
        yield 3, {name: scenarios.expected for name, scenarios in facts.items()}
        return
    for scenario in Scenarios._fields:
        yield 1, {name: getattr(scenarios, scenario) for name, scenarios in facts.items()}


def make_finding(verdict: Verdict, workload: Workload, facts: Facts, told: Role | None = None) -> Finding:
    """Return the finding of a rule that fires, with its location and arithmetic. `told` is the role with merged locations."""
    rule, declared = verdict.rule, facts.role
    role, facts = told or declared, verdict.facts or facts
    primary = _locate(role, rule.at)
    second = _locate(role, [rule.against]) if rule.against else None
    location = (primary[1] if primary else role.anchor).location()
    quantity = primary[0] if primary else ""
    shown = [fact for name in rule.facts if (fact := facts.report(name))]
    return Finding(
        rule=rule.name,
        family=rule.family,
        severity=verdict.severity,
        confidence=verdict.confidence,
        message=_render_message(rule, fill_message(rule.message, facts) + verdict.whatever),
        location=location,
        label=_label(*primary, facts) if primary else "",
        related=(Related(_label(*second, facts), second[1].location()),) if second and second != primary else (),
        arithmetic=tuple(
            fill_message(line, facts) for line in rule.arithmetic if not facts.missing(find_placeholders(line))
        ),
        workload=workload.name,
        role=role.name,
        facts=tuple(shown),
        basis=tuple(_list_grounds(facts, cel.find_names(rule.when), declared)),
        fingerprint=fingerprint(rule.name, location.path, workload.name, role.name, quantity),
        help=rule.why,
        subject=rules_identity.identify_role(workload, role, quantity, _list_compared(rule, role)),
        literal=_find_literal(*primary, facts) if primary else None,
    )


def _list_grounds(facts: Facts, names: Iterable[str], declared: Role) -> Iterator[Ground]:
    """Yield how the values behind a finding are known: first those of the checked files, those of public tables last."""
    grouped: dict[tuple[str, str, Origin | None], list[str]] = {}
    for known in basis.list_known(facts, names, declared):
        place = known.field.origins[0] if known.field and known.field.origins else None
        source = "fitted" if known.source.startswith(FITTED) else known.source
        grouped.setdefault((known.basis, source, place), []).append(known.fact)
    for (kind, source, place), names in sorted(
        grouped.items(), key=lambda entry: (not entry[0][2], entry[0][0] == "catalog")
    ):
        yield Ground(kind, source, tuple(names), place.location() if place else None)


def list_further(verdict: Verdict, workload: Workload, facts: Facts) -> Iterator[tuple[Finding, Facts]]:
    """Yield the findings about the other places in a role where the same mistake occurs, each with its facts."""
    known, rule = verdict.facts or facts, verdict.rule
    name = next((name for name in rule.at if name in known.role.fields), "")
    for occurrence in list_occurrences(known.role.fields, name):
        there = known.variant(known.role.having(**occurrence))
        if count_scenarios(rule, there) in (1, 2, 3):
            finding = make_finding(verdict._replace(facts=there), workload, there)
            value = str(occurrence[name].value)
            yield finding._replace(fingerprint=fingerprint(finding.fingerprint, value)), there


def _find_literal(name: str, origin: Origin, facts: Facts) -> Related | None:
    """Return where another file states a value that a place only names: a program, a sourced script, or variables."""
    field = facts.role.fields.get(name)
    others = (one for one in field.origins if one.document.path != origin.document.path) if field else ()
    literal = next((one for one in others if one.document.format in TEXTS), None)
    return Related(_label(name, literal, facts), literal.location()) if literal is not None else None


def list_cards(findings: Iterable[Finding], rules: Iterable[Rule]) -> dict[str, RuleCard]:
    """Return the rules with findings, as a report shows them."""
    fired = {finding.rule for finding in findings}
    return {rule.name: make_card(rule) for rule in rules if rule.name in fired}


def make_card(rule: Rule) -> RuleCard:
    """Return a rule as a report shows it."""
    is_builtin = rule.path is None or rule.path.is_relative_to(package_data.find_folder("rules"))
    page = f"{SITE}/rules/{rule.name}/" if SITE and is_builtin else ""
    columns = (
        rule.name,
        rule.family,
        rule.severity,
        rule.summary,
        rule.why,
        rule.references,
        rule.status,
        page,
        rule.path,
    )
    return RuleCard(*columns)


def _list_compared(rule: Rule, role: Role) -> tuple[str, ...]:
    """Return the facts that identify a defect: those the rule points to and compares, and the instance.

    A rule that compares only declared values holds for any model and accelerator.
    """
    compared = cel.find_names(rule.when)
    is_instance_rule = rule.family in INSTANCE_FAMILIES and not all(name in role.fields for name in compared)
    return (rule.against, *rule.at, *compared, *(SHAPE if is_instance_rule else ()))


def _render_message(rule: Rule, message: str) -> str:
    """Return a message, with a note for a deprecated rule."""
    return f"{message} (this rule is deprecated and will be removed)" if rule.status == "deprecated" else message


def fingerprint(*identity: str) -> str:
    """Return the identity of a finding, which survives moves within its file."""
    import hashlib

    return hashlib.sha256("\0".join(identity).encode()).hexdigest()[:16]


def fill_message(template: str, facts: Facts) -> str:
    """Return a message with its facts in human units, with an interval if scenarios differ."""
    values = {name: render_fact(name, facts) for name in find_placeholders(template)}
    return _make_singular(template, values).format_map(values)


def _make_singular(template: str, values: Mapping[str, str]) -> str:
    """Return a message in which the noun after a count of 1 is singular.

    >>> _make_singular("{ranks} ranks on {nodes} nodes", {"ranks": "8", "nodes": "1"})
    '{ranks} ranks on {nodes} node'
    """

    def replace(found: re.Match[str]) -> str:
        return found[0][:-1] if values[found["name"]] == "1" else found[0]

    return COUNTED.sub(replace, template)


def render_fact(name: str, facts: Facts) -> str:
    """Return a fact in human units, or "unknown" if it is missing."""
    ends = facts.ends(name)
    if ends is None:
        return "unknown"
    unit = glossary()[name].unit
    expected, low, high = (units.human(value, unit) for value in (facts.expected(name), *ends))
    return expected if low == high else f"{expected} ({low} to {high})"


def _locate(role: Role, names: Sequence[str]) -> tuple[str, Origin] | None:
    """Return the first of these facts that the file declares, with its location."""
    for name in names:
        field = role.fields.get(name)
        if field and field.origins:
            return name, field.origins[0]
    return None


def _label(name: str, origin: Origin, facts: Facts) -> str:
    """The words under a place: what a quantity means there, or the name and value that the file writes."""
    if template := LABELS.get(name):
        key = str(origin.path[-1]) if origin.path else ""
        return template.format(key=key, value=render_fact(name, facts))
    if origin.span is None and not origin.key and origin.path and isinstance(origin.path[-1], str):
        return _quote_setting(origin)
    words = _words(name, glossary()[name].unit)
    if not isinstance(origin.document.get(("apiVersion",)), str):
        words = words.replace("pods per replica", "nodes").replace("pod", "node")
    value = facts.expected(name)
    if value is None or value is True:
        return words
    return f"no {words}" if value is False else f"{words}: {render_fact(name, facts)}"


def _quote_setting(origin: Origin) -> str:
    """A key and its value as the file writes them; a value that does not fit into a few words is left out."""
    *above, key = origin.path
    line = _line(origin.document.get(origin.path))
    if not line or len(line) > LABEL_MAX:
        return str(key)
    variable = origin.document.get((*above, "name")) if key == "value" else None
    return f"{variable}={line}" if isinstance(variable, str) else f"{key}: {line}"


def _line(value: object) -> str:
    """The first line of a value as a file writes it; empty for what holds mappings or lists."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return "" if any(isinstance(item, dict | list) for item in inner) else units.human(value, "")
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or value == "" else str(value).splitlines()[0]


def _words(name: str, unit: str) -> str:
    """The name of a quantity in words, without its unit."""
    words = (name if unit == "parameters" else name.removesuffix(f"_{unit}")).split("_")  # 70.6 B has no unit
    return NAMES.get(name) or " ".join(ACRONYMS.get(word, word) for word in words)


def make_document_finding(
    rule: Rule,
    location: Location,
    message: str,
    related: Iterable[tuple[str, Location]] = (),
    instead: Iterable[tuple[Location, str, str]] = (),
) -> Finding:
    """Return the finding of a rule about a document's text."""
    return Finding(
        rule=rule.name,
        family=rule.family,
        severity=rule.severity,
        confidence=3,
        message=_render_message(rule, message),
        location=location,
        related=tuple(Related(label, place) for label, place in related),
        fingerprint=fingerprint(rule.name, location.path, location.text.strip()),
        suggestions=_suggest_words(rule, tuple(instead)),
        help=rule.why,
    )


def _suggest_words(rule: Rule, instead: Sequence[tuple[Location, str, str]]) -> tuple[Suggestion, ...]:
    """Return the suggestion that replaces wrong words."""
    if not instead:
        return ()
    words = ", ".join(dict.fromkeys(new for _, _, new in instead))
    edits = tuple(Edit("word", place, old, new) for place, old, new in instead)
    return (Suggestion(f"use {words} instead", edits, trade_off=rule.trade_off),)
