"""Known mistakes that must be found at their line, and look-alikes that must stay silent.

    python bench/cases.py DIR [--cases bench/cases.tsv]

A `speak` row is found when a finding has its first line, or that of a related place, exactly there. A `silent` row is kept
when no finding of the families it is about is in the file; those that are there are listed either way.
"""

from __future__ import annotations

import argparse
import csv
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from alone import Folder

from gpulint.report.model import Finding

SHIPPED = Path(__file__).parent / "cases.tsv"
ABOUT: Mapping[str, frozenset[str]] = {"N02": frozenset({"parallelism"}), "N03": frozenset({"parallelism"})}
"""What a silent row is about, where that is not everything but the text itself (`syntax`, `suppressions`)."""
ABOUT_THE_TEXT = frozenset({"syntax", "suppressions"})


class Case(NamedTuple):
    """A row of the table; `line` is None for a whole file."""

    id: str
    path: str
    line: int | None
    speak: bool
    words: str


class Outcome(NamedTuple):
    """A case, whether it came out as it must, and the findings that bear on it."""

    case: Case
    right: bool
    findings: tuple[Finding, ...]
    missing: bool = False


def cases(path: Path) -> Iterator[Case]:
    """The rows of the table."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(
            (line for line in file if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE
        )
        for row in rows:
            line = int(row["line"]) if row["line"].isdigit() else None
            yield Case(row["id"], row["path"], line, row["expect"] == "speak", row["rule_words"])


def judged(folder: Folder, expected: Iterator[Case]) -> Iterator[Outcome]:
    """The outcome of each case; a file that is not there is neither right nor wrong."""

    @functools.cache
    def findings(path: str) -> tuple[Finding, ...]:
        return folder.report(path).report.findings

    for case in expected:
        if not (folder.root / case.path).is_file():
            yield Outcome(case, False, (), missing=True)
        elif case.speak:
            there = tuple(one for one in findings(case.path) if case.line in _lines(one))
            yield Outcome(case, bool(there), there)
        else:
            against = tuple(one for one in findings(case.path) if _is_against(case, one))
            yield Outcome(case, not against, findings(case.path))


def _lines(finding: Finding) -> set[int]:
    return {finding.location.line, *(related.location.line for related in finding.related)}


def _is_against(case: Case, finding: Finding) -> bool:
    about = ABOUT.get(case.id)
    return finding.family in about if about else finding.family not in ABOUT_THE_TEXT


def as_text(outcomes: list[Outcome]) -> str:
    """n of N for each id, then each case with what is said there."""
    lines = []
    for id_ in dict.fromkeys(outcome.case.id for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.case.id == id_]
        word = "found" if own[0].case.speak else "silent"
        absent = sum(outcome.missing for outcome in own)
        note = f" ({absent} not in the directory)" if absent else ""
        lines.append(f"{id_:<5} {word} {sum(outcome.right for outcome in own)}/{len(own)}{note}")
        lines += [line for outcome in own for line in _detail(outcome)]
    for speak, word in ((True, "must speak: found"), (False, "must stay silent: silent")):
        own = [outcome for outcome in outcomes if outcome.case.speak is speak and not outcome.missing]
        lines.append(f"{word} {sum(outcome.right for outcome in own)}/{len(own)}")
    return "\n".join(lines)


def _detail(outcome: Outcome) -> Iterator[str]:
    case = outcome.case
    if not outcome.right:
        yield f"      WRONG {case.path}:{case.line or '-'}: {case.words}"
    if outcome.right and case.speak:
        return
    for one in outcome.findings:
        yield f"        {one.severity.word} {one.rule} at {one.location.line}: {one.message}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--cases", type=Path, default=SHIPPED)
    arguments = parser.parse_args()
    outcomes = list(judged(Folder(arguments.dir), cases(arguments.cases)))
    print(as_text(outcomes))
    sys.exit(any(not outcome.right and not outcome.missing for outcome in outcomes))


if __name__ == "__main__":
    main()
