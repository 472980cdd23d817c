"""Rewriting: fixes carried into the files of a run, as a diff or on the disk, each file whole or not at all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.pipeline import check
from gpulint.policy.resolved import Given
from gpulint.report.formats.escaping import counted
from gpulint.report.model import Report, Skip
from gpulint.source import atomic_write as disk
from gpulint.source.repository import Source, Tree
from gpulint.suggestions import fixes
from gpulint.suggestions.edits import apply as edits
from gpulint.suggestions.edits.apply import Files
from gpulint.suggestions.fixes import Outcome, SkippedFix


class Run(NamedTuple):
    """The files of a run, the report on them as they are, and what fixing them comes to."""

    files: Files
    skipped: tuple[Skip, ...]
    report: Report
    outcome: Outcome


def run(sources: Iterable[Source | Skip], tree: Tree, rules: Given, unsafe: bool) -> Run:
    """Check sources, and work out what answers their findings; nothing is written."""
    found = list(sources)
    files = {one.path: one.content for one in found if isinstance(one, Source)}
    report = check.check_files(found, tree, rules)
    skipped = tuple(one for one in found if isinstance(one, Skip))
    return Run(files, skipped, report, fixed(report, files, tree, rules, unsafe))


def remaining(run: Run, tree: Tree, rules: Given) -> Report:
    """The report on the files of a run after its fixes."""
    if not run.outcome.contents:
        return run.report
    sources = [Source(path, content) for path, content in {**run.files, **run.outcome.contents}.items()]
    return check.check_files([*sources, *run.skipped], tree.rewritten(run.outcome.contents), rules)


def fixed(report: Report, given: Files, tree: Tree, rules: Given, unsafe: bool) -> Outcome:
    """What answers the findings of a report changes in the files that were given, file after file."""
    contents: dict[str, bytes] = {}
    outcomes = []
    for path in dict.fromkeys(one.location.path for one in report.open):
        if path in given:
            now = {**given, **contents}
            evaluate = check.build_evaluator(tree, rules, contents=dict(contents))
            outcome = fixes.fix_file(path, now, evaluate, unsafe)
            contents.update(outcome.contents)
            outcomes.append(outcome)
    return Outcome(
        {path: content for path, content in contents.items() if content != given[path]},
        tuple(one for outcome in outcomes for one in outcome.applied),
        tuple(one for outcome in outcomes for one in outcome.skipped),
        sum(outcome.unsafe for outcome in outcomes),
    )


# ---- what is shown


def diff(before: Files, after: Files) -> str:
    """A unified diff of the files that differ, which `patch -p0` takes."""
    return "".join(_of_file(path, before[path], after[path]) for path in sorted(after))


def _of_file(path: str, before: bytes, after: bytes) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), path, path, n=3)
    return "".join(one if one.endswith("\n") else f"{one}\n\\ No newline at end of file\n" for one in lines)


def _lines(content: bytes) -> list[str]:
    text = edits.decoded(content)
    marked = "\ufeff" if content.startswith(edits.MARK_8) else ""
    return [line for line in (marked + text).replace("\n", "\n\0").split("\0") if line]


def said(outcome: Outcome, preview: bool) -> Iterator[str]:
    """What was done, what was left and why, and what --unsafe would do."""
    for one in outcome.applied:
        place = one.finding.location
        word = "would fix" if preview else "fixed"
        yield f"{word} {place.path}:{place.line} {one.finding.rule}: {one.suggestion.title}"
    for left in outcome.skipped:
        yield _left(left)
    if outcome.unsafe:
        yield f"{counted(outcome.unsafe, 'finding')} with alternatives that give something up or cost more: see --unsafe"


def _left(left: SkippedFix) -> str:
    place = left.finding.location
    return f"not fixed {place.path}:{place.line} {left.finding.rule}: {left.reason}"


# ---- what is written


def write(before: Files, after: Files, tree: Tree) -> Iterator[str]:
    """Put new contents in the place of old ones; yields why where a file is left as it is."""
    for path, content in sorted(after.items()):
        place = tree.writable(path)
        if place is None:
            yield f"not written {path}: it is no file of the repository, or a symbolic link leads to it"
        elif place.read_bytes() != before[path]:
            yield f"not written {path}: it was changed while it was checked"
        else:
            try:
                disk.write(place, content)
            except OSError as error:
                yield f"not written {path}: {(error.strerror or str(error)).lower()}"
