"""Verification: a suggestion is shown only if the same rules, evaluated on the changed text, accept
it.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from gpulint.policy.rules.evaluate import Outcome
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, NotEvaluated, Report, Severity, Suggestion
from gpulint.source import documents
from gpulint.source.documents import Loaded
from gpulint.source.repository import Source
from gpulint.suggestions.allowance import Allowance
from gpulint.suggestions.edits import apply
from gpulint.suggestions.edits.apply import ChangedDocument, Files
from gpulint.suggestions.edits.splices import Inexact

Owner = tuple[str, str]
"""The names of a workload and its role, or of a facility and its component."""


class Evaluation(Protocol):
    """What the pipeline makes of some files; each part is worked out once, when it is asked for."""

    def roles(self, path: str, workload: str | None = None) -> Iterable[EvaluatedRole]:
        """Return the evaluated roles of one file, or of its workloads of one name."""

    def report(self) -> Report:
        """Return the report on the files without suggestions."""

    def suggestions(self) -> Report:
        """Return the report on the files with suggestions."""

    def users(self, paths: Collection[str]) -> Files:
        """Return the contents of the files whose workloads may rest on some other files."""


Evaluate = Callable[[Files], Evaluation]
"""Evaluates files with other contents; every other file of the repository stays as it is."""


class Unchanged(Protocol):
    """An evaluated file, of which one document can be changed without reading the others again."""

    def roles(self, workload: str) -> Sequence[EvaluatedRole]:
        """Return the roles of the workloads of one name as the file is."""

    def all_roles(self) -> Sequence[EvaluatedRole]:
        """Return the roles of all workloads as the file is."""

    def change(self, changed: ChangedDocument, workload: str) -> Sequence[EvaluatedRole] | None:
        """Return the same roles after a change; None if it may reach more than one document."""


class Verdicts(NamedTuple):
    """The severity of each rule that fires on an owner, of each rule that those absorb, the rules not evaluated, and those
    that were evaluated over open values.
    """

    firing: Mapping[tuple[Owner, str], int]
    absorbed: Mapping[tuple[Owner, str], int]
    not_evaluated: frozenset[tuple[Owner, str]]
    bounded: frozenset[tuple[Owner, str]]


def clears(rules: Iterable[str], before: Outcome, after: Outcome) -> bool:
    """Whether a change clears these rules in every scenario, and adds no finding and no rule that
    is not evaluated.

    Rules that were evaluated over open values are left to the evaluation of the changed text.
    """
    missing = {entry.rule for entry in before.not_evaluated} | before.bounded
    if not after.holding.isdisjoint(rules) or any(entry.rule not in missing for entry in after.not_evaluated):
        return False
    severities = {verdict.rule.name: verdict.severity for verdict in before.verdicts}
    return all(verdict.severity <= severities.get(verdict.rule.name, 0) for verdict in after.verdicts)


def list_lacking(outcome: Outcome, rules: Iterable[Rule]) -> tuple[NotEvaluated, ...]:
    """Return the rules that lack facts, without those that report nothing unless something smaller does the same."""
    optional = {rule.name for rule in rules if rule.only_with}
    return tuple(entry for entry in outcome.not_evaluated if entry.rule not in optional)


class Verification:
    """The verification of suggestions for one file; each text is evaluated once."""

    def __init__(
        self,
        source: Source,
        evaluate: Evaluate,
        loaded: Loaded | None = None,
        unchanged: Unchanged | None = None,
        read: Callable[[str], bytes | None] = lambda path: None,
    ) -> None:
        path = source.path
        self._source = source
        self._read = read
        self._evaluate_files = evaluate
        self.loaded = loaded
        self._unchanged = unchanged
        self._evaluate = functools.cache(lambda content: evaluate({path: content}))
        self._verdicts = functools.cache(
            lambda content, workload: _collect_verdicts(self._evaluate(content).roles(path, workload))
        )
        self._verdicts_before = functools.cache(
            lambda workload: _collect_verdicts(unchanged.roles(workload) if unchanged is not None else ())
        )

    def find_objection(self, suggestion: Suggestion, rules: Iterable[str], owner: Owner) -> str:
        """Return why the changed text does not clear these rules of an owner, or fires new ones;
        empty if it is better.

        A suggestion with an edit that has no exact location was verified on facts alone.
        """
        path, content = self._source.path, self._source.content
        if any(edit.location is None for edit in suggestion.edits):
            return ""
        cleared = {(owner, rule) for rule in rules}
        if any(edit.location is not None and edit.location.path != path for edit in suggestion.edits):
            return self._find_objection_elsewhere(suggestion, cleared)
        try:
            if (pair := self._change_document(suggestion, owner[0])) is not None:
                return _compare_verdicts(cleared, *pair)
            changed = apply.apply_edits(suggestion, {path: content})[path]
        except Inexact:
            return ""
        return _compare_verdicts(cleared, self._verdicts(content, owner[0]), self._verdicts(changed, owner[0]))

    def _find_objection_elsewhere(self, suggestion: Suggestion, cleared: set[tuple[Owner, str]]) -> str:
        """Return why a change of other files is not better for this one, or worse for another that uses them."""
        path = self._source.path
        elsewhere = {edit.location.path for edit in suggestion.edits if edit.location} - {path}
        contents = {name: content for name in elsewhere if (content := self._read(name)) is not None}
        unchanged = self._evaluate_files({path: self._source.content, **contents})
        try:
            changed = apply.apply_edits(suggestion, {path: self._source.content, **contents})
        except Inexact:
            return ""
        users = {**unchanged.users(elsewhere), path: self._source.content, **contents}
        before, after = self._evaluate_files(users), self._evaluate_files({**users, **changed})
        for name in (path, *sorted(users.keys() - {path})):
            pair = (_collect_verdicts(evaluation.roles(name)) for evaluation in (before, after))
            if objection := _compare_verdicts(cleared if name == path else set(), *pair):
                return objection if name == path else f"{name}: {objection}"
        return ""

    def _change_document(self, suggestion: Suggestion, workload: str) -> tuple[Verdicts, Verdicts] | None:
        """Return the verdicts before and after a suggestion that changes one document of several; None for others."""
        if self.loaded is None or self._unchanged is None or not suggestion.edits:
            return None
        changed = apply.change_document(suggestion, self.loaded, self._source.content)
        after = self._unchanged.change(changed, workload) if changed is not None else None
        return None if after is None else (self._verdicts_before(workload), _collect_verdicts(after))

    def count_roles(self, finding: Finding) -> int:
        """Return how many roles the verification of one suggestion evaluates."""
        if self._unchanged is None:
            return 1
        return max(1, len(self._unchanged.roles(finding.workload) if finding.role else self._unchanged.all_roles()))

    def is_verified(self, finding: Finding, suggestion: Suggestion) -> bool:
        """Whether a suggestion answers its finding in the text: one of values by the verdicts,
        another by the report.
        """
        if suggestion.values:
            return not self.find_objection(suggestion, [finding.rule], (finding.workload, finding.role))
        path = self._source.path
        try:
            apply_verified(finding, suggestion, path, {path: self._source.content}, self._evaluate_text)
        except Inexact:
            return False
        return True

    def _evaluate_text(self, files: Files) -> Evaluation:
        return self._evaluate(files[self._source.path])


def verify(
    findings: Iterable[tuple[Finding, Hashable]],
    verification: Verification,
    source: Source,
    read: Callable[[str], bytes | None],
    allowance: Allowance,
) -> Iterator[Finding]:
    """Yield the findings of a file with the suggestions that its changed text accepts, each with
    the exact edits; without suggestions once the allowance is used.

    Each finding comes with what it has in common with those of twins, which are verified once.
    """
    locate = EditLocator(source, read, verification.loaded)
    accepted: dict[Hashable, list[bool]] = {}
    for finding, twins in findings:
        verdicts = accepted.get(twins)
        if verdicts is None:
            cost = verification.count_roles(finding)
            verdicts = [
                allowance.roles.spend(cost) and verification.is_verified(finding, entry)
                for entry in finding.suggestions
            ]
            if twins is not None:
                accepted[twins] = verdicts
        kept = tuple(itertools.compress(finding.suggestions, verdicts))
        yield finding._replace(suggestions=locate(kept))


def locate_edits(
    suggestions: Iterable[Suggestion], source: Source, read: Callable[[str], bytes | None]
) -> tuple[Suggestion, ...]:
    """Return suggestions whose edits say which characters they change, in a file and in others that
    `read` reads.
    """
    return EditLocator(source, read)(suggestions)


class EditLocator:
    """Says which characters of their files the edits of suggestions change; each file is read once."""

    def __init__(self, source: Source, read: Callable[[str], bytes | None], loaded: Loaded | None = None) -> None:
        self._source = source
        self._read = read
        self._loaded: dict[str, tuple[Loaded, str] | None] = {}
        if loaded is not None and loaded.documents:
            self._loaded[source.path] = loaded, loaded.documents[0].text

    def __call__(self, suggestions: Iterable[Suggestion]) -> tuple[Suggestion, ...]:
        """Return suggestions whose edits say which characters they change."""
        return tuple(apply.locate_edits(suggestion, self._load) for suggestion in suggestions)

    def _load(self, path: str) -> tuple[Loaded, str] | None:
        if path not in self._loaded:
            content = self._source.content if path == self._source.path else self._read(path)
            loaded = documents.load_text(path, content or b"")
            self._loaded[path] = (loaded, apply.decode(content)) if content and loaded.documents else None
        return self._loaded[path]


def apply_verified(
    finding: Finding, suggestion: Suggestion, path: str, files: Files, evaluate: Evaluate, content: bytes | None = None
) -> Files:
    """Return the contents after a suggestion is written; Inexact if it does not answer its finding
    or adds another, also in a file that uses a changed one.

    The checked file has other `content` if it is not among the files that may change.
    """
    changed = apply.apply_edits(suggestion, files)
    elsewhere = changed.keys() - {path}
    users = evaluate({}).users(elsewhere) if elsewhere else {}
    known = {**files, path: files[path] if content is None else content}
    present = {name: known.get(name, users.get(name, b"")) for name in (path, *sorted(users.keys() | changed.keys()))}
    before, after = evaluate(present).report(), evaluate({**present, **changed}).report()
    if objection := _compare_reports(finding, before, after, by_word=not suggestion.values):
        raise Inexact(objection)
    return changed


# ---- verdicts


def _collect_verdicts(roles: Iterable[EvaluatedRole]) -> Verdicts:
    firing: dict[tuple[Owner, str], int] = {}
    absorbed: dict[tuple[Owner, str], int] = {}
    missing: set[tuple[Owner, str]] = set()
    bounded: set[tuple[Owner, str]] = set()
    for role in roles:
        bounded |= {(role.owner, rule) for rule in role.outcome.bounded}
        missing |= {(role.owner, entry.rule) for entry in list_lacking(role.outcome, role.rules)}
        for verdict in role.outcome.verdicts:
            key = role.owner, verdict.rule.name
            absorbed |= {(role.owner, name): verdict.severity for name in verdict.rule.absorbs}
            if not verdict.rule.only_with:
                firing[key] = max(verdict.severity, firing.get(key, 0))
            elif key not in firing:
                firing[key] = 0  # it fires only with a suggestion, which was already verified on facts
    return Verdicts(firing, absorbed, frozenset(missing), frozenset(bounded))


def _compare_verdicts(cleared: set[tuple[Owner, str]], before: Verdicts, after: Verdicts) -> str:
    """Return what the changed text still fires or newly fires; empty if it is better."""
    if remaining := sorted(rule for _, rule in cleared & after.firing.keys()):
        return f"{remaining[0]} would still fire on the changed file"
    known = {**before.absorbed, **before.firing}
    worse = (rule for (owner, rule), severity in after.firing.items() if severity > known.get((owner, rule), 0))
    if new := sorted(worse):
        return f"{new[0]} would fire on the changed file"
    lacking = (after.not_evaluated - before.not_evaluated - before.bounded) | (cleared & after.not_evaluated)
    missing = sorted(rule for _, rule in lacking)
    return f"{missing[0]} could not be evaluated on the changed file" if missing else ""


# ---- reports


def _compare_reports(finding: Finding, before: Report, after: Report, by_word: bool) -> str:
    """Return why the report on the changed files is not better; empty if it is.

    A rule that reports one wrong word at a time may report the next one then.
    """
    if after.failures or len(after.skipped) > len(before.skipped):
        return "the file could no longer be read completely"
    firing, later = _collect_severities(before), _collect_severities(after)
    key = _key(finding)
    fewer = len(later.get(key, ())) < len(firing.get(key, ()))
    if not (fewer or (by_word and not any(other.message == finding.message for other in after.open))):
        return "the finding would remain"
    for other, severities in later.items():
        if not _is_no_worse(severities, firing.get(other, [])):
            return f"{other[0]} would fire"
    if new := _count_not_evaluated(after) - _count_not_evaluated(before):
        return f"{min(new)[2]} could no longer be evaluated"
    if _count_roles(before) != _count_roles(after):
        return "a workload would no longer be recognised"
    if lost := _count_facts(before) - _count_facts(after):
        return f"{min(lost)[2]} would become unknown"
    return ""


def _key(finding: Finding) -> tuple[str, ...]:
    return finding.rule, finding.location.path, finding.workload, finding.role


def _collect_severities(report: Report) -> dict[tuple[str, ...], list[Severity]]:
    found: dict[tuple[str, ...], list[Severity]] = {}
    for finding in report.open:
        found.setdefault(_key(finding), []).append(finding.severity)
    return found


def _is_no_worse(after: Sequence[Severity], before: Sequence[Severity]) -> bool:
    """Whether the findings are no more and, the worst compared with the worst, none is worse."""
    pairs = zip(sorted(after, reverse=True), sorted(before, reverse=True), strict=False)
    return len(after) <= len(before) and all(later <= earlier for later, earlier in pairs)


def _count_not_evaluated(report: Report) -> Counter[tuple[str, str, str]]:
    return Counter(
        (workload.name, role.name, entry.rule)
        for workload in report.workloads
        for role in workload.roles
        for entry in role.not_evaluated
    )


def _count_roles(report: Report) -> Counter[tuple[str, ...]]:
    """Count the roles of a report, each with what runs in it."""
    return Counter(
        (workload.name, role.name, role.engine, role.architecture)
        for workload in report.workloads
        for role in workload.roles
    )


def _count_facts(report: Report) -> Counter[tuple[str, str, str]]:
    """Count the known facts of each role by name: no rule may pass because a value became unknown."""
    return Counter(
        (workload.name, role.name, fact.name)
        for workload in report.workloads
        for role in workload.roles
        for fact in role.facts
    )
