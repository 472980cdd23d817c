"""Python: the calls of a program with their arguments, as its text states them, with their places.

Nothing is imported or executed. What evaluates a program is imported when the first one comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gpulint.source.documents import Document
from gpulint.source.python.values import Given, Object, Plain, Point, Scope, Value

__all__ = ["Evaluated", "Given", "evaluate"]


class Evaluated(NamedTuple):
    """A program: its modules by path, and in order the calls of what other packages define.

    `returned` are the last results of its functions by their nodes. `points` are the places where somebody else decides
    how it goes on, and `count_steps` says what it cost to evaluate. `enter_rest` also enters the functions and classes that
    nothing calls, and adds their calls. `list_variables` are those of its environment that it has set or was given.
    """

    modules: Mapping[str, Scope]
    calls: Sequence[Object]
    returned: Mapping[int, Value]
    enter_rest: Callable[..., None]
    points: Mapping[tuple[object, ...], Point] = {}
    count_steps: Callable[[], int] = lambda: 0
    list_variables: Callable[[], Mapping[str, Given]] = dict


def evaluate(
    path: str,
    find: Callable[[str], Document | None],
    words: Sequence[Given] | None = None,
    environment: Mapping[str, Given] | None = None,
    *,
    open_environment: bool = True,
    known: Mapping[str, Plain] | None = None,
    module: str = "__main__",
    ways: Mapping[tuple[object, ...], int] | None = None,
    functions: Sequence[str] = (),
    unstated: Callable[[str], Given | None] | None = None,
) -> Evaluated:
    """Return what a program calls when a file is started.

    `find` returns a document of the repository, `words` are the arguments of the command (None if nothing says how the
    program is started), `environment` are its variables, and `open_environment` says that there may be more of them.
    `known` are calls whose result the caller knows. `module` is the name under which the file is imported. `ways` are
    those that it takes at points which are open. `functions` are those of the module that its command calls. `unstated`
    returns a variable that neither sets.
    """
    from gpulint.source.python.program import Program

    program = Program(find, words, environment, open_environment, known, ways, unstated)
    program.start(path, module, functions)
    return Evaluated(
        program.modules,
        program.calls,
        program.returned,
        program.enter_rest,
        program.points,
        program.count_steps,
        lambda: program.environment,
    )
