"""Report: all that one run found, and the JSON file that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from gpulint.report.comparison import Comparison
from gpulint.report.facility_summary import FacilitySummary
from gpulint.report.finding import Finding, RuleCard, Severity
from gpulint.report.json_keys import Between, Inlined, Words
from gpulint.report.location import Location
from gpulint.report.tool import Catalog, Tool
from gpulint.report.verdicts import NOT_EVALUATED, Outcomes, count_outcomes
from gpulint.report.workload_summary import WorkloadSummary

SUSPICIOUS = ("limit", "encoding", "link", "suffix", "syntax", "unreadable")
"""Causes for which a file that may deploy something was not checked: they fail the gate."""
STATING_GPUS = ("kind", "settings")
"""Causes for which a text that states GPUs was not checked: reports give its line."""
CAUSES = Words(
    (
        *SUSPICIOUS,
        "template",
        "patch",
        "definition",
        "language",
        "kind",
        "settings",
        "submodule",
        "excluded",
        "rule",
        "suggestions",
    )
)
"""Why a file or a part of it was not checked."""
BUDGETS = Words(("exceeded", "within", NOT_EVALUATED))


class Recognised(NamedTuple):
    """A document of a known format, also one that declares no workload."""

    path: str
    line: Annotated[int, Between(1)]
    kind: str
    """group/Kind of a Kubernetes object, else the noun of the format"""
    adapter: str


class Skip(NamedTuple):
    """A file, or a part of it, that was not checked.

    In the gate, a changed file with one of the first six causes fails the run.
    """

    path: str
    reason: str
    cause: Annotated[str, CAUSES]
    line: Annotated[int, Between(1)] = 1
    """The line that is not read: of settings and of objects of an unknown kind the first that is about GPUs"""


class Failure(NamedTuple):
    """An exception of gpulint's own."""

    path: str
    doing: str
    error: str


class Spent(NamedTuple):
    """One limit of a budget, how much of it the workloads of a run take, and where it is declared."""

    budget: str
    """Whose it is: a team, or the paths."""
    unit: str
    """gpus, usd_per_hour or w"""
    limit: float
    least: float
    """What the workloads take whose figure is known."""
    verdict: Annotated[str, BUDGETS]
    reason: str
    """What is not known; empty: all is known."""
    workloads: int
    location: Annotated[Location, Inlined()]


class Comment(NamedTuple):
    """The key of the comment on a pull request, and the least change for which it is made; None is no threshold."""

    key: str = ""
    usd_per_month: float | None = None
    gpus: float | None = None


class Counts(NamedTuple):
    """Findings that nothing suppresses, by severity."""

    error: int
    warning: int
    note: int


class Summary(NamedTuple):
    """The numbers of a run."""

    files: int
    workloads: int
    findings: Counts
    suppressed: int
    unsilenced: int
    """Findings that count although waivers or a baseline would suppress them."""
    skipped: int
    failures: int
    not_evaluated: int
    verdicts: Outcomes


class Report(NamedTuple):
    """All that one run found, as every renderer gets it; `asks` says how a missing quantity is supplied.

    `rules` are those that fire, by name. A finding of the severity `fail_on` or above fails the run.
    `unsilenced` counts the findings that waivers and a baseline would suppress if they applied.
    `unwritten` are the files that --fix could not change, each with the reason; the report is on what they hold.
    `refused` are the files that the system refused to read: the run did not do its work.
    `gpu_pools` are the node pools with GPUs that the files of a run without workloads define, by name.
    `narrowed` says that only some rules were selected: then only the workloads that they are about are listed.
    """

    findings: tuple[Finding, ...] = ()
    workloads: tuple[WorkloadSummary, ...] = ()
    skipped: tuple[Skip, ...] = ()
    failures: tuple[Failure, ...] = ()
    documents: tuple[Recognised, ...] = ()
    files: int = 0
    asks: Mapping[str, str] = MappingProxyType({})
    catalog_date: str = ""
    rules: Mapping[str, RuleCard] = MappingProxyType({})
    comparison: Comparison | None = None
    fail_on: Severity = Severity.ERROR
    budgets: tuple[Spent, ...] = ()
    unsilenced: int = 0
    comment: Comment = Comment()
    facilities: tuple[FacilitySummary, ...] = ()
    unwritten: tuple[tuple[str, str], ...] = ()
    refused: tuple[str, ...] = ()
    gpu_pools: tuple[str, ...] = ()
    narrowed: bool = False

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that nothing suppresses."""
        return tuple(finding for finding in self.findings if finding.suppressed is None)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings for which the run fails."""
        return tuple(finding for finding in self.open if finding.severity >= self.fail_on)

    @property
    def summary(self) -> Summary:
        """The numbers of the run."""
        severities = [finding.severity for finding in self.open]
        return Summary(
            files=self.files,
            workloads=len(self.workloads),
            findings=Counts(*(severities.count(severity) for severity in sorted(Severity, reverse=True))),
            suppressed=len(self.findings) - len(severities),
            unsilenced=self.unsilenced,
            skipped=len(self.skipped),
            failures=len(self.failures),
            not_evaluated=self._count_not_evaluated(),
            verdicts=count_outcomes(self.workloads),
        )

    def _count_not_evaluated(self) -> int:
        roles = (role for workload in self.workloads for role in workload.roles)
        lacking = (rule for facility in self.facilities for rule in facility.not_evaluated)
        return sum(len(role.not_evaluated) for role in roles) + sum(len(rule.parts) for rule in lacking)


class ReportFile(NamedTuple):
    """All that one run of gpulint found."""

    format: Literal["gpulint-report/2"]
    tool: Tool
    catalog: Catalog
    findings: tuple[Finding, ...]
    documents: tuple[Recognised, ...]
    workloads: tuple[WorkloadSummary, ...]
    skipped: tuple[Skip, ...]
    failures: tuple[Failure, ...]
    rules: tuple[RuleCard, ...]
    """The rules that fire."""
    budgets: tuple[Spent, ...]
    """The budgets of the policies that apply to the files."""
    facilities: tuple[FacilitySummary, ...]
    comparison: Comparison | None
    summary: Summary
