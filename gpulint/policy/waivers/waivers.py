"""Waivers: which findings comments, annotations and policies accept, how long, and up to what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Related, Waiver

if TYPE_CHECKING:
    from gpulint.facts.model import Facts

ANY = "*"
DAY_S = 86_400
FIELDS = {"while": "bound"}
"""Words of a waiver whose field is called otherwise."""


class Suppression(NamedTuple):
    """A rule that a waiver silences: in these lines of its file, or for the workloads and objects that match.

    `pending` says why it does not count yet.
    """

    rule: str
    waiver: Waiver
    lines: tuple[int, int] | None = None
    workload: str = ANY
    object: str = ANY
    pending: str = ""

    def reaches(self, finding: Finding) -> bool:
        if self.rule != finding.rule:
            return False
        if self.lines is None:
            return _matches(finding.workload, self.workload) and _names(finding.subject.object, self.object)
        first, last = self.lines
        same = self.waiver.location is not None and self.waiver.location.path == finding.location.path
        return same and first <= finding.location.line <= last


class Trouble(NamedTuple):
    """A waiver that is wrong, by the name of the rule that says so."""

    rule: str
    message: str
    location: Location


class Demands(NamedTuple):
    """What a policy wants of every waiver: the words that it states, and that it ends within so many seconds."""

    words: tuple[str, ...] = ()
    last_s: float | None = None

    def unmet(self, waiver: Waiver, today: str) -> str:
        """What a waiver lacks, as a sentence; empty where it lacks nothing."""
        wanted = dict.fromkeys((*self.words, *(() if self.last_s is None else ("until",))))
        lacking = [word for word in wanted if not getattr(waiver, FIELDS.get(word, word))]
        if lacking:
            return f"the policy wants {' and '.join(f'{word}=' for word in lacking)} in each waiver; it silences nothing without"
        if self.last_s is not None and today and _days(today, waiver.until) * DAY_S > self.last_s:
            return f"until={waiver.until} is {_days(today, waiver.until)} days away; the policy allows {self.last_s / DAY_S:g}"
        return ""


class Applied(NamedTuple):
    """The findings of a file, those marked that a waiver silences; what is wrong with waivers; and those that reach nothing."""

    findings: tuple[Finding, ...]
    troubles: tuple[Trouble, ...]
    unused: tuple[Suppression, ...]


def applied(
    findings: Iterable[Finding],
    given: Sequence[Suppression],
    today: str,
    facts: Callable[[Finding], Facts | None],
    demands: Demands | None = None,
) -> Applied:
    """What waivers make of findings; one that has ended, or whose bound does not hold, lets them speak and say so."""
    lacking = {one: demands.unmet(one.waiver, today) for one in given} if demands else {}
    sound = [one for one in given if not lacking.get(one)]
    troubles = [
        Trouble("malformed-suppression", why, one.waiver.location)
        for one, why in lacking.items()
        if why and one.waiver.location
    ]
    used: set[Suppression] = set()
    marked: list[Finding] = []
    for finding in findings:
        reaching = [one for one in sound if one.reaches(finding)]
        used.update(reaching)
        marked.append(_judged(finding, reaching, today, facts))
    troubles += [*filter(None, (_ended(one, today) for one in sound if one in used))]
    return Applied(tuple(marked), tuple(dict.fromkeys(troubles)), tuple(one for one in sound if one not in used))


def _judged(
    finding: Finding, reaching: Sequence[Suppression], today: str, facts: Callable[[Finding], Facts | None]
) -> Finding:
    """A finding under the waivers that reach it: silenced by the first that holds, else with why they do not."""
    why = []
    for one in reaching:
        against = one.pending or _against(one.waiver, finding, today, facts)
        if not against:
            return finding._replace(suppressed=one.waiver)
        why.append(Related(against, one.waiver.location or finding.location))
    if not why:
        return finding
    said = "; ".join([finding.message, *dict.fromkeys(one.label for one in why)])
    return finding._replace(message=said, related=(*finding.related, *why))


def _against(waiver: Waiver, finding: Finding, today: str, facts: Callable[[Finding], Facts | None]) -> str:
    """Why a waiver does not silence a finding that it reaches; empty where it does."""
    if has_ended(waiver, today):
        return f"accepted until {waiver.until}, which is past"
    if not waiver.bound:
        return ""
    from gpulint.policy.waivers import conditions as bound

    known = facts(finding)
    if known is None:
        return f"accepted while {waiver.bound}, which cannot be told: the finding is not about a role of a workload"
    told = bound.told(waiver.bound, known)
    if told.holds is None:
        return f"accepted while {waiver.bound}, which cannot be told without {', '.join(told.needs)}"
    return "" if told.holds else f"accepted while {waiver.bound}; now {told.now}"


def has_ended(waiver: Waiver, today: str) -> bool:
    """Whether the last day of a waiver is past."""
    return bool(waiver.until and today and waiver.until < today)


def _ended(one: Suppression, today: str) -> Trouble | None:
    if not has_ended(one.waiver, today) or one.waiver.location is None:
        return None
    ask = f"; {one.waiver.owner} owns it" if one.waiver.owner else ""
    message = f"the waiver of {one.rule} ended on {one.waiver.until}{ask}: mend the cause, or state a later day"
    return Trouble("expired-suppression", message, one.waiver.location)


def _days(first: str, last: str) -> int:
    from datetime import date

    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def _names(object: str, pattern: str) -> bool:
    """Whether a pattern is of an object, by its identity or by that without the group."""
    return _matches(object, pattern) or _matches(_without_group(object), pattern)


def _without_group(object: str) -> str:
    kind, space, name = object.partition(" ")
    return f"{kind.rpartition('/')[2]}{space}{name}"


def _matches(text: str, pattern: str) -> bool:
    import fnmatch

    return pattern == ANY or fnmatch.fnmatchcase(text, pattern)


def as_findings(troubles: Iterable[Trouble], rules: Iterable[Rule]) -> Iterator[Finding]:
    """Findings for what is wrong with waivers, as far as their rules are selected."""
    by_name = {rule.name: rule for rule in rules}
    for trouble in troubles:
        if rule := by_name.get(trouble.rule):
            yield check.at_document(rule, trouble.location, trouble.message)


def unused(found: Iterable[Suppression], active: Iterable[str]) -> Iterator[Trouble]:
    """What is said of waivers that silence nothing, where their rules were judged."""
    judged = frozenset(active)
    for one in found:
        if one.rule in judged and one.waiver.location is not None:
            yield Trouble("unused-suppression", f"nothing here is {one.rule}", one.waiver.location)
