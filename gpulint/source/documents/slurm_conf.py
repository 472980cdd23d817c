"""Slurm's settings: the lines of slurm.conf and gres.conf as mappings in a list, each value at its place.

slurm.conf(5) of Slurm 23.02: one line, which a backslash continues, states `Name=value` pairs; names are in either case,
what follows a `#` is a comment. Names are kept in small letters.
"""

from __future__ import annotations

import re

from gpulint.source.documents.nodes import NODES_MAX, LimitError, Node, Parsed

WORD = "tag:yaml.org,2002:str"

_LINE = re.compile(r"(?:[^\\\n]|\\\r?\n|\\)+")
_PAIR = re.compile(r"(?<!\w)(?P<name>[A-Za-z]\w*+)=(?:\"(?P<quoted>[^\"\n]*)\"|(?P<plain>[^\s#\\]*))|(?P<comment>#)")


def read(text: str) -> Parsed | None:
    """The document of a text; None where it states nothing."""
    root = Node("sequence", 0, len(text.rstrip()), [])
    made = 0
    for line in _LINE.finditer(text):
        pairs = []
        for match in _PAIR.finditer(text, line.start(), line.end()):
            if match["comment"]:
                break
            pairs.append(_pair(match))
        made += len(pairs)
        if made > NODES_MAX:
            raise LimitError(f"more than {NODES_MAX:,} values", line.start())
        if pairs:
            root.value.append(Node("mapping", pairs[0][0].start, pairs[-1][1].end, pairs))
    return Parsed(root, ..., ()) if root.value else None


def _pair(match: re.Match[str]) -> tuple[Node, Node]:
    name = Node("scalar", match.start("name"), match.end("name"), match["name"].lower(), "'")
    if match["quoted"] is not None:
        return name, Node("scalar", match.start("quoted") - 1, match.end("quoted") + 1, match["quoted"], '"')
    start, end = match.span("plain")
    return name, Node("scalar", start, end, match["plain"], tag=WORD)
