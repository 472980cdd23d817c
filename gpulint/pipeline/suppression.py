"""Waived: what the waivers of a file and of its policy make of findings, and what is wrong with those waivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpulint.facts.model import Facts
from gpulint.policy.resolved import Given
from gpulint.policy.rules import identity as subject
from gpulint.report.model import Finding
from gpulint.source.documents import Loaded

SAID = ("gpulint/ignore", "gpulint:")
"""What a text holds that may silence something, beside its comments."""


def in_file(
    found: Sequence[Finding],
    path: str,
    text: str,
    loaded: Loaded,
    given: Given,
    lacking: frozenset[str],
    known: Mapping[tuple[str, str], Facts],
) -> tuple[Finding, ...]:
    """The findings of a file, each with its subject, under the file's own waivers and those of its policy.

    A waiver of a rule that lacked facts here is not called unused. `known` are the facts by object and role.
    """
    about = tuple(subject.told(found, loaded.documents))
    if not loaded.comments and not given.waivers and not any(mark in text for mark in SAID):
        return about
    from gpulint.policy.waivers import comments as directives
    from gpulint.policy.waivers import waivers

    own, troubles = directives.read(path, text, loaded.documents, loaded.comments, given.every_rule)
    if given.vouched:
        own = list(given.vouched(path, own, loaded.documents))
    judged = waivers.applied(
        about,
        (*own, *given.waivers),
        given.available.today,
        lambda finding: known.get((finding.subject.object, finding.role)),
        given.demands,
    )
    useless = (one for one in judged.unused if one.lines is not None and one.rule not in lacking)
    idle = waivers.unused(useless, [rule.name for rule in given.rules])
    said = waivers.as_findings((*troubles, *judged.troubles, *idle), given.rules)
    return (*judged.findings, *subject.told(said, loaded.documents))


def of_budget(finding: Finding, known: Facts, given: Given) -> Iterator[Finding]:
    """A finding about a budget, which no file's own waiver reaches, under the policy of its place."""
    governing = given.at(finding.location.path)
    if not governing.waivers:
        yield finding
        return
    from gpulint.policy.waivers import waivers

    today = governing.available.today
    judged = waivers.applied([finding], governing.waivers, today, lambda _: known, governing.demands)
    yield from judged.findings
    yield from waivers.as_findings(judged.troubles, governing.rules)
