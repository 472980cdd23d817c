"""Fix: write suggestions into files; each change is kept only if the same rules confirm it on the
new text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.report.model import Edit, Finding, Replacement, Report, Severity, Suggestion
from gpulint.source import documents
from gpulint.source.documents import Loaded, places
from gpulint.suggestions.edits import splices
from gpulint.suggestions.edits.splices import Inexact

Files = Mapping[str, bytes]
Linted = Callable[[Files, bool], Report]
"""Function that returns the report on files with these contents, with or without suggestions."""

FIXES_OF_A_FILE_MAX = 100
HEAD_LINES = 12
GENERATED = re.compile(
    r"(?i)do not (?:edit|modify)|@generated|\b(?:auto-?|automatically )generated\b|\b(?:code )?generated (?:by|with)\b"
    r"|# Source: \S+/templates/"
)
"""Markers of generated files: Go's convention, `helm template` and others."""
COMMENTS = ("#", "//", "/*", "<!--")
MARK_8, MARKS_16 = b"\xef\xbb\xbf", {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Done(NamedTuple):
    """A finding and the suggestion that was applied."""

    finding: Finding
    suggestion: Suggestion


class Left(NamedTuple):
    """A finding whose suggestions were not applied, with the reason."""

    finding: Finding
    reason: str


class Outcome(NamedTuple):
    """New content of each changed file, applied and skipped findings, and the number that wait for
    --unsafe.
    """

    contents: Files
    done: tuple[Done, ...] = ()
    left: tuple[Left, ...] = ()
    unsafe: int = 0


def fixed(path: str, given: Files, linted: Linted, unsafe: bool) -> Outcome:
    """Fix the findings of one file one by one until none is left that can be fixed.

    `given` are the files that may change. A change is kept if the finding is gone and nothing else
    is new.
    """
    contents: dict[str, bytes] = {}
    done: list[Done] = []
    left: dict[object, Left] = {}
    report = linted({path: given[path]}, True)
    while len(done) < FIXES_OF_A_FILE_MAX and (finding := _find_next(report, left, unsafe)) is not None:
        now = {**given, **contents}
        reasons = []
        for suggestion in _find_permitted(finding, unsafe):
            try:
                _refuse_generated(suggestion, now)
                changed = proven(finding, suggestion, path, now, linted)
            except Inexact as inexact:
                reasons.append(f"{suggestion.title}: {inexact.reason}")
                continue
            contents.update(changed)
            done.append(Done(finding, suggestion))
            report = linted({path: contents.get(path, given[path])}, True)
            break
        else:
            left[_identify(finding)] = Left(finding, "; ".join(dict.fromkeys(reasons)))
    waiting = sum(bool(finding.suggestions) and not _find_permitted(finding, unsafe) for finding in report.open)
    return Outcome(contents, tuple(done), tuple(left.values()), waiting)


def _find_next(report: Report, left: Mapping[object, Left], unsafe: bool) -> Finding | None:
    """Return the most severe open finding that has a permitted suggestion and was not tried
    before.
    """
    open_ones = (
        finding for finding in report.open if _identify(finding) not in left and _find_permitted(finding, unsafe)
    )
    return max(open_ones, key=lambda candidate: candidate.severity, default=None)


def _identify(finding: Finding) -> tuple[str, ...]:
    return finding.rule, finding.fingerprint, finding.message, finding.location.text


def _find_permitted(finding: Finding, unsafe: bool) -> list[Suggestion]:
    """Return the permitted suggestions, safe ones first."""
    safe = [suggestion for suggestion in finding.suggestions if suggestion.is_safe]
    return safe + [suggestion for suggestion in finding.suggestions if unsafe and suggestion not in safe]


# ---- one suggestion


def proven(finding: Finding, suggestion: Suggestion, path: str, given: Files, linted: Linted) -> Files:
    """Return the contents after a suggestion, if it fixes its finding and adds none; else raise
    Inexact.
    """
    changed = written(suggestion, given)
    about = {name: given[name] for name in (path, *changed)}
    before, after = linted(about, False), linted({**about, **changed}, False)
    if objection := _find_objection(finding, before, after, by_word=not suggestion.values):
        raise Inexact(objection)
    return changed


def holds(finding: Finding, suggestion: Suggestion, path: str, given: Files, linted: Linted) -> bool:
    """Return whether a suggestion fixes its finding and adds none."""
    try:
        proven(finding, suggestion, path, given, linted)
    except Inexact:
        return False
    return True


def placed(suggestion: Suggestion, read: Callable[[str], tuple[Loaded, str] | None]) -> Suggestion:
    """Return a suggestion whose edits carry exact replacements where they are certain."""
    return suggestion._replace(
        edits=tuple(edit._replace(exact=_locate_replacement(edit, read)) for edit in suggestion.edits)
    )


def _locate_replacement(edit: Edit, read: Callable[[str], tuple[Loaded, str] | None]) -> Replacement | None:
    found = read(edit.location.path) if edit.location else None
    if edit.location is None or found is None:
        return None
    loaded, text = found
    try:
        start, end, new = splices.of(edit, loaded.documents, text)
    except Inexact:
        return None
    return Replacement(places.of(edit.location.path, text, start, end), new)


def written(suggestion: Suggestion, given: Files) -> dict[str, bytes]:
    """Return the contents of the files that a suggestion changes; raise Inexact if an edit has no
    exact location.
    """
    if not suggestion.edits:
        raise Inexact("no file declares the value it changes")
    by_path: dict[str, list[Edit]] = {}
    for edit in suggestion.edits:
        if edit.location is None:
            raise Inexact(f"there is no place to insert `{edit.new}`")
        by_path.setdefault(edit.location.path, []).append(edit)
    return {path: _edit_file(path, edits, given) for path, edits in by_path.items()}


def _edit_file(path: str, edits: Sequence[Edit], given: Files) -> bytes:
    if path not in given:
        raise Inexact(f"the value is declared in {path}, which is not among the files to fix")
    content = given[path]
    loaded = documents.load(path, content)
    text = decoded(content)
    found = [splices.of(edit, loaded.documents, text) for edit in edits]
    changed = _encode(splices.applied(text, _merge_insertions(found)), content)
    _refuse_damage(loaded, documents.load(path, changed), len(found))
    return changed


def _merge_insertions(found: Sequence[splices.Splice]) -> Iterator[splices.Splice]:
    """Yield text edits, with insertions at the same position merged into one."""
    at: dict[tuple[int, int], list[str]] = {}
    for splice in dict.fromkeys(found):
        at.setdefault((splice.start, splice.end), []).append(splice.new)
    for (start, end), texts in at.items():
        if start == end or len(texts) == 1:
            yield splices.Splice(start, end, "".join(texts))
        else:
            raise Inexact("two of its edits conflict at one location")


def _refuse_generated(suggestion: Suggestion, given: Files) -> None:
    """Raise Inexact for generated files, whose source is the place to change."""
    for path in {edit.location.path for edit in suggestion.edits if edit.location}:
        head = decoded(given.get(path, b"")).splitlines()[:HEAD_LINES]
        if any(GENERATED.search(line) for line in head if line.lstrip().startswith(COMMENTS)):
            raise Inexact(f"{path} is a generated file")


def _refuse_damage(before: Loaded, after: Loaded, edits: int) -> None:
    """Raise Inexact if the file no longer parses or changes beyond the edits."""
    if len(before.documents) != len(after.documents) or len(before.problems) < len(after.problems):
        raise Inexact("the file would no longer parse")
    old, new = _count_leaves(before), _count_leaves(after)
    if (old - new).total() > 2 * edits or (new - old).total() > 2 * edits:
        raise Inexact("other values of the file would change too")


def _count_leaves(loaded: Loaded) -> Counter[tuple[object, ...]]:
    """Count every scalar of a file's documents by its path, without positions in lists."""
    found: Counter[tuple[object, ...]] = Counter()
    pending: list[tuple[tuple[object, ...], object]] = [
        ((at,), document.data) for at, document in enumerate(loaded.documents)
    ]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending.extend(((*path, key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            pending.extend(((*path, "*"), inner) for inner in value)
        else:
            found[(*path, type(value).__name__, str(value))] += 1
    return found


# ---- what the rules say afterwards


def _find_objection(finding: Finding, before: Report, after: Report, by_word: bool) -> str:
    """Return why a change is not better by the rules; empty if it is.

    A rule that reports one wrong word at a time may report the next one afterwards.
    """
    if after.failures or len(after.skipped) > len(before.skipped):
        return "the file could no longer be read completely"
    spoken, now = _collect_severities(before), _collect_severities(after)
    own = _key_subject(finding)
    fewer = len(now.get(own, ())) < len(spoken.get(own, ()))
    if not (fewer or (by_word and not any(one.message == finding.message for one in after.open))):
        return "the finding would remain"
    for subject, severities in now.items():
        if not _is_no_worse(severities, spoken.get(subject, [])):
            return f"{subject[0]} would fire"
    lacking, wanting = _count_unevaluated(before), _count_unevaluated(after)
    if new := wanting - lacking:
        return f"{min(new)[2]} could no longer be evaluated"
    if _count_roles(before) != _count_roles(after):
        return "a workload would no longer be recognised"
    if lost := _count_known_facts(before) - _count_known_facts(after):
        return f"{min(lost)[2]} would become unknown"
    return ""


def _key_subject(finding: Finding) -> tuple[str, ...]:
    return finding.rule, finding.location.path, finding.workload, finding.role


def _collect_severities(report: Report) -> dict[tuple[str, ...], list[Severity]]:
    found: dict[tuple[str, ...], list[Severity]] = {}
    for finding in report.open:
        found.setdefault(_key_subject(finding), []).append(finding.severity)
    return found


def _is_no_worse(after: Sequence[Severity], before: Sequence[Severity]) -> bool:
    """Return whether the findings are no more and, compared from the worst on, no more severe."""
    pairs = zip(sorted(after, reverse=True), sorted(before, reverse=True), strict=False)
    return len(after) <= len(before) and all(severity <= other for severity, other in pairs)


def _count_unevaluated(report: Report) -> Counter[tuple[str, str, str]]:
    return Counter(
        (workload.name, role.name, lack.rule)
        for workload in report.workloads
        for role in workload.roles
        for lack in role.not_evaluated
    )


def _count_roles(report: Report) -> Counter[tuple[str, ...]]:
    """Count the roles of a report with what runs in each of them."""
    return Counter(
        (workload.name, role.name, role.engine, role.architecture)
        for workload in report.workloads
        for role in workload.roles
    )


def _count_known_facts(report: Report) -> Counter[tuple[str, str, str]]:
    """Count the known facts of each role by name, so that no rule passes because one became
    unknown.
    """
    return Counter(
        (workload.name, role.name, fact.name)
        for workload in report.workloads
        for role in workload.roles
        for fact in role.facts
    )


# ---- bytes


def decoded(content: bytes) -> str:
    """Return the text of a file without its byte order mark."""
    encoding = MARKS_16.get(content[:2])
    return content[2:].decode(encoding) if encoding else content.removeprefix(MARK_8).decode("utf-8")


def _encode(text: str, like: bytes) -> bytes:
    """Return a text in the encoding of another file's content, with its byte order mark."""
    encoding = MARKS_16.get(like[:2])
    if encoding:
        return like[:2] + text.encode(encoding)
    return (MARK_8 if like.startswith(MARK_8) else b"") + text.encode("utf-8")
