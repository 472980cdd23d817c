"""Terraform's expressions as text: references, literals, calls and conditions, without evaluation."""

from __future__ import annotations

import re

WHOLE = re.compile(r"\$\{(?P<expression>(?:[^{}\"]|\"[^\"]*\"|\{[^{}]*\})*)\}", re.DOTALL)
REFERENCE = re.compile(
    r"(?P<root>var|local|each|self)\.(?P<name>[\w-]+)(?P<rest>(?:\.[\w-]+|\[\d+\]|\[\"[^\"\]]*\"\])*)"
)
STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]|\[\"([^\"\]]*)\"\]")
CALL = re.compile(
    r"(?P<name>try|coalesce|lookup|tostring|tonumber|tobool|tolist|toset|tomap)\((?P<arguments>.*)\)", re.DOTALL
)
COMPARISON = re.compile(r"(?P<left>[^=!<>&|]++)(?P<sign>==|!=)\s*+(?P<right>[^=!<>&|]++)")
JOINING = re.compile(r"(?P<name>concat|merge)\((?P<arguments>.*)\)", re.DOTALL)
LITERAL = re.compile(r"\"(?P<text>[^\"$\\]*)\"|(?P<number>-?\d+(?:\.\d+)?)|(?P<word>true|false|null)")


def literal(match: re.Match[str]) -> object:
    if match["text"] is not None:
        return match["text"]
    if match["number"]:
        return float(match["number"]) if "." in match["number"] else int(match["number"])
    return {"true": True, "false": False}.get(match["word"])


def arguments(text: str) -> list[str]:
    """Return the arguments of a call, split at the top-level commas."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                parts.append(text[start:at].strip())
                start = at + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def sides(expression: str) -> tuple[str, str, str] | None:
    """Return condition and both sides of `a ? b : c` at the top level; None for any other
    expression.
    """
    places, depth, quoted = [], 0, False
    for at, character in enumerate(expression):
        if character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character in "([{") - (character in ")]}")
            if depth == 0 and character in "?:":
                places.append((character, at))
    if [sign for sign, _ in places] != ["?", ":"]:
        return None
    (_, first), (_, second) = places
    return expression[:first].strip(), expression[first + 1 : second].strip(), expression[second + 1 :].strip()


def short(expression: str) -> str:
    line = " ".join(expression.split())
    return line if len(line) <= 60 else f"{line[:57]}…"
