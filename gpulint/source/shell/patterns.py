"""Patterns: the globs of `case`, `[[ == ]]` and `${NAME%…}`, as regular expressions."""

from __future__ import annotations

import re

from gpulint.source import excess

PATTERN_CHARACTERS_MAX = 500

_TOKEN = re.compile(r"(?s)\\(.)|(\[[!^]?\]?[^\]]*\])|(.)")


def compile(glob: str) -> str | None:
    """The regular expression of a glob, one that never goes back; None where it is an extended one.

    >>> compile("*.yaml")
    '(?s:.*)\\\\.yaml'
    """
    if excess.is_over(len(glob), PATTERN_CHARACTERS_MAX, "a pattern of a script has more than {} characters"):
        return None
    if re.search(r"[?*+@!]\(", glob):
        return None
    first, *segments = _segments(glob)
    if not segments:
        return first
    middle = "".join(f"(?>(?s:.*?){segment})" for segment in segments[:-1] if segment)
    return f"{first}{middle}(?s:.*){segments[-1]}"


def _segments(glob: str) -> list[str]:
    """Yield the text between the stars."""
    segments = [""]
    for match in _TOKEN.finditer(glob):
        if match[3] == "*":
            segments.append("")
        else:
            segments[-1] += _translate(match)
    return segments


def _translate(match: re.Match[str]) -> str:
    escaped, bracket, character = match.groups()
    if escaped:
        return re.escape(escaped)
    if bracket:
        inside = bracket[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^{inside[1:]}]" if inside[:1] in ("!", "^") else f"[{inside}]"
    return "(?s:.)" if character == "?" else re.escape(character)


def is_match(expression: str, text: str) -> bool | None:
    """Whether a text is wholly of the pattern; None where the pattern is none."""
    try:
        return re.fullmatch(expression, text) is not None
    except re.error:
        return None
