"""The report as JUnit XML: a suite a file, a test a finding, and one for what was checked of each role.

A finding for which the run fails is a failure; a milder one stands in the output of a test that passes. What is
suppressed, not read or not evaluated is skipped, and a fault of ours is an error: nothing passes that was not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.report.formats import summary_line as counts
from gpulint.report.formats import text, xml
from gpulint.report.model import Failure, Finding, Report, RoleSummary, Skip, Spent, WorkloadSummary


class Case(NamedTuple):
    """A test: its name, and what became of it: `failure`, `error`, `skipped`, `system-out` or, where it passed, nothing."""

    path: str
    name: str
    outcome: str = ""
    message: str = ""
    kind: str = ""
    words: str = ""


NOTHING = Case("gpulint", "check", "skipped", "nothing here concerns GPUs")
"""What an empty report holds: build servers refuse a file without tests."""


def render(report: Report) -> str:
    """The suites, by path."""
    suites: dict[str, list[Case]] = {}
    for case in tuple(_cases(report)) or (NOTHING,):
        suites.setdefault(case.path, []).append(case)
    every = [case for cases in suites.values() for case in cases]
    stated = {"name": "gpulint", "tests": len(every), **_sums(every)}
    inside = [_suite(path, cases) for path, cases in sorted(suites.items())]
    return xml.HEAD + xml.element("testsuites", stated, inside) + "\n"


def _sums(cases: Iterable[Case]) -> dict[str, int]:
    outcomes = Counter(case.outcome for case in cases)
    return {"failures": outcomes["failure"], "errors": outcomes["error"]}


def _suite(path: str, cases: list[Case]) -> str:
    skipped = sum(case.outcome == "skipped" for case in cases)
    stated = {"name": path, "tests": len(cases), **_sums(cases), "skipped": skipped}
    return xml.element("testsuite", stated, map(_case, _told_apart(cases)))


def _told_apart(cases: Iterable[Case]) -> Iterator[Case]:
    """Tests with names of their own: the second of a name is numbered."""
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case.name] += 1
        yield case._replace(name=f"{case.name} #{seen[case.name]}") if seen[case.name] > 1 else case


def _case(case: Case) -> str:
    stated = {key: value for key, value in (("message", case.message), ("type", case.kind)) if value}
    inside = [xml.element(case.outcome, stated, words=case.words)] if case.outcome else []
    return xml.element("testcase", {"classname": case.path, "name": case.name}, inside)


# ---- what becomes a test


def _cases(report: Report) -> Iterator[Case]:
    yield from map(_fault, report.failures)
    yield from (_finding(one, one.severity >= report.fail_on) for one in report.findings)
    yield from map(_untold, report.comparison.untold if report.comparison else ())
    yield from (_role(workload, role) for workload in report.workloads for role in workload.roles)
    yield from map(_budget, report.budgets)
    yield from map(_unread, report.skipped)


def _fault(failure: Failure) -> Case:
    return Case(failure.path, "internal error of gpulint", "error", failure.error, "internal-error", failure.doing)


def _finding(finding: Finding, fails: bool) -> Case:
    test = _named(finding)
    if finding.suppressed is not None:
        said = f"suppressed ({finding.suppressed.kind}): {finding.suppressed.reason}"
        return test._replace(outcome="skipped", message=said)
    if not fails:
        return test._replace(outcome="system-out", words=text.shown(finding))
    kind = finding.severity.word
    return test._replace(outcome="failure", message=finding.message, kind=kind, words=text.shown(finding))


def _named(finding: Finding) -> Case:
    whose = text.owner(finding.workload, finding.role)
    return Case(finding.location.path, f"{finding.rule} ({whose})" if whose else finding.rule)


def _untold(finding: Finding) -> Case:
    return _named(finding)._replace(outcome="skipped", message="it stood before, and cannot be told any more")


def _role(workload: WorkloadSummary, role: RoleSummary) -> Case:
    test = Case(workload.location.path, f"checks ({text.owner(workload.name, role.name)})")
    if not role.not_evaluated:
        return test
    needs = sorted({need for one in role.not_evaluated for need in one.needs})
    said = f"{len(role.not_evaluated)} not evaluated; to have them, add {', '.join(needs)}"
    return test._replace(outcome="skipped", message=said)


def _budget(spent: Spent) -> Case:
    """A limit that holds, or cannot be told; one that is exceeded has a finding of its own, and its figures stand here."""
    test = Case(spent.location.path, f"budget of {spent.budget} ({spent.unit or 'gpus'})")
    if spent.verdict == counts.UNTOLD:
        return test._replace(outcome="skipped", message=counts.budget(spent))
    return test._replace(outcome="system-out", words=counts.budget(spent))


def _unread(skip: Skip) -> Case:
    return Case(skip.path, "not read", "skipped", skip.reason)
