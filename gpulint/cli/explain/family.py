"""A family of rules, explained: which rules it has."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.cli.explain import rule
from gpulint.cli.explain.parts import Explanation, Table, reference
from gpulint.policy.rules.rule import Rule


def explained(name: str, known: Sequence[Rule]) -> Explanation:
    """The rules of this family, of those that are known."""
    own = sorted((one for one in known if one.family == name), key=lambda one: one.name)
    rows = tuple((reference("rule", one.name), rule.standing(one), one.summary) for one in own)
    many = "1 rule" if len(rows) == 1 else f"{len(rows)} rules"
    summary = f"A family of {many}; --select {name} and --ignore {name} mean all of them."
    return Explanation(name, "family", summary, (("", "family"),), (Table("", ("rule", "severity", "says"), rows),))
