"""Precision over a directory of real specs, from findings that were read one by one.

    python bench/precision.py DIR [--read bench/read.tsv]

DIR holds ORG+NAME/PATH. Each finding of today counts as right, doubtful or wrong as `read.tsv` says; one that nobody has read
counts against the ratio. Rows that no longer speak are listed: mended, if they were wrong.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path

from gpulint.pipeline import check
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import selection
from gpulint.report.model import Finding
from gpulint.source import repository


def findings(directory: Path) -> list[Finding]:
    """Every finding over the directory, with all rules and without alternatives."""
    rules = selection.enable_rules(selection.load_rules())
    given = ResolvedPolicy(rules, tuple(rule.name for rule in rules), alternatives=False)
    tree = repository.WorkTree(directory, base=directory)
    return list(check.check_files(tree.sources([str(directory)]), tree, given).findings)


def place(finding: Finding) -> str:
    """ORG/NAME:PATH:LINE of a finding, whose path is relative to the directory."""
    owner, _, rest = finding.location.path.partition("/")
    return f"{owner.replace('+', '/', 1)}:{rest}:{finding.location.line}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--read", type=Path, default=Path(__file__).parent / "read.tsv")
    options = parser.parse_args()
    lines = (line for line in options.read.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    verdicts = {(row["rule"], row["place"]): row["verdict"] for row in csv.DictReader(lines, delimiter="\t")}
    today = {(one.rule, place(one)): one.severity.word for one in findings(options.directory)}
    counts = Counter(verdicts.get(key, "unread") for key in today)
    said = ", ".join(f"{verdict} {counts[verdict]}" for verdict in ("right", "doubtful", "wrong", "unread"))
    print(f"findings {len(today)}: {said}")
    if today:
        print(f"precision {counts['right']}/{len(today)} = {counts['right'] / len(today):.1%}")
    for word in ("error", "warning", "note"):
        own = [verdicts.get(key) for key, severity in today.items() if severity == word]
        if own:
            print(f"  {word}s: {own.count('right')}/{len(own)} = {own.count('right') / len(own):.1%}")
    for rule, where in sorted(today.keys() - verdicts.keys()):
        print(f"unread: {rule} {where}")
    for rule, where in sorted(verdicts.keys() - today.keys()):
        print(f"silent now ({verdicts[rule, where]}): {rule} {where}")


if __name__ == "__main__":
    main()
