"""Rewriting: write fixes into the files of a run, as a diff or to disk, each change completely or not
at all.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gpulint.pipeline import check
from gpulint.pipeline import watchdog as watchdogs
from gpulint.pipeline.watchdog import OutOfTime, Watchdog
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.report.escaping import count
from gpulint.report.model import Report, Skip
from gpulint.source import atomic_write, os_errors
from gpulint.source.repository import Source, Tree, mentions
from gpulint.suggestions import fixes
from gpulint.suggestions.edits import apply
from gpulint.suggestions.edits.apply import Files
from gpulint.suggestions.fixes import Outcome, SkippedFix

AddUsers = Callable[[Report, Tree, Sequence[str]], Report]
"""Adds to a report what some files make of others that use them."""


class FixRun(NamedTuple):
    """The files of a run, the report on them, the outcome of fixing them, and why files were not written."""

    files: Files
    skipped: tuple[Skip, ...]
    report: Report
    outcome: Outcome
    refused: Mapping[str, str] = MappingProxyType({})


def compute(
    sources: Iterable[Source | Skip],
    tree: Tree,
    rules: ResolvedPolicy,
    unsafe: bool,
    watchdog: Watchdog = watchdogs.NONE,
    accept: Callable[[Report], Report] = lambda report: report,
    add_users: AddUsers = lambda report, tree, paths: report,
    folders: Sequence[str] = (),
) -> FixRun:
    """Check sources and compute their fixes; nothing is written.

    `accept` marks the findings of a report that a baseline accepts: they are left alone. `add_users` adds to a report
    what the files make of others that use them. Files of variables and of image builds below the `folders` may change too.
    """
    found = list(sources)
    files = {source.path: source.content for source in found if isinstance(source, Source)}
    report = add_users(check.check_files(found, tree, rules, watchdog), tree, tuple(files))
    files |= _read_texts(report, tree, folders)
    skipped = tuple(source for source in found if isinstance(source, Skip))
    outcome = fix_findings(accept(report), files, tree, rules, unsafe, accept, watchdog)
    return FixRun(files, skipped, report._replace(failures=report.failures + outcome.failures), outcome)


def _read_texts(report: Report, tree: Tree, folders: Sequence[str]) -> dict[str, bytes]:
    """Return the files of variables and of image builds below some folders that suggestions would change."""
    inside = [tree.find_root_path(folder) or "" for folder in folders]
    edited = {
        edit.location.path
        for finding in report.open
        for suggestion in finding.suggestions
        for edit in suggestion.edits
        if edit.location is not None and mentions.is_text(edit.location.path)
    }
    below = (path for path in sorted(edited) if _is_below(tree.find_root_path(path), inside))
    return {path: content for path in below if (content := tree.read(path)) is not None}


def _is_below(path: str | None, folders: Sequence[str]) -> bool:
    return path is not None and any(not folder or f"{path}/".startswith(f"{folder}/") for folder in folders)


def check_again(
    run: FixRun,
    tree: Tree,
    rules: ResolvedPolicy,
    watchdog: Watchdog = watchdogs.NONE,
    add_users: AddUsers = lambda report, tree, paths: report,
) -> Report:
    """Return the report on the files of a run after its fixes, with the names of those not written."""
    report = _check_contents(run, tree, rules, watchdog, add_users)
    return report._replace(unwritten=tuple(sorted(run.refused.items())))


def _check_contents(run: FixRun, tree: Tree, rules: ResolvedPolicy, watchdog: Watchdog, add_users: AddUsers) -> Report:
    if not run.outcome.contents:
        return run.report
    contents = {**run.files, **run.outcome.contents}
    sources = [Source(path, content) for path, content in contents.items() if not mentions.is_text(path)]
    changed = tree.rewritten(run.outcome.contents)
    report = check.check_files([*sources, *run.skipped], changed, rules, watchdog)
    report = add_users(report, changed, tuple(run.files))
    return report._replace(failures=report.failures + run.outcome.failures)


def fix_findings(
    report: Report,
    given: Files,
    tree: Tree,
    rules: ResolvedPolicy,
    unsafe: bool,
    accept: Callable[[Report], Report] = lambda report: report,
    watchdog: Watchdog = watchdogs.NONE,
) -> Outcome:
    """Fix the findings of a report, file by file; a file whose fixes take too long stays as it is."""
    contents: dict[str, bytes] = {}
    outcomes = []
    for path in dict.fromkeys(finding.location.path for finding in report.open):
        content = None if path in given else tree.read(path)
        if path in given or content is not None:
            now = {**given, **contents}
            evaluate = check.build_evaluator(tree, rules, contents=dict(contents))
            fix = functools.partial(fixes.fix_file, path, now, evaluate, unsafe, accept, content)
            outcome = _fix_file(path, report, watchdog, fix)
            contents.update(outcome.contents)
            outcomes.append(outcome)
    return Outcome(
        {path: content for path, content in contents.items() if content != given[path]},
        tuple(fixed_finding for outcome in outcomes for fixed_finding in outcome.applied),
        tuple(skipped for outcome in outcomes for skipped in outcome.skipped),
        sum(outcome.unsafe for outcome in outcomes),
        tuple(failure for outcome in outcomes for failure in outcome.failures),
    )


def _fix_file(path: str, report: Report, watchdog: Watchdog, fix: Callable[[], Outcome]) -> Outcome:
    """Return the fixes of a file; none if they take too long."""
    try:
        return watchdog.watch(fix)
    except OutOfTime as reason:
        if reason.watchdog is not watchdog:
            raise
        watchdog.rest()
        first = next(finding for finding in report.open if finding.location.path == path)
        return Outcome({}, skipped=(SkippedFix(first, f"no fix of this file was written: {reason}"),))


# ---- what is shown


def diff(before: Files, after: Files) -> str:
    """Return a unified diff of the changed files, for `patch -p0`."""
    return "".join(_diff_file(path, before[path], after[path]) for path in sorted(after))


def _diff_file(path: str, before: bytes, after: bytes) -> str:
    lines = difflib.unified_diff(_split_lines(before), _split_lines(after), path, path, n=3)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _split_lines(content: bytes) -> list[str]:
    text = apply.decode(content)
    marked = "\ufeff" if content.startswith(apply.MARK_8) else ""
    return [line for line in (marked + text).replace("\n", "\n\0").split("\0") if line]


def describe(outcome: Outcome, preview: bool) -> Iterator[str]:
    """Yield lines about applied and skipped fixes, and about those that need --unsafe."""
    for fixed_finding in outcome.applied:
        place = fixed_finding.finding.location
        word = "would fix" if preview else "fixed"
        yield f"{word} {place.path}:{place.line} {fixed_finding.finding.rule}: {fixed_finding.suggestion.title}"
    for left in outcome.skipped:
        yield _describe_skipped(left)
    if outcome.unsafe:
        yield f"{count(outcome.unsafe, 'finding')} with alternatives that have a trade-off or cost more: see --unsafe"


def _describe_skipped(left: SkippedFix) -> str:
    place = left.finding.location
    return f"not fixed {place.path}:{place.line} {left.finding.rule}: {left.reason}"


# ---- what is written


def write(run: FixRun, tree: Tree) -> FixRun:
    """Write the changed files and return what is on the disk afterwards.

    Files that one change spans are written together or not at all. A file that is not written keeps
    its content, and the fixes in it count as skipped.
    """
    written: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    for group in _group_files(run.outcome):
        reason = _write_group(group, run, tree)
        if reason:
            refused.update(dict.fromkeys(group, reason))
        else:
            written.update({path: run.outcome.contents[path] for path in group})
    found = {path: content for path in refused if (content := _read_again(path, tree)) is not None}
    outcome = run.outcome._replace(
        contents={**written, **{path: content for path, content in found.items() if content != run.files[path]}},
        applied=tuple(fix for fix in run.outcome.applied if not fix.paths & refused.keys()),
        skipped=(*run.outcome.skipped, *_list_unwritten(run.outcome, refused)),
    )
    return run._replace(outcome=outcome, refused=refused)


def _group_files(outcome: Outcome) -> list[tuple[str, ...]]:
    """Return the changed files in groups: a change that spans several files joins them."""
    groups = [{path} for path in sorted(outcome.contents)]
    for fix in outcome.applied:
        joined = [group for group in groups if group & fix.paths]
        groups = [group for group in groups if not group & fix.paths] + [set().union(*joined)] * bool(joined)
    return sorted(tuple(sorted(group)) for group in groups)


def _write_group(group: Sequence[str], run: FixRun, tree: Tree) -> str:
    """Write files that belong together; return why none of them was written, or nothing.

    A fix was verified with all that the run could read: if the system refused anything, none counts.
    """
    if unread := tree.list_unread():
        return f"{unread[0].path} {unread[0].reason}"
    places = {path: tree.writable(path) for path in group}
    if lost := [path for path, place in places.items() if place is None]:
        return _explain(lost[0], group, "it is not a file of the repository, or a symbolic link leads to it")
    changes = [
        atomic_write.Change(place, run.outcome.contents[path], run.files[path])
        for path, place in places.items()
        if place is not None
    ]
    try:
        atomic_write.replace(changes)
    except OSError as error:
        return os_errors.explain(error)
    return ""


def _explain(path: str, group: Sequence[str], reason: str) -> str:
    """Return why a group of files is not written, with the file at fault if there are several."""
    return reason if len(group) == 1 else f"the change spans several files, one of which is {path}: {reason}"


def _read_again(path: str, tree: Tree) -> bytes | None:
    """Return what a file that was not written holds now; None if that cannot be read."""
    place = tree.writable(path)
    try:
        return None if place is None else atomic_write.read(place)
    except OSError:
        return None


def _list_unwritten(outcome: Outcome, refused: Mapping[str, str]) -> Iterator[SkippedFix]:
    """Yield the fixes of files that were not written."""
    for fix in outcome.applied:
        if lost := sorted(fix.paths & refused.keys()):
            yield SkippedFix(fix.finding, f"{lost[0]} was not written: {refused[lost[0]]}")
