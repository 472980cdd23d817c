"""Apply waivers: the findings that comments, annotations and policies accept, until when and under what condition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpulint.policy.rules import evaluate
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Related, Waiver

if TYPE_CHECKING:
    from gpulint.facts.model import Facts

ANY = "*"
DAY_S = 86_400
FIELDS = {"while": "bound"}
"""Waiver keywords whose field has another name."""


class Suppression(NamedTuple):
    """A rule that a waiver suppresses, in lines of its file or for matching workloads and objects.

    `pending` says why it does not take effect yet.
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
            return _matches(finding.workload, self.workload) and _matches_object(finding.subject.object, self.object)
        first, last = self.lines
        is_same_file = self.waiver.location is not None and self.waiver.location.path == finding.location.path
        return is_same_file and first <= finding.location.line <= last


class WaiverProblem(NamedTuple):
    """A problem with a waiver, and the rule that reports it."""

    rule: str
    message: str
    location: Location


class WaiverRequirements(NamedTuple):
    """What a policy requires of every waiver: fields, and a maximum duration in seconds."""

    words: tuple[str, ...] = ()
    last_s: float | None = None

    def unmet(self, waiver: Waiver, today: str) -> str:
        """Return what a waiver lacks as a sentence; empty if nothing."""
        required = dict.fromkeys((*self.words, *(() if self.last_s is None else ("until",))))
        missing = [word for word in required if not getattr(waiver, FIELDS.get(word, word))]
        if missing:
            words = " and ".join(f"{word}=" for word in missing)
            return f"the policy requires {words} in each waiver; without it the waiver has no effect"
        if self.last_s is not None and today and _days(today, waiver.until) * DAY_S > self.last_s:
            days = _days(today, waiver.until)
            return f"until={waiver.until} is {days} days away; the policy allows at most {self.last_s / DAY_S:g}"
        return ""


class AppliedWaivers(NamedTuple):
    """The findings of a file with suppressions marked, problems with waivers, and unused waivers."""

    findings: tuple[Finding, ...]
    troubles: tuple[WaiverProblem, ...]
    unused: tuple[Suppression, ...]


def apply(
    findings: Iterable[Finding],
    given: Sequence[Suppression],
    today: str,
    facts: Callable[[Finding], Facts | None],
    demands: WaiverRequirements | None = None,
) -> AppliedWaivers:
    """Apply waivers to findings. An expired waiver or an unmet condition leaves the finding active and is noted."""
    unmet = {waiver: demands.unmet(waiver.waiver, today) for waiver in given} if demands else {}
    valid = [waiver for waiver in given if not unmet.get(waiver)]
    troubles = [
        WaiverProblem("malformed-suppression", why, waiver.waiver.location)
        for waiver, why in unmet.items()
        if why and waiver.waiver.location
    ]
    used: set[Suppression] = set()
    marked: list[Finding] = []
    for finding in findings:
        reaching = [waiver for waiver in valid if waiver.reaches(finding)]
        used.update(reaching)
        marked.append(_apply(finding, reaching, today, facts))
    troubles += [*filter(None, (_report_expired(waiver, today) for waiver in valid if waiver in used))]
    return AppliedWaivers(
        tuple(marked), tuple(dict.fromkeys(troubles)), tuple(waiver for waiver in valid if waiver not in used)
    )


def _apply(
    finding: Finding, reaching: Sequence[Suppression], today: str, facts: Callable[[Finding], Facts | None]
) -> Finding:
    """Suppress a finding by the first waiver that holds; otherwise note why none does."""
    why = []
    for suppression in reaching:
        reason = suppression.pending or _explain_inactive(suppression.waiver, finding, today, facts)
        if not reason:
            return finding._replace(suppressed=suppression.waiver)
        why.append(Related(reason, suppression.waiver.location or finding.location))
    if not why:
        return finding
    message = "; ".join([finding.message, *dict.fromkeys(note.label for note in why)])
    return finding._replace(message=message, related=(*finding.related, *why))


def _explain_inactive(waiver: Waiver, finding: Finding, today: str, facts: Callable[[Finding], Facts | None]) -> str:
    """Return why a waiver does not suppress a finding that it covers; empty if it does."""
    if is_expired(waiver, today):
        return f"its waiver ended on {waiver.until}"
    if not waiver.bound:
        return ""
    from gpulint.policy.conditions import waiver_conditions

    known = facts(finding)
    if known is None:
        return f"accepted while {waiver.bound}, but the finding is not about a workload, so the condition cannot be evaluated"
    told = waiver_conditions.evaluate(waiver.bound, known)
    if told.holds is None:
        return f"accepted while {waiver.bound}, but {', '.join(told.needs)} must be known to evaluate it"
    return "" if told.holds else f"accepted while {waiver.bound}; now {told.now}"


def is_expired(waiver: Waiver, today: str) -> bool:
    """True if the last day of a waiver has passed."""
    return bool(waiver.until and today and waiver.until < today)


def _report_expired(suppression: Suppression, today: str) -> WaiverProblem | None:
    if not is_expired(suppression.waiver, today) or suppression.waiver.location is None:
        return None
    owner = f" (owner: {suppression.waiver.owner})" if suppression.waiver.owner else ""
    message = f"the waiver of {suppression.rule} ended on {suppression.waiver.until}{owner}: fix the cause, or set a later date"
    return WaiverProblem("expired-suppression", message, suppression.waiver.location)


def _days(first: str, last: str) -> int:
    from datetime import date

    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def _matches_object(object: str, pattern: str) -> bool:
    """True if a pattern matches an object's identity, with or without the group."""
    return _matches(object, pattern) or _matches(_drop_group(object), pattern)


def _drop_group(object: str) -> str:
    kind, space, name = object.partition(" ")
    return f"{kind.rpartition('/')[2]}{space}{name}"


def _matches(text: str, pattern: str) -> bool:
    import fnmatch

    return pattern == ANY or fnmatch.fnmatchcase(text, pattern)


def make_findings(troubles: Iterable[WaiverProblem], rules: Iterable[Rule]) -> Iterator[Finding]:
    """Yield findings for problems with waivers, if their rules are selected."""
    by_name = {rule.name: rule for rule in rules}
    for trouble in troubles:
        if rule := by_name.get(trouble.rule):
            yield evaluate.make_document_finding(rule, trouble.location, trouble.message)


def find_unused(found: Iterable[Suppression], active: Iterable[str]) -> Iterator[WaiverProblem]:
    """Yield a problem for each waiver that suppresses nothing, if its rule was evaluated."""
    evaluated = frozenset(active)
    for suppression in found:
        if suppression.rule in evaluated and suppression.waiver.location is not None:
            yield WaiverProblem(
                "unused-suppression",
                f"unused suppression: no {suppression.rule} finding here",
                suppression.waiver.location,
            )
