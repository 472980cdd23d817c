"""Rewriting: write fixes into the files of a run, as a diff or to disk, each file completely or not
at all.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.pipeline import check
from gpulint.pipeline import watchdog as watchdogs
from gpulint.pipeline.watchdog import Watchdog
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.report.escaping import count
from gpulint.report.model import Report, Skip
from gpulint.source import atomic_write
from gpulint.source.repository import Source, Tree
from gpulint.suggestions import fixes
from gpulint.suggestions.edits import apply
from gpulint.suggestions.edits.apply import Files
from gpulint.suggestions.fixes import Outcome, SkippedFix


class FixRun(NamedTuple):
    """The files of a run, the report on them, and the outcome of fixing them."""

    files: Files
    skipped: tuple[Skip, ...]
    report: Report
    outcome: Outcome


def compute(
    sources: Iterable[Source | Skip],
    tree: Tree,
    rules: ResolvedPolicy,
    unsafe: bool,
    watchdog: Watchdog = watchdogs.NONE,
) -> FixRun:
    """Check sources and compute their fixes; nothing is written."""
    found = list(sources)
    files = {source.path: source.content for source in found if isinstance(source, Source)}
    report = check.check_files(found, tree, rules, watchdog)
    skipped = tuple(source for source in found if isinstance(source, Skip))
    return FixRun(files, skipped, report, fix_findings(report, files, tree, rules, unsafe))


def check_again(run: FixRun, tree: Tree, rules: ResolvedPolicy) -> Report:
    """Return the report on the files of a run after its fixes."""
    if not run.outcome.contents:
        return run.report
    sources = [Source(path, content) for path, content in {**run.files, **run.outcome.contents}.items()]
    return check.check_files([*sources, *run.skipped], tree.rewritten(run.outcome.contents), rules)


def fix_findings(report: Report, given: Files, tree: Tree, rules: ResolvedPolicy, unsafe: bool) -> Outcome:
    """Fix the findings of a report, file by file."""
    contents: dict[str, bytes] = {}
    outcomes = []
    for path in dict.fromkeys(finding.location.path for finding in report.open):
        if path in given:
            now = {**given, **contents}
            evaluate = check.build_evaluator(tree, rules, contents=dict(contents))
            outcome = fixes.fix_file(path, now, evaluate, unsafe)
            contents.update(outcome.contents)
            outcomes.append(outcome)
    return Outcome(
        {path: content for path, content in contents.items() if content != given[path]},
        tuple(fixed_finding for outcome in outcomes for fixed_finding in outcome.applied),
        tuple(skipped for outcome in outcomes for skipped in outcome.skipped),
        sum(outcome.unsafe for outcome in outcomes),
    )


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


def write(before: Files, after: Files, tree: Tree) -> Iterator[str]:
    """Replace old contents with new ones; yield the reason for each file that is left unchanged."""
    for path, content in sorted(after.items()):
        place = tree.writable(path)
        if place is None:
            yield f"not written {path}: it is not a file of the repository, or a symbolic link leads to it"
        elif place.read_bytes() != before[path]:
            yield f"not written {path}: it changed during the check"
        else:
            try:
                atomic_write.write(place, content)
            except OSError as error:
                yield f"not written {path}: {(error.strerror or str(error)).lower()}"
