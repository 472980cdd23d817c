"""Comparison: added, removed and changed findings, hardware and cost between base and head."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from gpulint.pipeline.diff import matching
from gpulint.pipeline.diff.matching import Renames
from gpulint.policy.rules.identity import BUDGET_PREFIX, FACILITY_PREFIX
from gpulint.report.model import Change, Comparison, Figures, Finding, Report, RoleSummary, Waiver, WorkloadSummary

SYNTAX = "invalid-syntax"
Holds = Callable[[str, str], bool]
Key = Callable[[Finding], object]


class Side(NamedTuple):
    """One side of a comparison: the name of its commit, its report, and a test whether a file holds
    an object.
    """

    name: str
    report: Report
    holds: Holds


class Context(NamedTuple):
    """What is known besides the two reports: renamed files, and which rules absorb which."""

    renamed: Mapping[str, str] = MappingProxyType({})
    absorbed: Mapping[str, frozenset[str]] = MappingProxyType({})


def compare(base: Side, head: Side, context: Context) -> Report:
    """Return the report on head with findings of base marked as such, and with the comparison
    attached.
    """
    names = matching.find_renames(base.report, head.report, context.renamed)
    paired = _Pairs(base, head, context.renamed, names)
    stood = paired.match(_find_open(base.report), head.report.open, louder=False)
    stands = {id(finding) for finding in stood.values()}
    left = [finding for finding in base.report.open if id(finding) not in stands]
    others = [finding for finding in head.report.findings if id(finding) not in stood]
    louder = paired.match(left, others, louder=True)
    speaking = {id(finding) for finding in louder.values()}
    new = [finding for finding in others if id(finding) not in louder]
    ended = [finding for finding in left if id(finding) not in speaking and not _stays(finding, new, context.absorbed)]
    broken = _find_unread(head.report) - _find_unread(base.report)
    untold = [finding for finding in ended if _is_unknown(finding, head, context.renamed, broken)]
    unknown = {id(finding) for finding in untold}
    return head.report._replace(
        findings=tuple(_mark(finding, stood.get(id(finding)), base.name) for finding in head.report.findings),
        failures=(
            *head.report.failures,
            *(failure._replace(path=f"{base.name}:{failure.path}") for failure in base.report.failures),
        ),
        comparison=Comparison(
            base.name,
            head.name,
            tuple(find_changes(base, head, context.renamed, names)),
            gone=tuple(finding for finding in ended if id(finding) not in unknown),
            untold=tuple(untold),
        ),
    )


def _find_open(report: Report) -> list[Finding]:
    """Return the open findings and those accepted by a baseline, which may not follow renamed
    objects.
    """
    return [
        finding for finding in report.findings if finding.suppressed is None or finding.suppressed.kind == "baseline"
    ]


def _mark(finding: Finding, partner: Finding | None, base: str) -> Finding:
    if partner is None:
        return finding
    return finding._replace(suppressed=Waiver("base", f"also present in {base}", partner.location))


# ---- partners


class _Pairs(NamedTuple):
    """Pairs findings of both sides that are the same, in one file, in a renamed one, or where their
    object moved.
    """

    base: Side
    head: Side
    renamed: Mapping[str, str]
    names: Renames

    def match(self, before: Sequence[Finding], after: Sequence[Finding], louder: bool) -> dict[int, Finding]:
        """Return the earlier partners of later findings, by identity.

        A partner is not less severe unless `louder` is set.
        """
        paired: dict[int, Finding] = {}
        for earlier, later in self._list_keys():
            taken = {id(finding) for finding in paired.values()}
            heap: dict[object, list[Finding]] = {}
            for finding in before:
                if id(finding) not in taken:
                    heap.setdefault(earlier(finding), []).append(finding)
            for finding in after:
                if id(finding) not in paired and (partner := self._take(heap.get(later(finding), []), finding, louder)):
                    paired[id(finding)] = partner
        return paired

    def _list_keys(self) -> Iterator[tuple[Key, Key]]:
        yield _key_budget, _key_budget
        yield _key_in_file, lambda finding: (*_key_subject(finding), self._find_earlier_path(finding))
        yield _key_in_place, lambda finding: (*_key_location(finding), self._find_earlier_path(finding))
        yield _key_subject, _key_subject
        yield self.names.earlier, self.names.later
        yield self._key_gone_object, self._key_new_object
        yield _key_broken, lambda finding: _key_broken(finding, self._find_earlier_path(finding))

    def _key_gone_object(self, finding: Finding) -> Hashable:
        """Return a key for a finding whose object head's file no longer holds; else only the
        finding itself.
        """
        gone = finding.workload and _lacks_object(self.head, finding.location.path, finding.subject.object)
        return (*_key_workload(finding), finding.location.path) if gone else id(finding)

    def _key_new_object(self, finding: Finding) -> Hashable:
        """Return the matching key for an object that is new in the file, such as one with a new
        namespace.
        """
        path = self._find_earlier_path(finding) or finding.location.path
        new = finding.workload and _lacks_object(self.base, path, finding.subject.object)
        return (*_key_workload(finding), path) if new else id(finding)

    def _find_earlier_path(self, finding: Finding) -> str:
        return self.renamed.get(finding.location.path, "")

    def _take(self, heap: list[Finding], later: Finding, louder: bool) -> Finding | None:
        for at, earlier in enumerate(heap):
            if (louder or earlier.severity >= later.severity) and self._stays(earlier, later):
                return heap.pop(at)
        return None

    def _stays(self, earlier: Finding, later: Finding) -> bool:
        """Return whether a sum did not grow, or, for other findings, whether their object stayed or
        was moved.
        """
        if not later.subject.object.startswith(BUDGET_PREFIX):
            return self._is_moved(earlier, later)
        before, after = _find_sum(earlier), _find_sum(later)
        return earlier.subject == later.subject or (before is not None and after is not None and after <= before)

    def _is_moved(self, earlier: Finding, later: Finding) -> bool:
        """Return whether two findings are in the same or a renamed file, or whether their object
        moved between files.
        """
        here, there = earlier.location.path, later.location.path
        if here in (there, self.renamed.get(there)):
            return True
        return not self.head.holds(here, earlier.subject.object) and not self.base.holds(there, later.subject.object)


def _key_subject(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.role, finding.subject


def _key_in_file(finding: Finding) -> tuple[object, ...]:
    return *_key_subject(finding), finding.location.path


def _lacks_object(side: Side, path: str, named: str) -> bool:
    """Return whether a file holds no such object.

    A file in which gpulint failed is not read again.
    """
    return all(failure.path != path for failure in side.report.failures) and not side.holds(path, named)


def _key_workload(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.workload, finding.role, finding.subject.quantity, finding.subject.value


def _key_budget(finding: Finding) -> tuple[object, ...]:
    """Return a key for an exceeded budget that ignores its amount; else the key of the finding in
    its file.
    """
    if not finding.subject.object.startswith(BUDGET_PREFIX):
        return _key_in_file(finding)
    return finding.rule, finding.subject._replace(value="")


def _key_broken(finding: Finding, path: str = "") -> Hashable:
    """Return a key for a file that cannot be parsed completely; else only the finding itself."""
    return (finding.rule, path or finding.location.path) if finding.rule == SYNTAX else id(finding)


def _find_sum(finding: Finding) -> float | None:
    """Return the sum that a budget finding is about."""
    values = (fact.values.expected for fact in finding.facts if fact.name == finding.subject.quantity)
    return next((value for value in values if isinstance(value, int | float)), None)


def _key_location(finding: Finding) -> tuple[object, ...]:
    value = finding.subject.value if finding.subject.object.startswith(FACILITY_PREFIX) else ""
    return finding.rule, finding.location.line, finding.location.column, finding.location.text, value


def _key_in_place(finding: Finding) -> tuple[object, ...]:
    return *_key_location(finding), finding.location.path


# ---- what ended


def _stays(finding: Finding, new: Sequence[Finding], absorbed: Mapping[str, frozenset[str]]) -> bool:
    """Return whether the same defect remains with another value, or another rule reports the same
    cause.
    """
    instead = absorbed.get(finding.rule, frozenset())
    owner, quantity = (finding.subject.object, finding.role), finding.subject.quantity
    beside = [other for other in new if (other.subject.object, other.role) == owner]
    return any(
        other.rule in instead or (other.rule == finding.rule and other.subject.quantity == quantity) for other in beside
    )


def _find_unread(report: Report) -> set[str]:
    """Return the files that could not be read completely."""
    wrong = (finding.location.path for finding in report.findings if finding.rule == SYNTAX)
    return {*wrong, *(skip.path for skip in report.skipped), *(failure.path for failure in report.failures)}


def _is_unknown(finding: Finding, head: Side, renamed: Mapping[str, str], broken: set[str]) -> bool:
    """Return whether head cannot show that a finding of base is fixed, because it was not evaluated
    there.
    """
    paths = {finding.location.path, *(later for later, earlier in renamed.items() if earlier == finding.location.path)}
    unread = {skip.path for skip in head.report.skipped} | {failure.path for failure in head.report.failures}
    if paths & unread:
        return True
    named = any(other.name == finding.workload and other.location.path in paths for other in head.report.workloads)
    if not named and paths & broken:
        return True
    if not finding.workload:
        return False
    roles = [
        role
        for role in _find_roles(head.report, finding)
        if finding.rule in {lacking.rule for lacking in role.not_evaluated}
    ]
    stays = not named and any(head.holds(path, finding.subject.object) for path in paths)
    return bool(roles) or (stays and not any(_is_about(other, finding) for other in head.report.workloads))


def _find_roles(report: Report, finding: Finding) -> Iterator[RoleSummary]:
    """Yield the roles that a finding was about.

    Workloads of the same name elsewhere count only if its file has none.
    """
    alike = [workload for workload in report.workloads if _is_about(workload, finding)]
    for workload in [there for there in alike if there.location.path == finding.location.path] or alike:
        yield from (role for role in workload.roles if role.name == finding.role or len(workload.roles) == 1)


def _is_about(workload: WorkloadSummary, finding: Finding) -> bool:
    return workload.name == finding.workload


# ---- figures


def find_changes(
    base: Side, head: Side, renamed: Mapping[str, str], names: Renames = matching.NONE
) -> Iterator[Change]:
    """Yield the workloads whose hardware or cost changes: those of head, then those that were
    removed.
    """
    left = _index_by_identity(base.report.workloads)
    cured, broken = (
        _find_unread(side.report) - _find_unread(other.report) for side, other in ((base, head), (head, base))
    )
    for (path, kind, name, number), after in _index_by_identity(head.report.workloads).items():
        earlier = left.pop((path, kind, name, number), None) or left.pop(
            (renamed.get(path, ""), kind, name, number), None
        )
        if earlier is None and (place := names.workloads.get((path, kind, name))):
            earlier = left.pop((*place, number), None)
        if earlier is None and (other := _find_other_kind(renamed.get(path, path), name, left, head)):
            earlier = left.pop(other)
        if earlier is None and (moved := _find_moved(kind, name, left, head)):
            earlier = left.pop(moved)
        if _differs(earlier, after):
            yield Change(name, kind, path, _resolve_side(earlier, path in cured), sum_figures(after))
    for (path, kind, name, _), earlier in left.items():
        if _takes(earlier):
            yield Change(name, kind, path, sum_figures(earlier), _resolve_side(None, path in broken))


def _resolve_side(workload: WorkloadSummary | None, may_be: bool) -> Figures | None:
    """Return the figures of a workload.

    For a missing one, return unknown figures if it may exist, else None.
    """
    if workload is not None:
        return sum_figures(workload)
    return Figures() if may_be else None


def _differs(earlier: WorkloadSummary | None, after: WorkloadSummary) -> bool:
    """Return whether the hardware of a workload changed, or may have changed."""
    if earlier is None or not _takes(earlier):
        return _takes(after)
    was, now = sum_figures(earlier), sum_figures(after)
    return was != now or (_lacks(now) and _list_inputs(earlier) != _list_inputs(after))


def _takes(workload: WorkloadSummary) -> bool:
    """Return whether a workload has hardware of its own."""
    return any(role.figures is not None for role in workload.roles)


def sum_figures(workload: WorkloadSummary) -> Figures:
    """Return what all roles of a workload take; zero for a workload without GPUs."""
    own = [role.figures for role in workload.roles if role.figures is not None]
    return Figures(
        gpus=_add(figures_of_role.gpus for figures_of_role in own),
        cost_usd_per_hour=_add(figures_of_role.cost_usd_per_hour for figures_of_role in own),
        power_w=_add(figures_of_role.power_w for figures_of_role in own),
        headroom=min(
            (figures_of_role.headroom for figures_of_role in own if figures_of_role.headroom is not None), default=None
        )
        if all(figures_of_role.headroom is not None for figures_of_role in own)
        else None,
    )


def _add(values: Iterable[float | None]) -> float | None:
    """Return the sum; None if a value is unknown."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _lacks(figures: Figures) -> bool:
    return None in (figures.gpus, figures.cost_usd_per_hour, figures.power_w)


def _list_inputs(workload: WorkloadSummary) -> object:
    """Return what was read of a workload that decides its hardware."""
    return [(role.name, role.accelerator, role.prices) for role in workload.roles]


Identity = tuple[str, str, str, int]


def _index_by_identity(workloads: Iterable[WorkloadSummary]) -> dict[Identity, WorkloadSummary]:
    """Return workloads by path, kind, name, and their index among equal ones."""
    numbers: dict[tuple[str, str, str], count[int]] = {}
    found: dict[Identity, WorkloadSummary] = {}
    for workload in workloads:
        key = workload.location.path, workload.kind, workload.name
        found[*key, next(numbers.setdefault(key, count()))] = workload
    return found


def _find_moved(kind: str, name: str, left: Mapping[Identity, WorkloadSummary], head: Side) -> Identity | None:
    """Return the workload of base that head has at another path only."""
    stands = {(workload.location.path, workload.kind, workload.name) for workload in head.report.workloads}
    return next((identity for identity in left if identity[1:3] == (kind, name) and identity[:3] not in stands), None)


def _find_other_kind(path: str, name: str, left: Mapping[Identity, WorkloadSummary], head: Side) -> Identity | None:
    """Return the workload of base with that name in a file, which head reads as another kind."""
    stands = {(workload.location.path, workload.kind, workload.name) for workload in head.report.workloads}
    return next(
        (identity for identity in left if (identity[0], identity[2]) == (path, name) and identity[:3] not in stands),
        None,
    )
