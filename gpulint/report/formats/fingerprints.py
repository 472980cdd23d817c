"""Identity: what tells findings apart from one run to the next, wherever in their file they stand."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from gpulint.report.model import Finding, Subject


def told_apart(findings: Iterable[Finding]) -> Iterator[tuple[Finding, str]]:
    """Each finding with a mark of its own in its file: of several that say the same of the same, the later ones are numbered."""
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        mark = of(finding)
        seen[finding.location.path, mark] += 1
        yield finding, f"{mark}:{seen[finding.location.path, mark]}"


def of(finding: Finding) -> str:
    """Rule, role and subject as one mark; of a finding without a subject, what its line says."""
    if finding.subject == Subject():
        return hashed(finding.rule, finding.location.path, finding.fingerprint or finding.location.text.strip())
    return hashed(finding.rule, finding.role, *finding.subject)


def hashed(*words: str) -> str:
    """Words as one short mark."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:16]
