"""Verdict words that several parts of a report share, and the outcomes that they stand for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gpulint.report.workload_summary import WorkloadSummary

NOT_EVALUATED = "not evaluated"
"""The verdict on a role, a limit, a feed, a budget or an objective for which a value is missing."""
FIT, DEPEND, FAIL, UNKNOWN = "fit", "depend", "fail", "unknown"
NEEDS = "needs "
"""The first word of the verdict on a role whose accelerator no file names."""
DECISIONS = (FAIL, DEPEND)
"""The outcomes that need a decision, the worse first."""
UNCOUNTED = ("part of ", "no GPU")
"""Roles that another role counts, or that take no accelerator."""
FIRST_WORDS = (
    ("depends on ", DEPEND),
    (NEEDS, DEPEND),
    ("fits", FIT),
    ("likely fits", FIT),
    ("no model", FIT),
    (NOT_EVALUATED, UNKNOWN),
)
PART_FITS = re.compile(r"(?:weights|states) (?:likely )?fit\b")
"""The verdict on a program of which only the weights, or the training states, are known."""


class Outcomes(NamedTuple):
    """How many workloads fit, depend on a value that is open, fail, or are unknown."""

    fit: int = 0
    depend: int = 0
    fail: int = 0
    unknown: int = 0


def sort_verdict(verdict: str) -> str:
    """Return the outcome that the verdict on a role stands for; empty if another role counts it.

    >>> [sort_verdict(word) for word in ("likely fits", "needs 1 × L40S 48GB", "does not run", "no GPU")]
    ['fit', 'depend', 'fail', '']
    >>> sort_verdict("16-bit weights fit: 14.96 of 22.03 GiB")
    'fit'
    """
    if verdict.startswith(UNCOUNTED):
        return ""
    if not verdict:
        return UNKNOWN
    if PART_FITS.search(verdict) and not verdict.startswith("depends on "):
        return FIT
    return next((outcome for words, outcome in FIRST_WORDS if verdict.startswith(words)), FAIL)


def find_outcome(workload: WorkloadSummary) -> str:
    """Return the outcome of a workload: the worst of its roles; empty if none of them takes an accelerator."""
    found = {sort_verdict(role.verdict) for role in workload.roles}
    return next((outcome for outcome in (FAIL, DEPEND, UNKNOWN, FIT) if outcome in found), "")


def count_outcomes(workloads: Iterable[WorkloadSummary]) -> Outcomes:
    """Return how many workloads have each outcome."""
    counts = Counter(map(find_outcome, workloads))
    return Outcomes(**{name: counts[name] for name in Outcomes._fields})
