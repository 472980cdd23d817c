"""How much of a directory of real specs is read, and what is said of it, by kind of file.

    python bench/corpus.py DIR [--index TSV] [--format text|json]

DIR holds the files; the index is a table with the columns repo, path, kind (a file lies at `OWNER+NAME/PATH`). Each file
is linted alone. Denominators are the index's and the directory's, never gpulint's own count: `known` columns count
files in which at least one role has the fact, over the files stored of that kind. Facts per role are in the JSON.
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

from gpulint import repository
from gpulint.facts import Facts, Missing
from gpulint.workload import Role

POD_BEARING = frozenset(
    {
        *("Deployment", "StatefulSet", "Pod", "Job", "DaemonSet", "LeaderWorkerSet", "InferenceService", "ReplicaSet"),
        "CronJob",
    }
)
UNLISTED = "(not in the index)"
KNOWN = ("accelerator", "gpu_count", "architecture", "engine", "parallelism")
HEAD = (
    *("kind", "listed", "absent", "parsed", "recognised", "workloads", "roles", "accel.", "count", "arch.", "engine"),
    *("parallel", "findings", "not ev.", "crashes", "CPU s"),
)


@dataclass
class Row:
    """What was counted for the files of one kind."""

    listed: int = 0
    stored: int = 0
    parsed: int = 0
    recognised: int = 0
    workloads: int = 0
    roles: int = 0
    files_known: Counter[str] = field(default_factory=Counter)
    roles_known: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    not_evaluated: Counter[str] = field(default_factory=Counter)
    needs: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    crashes: list[str] = field(default_factory=list)
    cpu_s: float = 0.0

    @property
    def absent(self) -> int:
        return self.listed - self.stored


def counted(folder: Folder, path: str) -> Row:
    """What one file gives."""
    row = Row(stored=1)
    if not path.endswith(repository.SUFFIXES):
        row.skipped["not a format that is read"] += 1
        return row
    try:
        _reported(row, folder, path)
        if not row.crashes:
            _understood(row, folder, path)
    except Exception as error:  # what escapes the pipeline is a crash all the same
        row.crashes.append(f"{path}: escaped: {type(error).__name__}: {error}")
    return row


def _reported(row: Row, folder: Folder, path: str) -> None:
    report, row.cpu_s = folder.report(path)
    row.findings.update(finding.rule for finding in report.findings)
    row.skipped.update(skip.reason for skip in report.skipped)
    row.crashes.extend(f"{failure.path}: {failure.error}" for failure in report.failures)
    row.workloads = len(report.workloads)
    row.recognised = int(bool(report.workloads))
    for summary in report.workloads:
        for role in summary.roles:
            row.not_evaluated.update(one.rule for one in role.not_evaluated)
            row.needs.update({need for one in role.not_evaluated for need in one.needs})


def _understood(row: Row, folder: Folder, path: str) -> None:
    loaded = folder.loaded(path)
    broken = any(problem.kind == "invalid-syntax" for problem in loaded.problems)
    row.parsed = int(bool(loaded.documents) and not broken and not loaded.skips)
    for read in folder.workloads(path):
        row.roles += len(read.roles)
        for role, known in read.roles:
            row.roles_known.update(name for name in KNOWN if _is_known(name, role, known))
    row.files_known.update(set(row.roles_known))


def _is_known(name: str, role: Role, known: Facts) -> bool:
    match name:
        case "engine":
            return bool(role.text("engine"))
        case "gpu_count":
            return not isinstance(known.worlds("gpus_per_pod"), Missing)
        case "parallelism":
            return not isinstance(known.worlds("parallel_size"), Missing)
        case "accelerator":
            return bool(role.text("accelerator") or role.text("mig_profile"))
    return not isinstance(known.worlds(name), Missing)


def added(rows: Iterable[Row]) -> Row:
    """The sum of rows."""
    total = Row()
    for row in rows:
        for name in ("listed", "stored", "parsed", "recognised", "workloads", "roles", "cpu_s"):
            setattr(total, name, getattr(total, name) + getattr(row, name))
        for name in ("files_known", "roles_known", "findings", "not_evaluated", "needs", "skipped"):
            getattr(total, name).update(getattr(row, name))
        total.crashes.extend(row.crashes)
    return total


def kinds(index: Path | None) -> dict[str, str]:
    """The kind of each listed file, by its path below the directory."""
    if index is None:
        return {}
    with index.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {f"{row['repo'].replace('/', '+')}/{row['path']}": row["kind"] for row in rows}


def measured(folder: Folder, listed: Mapping[str, str]) -> dict[str, Row]:
    """A row for each kind, most files first."""
    parts: dict[str, list[Row]] = {kind: [] for kind in listed.values()}
    for path in folder.paths():
        parts.setdefault(listed.get(path, UNLISTED), []).append(counted(folder, path))
    rows = {kind: added(part) for kind, part in parts.items()}
    for kind, count in Counter(listed.values()).items():
        rows[kind].listed = count
    return dict(sorted(rows.items(), key=lambda pair: (-pair[1].stored, -pair[1].listed, pair[0])))


def as_text(rows: Mapping[str, Row]) -> str:
    """A table of the kinds, then findings, checks not evaluated and crashes of them all."""
    total = added(rows.values())
    pods = added(row for kind, row in rows.items() if kind in POD_BEARING)
    shown = {**rows, "pod-bearing kinds": pods, "total": total}
    lines = [alone.table([HEAD, *(_cells(kind, row) for kind, row in shown.items())]), ""]
    lines.append("pod-bearing kinds, files with the fact known / files recognised: " + _over_recognised(pods))
    lines.append(f"pod-bearing kinds, roles with the fact known / {pods.roles} roles: " + _over_roles(pods))
    for title, counter in (
        ("findings", total.findings),
        ("not evaluated", total.not_evaluated),
        ("what those checks lack (roles)", total.needs),
        ("skipped", total.skipped),
    ):
        lines += ["", f"{title}: {sum(counter.values())}", *(f"  {n:>5}  {name}" for name, n in counter.most_common())]
    lines += ["", f"crashes: {len(total.crashes)}", *(f"  {crash}" for crash in total.crashes)]
    return "\n".join(lines)


def _cells(kind: str, row: Row) -> tuple[str, ...]:
    known = (share(row.files_known[name], row.stored) for name in KNOWN)
    counts = (str(sum(row.findings.values())), str(sum(row.not_evaluated.values())), str(len(row.crashes)))
    read = (share(row.parsed, row.stored), share(row.recognised, row.stored), str(row.workloads), str(row.roles))
    return (kind, str(row.listed), str(max(row.absent, 0)), *read, *known, *counts, f"{row.cpu_s:.2f}")


def _over_recognised(row: Row) -> str:
    return ", ".join(f"{name} {share(row.files_known[name], row.recognised)}" for name in KNOWN)


def _over_roles(row: Row) -> str:
    return ", ".join(f"{name} {row.roles_known[name]}" for name in KNOWN)


def as_json(rows: Mapping[str, Row]) -> str:
    """The same, with every counter of every kind."""
    pods = added(row for kind, row in rows.items() if kind in POD_BEARING)
    shown = {**rows, "pod-bearing kinds": pods, "total": added(rows.values())}
    return json.dumps({kind: {**vars(row), "absent": max(row.absent, 0)} for kind, row in shown.items()}, indent=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    rows = measured(Folder(arguments.dir), kinds(arguments.index))
    print(as_json(rows) if arguments.format == "json" else as_text(rows))
    sys.exit(any(row.crashes for row in rows.values()))


if __name__ == "__main__":
    main()
