"""Justfiles: the commands of each recipe, with the variables and the defaults of its parameters filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.source import excess
from gpulint.source.recipes.translated import HOLE, RECIPES_MAX, Builder, Recipe

VARIABLES_MAX = 2_000
DEPTH_MAX = 20
ASSIGNMENT = re.compile(r"(?:export[ \t]++)?(?P<name>[A-Za-z_][\w-]*+)[ \t]*+:=[ \t]*+(?P<value>.*)")
RECIPE = re.compile(
    r"@?(?P<name>[A-Za-z_][\w-]*+)(?P<parameters>(?:[^:\n'\"]++|'[^'\n]*+'|\"[^\"\n]*+\")*+):(?!=)(?P<after>.*)"
)
PARAMETER = re.compile(
    r"[*+$]?(?P<name>[A-Za-z_][\w-]*)(?:=(?P<default>'[^']*'|\"[^\"]*\"|env(?:_var)?\('\w+'\)|env(?:_var)?\(\"\w+\"\)|[\w-]+))?"
)
LITERAL = re.compile(r"(?P<quote>['\"])(?P<text>[^'\"\n]*)(?P=quote)")
FALLBACK = re.compile(
    r"(?:env_var_or_default|env)\([ \t]*['\"](?P<name>\w+)['\"][ \t]*,[ \t]*(?P<default>'[^'\n]*'|\"[^\"\n]*\"|[\w-]+)[ \t]*\)"
)
VARIABLE = re.compile(r"env(?:_var)?\([ \t]*+['\"](?P<name>[A-Za-z_]\w*+)['\"][ \t]*+\)")
INTERPOLATION = re.compile(r"\{\{[ \t]*+(?P<body>[^{}\n]*+)\}\}")
LOADS = re.compile(r"set[ \t]+dotenv-load(?:[ \t]*:=[ \t]*true)?[ \t]*$")

Value = tuple[str, int]


def read(text: str) -> Iterator[Recipe]:
    """Yield the recipes of a justfile."""
    variables: dict[str, Value] = {}
    found: list[tuple[str, tuple[int, int], str, int, list[tuple[str, int]]]] = []
    loads = False
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        bare = line.rstrip("\r\n")
        if bare[:1] in (" ", "\t"):
            if found and bare.strip():
                found[-1][4].append((bare, start))
        elif match := ASSIGNMENT.match(bare):
            if not excess.is_over(len(variables) + 1, VARIABLES_MAX, "a justfile sets more than {} variables"):
                variables[match["name"]] = (match["value"].rstrip(" \t"), start + match.start("value"))
        elif LOADS.match(bare):
            loads = True
        elif (match := RECIPE.match(bare)) and match["name"] != "set":
            if excess.is_over(len(found) + 1, RECIPES_MAX, "a file has more than {} recipes"):
                break
            name = match["name"]
            span = (start, start + match.end("name"))
            found.append((name, span, match["parameters"], start + match.start("parameters"), []))
    for name, span, parameters, place, lines in found:
        if lines:
            yield _build(name, span, {**variables, **_list_parameters(parameters, place)}, lines, loads)


def _list_parameters(text: str, start: int) -> Mapping[str, Value]:
    """Return the default of each parameter; one without a default is whatever its caller gives."""
    return {
        match["name"]: (match["default"] or "", start + max(match.start("default"), 0))
        for match in PARAMETER.finditer(text)
    }


def _build(
    name: str, span: tuple[int, int], variables: Mapping[str, Value], lines: list[tuple[str, int]], loads: bool
) -> Recipe:
    builder = Builder(span[0])
    if loads:
        builder.add("set -a; . ./.env; set +a\n", None)
    for line, start in lines:
        bare = line.lstrip(" \t@-")
        first = start + len(line) - len(bare)
        at = 0
        for match in INTERPOLATION.finditer(bare):
            builder.add(bare[at : match.start()], first + at)
            at = match.end()
            text, place = _evaluate(match["body"].rstrip(" \t"), first + match.start("body"), variables, 0)
            written = place is not None and not text.startswith("${")
            builder.add(text, place, None if written else first + match.end())
        builder.add(bare[at:], first + at)
        builder.add("\n", None)
    return Recipe(name, span, builder.finish())


def _evaluate(body: str, start: int, variables: Mapping[str, Value], depth: int) -> Value:
    """Return the text of an expression and where it is written; a hole if only just can tell."""
    if match := LITERAL.fullmatch(body):
        return match["text"], start + match.start("text")
    if match := VARIABLE.fullmatch(body):
        return f"${{{match['name']}}}", start
    if match := FALLBACK.fullmatch(body):
        return _evaluate(match["default"], start + match.start("default"), variables, depth + 1)
    if body in variables and not excess.is_over(depth, DEPTH_MAX, "variables of a justfile nest deeper than {} levels"):
        value, place = variables[body]
        return _evaluate(value, place, variables, depth + 1)
    return HOLE, start
