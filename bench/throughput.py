"""Measured speeds against ours: matrix products, links, training, power; and whether anything measured beats our physics.

    python bench/throughput.py CASES.jsonl [--list] [--format text|json]

CASES has one JSON object a line: `kind`, `source`, free-form `hardware` ("8x A100 SXM (NVLink3, NVSwitch)"), `config` and
`measured`. `throughput_cases.py` turns the words into the glossary's fields; what they leave open is assumed in
`hardware_words.py` and `throughput_runs.py`, and said there.
Every figure of a case is compared; the first one of each stands for it in the lines of kinds. A floor above a measured value
is a defect of ours: the product at the dense peak, links at their nominal bandwidth, a step at the dense peak of all cards.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import alone
import throughput_cases
from figures import Asked, Case

HEAD = ("kind", "figures", "answered", "median error", "p90 error", "within 20 %", "in scenarios", "floors beaten")
CLOSE = 0.2
ROUNDING = 1.005
"""Figures are printed with three digits: a measured value this much above a bound has not beaten it."""


class Figure(NamedTuple):
    """One measured figure, ours in three scenarios, smallest first, and the bound that physics sets."""

    case: str
    kind: str
    name: str
    measured: float
    ours: tuple[float, float, float] | None
    bound: float | None = None
    time: bool = False
    missing: str = ""

    @property
    def error(self) -> float | None:
        return None if self.ours is None else abs(self.ours[1] / self.measured - 1)

    @property
    def inside(self) -> bool:
        return self.ours is not None and self.ours[0] <= self.measured <= self.ours[2]

    @property
    def beaten(self) -> bool:
        if self.bound is None:
            return False
        return self.measured * ROUNDING < self.bound if self.time else self.measured > self.bound * ROUNDING


def judged(case: Case) -> list[Figure]:
    """Each figure of a case that we know the meaning of; a case without any is one figure without an answer."""
    name, kind = str(case["id"]), str(case["kind"])
    told = throughput_cases.asked(case)
    if not told.asked:
        return [Figure(name, kind, "", 1.0, None, missing=told.reason or "no figure that we read")]
    return [_figure(name, kind, one) for one in told.asked]


def _figure(case: str, kind: str, one: Asked) -> Figure:
    values = one.values()
    if isinstance(values, str):
        return Figure(case, kind, one.name, one.measured, None, missing=values)
    return Figure(case, kind, one.name, one.measured, values, one.bound(), one.time)


def rows_of(path: Path) -> Iterable[Case]:
    """The cases of a file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def table(figures: Iterable[Figure], cases: int) -> list[tuple[str, ...]]:
    """A line for each kind, one for all figures, and one for the first figure of each case."""
    figures = list(figures)
    first = list({one.case: one for one in reversed(figures)}.values())
    kinds = sorted({one.kind for one in figures})
    lines = [HEAD, *(_line(kind, [one for one in figures if one.kind == kind]) for kind in kinds)]
    return [*lines, _line("all figures", figures), _line(f"first of {cases} cases", first)]


def _line(title: str, figures: list[Figure]) -> tuple[str, ...]:
    errors = sorted(one.error for one in figures if one.error is not None)
    shown = ("-", "-")
    if errors:
        shown = (f"{statistics.median(errors):.1%}", f"{errors[max(0, -(-9 * len(errors) // 10) - 1)]:.1%}")
    counts = (
        alone.share(sum(error <= CLOSE for error in errors), len(figures)),
        alone.share(sum(one.inside for one in figures), len(errors)),
        str(sum(one.beaten for one in figures)),
    )
    return (title, str(len(figures)), alone.share(len(errors), len(figures)), *shown, *counts)


def listed(figures: Iterable[Figure]) -> str:
    """Each figure on a line."""
    lines = []
    for one in figures:
        title = f"{one.case:<44} {one.name:<28}"
        if one.ours is None:
            lines.append(f"{title} lacks {one.missing}")
            continue
        low, expected, high = one.ours
        flag = "" if one.inside else "  OUTSIDE"
        beaten = "  BEATS OUR FLOOR" if one.beaten else ""
        error = expected / one.measured - 1
        lines.append(
            f"{title} {one.measured:>10,.4g}  {low:,.4g} {expected:,.4g} {high:,.4g}  {error:+.1%}{flag}{beaten}"
        )
    return "\n".join(lines)


def as_json(figures: Iterable[Figure]) -> str:
    return json.dumps([one._asdict() for one in figures], indent=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--list", action="store_true", dest="listed", help="print each figure")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    cases = list(rows_of(arguments.cases))
    figures = [figure for case in cases for figure in judged(case)]
    if arguments.format == "json":
        print(as_json(figures))
        return
    unmapped = [one for one in figures if one.ours is None]
    print(f"{len(cases)} cases, {len(figures)} figures, {len(unmapped)} without an answer of ours")
    print("\n".join(f"  {one.case} {one.name}: {one.missing}" for one in unmapped))
    print(alone.table(table(figures, len(cases))))
    if arguments.listed:
        print("", listed(figures), sep="\n")


if __name__ == "__main__":
    main()
