"""Literals: findings about a value of a program, a sourced script, or a file of variables point to it there.

Until the report is complete, a finding belongs to the file that is checked: there it is accepted, compared and fixed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from gpulint.pipeline.session import Session
from gpulint.report.model import Finding, Related, Report
from gpulint.source import documents


def relocate(report: Report, run: Session) -> Report:
    """Return a report whose findings point to the literal that decides, under the waivers of its file."""
    moved = {id(finding): _move(finding) for finding in report.findings if finding.literal is not None}
    if not moved:
        return report
    for path in sorted({finding.location.path for finding in moved.values()}):
        here = {key: finding for key, finding in moved.items() if finding.location.path == path}
        moved |= dict(zip(here, _apply_waivers(list(here.values()), path, run), strict=True))
    findings = sorted((moved.get(id(finding), finding) for finding in report.findings), key=Finding.place)
    return report._replace(findings=tuple(_merge_same(findings, {id(finding) for finding in moved.values()})))


def _merge_same(findings: Iterable[Finding], moved: Collection[int]) -> Iterator[Finding]:
    """Yield findings without those that moved to a place where another one says the same; it takes over their places."""
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        said = (finding.rule, finding.location, finding.message, finding.severity, finding.suppressed)
        groups.setdefault(said, []).append(finding)
    for same in groups.values():
        first = min(same, key=lambda finding: id(finding) in moved)
        others = [finding for finding in same if finding is not first and id(finding) in moved]
        places = dict.fromkeys(place for finding in (first, *others) for place in finding.related)
        yield first._replace(related=tuple(places)) if others else first
        yield from (finding for finding in same if finding is not first and id(finding) not in moved)


def _move(finding: Finding) -> Finding:
    """Return a finding at its literal; the place in the checked file that names it comes first among the related ones."""
    if finding.literal is None:
        return finding
    starts = documents.is_program(finding.literal.location.path)
    used = Related("the program is started here" if starts else "the value is used here", finding.location)
    related = (used, *(one for one in finding.related if one.location != finding.location))
    return finding._replace(
        location=finding.literal.location, label=finding.literal.label, related=related, literal=None
    )


def _apply_waivers(found: Sequence[Finding], path: str, run: Session) -> Iterable[Finding]:
    """Return the findings of a file under the waivers in its comments."""
    content = run.tree.read(path) or b""
    if not run.options.ignores or b"gpulint:" not in content:
        return found
    from gpulint.policy.waivers import comments, waivers

    policy, loaded = run.given.resolve(path), documents.load_text(path, content)
    text = loaded.documents[0].text if loaded.documents else ""
    own, _ = comments.read(path, text, loaded.documents, loaded.comments, policy.every_rule)
    if policy.vouched:
        own = list(policy.vouched(path, own, loaded.documents))
    open_findings = [finding for finding in found if finding.suppressed is None]
    judged = waivers.apply(open_findings, own, policy.available.today, lambda finding: None, policy.demands)
    marked = iter(judged.findings)
    return [next(marked) if finding.suppressed is None else finding for finding in found]
