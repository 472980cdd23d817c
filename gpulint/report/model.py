"""The records of a report, each from its own module."""

from __future__ import annotations

from gpulint.report.comparison import Change, Comparison, Total, Totals
from gpulint.report.facility_summary import AreaSummary, FacilitySummary, FeedSummary, Lacking, Meter, RackSummary, Slot
from gpulint.report.fact import Fact, Scenarios
from gpulint.report.finding import Finding, Ground, Related, RuleCard, Severity, Subject, Waiver
from gpulint.report.location import Location
from gpulint.report.node_pools import PoolChange, PoolFigures
from gpulint.report.plan import Plan
from gpulint.report.report import Comment, Failure, Recognised, Report, Skip, Spent
from gpulint.report.suggestion import Edit, Replacement, Suggestion
from gpulint.report.workload_summary import (
    Aim,
    Explanation,
    Figures,
    Fit,
    GpuMemory,
    HintUse,
    NotEvaluated,
    OpenDecision,
    RoleSummary,
    WorkloadSummary,
)

__all__ = [
    "Aim",
    "AreaSummary",
    "Change",
    "Comment",
    "Comparison",
    "Edit",
    "Explanation",
    "FacilitySummary",
    "Fact",
    "Failure",
    "FeedSummary",
    "Figures",
    "Finding",
    "Fit",
    "GpuMemory",
    "Ground",
    "HintUse",
    "Lacking",
    "Location",
    "Meter",
    "NotEvaluated",
    "OpenDecision",
    "Plan",
    "PoolChange",
    "PoolFigures",
    "RackSummary",
    "Recognised",
    "Related",
    "Replacement",
    "Report",
    "RoleSummary",
    "RuleCard",
    "Scenarios",
    "Severity",
    "Skip",
    "Slot",
    "Spent",
    "Subject",
    "Suggestion",
    "Total",
    "Totals",
    "Waiver",
    "WorkloadSummary",
]
