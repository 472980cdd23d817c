"""Fixes: verified suggestions written into a file, one finding after another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gpulint.report.model import Failure, Finding, Report, Suggestion
from gpulint.suggestions.edits.apply import Files, decode
from gpulint.suggestions.edits.splices import Inexact
from gpulint.suggestions.verification import Evaluate, apply_verified

FIXES_OF_A_FILE_MAX = 100
HEAD_LINES = 12
GENERATED = re.compile(
    r"(?i)do not (?:edit|modify)|@generated|\b(?:auto-?|automatically )generated\b|\b(?:code )?generated (?:by|with)\b"
    r"|# Source: \S+/templates/"
)
"""What tools write at the top of a file that they generate: Go's convention, `helm template` and
others.
"""
COMMENTS = ("#", "//", "/*", "<!--")


class AppliedFix(NamedTuple):
    """A finding, the suggestion that was written, and the files that it changed."""

    finding: Finding
    suggestion: Suggestion
    paths: frozenset[str] = frozenset()


class SkippedFix(NamedTuple):
    """A finding whose suggestions were not written, and why."""

    finding: Finding
    reason: str


class Outcome(NamedTuple):
    """The new content of each changed file, the applied and the skipped fixes, the findings that
    need --unsafe, and faults of gpulint itself.
    """

    contents: Files
    applied: tuple[AppliedFix, ...] = ()
    skipped: tuple[SkippedFix, ...] = ()
    unsafe: int = 0
    failures: tuple[Failure, ...] = ()


def fix_file(
    path: str,
    files: Files,
    evaluate: Evaluate,
    unsafe: bool,
    accept: Callable[[Report], Report] = lambda report: report,
    content: bytes | None = None,
) -> Outcome:
    """Answer the findings of one file, one after another, until none is left that can be answered.

    `files` are the files that may change; the file itself has other `content` if it is not among them. Each change is
    kept if its finding is gone and nothing else is new. `accept` marks the findings that are left alone.
    """
    own = files[path] if content is None else content
    contents: dict[str, bytes] = {}
    applied: list[AppliedFix] = []
    skipped: dict[object, SkippedFix] = {}
    report = accept(evaluate({path: own}).suggestions())
    while len(applied) < FIXES_OF_A_FILE_MAX and (finding := _find_next(report, skipped, unsafe)) is not None:
        written = _fix_finding(finding, path, {**files, **contents}, evaluate, unsafe, content)
        if isinstance(written, SkippedFix):
            skipped[_key(finding)] = written
            continue
        fix, changed = written
        contents.update(changed)
        applied.append(fix)
        report = accept(evaluate({**contents, path: contents.get(path, own)}).suggestions())
    waiting = sum(bool(finding.suggestions) and not _choose(finding, unsafe) for finding in report.open)
    return Outcome(contents, tuple(applied), tuple(skipped.values()), waiting, report.failures)


def _fix_finding(
    finding: Finding, path: str, files: Files, evaluate: Evaluate, unsafe: bool, content: bytes | None
) -> tuple[AppliedFix, Files] | SkippedFix:
    """Write the first suggestion of a finding that is verified; return why none is, if so."""
    reasons = []
    for suggestion in _choose(finding, unsafe):
        try:
            _refuse_generated(suggestion, files)
            changed = apply_verified(finding, suggestion, path, files, evaluate, content)
            return AppliedFix(finding, suggestion, frozenset(changed)), changed
        except Inexact as inexact:
            reasons.append(f"{suggestion.title}: {inexact.reason}")
    return SkippedFix(finding, "; ".join(dict.fromkeys(reasons)))


def _find_next(report: Report, skipped: Mapping[object, SkippedFix], unsafe: bool) -> Finding | None:
    """Return the most severe open finding that has a suggestion to write and was not skipped; of
    equals, the first.
    """
    findings = (finding for finding in report.open if _key(finding) not in skipped and _choose(finding, unsafe))
    return max(findings, key=lambda finding: finding.severity, default=None)


def _key(finding: Finding) -> tuple[str, ...]:
    return finding.rule, finding.fingerprint, finding.message, finding.location.text


def _choose(finding: Finding, unsafe: bool) -> list[Suggestion]:
    """Return the suggestions that may be written, the safe ones first."""
    safe = [suggestion for suggestion in finding.suggestions if suggestion.is_safe]
    return safe + [suggestion for suggestion in finding.suggestions if unsafe and suggestion not in safe]


def _refuse_generated(suggestion: Suggestion, files: Files) -> None:
    """Raise Inexact for a generated file: the tool would overwrite the change, so its source is the
    place for it.
    """
    for path in {edit.location.path for edit in suggestion.edits if edit.location}:
        head = decode(files.get(path, b"")).splitlines()[:HEAD_LINES]
        if any(GENERATED.search(line) for line in head if line.lstrip().startswith(COMMENTS)):
            raise Inexact(f"{path} is a generated file")
