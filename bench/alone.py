"""One file of a directory at a time, as the other programs of this folder lint and read it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gpulint.catalog.architecture import Resolution
from gpulint.facts import checkpoints, resolver
from gpulint.facts.model import Facts
from gpulint.pipeline import check, enrichment
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import selection
from gpulint.report.model import Report
from gpulint.source import documents, repository
from gpulint.workload import Role, Workload


class Read(NamedTuple):
    """A workload with the facts of each of its roles."""

    workload: Workload
    roles: tuple[tuple[Role, Facts], ...]
    resolved: Mapping[str, Resolution | None]


class Alone(NamedTuple):
    """What linting one file alone gave, and the CPU it took."""

    report: Report
    cpu_s: float


class Folder:
    """A directory of specs; paths are relative to it."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise SystemExit(f"{root} is not a directory")
        self.root = root
        self.tree = repository.WorkTree(root, base=root)
        rules = selection.enable_rules(selection.load_rules())
        self.given = ResolvedPolicy(rules, tuple(rule.name for rule in rules))

    def paths(self) -> Iterator[str]:
        """Every file below, sorted."""
        found = sorted(place for place in self.root.rglob("*") if place.is_file() and not place.is_symlink())
        return (place.relative_to(self.root).as_posix() for place in found)

    def content(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def report(self, path: str) -> Alone:
        """The report on one file; an exception that escapes the pipeline is the caller's."""
        source = repository.Source(path, self.content(path))
        start = time.process_time()
        report = check.check_files([source], self.tree, self.given)
        return Alone(report, time.process_time() - start)

    def loaded(self, path: str) -> documents.Loaded:
        return documents.load(path, self.content(path))

    def workloads(self, path: str) -> Iterator[Read]:
        """The workloads of one file with their facts, as the pipeline resolves them."""
        for document in self.loaded(path).documents:
            for workload in enrichment.read(document, self.tree):
                resolved = {role.name: checkpoints.resolve(role, path, self.tree, None) for role in workload.roles}
                known = (resolver.resolve(role, resolved[role.name]) for role in workload.roles)
                yield Read(workload, tuple(zip(workload.roles, known, strict=True)), resolved)


def share(part: int, whole: int) -> str:
    """`37/40`, or a dash where there is nothing to count."""
    return f"{part}/{whole}" if whole else "-"


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as columns: the first to the left, the others to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for first, *others in rows:
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join((first.ljust(widths[0]), *cells)).rstrip())
    return "\n".join(lines)
