"""Shell: the commands of a script and their words, as bash would see them, with their places.

Nothing is executed. What reads a script is imported when the first one comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpulint.source.shell.command import HOLE, Command, Piece, Word

__all__ = ["HOLE", "Command", "Piece", "Word", "read_commands", "read_inner"]

SCRIPT_CHARACTERS_MAX = 256_000
CONSTRUCTS_MAX = 1_000
"""Of the constructs whose parsing takes time or memory quadratic in their number."""

Sourced = Callable[[str], tuple[str, str] | None]

_COSTLY = re.compile(r"\||\(\(|\$\[|=\(|\bcase\b|\$\{\w+[%#^/,][^}]{0,80}(?=\$\{)")
_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")
_ANOTHER_LANGUAGE = re.compile(r"\s*#!.*\b(?:t?csh|fish|python[\d.]*|perl|ruby|node|pwsh|nu|awk|expect)\b")
_C_SHELL = re.compile(r"(?m)^[ \t]*(?:setenv[ \t]+\w+[ \t]|set[ \t]+\w+[ \t]*=[ \t]*\S)")


def read_commands(
    script: str, variables: Mapping[str, str | None] | None = None, sourced: Sourced | None = None
) -> tuple[Command, ...]:
    """The simple commands of a script in order; `variables` is the environment, None being set but unknowable.

    `sourced` gives the shown path and the text of a file that the script sources, None where the repository has none; a
    path that starts with `./` is one from the folder of the script.
    """
    if not is_readable(script):
        return ()
    from gpulint.source.shell import statements

    return statements.read(script, {} if variables is None else variables, sourced)


def read_inner(
    word: Word, command: Command, variables: Mapping[str, str | None] | None = None, sourced: Sourced | None = None
) -> tuple[Command, ...]:
    """The commands of a word that is a script itself, as of `bash -c WORD` or `bash <<EOF`, at their places in the outer one.

    What the outer script has exported by the time of the command is known in it.
    """
    if not is_readable(word.holed):
        return ()
    from gpulint.source.shell import statements

    known = {} if variables is None else variables
    return statements.read(word.holed, known, sourced, word, {**command.environment, **dict(command.assignments)})


def is_readable(script: str) -> bool:
    """Whether a script is one of a shell like bash, and its parsing takes a bounded time."""
    if not script.strip() or len(script) > SCRIPT_CHARACTERS_MAX:
        return False
    if _ANOTHER_LANGUAGE.match(script) or _C_SHELL.search(script):
        return False
    return sum(1 for _ in _COSTLY.finditer(_COMMENT.sub("", script))) <= CONSTRUCTS_MAX
