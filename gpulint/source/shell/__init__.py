"""Shell: the commands of a script and their words, as bash would see them, with their places.

Nothing is executed. What reads a script is imported when the first one comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpulint.source import excess
from gpulint.source.shell import limits
from gpulint.source.shell.choices import Choice, Choices
from gpulint.source.shell.command import HOLE, Command, Piece, Word
from gpulint.source.shell.limits import is_readable, is_too_long

__all__ = [
    "HOLE",
    "Choice",
    "Choices",
    "Command",
    "Piece",
    "Word",
    "find_excess",
    "is_readable",
    "is_too_long",
    "read_commands",
    "read_inner",
]

Sourced = Callable[[str], tuple[str, str] | None]
Listed = Callable[[str], tuple[str, ...]]


def read_commands(
    script: str,
    variables: Mapping[str, str | None] | None = None,
    sourced: Sourced | None = None,
    choices: Choices | None = None,
    listed: Listed | None = None,
) -> tuple[Command, ...]:
    """The simple commands of a script in order; `variables` is the environment, None being set but unknowable.

    `sourced` gives the shown path and the text of a file that the script sources, None where the repository has none; a
    path that starts with `./` is one from the folder of the script. `choices` settles items of cases and loops, and gets
    those that are open. `listed` gives the files that a path may be of which one name is open.
    """
    if not is_readable(script):
        excess.note(limits.find_excess(script))
        return ()
    from gpulint.source.shell import statements

    return statements.read(script, {} if variables is None else variables, sourced, choices=choices, listed=listed)


def find_excess(script: str) -> str:
    """Return which limit a script exceeds that is not read; empty if it exceeds none."""
    if not is_readable(script):
        return limits.find_excess(script)
    from gpulint.source.shell import statements

    return "" if statements.is_within_limits(script) else statements.EXPANDS


def read_inner(
    word: Word, command: Command, variables: Mapping[str, str | None] | None = None, sourced: Sourced | None = None
) -> tuple[Command, ...]:
    """The commands of a word that is a script itself, as of `bash -c WORD` or `bash <<EOF`, at their places in the outer one.

    What the outer script has exported by the time of the command is known in it.
    """
    if not is_readable(word.text_with_holes):
        excess.note(limits.find_excess(word.text_with_holes))
        return ()
    from gpulint.source.shell import statements

    known = {} if variables is None else variables
    return statements.read(
        word.text_with_holes, known, sourced, word, {**command.environment, **dict(command.assignments)}
    )
