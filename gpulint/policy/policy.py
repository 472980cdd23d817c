"""Policy: which rules speak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpulint.policy import selection
from gpulint.policy.rule import Rule
from gpulint.policy.settings import DEFAULTS


def selected(select: Sequence[str], ignore: Sequence[str], folders: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of this run, by name or family; SettingsError for a word that is neither."""
    return selection.speaking(selection.known(DEFAULTS, folders), DEFAULTS, select, ignore)
