"""The report as JUnit XML: one suite per file, one test per finding, and one for the checks of each role.

A finding that fails the run is a failure. A milder one is in the output of a passing test. Suppressed, unread and
not-evaluated items are skipped, and an internal error is an error: nothing passes that was not checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.report.escaping import XML_HEAD, render_element
from gpulint.report.formats import finding_lines, summary_line
from gpulint.report.model import Failure, Finding, Report, RoleSummary, Skip, Spent, WorkloadSummary
from gpulint.report.verdicts import NOT_EVALUATED


class Case(NamedTuple):
    """A test and its outcome: `failure`, `error`, `skipped`, `system-out`, or empty if it passed."""

    path: str
    name: str
    outcome: str = ""
    message: str = ""
    kind: str = ""
    words: str = ""


NOTHING = Case("gpulint", "check", "skipped", "nothing here concerns GPUs")
ONLY_POOLS = Case("gpulint", "check", "skipped", "the change concerns node pools and no workload")
NO_WORKLOAD = Case("gpulint", "check", "skipped", "the files define node pools with GPUs and no workload")
"""The content of an empty report, also of one on node pools: build servers reject a file without tests."""


def render(report: Report) -> str:
    """Return the suites by path."""
    suites: dict[str, list[Case]] = {}
    for case in tuple(_cases(report)) or (_explain_nothing(report),):
        suites.setdefault(case.path, []).append(case)
    every = [case for cases in suites.values() for case in cases]
    attributes = {"name": "gpulint", "tests": len(every), **_sums(every)}
    inside = [_suite(path, cases) for path, cases in sorted(suites.items())]
    return XML_HEAD + render_element("testsuites", attributes, inside) + "\n"


def _explain_nothing(report: Report) -> Case:
    """Return the one test of a report without workloads."""
    if report.comparison is not None and report.comparison.pools:
        return ONLY_POOLS
    return NO_WORKLOAD if report.gpu_pools else NOTHING


def _sums(cases: Iterable[Case]) -> dict[str, int]:
    outcomes = Counter(case.outcome for case in cases)
    return {"failures": outcomes["failure"], "errors": outcomes["error"]}


def _suite(path: str, cases: list[Case]) -> str:
    skipped = sum(case.outcome == "skipped" for case in cases)
    attributes = {"name": path, "tests": len(cases), **_sums(cases), "skipped": skipped}
    return render_element("testsuite", attributes, map(_case, _number_repeats(cases)))


def _number_repeats(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield tests with unique names. Repeated names are numbered."""
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case.name] += 1
        yield case._replace(name=f"{case.name} #{seen[case.name]}") if seen[case.name] > 1 else case


def _case(case: Case) -> str:
    attributes = {key: value for key, value in (("message", case.message), ("type", case.kind)) if value}
    inside = [render_element(case.outcome, attributes, words=case.words)] if case.outcome else []
    return render_element("testcase", {"classname": case.path, "name": case.name}, inside)


# ---- tests


def _cases(report: Report) -> Iterator[Case]:
    yield from map(_fault, report.failures)
    yield from (_finding(finding, finding.severity >= report.fail_on) for finding in report.findings)
    yield from map(_build_unevaluated_case, report.comparison.untold if report.comparison else ())
    yield from (_role(workload, role) for workload in report.workloads for role in workload.roles)
    yield from map(_budget, report.budgets)
    yield from map(_unread, report.skipped)


def _fault(failure: Failure) -> Case:
    return Case(failure.path, "internal error of gpulint", "error", failure.error, "internal-error", failure.doing)


def _finding(finding: Finding, fails: bool) -> Case:
    test = _build_case(finding)
    if finding.suppressed is not None:
        message = f"suppressed ({finding.suppressed.kind}): {finding.suppressed.reason}"
        return test._replace(outcome="skipped", message=message)
    if not fails:
        return test._replace(outcome="system-out", words=finding_lines.render_finding(finding))
    kind = finding.severity.word
    return test._replace(
        outcome="failure", message=finding.message, kind=kind, words=finding_lines.render_finding(finding)
    )


def _build_case(finding: Finding) -> Case:
    owner = finding_lines.name_owner(finding.workload, finding.role)
    return Case(finding.location.path, f"{finding.rule} ({owner})" if owner else finding.rule)


def _build_unevaluated_case(finding: Finding) -> Case:
    return _build_case(finding)._replace(outcome="skipped", message="it was found before and is no longer evaluated")


def _role(workload: WorkloadSummary, role: RoleSummary) -> Case:
    test = Case(workload.location.path, f"checks ({finding_lines.name_owner(workload.name, role.name)})")
    if not role.not_evaluated:
        return test
    needs = sorted({need for check in role.not_evaluated for need in check.needs})
    message = f"{len(role.not_evaluated)} not evaluated; to evaluate them, add {', '.join(needs)}"
    return test._replace(outcome="skipped", message=message)


def _budget(spent: Spent) -> Case:
    """Return a test for a budget. It passes or is skipped; an exceeded budget has a finding of its own."""
    test = Case(spent.location.path, f"budget of {spent.budget} ({spent.unit or 'gpus'})")
    if spent.verdict == NOT_EVALUATED:
        return test._replace(outcome="skipped", message=summary_line.render_budget(spent))
    return test._replace(outcome="system-out", words=summary_line.render_budget(spent))


def _unread(skip: Skip) -> Case:
    return Case(skip.path, "not checked", "skipped", skip.reason)
