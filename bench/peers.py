"""The same measured cases through every estimator that runs off-line: ours and theirs in one table.

    python bench/peers.py CASES --architectures FILE [--environments DIR] [--only NAME …] [--format text|json]

Each `peers/ask_NAME.py` runs in an environment of its own, built from the pinned `peers/NAME.txt` below DIR (by default a
temporary directory; a kept one is used again). It is told what the case states, the architecture and the card's memory, and
answers a line of JSON. Ours come from `accuracy.py`. A tool that only gives a need fits where the need is within the card.
Errors are absolute and relative to the measurement, over the cases that both answer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import accuracy
import alone
import cards
import training_cases

from gpulint import units
from gpulint.catalog import hardware

HERE = Path(__file__).parent / "peers"
PRINTED = re.compile(r"(\d+)\s?GB\b")
FIGURES = ("weights_gib", "kv_cache_gib", "kv_tokens", "kv_bytes_per_token", "peak_gib")
FAILS = ("does not fit", "likely does not fit")
FITS = ("fits", "likely fits")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
LIMIT_S = 1800

Prediction = Mapping[str, Any]
Case = Mapping[str, Any]


class Row(NamedTuple):
    """One figure of one kind against one peer: how many each answers, and both errors over the shared cases."""

    figure: str
    peer: str
    measured: int
    theirs: int
    ours: int
    both: int
    our_errors: tuple[float, ...]
    their_errors: tuple[float, ...]
    all_their_errors: tuple[float, ...]


def names() -> list[str]:
    """Every peer that has a runner."""
    return sorted(path.stem.removeprefix("ask_") for path in HERE.glob("ask_*.py"))


def environment(folder: Path, name: str) -> Path:
    """The Python of a peer's own environment, built when its requirements are new."""
    wanted = HERE / f"{name}.txt"
    place = folder / f"{name}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    python = place / "bin" / "python"
    if not (place / "built").exists():
        venv.create(place, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", str(wanted)]
        subprocess.run(install, check=True, stdout=sys.stderr)
        (place / "built").touch()
    return python


def asked(cases: Iterable[Case], architectures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What every peer is told of each case."""
    for case in cases:
        shape = architectures.get(case["model"]) or {}
        yield {"case": case, "architecture": shape, "device_memory_gib": device_memory_gib(case)}


def device_memory_gib(case: Case) -> float | None:
    """Memory of the case's card: as printed, as the catalog has it, or as the card's name says."""
    stated = case["measured"].get("total_gpu_gib") or case["gpu_memory_gib"]
    if stated:
        return float(stated)
    name = str(case["gpu"] or "")
    product = hardware.accelerator(training_cases.CARDS.get(name) or cards.named(name) or "")
    if product and (known := product.cuda_memory_bytes or product.driver_memory_bytes):
        return float(known) / units.GIB
    found = PRINTED.search(name)
    return float(found[1]) if found else None


def predictions(python: Path, name: str, lines: Iterable[dict[str, Any]]) -> dict[str, Prediction]:
    """A peer's answer to each case, by the case's id."""
    told = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(
        [str(python), str(HERE / f"ask_{name}.py")],
        input=told,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, **OFFLINE},
    )
    if done.returncode:
        raise SystemExit(f"{name} stopped: {done.stderr[-1000:]}")
    # Libraries log to the standard output while they are imported.
    answers = (json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"'))
    return {answer["id"]: answer for answer in answers}


def ours(path: Path, architectures: Mapping[str, Any]) -> dict[str, Prediction]:
    """Our likely values and verdicts, by the case's id: the ones that `accuracy.py` scores."""
    found = {str(case["id"]): _served(case, architectures) for case in accuracy.served(path)}
    return found | {str(case["id"]): _trained(case, architectures) for case in accuracy.trained(path)}


def _served(case: accuracy.Case, architectures: Mapping[str, Any]) -> Prediction:
    judged = accuracy.judged(case, architectures)
    values = {figure.name: figure.ours[1] for figure in judged.figures if figure.ours}
    return {**values, "fits": _said(judged.verdict)}


def _trained(case: accuracy.Case, architectures: Mapping[str, Any]) -> Prediction:
    judged = accuracy.judged_training(case, architectures)
    peak = next((figure.ours[1] for figure in judged.figures if figure.ours), None)
    return {"peak_gib": peak, "fits": _said(judged.verdict)}


def _said(verdict: str) -> bool | None:
    return True if verdict in FITS else False if verdict in FAILS else None


# ---- the tables


def figure_rows(
    cases: Iterable[Case], own: Mapping[str, Prediction], peer: str, theirs: Mapping[str, Prediction]
) -> list[Row]:
    """Each figure of inference and of training against one peer."""
    every = list(cases)
    rows = []
    for kind in ("inference", "training"):
        for figure in FIGURES:
            values = {case["id"]: measured_value(case, figure) for case in every if case["kind"] == kind}
            measured = {id: value for id, value in values.items() if value > 0}
            we, they = (_errors(measured, side, figure) for side in (own, theirs))
            both = sorted(we.keys() & they.keys())
            counts = (len(measured), len(they), len(we), len(both))
            mine, shared = (tuple(side[one] for one in both) for side in (we, they))
            row = Row(f"{kind} {figure}", peer, *counts, mine, shared, tuple(they.values()))
            rows += [row] if row.theirs else []
    return rows


def measured_value(case: Case, figure: str) -> float:
    """A figure of a case, not positive where it has none; bytes per token are the pool over its tokens."""
    measured = case["measured"]
    if figure == "kv_bytes_per_token":
        return float(measured.get("kv_cache_gib") or 0) * units.GIB / (measured.get("kv_tokens") or math.inf)
    return float(measured.get(figure) or 0)


def _errors(measured: Mapping[str, float], answers: Mapping[str, Prediction], figure: str) -> dict[str, float]:
    given = {id: value for id in measured if (value := answers.get(id, {}).get(figure)) is not None}
    return {id: abs(value / measured[id] - 1) for id, value in given.items()}


def confusion(cases: Iterable[Case], answers: Mapping[str, Prediction]) -> Counter[tuple[bool, bool]]:
    """(said to fit, ran) → cases."""
    said = ((answers.get(case["id"], {}).get("fits"), not case["measured"]["oom"]) for case in cases)
    return Counter((fits, ran) for fits, ran in said if fits is not None)


def figures_table(rows: Iterable[Row]) -> str:
    counts = ("measured", "they answer", "we answer", "both")
    errors = ("our median", "theirs", "our p90", "theirs", "their median on all", "p90")
    head = ("figure", "peer", *counts, *errors)
    return alone.table([head, *(_cells(row) for row in rows)])


def _cells(row: Row) -> tuple[str, ...]:
    counts = tuple(str(count) for count in row[2:6])
    shown = tuple(f(side) for f in (_median, _p90) for side in (row.our_errors, row.their_errors))
    return (row.figure, row.peer, *counts, *shown, _median(row.all_their_errors), _p90(row.all_their_errors))


def _median(errors: tuple[float, ...]) -> str:
    return f"{statistics.median(errors):.1%}" if errors else "-"


def _p90(errors: tuple[float, ...]) -> str:
    """The nearest-rank 90th percentile."""
    return f"{sorted(errors)[-(-9 * len(errors) // 10) - 1]:.1%}" if errors else "-"


def verdicts_table(
    cases: list[Case], own: Mapping[str, Prediction], all_theirs: Mapping[str, Mapping[str, Prediction]]
) -> str:
    """Said to fit or to fail, against what happened, over all that a tool judges and over those both judge."""
    head = (
        "verdicts",
        "kind",
        "judged",
        "fits, ran",
        "fits, failed",
        "fails, ran",
        "fails, failed",
        "ours on the same",
    )
    lines: list[tuple[str, ...]] = [head]
    for kind in ("inference", "training"):
        some = [case for case in cases if case["kind"] == kind]
        for peer, theirs in {"gpulint": own, **all_theirs}.items():
            judged = [case for case in some if theirs.get(case["id"], {}).get("fits") is not None]
            if judged:
                lines.append((peer, kind, str(len(judged)), *_four(confusion(judged, theirs)), _same(judged, own)))
    return alone.table(lines)


def _four(counts: Counter[tuple[bool, bool]]) -> tuple[str, str, str, str]:
    one, two, three, four = (str(counts[said, ran]) for said in (True, False) for ran in (True, False))
    return one, two, three, four


def _same(judged: list[Case], own: Mapping[str, Prediction]) -> str:
    return " / ".join(_four(confusion(judged, own)))


def silence_table(all_theirs: Mapping[str, Mapping[str, Prediction]]) -> str:
    """How many cases each peer answers, has no way to answer, and stops at; and the commonest stops."""
    lines: list[tuple[str, ...]] = [("peer", "answered", "cannot", "errors", "commonest error")]
    for peer, theirs in all_theirs.items():
        errors = Counter(str(answer["error"]) for answer in theirs.values() if "error" in answer)
        cannot = sum("cannot" in answer for answer in theirs.values())
        commonest = f"{errors.most_common(1)[0][0][:60]}" if errors else ""
        answered = len(theirs) - cannot - errors.total()
        lines.append((peer, str(answered), str(cannot), str(errors.total()), commonest))
    return alone.table(lines)


def as_text(
    cases: list[Case], own: Mapping[str, Prediction], all_theirs: Mapping[str, Mapping[str, Prediction]]
) -> str:
    rows = [row for peer, theirs in all_theirs.items() for row in figure_rows(cases, own, peer, theirs)]
    rows.sort(key=lambda row: (row.figure, row.peer))
    return "\n\n".join((figures_table(rows), verdicts_table(cases, own, all_theirs), silence_table(all_theirs)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--architectures", type=Path, required=True)
    parser.add_argument("--environments", type=Path, help="where the peers' environments are kept")
    parser.add_argument("--only", nargs="+", choices=names(), default=names())
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    every: list[Case] = [json.loads(line) for line in arguments.cases.read_text(encoding="utf-8").splitlines()]
    architectures = json.loads(arguments.architectures.read_text(encoding="utf-8"))
    lines = list(asked(every, architectures))
    with tempfile.TemporaryDirectory() as fresh:
        folder = arguments.environments or Path(fresh)
        theirs = {name: predictions(environment(folder, name), name, lines) for name in arguments.only}
    own = ours(arguments.cases, architectures)
    found = {"gpulint": own, **theirs}
    print(json.dumps(found, indent=1) if arguments.format == "json" else as_text(every, own, theirs))


if __name__ == "__main__":
    main()
