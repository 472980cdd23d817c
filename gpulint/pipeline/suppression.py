"""Suppression of one file: apply its own waivers and those of its policy, and report wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpulint.facts.model import Facts
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import identity
from gpulint.report.model import Finding
from gpulint.source.documents import Loaded

SAID = ("gpulint/ignore", "gpulint:")
"""Text besides comments that may contain a waiver."""


def suppress(
    found: Sequence[Finding],
    path: str,
    text: str,
    loaded: Loaded,
    given: ResolvedPolicy,
    lacking: frozenset[str],
    facts_by_role: Mapping[tuple[str, str], Facts],
) -> tuple[Finding, ...]:
    """Return the findings of a file under its own waivers and those of its policy.

    A waiver of a rule that lacked facts here is not reported as unused.
    """
    about = tuple(identity.add_subjects(found, loaded.documents))
    if not loaded.comments and not given.waivers and not any(mark in text for mark in SAID):
        return about
    from gpulint.policy.waivers import comments, waivers

    own, troubles = comments.read(path, text, loaded.documents, loaded.comments, given.every_rule)
    if given.vouched:
        own = list(given.vouched(path, own, loaded.documents))
    judged = waivers.apply(
        about,
        (*own, *given.waivers),
        given.available.today,
        lambda finding: facts_by_role.get((finding.subject.object, finding.role)),
        given.demands,
    )
    useless = (waiver for waiver in judged.unused if waiver.lines is not None and waiver.rule not in lacking)
    idle = waivers.find_unused(useless, [rule.name for rule in given.rules])
    findings_added = waivers.make_findings((*troubles, *judged.troubles, *idle), given.rules)
    return (*judged.findings, *identity.add_subjects(findings_added, loaded.documents))


def suppress_budget(finding: Finding, facts: Facts, given: ResolvedPolicy) -> Iterator[Finding]:
    """Yield a budget finding under the policy of its location; a file's own waivers do not reach
    it.
    """
    governing = given.resolve(finding.location.path)
    if not governing.waivers:
        yield finding
        return
    from gpulint.policy.waivers import waivers

    today = governing.available.today
    judged = waivers.apply([finding], governing.waivers, today, lambda _: facts, governing.demands)
    yield from judged.findings
    yield from waivers.make_findings(judged.troubles, governing.rules)
