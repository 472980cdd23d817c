"""Every text that a user reads, and the phrases that none of them may have."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

import click
from folders import ROOT

from gpulint import cli
from gpulint.catalog import package_data

FILES = (
    *("*.md", "docs/**/*.md", "integrations/**/*.md", "gpulint/**/*.md", "action.yml", "integrations/**/*.yml"),
    *("rules/**/*.yaml", "packs/**/*.yaml", "examples/**/*.yaml", "formats/*", "gpulint/**/*.csv"),
)
"""Files that are read as they are."""
LEFT_OUT = frozenset(("CLAUDE.md", "CHANGELOG.md"))
"""Instructions that no user reads, and lines about earlier work that nobody edits later."""
NAMES_ONLY = frozenset(
    ("architectures.csv", "checkpoints.csv", "config_defaults.csv", "ollama.csv", "prices.csv", "setting_names.csv")
)
"""Tables of names and numbers."""
SHOWN = ("sizing", "engines", "adapters")
"""Packages whose docstrings `gpulint explain` and the reference pages show."""


class Text(NamedTuple):
    """A text and where it is written."""

    place: str
    line: int
    words: str


class Phrase(NamedTuple):
    """What no text may say: a regular expression over lower-case text, the plain words, and a text that has it."""

    pattern: str
    plain: str
    example: str


class Allowed(NamedTuple):
    """A phrase that one place may have, and why."""

    place: str
    words: str
    reason: str

    def covers(self, found: str) -> bool:
        """Whether what was found is this phrase, in a place whose name begins like this one's."""
        place, _, words = found.split(":", 2)
        return place.startswith(self.place) and self.words in words


@functools.cache
def collect() -> tuple[Text, ...]:
    """Return every text that a user reads."""
    return (*_read_files(), *_read_schemas(), *_read_glossary(), *_read_help(), *_read_code())


def _read_files() -> Iterator[Text]:
    for pattern in FILES:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and path.name not in LEFT_OUT | NAMES_ONLY:
                yield Text(path.relative_to(ROOT).as_posix(), 1, path.read_text(encoding="utf-8", errors="replace"))


def _read_schemas() -> Iterator[Text]:
    for path in sorted((ROOT / "schemas").glob("*.json")):
        for line, words in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if words.lstrip().startswith('"description": "'):
                yield Text(path.relative_to(ROOT).as_posix(), line, words)


def _read_glossary() -> Iterator[Text]:
    for name, row in package_data.load_glossary().items():
        yield Text(f"fact {name}", 1, f"{row.get('meaning', '')}\n{row.get('ask', '')}")


def _read_help() -> Iterator[Text]:
    pending: list[tuple[str, click.Command]] = [("gpulint", cli.main)]
    while pending:
        name, command = pending.pop()
        yield Text(name, 1, command.help or "")
        for parameter in command.params:
            yield Text(f"{name} {parameter.opts[0]}", 1, getattr(parameter, "help", None) or "")
        if isinstance(command, click.Group):
            context = click.Context(command)
            children = ((child, command.get_command(context, child)) for child in command.list_commands(context))
            pending.extend((f"{name} {child}", found) for child, found in children if found)


def _read_code() -> Iterator[Text]:
    """Yield the strings of our code, f-strings with `{}` for their values, and the docstrings that pages show."""
    for path in sorted((ROOT / "gpulint").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (Text(place, line, words) for line, words in find_strings(tree) if " " in words)
        if path.relative_to(ROOT / "gpulint").parts[0] in SHOWN:
            yield from (Text(place, line, words) for line, words in _find_docstrings(tree))


def find_strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string of a module that is no docstring and no comment."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.JoinedStr):
            pieces = (piece.value if isinstance(piece, ast.Constant) else "{}" for piece in child.values)
            yield child.lineno, "".join(map(str, pieces))
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.lineno, child.value
        else:
            yield from find_strings(child)


def _find_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"))
    for node in (tree, *functions):
        if text := ast.get_docstring(node):
            yield getattr(node, "lineno", 1), text


def find(phrase: Phrase, text: Text) -> Iterator[str]:
    """Yield place, line and words of each occurrence of a phrase in a text; a line break counts as a space."""
    for found in compile_pattern(phrase).finditer(text.words.lower()):
        line = text.line + text.words.count("\n", 0, found.start())
        yield f"{text.place}:{line}: {' '.join(found[0].split())}"


@functools.cache
def compile_pattern(phrase: Phrase) -> re.Pattern[str]:
    return re.compile(phrase.pattern.replace(" ", r"\s+"))
