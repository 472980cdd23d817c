"""Texts: the parts of a Dockerfile, a README or a notebook that a shell runs, each at its place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.source.documents import Document, Node

CHARACTERS_MAX = 400_000
RUN = re.compile(r"(?im)^[ \t]*+RUN[ \t]++(?:--\S++[ \t]++)*+")
SETS = re.compile(r"(?im)^[ \t]*+(?:ENV|ARG)[ \t]++(?=\w+=)")
COMMENT = re.compile(r"(?m)^[ \t]*+#.*+$")
FENCE = re.compile(r"(?m)^[ \t]*+(?:```|~~~)[ \t]*+(?P<language>[\w.+-]*+).*+$")
PROMPT = re.compile(r"(?m)^[ \t]*+(?:\$|>|%)[ \t]")
SHELL = frozenset({"", "bash", "sh", "shell", "console", "zsh", "shell-session", "terminal", "text"})
LINE = re.compile(r"(?m)^[ \t]*+!(?P<command>(?:[^\\\n]|\\.|\\\n)*+)$")
WHOLE = re.compile(r"[ \t\n]*+%%(?:bash|sh|shell)[^\n]*+\n")


def make_script(path: str, text: str) -> Document:
    """Return a text as the document of a script."""
    return Document(path, 0, text, Node("scalar", 0, len(text), text), "shell", text)


def read_dockerfile(path: str, text: str) -> Document | None:
    """Return the commands of RUN and the variables of a Dockerfile as a script, at their places."""
    if len(text) > CHARACTERS_MAX:
        return None
    kept = _blank(text)
    for block in _list_instructions(text):
        start, end = block
        found = RUN.match(text, start, end) or SETS.match(text, start, end)
        if found:
            kept[found.end() : end] = COMMENT.sub(_spaces, text[found.end() : end])
    return make_script(path, "".join(kept))


def _list_instructions(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each instruction begins and ends, with the lines that continue it."""
    at = 0
    while at < len(text):
        end = at
        while True:
            newline = text.find("\n", end)
            if newline < 0:
                end = len(text)
                break
            line = text[end:newline].rstrip()
            end = newline + 1
            if not line.endswith("\\") and not line.lstrip().startswith("#"):
                break
        yield at, end
        at = end


def read_readme(path: str, text: str) -> Document | None:
    """Return the commands of the code fences of a README as a script, at their places."""
    if len(text) > CHARACTERS_MAX:
        return None
    kept = _blank(text)
    start, language = -1, ""
    for fence in FENCE.finditer(text):
        if start < 0:
            start, language = fence.end(), fence["language"].lower()
            continue
        if language in SHELL:
            kept[start : fence.start()] = PROMPT.sub(_spaces, text[start : fence.start()])
        start = -1
    return make_script(path, "".join(kept))


def read_notebook(document: Document) -> Document | None:
    """Return the commands that the cells of a notebook give a shell as a script; its places are those of this script."""
    cells = document.get(("cells",))
    lines: list[str] = []
    for cell in cells if isinstance(cells, list) else ():
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        text = (
            "".join(line for line in source if isinstance(line, str)) if isinstance(source, list) else str(source or "")
        )
        if whole := WHOLE.match(text):
            lines.append(text[whole.end() :])
        else:
            lines.extend(match["command"] for match in LINE.finditer(text))
    script = "\n".join(lines)
    return make_script(document.path, script) if script and len(script) <= CHARACTERS_MAX else None


def _blank(text: str) -> list[str]:
    return [letter if letter == "\n" else " " for letter in text]


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])
