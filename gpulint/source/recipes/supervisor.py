"""Supervisord's settings: the command of each program, with its variables."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.source.recipes import sections
from gpulint.source.recipes.sections import Entry
from gpulint.source.recipes.translated import RECIPES_MAX, Builder, Recipe

PROGRAM = "program:"


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
        builder.add(command.value.replace("\n", " "), command.start)
        yield Recipe(section.removeprefix(PROGRAM).strip(), command.named, builder.finish())
