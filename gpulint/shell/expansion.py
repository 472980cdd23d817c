"""Expansion: the words that a node of the syntax tree becomes once quotes are removed and known variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import tree_sitter

from gpulint.shell import quoting
from gpulint.shell.command import Word
from gpulint.shell.script import Script
from gpulint.shell.variables import Variables

ARITHMETIC_CHARACTERS_MAX = 200
WORDS_MAX = 20_000
CHARACTERS_MAX = 4_000_000

_KUBERNETES = r"\$\(([A-Za-z_.-][\w.-]*)\)"
_QUOTED_DEFAULT = r"(?s)\$\{(\w+):?[-=].*[\"'\\].*"
_BRACES = r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}"
_ARITHMETIC_NAME = r"\$\{(\w+)\}|\$?\b([A-Za-z_]\w*)\b"


class TooMuch(Exception):
    """The script expands to more than is worth reading."""


class _Piece(NamedTuple):
    """A part of a word: its text, and whether bash splits it at blanks."""

    text: str | None
    start: int
    end: int
    splits: bool = False
    why: str = ""


class Expansion:
    """Expands the words of one script, within one bound for all of them."""

    def __init__(self, script: Script, variables: Variables) -> None:
        self._script = script
        self._variables = variables
        self._words = 0
        self._characters = 0

    # ---- words

    def words(self, node: tree_sitter.Node, in_function: bool) -> Iterator[Word]:
        start, end = self._script.span(node)
        if (items := self._array(node)) is not None:
            self._spend(sum(len(item.raw) for item in items))
            self._words += len(items)
            yield from items
            return
        pieces = list(self._pieces(node, in_function, quoted=False))
        if re.search(_BRACES, self._unquoted(node)):
            yield Word(None, start, end, self._script.text[start:end], "brace expansion")
        elif any(piece.splits and piece.text is not None for piece in pieces):
            yield from self._parted(pieces, start, end)
        else:
            yield self._joined(pieces, start, end)

    def value(self, node: tree_sitter.Node, in_function: bool) -> Word:
        """The right side of an assignment, which bash does not split."""
        return self._joined(list(self._pieces(node, in_function, quoted=True)), *self._script.span(node))

    def _array(self, node: tree_sitter.Node) -> tuple[Word, ...] | None:
        """The words of an array where the whole word is `"${NAME[@]}"`."""
        match = re.fullmatch(r"\"?\$\{(\w+)\[[@*]\]\}\"?", self._script.source(node))
        return self._variables.array(match[1]) if match else None

    def _joined(self, pieces: Sequence[_Piece], start: int, end: int) -> Word:
        self._spend(sum(len(piece.text or "") for piece in pieces))
        raw = self._script.text[start:end]
        unknown = next((piece for piece in pieces if piece.text is None), None)
        if unknown is not None:
            return Word(None, start, end, raw, unknown.why)
        return Word("".join(piece.text or "" for piece in pieces), start, end, raw)

    def _spend(self, characters: int) -> None:
        self._words += 1
        self._characters += characters
        if self._words > WORDS_MAX or self._characters > CHARACTERS_MAX:
            raise TooMuch

    def _parted(self, pieces: Sequence[_Piece], start: int, end: int) -> Iterator[Word]:
        """The words after bash has split unquoted expansions at blanks; an empty one leaves no word."""
        current: list[_Piece] = []
        for piece in pieces:
            if not piece.splits or piece.text is None:
                current.append(piece)
                continue
            for token in re.findall(r"\s+|\S+", piece.text):
                if not token.isspace():
                    current.append(piece._replace(text=token))
                elif current:
                    yield self._joined(current, current[0].start, current[-1].end)
                    current = []
        if current:
            whole = len(current) == len(pieces)
            yield self._joined(current, start if whole else current[0].start, end if whole else current[-1].end)

    def _unquoted(self, node: tree_sitter.Node) -> str:
        """The literal text outside quotes and expansions."""
        if node.type in ("word", "brace_expression"):
            return self._script.source(node)
        if node.type == "concatenation":
            return "".join(self._unquoted(child) or "''" for child in node.children)
        return "" if node.is_named else self._script.source(node)

    # ---- pieces of words

    def _pieces(self, node: tree_sitter.Node, in_function: bool, quoted: bool) -> Iterator[_Piece]:
        text = self._script.text
        start, end = self._script.span(node)
        if self._script.is_masked(start, end) and node.type != "concatenation":
            yield _Piece(None, start, end, why="a placeholder")
        elif node.type in ("concatenation", "string", "translated_string"):
            yield from self._filled(node, in_function, quoted or node.type != "concatenation")
        elif node.type == "raw_string":
            yield _Piece(text[start + 1 : end - 1], start, end)
        elif node.type == "ansi_c_string":
            yield _Piece(quoting.ansi(text[start + 2 : end - 1]), start, end)
        elif node.type in ("word", "number", "string_content", "variable_name") and not node.named_children:
            yield _Piece(quoting.unescaped(text[start:end], node.type == "string_content"), start, end)
        else:
            yield self._expanded(node, in_function, quoted)

    def _filled(self, node: tree_sitter.Node, in_function: bool, quoted: bool) -> Iterator[_Piece]:
        """The parts of a string or concatenation, and the literal text that the grammar leaves between them."""
        start, end = self._script.span(node)
        in_string = node.type != "concatenation"
        at = start + (1 if in_string else 0) + (node.type == "translated_string")
        if in_string:
            yield _Piece("", start, at)
        for child in _parts(node):
            child_start, child_end = self._script.span(child)
            yield from self._literal(at, child_start, in_string)
            yield from self._pieces(child, in_function, quoted)
            at = child_end
        yield from self._literal(at, end - (1 if in_string else 0), in_string)

    def _literal(self, start: int, end: int, in_string: bool) -> Iterator[_Piece]:
        if start >= end:
            return
        if self._script.is_masked(start, end):
            yield _Piece(None, start, end, why="a placeholder")
        else:
            yield _Piece(quoting.unescaped(self._script.text[start:end], in_string), start, end)

    # ---- what stands for something else

    def _expanded(self, node: tree_sitter.Node, in_function: bool, quoted: bool) -> _Piece:
        start, end = self._script.span(node)
        source = self._script.text[start:end]
        if node.type == "simple_expansion":
            value, why = self._variables.value(source[1:], in_function)
        elif node.type == "expansion":
            value, why = self._parameter(node, in_function)
            quoted = quoted or (value is not None and self._is_quoted_default(source, in_function))
        elif node.type == "arithmetic_expansion":
            value, why = self._arithmetic(source, in_function)
        elif node.type == "command_substitution" and (match := re.fullmatch(_KUBERNETES, source)):
            value, why = self._variables.environment.get(match[1]), f"the value of {match[1]} is not known"
        else:
            value, why = None, _known_when_run(source)
        return _Piece(value, start, end, splits=not quoted, why=why)

    def _is_quoted_default(self, source: str, in_function: bool) -> bool:
        """Whether it is the default that counts, and quotes keep it whole."""
        match = re.fullmatch(_QUOTED_DEFAULT, source)
        return match is not None and not self._variables.value(match[1], in_function)[0]

    def _parameter(self, node: tree_sitter.Node, in_function: bool) -> tuple[str | None, str]:
        """`${NAME}`, `${NAME:-default}` and their relatives; anything else is unknown."""
        source = self._script.source(node)
        match = re.match(r"\$\{(\w+)(:?[-=?]|\}$)", source)
        if match is None:
            return None, _known_when_run(source)
        name, operator = match.groups()
        value, why = self._variables.value(name, in_function)
        if operator[-1] not in "-=" or value or (value == "" and ":" not in operator):
            return value, why
        if value is None and self._variables.is_set(name):
            return None, why
        return self._default(node, in_function, len(match[0]))

    def _default(self, node: tree_sitter.Node, in_function: bool, skip: int) -> tuple[str | None, str]:
        start, end = self._script.span(node)
        at, pieces = start + skip, []
        for child in (part for part in node.named_children if self._script.span(part)[0] >= start + skip):
            child_start, child_end = self._script.span(child)
            pieces += [*self._literal(at, child_start, False), *self._pieces(child, in_function, True)]
            at = child_end
        word = self._joined([*pieces, *self._literal(at, end - 1, False)], start, end)
        return word.text, word.why

    def _arithmetic(self, source: str, in_function: bool) -> tuple[str | None, str]:
        body = source[3:-2] if source.startswith("$((") else source[2:-1]
        values = {
            match[0]: self._variables.value(match[1] or match[2], in_function)[0]
            for match in re.finditer(_ARITHMETIC_NAME, body)
        }
        whole = all(re.fullmatch("-?[0-9]{1,18}", value or "") for value in values.values())
        if len(body) > ARITHMETIC_CHARACTERS_MAX or not whole:
            return None, _known_when_run(source)
        from gpulint.shell import arithmetic

        number = arithmetic.computed(re.sub(_ARITHMETIC_NAME, lambda match: f"({values[match[0]]})", body))
        return (None if number is None else str(number)), _known_when_run(source)


def _known_when_run(source: str) -> str:
    return f"`{source[:40]}` is known only when it runs"


def _parts(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The named parts of a string or concatenation; a translated string holds a plain one."""
    for child in node.named_children:
        if node.type == "translated_string" and child.type == "string":
            yield from child.named_children
        else:
            yield child
