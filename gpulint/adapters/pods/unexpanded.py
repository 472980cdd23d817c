"""References to variables that Kubernetes does not expand: it knows only $(NAME), in commands and in values.

A reference counts only if the container defines the variable: otherwise a tool such as envsubst may fill it in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.programs.container_command import SHELLS, Environment
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, gather

REFERENCE = re.compile(r"(?<![\\$])\$(?:\{(?P<brace>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*))")
EXPANDING = ("envsubst", "eval ", "expandvars")
"""Words of a file in which something else expands the references."""


def find(document: Document, path: Path, variables: Environment, *, runs_engine: bool) -> dict[str, Field]:
    """Return the references that a container's program gets as literal text.

    `runs_engine` says that the image starts a known engine, which expands nothing, where no command is stated.
    """
    if document.mentions(*EXPANDING):
        return {}
    return gather(
        (*_find_in_values(document, path, variables), *_find_in_words(document, path, variables, runs_engine))
    )


def _find_in_values(document: Document, path: Path, variables: Environment) -> Iterator[dict[str, Field]]:
    """Yield the references of values. A reference to the variable itself or the whole value may be left for a tool."""
    for name, argument in variables.items():
        text = argument.text or ""
        for reference in REFERENCE.finditer(text):
            known = reference["brace"] or reference["bare"]
            itself = known == name
            if itself and text.strip() != reference[0]:
                yield {"unexpanded_variable": Field(name, (_narrow(argument.origin, reference),))}
                break
            elif known in variables and not itself and not re.search(r"\s", text):
                yield _describe(reference, known, argument.origin)


def _find_in_words(
    document: Document, path: Path, variables: Environment, runs_engine: bool
) -> Iterator[dict[str, Field]]:
    """Yield the references in the words of a command that no shell reads.

    Words of a variable's text are arguments that an operator's own shell takes from it.
    """
    words = [
        (Origin(document, (*path, key, at)), word)
        for key in ("command", "args")
        for listed in (document.get((*path, key)),)
        for at, word in enumerate(listed if isinstance(listed, list) else ())
        if isinstance(word, str)
    ]
    if not (document.get((*path, "command")) or runs_engine) or any(_starts_shell(word) for _, word in words):
        return
    texts = "\n".join(argument.text or "" for argument in variables.values())
    for origin, word in words:
        for reference in REFERENCE.finditer(word):
            known = reference["brace"] or reference["bare"]
            if known in variables and word not in texts:
                yield _describe(reference, known, origin)


def _starts_shell(word: str) -> bool:
    """Return whether a word is a shell, a script, or the text of one."""
    return word.rsplit("/", 1)[-1] in SHELLS or word.endswith((".sh", ".bash")) or bool(re.search(r"[\n;|]|&&", word))


def _describe(reference: re.Match[str], name: str, origin: Origin) -> dict[str, Field]:
    return {
        "unexpanded_reference": Field(reference[0], (_narrow(origin, reference),)),
        "expanded_reference": Field(f"$({name})"),
    }


def _narrow(origin: Origin, reference: re.Match[str]) -> Origin:
    return origin._replace(span=reference.span()) if origin.span is None else origin
