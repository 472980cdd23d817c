"""The gate on the commits of a real history, each against its first parent, beside two checks of both of its sides.

    python bench/history.py CLONE COMMITS [--deep N] [--changed] [--policy] [--write FOLDER]

COMMITS is a file with one commit a line. Only the folders N levels deep are looked at that a commit touches (0: everything).
A finding that the gate lets count though a plain check says the same of the same file on both sides is marked "not new";
one that only head has and the gate does not let count is marked "stood", for somebody to read: a line moved, or a file.
--policy adds --policy-from of the parent. Exit code 1 where the gate failed or a finding is not new.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import gpulint
from gpulint.pipeline import run, session
from gpulint.pipeline.session import Unusable
from gpulint.policy.waivers.base_branch import CommitReader
from gpulint.report.formats import comparison as formats_comparison
from gpulint.report.formats import markdown, text
from gpulint.report.model import Finding, Report
from gpulint.source.git import Git
from gpulint.source.repository.git_tree import GitTree

TODAY = "2026-11-22"
Said = Counter[tuple[str, str, str]]


class Seen(NamedTuple):
    """What the gate says of one commit, and what two checks say of its sides."""

    report: Report
    not_new: list[tuple[str, str, str]]
    stood: list[tuple[str, str, str]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("clone", type=Path)
    parser.add_argument("commits", type=Path)
    parser.add_argument("--deep", type=int, default=0)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--policy", action="store_true")
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    commits, write = asked.commits.read_text("utf-8").split(), asked.write and asked.write.resolve()
    os.chdir(asked.clone)
    totals: Counter[str] = Counter()
    for commit in commits:
        totals["commits"] += 1
        try:
            found = seen(commit, folders(commit, asked.deep), asked.changed, asked.policy)
        except Unusable as error:
            totals["unusable"] += 1
            print(f"{commit[:10]} unusable: {error}", flush=True)
            continue
        totals.update(counted(found))
        print(f"{commit[:10]} {line(found)}", flush=True)
        if write:
            written(write / f"{asked.clone.name}-{commit[:10]}", found.report)
    print(", ".join(f"{number} {name}" for name, number in totals.items()))
    sys.exit(bool(totals["failures"] + totals["not new"]))


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], check=True, capture_output=True).stdout


def folders(commit: str, deep: int) -> list[str]:
    """The folders of a depth that a commit touches on either side."""
    if not deep:
        return ["."]
    names = git("diff", "--name-only", "--no-renames", "-z", f"{commit}^", commit).decode().split("\0")
    return sorted({str(Path(*Path(name).parts[:deep])) for name in names if name})


def seen(commit: str, paths: Sequence[str], changed: bool, policy: bool) -> Seen:
    base = f"{commit}^"
    options = gpulint.Options(today=TODAY, base=base, head=commit, changed=changed, policy_from=base if policy else "")
    report = gpulint.check(list(paths), options)
    before, after = checked(base, paths), checked(commit, paths)
    open_, all_ = said(report.open), said(report.findings)
    return Seen(
        report, list((open_ - (after - before)).elements()), list(((after - before) & (all_ - open_)).elements())
    )


def checked(commit: str, paths: Sequence[str]) -> Said:
    """What a plain check says of the files of a commit."""
    held = Git(Path.cwd())
    tree = GitTree(held, held.commit(commit))
    there = [path for path in paths if tree.has(path)]
    if not there:
        return Counter()
    found = session.prepare(there, gpulint.Options(today=TODAY), tree=tree, reader=CommitReader(tree))
    return said(run.report(found, there).open)


def said(findings: Sequence[Finding]) -> Said:
    return Counter((one.rule, one.location.path, one.message) for one in findings)


def counted(found: Seen) -> Counter[str]:
    report, comparison = found.report, found.report.comparison
    return Counter(
        {
            "failures": len(report.failures),
            "introduced": len(report.open),
            "not new": len(found.not_new),
            "stood": len(found.stood),
            "fixed": len(comparison.gone) if comparison else 0,
            "no longer told": len(comparison.untold) if comparison else 0,
            "workloads changed": len(comparison.changes) if comparison else 0,
        }
    )


def line(found: Seen) -> str:
    sums = ", ".join(f"{number} {name}" for name, number in counted(found).items() if number)
    marks = [f"\n    not new: {one}" for one in found.not_new] + [f"\n    stood: {one}" for one in found.stood]
    comparison = found.report.comparison
    return (
        f"{formats_comparison.render_sentence(comparison) if comparison else ''}; {sums or 'nothing'}{''.join(marks)}"
    )


def written(place: Path, report: Report) -> None:
    """The report for somebody to read, as a comment and as on a terminal."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.with_suffix(".md").write_text(markdown.render(report), encoding="utf-8")
    place.with_suffix(".txt").write_text(text.render(report), encoding="utf-8")


if __name__ == "__main__":
    main()
