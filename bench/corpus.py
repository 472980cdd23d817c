"""How much of a directory of real specs is read, by kind of file.

    python bench/corpus.py DIR [--index TSV] [--format text|json] [--list]

DIR holds the files; the index is a table with the columns repo, path, kind (a file lies at `ORG+NAME/PATH`). Each file
is linted alone, its siblings in reach. Denominators are the index's and the directory's, never gpulint's own count: a file
is recognised when it is what `kinds.tsv` says its kind is; `known` columns count files in which at least one role has the
fact. The shares over workloads count every role, and every file of a kind that bears workloads in which none was found
counts as one role about which nothing is known, unless a reader of it found none either (`silent.tsv`).
`explained`: the report names who decides it instead, and where.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import alone
from alone import Folder, share

from gpulint.facts.model import Facts, Missing
from gpulint.pipeline.summary import role as summary_role
from gpulint.report.model import Report
from gpulint.source import documents
from gpulint.workload import Role

EXPECTED = Path(__file__).with_name("kinds.tsv")
READ_BY_EYE = Path(__file__).with_name("silent.tsv")
UNLISTED = "(not in the index)"
KNOWN = ("accelerator", "gpu_count", "architecture", "engine", "parallelism")
WORKLOADS = frozenset(
    {
        *("Deployment", "Deployment (invalid YAML)", "DaemonSet", "StatefulSet", "ReplicaSet", "Pod", "Job", "JobSet"),
        *("LeaderWorkerSet", "PyTorchJob", "MPIJob", "TrainJob", "Volcano Job", "RayCluster", "RayJob", "RayService"),
        *("InferenceService", "InferenceService (invalid YAML)", "LLMInferenceService", "NIMService", "KubeAI Model"),
        *("VLLMRuntime", "SparkApplication", "docker-compose", "SkyPilot task", "dstack task", "dstack service"),
        *("dstack dev-environment", "Truss config", "Triton config.pbtxt", "Helm values", "sbatch script"),
        *("training launch script", "Megatron launch script", "inference launch script", "docker run script"),
    }
)
"""Kinds whose files state workloads; not every file does: some ask for no GPU, some hold settings only."""
ANY_HOST = "any host"
"""That whatever machine runs it decides says only that nobody states it, and is no explanation here."""
EXPLAINED: Mapping[str, frozenset[str]] = {
    "accelerator": frozenset({"accelerator"}),
    "gpu_count": frozenset({"gpus_per_pod", "gpus_per_replica"}),
    "architecture": frozenset({"architecture", "checkpoint"}),
    "engine": frozenset({"engine", "program"}),
}
"""The quantities whose explanation explains a column."""
HEAD = (
    *("kind", "listed", "absent", "parsed", "recognised", "workloads", "roles", "accel.", "count", "arch.", "engine"),
    *("parallel", "findings", "not ev.", "crashes", "CPU s"),
)


@dataclass
class Row:
    """What was counted for the files of one kind."""

    listed: int = 0
    stored: int = 0
    silent: int = 0
    mislabelled: int = 0
    parsed: int = 0
    expected: int = 0
    recognised: int = 0
    workloads: int = 0
    roles: int = 0
    files_known: Counter[str] = field(default_factory=Counter)
    roles_known: Counter[str] = field(default_factory=Counter)
    roles_explained: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    not_evaluated: Counter[str] = field(default_factory=Counter)
    needs: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    crashes: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    cpu_s: float = 0.0

    @property
    def absent(self) -> int:
        return self.listed - self.stored


def read_by_eye() -> dict[str, Mapping[str, str]]:
    """What a reader said of files in which no workload was found, by path."""
    with READ_BY_EYE.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return {row["path"]: row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}


def counted(folder: Folder, path: str, kind: str, wanted: frozenset[str], read: Mapping[str, str] | None) -> Row:
    """What one file gives, whose kind is to be recognised as one of those wanted; `read` is what a reader said of it."""
    row = Row(stored=1, expected=int(bool(wanted)))
    if not documents.is_read(path) and not folder.content(path).startswith(b"#!"):
        row.skipped["a format that gpulint does not read"] += 1
        row.missed += [f"{kind}: {path}"] if wanted else []
        return row
    try:
        _reported(row, folder, path, kind, wanted)
        row.silent = int(not row.workloads and (read is None or read["states"] == "workload"))
        row.mislabelled = int(not row.recognised and read is not None and read["label"] == "wrong")
        if not row.crashes:
            _understood(row, folder, path)
    except Exception as error:  # what escapes the pipeline is a crash all the same
        row.crashes.append(f"{path}: escaped: {type(error).__name__}: {error}")
    return row


def _reported(row: Row, folder: Folder, path: str, kind: str, wanted: frozenset[str]) -> None:
    report, row.cpu_s = folder.report(path)
    row.findings.update(finding.rule for finding in report.findings)
    row.skipped.update(skip.reason for skip in report.skipped)
    row.crashes.extend(f"{failure.path}: {failure.error}" for failure in report.failures)
    row.workloads = len(report.workloads)
    row.recognised = int(bool(wanted & _said(report)))
    if wanted and not row.recognised:
        row.missed.append(f"{kind}: {path}")
    for workload in report.workloads:
        for role in workload.roles:
            row.not_evaluated.update(one.rule for one in role.not_evaluated)
            row.needs.update({need for one in role.not_evaluated for need in one.needs})


def _said(report: Report) -> set[str]:
    """What a report says that a file is, in the words of kinds.tsv."""
    kinds = {document.kind for document in report.documents}
    return kinds | {f"!{one.rule}" for one in report.findings} | {f"?{skip.reason}" for skip in report.skipped}


def _understood(row: Row, folder: Folder, path: str) -> None:
    loaded = folder.loaded(path)
    broken = any(problem.kind == "invalid-syntax" for problem in loaded.problems)
    row.parsed = int(bool(loaded.documents) and not broken and not loaded.skips)
    for read in folder.workloads(path):
        row.roles += len(read.roles)
        for role, known in read.roles:
            told = {name for name in KNOWN if _is_known(name, role, known)}
            row.roles_known.update(told)
            explained = summary_role.list_unresolved(role, read.resolved[role.name])
            reasons = {one.quantity for one in explained if one.category != ANY_HOST}
            row.roles_explained.update(name for name, by in EXPLAINED.items() if name not in told and by & reasons)
    row.files_known.update(set(row.roles_known))


def _is_known(name: str, role: Role, known: Facts) -> bool:
    match name:
        case "engine":
            return bool(role.text("engine") or role.text("program"))
        case "gpu_count":
            return not isinstance(known.scenarios("gpus_per_pod"), Missing)
        case "parallelism":
            return not isinstance(known.scenarios("parallel_size"), Missing)
        case "accelerator":
            return bool(role.text("accelerator") or role.text("mig_profile"))
    return not isinstance(known.scenarios(name), Missing)


def added(rows: Iterable[Row]) -> Row:
    """The sum of rows."""
    total = Row()
    for row in rows:
        for name in (
            "listed",
            "stored",
            "silent",
            "mislabelled",
            "parsed",
            "expected",
            "recognised",
            "workloads",
            "roles",
            "cpu_s",
        ):
            setattr(total, name, getattr(total, name) + getattr(row, name))
        for name in ("files_known", "roles_known", "roles_explained", "findings", "not_evaluated", "needs", "skipped"):
            getattr(total, name).update(getattr(row, name))
        total.crashes.extend(row.crashes)
        total.missed.extend(row.missed)
    return total


def kinds(index: Path | None) -> dict[str, str]:
    """The kind of each listed file, by its path below the directory."""
    if index is None:
        return {}
    with index.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {f"{row['repo'].replace('/', '+')}/{row['path']}": row["kind"] for row in rows}


def expected() -> dict[str, frozenset[str]]:
    """What a file of each kind of the index is to be recognised as."""
    with EXPECTED.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return {row["kind"]: frozenset(row["as"].split("|")) for row in csv.DictReader(lines, delimiter="\t")}


def measured(folder: Folder, listed: Mapping[str, str]) -> dict[str, Row]:
    """A row for each kind, most files first."""
    parts: dict[str, list[Row]] = {kind: [] for kind in listed.values()}
    wanted, read = expected(), read_by_eye()
    for path in folder.paths():
        kind = listed.get(path, UNLISTED)
        parts.setdefault(kind, []).append(counted(folder, path, kind, wanted.get(kind, frozenset()), read.get(path)))
    rows = {kind: added(part) for kind, part in parts.items()}
    for kind, count in Counter(listed.values()).items():
        rows[kind].listed = count
    return dict(sorted(rows.items(), key=lambda pair: (-pair[1].stored, -pair[1].listed, pair[0])))


def as_text(rows: Mapping[str, Row], listing: bool) -> str:
    """A table of the kinds, the shares, then findings, checks not evaluated and crashes of them all."""
    total = added(rows.values())
    bearing = added(row for kind, row in rows.items() if kind in WORKLOADS)
    shown = {**rows, "kinds that bear workloads": bearing, "total": total}
    lines = [alone.table([HEAD, *(_cells(kind, row) for kind, row in shown.items())]), ""]
    lines += [
        f"recognised as what they are: {_share(total.recognised, total.expected)} files of the kinds of kinds.tsv",
        f"  without those whose label is wrong by eye: {_share(total.recognised, total.expected - total.mislabelled)}",
    ]
    lines += _shares(bearing, empty=_empty(rows))
    for title, counter in (
        ("findings", total.findings),
        ("not evaluated", total.not_evaluated),
        ("what those checks lack (roles)", total.needs),
        ("skipped", total.skipped),
    ):
        lines += ["", f"{title}: {sum(counter.values())}", *(f"  {n:>5}  {name}" for name, n in counter.most_common())]
    lines += ["", f"crashes: {len(total.crashes)}", *(f"  {crash}" for crash in total.crashes)]
    if listing:
        lines += ["", "not recognised:", *(f"  {missed}" for missed in total.missed)]
    return "\n".join(lines)


def _shares(row: Row, empty: int) -> list[str]:
    """Of the roles of files that bear workloads, and of those files in which none was found: known, and explained."""
    whole = row.roles + empty
    lines = [
        f"roles of kinds that bear workloads: {row.roles}, and {empty} files without any that state one or were not read"
    ]
    for name in KNOWN:
        known, explained = row.roles_known[name], row.roles_explained[name]
        lines.append(f"  {name}: known {_share(known, whole)}, known or explained {_share(known + explained, whole)}")
    return lines


def _empty(rows: Mapping[str, Row]) -> int:
    """Files of kinds that bear workloads in which no workload was found."""
    return sum(row.silent for kind, row in rows.items() if kind in WORKLOADS)


def _share(part: int, whole: int) -> str:
    return f"{share(part, whole)} ({part / whole:.1%})" if whole else "-"


def _cells(kind: str, row: Row) -> tuple[str, ...]:
    known = (share(row.files_known[name], row.stored) for name in KNOWN)
    counts = (str(sum(row.findings.values())), str(sum(row.not_evaluated.values())), str(len(row.crashes)))
    recognised = share(row.recognised, row.expected)
    read = (share(row.parsed, row.stored), recognised, str(row.workloads), str(row.roles))
    return (kind, str(row.listed), str(max(row.absent, 0)), *read, *known, *counts, f"{row.cpu_s:.2f}")


def as_json(rows: Mapping[str, Row]) -> str:
    """The same, with every counter of every kind."""
    shown = {**rows, "total": added(rows.values())}
    return json.dumps({kind: {**vars(row), "absent": max(row.absent, 0)} for kind, row in shown.items()}, indent=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--list", action="store_true", help="name the files that are not recognised")
    arguments = parser.parse_args()
    rows = measured(Folder(arguments.dir), kinds(arguments.index))
    print(as_json(rows) if arguments.format == "json" else as_text(rows, arguments.list))
    sys.exit(any(row.crashes for row in rows.values()))


if __name__ == "__main__":
    main()
