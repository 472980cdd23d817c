"""The check: every file through the stages parse, enrich, evaluate, suggest, verify and report,
into one Report.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpulint import engines
from gpulint.catalog import tables
from gpulint.facts.glossary import glossary
from gpulint.pipeline import evaluate, file_report, suggest, totals
from gpulint.pipeline import watchdog as watchdogs
from gpulint.pipeline.file_report import FileReport
from gpulint.pipeline.suggest import Suggested
from gpulint.pipeline.watchdog import OutOfTime, Watchdog
from gpulint.policy.config.settings import FILE
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import evaluate as rules_evaluate
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report.model import FacilitySummary, Finding, Report, Skip, WorkloadSummary
from gpulint.source import documents
from gpulint.source.repository import Repository, Source, mentions

ARGUMENT = re.compile(r"state (?P<flag>--[a-z][\w-]*)")
"""A question that names an argument, which not every engine has."""

if TYPE_CHECKING:
    from gpulint.pipeline.facility import Evaluations
    from gpulint.suggestions.verification import Evaluate

TESTS = re.compile(r"(?:^|/)(?:tests|testdata|fixtures|__tests__|\w+_tests)/")
"""Folders whose files tests use, and nobody deploys."""


def check_files(
    sources: Iterable[Source | Skip],
    repository: Repository,
    policy: ResolvedPolicy,
    watchdog: Watchdog = watchdogs.NONE,
) -> Report:
    """Return the report on all sources; a failure of gpulint in one file is counted, and the others
    are still checked.
    """
    files = [_check_source(source, repository, policy, watchdog) for source in sources]
    files += _check_totals(files, repository, policy, watchdog)
    return _merge(files, policy)


def build_evaluator(
    repository: Repository,
    policy: ResolvedPolicy,
    facilities: Evaluations | None = None,
    contents: Mapping[str, bytes] | None = None,
) -> Evaluate:
    """Return a function that evaluates changed files, which verification calls.

    `facilities` are evaluations of earlier texts to reuse; `contents` are other files that are
    changed already.
    """
    known: Evaluations = {} if facilities is None else facilities
    return functools.partial(Evaluation, repository, policy, known, contents or {})


class Evaluation:
    """What the pipeline makes of changed files; each part is worked out once, when it is asked for."""

    def __init__(
        self,
        repository: Repository,
        policy: ResolvedPolicy,
        facilities: Evaluations,
        contents: Mapping[str, bytes],
        files: Mapping[str, bytes],
    ) -> None:
        self._repository = repository.rewritten({**contents, **files})
        self._policy = policy
        self._facilities = facilities
        self._sources = {path: Source(path, content) for path, content in files.items()}
        self._report: Report | None = None

    def roles(self, path: str, workload: str | None = None) -> list[EvaluatedRole]:
        """Return the evaluated roles of one file, or of its workloads of one name."""
        source = self._sources[path]
        return list(evaluate.file(source, self._repository, self._policy, workload, self._facilities).roles)

    def report(self) -> Report:
        """Return the report on the files without suggestions."""
        if self._report is None:
            self._report = self._check(replace(self._policy, alternatives=False))
        return self._report

    def suggestions(self) -> Report:
        """Return the report on the files with suggestions."""
        return self._check(replace(self._policy, alternatives=True))

    def users(self, paths: Collection[str]) -> Mapping[str, bytes]:
        """Return the contents of the files whose workloads may rest on some other files."""
        used = [path for path in sorted(paths) if mentions.is_used(path)]
        users = self._repository.find_users(used).paths if used else ()
        contents = ((path, self._repository.read(path)) for path in users)
        return {path: content for path, content in contents if content is not None}

    def _check(self, policy: ResolvedPolicy) -> Report:
        return check_files(self._sources.values(), self._repository, policy)


def _check_source(
    source: Source | Skip, repository: Repository, policy: ResolvedPolicy, watchdog: Watchdog
) -> FileReport:
    """Check one source; if gpulint itself fails, or its time is up, report that."""
    if isinstance(source, Skip):
        return file_report.skip(source)
    governing = policy.resolve(source.path)
    try:
        return watchdog.watch(lambda: _check_file(source, repository, governing, watchdog))
    except OutOfTime as reason:
        if reason.watchdog is not watchdog:
            raise
        watchdog.rest()
        return file_report.cut_short(source.path, str(reason), governing)
    except Exception as error:  # counted: the report and the exit code say so
        return FileReport(file_report.fail(source.path, "checking the file", error)._replace(files=1))


def _check_totals(
    files: Sequence[FileReport], repository: Repository, policy: ResolvedPolicy, watchdog: Watchdog
) -> list[FileReport]:
    """Return the reports on budgets and facilities, which may take as long as one file."""
    if not totals.has_any(files, policy):
        return []
    try:
        return watchdog.watch(lambda: totals.check(files, repository, policy))
    except OutOfTime as reason:
        if reason.watchdog is not watchdog:
            raise
        watchdog.rest()
        return [file_report.cut_short(FILE, str(reason), policy)]


def _check_file(source: Source, repository: Repository, policy: ResolvedPolicy, watchdog: Watchdog) -> FileReport:
    """Put one file through every stage."""
    evaluated = evaluate.file(source, repository, policy)
    if not evaluated.is_relevant:
        return file_report.pass_by(policy, counts=not documents.is_program(source.path))
    watchdog.look()
    suggested = suggest.generate(evaluated)
    watchdog.look()
    findings = _verify(suggested, repository)
    watchdog.look()
    return file_report.build(suggested, tuple(_lower_in_tests(findings)) if TESTS.search(source.path) else findings)


def _lower_in_tests(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings in a file that tests use one step lower; its notes are left out: nobody deploys it."""
    for finding in findings:
        severity = finding.severity.lower_by(1)
        if severity is not None:
            yield finding._replace(severity=severity)


def _verify(suggested: Suggested, repository: Repository) -> Sequence[Finding]:
    """Return the findings with the suggestions that the changed text accepts; with none if none are
    asked for.
    """
    policy, source = suggested.evaluated.policy, suggested.evaluated.parsed.source
    if not policy.alternatives:
        return [finding._replace(suggestions=()) for finding in suggested.findings]
    if not any(finding.suggestions for finding in suggested.findings):
        return suggested.findings
    from gpulint.pipeline.changed_document import UnchangedFile
    from gpulint.suggestions import verification

    evaluated = suggested.evaluated
    evaluator = build_evaluator(repository, policy, evaluated.facilities)
    unchanged = UnchangedFile(evaluated, repository)
    verifying = verification.Verification(source, evaluator, evaluated.parsed.loaded, unchanged, repository.read)
    found = zip(suggested.findings, suggested.twins, strict=True)
    return list(verification.verify(found, verifying, source, repository.read, suggested.allowance))


# ---- the report on a run


def _merge(files: Sequence[FileReport], policy: ResolvedPolicy) -> Report:
    """Return the reports on all files, budgets and facilities as one; a finding that two of them
    make is listed once.
    """
    reports = [file.report for file in files]
    once: dict[object, Finding] = {}
    for finding in (finding for report in reports for finding in report.findings):
        once.setdefault((finding.rule, finding.location, finding.message, finding.severity), finding)
    findings = tuple(sorted(once.values(), key=Finding.place))
    firing = {rule.name: rule for file in files if file.report.findings for rule in file.rules}
    workloads = tuple(workload for report in reports for workload in report.workloads)
    found = (facility for report in reports for facility in report.facilities)
    facilities = tuple({(entry.location.path, entry.location.line): entry for entry in found}.values())
    return Report(
        findings,
        workloads,
        skipped=tuple(dict.fromkeys(entry for report in reports for entry in report.skipped)),
        failures=tuple(entry for report in reports for entry in report.failures),
        documents=tuple(entry for report in reports for entry in report.documents),
        files=sum(report.files for report in reports),
        asks=_collect_questions(workloads, facilities),
        catalog_date=tables.version(),
        rules=rules_evaluate.list_cards(findings, firing.values()),
        fail_on=policy.fail_on,
        budgets=tuple(entry for report in reports for entry in report.budgets),
        facilities=facilities,
    )


def _collect_questions(workloads: Iterable[WorkloadSummary], facilities: Iterable[FacilitySummary]) -> dict[str, str]:
    """Return how each missing quantity can be declared: as the glossary says, or as the programs that lack it are told."""
    missing: dict[str, set[str]] = {}
    for role in (role for workload in workloads for role in workload.roles):
        for name in (name for entry in role.not_evaluated for name in entry.needs):
            missing.setdefault(name, set()).add(role.engine)
    for name in (name for facility in facilities for entry in facility.not_evaluated for name in entry.needs):
        missing.setdefault(name, set()).add("")
    return {name: _word_question(name, owners) for name, owners in sorted(missing.items())}


def _word_question(name: str, owners: Collection[str]) -> str:
    """Return how a quantity can be declared, without an argument that none of the engines has."""
    ask, meaning = glossary()[name].ask, glossary()[name].meaning or name.replace("_", " ")
    argument = ARGUMENT.match(ask)
    if argument is None:
        return ask or f"state this: {meaning}"
    if any(not engine or engines.takes(engine, argument["flag"]) for engine in owners):
        return ask
    own = (engines.render_argument(engine, "", name, "") for engine in sorted(owners))
    spelling = next(filter(None, own), "").rstrip("= ")
    return f"state {spelling}" if spelling else f"state this: {meaning}"
