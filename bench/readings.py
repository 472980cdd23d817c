"""Findings on repositories that nobody had opened, as two readers judged them, and the share of a hand review that was found.

    python bench/readings.py bench/field/round1

A round is a folder: `findings.tsv` has what the first look printed (findings that say the same in a repository are one row),
`reading_first.tsv` and `reading_second.tsv` the verdicts of readers who did not see each other's, `review.tsv` what a reviewer
wrote of a seeded choice of files before anything was checked, and `recall.tsv` which of the reviewer's certain issues were
found. Only what both readers call right (an error or a warning) or useful (a note) counts.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

GOOD = frozenset({"right", "useful"})
SEVERITIES = ("error", "warning", "note")
Rows = Sequence[dict[str, str]]


def read(path: Path) -> Rows:
    """Return the rows of a table with tabs."""
    with path.open(encoding="utf-8") as text:
        return list(csv.DictReader(text, delimiter="\t", quoting=csv.QUOTE_NONE))


def count_verdicts(round_folder: Path) -> Counter[tuple[str, str]]:
    """Count the findings of each severity by what both readers say of them."""
    first, second = (
        {row["id"]: row["verdict"] for row in read(round_folder / f"reading_{name}.tsv")}
        for name in ("first", "second")
    )
    counts: Counter[tuple[str, str]] = Counter()
    for row in read(round_folder / "findings.tsv"):
        verdicts = first[row["id"]], second[row["id"]]
        agreed = sum(verdict in GOOD for verdict in verdicts)
        counts[row["severity"], ("bad", "disagreed", "good")[agreed]] += 1
    return counts


def count_suggestions(round_folder: Path) -> tuple[int, int]:
    """Return how many suggestions both readers would apply, and of how many findings one was read."""
    first, second = (
        {row["id"]: row["suggestion"] for row in read(round_folder / f"reading_{name}.tsv")}
        for name in ("first", "second")
    )
    read_by_one = [key for key in first if {first[key], second[key]} != {"none"}]
    return sum(first[key] == second[key] == "applied" for key in read_by_one), len(read_by_one)


def render(round_folder: Path) -> str:
    """Return the figures of a round, each with its n."""
    counts = count_verdicts(round_folder)
    lines = []
    for severity in SEVERITIES:
        good, disagreed, bad = (counts[severity, word] for word in ("good", "disagreed", "bad"))
        total = good + disagreed + bad
        lines.append(f"{severity}s: {good} of {total} right to both readers, {disagreed} to one of them")
    applied, suggested = count_suggestions(round_folder)
    lines.append(f"suggestions: {applied} of {suggested} that both readers would apply")
    recall = read(round_folder / "recall.tsv")
    for scope, rows in (("about GPUs", [row for row in recall if row["scope"] == "gpu"]), ("all", recall)):
        found = sum(row["found"] == "yes" for row in rows)
        lines.append(
            f"certain issues of the hand review, {scope}: {found} of {len(rows)} found ({found / len(rows):.1%})"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="+", type=Path, help="folders of rounds")
    for folder in parser.parse_args().rounds:
        print(f"{folder.name}\n{render(folder)}")


if __name__ == "__main__":
    main()
