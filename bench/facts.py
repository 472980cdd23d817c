"""What gpulint understands of real specs, against answers that were read by eye before it ran.

    python bench/facts.py DIR [--answers bench/facts.tsv] [--list]

For each column: right, wrong, unknown although the answer is known (a workload that is not found counts here), and known
although the answer is `?`. The denominator of a ratio is the number of answers, so wrong and missing both count
against it; `of vLLM` is the same over the rows whose engine this release reads. Objects of kind `other` that ask for no
GPU need no workload and are left out.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import alone
from alone import Folder, Read, share

from gpulint.facts.model import Facts, Missing
from gpulint.workload import Role, Unknown

SHIPPED = Path(__file__).parent / "facts.tsv"
ENGINES_READ = frozenset({"vllm"})
PRODUCTS: Mapping[str, frozenset[str]] = {
    "A100 40GB": frozenset({"a100-sxm4-40gb", "a100-pcie-40gb"}),
    "A100 80GB": frozenset({"a100-sxm4-80gb", "a100-pcie-80gb"}),
    "GB300": frozenset({"gb300"}),
    "H100 SXM 80GB": frozenset({"h100-sxm-80gb"}),
    "H200 SXM 141GB": frozenset({"h200-sxm-141gb"}),
    "L4": frozenset({"l4"}),
    "T4": frozenset({"t4"}),
}
COLUMNS = (
    *("workload found", "gpus_per_pod", "pods_per_replica", "replicas", "gpus_per_replica", "accelerator"),
    *("checkpoint", "engine", "no engine", "tensor_parallel", "pipeline_parallel", "max_model_len"),
)
NOT_ASKED, NOT_KNOWN = "-", "?"


class Answer(NamedTuple):
    """A row of the table."""

    path: str
    workload: str
    line: int | None
    cells: Mapping[str, str]

    @property
    def needed(self) -> bool:
        """Whether there is a workload that a linter of GPU specs should see."""
        return self.line is not None and not (self.cells["kind"] == "other" and self.cells["gpus_per_pod"] == "0")


class Judged(NamedTuple):
    """One cell: `right`, `wrong`, `unknown` or `asserted`, with what we say and what the reader said."""

    answer: Answer
    column: str
    verdict: str
    ours: str
    theirs: str


def answers(path: Path) -> Iterator[Answer]:
    """The rows of the table."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(
            (line for line in file if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE
        )
        for row in rows:
            line = int(row["line"]) if row["line"].isdigit() else None
            yield Answer(row["path"], row["workload"], line, row)


def judged(folder: Folder, answer: Answer) -> Iterator[Judged]:
    """Every cell of one answer."""
    found = next((read for read in folder.workloads(answer.path) if read.workload.location().line == answer.line), None)
    named = found.workload.name if found else ""
    verdict = "unknown" if found is None else "right" if named == answer.workload else "wrong"
    yield Judged(answer, "workload found", verdict, named, answer.workload)
    ours = _understood(found) if found else {}
    for column in COLUMNS[1:]:
        theirs = _expected(answer, column)
        if theirs != NOT_ASKED:
            said = ours.get(column, NOT_KNOWN)
            yield Judged(answer, column, _verdict(column, said, theirs), said, theirs)


def _expected(answer: Answer, column: str) -> str:
    """The answer in a column; an engine none of those listed has a column of its own."""
    engine = answer.cells["engine"]
    if column == "no engine":
        return "none" if engine == "none" else NOT_ASKED
    if column == "engine" and engine == "none":
        return NOT_ASKED
    return answer.cells[column].removeprefix("hf://")


def _verdict(column: str, ours: str, theirs: str) -> str:
    if theirs == NOT_KNOWN:
        return "asserted" if ours != NOT_KNOWN else "agreed"
    if ours == NOT_KNOWN:
        return "unknown"
    return "right" if _agrees(column, ours, theirs) else "wrong"


def _agrees(column: str, ours: str, theirs: str) -> bool:
    if column == "accelerator":
        return ours in PRODUCTS[theirs]
    if theirs == "default" and column in ("tensor_parallel", "pipeline_parallel"):
        return ours == "1"
    return ours == theirs


# ---- what gpulint says


def _understood(read: Read) -> dict[str, str]:
    """The cells of a workload, of the role that runs an engine or else asks for GPUs."""
    role, known = next((pair for pair in read.roles if pair[0].text("engine")), read.roles[0])
    engine = role.text("engine")
    names = ("gpus_per_pod", "gpus_per_replica", "accelerator", "checkpoint", "tensor_parallel", "pipeline_parallel")
    cells = {name: _said(known, name) for name in names}
    cells |= {
        "pods_per_replica": _pods(read),
        "replicas": _replicas(role, known),
        "max_model_len": _length(role, known),
    }
    return {**cells, "engine": engine or NOT_KNOWN, "no engine": engine or "none"}


def _said(known: Facts, name: str) -> str:
    value = known.expected(name)
    return NOT_KNOWN if isinstance(value, Missing) or value is None else str(value).removeprefix("hf://")


def _pods(read: Read) -> str:
    """Pods of one instance: of leader and workers together, each template once."""
    templates = {role.name.rpartition("/")[0]: known.expected("pods_per_replica") for role, known in read.roles}
    counts = [count for count in templates.values() if isinstance(count, int)]
    return str(sum(counts)) if len(counts) == len(templates) else NOT_KNOWN


def _replicas(role: Role, known: Facts) -> str:
    value = role.value("replicas")
    if isinstance(value, Unknown) and value.reason == "one pod a node":
        return "per-node"
    return _said(known, "replicas")


def _length(role: Role, known: Facts) -> str:
    stated = role.value("max_model_len_stated")
    if stated is False:
        return "default"
    return _said(known, "max_model_len") if stated else NOT_KNOWN


# ---- what is printed


def as_text(cells: Iterable[Judged], listed: bool) -> str:
    """Counts a column; the mismatches below when they are asked for."""
    every = list(cells)
    head = ("column", "right/known answers", "of vLLM", "right", "wrong", "unknown", "known where ?")
    lines = [alone.table([head, *(_row(column, every) for column in COLUMNS)])]
    if listed:
        lines.append("")
        lines += [_mismatch(one) for one in every if one.verdict not in ("right", "agreed")]
    return "\n".join(lines)


def _row(column: str, every: Iterable[Judged]) -> tuple[str, ...]:
    own = [one for one in every if one.column == column]
    read = [one for one in own if one.answer.cells["engine"] in ENGINES_READ]
    counts = (str(sum(one.verdict == verdict for one in own)) for verdict in ("right", "wrong", "unknown"))
    open_ = [one for one in own if one.theirs == NOT_KNOWN]
    asserted = share(sum(one.verdict == "asserted" for one in open_), len(open_))
    return (column, _ratio(own), _ratio(read), *counts, asserted)


def _ratio(cells: Iterable[Judged]) -> str:
    known = [one for one in cells if one.theirs != NOT_KNOWN]
    return share(sum(one.verdict == "right" for one in known), len(known))


def _mismatch(one: Judged) -> str:
    place = f"{one.answer.path}:{one.answer.line} {one.answer.workload}"
    return f"{one.verdict:<8} {one.column}: ours {one.ours!r}, theirs {one.theirs!r}  {place}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--answers", type=Path, default=SHIPPED)
    parser.add_argument("--list", action="store_true", dest="listed", help="print each mismatch")
    arguments = parser.parse_args()
    folder, rows = Folder(arguments.dir), list(answers(arguments.answers))
    present = [row for row in rows if (folder.root / row.path).is_file()]
    needed = [row for row in present if row.needed]
    print(as_text((cell for row in needed for cell in judged(folder, row)), arguments.listed))
    empty = [row for row in present if row.line is None]
    silent = sum(not list(folder.workloads(row.path)) for row in empty)
    print()
    print(f"workloads read by eye: {len(needed)}; objects without GPUs: {len(present) - len(needed) - len(empty)}")
    print(f"files without a workload: none found in {share(silent, len(empty))}")
    print(f"rows whose file is not in the directory: {len(rows) - len(present)}")


if __name__ == "__main__":
    main()
