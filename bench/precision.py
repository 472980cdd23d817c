"""Precision over a directory of real specs, from findings that were read one by one.

    python bench/precision.py DIR [--read bench/read.tsv]

DIR holds OWNER+NAME/PATH. Each finding of today counts as right, doubtful or wrong as `read.tsv` says; one that nobody has read
counts against the ratio. Rows that no longer speak are listed: mended, if they were wrong.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path

from gpulint import lint, repository
from gpulint.findings import Finding
from gpulint.policy import policy


def findings(directory: Path) -> list[Finding]:
    """Every finding over the directory, with all rules and without alternatives."""
    rules = policy.selected((), (), ())
    given = lint.Given(rules, tuple(rule.name for rule in rules), alternatives=False)
    tree = repository.WorkTree(directory, base=directory)
    return list(lint.lint(tree.sources([str(directory)]), tree, given).findings)


def place(finding: Finding, directory: Path) -> str:
    """OWNER/NAME:PATH:LINE of a finding."""
    path = Path(finding.location.path).resolve().relative_to(directory.resolve()).as_posix()
    owner, _, rest = path.partition("/")
    return f"{owner.replace('+', '/', 1)}:{rest}:{finding.location.line}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--read", type=Path, default=Path(__file__).parent / "read.tsv")
    options = parser.parse_args()
    lines = (line for line in options.read.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    verdicts = {(row["rule"], row["place"]): row["verdict"] for row in csv.DictReader(lines, delimiter="\t")}
    today = {(one.rule, place(one, options.directory)) for one in findings(options.directory)}
    counts = Counter(verdicts.get(key, "unread") for key in today)
    said = ", ".join(f"{verdict} {counts[verdict]}" for verdict in ("right", "doubtful", "wrong", "unread"))
    print(f"findings {len(today)}: {said}")
    if today:
        print(f"precision {counts['right']}/{len(today)} = {counts['right'] / len(today):.1%}")
    for rule, where in sorted(today - set(verdicts)):
        print(f"unread: {rule} {where}")
    for rule, where in sorted(set(verdicts) - today):
        print(f"silent now ({verdicts[rule, where]}): {rule} {where}")


if __name__ == "__main__":
    main()
