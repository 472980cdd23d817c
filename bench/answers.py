"""Whether workloads, roles, GPUs and parallelism are right in files that were read by eye before gpulint read them.

    python bench/answers.py DIR [--answers bench/answers.tsv] [--list]

A file counts as right in a column when every one of its workloads is: their number, the roles of each in order, the GPUs
of a pod and the pods of an instance, tensor, pipeline and data parallelism. What we do not know is wrong unless the
reader could not tell either (`?`, `var`); what we assert against that is wrong too. `-` is not asked.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import alone
from alone import Folder, Read, share

from gpulint.facts.model import Facts, Missing
from gpulint.workload import Role

SHIPPED = Path(__file__).with_name("answers.tsv")
COLUMNS = ("workloads", "roles", "GPUs", "parallelism", "engine")
QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "GPUs": ("gpus_per_pod", "pods_per_replica"),
    "parallelism": ("tensor_parallel", "pipeline_parallel", "data_parallel"),
}
OPEN = frozenset({"?", "var"})
SERVERS = frozenset({"vllm", "sglang", "tgi", "tensorrt-llm", "lmdeploy", "llama.cpp", "ollama", "nim", "triton"})
NOT_READ = frozenset({"none", "other", "python", "?"})
"""Engines that stand for no engine of ours: nothing may be asserted there but the program's own name."""


class Judged(NamedTuple):
    """One column of one file: whether it is right, what we say and what the reader said."""

    path: str
    kind: str
    column: str
    right: bool
    ours: str
    theirs: str


def answers(path: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of each file, one a role; none where it describes no workload."""
    found: dict[str, list[dict[str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            found.setdefault(row["path"], []).append(row)
    return found


def judged(folder: Folder, path: str, rows: Sequence[Mapping[str, str]]) -> Iterable[Judged]:
    """Every column of one file."""
    expected = [row for row in rows if row["workload"] != "-"]
    found = folder.workloads(path) if (folder.root / path).is_file() else ()
    read = [gpus for one in found if (gpus := one._replace(roles=tuple(filter(_on_gpus, one.roles)))).roles]
    roles = [pair for one in read for pair in one.roles]
    grouped = list(dict.fromkeys((row["workload"], row["line"]) for row in expected))
    counts = [sum((row["workload"], row["line"]) == group for row in expected) for group in grouped]
    kind = rows[0]["kind"]
    yield Judged(path, kind, "workloads", len(read) == len(grouped), _names(read), str([name for name, _ in grouped]))
    ours = [len(one.roles) for one in read]
    yield Judged(path, kind, "roles", ours == counts, f"{ours} {[role.name for role, _ in roles]}", str(counts))
    for column, names in QUANTITIES.items():
        said = [[_said(known, role, name) for name in names] for role, known in roles]
        wanted = [[_asked(row, name) for name in names] for row in expected]
        yield Judged(path, kind, column, _agree(said, wanted), str(said), str(wanted))
    engines = [role.text("engine") for role, _ in roles]
    stated = [row["engine"] for row in expected]
    yield Judged(path, kind, "engine", _same_engines(engines, stated), str(engines), str(stated))


def _on_gpus(pair: tuple[Role, Facts]) -> bool:
    """Whether a role may have GPUs: the reader left out those that ask for none."""
    return pair[0].value("gpus_per_pod") != 0


def _asked(row: Mapping[str, str], name: str) -> str:
    """The answer; what a default is that NIM's profile or a trainer's world size decides is not asked."""
    decided_later = row["engine"] == "nim" or (name == "data_parallel" and row["engine"] not in SERVERS)
    return "-" if row[name] == "default" and decided_later else row[name]


def _names(read: Sequence[Read]) -> str:
    return str([one.workload.name for one in read])


def _said(known: Facts, role: Role, name: str) -> str:
    value = known.expected(name)
    return "?" if isinstance(value, Missing) or value is None else str(value)


def _agree(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> bool:
    return len(ours) == len(theirs) and all(
        _is_right(one, other) for a, b in zip(ours, theirs, strict=True) for one, other in zip(a, b, strict=True)
    )


def _is_right(ours: str, theirs: str) -> bool:
    if theirs == "-":
        return True
    if theirs in OPEN:
        return ours == "?"
    return ours == ("1" if theirs in ("default", "0") else theirs)


def _same_engines(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    return len(ours) == len(theirs) and all(
        not one if other in NOT_READ else one == other for one, other in zip(ours, theirs, strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--answers", type=Path, default=SHIPPED)
    parser.add_argument("--list", action="store_true", help="print every cell that is not right")
    arguments = parser.parse_args()
    folder, rows = Folder(arguments.dir), answers(arguments.answers)
    cells = [cell for path, given in rows.items() for cell in judged(folder, path, given)]
    table: list[tuple[str, ...]] = [("column", "right", "share")]
    for column in COLUMNS:
        verdicts = [cell.right for cell in cells if cell.column == column]
        table.append((column, share(sum(verdicts), len(verdicts)), f"{sum(verdicts) / len(verdicts):.1%}"))
    print(alone.table(table))
    for cell in cells if arguments.list else ():
        if not cell.right:
            print(f"{cell.kind}: {cell.path}: {cell.column}: {cell.ours}, not {cell.theirs}")


if __name__ == "__main__":
    main()
