"""Published recommendations of model and hardware against ours: which agree, and why the others do not.

    python bench/recommendations.py [ROWS] [--all]

Rows: tests/known_answers/recommendations.csv, gathered before anything judged them. `settings` are the source's own,
`assumed` is ours where the source says nothing. `recommended` agrees where it is not called too small; `minimum` where it
fits and the next smaller one (`smaller`) is no clean fit; `does-not-fit` where it is called too small.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from alone import Folder

from gpulint.pipeline import check
from gpulint.report.model import RoleSummary, Severity
from gpulint.source.repository import Source

ROWS = Path(__file__).parent.parent / "tests" / "known_answers" / "recommendations.csv"
KINDS = {"serving": "InferenceService", "training": "TrainingJob"}
FITS = ("fits", "likely fits", "undersized")
TOO_SMALL = ("likely does not fit", "does not fit")
GPUS_OF_A_NODE = 8
LAUNCHER = {"checkpoint": "model-id", "tensor_parallel": "num-shard", "max_model_len": "max-total-tokens"}
"""Flags of TGI's launcher by the quantity that they state."""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: recommended, annotations: {{gpulint/accelerator: {accelerator}}}}}
spec:
  containers:
    - name: serving
      image: ghcr.io/huggingface/text-generation-inference:{engine_version}
      args: [{args}]
      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
Row = Mapping[str, str]


class Judged(NamedTuple):
    """What we say of a row: its verdict, that of the next smaller hardware, the errors, and whether the source agrees."""

    verdict: str
    smaller: str
    errors: tuple[str, ...]
    agrees: bool


def rows(path: Path = ROWS) -> list[dict[str, str]]:
    """The recommendations."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def stated(text: str) -> dict[str, str]:
    """The quantities of a cell: `name=value` by spaces."""
    return dict(one.split("=", 1) for one in text.split())


def spec(row: Row, instead: str = "") -> str:
    """The row as a spec in gpulint's own words, or what it would be on other hardware."""
    fields = {
        "engine": row["engine"],
        "checkpoint": row["checkpoint"],
        "accelerator": row["accelerator"],
        "gpus": row["gpus"],
        "nodes": row["nodes"],
        **stated(row["settings"]),
        **stated(row["assumed"]),
        **stated(instead),
    }
    if row["engine"] == "tgi":
        return pod(fields)
    nodes, gpus = int(fields.pop("nodes")), int(fields.pop("gpus"))
    fields |= {"gpus_per_pod": str(gpus // nodes), "pods_per_replica": str(nodes)}
    lines = "".join(f"      {name}: {quoted(name, value)}\n" for name, value in fields.items())
    head = f"apiVersion: gpulint/v1\nkind: {KINDS[row['kind']]}\nmetadata: {{name: recommended}}\nspec:\n  roles:\n"
    return f"{head}    - name: {row['kind']}\n{lines}"


def pod(fields: Mapping[str, str]) -> str:
    """TGI works out most of its settings at start: the pod of a release says more than quantities do."""
    flags = [f"--{flag}={fields[name]}" for name, flag in LAUNCHER.items() if name in fields]
    return POD.format(**fields, args=", ".join(flags))


def quoted(name: str, value: str) -> str:
    """A value as YAML: releases are text."""
    return f'"{value}"' if name == "engine_version" or "," in value else value


def role(text: str) -> tuple[RoleSummary, tuple[str, ...]]:
    """What a report says of the one role of a spec, and the errors it finds."""
    source = Source("recommended.yaml", text.encode())
    nowhere = Folder(Path(__file__).parent)
    report = check.check_files([source], nowhere.tree, nowhere.given)
    (workload,) = report.workloads
    (summary,) = workload.roles
    return summary, tuple(sorted({one.rule for one in report.open if one.severity is Severity.ERROR}))


def judge(row: Row) -> Judged:
    """What we say of a row."""
    found, errors = role(spec(row))
    smaller = role(spec(row, row["smaller"]))[0].verdict if row["smaller"] else ""
    return Judged(found.verdict, smaller, errors, agrees(row["claim"], found.verdict, smaller))


def agrees(claim: str, verdict: str, smaller: str) -> bool:
    """Whether a verdict says what a source claims."""
    if claim == "does-not-fit":
        return verdict in TOO_SMALL
    if claim == "minimum":
        return verdict in FITS and smaller not in FITS[:1]
    return verdict in FITS


def main() -> None:
    """Print agreement by claim, then each difference with its reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=Path, default=ROWS)
    parser.add_argument("--all", action="store_true", help="print what we say of every row")
    given = parser.parse_args()
    counted: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for row in rows(given.rows):
        found = judge(row)
        kind = (row["kind"], row["claim"])
        counted[kind] += 1
        right[kind] += found.agrees
        if given.all or not found.agrees:
            smaller = f"; smaller: {found.smaller}" if found.smaller else ""
            print(f"{row['id']}: {row['claim']}; {found.verdict}{smaller} {' '.join(found.errors)}")
            print(f"    {row['note']}" if row["note"] else "    no reason given")
    for kind in sorted(counted):
        print(f"{' '.join(kind)}: {right[kind]}/{counted[kind]}")
    print(f"all: {right.total()}/{counted.total()}")


if __name__ == "__main__":
    main()
