"""Comparison: what head has that base had not, what it has no more, and what that changes in hardware and cost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from gpulint import renaming
from gpulint.findings import (
    Change,
    Comparison,
    Figures,
    Finding,
    Report,
    RoleSummary,
    Waiver,
    WorkloadSummary,
)
from gpulint.policy.subject import OF_BUDGET, OF_FACILITY
from gpulint.renaming import Names

SYNTAX = "invalid-syntax"
Holds = Callable[[str, str], bool]
Key = Callable[[Finding], object]


class Side(NamedTuple):
    """One side of a comparison: the commit as it was named, the report on it, and whether a file of it holds an object."""

    name: str
    report: Report
    holds: Holds


class Known(NamedTuple):
    """What is known of a change beside its two reports: files that were only renamed, and which rules speak instead of which."""

    renamed: Mapping[str, str] = MappingProxyType({})
    absorbed: Mapping[str, frozenset[str]] = MappingProxyType({})


def compared(base: Side, head: Side, known: Known) -> Report:
    """The report on head, in which what stood on base is marked, with what the change makes of the whole."""
    names = renaming.names(base.report, head.report, known.renamed)
    paired = _Pairs(base, head, known.renamed, names)
    stood = paired.found(_standing(base.report), head.report.open, louder=False)
    stands = {id(one) for one in stood.values()}
    left = [one for one in base.report.open if id(one) not in stands]
    others = [one for one in head.report.findings if id(one) not in stood]
    louder = paired.found(left, others, louder=True)
    speaking = {id(one) for one in louder.values()}
    new = [one for one in others if id(one) not in louder]
    ended = [one for one in left if id(one) not in speaking and not _stays(one, new, known.absorbed)]
    broken = _unread(head.report) - _unread(base.report)
    untold = [one for one in ended if _is_untold(one, head, known.renamed, broken)]
    told = {id(one) for one in untold}
    return head.report._replace(
        findings=tuple(_marked(one, stood.get(id(one)), base.name) for one in head.report.findings),
        failures=(
            *head.report.failures,
            *(one._replace(path=f"{base.name}:{one.path}") for one in base.report.failures),
        ),
        comparison=Comparison(
            base.name,
            head.name,
            tuple(changes(base, head, known.renamed, names)),
            gone=tuple(one for one in ended if id(one) not in told),
            untold=tuple(untold),
        ),
    )


def _standing(report: Report) -> list[Finding]:
    """The findings that count, and those that a baseline accepts: it may not follow their objects to another name."""
    return [one for one in report.findings if one.suppressed is None or one.suppressed.kind == "baseline"]


def _marked(finding: Finding, partner: Finding | None, base: str) -> Finding:
    if partner is None:
        return finding
    return finding._replace(suppressed=Waiver("base", f"also present in {base}", partner.location))


# ---- partners


class _Pairs(NamedTuple):
    """Which findings of two sides are the same debt: in one file, in a renamed one, or where their object moved to."""

    base: Side
    head: Side
    renamed: Mapping[str, str]
    names: Names

    def found(self, before: Sequence[Finding], after: Sequence[Finding], louder: bool) -> dict[int, Finding]:
        """The partners of later findings, by their identity; none is less severe than its own unless it may be `louder`."""
        paired: dict[int, Finding] = {}
        for earlier, later in self._ways():
            taken = {id(one) for one in paired.values()}
            heap: dict[object, list[Finding]] = {}
            for one in before:
                if id(one) not in taken:
                    heap.setdefault(earlier(one), []).append(one)
            for one in after:
                if id(one) not in paired and (partner := self._taken(heap.get(later(one), []), one, louder)):
                    paired[id(one)] = partner
        return paired

    def _ways(self) -> Iterator[tuple[Key, Key]]:
        yield _budget, _budget
        yield _in_its_file, lambda one: (*_what(one), self._before(one))
        yield _at_its_place, lambda one: (*_where(one), self._before(one))
        yield _what, _what
        yield self.names.earlier, self.names.later
        yield self._of_object_gone, self._of_object_new
        yield _broken, lambda one: _broken(one, self._before(one))

    def _of_object_gone(self, one: Finding) -> Hashable:
        """What is wrong with a workload whose object head's file no longer holds; of all else only the finding itself."""
        gone = one.workload and _without(self.head, one.location.path, one.subject.object)
        return (*_of_workload(one), one.location.path) if gone else id(one)

    def _of_object_new(self, one: Finding) -> Hashable:
        """The same where its object came into the file, as one does whose namespace or group is another one."""
        path = self._before(one) or one.location.path
        new = one.workload and _without(self.base, path, one.subject.object)
        return (*_of_workload(one), path) if new else id(one)

    def _before(self, one: Finding) -> str:
        return self.renamed.get(one.location.path, "")

    def _taken(self, heap: list[Finding], later: Finding, louder: bool) -> Finding | None:
        for at, earlier in enumerate(heap):
            if (louder or earlier.severity >= later.severity) and self._stays(earlier, later):
                return heap.pop(at)
        return None

    def _stays(self, earlier: Finding, later: Finding) -> bool:
        """Whether a sum is no larger than before; of all else whether what it is about stands, or was moved there."""
        if not later.subject.object.startswith(OF_BUDGET):
            return self._moved(earlier, later)
        before, after = _counted(earlier), _counted(later)
        return earlier.subject == later.subject or (before is not None and after is not None and after <= before)

    def _moved(self, earlier: Finding, later: Finding) -> bool:
        """Whether two findings stand in one file or a renamed one, or their object left the one and came into the other."""
        here, there = earlier.location.path, later.location.path
        if here in (there, self.renamed.get(there)):
            return True
        return not self.head.holds(here, earlier.subject.object) and not self.base.holds(there, later.subject.object)


def _what(one: Finding) -> tuple[object, ...]:
    return one.rule, one.role, one.subject


def _in_its_file(one: Finding) -> tuple[object, ...]:
    return *_what(one), one.location.path


def _without(side: Side, path: str, named: str) -> bool:
    """Whether a file holds no such object; one in which we failed is not read again."""
    return all(failure.path != path for failure in side.report.failures) and not side.holds(path, named)


def _of_workload(one: Finding) -> tuple[object, ...]:
    return one.rule, one.workload, one.role, one.subject.quantity, one.subject.value


def _budget(one: Finding) -> tuple[object, ...]:
    """A budget that is exceeded, by whatever amount and by whomever most; of all else the finding itself."""
    if not one.subject.object.startswith(OF_BUDGET):
        return _in_its_file(one)
    return one.rule, one.subject._replace(value="")


def _broken(one: Finding, path: str = "") -> Hashable:
    """A file that cannot be read to its end, wherever that is seen first; of all else only the finding itself."""
    return (one.rule, path or one.location.path) if one.rule == SYNTAX else id(one)


def _counted(one: Finding) -> float | None:
    """The sum that a finding about a budget is about."""
    values = (fact.values.likely for fact in one.facts if fact.name == one.subject.quantity)
    return next((value for value in values if isinstance(value, int | float)), None)


def _where(one: Finding) -> tuple[object, ...]:
    held = one.subject.value if one.subject.object.startswith(OF_FACILITY) else ""
    return one.rule, one.location.line, one.location.column, one.location.text, held


def _at_its_place(one: Finding) -> tuple[object, ...]:
    return *_where(one), one.location.path


# ---- what ended


def _stays(one: Finding, new: Sequence[Finding], absorbed: Mapping[str, frozenset[str]]) -> bool:
    """Whether the same is wrong with another value, or another rule speaks of the same cause now."""
    instead = absorbed.get(one.rule, frozenset())
    owner, quantity = (one.subject.object, one.role), one.subject.quantity
    beside = [other for other in new if (other.subject.object, other.role) == owner]
    return any(
        other.rule in instead or (other.rule == one.rule and other.subject.quantity == quantity) for other in beside
    )


def _unread(report: Report) -> set[str]:
    """The files that could not be read to their ends."""
    wrong = (one.location.path for one in report.findings if one.rule == SYNTAX)
    return {*wrong, *(one.path for one in report.skipped), *(one.path for one in report.failures)}


def _is_untold(one: Finding, head: Side, renamed: Mapping[str, str], broken: set[str]) -> bool:
    """Whether head cannot say that a finding of base is cured: nothing there is judged, or not by that rule."""
    paths = {one.location.path, *(later for later, earlier in renamed.items() if earlier == one.location.path)}
    unread = {one.path for one in head.report.skipped} | {one.path for one in head.report.failures}
    if paths & unread:
        return True
    named = any(other.name == one.workload and other.location.path in paths for other in head.report.workloads)
    if not named and paths & broken:
        return True
    if not one.workload:
        return False
    roles = [role for role in _roles(head.report, one) if one.rule in {lacking.rule for lacking in role.not_evaluated}]
    stays = not named and any(head.holds(path, one.subject.object) for path in paths)
    return bool(roles) or (stays and not any(_is(other, one) for other in head.report.workloads))


def _roles(report: Report, one: Finding) -> Iterator[RoleSummary]:
    """The roles that a finding was about: of the workload in its file, and only where there is none, of that name elsewhere."""
    alike = [workload for workload in report.workloads if _is(workload, one)]
    for workload in [there for there in alike if there.location.path == one.location.path] or alike:
        yield from (role for role in workload.roles if role.name == one.role or len(workload.roles) == 1)


def _is(workload: WorkloadSummary, one: Finding) -> bool:
    return workload.name == one.workload


# ---- figures


def changes(base: Side, head: Side, renamed: Mapping[str, str], names: Names = renaming.NONE) -> Iterator[Change]:
    """The workloads whose hardware or cost a change touches: as head has them, then those that it has no more."""
    left = _by_identity(base.report.workloads)
    cured, broken = (_unread(one.report) - _unread(other.report) for one, other in ((base, head), (head, base)))
    for (path, kind, name, number), after in _by_identity(head.report.workloads).items():
        earlier = left.pop((path, kind, name, number), None) or left.pop(
            (renamed.get(path, ""), kind, name, number), None
        )
        if earlier is None and (place := names.workloads.get((path, kind, name))):
            earlier = left.pop((*place, number), None)
        if earlier is None and (other := _of_another_kind(renamed.get(path, path), name, left, head)):
            earlier = left.pop(other)
        if earlier is None and (moved := _moved(kind, name, left, head)):
            earlier = left.pop(moved)
        if _differs(earlier, after):
            yield Change(name, kind, path, _side(earlier, path in cured), figures(after))
    for (path, kind, name, _), earlier in left.items():
        if _takes(earlier):
            yield Change(name, kind, path, figures(earlier), _side(None, path in broken))


def _side(workload: WorkloadSummary | None, may_be: bool) -> Figures | None:
    """What a workload takes; nothing where it is not there, and nobody knows what where that cannot be told."""
    if workload is not None:
        return figures(workload)
    return Figures() if may_be else None


def _differs(earlier: WorkloadSummary | None, after: WorkloadSummary) -> bool:
    """Whether what a workload takes is another amount, or may be."""
    if earlier is None or not _takes(earlier):
        return _takes(after)
    was, now = figures(earlier), figures(after)
    return was != now or (_lacks(now) and _read(earlier) != _read(after))


def _takes(workload: WorkloadSummary) -> bool:
    """Whether a workload has hardware of its own."""
    return any(role.figures is not None for role in workload.roles)


def figures(workload: WorkloadSummary) -> Figures:
    """What all roles of a workload take; of one without GPUs nothing."""
    own = [role.figures for role in workload.roles if role.figures is not None]
    return Figures(
        gpus=_sum(one.gpus for one in own),
        cost_usd_per_hour=_sum(one.cost_usd_per_hour for one in own),
        power_w=_sum(one.power_w for one in own),
        headroom=min((one.headroom for one in own if one.headroom is not None), default=None)
        if all(one.headroom is not None for one in own)
        else None,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum; None where one of them cannot be told."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _lacks(one: Figures) -> bool:
    return None in (one.gpus, one.cost_usd_per_hour, one.power_w)


def _read(workload: WorkloadSummary) -> object:
    """What decides a workload's hardware, as far as it was read."""
    return [(role.name, role.accelerator, role.prices) for role in workload.roles]


Identity = tuple[str, str, str, int]


def _by_identity(workloads: Iterable[WorkloadSummary]) -> dict[Identity, WorkloadSummary]:
    """Workloads by path, kind, name, and their number among those that share them."""
    numbers: dict[tuple[str, str, str], count[int]] = {}
    found: dict[Identity, WorkloadSummary] = {}
    for one in workloads:
        key = one.location.path, one.kind, one.name
        found[*key, next(numbers.setdefault(key, count()))] = one
    return found


def _moved(kind: str, name: str, left: Mapping[Identity, WorkloadSummary], head: Side) -> Identity | None:
    """The workload of base that head has elsewhere, and no more where it was."""
    stands = {(one.location.path, one.kind, one.name) for one in head.report.workloads}
    return next((one for one in left if one[1:3] == (kind, name) and one[:3] not in stands), None)


def _of_another_kind(path: str, name: str, left: Mapping[Identity, WorkloadSummary], head: Side) -> Identity | None:
    """The workload of base of that name in a file, which head reads as another kind of program."""
    stands = {(one.location.path, one.kind, one.name) for one in head.report.workloads}
    return next((one for one in left if (one[0], one[2]) == (path, name) and one[:3] not in stands), None)
