"""The formulas of training on public rows that no measured case holds, beside the measured cases.

    python bench/training_held_out.py [--cases CASES --architectures FILE] [--list]

`training_held_out.jsonl` has the figures of public tables in the schema of the measured cases; each round was written and
committed before the formulas ran on it. What they scored that first time, fully stated: 282 rows of the first round 15.0 %
median and 42.6 % p90 (218 answered), 19 of the second 14.9 % and 67 % (18), 13 of the third 15.7 % and 87 % (9). Terms were
mended by the first two since, so what is printed now is no longer unseen. CASES are measured cases as `accuracy.py` reads them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import accuracy
import alone
import training_cases
from accuracy import Case, Judged

HERE = Path(__file__).parent
ROWS = HERE / "training_held_out.jsonl"
LATER = ("swift2-", "axo3-")
SHAPES = HERE / "training_held_out_architectures.json"


def judged(path: Path, shapes: Path) -> list[tuple[Case, Judged]]:
    """Each training case of a file with our figures and verdict."""
    known: Mapping[str, Mapping[str, object]] = json.loads(shapes.read_text(encoding="utf-8"))
    return [(case, accuracy.judged_training(case, known)) for case in accuracy.trained(path)]


def counted(title: str, found: Iterable[tuple[Case, Judged]]) -> list[tuple[str, ...]]:
    """The line of a set: all of it, and what is fully stated."""
    found = list(found)
    sets = {title: found, f"{title}, fully stated": [one for one in found if training_cases.fully_stated(one[0])]}
    lines: list[tuple[str, ...]] = []
    for name, own in sets.items():
        named = [one._replace(figures=tuple(f._replace(name=name) for f in one.figures)) for _, one in own]
        lines += accuracy.figures_table(named, [name])[1:]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--architectures", type=Path)
    parser.add_argument("--list", action="store_true", dest="listed", help="print each row")
    arguments = parser.parse_args()
    rows = judged(ROWS, SHAPES)
    table = [accuracy.figures_table((), ())[0]]
    first = [one for one in rows if not str(one[0]["id"]).startswith(LATER)]
    table += counted("first round", first)
    for title, prefix in zip(("second round", "third round"), LATER, strict=True):
        table += counted(title, [one for one in rows if str(one[0]["id"]).startswith(prefix)])
    if arguments.cases and arguments.architectures:
        table += counted("measured cases", judged(arguments.cases, arguments.architectures))
    print(alone.table(table), "", alone.table(accuracy.outcomes_table(one for _, one in rows)), sep="\n")
    if arguments.listed:
        print(accuracy.as_text([one for _, one in rows], table, "public rows", listed=True))


if __name__ == "__main__":
    main()
