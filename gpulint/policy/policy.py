"""Policy: which rules speak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpulint.policy.rule import Rule, known, load_team
from gpulint.policy.settings import SettingsError


def selected(select: Sequence[str], ignore: Sequence[str], folders: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of this run, by name or family; SettingsError for a word that is neither."""
    rules = known(rule for folder in folders for rule in load_team(Path(folder)))
    families = {rule.family for rule in rules.values()}
    for word in (*select, *ignore):
        if word not in rules and word not in families:
            import difflib

            near = difflib.get_close_matches(word, [*rules, *families], n=1)
            raise SettingsError(f"no rule or family is called {word}" + (f"; did you mean {near[0]}?" if near else ""))
    return tuple(
        rule
        for rule in rules.values()
        if (not select or {rule.name, rule.family} & set(select)) and not {rule.name, rule.family} & set(ignore)
    )
