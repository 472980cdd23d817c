"""Explain a family of rules."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.cli.explain import rule
from gpulint.cli.explain.parts import Explanation, Table, render_reference
from gpulint.policy.rules.rule import Rule


def explain(name: str, known: Sequence[Rule]) -> Explanation:
    """Return the explanation of a family and its rules."""
    members = sorted((rule_ for rule_ in known if rule_.family == name), key=lambda rule_: rule_.name)
    rows = tuple(
        (render_reference("rule", rule_.name), rule.describe_status(rule_), rule_.summary) for rule_ in members
    )
    count = "1 rule" if len(rows) == 1 else f"{len(rows)} rules"
    summary = f"A family of {count}; --select {name} and --ignore {name} apply to all of them."
    return Explanation(name, "family", summary, (("", "family"),), (Table("", ("rule", "severity", "summary"), rows),))
