"""Shell: the commands of a script and their words, as bash would see them, with their places.

Nothing is executed. What reads a script is imported when the first one comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.shell.command import Command, Word

__all__ = ["Command", "Word", "commands"]

SCRIPT_CHARACTERS_MAX = 256_000
CONSTRUCTS_MAX = 1_000
"""Of the constructs whose parsing takes time or memory quadratic in their number."""

_COSTLY = r"\||\(\(|\$\[|=\(|\bcase\b"


def commands(script: str, variables: Mapping[str, str | None] | None = None) -> tuple[Command, ...]:
    """The simple commands of a script in order; `variables` is the environment, None being set but unknowable."""
    if not script.strip() or len(script) > SCRIPT_CHARACTERS_MAX:
        return ()
    if sum(1 for _ in re.finditer(_COSTLY, script)) > CONSTRUCTS_MAX:
        return ()
    from gpulint.shell import statements

    return statements.read(script, variables or {})
