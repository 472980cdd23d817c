"""Rule tests: run rules on their own examples and explain mismatches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.pipeline import evaluate
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.conditions import cel
from gpulint.policy.did_you_mean import suggest
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import diagnostics
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import (
    Rule,
    RuleError,
    find_placeholders,
    is_same_file,
    load_document,
    load_examples,
    load_shipped,
)
from gpulint.report.model import Finding, Report, Skip
from gpulint.source import documents

SURE = 3
WHOLE_MAX = 2**53


class ReportedLine(NamedTuple):
    """A finding of the rule on an example: its line, severity and message."""

    line: int
    severity: str
    message: str


class Trial(NamedTuple):
    """One example: the expected lines, the findings of the rule, and the complaints."""

    side: str
    number: int
    line: int
    text: str
    expected: tuple[int, ...] = ()
    said: tuple[ReportedLine, ...] = ()
    complaints: tuple[str, ...] = ()

    @property
    def has_passed(self) -> bool:
        return not self.complaints

    @property
    def silent(self) -> tuple[int, ...]:
        """The expected lines without a finding."""
        return tuple(sorted((Counter(self.expected) - Counter(reported.line for reported in self.said)).elements()))

    @property
    def astray(self) -> tuple[ReportedLine, ...]:
        """The findings at unexpected lines, or beyond the expected number."""
        left = Counter(self.expected)
        found = []
        for reported in self.said:
            left[reported.line] -= 1
            if left[reported.line] < 0:
                found.append(reported)
        return tuple(found)


class RuleTest(NamedTuple):
    """A rule with its trials and complaints about the rule itself; a file that is no rule has only
    complaints.
    """

    name: str
    family: str
    path: str
    trials: tuple[Trial, ...] = ()
    complaints: tuple[str, ...] = ()
    unusable: bool = False

    @property
    def has_passed(self) -> bool:
        return not self.complaints and all(trial.has_passed for trial in self.trials)


def run(paths: Iterable[Path], names: Sequence[str]) -> Iterator[RuleTest]:
    """Test every rule of these files, or those of some names or families."""
    read = [_load_rule(path) for path in paths]
    shipped = load_shipped()
    own = {rule.name: rule for rule in read if isinstance(rule, Rule)}
    every_rule = tuple({**shipped, **own}.values())
    for rule in read:
        if names and not {rule.name, rule.family} & set(names):
            continue
        if isinstance(rule, RuleTest):
            yield rule
        elif complaints := tuple(_find_conflicts(rule, own, shipped)):
            yield RuleTest(rule.name, rule.family, str(rule.path), (), complaints, unusable=True)
        else:
            yield test_rule(rule, every_rule)


def _load_rule(path: Path) -> Rule | RuleTest:
    try:
        return diagnostics.load(path)
    except RuleError as error:
        return RuleTest(path.stem, path.parent.name, str(path), (), tuple(str(error).splitlines()), unusable=True)


def _find_conflicts(rule: Rule, own: Mapping[str, Rule], shipped: Mapping[str, Rule]) -> Iterator[str]:
    """Yield conflicts of a rule with others: its name, and the names that it uses."""
    where = f"{rule.path}:1:1: "
    if own[rule.name] is not rule:
        yield f"{where}{own[rule.name].path} is named {rule.name} too: rule names must be unique"
    other = shipped.get(rule.name)
    if other is not None and not rule.replaces and not is_same_file(rule, other):
        yield f"{where}gpulint has a rule {rule.name} of its own: rename the file, or write replaces: true"
    if rule.replaces and other is None:
        yield f"{where}replaces: true, but gpulint has no rule {rule.name}: remove it"
    for name in rule.absorbs:
        if name not in own and name not in shipped:
            yield f"{where}absorbs: no rule is called {name}{suggest(name, [*own, *shipped])}"


def test_rule(rule: Rule, every_rule: Sequence[Rule]) -> RuleTest:
    """Test a rule on each of its examples, together with the rules that influence its findings."""
    company = _find_company(rule, every_rule)
    given = samples.build_policy(company, (*every_rule, rule), alternatives=bool(rule.only_with))
    lines = _find_lines(rule)
    trials = tuple(
        _test_sample(rule, side, number, lines.get((side, number), 0), str(text), given)
        for side, texts in load_examples(rule).items()
        for number, text in enumerate(texts, 1)
    )
    judged = any(trial.has_passed and _applies(rule, trial.text, given) for trial in trials if trial.side == "good")
    unseen = "no good sample contains what the rule applies to: show the smallest change that makes a bad one right"
    failing = any(not trial.has_passed for trial in trials if trial.side == "good")
    return RuleTest(rule.name, rule.family, str(rule.path or ""), trials, () if judged or failing else (unseen,))


def _find_company(rule: Rule, every_rule: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return all rules if a suggestion decides whether the rule fires; else the rule and those that
    absorb it.
    """
    others = [other for other in every_rule if other.name != rule.name]
    if rule.only_with:
        return (*others, rule)
    return (*(other for other in others if rule.name in other.absorbs), rule)


def _test_sample(rule: Rule, side: str, number: int, line: int, text: str, given: ResolvedPolicy) -> Trial:
    report = samples.report(text, given)
    found = [finding for finding in report.findings if finding.rule == rule.name and finding.suppressed is None]
    trial = Trial(side, number, line, text, samples.find_marked_lines(text), tuple(_list_reported(text, found)))
    complaints = (
        _check_bad(rule, trial, found, report, given) if side == "bad" else _check_good(rule, trial, report, given)
    )
    return trial._replace(complaints=tuple(complaints))


def _list_reported(text: str, found: Iterable[Finding]) -> Iterator[ReportedLine]:
    above = {file.path: file.above for file in samples.split_files(text)}
    for finding in found:
        sure = ("possible", "likely", "")[finding.confidence - 1]
        severity = finding.severity.word + (f" ({sure})" if sure else "")
        yield ReportedLine(above.get(finding.location.path, 0) + finding.location.line, severity, finding.message)


def _check_bad(
    rule: Rule, trial: Trial, found: Sequence[Finding], report: Report, given: ResolvedPolicy
) -> Iterator[str]:
    if not trial.expected:
        yield f"no line of it is marked: put `{samples.MARK}` at the end of the line that the rule must find"
    if trial.silent and not trial.astray:
        yield from _explain_silence(rule, trial.text, report, given)
    if trial.astray:
        spoken, marked = (_join_lines(lines) for lines in ((reported.line for reported in trial.astray), trial.silent))
        yield f"the rule fires at line {spoken}" + (
            f", but is expected at line {marked}" if marked else ", which is not marked"
        )
    for finding in found:
        if finding.confidence < SURE or finding.severity != rule.severity:
            yield (
                f"it is reported as {finding.severity.word}, firing in {finding.confidence} of 3 scenarios; "
                f"the rule declares {rule.severity.word}: show a clearer case"
            )
        yield from _find_unfilled(rule, trial.text, given)


def _join_lines(lines: Iterable[int]) -> str:
    return ", ".join(dict.fromkeys(map(str, lines)))


def _check_good(rule: Rule, trial: Trial, report: Report, given: ResolvedPolicy) -> Iterator[str]:
    if trial.expected:
        yield f"a good sample must not be marked; line {trial.expected[0]} is"
    if trial.said:
        yield f"the rule fires at line {trial.said[0].line}, but this sample is good"
        return
    yield from _find_failures(rule, report)
    if lacking := _find_missing(rule, report):
        yield f"it passes only because the rule was not evaluated: {lacking}"
    elif not _is_read(rule, trial.text, report):
        yield f"it passes only because nothing was read from it: {_explain_unread(rule, report)}"


# ---- why a rule is silent


def _explain_silence(rule: Rule, text: str, report: Report, given: ResolvedPolicy) -> Iterator[str]:
    """Yield the first reason why a rule does not fire on an example."""
    broken = list(_find_failures(rule, report))
    if broken:
        yield from broken
        return
    suppressed = [
        finding for finding in report.findings if finding.rule == rule.name and finding.suppressed is not None
    ]
    if suppressed:
        yield f"a directive in the sample suppresses the rule at line {suppressed[0].location.line}"
    elif lacking := _find_missing(rule, report):
        yield f"the rule was not evaluated: {lacking}"
    elif not _is_read(rule, text, report):
        yield f"the rule matches nothing: {_explain_unread(rule, report)}"
    else:
        yield _explain_condition(rule, text, given)


def _find_failures(rule: Rule, report: Report) -> Iterator[str]:
    yield from (f"the condition cannot be evaluated: {failure.error}" for failure in report.failures)
    about = f"rule {rule.name} was not evaluated: "
    yield from (
        f"the rule was not evaluated: {skip.reason.removeprefix(about)}"
        for skip in report.skipped
        if skip.reason.startswith(about)
    )


def _find_missing(rule: Rule, report: Report) -> str:
    """Return the facts that a rule lacked, each with how to declare it."""
    needs = {
        need
        for workload in report.workloads
        for role in workload.roles
        for lack in role.not_evaluated
        for need in lack.needs
        if lack.rule == rule.name
    }
    return "; ".join(f"it lacks {need} ({report.asks.get(need, glossary()[need].meaning)})" for need in sorted(needs))


def _is_read(rule: Rule, text: str, report: Report) -> bool:
    """Return whether an example contains what a rule of this scope applies to: a workload or a
    document.
    """
    if rule.target.scope != "workload":
        return any(documents.load(source.path, source.content).documents for source in samples.load_sources(text)[0])
    return bool(report.workloads)


def _explain_unread(rule: Rule, report: Report) -> str:
    skipped = next((skip.reason for skip in report.skipped if isinstance(skip, Skip)), "")
    if skipped or rule.target.scope != "workload":
        return skipped or "it holds no document"
    kind = next((f"a {document.kind} was read, but it contains" for document in report.documents), "there is")
    return f"{kind} no workload on a GPU; does it request one?"


def _explain_condition(rule: Rule, text: str, given: ResolvedPolicy) -> str:
    """Return what the condition sees where it does not hold, or why the rule does not apply."""
    roles = _evaluate_roles(text, given)
    about = [role for role in roles if rule.name in {rule.name for rule in role.rules}]
    if rule.target.scope == "repository":
        return "the condition holds for no budget here; a part that begins with `# file: gpulint.yaml` declares them"
    if rule.target.scope == "document":
        stated = f" of kind {' or '.join(rule.target.kind)}" if rule.target.kind else ""
        return f"the condition holds for no document{stated} here"
    if not about:
        return f"the rule applies to {_describe_target(rule)}; this is {_describe_roles(roles)}"
    seen = "; ".join(dict.fromkeys(_describe_values(rule, role) for role in about))
    absorbing = {name for role in about for name in role.outcome.holding if rule.name in _find_absorbed(name, role)}
    if rule.name in {name for role in about for name in role.outcome.holding}:
        instead = f"; {', '.join(sorted(absorbing))} fires instead" if absorbing else ""
        return f"the condition holds, but no finding is reported{instead}: {seen}"
    return f"the condition does not hold: {seen}"


def _find_absorbed(name: str, role: EvaluatedRole) -> tuple[str, ...]:
    return next((rule.absorbs for rule in role.rules if rule.name == name), ())


def _describe_target(rule: Rule) -> str:
    kinds = " or ".join(rule.target.kind) or "any workload"
    return " run by ".join(filter(None, (kinds, rule.target.describe_engines())))


def _describe_roles(roles: Iterable[EvaluatedRole]) -> str:
    descriptions = (
        " run by ".join(filter(None, (role.workload.kind, role.facts.role.text("engine") or "an unknown engine")))
        for role in roles
    )
    return ", ".join(dict.fromkeys(descriptions)) or "no workload on a GPU"


def _describe_values(rule: Rule, role: EvaluatedRole) -> str:
    return (
        ", ".join(f"{name} is {_render_value(name, role)}" for name in cel.find_names(rule.when)) or "it names no fact"
    )


def _render_value(name: str, role: EvaluatedRole) -> str:
    scenarios = role.facts.scenarios(name)
    if isinstance(scenarios, Missing):
        return "unknown"
    return " / ".join(dict.fromkeys(render_literal(value) for value in scenarios))


def render_literal(value: object) -> str:
    """Return a value as a condition would write it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{render_literal(key)}: {render_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(render_literal, value)) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE_MAX:
        return str(int(value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _find_unfilled(rule: Rule, text: str, given: ResolvedPolicy) -> Iterator[str]:
    """Yield the facts of a message that the example leaves unknown."""
    for role in _evaluate_roles(text, given) if rule.target.scope == "workload" else ():
        for name in find_placeholders(rule.message):
            if isinstance(role.facts.scenarios(name), Missing) and rule.name in role.outcome.holding:
                yield f"the message prints {{{name}}}, which is unknown here: {glossary()[name].ask or 'compare it too'}"


def _applies(rule: Rule, text: str, given: ResolvedPolicy) -> bool:
    """Return whether a rule applies to anything in an example."""
    if rule.target.scope != "workload":
        return True
    return any(rule.name in {rule.name for rule in role.rules} for role in _evaluate_roles(text, given))


def _evaluate_roles(text: str, given: ResolvedPolicy) -> list[EvaluatedRole]:
    sources, repository = samples.load_sources(text)
    policy = samples.resolve_policy(text, given)
    return [role for source in sources for role in evaluate.file(source, repository, policy).roles]


def _find_lines(rule: Rule) -> Mapping[tuple[str, int], int]:
    """Return the line of the rule file on which each example begins."""
    rule_document = load_document(rule)
    return {
        (side, number): rule_document.locate(("examples", side, number - 1), span=(0, 1)).line
        for side, texts in load_examples(rule).items()
        for number in range(1, len(texts) + 1)
    }
