"""Renames: workloads and roles with another name on head, if the match is unambiguous."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

from gpulint.report.model import Finding, Report, WorkloadSummary

Place = tuple[str, str, str]
"""A workload by its path, its kind and its name."""
Role = tuple[str, str, str]
"""A role by the path and name of its workload, and its own name."""


class Renames(NamedTuple):
    """Base names of renamed workloads, removed roles of base, and new roles of head."""

    workloads: Mapping[Place, Place]
    gone: frozenset[Role]
    new: Mapping[Role, tuple[str, str]]

    def earlier(self, finding: Finding) -> Hashable:
        """Return the key of a base finding under its role's new name; if the role is not gone, only
        itself.
        """
        path, role = finding.location.path, (finding.location.path, finding.workload, finding.role)
        return (*_key_subject(finding), path, finding.workload) if role in self.gone else id(finding)

    def later(self, finding: Finding) -> Hashable:
        """Return the key of a head finding under its role's earlier name."""
        before = self.new.get((finding.location.path, finding.workload, finding.role))
        return (*_key_subject(finding), *before) if before else id(finding)


def find_renames(base: Report, head: Report, files: Mapping[str, str]) -> Renames:
    """Return the renamed workloads and roles; `files` maps renamed files to their base paths."""
    before, after = _index_by_place(base), _index_by_place(head)
    workloads = dict(_find_renamed(before, after, files))
    gone: set[Role] = set()
    new: dict[Role, tuple[str, str]] = {}
    for place, workload in after.items():
        earlier = workloads.get(place, (files.get(place[0], place[0]), *place[1:]))
        if earlier not in before:
            continue
        was, now = _find_roles(before[earlier]), _find_roles(workload)
        same = set() if place in workloads else was & now
        gone.update((earlier[0], earlier[2], role) for role in was - same)
        new.update(((place[0], place[2], role), (earlier[0], earlier[2])) for role in now - same)
    return Renames(workloads, frozenset(gone), new)


def _find_renamed(
    before: Mapping[Place, WorkloadSummary], after: Mapping[Place, WorkloadSummary], files: Mapping[str, str]
) -> Iterator[tuple[Place, Place]]:
    """Yield the only new and the only removed workload of a kind in a file, if both run the same
    engines.
    """
    left = [place for place in before if place not in _map_to_base(after, files)]
    added = [place for place in after if (files.get(place[0], place[0]), *place[1:]) not in before]
    elsewhere = {place[1:] for place in left} & {place[1:] for place in added}
    for place in added:
        there = files.get(place[0], place[0])
        gone = [one for one in left if one[:2] == (there, place[1])]
        beside = [one for one in added if one[:2] == place[:2]]
        named = {place[1:] for place in (*gone, place)}
        alone = len(gone) == len(beside) == 1 and not named & elsewhere
        if alone and _find_engines(before[gone[0]]) == _find_engines(after[place]):
            yield place, gone[0]


def _map_to_base(after: Iterable[Place], files: Mapping[str, str]) -> set[Place]:
    return {(files.get(path, path), kind, name) for path, kind, name in after}


def _index_by_place(report: Report) -> dict[Place, WorkloadSummary]:
    return {(workload.location.path, workload.kind, workload.name): workload for workload in report.workloads}


def _find_roles(workload: WorkloadSummary) -> set[str]:
    return {role.name for role in workload.roles}


def _find_engines(workload: WorkloadSummary) -> set[str]:
    return {role.engine for role in workload.roles}


def _key_subject(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.subject.quantity, finding.subject.value


NONE = Renames({}, frozenset(), {})
