"""Script: a text, its syntax tree and the place of every node.

What the grammar would misread is masked by text of the same length before it parses: placeholders, some backslashes.
"""

from __future__ import annotations

import bisect
import functools
import re
from typing import NamedTuple

import tree_sitter
import tree_sitter_bash

_PLACEHOLDER = (
    r"\$\{[A-Za-z_]\w{0,80}(?:\.\w{1,80}){1,8}\}"
    r"|\{\{[^{}\n]{0,300}\}\}|\{%[^{}\n]{0,300}%\}"
    r"|(?<![<\w])<[A-Za-z][\w.:/|-]*(?: [\w.:/|-]+){0,8}>"
)
_ESCAPED_BLANK = r"(?<!\\)((?:\\\\)*)\\[ \t\v\f]"
"""The grammar skips an escaped blank as if it were space; dots it reads, anywhere in a word."""
_HEREDOC_BACKSLASH = r"(?<!<)(<<-?[ \t]*[\"'\\]?[A-Za-z_][^\n<]{0,80}\n)\\(?!\n)"
"""A here-document that starts with a backslash is to the grammar one more word of the command."""


class Script(NamedTuple):
    """A parsed script; `offsets` leads from UTF-8 bytes to characters where the two differ."""

    text: str
    tree: tree_sitter.Node
    masks: list[tuple[int, int]]
    offsets: list[int] | None

    def span(self, node: tree_sitter.Node) -> tuple[int, int]:
        if self.offsets is None:
            return node.start_byte, node.end_byte
        return self.offsets[node.start_byte], self.offsets[node.end_byte]

    def source(self, node: tree_sitter.Node) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def is_masked(self, start: int, end: int) -> bool:
        at = bisect.bisect_left(self.masks, end, key=lambda mask: mask[0])
        return at > 0 and self.masks[at - 1][1] > start


def parse(text: str) -> Script:
    masks = [match.span() for match in re.finditer(_PLACEHOLDER, text)]
    masked = _masked(text)
    offsets = None if masked.isascii() else _character_offsets(masked)
    return Script(text, _parser().parse(masked.encode()).root_node, masks, offsets)


def _masked(text: str) -> str:
    text = re.sub(_PLACEHOLDER, lambda match: "x" * len(match[0]), text)
    text = re.sub(_HEREDOC_BACKSLASH, r"\1.", text)
    return re.sub(_ESCAPED_BLANK, r"\1..", text)


@functools.cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _character_offsets(text: str) -> list[int]:
    """Byte offset in UTF-8 → character offset."""
    offsets = [index for index, character in enumerate(text) for _ in character.encode()]
    return [*offsets, len(text)]
