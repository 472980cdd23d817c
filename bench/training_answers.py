"""Whether world size and batch of training files are right, against answers read by eye before gpulint read them.

    python bench/training_answers.py DIR [--answers bench/training_answers.tsv] [--list]

A file counts as right in a column when every one of its training runs is, in order. What we do not know is wrong unless the
reader could not tell either (`?`, `var`, `auto`); what we assert against that is wrong too. Identity: whether
the global batch is what its parts make (holds, broken, or open where a part is not known).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import alone
import answers
from alone import Folder, share

from gpulint.facts.model import Facts, Missing

SHIPPED = Path(__file__).with_name("training_answers.tsv")
QUANTITIES: Mapping[str, str] = {
    "world": "world_size",
    "micro_batch": "micro_batch_size",
    "data_parallel": "training_copies",
    "tensor_parallel": "tensor_parallel",
    "pipeline_parallel": "pipeline_parallel",
    "context_parallel": "context_parallel",
    "sequence": "sequence_length",
}
NOT_STATED = frozenset({"?", "var", "auto", "default", "-"})
"""Answers that ask us to assert nothing but, of `default` and `-`, what the trainer's default says."""


class Cell(NamedTuple):
    """One column of one file: whether it is right, what we say and what the reader said."""

    path: str
    column: str
    right: bool
    ours: str
    theirs: str


def judged(folder: Folder, path: str, rows: Sequence[Mapping[str, str]]) -> Iterator[Cell]:
    """Every column of one file."""
    expected = [row for row in rows if row["trainer"] != "-"]
    known = [facts for read in folder.workloads(path) if read.workload.kind == "training" for _, facts in read.roles]
    yield Cell(path, "runs", len(known) == len(expected), str(len(known)), str(len(expected)))
    for column, fact in QUANTITIES.items():
        ours, theirs = [_said(one, fact) for one in known], [row[column] for row in expected]
        yield Cell(path, column, _agree(ours, theirs), str(ours), str(theirs))
    ours, theirs = [_identity(one) for one in known], [row["identity"] for row in expected]
    yield Cell(path, "identity", ours == theirs, str(ours), str(theirs))


def _said(known: Facts, fact: str) -> str:
    value = known.expected(fact)
    return (
        "?" if isinstance(value, Missing) or value is None else f"{value:g}" if isinstance(value, float) else str(value)
    )


def _identity(known: Facts) -> str:
    """Whether the batch is the one that its parts make, as far as all are stated."""
    for fact in ("batch_difference", "batch_remainder"):
        left = known.expected(fact)
        if not isinstance(left, Missing):
            return "holds" if left == 0 else "broken"
    parts = [known.expected(name) for name in ("micro_batch_size", "gradient_accumulation_steps", "training_copies")]
    return "holds" if all(isinstance(part, int) for part in parts) else "open"


def _agree(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    return len(ours) == len(theirs) and all(
        one in ("?", "1", "0") if other in NOT_STATED else one == other or (other == "1" and one in ("?", "0"))
        for one, other in zip(ours, theirs, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--answers", type=Path, default=SHIPPED)
    parser.add_argument("--list", action="store_true", help="print every cell that is not right")
    arguments = parser.parse_args()
    folder = Folder(arguments.dir)
    cells = [cell for path, rows in answers.answers(arguments.answers).items() for cell in judged(folder, path, rows)]
    table: list[tuple[str, ...]] = [("column", "right", "share")]
    for column in ("runs", *QUANTITIES, "identity"):
        verdicts = [cell.right for cell in cells if cell.column == column]
        table.append((column, share(sum(verdicts), len(verdicts)), f"{sum(verdicts) / len(verdicts):.1%}"))
    print(alone.table(table))
    for cell in cells if arguments.list else ():
        if not cell.right:
            print(f"{cell.path}: {cell.column}: {cell.ours}, not {cell.theirs}")


if __name__ == "__main__":
    main()
