"""Makefiles: the recipe of each target, with the variables of the file filled in as make does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.source import excess
from gpulint.source.recipes.translated import HOLE, RECIPES_MAX, Builder, Recipe, Translated

DEPTH_MAX = 20
VARIABLES_MAX = 2_000
ASSIGNMENT = re.compile(
    r"(?:(?:export|override|private)[ \t]+)*(?P<name>[\w.-]+)[ \t]*(?P<sign>[:?+!]{0,3}=)[ \t]*(?P<value>.*)", re.DOTALL
)
RULE = re.compile(r"(?P<targets>[^\s:#=][^:#=]*+)::?(?![=:])(?P<rest>.*)", re.DOTALL)
INCLUDE = re.compile(r"[-s]?include[ \t]+(?P<path>[\w./-]+)[ \t]*$")
CONDITION = re.compile(r"[ \t]*(?P<word>ifeq|ifneq|ifdef|ifndef|else|endif)\b")
DEFINE = re.compile(r"[ \t]*define\b")
REFERENCE = re.compile(r"\$(?:\$|\((?P<round>[^()]*(?:\([^()]*\)[^()]*)*)\)|\{(?P<brace>[^{}]*)\}|(?P<one>[^\s$({]))")
NAME = re.compile(r"[\w.-]+")
SHELL = re.compile(r"shell[ \t]+")
OF_THE_TOOL = frozenset({"PHONY", ".PHONY", ".DEFAULT", ".SUFFIXES", ".ONESHELL", ".SILENT", ".EXPORT_ALL_VARIABLES"})


class Definition(NamedTuple):
    """The value of a variable as it is written, and where; `conditional` if only a condition sets it."""

    value: str
    start: int
    before: Definition | None = None
    conditional: bool = False


def read(text: str) -> Iterator[Recipe]:
    """Yield the recipes of a Makefile."""
    variables: dict[str, Definition] = {}
    included: list[tuple[str, int]] = []
    found: list[tuple[str, tuple[int, int], list[tuple[str, int]]]] = []
    conditions, defines = 0, 0
    for line, start in _split_lines(text):
        if defines or DEFINE.match(line):
            defines += bool(DEFINE.match(line)) - line.strip().startswith("endef")
        elif line.startswith("\t"):
            if found:
                found[-1][2].append((line, start))
        elif match := CONDITION.match(line):
            conditions = max(conditions + {"else": 0, "endif": -1}.get(match["word"], 1), 0)
        elif match := INCLUDE.match(line):
            included.append((match["path"], start + match.start("path")))
        elif match := ASSIGNMENT.match(line):
            _define(variables, match, start, conditions > 0)
        elif (match := RULE.match(line)) and not excess.is_over(
            len(found) + 1, RECIPES_MAX, "a file has more than {} recipes"
        ):
            _start_recipe(found, match, start, variables)
    for name, span, lines in found:
        if lines:
            yield Recipe(name, span, _translate(name, span, lines, included, variables))


def _translate(
    name: str,
    span: tuple[int, int],
    lines: Sequence[tuple[str, int]],
    included: Sequence[tuple[str, int]],
    variables: Mapping[str, Definition],
) -> Translated:
    """Return the lines of a recipe as the shell gets them, behind the files of variables that the Makefile includes."""
    builder = Builder(span[0])
    for path, place in included:
        builder.add("set -a; . ./", None)
        builder.add(path, place)
        builder.add("; set +a\n", None)
    for line, start in lines:
        command = line[1:].lstrip("@-+ \t")
        for part in _expand(command, start + len(line) - len(command), variables, name, 0):
            builder.add(*part)
        builder.add("\n", None)
    return builder.finish()


def _split_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield each logical line with its start: one ends at a line break that no backslash continues."""
    for match in re.finditer(r"(?:[^\\\n]|\\.|\\\n|\\\Z)*(?:\n|\Z)", text):
        line = match[0].rstrip("\r\n")
        if line.strip() and not line.startswith("#"):
            yield line, match.start()


def _define(variables: dict[str, Definition], match: re.Match[str], start: int, conditional: bool) -> None:
    name, sign, value = match["name"], match["sign"], match["value"].rstrip()
    if excess.is_over(len(variables) + 1, VARIABLES_MAX, "a Makefile sets more than {} variables"):
        return
    if sign == "?=" and name in variables:
        return
    value = re.sub(r"(?<![ \t])[ \t]++#.*", "", value)
    before = variables.get(name) if sign == "+=" else None
    doubtful = conditional and name in variables and sign != "?="
    variables[name] = Definition(value, start + match.start("value"), before, doubtful)


def _start_recipe(
    found: list[tuple[str, tuple[int, int], list[tuple[str, int]]]],
    match: re.Match[str],
    start: int,
    variables: dict[str, Definition],
) -> None:
    """Begin a recipe at the line of its targets; a variable that is set for one target counts for all."""
    rest = match["rest"].strip()
    own = ASSIGNMENT.fullmatch(rest)
    if own is not None:
        _define(variables, own, start + match.start("rest") + match["rest"].index(rest), conditional=False)
        return
    name = match["targets"].split()[0]
    if name in OF_THE_TOOL:
        return
    span = (start, start + len(match["targets"].rstrip()))
    behind = rest.partition(";")[2]
    at = start + match.start("rest") + match["rest"].find(";") + 1
    found.append((name, span, [(f"\t{behind}", at - 1)] if behind.strip() else []))


def _expand(
    text: str, start: int, variables: Mapping[str, Definition], target: str, depth: int
) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield the parts of a text with make's references filled in, each with its place."""
    at = 0
    for match in REFERENCE.finditer(text):
        yield text[at : match.start()], start + at, None
        at = match.end()
        place = (start + match.start(), start + match.end())
        inner = match["round"] if match["round"] is not None else match["brace"]
        if match[0] == "$$":
            yield "$", place[0], place[1]
        elif match["one"] == "@":
            yield target, *place
        elif inner is None or excess.is_over(depth, DEPTH_MAX, "variables of a Makefile nest deeper than {} levels"):
            yield HOLE, *place
        elif (command := SHELL.match(inner)) is not None:
            yield "$(", place[0], place[0] + 2
            yield from _expand(inner[command.end() :], place[0] + 2 + command.end(), variables, target, depth + 1)
            yield ")", place[1] - 1, place[1]
        elif NAME.fullmatch(inner):
            yield from _fill(inner, place, variables, target, depth)
        else:
            yield HOLE, *place
    yield text[at:], start + at, None


def _fill(
    name: str, place: tuple[int, int], variables: Mapping[str, Definition], target: str, depth: int
) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield the value of a variable; one that the file does not set is the shell's, which the caller exports."""
    definition = variables.get(name)
    if definition is None:
        yield f"${{{name}}}" if re.fullmatch(r"[A-Za-z_]\w*", name) else HOLE, *place
        return
    chain = [definition]
    while (before := chain[0].before) is not None and len(chain) < DEPTH_MAX:
        chain.insert(0, before)
    for number, one in enumerate(chain):
        if one.conditional:
            yield HOLE, *place
            continue
        if number:
            yield " ", None, None
        yield from _expand(one.value, one.start, variables, target, depth + 1)
