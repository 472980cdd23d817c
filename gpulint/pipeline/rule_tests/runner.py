"""Trials: a rule held against its own samples, and in words what is wrong where the two do not agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.pipeline import check as lint
from gpulint.pipeline.check import Judged
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.config.did_you_mean import near
from gpulint.policy.resolved import Given
from gpulint.policy.rules import cel
from gpulint.policy.rules import diagnostics as rule_file
from gpulint.policy.rules.rule import Rule, RuleError, document, examples, placeholders, same_file, shipped_rules
from gpulint.report.model import Finding, Report, Skip
from gpulint.source import documents

SURE = 3
WHOLE_MAX = 2**53


class Said(NamedTuple):
    """What a rule says of a sample: at which of its lines, and how."""

    line: int
    severity: str
    message: str


class Trial(NamedTuple):
    """One sample: the lines at which its rule is expected, what the rule says, and what is wrong about that."""

    side: str
    number: int
    line: int
    text: str
    expected: tuple[int, ...] = ()
    said: tuple[Said, ...] = ()
    complaints: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.complaints

    @property
    def silent(self) -> tuple[int, ...]:
        """The lines at which the rule is expected and says nothing."""
        return tuple(sorted((Counter(self.expected) - Counter(one.line for one in self.said)).elements()))

    @property
    def astray(self) -> tuple[Said, ...]:
        """What the rule says where it is not expected, or once more than it is."""
        left = Counter(self.expected)
        found = []
        for one in self.said:
            left[one.line] -= 1
            if left[one.line] < 0:
                found.append(one)
        return tuple(found)


class Tested(NamedTuple):
    """A rule with its trials, and what is wrong about the rule as a whole; a file that is no rule has only that."""

    name: str
    family: str
    path: str
    trials: tuple[Trial, ...] = ()
    complaints: tuple[str, ...] = ()
    unusable: bool = False

    @property
    def passed(self) -> bool:
        return not self.complaints and all(trial.passed for trial in self.trials)


def run(paths: Iterable[Path], names: Sequence[str]) -> Iterator[Tested]:
    """Every rule of these files, or those of some names or families, each held against its samples."""
    read = [_read(path) for path in paths]
    shipped = shipped_rules()
    own = {one.name: one for one in read if isinstance(one, Rule)}
    known = tuple({**shipped, **own}.values())
    for one in read:
        if names and not {one.name, one.family} & set(names):
            continue
        if isinstance(one, Tested):
            yield one
        elif complaints := tuple(_misplaced(one, own, shipped)):
            yield Tested(one.name, one.family, str(one.path), (), complaints, unusable=True)
        else:
            yield tested(one, known)


def _read(path: Path) -> Rule | Tested:
    try:
        return rule_file.load(path)
    except RuleError as error:
        return Tested(path.stem, path.parent.name, str(path), (), tuple(str(error).splitlines()), unusable=True)


def _misplaced(rule: Rule, own: Mapping[str, Rule], shipped: Mapping[str, Rule]) -> Iterator[str]:
    """What is wrong between a rule and the others: its name, and the names that it gives."""
    where = f"{rule.path}:1:1: "
    if own[rule.name] is not rule:
        yield f"{where}{own[rule.name].path} is called {rule.name} too: a name is one rule's"
    other = shipped.get(rule.name)
    if other is not None and not rule.replaces and not same_file(rule, other):
        yield f"{where}gpulint has a rule {rule.name} of its own: rename the file, or write replaces: true"
    if rule.replaces and other is None:
        yield f"{where}replaces: true, and gpulint has no rule {rule.name}: leave it out"
    for name in rule.absorbs:
        if name not in own and name not in shipped:
            yield f"{where}absorbs: no rule is called {name}{near(name, [*own, *shipped])}"


def tested(rule: Rule, known: Sequence[Rule]) -> Tested:
    """A rule held against each of its samples, in the company of the rules that decide with it what is said."""
    company = _company(rule, known)
    given = samples.given(company, (*known, rule), alternatives=bool(rule.only_with))
    lines = _lines(rule)
    trials = tuple(
        _trial(rule, side, number, lines.get((side, number), 0), str(text), given)
        for side, texts in examples(rule).items()
        for number, text in enumerate(texts, 1)
    )
    judged = any(trial.passed and _about(rule, trial.text, given) for trial in trials if trial.side == "good")
    unseen = "no good sample is one that the rule is about: show the smallest change that makes a bad one right"
    failing = any(not trial.passed for trial in trials if trial.side == "good")
    return Tested(rule.name, rule.family, str(rule.path or ""), trials, () if judged or failing else (unseen,))


def _company(rule: Rule, known: Sequence[Rule]) -> tuple[Rule, ...]:
    """All rules where an alternative decides whether it speaks; else the rule and those that would speak in its place."""
    others = [one for one in known if one.name != rule.name]
    if rule.only_with:
        return (*others, rule)
    return (*(one for one in others if rule.name in one.absorbs), rule)


def _trial(rule: Rule, side: str, number: int, line: int, text: str, given: Given) -> Trial:
    report = samples.report(text, given)
    found = [one for one in report.findings if one.rule == rule.name and one.suppressed is None]
    trial = Trial(side, number, line, text, samples.marked_lines(text), tuple(_said(text, found)))
    complaints = _of_bad(rule, trial, found, report, given) if side == "bad" else _of_good(rule, trial, report, given)
    return trial._replace(complaints=tuple(complaints))


def _said(text: str, found: Iterable[Finding]) -> Iterator[Said]:
    above = {file.path: file.above for file in samples.files_of(text)}
    for one in found:
        sure = ("possible", "likely", "")[one.confidence - 1]
        severity = one.severity.word + (f" ({sure})" if sure else "")
        yield Said(above.get(one.location.path, 0) + one.location.line, severity, one.message)


def _of_bad(rule: Rule, trial: Trial, found: Sequence[Finding], report: Report, given: Given) -> Iterator[str]:
    if not trial.expected:
        yield f"no line of it is marked: put `{samples.MARK}` at the end of the line that the rule must find"
    if trial.silent and not trial.astray:
        yield from _why_silent(rule, trial.text, report, given)
    if trial.astray:
        spoken, marked = (_listed(lines) for lines in ((one.line for one in trial.astray), trial.silent))
        yield f"the rule speaks at line {spoken}" + (f", and is expected at line {marked}" if marked else ", unmarked")
    for one in found:
        if one.confidence < SURE or one.severity != rule.severity:
            yield (
                f"it is said as {one.severity.word}, holding in {one.confidence} of 3 worlds; "
                f"the rule declares {rule.severity.word}: show a clearer case"
            )
        yield from _unfilled(rule, trial.text, given)


def _listed(lines: Iterable[int]) -> str:
    return ", ".join(dict.fromkeys(map(str, lines)))


def _of_good(rule: Rule, trial: Trial, report: Report, given: Given) -> Iterator[str]:
    if trial.expected:
        yield f"a good sample carries no mark; line {trial.expected[0]} has one"
    if trial.said:
        yield f"the rule speaks at line {trial.said[0].line}, and this sample is right"
        return
    yield from _broken(rule, report)
    if lacking := _lacking(rule, report):
        yield f"it passes only because the rule was not evaluated: {lacking}"
    elif not _understood(rule, trial.text, report):
        yield f"it passes only because nothing was read from it: {_unread(rule, report)}"


# ---- why a rule is silent


def _why_silent(rule: Rule, text: str, report: Report, given: Given) -> Iterator[str]:
    """The first reason that explains why a rule says nothing of a sample."""
    broken = list(_broken(rule, report))
    if broken:
        yield from broken
        return
    suppressed = [one for one in report.findings if one.rule == rule.name and one.suppressed is not None]
    if suppressed:
        yield f"a directive in the sample silences the rule at line {suppressed[0].location.line}"
    elif lacking := _lacking(rule, report):
        yield f"the rule was not evaluated: {lacking}"
    elif not _understood(rule, text, report):
        yield f"the rule matches nothing: {_unread(rule, report)}"
    else:
        yield _unheld(rule, text, given)


def _broken(rule: Rule, report: Report) -> Iterator[str]:
    yield from (f"the condition cannot be evaluated: {failure.error}" for failure in report.failures)
    about = f"rule {rule.name} was not evaluated: "
    yield from (
        f"the rule was not evaluated: {skip.reason.removeprefix(about)}"
        for skip in report.skipped
        if skip.reason.startswith(about)
    )


def _lacking(rule: Rule, report: Report) -> str:
    """The facts that a rule lacked, each with how it is stated."""
    needs = {
        need
        for workload in report.workloads
        for role in workload.roles
        for one in role.not_evaluated
        for need in one.needs
        if one.rule == rule.name
    }
    return "; ".join(f"it lacks {need} ({report.asks.get(need, glossary()[need].meaning)})" for need in sorted(needs))


def _understood(rule: Rule, text: str, report: Report) -> bool:
    """Whether a sample holds what a rule of this scope is about: a workload, or a document."""
    if rule.target.scope != "workload":
        return any(documents.load(one.path, one.content).documents for one in samples.sources_of(text)[0])
    return bool(report.workloads)


def _unread(rule: Rule, report: Report) -> str:
    skipped = next((one.reason for one in report.skipped if isinstance(one, Skip)), "")
    if skipped or rule.target.scope != "workload":
        return skipped or "it holds no document"
    kind = next((f"a {one.kind} is read, and in it" for one in report.documents), "there is")
    return f"{kind} no workload on a GPU; does it ask for one?"


def _unheld(rule: Rule, text: str, given: Given) -> str:
    """What the condition sees where it does not hold, or why the rule is not about what the sample holds."""
    roles = _roles(text, given)
    about = [one for one in roles if rule.name in {each.name for each in one.rules}]
    if rule.target.scope == "repository":
        return "the condition holds for no budget here; a part that begins with `# file: gpulint.yaml` states them"
    if rule.target.scope == "document":
        stated = f" of kind {' or '.join(rule.target.kind)}" if rule.target.kind else ""
        return f"the condition holds for no document{stated} here"
    if not about:
        return f"the rule is about {_wanted(rule)}; this is {_held(roles)}"
    seen = "; ".join(dict.fromkeys(_seen(rule, one) for one in about))
    absorbing = {name for one in about for name in one.outcome.holding if rule.name in _absorbed_by(name, one)}
    if rule.name in {name for one in about for name in one.outcome.holding}:
        instead = f"; {', '.join(sorted(absorbing))} speaks in its place" if absorbing else ""
        return f"the condition holds, and nothing is said{instead}: {seen}"
    return f"the condition does not hold: {seen}"


def _absorbed_by(name: str, one: Judged) -> tuple[str, ...]:
    return next((each.absorbs for each in one.rules if each.name == name), ())


def _wanted(rule: Rule) -> str:
    kinds, engines = (" or ".join(words) for words in (rule.target.kind, rule.target.engine))
    return " run by ".join(filter(None, (kinds or "any workload", engines)))


def _held(roles: Iterable[Judged]) -> str:
    told = (
        " run by ".join(filter(None, (one.workload.kind, one.known.role.text("engine") or "an unknown engine")))
        for one in roles
    )
    return ", ".join(dict.fromkeys(told)) or "no workload on a GPU"


def _seen(rule: Rule, one: Judged) -> str:
    return ", ".join(f"{name} is {_value(name, one)}" for name in cel.names(rule.when)) or "it names no fact"


def _value(name: str, one: Judged) -> str:
    worlds = one.known.worlds(name)
    if isinstance(worlds, Missing):
        return "unknown"
    return " / ".join(dict.fromkeys(literal(value) for value in worlds))


def literal(value: object) -> str:
    """A value as a condition would write it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < WHOLE_MAX:
        return str(int(value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _unfilled(rule: Rule, text: str, given: Given) -> Iterator[str]:
    """The facts of a message that the sample leaves unknown."""
    for one in _roles(text, given) if rule.target.scope == "workload" else ():
        for name in placeholders(rule.message):
            if isinstance(one.known.worlds(name), Missing) and rule.name in one.outcome.holding:
                yield f"the message prints {{{name}}}, which is unknown here: {glossary()[name].ask or 'compare it too'}"


def _about(rule: Rule, text: str, given: Given) -> bool:
    """Whether a rule is about anything that a sample holds."""
    if rule.target.scope != "workload":
        return True
    return any(rule.name in {each.name for each in one.rules} for one in _roles(text, given))


def _roles(text: str, given: Given) -> list[Judged]:
    sources, repository = samples.sources_of(text)
    return [one for source in sources for one in lint.judged(source, repository, samples.under(text, given))]


def _lines(rule: Rule) -> Mapping[tuple[str, int], int]:
    """The line of the rule file on which each sample begins."""
    held = document(rule)
    return {
        (side, number): held.locate(("examples", side, number - 1), span=(0, 1)).line
        for side, texts in examples(rule).items()
        for number in range(1, len(texts) + 1)
    }
