"""Renaming: which workloads and roles head has under another name, as far as nothing else can be meant."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

from gpulint.report.model import Finding, Report, WorkloadSummary

Place = tuple[str, str, str]
"""A workload by its path, its kind and its name."""
Role = tuple[str, str, str]
"""A role by the path of its workload, that one's name, and its own."""


class Names(NamedTuple):
    """What base calls workloads that have another name on head; roles of base that are gone, and those of head that are new."""

    workloads: Mapping[Place, Place]
    gone: frozenset[Role]
    new: Mapping[Role, tuple[str, str]]

    def earlier(self, one: Finding) -> Hashable:
        """What a finding of base is under another name of its role; where that is not gone, nothing else is the same."""
        path, role = one.location.path, (one.location.path, one.workload, one.role)
        return (*_what(one), path, one.workload) if role in self.gone else id(one)

    def later(self, one: Finding) -> Hashable:
        """What a finding of head was if its role had another name before."""
        before = self.new.get((one.location.path, one.workload, one.role))
        return (*_what(one), *before) if before else id(one)


def names(base: Report, head: Report, files: Mapping[str, str]) -> Names:
    """What has another name on head, where files that were renamed are called by their paths on head."""
    before, after = _by_place(base), _by_place(head)
    workloads = dict(_renamed(before, after, files))
    gone: set[Role] = set()
    new: dict[Role, tuple[str, str]] = {}
    for place, workload in after.items():
        earlier = workloads.get(place, (files.get(place[0], place[0]), *place[1:]))
        if earlier not in before:
            continue
        was, now = _roles(before[earlier]), _roles(workload)
        same = set() if place in workloads else was & now
        gone.update((earlier[0], earlier[2], role) for role in was - same)
        new.update(((place[0], place[2], role), (earlier[0], earlier[2])) for role in now - same)
    return Names(workloads, frozenset(gone), new)


def _renamed(
    before: Mapping[Place, WorkloadSummary], after: Mapping[Place, WorkloadSummary], files: Mapping[str, str]
) -> Iterator[tuple[Place, Place]]:
    """The only new workload of its kind in a file, and the only one that is gone from there, where both run the same engines."""
    left = [one for one in before if one not in _as_before(after, files)]
    added = [one for one in after if (files.get(one[0], one[0]), *one[1:]) not in before]
    elsewhere = {one[1:] for one in left} & {one[1:] for one in added}
    for place in added:
        there = files.get(place[0], place[0])
        gone = [one for one in left if one[:2] == (there, place[1])]
        beside = [one for one in added if one[:2] == place[:2]]
        named = {one[1:] for one in (*gone, place)}
        alone = len(gone) == len(beside) == 1 and not named & elsewhere
        if alone and _engines(before[gone[0]]) == _engines(after[place]):
            yield place, gone[0]


def _as_before(after: Iterable[Place], files: Mapping[str, str]) -> set[Place]:
    return {(files.get(path, path), kind, name) for path, kind, name in after}


def _by_place(report: Report) -> dict[Place, WorkloadSummary]:
    return {(one.location.path, one.kind, one.name): one for one in report.workloads}


def _roles(workload: WorkloadSummary) -> set[str]:
    return {role.name for role in workload.roles}


def _engines(workload: WorkloadSummary) -> set[str]:
    return {role.engine for role in workload.roles}


def _what(one: Finding) -> tuple[str, str, str]:
    return one.rule, one.subject.quantity, one.subject.value


NONE = Names({}, frozenset(), {})
