"""Whether answers are right on repositories that nobody had opened: workloads that were read by eye before gpulint read them.

    python bench/field.py FOLDER [--sample bench/field/platforms.tsv ...] [--list]

FOLDER holds one folder `owner+name` for each repository of the samples, at the commit of its rows. The columns:

- program: the engine or trainer, or that the program is the repository's own
- checkpoint: the last part of its id
- GPUs: of one replica or run; bounded if it is a range that holds the reader's count
- verdict: right if it is of the same kind as the reader's (fits, fails, depends, needs, open); bounded if it names what it
  depends on, or what it needs, where the reader had a verdict, or the reverse; wrong if one fits and the other fails
- need: the memory that is taken of each GPU; right if our likely range and the reader's overlap within a quarter, large or
  small if ours is above or below; part if ours is only that of the weights or states, and below. Then how many of our
  expected values are within a quarter of the reader's range, and the median of their ratio to its middle

Everything else counts as missed: a workload that is not found, a verdict that is not evaluated. `-` and `?` are not asked.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import gpulint
from gpulint.engines.serving import ollama
from gpulint.report import verdicts
from gpulint.report.model import RoleSummary, WorkloadSummary
from gpulint.units import GIB

SAMPLES = ("platforms.tsv", "training.tsv", "small_teams.tsv", "first.tsv", "second.tsv")
READ = {
    **dict.fromkeys(("fits", "likely-fits"), verdicts.FIT),
    **dict.fromkeys(("not", "likely-not"), verdicts.FAIL),
    **dict.fromkeys(("depends", "needs"), verdicts.DEPEND),
    "open": verdicts.UNKNOWN,
}
LINES = 40
"""How far from the row's line a workload of the same file may be anchored."""
SPELLINGS = {
    "tei": "text-embeddings-inference",
    "accelerate": "transformers",
    "hf_trainer": "transformers",
    "megatron-core": "megatron-lm",
}

AT_LEAST = " or more"
LAUNCHERS = frozenset({"own", "pytorch", "torchrun", "python"})
"""Programs that stand for one of the repository's own."""


TOLERANCE = 1.25
"""How far our need may be from the reader's range."""


class Score(NamedTuple):
    """How one column of a row compares: right, bounded, wrong or missed, with what we say and what the reader said.

    A need is right, large, small, part or missed; `ratio` is that of our expected value to the middle of the reader's range,
    and `is_near` whether it is within a quarter of the range.
    """

    column: str
    result: str
    ours: str
    theirs: str
    ratio: float | None = None
    is_near: bool = False


def main() -> None:
    """Print each column's ratios over all rows that ask for it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--sample", nargs="+", type=Path, default=[Path(__file__).parent / "field" / name for name in SAMPLES]
    )
    parser.add_argument("--list", action="store_true", help="print every row that is not right")
    options = parser.parse_args()
    for sample in options.sample:
        with sample.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        counts: Counter[tuple[str, str]] = Counter()
        needs: list[Score] = []
        for row, scores in score_rows(rows, options.folder):
            for score in scores:
                counts[score.column, score.result] += 1
                needs += [score] if score.column == "need" else []
                if options.list and score.result != "right":
                    place = f"{row['repo']}/{row['path']}:{row['line']}"
                    print(f"{score.result} {score.column}: {place}\n    ours {score.ours!r}, read {score.theirs!r}")
        print(f"{sample.name}: {len(rows)} workloads of {len({row['repo'] for row in rows})} repositories")
        for column in ("program", "checkpoint", "GPUs", "verdict"):
            asked = sum(number for (name, _), number in counts.items() if name == column)
            parts = (f"{counts[column, result]} {result}" for result in ("right", "bounded", "wrong", "missed"))
            print(f"  {column}: {', '.join(parts)} of {asked}")
        print(f"  need: {describe_needs(needs)}")


def describe_needs(needs: Sequence[Score]) -> str:
    """Return how many needs compare how, how many expected values are near the reader's range, and the median of their ratio."""
    counts = Counter(score.result for score in needs)
    parts = ", ".join(f"{counts[result]} {result}" for result in ("right", "large", "small", "part", "missed"))
    ratios = sorted(score.ratio for score in needs if score.ratio is not None)
    if not ratios:
        return f"{parts} of {len(needs)}"
    near = sum(score.is_near for score in needs)
    return f"{parts} of {len(needs)}; expected near {near} of {len(ratios)}, median ratio {median(ratios):.2f}"


def score_rows(rows: Sequence[dict[str, str]], folder: Path) -> Iterator[tuple[dict[str, str], list[Score]]]:
    """Yield each row with the scores of its columns; each repository is checked once, as a whole."""
    for repository in dict.fromkeys(row["repo"] for row in rows):
        root = folder / repository.replace("/", "+")
        workloads = list(gpulint.check(root).workloads) if root.is_dir() else []
        for row in rows:
            if row["repo"] == repository:
                yield row, score_row(row, _find_workload(row, workloads, root))


def score_row(row: dict[str, str], found: WorkloadSummary | None) -> list[Score]:
    """Return the scores of the columns that a row asks for."""
    role = _choose_role(found)
    scores = [_score_verdict(row, found), _compare("program", _name_program(role), row["program"], _matches_program)]
    if need := _read_need(row):
        scores.append(_score_need(role, *need))
    if row["checkpoint"].strip() not in ("", "-") and not row["checkpoint"].startswith("?"):
        scores.append(_compare("checkpoint", role.architecture if role else "", row["checkpoint"], _matches_checkpoint))
    if row["gpus"].strip().isdigit():
        counted = role.accelerator.partition(" ×")[0] if role else ""
        scores.append(_score_gpus("0" if counted == "none" else counted, row["gpus"].strip()))
    return scores


def _score_gpus(ours: str, theirs: str) -> Score:
    """Return the score of a count; a range that holds the reader's count bounds it."""
    if ours.endswith(AT_LEAST):
        held = int(theirs) >= int(ours.removesuffix(AT_LEAST))
        return Score("GPUs", "bounded" if held else "wrong", ours, theirs)
    return _compare("GPUs", ours, theirs, str.__eq__)


def _choose_role(found: WorkloadSummary | None) -> RoleSummary | None:
    """Return the role that decides a workload: the first that takes a GPU."""
    roles = found.roles if found else ()
    return next((role for role in roles if verdicts.sort_verdict(role.verdict)), roles[0] if roles else None)


def _find_workload(row: dict[str, str], workloads: Sequence[WorkloadSummary], root: Path) -> WorkloadSummary | None:
    """Return the workload of the row's file that is anchored nearest to its line; the only one of a file wherever it is."""
    same = [workload for workload in workloads if Path(workload.location.path).as_posix().endswith(f"/{row['path']}")]
    stated = re.match(r"\d+", row["line"])
    line = int(stated[0]) if stated else 1
    near = sorted(same, key=lambda workload: abs(workload.location.line - line))
    if len(same) == 1 or (near and abs(near[0].location.line - line) <= LINES):
        return near[0]
    program = root / row["path"]
    starters = [workload for workload in workloads if program.suffix == ".py" and _names(workload, program)]
    return starters[0] if len(starters) == 1 else None


def _names(workload: WorkloadSummary, program: Path) -> bool:
    """Whether a workload is in a program that imports the row's, or in another file near it that names it."""
    place = Path(workload.location.path).resolve()
    if place.suffix == ".py":
        imported = rf"(?m)^[ \t]*(?:from|import) [\w., ]*\b{re.escape(program.stem)}\b"
        return re.search(imported, place.read_text(encoding="utf-8", errors="replace")) is not None
    is_near = place.parent in (program.resolve().parent, program.resolve().parent.parent)
    return is_near and program.name in place.read_text(encoding="utf-8", errors="replace")


def _name_program(role: RoleSummary | None) -> str:
    if role is None:
        return ""
    program = next((str(fact.values.expected) for fact in role.facts if fact.name == "program"), "")
    return role.engine or program or "own"


def _matches_program(ours: str, theirs: str) -> bool:
    """Whether a program is the reader's: an engine or trainer that the reader names too, or one of the repository's own.

    Transformers stands for the libraries that extend its Trainer.
    """
    named = theirs.lower()
    if ours == "transformers" and re.search(r"trl|peft|accelerate|deepspeed|unsloth", named):
        return True
    spelled = SPELLINGS.get(ours, ours)
    if re.search(rf"(?<![a-z]){re.escape(spelled.lower())}", named):
        return True
    return (ours in LAUNCHERS or "." in ours) and named.startswith(("own", "?"))


def _matches_checkpoint(ours: str, theirs: str) -> bool:
    """Whether the last parts of two references are the same, whatever their case, or theirs is Ollama's name of ours."""
    last = ours.partition(" (")[0].rstrip("/").rsplit("/", 1)[-1].lower().replace("___", ".")  # as ModelScope spells it
    named = [ollama.read_model_name(word)["checkpoint"].value for word in theirs.split()]
    parts = {value.rsplit("/", 1)[-1].lower() for value in named if isinstance(value, str)}
    parts |= set(re.split(r"[\s,;()]+|/", theirs.lower()))
    return bool(last) and last in parts


def _compare(column: str, ours: str, theirs: str, matches: object) -> Score:
    if not ours or ours.startswith("?"):
        return Score(column, "missed", ours, theirs)
    return Score(column, "right" if matches(ours, theirs) else "wrong", ours, theirs)  # type: ignore[operator]


def _read_need(row: dict[str, str]) -> tuple[float, float] | None:
    """Return the reader's range of the memory that is taken of each GPU [GiB]; None if the reader gives none."""
    low, high = row["need_low_gib"], row["need_high_gib"]
    stated = [float(end) for end in (low, high) if re.fullmatch(r"[\d.]+", end)]
    return (min(stated), max(stated)) if stated and max(stated) > 0 else None


def _score_need(role: RoleSummary | None, low: float, high: float) -> Score:
    shown = f"{low:g} to {high:g} GiB"
    taken = role.memory if role else None
    if taken is None:
        return Score("need", "missed", role.verdict if role else "no workload", shown)
    least, expected, most = (value / GIB for value in (taken.low_bytes, taken.expected_bytes, taken.high_bytes))
    ours = f"{least:.1f} to {most:.1f} GiB, expected {expected:.1f}, {taken.part or 'all'}"
    if least > TOLERANCE * high:
        result = "large"
    elif TOLERANCE * most < low:
        result = "part" if taken.part else "small"
    else:
        result = "right"
    if taken.part:
        return Score("need", result, ours, shown)
    is_near = low / TOLERANCE <= expected <= TOLERANCE * high
    return Score("need", result, ours, shown, expected / math.sqrt(low * high), is_near)


def _score_verdict(row: dict[str, str], found: WorkloadSummary | None) -> Score:
    theirs = READ[row["verdict"]]
    shown = f"{row['verdict']} {row['need_low_gib']} to {row['need_high_gib']} GiB"
    if found is None:
        return Score("verdict", "missed", "no workload", shown)
    ours = verdicts.find_outcome(found) or (theirs if row["gpus"].strip() == "0" else verdicts.FIT)
    said = "; ".join(role.verdict for role in found.roles)
    if ours == theirs:
        result = "right"
    elif ours == verdicts.UNKNOWN:
        result = "missed"
    else:
        result = "wrong" if {ours, theirs} == {verdicts.FIT, verdicts.FAIL} else "bounded"
    return Score("verdict", result, said, shown)


if __name__ == "__main__":
    main()
