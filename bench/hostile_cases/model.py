"""What a hostile case is: files, a command, and the outcome that must follow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

CHECKED = "checked"
"""A rule of the case fires: exit 1."""
NOT_CHECKED = "not checked"
"""A finding says that the file was not read: exit 1."""
CAUGHT = "checked|not checked"
"""Either is right: what the program that deploys the file makes of it depends on its release."""
LISTED = "checked|not checked|counted"
"""The report lists the file: it does not deploy as it stands, or is a repository or a program of its own."""
SHOWN = "checked|not checked|counted|noted"
"""The report shows it: among what was not checked, among the hints of a change, or in a finding of any severity."""
CLEAN = "clean"
"""There is nothing to find: exit 0."""
COUNTED = "counted"
"""Exit 0, and the report lists the file with the reason why it was not checked, or a hint that the change adds."""
NOTED = "noted"
"""At least one finding of whatever severity."""
ENDS = "ends"
"""Any verdict, as long as the run keeps its budget and does no harm: exit 0, 1 or 2."""
REFUSED = "refused"
"""Exit 2: the options or the policy cannot be used."""

OUTSIDE = "CANARY-OUTSIDE-9f3c"
"""What lies in a file outside the checkout; no output may contain it."""
EXECUTED = "executed-by-gpulint"
"""The file that an executed command would leave behind."""


class Link(NamedTuple):
    """A symbolic link. `OUTSIDE` in its target is the folder beside the checkout."""

    target: str


class Pipe(NamedTuple):
    """A named pipe, whose reader would wait for ever."""


class Submodule(NamedTuple):
    """A commit of another repository."""


Content = bytes | str | Link | Pipe | Submodule | None
"""What a path holds; None removes the file."""
Files = Mapping[str, Content]
Made = Callable[[], Files]


class Case(NamedTuple):
    """A hostile input: the files of a folder, and what `gpulint` with these words must make of them.

    Without words the files are checked by name. `git` commits the files first, those of .gitignore too. `rule` must be
    among the failing findings; empty is any. `absent` must not occur in what is printed. `gate` says that the files
    are also tried as a pull request.
    """

    name: str
    way: str
    expected: str
    files: Made
    rule: str = ""
    words: tuple[str, ...] = ()
    git: bool = False
    absent: tuple[str, ...] = ()
    gate: bool = False


class Change(NamedTuple):
    """A hostile pull request: the files of the base commit, and what the head commit changes in them.

    `prepare` names a function of the bench that prepares the repository further.
    """

    name: str
    way: str
    expected: str
    base: Made
    head: Made
    rule: str = ""
    words: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    prepare: str = ""


def files(**named: Content) -> Made:
    """Return a function that returns these files; `__` in a name is a dot."""
    return functools.partial(dict, {name.replace("__", "."): content for name, content in named.items()})


def several(contents: Files) -> Made:
    """Return a function that returns these files."""
    return lambda: contents


def one(path: str, content: Content) -> Made:
    """Return a function that returns one file."""
    return functools.partial(dict, {path: content})
