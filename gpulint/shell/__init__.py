"""Shell: the commands of a script and their words, as bash would see them, with their places.

Nothing is executed. What reads a script is imported when the first one comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.shell.command import Command, Word

__all__ = ["Command", "Word", "commands", "split"]

SCRIPT_CHARACTERS_MAX = 256_000
CONSTRUCTS_MAX = 1_000
"""Of the constructs whose parsing takes time or memory quadratic in their number."""

_NEWLINE = r"(\\[^\n])|\\?\n"
_COSTLY = r"\||\(\(|\$\[|=\(|\bcase\b"


def commands(script: str, variables: Mapping[str, str | None] | None = None) -> tuple[Command, ...]:
    """The simple commands of a script in order; `variables` is the environment, None being set but unknowable."""
    if not script.strip() or len(script) > SCRIPT_CHARACTERS_MAX:
        return ()
    if sum(1 for _ in re.finditer(_COSTLY, script)) > CONSTRUCTS_MAX:
        return ()
    from gpulint.shell import statements

    return statements.read(script, variables or {})


def split(text: str) -> tuple[Word, ...]:
    """The words of one command string; none where it holds more than one command."""
    found = commands(re.sub(_NEWLINE, lambda match: match[1] or " " * len(match[0]), text))
    return found[0].words if len(found) == 1 and not found[0].assignments else ()
