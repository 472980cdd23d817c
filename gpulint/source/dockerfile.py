"""Dockerfile: its stages and instructions, each with the position of its text. Nothing is built.

The grammar is that of docs.docker.com/reference/dockerfile: continued lines, comments, the escape directive and
here-documents. ONBUILD is an instruction like any other, which no reader here follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.source import excess

CHARACTERS_MAX = 262_144
INSTRUCTIONS_MAX = 5_000
EXPANDED_MAX = 20_000

_DIRECTIVE = re.compile(r"#[ \t]*(?P<name>[a-z]+)[ \t]*=[ \t]*(?P<value>\S+)[ \t]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_INSTRUCTION = re.compile(r"[ \t]*+(?P<name>[A-Za-z]++)[ \t]++(?P<rest>.*)", re.S)
_FROM = re.compile(r"(?:--\S+[ \t]+)*+(?P<image>\S+)(?:[ \t]+[Aa][Ss][ \t]+(?P<stage>\S+))?[ \t]*")
_HERE = re.compile(r"<<-?[\"']?(\w+)[\"']?")
_VARIABLE = re.compile(r"\$(?:(?P<bare>\w++)|\{(?P<name>\w++)(?P<operator>:?[-+])?(?P<word>[^{}$]*+)\})")
_PAIR = re.compile(r"""(?<!\w)(\w++)=("(?:\\.|[^"\\])*"|'[^']*'|(?:\\.|[^\s"'\\])*)""")
TAKING_HERE = frozenset({"RUN", "COPY", "ADD"})


class Instruction(NamedTuple):
    """An instruction: its name in capitals, its text with continued lines joined, and the position of that text.

    Every character of the text has its position in the file. `here` is the text of its here-documents.
    """

    name: str
    text: str
    at: int
    here: str = ""


class Stage(NamedTuple):
    """A stage: the image or earlier stage that it is built on, its own name, and its instructions."""

    base: str
    name: str
    instructions: tuple[Instruction, ...]
    at: int


class Setting(NamedTuple):
    """A variable of ENV or ARG: its value with the span of its text, and whether an argument of the build may replace it."""

    value: str
    span: tuple[int, int]
    replaceable: str = ""


def read_stages(text: str, arguments: Mapping[str, str]) -> tuple[list[Stage], dict[str, str]]:
    """Return the stages in order, with the arguments of their base images filled in, and the arguments before them."""
    if excess.is_over(len(text), CHARACTERS_MAX, "the Dockerfile has more than {} characters"):
        return [], {}
    values: dict[str, str] = {}
    stages: list[tuple[str, str, list[Instruction], int]] = []
    for number, instruction in enumerate(_read_instructions(text)):
        if excess.is_over(number, INSTRUCTIONS_MAX, "the Dockerfile has more than {} instructions"):
            break
        if instruction.name == "ARG" and not stages:
            key, equals, value = instruction.text.partition("=")
            if equals or key.strip() in arguments:
                values[key.strip()] = arguments.get(key.strip(), fill(unquote(value), values))
        elif instruction.name == "FROM" and (match := _FROM.fullmatch(instruction.text)):
            stages.append((fill(match["image"], values), (match["stage"] or "").lower(), [], instruction.at))
        elif stages:
            stages[-1][2].append(instruction)
    return [Stage(base, name, tuple(steps), at) for base, name, steps, at in stages], values


def _read_instructions(text: str) -> Iterator[Instruction]:
    lines = _LINE.findall(text)
    escape, at, number = _find_escape(lines), 0, 0
    while number < len(lines):
        start, parts = at, list[str]()
        while number < len(lines):
            line = lines[number]
            at, number = at + len(line), number + 1
            is_comment = line.lstrip().startswith("#")
            if is_comment or (parts and not line.strip()):
                parts.append(" " * len(line))
                if is_comment and not any(part.strip() for part in parts):
                    break
                continue
            body = line.rstrip()
            if not body.endswith(escape):
                parts.append(body)
                break
            parts.append(body[:-1] + " " * (len(line) - len(body) + 1))
        match = _INSTRUCTION.fullmatch("".join(parts).rstrip())
        if match is None:
            continue
        name, here = match["name"].upper(), list[str]()
        for mark in _HERE.findall(match["rest"]) if name in TAKING_HERE else ():
            while number < len(lines):
                line = lines[number]
                at, number = at + len(line), number + 1
                if line.strip() == mark:
                    break
                here.append(line)
        yield Instruction(name, match["rest"], start + match.start("rest"), "".join(here))


def _find_escape(lines: list[str]) -> str:
    """Return the character that continues a line, which a directive at the top may change."""
    for line in lines:
        match = _DIRECTIVE.fullmatch(line.strip())
        if match is None:
            return "\\"
        if match["name"] == "escape":
            return "`" if match["value"] == "`" else "\\"
    return "\\"


# ---- values


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its variables filled in; a variable without a value or default stays as it is."""

    def value(match: re.Match[str]) -> str:
        name = match["bare"] or match["name"]
        known = values.get(name)
        operator = match["operator"] or ""
        if operator.endswith("+"):
            return match["word"] if known else match[0] if known is None else ""
        if operator.endswith("-"):
            return known or match["word"] if operator == ":-" or known is None else known
        return known or match[0] if known != "" else ""

    return _VARIABLE.sub(value, text)[:EXPANDED_MAX]


def unquote(text: str) -> str:
    """Return a value without the quotes around it."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text.strip("\"'")


def read_settings(instruction: Instruction, known: Mapping[str, str]) -> Iterator[tuple[str, Setting]]:
    """Yield the variables of ENV: `NAME=value …`, or the older `NAME value`.

    A variable that refers to an unknown one is left out.
    """
    rest, at = instruction.text, instruction.at
    if "=" not in rest.split(None, 1)[0]:
        name, _, value = rest.partition(" ")
        pairs = [(name, value.strip(), (at + len(rest) - len(value.lstrip()), at + len(rest.rstrip())))]
    else:
        pairs = [
            (match[1], unquote(match[2]) if match[2] else "", (at + match.start(2), at + match.end(2)))
            for match in _PAIR.finditer(rest)
        ]
    for name, value, (start, end) in pairs:
        filled = fill(value, known)
        if "$" not in filled:
            quoted = rest[start - at : start - at + 1] in ("'", '"') and end - start > 1
            yield name, Setting(filled, (start + 1, end - 1) if quoted else (start, end))


def split_words(text: str) -> list[str]:
    """Return the words of an instruction, in quotes or not."""
    return [match[0].strip("\"'") for match in re.finditer(r"""(?:"[^"]*"|'[^']*'|[^\s"'])++""", text)]
