"""Script: a text, its syntax tree and the place of every node.

What the grammar would misread is masked by text of the same length before it parses: placeholders, some backslashes.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import tree_sitter
import tree_sitter_bash

from gpulint.source.shell.command import HOLE, Piece, Span, Word, slice_pieces

_PLACEHOLDER = (
    r"\$\{[A-Za-z_]\w{0,80}(?:\.\w{1,80}){1,8}\}"
    r"|(?<![$\w{])\{[A-Z][A-Z0-9_]{1,80}\}(?!\})"
    r"|\{\{[^{}\n]{0,300}\}\}|\{%[^{}\n]{0,300}%\}"
    r"|(?<![<\w])<[A-Za-z][\w.:/|-]*(?:,? \(?[\w.,:/|-]+\)?){0,12}(?<! \d)>(?: \(e\.g\.[^()\n]{0,80}\))?"
)
_ESCAPED_BLANK = r"(?<!\\)((?:\\\\)*)\\[ \t\v\f]"
"""The grammar skips an escaped blank as if it were space; dots it reads, anywhere in a word."""
_HEREDOC_BACKSLASH = r"(?<!<)(<<-?[ \t]*[\"'\\]?[A-Za-z_][^\n<]{0,80}\n)\\(?!\n)"
"""A here-document that starts with a backslash is to the grammar one more word of the command."""

_ALTERNATIVE = re.compile(
    r"(\$\{\w+(?:\[[^]\n]{0,80}\])?:?[-+=?])((?:[^{}\"'`\n$\\]|\$\w|\$\{[^{}\"'`\n]{0,80}\}){1,300}\})"
)
_OPERATORS = re.compile(r"[()|;&<>]")
"""In the word behind `:-` and its like they are text, which the grammar does not know."""
_LAST_BACKSLASH = re.compile(r"(?<!\\)\\((?:\r?\n\s*)?)\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKS_A_WORD = re.compile(r"(?<=[^\s\"'\\({$;|&<>`!#])\$([A-Za-z_]\w*|\d)(?=[^\s\"'\w;|&)<>`}\\\[])")
"""A second name within a word: to the grammar the dollar ends the word. With braces it is one."""
_EXPANSIONS = frozenset({"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"})
_BLANKS = frozenset({" ", "\t", "\n", "\r", "\\"})
FILES_KEPT_MAX = 64
_EXPANDED = re.compile(r"[$`]|\Z")


class Script(NamedTuple):
    """A parsed script; `offsets` leads from the bytes that were parsed to characters where the two differ.

    `origin` is the word that the script was given in (`bash -c WORD`): places are then those of the word's parts.
    `folder` is where its file lies, from the folder of the first script; `source` its path as it is shown.
    """

    text: str
    tree: tree_sitter.Node
    masks: list[Span]
    offsets: list[int] | None
    origin: Word | None = None
    folder: str = "."
    source: str = ""

    def span(self, node: tree_sitter.Node) -> Span:
        start, end = node.start_byte, node.end_byte
        if self.offsets is not None:
            start, end = self.offsets[start], self.offsets[end]
        if self.text[start : start + 1] in _BLANKS and node.type in _EXPANSIONS:
            found = _EXPANDED.search(self.text, start, end)  # the grammar counts blanks in a string to what follows
            start = found.start() if found is not None else start
        return start, end

    def text_of(self, node: tree_sitter.Node) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def place(self, start: int, end: int) -> Span:
        """Where a part of the text is written."""
        return (start, end) if self.origin is None else self.origin.locate_part(start, end)

    def raw(self, start: int, end: int) -> str:
        """A part of the text as the author wrote it."""
        if self.origin is None or HOLE not in self.text:
            return self.text[start:end]
        return "".join(piece.text_or_raw for piece in slice_pieces(self.origin.parts(), start, end))

    def literal(self, start: int, end: int) -> Iterator[Piece]:
        """A part of the text as pieces; what is masked is a hole."""
        for mask_start, mask_end in self._find_masks(start, end):
            if start < mask_start:
                yield self._piece(start, mask_start)
            raw = self.raw(mask_start, mask_end)
            yield Piece(None, (self.place(mask_start, mask_end),), why=self._why(mask_start, mask_end), raw=raw)
            start = mask_end
        if start < end:
            yield self._piece(start, end)

    def _piece(self, start: int, end: int) -> Piece:
        text = self.text[start:end]
        if self.origin is None:
            return Piece(text, ((start, end),), True)
        place = self.origin.locate_part(start, end)
        return Piece(text, (place,), place[1] - place[0] == end - start)

    def _why(self, start: int, end: int) -> str:
        return (self.origin.why_of(start, end) if self.origin is not None else "") or "a placeholder"

    def _find_masks(self, start: int, end: int) -> Iterator[Span]:
        """The masks within a part of the text, cut to it."""
        if not self.masks:
            return
        at = bisect.bisect_right(self.masks, start, key=lambda mask: mask[1])
        while at < len(self.masks) and self.masks[at][0] < end:
            yield max(self.masks[at][0], start), min(self.masks[at][1], end)
            at += 1


@functools.lru_cache(maxsize=FILES_KEPT_MAX)
def parse_file(text: str, source: str, folder: str) -> Script:
    """Parse a file that several scripts may source; it is parsed once."""
    return parse(text, source, folder)


def parse(text: str, source: str = "", folder: str = ".", origin: Word | None = None) -> Script:
    pattern = _PLACEHOLDER if HOLE not in text else f"{_PLACEHOLDER}|{HOLE}"
    masks = [match.span() for match in re.finditer(pattern, text)]
    masked = _mask(text, pattern) if masks or "\\" in text or "${" in text else text
    masked = masked if masked.isascii() else _SURROGATE.sub("x", masked)
    braced, offsets = _add_braces(masked)
    return Script(text, _parser().parse(braced.encode()).root_node, masks, offsets, origin, folder, source)


def _mask(text: str, placeholder: str) -> str:
    text = re.sub(placeholder, lambda match: "x" * len(match[0]), text)
    if "${" in text:
        text = _ALTERNATIVE.sub(lambda match: match[1] + _OPERATORS.sub(".", match[2]), text)
    text = _LAST_BACKSLASH.sub(lambda match: " " + match[1], text)
    text = re.sub(_HEREDOC_BACKSLASH, r"\1.", text)
    return re.sub(_ESCAPED_BLANK, r"\1..", text)


@functools.cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _add_braces(text: str) -> tuple[str, list[int] | None]:
    """The text with braces around names that the grammar would break a word at, and what leads back to the text."""
    names = [match.span(1) for match in _BREAKS_A_WORD.finditer(text)]
    if not names:
        return text, None if text.isascii() else _offsets(text, range(len(text)))
    parts, places, at = [], [], 0
    for start, end in names:
        parts += [text[at:start], "{", text[start:end], "}"]
        places += [*range(at, start), start, *range(start, end), end]
        at = end
    braced = "".join((*parts, text[at:]))
    return braced, [*_offsets(braced, [*places, *range(at, len(text))])[:-1], len(text)]


def _offsets(text: str, places: Sequence[int]) -> list[int]:
    """Byte offset in UTF-8 → place of the character."""
    if text.isascii():
        return [*places, places[-1] + 1]
    offsets: list[int] = []
    for place, character in zip(places, text, strict=True):
        offsets += [place] * len(character.encode())
    return [*offsets, places[-1] + 1]
