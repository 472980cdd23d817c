"""Spelling: which of the known names a word may be meant to be, as the end of a message about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

NAMED = 3
TELLING = 3
"""Letters of a word that tell names apart which hold it."""


def near(word: str, known: Iterable[str]) -> str:
    """Up to three names, in whatever case the word is written, else such as hold it; empty when nothing is near."""
    spelled = {name.lower(): name for name in known}
    alike = difflib.get_close_matches(word.lower(), spelled, n=NAMED, cutoff=0.5)
    holding = [name for name in sorted(spelled) if len(word) >= TELLING and word.lower() in name]
    found = [spelled[name] for name in alike or holding[:NAMED]]
    return f"; did you mean {', '.join(found)}?" if found else ""


def nearest(word: str, known: Iterable[str], alike: float = 0.6) -> str:
    """The one name that is `alike` at least; empty when none is."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=alike)
    return f"; did you mean {found[0]}?" if found else ""
