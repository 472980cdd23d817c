"""Every option of `gpulint suggest`, and every alternative of `gpulint check`, over repositories, a line each, to be read.

python bench/suggested.py FOLDER: a folder of repositories. `plan` lines are of suggest, `finding` lines of check.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpulint.pipeline import check
from gpulint.pipeline.plan import plan_file
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import selection
from gpulint.report.model import Suggestion
from gpulint.source import repository


def main(folder: Path) -> None:
    """Print them, and how many files were read."""
    given, files = ResolvedPolicy(selection.enable_rules(selection.load_rules())), 0
    for root in sorted(one for one in folder.iterdir() if one.is_dir()):
        tree = repository.WorkTree(root)
        for source in tree.sources([str(root)]):
            if isinstance(source, repository.Source):
                files += 1
                print(*lines(source, tree, given), sep="", end="", flush=True)
    print(f"{files} files")


def lines(source: repository.Source, tree: repository.Repository, given: ResolvedPolicy) -> Iterator[str]:
    """What is said of one file."""
    report = check.check_files([source], tree, given)
    if not report.workloads:
        return
    for plan in plan_file(source, None, tree, given):
        yield from told(source.path, "plan", plan.now, ", ".join(plan.cures), plan.options)
    for finding in report.findings:
        yield from told(source.path, "finding", finding.message, finding.rule, finding.suggestions)


def told(path: str, kind: str, now: str, rules: str, options: Iterable[Suggestion]) -> Iterator[str]:
    """One line for each option, with its costs and every edit."""
    for one in options:
        cost = f"{one.cost_before_usd_per_hour} to {one.cost_after_usd_per_hour} USD/h"
        edits = "; ".join(
            f"{edit.location.line if edit.location else '?'}: {edit.old} → {edit.new}" for edit in one.edits
        )
        yield "\t".join((path, kind, rules, now, one.title, cost, one.trade_off or "nothing", edits)) + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
