"""What `--fix --unsafe` writes into the wrong example of any rule parses, answers its finding and touches no other line."""

from __future__ import annotations

import difflib

import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulint.pipeline import check
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import rule
from gpulint.report.model import Report
from gpulint.source import documents
from gpulint.source.repository import Source
from gpulint.suggestions import fixes

SHIPPED = rule.load_shipped()
POLICY = ResolvedPolicy(tuple(SHIPPED.values()), tuple(SHIPPED))
WRONG = [
    (name, str(text))
    for name, one in SHIPPED.items()
    for text in rule.load_examples(one).get("bad", ())
    if one.target.scope != "facility" and "# file: " not in str(text)
]
WORDS = st.sampled_from(["", "\n", "# a note\n", "# größer\n", "---\n", "\ufeff"])


@pytest.mark.sweep
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(WRONG), WORDS, st.booleans())
def test_a_fixed_example_parses_lacks_its_finding_and_differs_in_the_edited_lines(
    example: tuple[str, str], before: str, crlf: bool
) -> None:
    text = before + example[1]
    content = (text.replace("\n", "\r\n") if crlf else text).encode()
    path = samples.find_path(example[1])
    repository = samples.ExampleRepository({})
    found = fixes.fix_file(path, {path: content}, check.build_evaluator(repository, POLICY), unsafe=True)
    for changed, after in found.contents.items():
        assert len(documents.load(changed, after).problems) <= len(documents.load(changed, content).problems)
        assert answered(found, check.check_files([Source(changed, after)], repository, POLICY))
        edits = sum(len(fix.suggestion.edits) for fix in found.applied)
        assert count_changed_lines(content, after) <= edits * 4


def answered(found: fixes.Outcome, left: Report) -> bool:
    """Whether no finding that was answered is left at the same value."""
    remaining = {(one.rule, one.fingerprint, one.message) for one in left.open}
    return not any(
        (fix.finding.rule, fix.finding.fingerprint, fix.finding.message) in remaining for fix in found.applied
    )


def count_changed_lines(content: bytes, after: bytes) -> int:
    """How many lines are new or gone; an added list item or mapping may take several."""
    old, new = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (content, after))
    return sum(line[:2] in ("+ ", "- ") for line in difflib.ndiff(old, new))
