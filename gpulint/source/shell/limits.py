"""The scripts that can be read: those of a shell like bash whose parsing takes a bounded time."""

from __future__ import annotations

import re

SCRIPT_CHARACTERS_MAX = 256_000
CONSTRUCTS_MAX = 1_000
"""The most constructs whose parsing takes time or memory quadratic in their number."""

_COSTLY = re.compile(r"\||\(\(|\$\[|=\(|\bcase\b|\$\{\w+[%#^/,][^}]{0,80}(?=\$\{)")
_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")
_ANOTHER_LANGUAGE = re.compile(r"\s*#!.*\b(?:t?csh|fish|python[\d.]*|perl|ruby|node|pwsh|nu|awk|expect)\b")
_C_SHELL = re.compile(r"(?m)^[ \t]*(?:setenv[ \t]+\w+[ \t]|set[ \t]+\w+[ \t]*=[ \t]*\S)")


def is_readable(script: str) -> bool:
    """Whether a script is one of a shell like bash, and its parsing takes a bounded time."""
    return bool(script.strip()) and not find_excess(script) and not _is_of_another_language(script)


def is_too_long(script: str) -> bool:
    """Whether a script has more characters than are read."""
    return len(script) > SCRIPT_CHARACTERS_MAX


def find_excess(script: str) -> str:
    """Return which limit on its size a script exceeds; empty if none, or if it is no script of a shell like bash."""
    if is_too_long(script):
        return f"a script has more than {SCRIPT_CHARACTERS_MAX:,} characters"
    if sum(1 for _ in _COSTLY.finditer(_COMMENT.sub("", script))) > CONSTRUCTS_MAX:
        nested = "" if _is_of_another_language(script) else "pipes, cases, arithmetic and nested expansions"
        return f"a script has more than {CONSTRUCTS_MAX:,} {nested}" if nested else ""
    return ""


def _is_of_another_language(script: str) -> bool:
    return _ANOTHER_LANGUAGE.match(script) is not None or _C_SHELL.search(script) is not None
