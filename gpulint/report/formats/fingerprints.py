"""Marks that identify findings across runs, independent of their line."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from gpulint.report.model import Finding, Subject


def mark_unique(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Yield each finding with a unique mark in its file. Identical findings are numbered."""
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        mark = compute_mark(finding)
        seen[finding.location.path, mark] += 1
        yield finding, f"{mark}:{seen[finding.location.path, mark]}"


def compute_mark(finding: Finding) -> str:
    """Return rule, role and subject as one mark; for a finding without a subject, use its line."""
    if finding.subject == Subject():
        return hash_words(finding.rule, finding.location.path, finding.fingerprint or finding.location.text.strip())
    return hash_words(finding.rule, finding.role, *finding.subject)


def hash_words(*words: str) -> str:
    """Return words as one short mark."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:16]
