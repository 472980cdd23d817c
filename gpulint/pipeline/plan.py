"""The plan of a file: what each of its roles can run on instead."""

from __future__ import annotations

from gpulint.pipeline import check
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.report.model import Plan
from gpulint.source.repository import Repository, Source
from gpulint.suggestions import plans


def plan_file(source: Source, line: int | None, repository: Repository, policy: ResolvedPolicy) -> list[Plan]:
    """Return a plan for each role of a file, or for those that one of its lines is about."""
    evaluate = check.build_evaluator(repository, policy)
    return plans.plan_workloads(source, line, evaluate, repository.read)
