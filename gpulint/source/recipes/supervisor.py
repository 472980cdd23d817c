"""Supervisord's settings: the command of each program, with its variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.source.recipes import sections
from gpulint.source.recipes.sections import Entry
from gpulint.source.recipes.translated import HOLE, RECIPES_MAX, Builder, Recipe

PROGRAM = "program:"
EXPANSION = re.compile(r"%(?:(?P<percent>%)|\((?:ENV_(?P<name>[A-Za-z_]\w*)|\w+)\)\d*[sd])")
"""Python string expressions, of which `ENV_` ones are variables (supervisord.org/configuration.html#environment-variables)."""


def read(text: str) -> Iterator[Recipe]:
    """Yield the programs that supervisord starts."""
    programs: dict[str, list[Entry]] = {}
    for entry in sections.read(text, indented=True):
        if entry.section.startswith(PROGRAM) and (entry.section in programs or len(programs) < RECIPES_MAX):
            programs.setdefault(entry.section, []).append(entry)
    for section, entries in programs.items():
        command = next((entry for entry in entries if entry.key == "command"), None)
        if command is None:
            continue
        builder = Builder(command.start)
        for entry in entries:
            if entry.key == "environment":
                for pair in sections.PAIR.finditer(entry.value):
                    builder.add("export ", None)
                    builder.add(pair[0], entry.start + pair.start())
                    builder.add("\n", None)
        _add(builder, command.value.replace("\n", " "), command.start)
        yield Recipe(section.removeprefix(PROGRAM).strip(), command.named, builder.finish())


def _add(builder: Builder, text: str, start: int) -> None:
    """Add a command with the expressions that supervisord expands."""
    at = 0
    for match in EXPANSION.finditer(text):
        builder.add(text[at : match.start()], start + at)
        name = match["name"]
        shown = "%" if match["percent"] else f"${{{name}}}" if name else HOLE
        builder.add(shown, start + match.start(), start + match.end())
        at = match.end()
    builder.add(text[at:], start + at)
