"""Procfiles: one command for each type of process."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.source.recipes.translated import Builder, Recipe

PROCESS = re.compile(r"(?m)^(?P<name>[A-Za-z0-9_-]+)[ \t]*:[ \t]*(?P<command>\S.*)$")


def read(text: str) -> Iterator[Recipe]:
    """Yield the processes of a Procfile."""
    for match in PROCESS.finditer(text):
        builder = Builder(match.start())
        builder.add(match["command"], match.start("command"))
        yield Recipe(match["name"], match.span("name"), builder.finish())
