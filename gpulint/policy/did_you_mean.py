"""Suggest known names for a misspelt word, as the end of an error message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SUGGESTIONS_MAX = 3
MIN_LETTERS = 3
"""Minimum length of a word for suggesting names that contain it."""


def suggest(word: str, known: Iterable[str]) -> str:
    """Return up to three similar names in any case, otherwise names that contain the word; empty if none."""
    spelled = {name.lower(): name for name in known}
    alike = difflib.get_close_matches(word.lower(), spelled, n=SUGGESTIONS_MAX, cutoff=0.5)
    containing = [name for name in sorted(spelled) if len(word) >= MIN_LETTERS and word.lower() in name]
    names = [spelled[name] for name in alike or containing[:SUGGESTIONS_MAX]]
    return f"; did you mean {', '.join(names)}?" if names else ""


def suggest_one(word: str, known: Iterable[str], alike: float = 0.6) -> str:
    """Return the closest name with a similarity of at least `alike`; empty if none."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=alike)
    return f"; did you mean {matches[0]}?" if matches else ""
