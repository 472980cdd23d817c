"""Expansion: the words that a node of the syntax tree becomes once quotes are removed and known variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import tree_sitter

from gpulint.source import excess
from gpulint.source.shell import parameters, quoting, substitution
from gpulint.source.shell.budget import Budget
from gpulint.source.shell.command import Piece, Span, Word, locate
from gpulint.source.shell.script import Script
from gpulint.source.shell.variables import Variables, list_exported

ARITHMETIC_CHARACTERS_MAX = 1_000
DEPTH_MAX = 30
LONG_EXPRESSION = "an arithmetic expression of a script has more than {} characters"

_KUBERNETES = re.compile(r"\$\(([A-Za-z_.-][\w.-]*)\)")
_BRACES = re.compile(r"\{(?=[^{}\s]*?(?:,|\.\.))[^{}\s]*+\}")
_UNQUOTED = frozenset({"expansion", "simple_expansion"})
"""Nodes that leave no word where they are empty, as `${EXTRA:-}`."""
_EVERY = re.compile(r"\"?\$(?:([@*])|\{([@*]|\w+\[[@*]\])(?::(-?\d+)(?::(\d+))?)?\})\"?")
_EXPANDS = frozenset({"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"})
_PLAIN = frozenset({"word", "number", "string_content", "variable_name", "heredoc_content", "regex", "extglob_pattern"})


class Expansion:
    """Expands the words of one script; with `once`, by what the script sets at most once; `assigns` on a right side."""

    def __init__(self, script: Script, variables: Variables, budget: Budget) -> None:
        self.script = script
        self.variables = variables
        self.once = False
        self.assigns = False
        self._budget = budget
        self._depth = 0

    # ---- words

    def words(self, node: tree_sitter.Node) -> Iterator[Word]:
        """The words of a node, as a command is given them."""
        for word in self.expand(node):
            yield list_exported(word)

    def expand(self, node: tree_sitter.Node) -> Iterator[Word]:
        """The words of a node; the name of the script's own file is still a mark in them."""
        if (items := self._every(node)) is not None:
            for item in items:
                self._budget.spend(item.pieces)
            yield from items
            return
        pieces = list(self.pieces(node, quoted=False))
        if _BRACES.search(self._read_unquoted(node)):
            yield self._word([self._hole(node, "brace expansion")], *self.script.span(node))
        elif any(piece.splits and piece.text is not None for piece in pieces):
            yield from self._split_blanks(pieces, *self.script.span(node))
        elif node.type not in _UNQUOTED or any(piece.text != "" for piece in pieces):
            yield self._word(pieces, *self.script.span(node))

    def value(self, node: tree_sitter.Node) -> Word:
        """The right side of an assignment, which bash does not split."""
        self.assigns = True
        pieces = list(self.pieces(node, quoted=True))
        self.assigns = False
        return self._word(pieces, *self.script.span(node))

    def unknown(self, node: tree_sitter.Node, why: str) -> Word:
        return self._word([self._hole(node, why)], *self.script.span(node))

    def here(self, redirect: tree_sitter.Node) -> Word | None:
        """The text of a here-document or here-string."""
        if redirect.type == "herestring_redirect":
            return list_exported(self.value(redirect.named_children[-1])) if redirect.named_children else None
        parts = {child.type: child for child in redirect.children}
        body, mark = parts.get("heredoc_body"), parts.get("heredoc_start")
        if body is None or mark is None or redirect.has_error:
            return None
        start, end = self.script.span(body)
        quoted = any(quote in self.script.text_of(mark) for quote in "'\"\\")
        pieces = self.script.literal(start, end) if quoted else self._read_between(body, start, end, heredoc=True)
        if "<<-" in parts:
            pieces = _strip_tabs(pieces)
        return list_exported(self._word(list(pieces), start, end))

    def _every(self, node: tree_sitter.Node) -> tuple[Word, ...] | None:
        """The words of an array where the whole word is `"${NAME[@]}"`, or the arguments where it is `"$@"`."""
        match = _EVERY.fullmatch(self.script.text_of(node)) if node.type not in ("word", "raw_string") else None
        if match is None or (match[0].startswith('"') and "*" in match[0]):
            return None
        items = self.variables.array((match[1] or match[2]).partition("[")[0])
        if items is None:
            return None
        use = self.script.place(*self.script.span(node))
        placed = tuple(item if item.source == self.script.source else _move(item, use, self.script) for item in items)
        if match[3] is None:
            return placed
        first = max(int(match[3]) - (match[2] in ("@", "*")), 0)
        return placed[first : None if match[4] is None else first + int(match[4])] if int(match[3]) >= 0 else None

    def _word(self, pieces: Sequence[Piece], start: int, end: int) -> Word:
        self._budget.spend(pieces)
        return _join(pieces, self.script.place(start, end), self.script.raw(start, end), self.script.source)

    def _split_blanks(self, pieces: Sequence[Piece], start: int, end: int) -> Iterator[Word]:
        """The words after bash has split unquoted expansions at blanks; an empty one leaves no word."""
        tokens: list[list[Piece]] = [[]]
        for piece in pieces:
            if not piece.splits or piece.text is None:
                tokens[-1].append(piece)
                continue
            for match in re.finditer(r"\s+|\S+", piece.text):
                if not match[0].isspace():
                    tokens[-1].append(piece.part(*match.span()))
                elif tokens[-1]:
                    tokens.append([])
        tokens = [token for token in tokens if token]
        if len(tokens) == 1 and sum(piece.width for piece in tokens[0]) == sum(piece.width for piece in pieces):
            yield self._word(tokens[0], start, end)
            return
        for token in tokens:
            self._budget.spend(token)
            yield _join(token, locate(token), "".join(piece.text_or_raw for piece in token), self.script.source)

    def _read_unquoted(self, node: tree_sitter.Node) -> str:
        """The literal text outside quotes and expansions."""
        if node.type in ("word", "brace_expression"):
            return self.script.text_of(node)
        if node.type == "concatenation":
            return "".join(self._read_unquoted(child) or "''" for child in node.children)
        return "" if node.is_named else self.script.text_of(node)

    def _hole(self, node: tree_sitter.Node, why: str) -> Piece:
        span = self.script.span(node)
        return Piece(None, (self.script.place(*span),), why=why, raw=self.script.raw(*span))

    # ---- pieces of words

    def pieces(self, node: tree_sitter.Node, quoted: bool) -> Iterator[Piece]:
        start, end = self.script.span(node)
        if node.type == "concatenation":
            yield from self._read_between(node, start, end, quoted=quoted)
        elif node.type in ("string", "translated_string"):
            inside = start + 1 + (node.type == "translated_string")
            yield Piece("", (self.script.place(start, inside),))
            yield from self._read_between(node, inside, end - 1, quoted=True, in_string=True)
        elif node.type == "raw_string":
            yield Piece("", (self.script.place(start, start + 1),))
            yield from self.script.literal(start + 1, end - 1)
        elif node.type == "ansi_c_string":
            text = quoting.decode_ansi(self.script.text[start + 2 : end - 1])
            yield Piece(text, (self.script.place(start + 2, end - 1),), len(text) == end - start - 3)
        elif node.type in _PLAIN and not node.named_children:
            yield from self.literal(start, end, in_string=node.type == "string_content")
        elif node.type in _EXPANDS:
            yield from self._expansion(node, quoted)
        else:
            yield self._hole(node, _explain_run_time(self.script.raw(start, end)))

    def _read_between(
        self,
        node: tree_sitter.Node,
        start: int,
        end: int,
        quoted: bool = True,
        in_string: bool = False,
        heredoc: bool = False,
    ) -> Iterator[Piece]:
        """The parts of a string, concatenation or here-document, and the literal text that the grammar leaves between."""
        at = start
        for child in _parts(node):
            child_start, child_end = self.script.span(child)
            if heredoc and child.type not in _EXPANDS:
                continue
            yield from self.literal(at, child_start, in_string, heredoc)
            yield from self.pieces(child, quoted)
            at = child_end
        yield from self.literal(at, end, in_string, heredoc)

    def literal(
        self, start: int, end: int, in_string: bool, heredoc: bool = False, splits: bool = False
    ) -> Iterator[Piece]:
        """Text of the script, its escapes read; `splits` where bash splits it at blanks that are not escaped."""
        text = self.script.text[start:end]
        runs = quoting.split_runs(text, in_string, heredoc) if "\\" in text else ((text, 0, len(text)),)
        for run, run_start, run_end in runs:
            if len(run) == run_end - run_start:
                for piece in self.script.literal(start + run_start, start + run_end):
                    yield piece._replace(splits=True) if splits else piece
            else:
                yield Piece(run, (self.script.place(start + run_start, start + run_end),))

    # ---- what stands for something else

    def _expansion(self, node: tree_sitter.Node, quoted: bool) -> Iterator[Piece]:
        if excess.is_over(self._depth, DEPTH_MAX, "a script nests expansions deeper than {} levels"):
            yield self._hole(node, "nested too deeply")
            return
        self._depth += 1
        found = self._expand_node(node, quoted)
        self._depth -= 1
        if found is None:
            found = (self._hole(node, _explain_run_time(self.script.raw(*self.script.span(node)))),)
        yield from (piece._replace(splits=False) for piece in found) if quoted else found

    def _expand_node(self, node: tree_sitter.Node, quoted: bool) -> Sequence[Piece] | None:
        start, end = self.script.span(node)
        use = self.script.place(start, end)
        source = self.script.text[start:end]
        if node.type == "simple_expansion" or (node.type == "expansion" and not source.startswith("${")):
            return self.split(self.variable(source[1:], use))
        if node.type == "expansion":
            return parameters.expand(self, node, quoted)
        if node.type == "arithmetic_expansion":
            body = (start + 3, end - 2) if source.startswith("$((") else (start + 2, end - 1)
            return _make_piece(self.arithmetic(node, *body), use)
        match = _KUBERNETES.fullmatch(source)
        if match is not None and match[1] in self.variables.environment:
            text = self.variables.environment.get(match[1])
            why = f"the value of {match[1]} is not known"
            return self.split((Piece(text, (use,), why=why, raw=source),))
        printed = substitution.substitute(self, node)
        return None if printed is None else self.split(tuple(piece.add_use(use) for piece in printed))

    def variable(self, name: str, use: Span) -> tuple[Piece, ...]:
        if name in ("@", "*"):
            items = self.variables.array(name) if self.assigns or name == "*" else None
            return self.join(items, use) if items is not None else (_caller(name, use),)
        return self.variables.pieces(name, use, self.script.source, self.script.folder, self.once)

    def join(self, items: Sequence[Word], use: Span) -> tuple[Piece, ...]:
        """The items of an array in one text."""
        pieces: list[Piece] = []
        for item in items:
            pieces += [Piece(" ", (use,))] if pieces else []
            pieces += (piece.add_use(use) for piece in _move(item, use, self.script).parts())
        return tuple(pieces) or (Piece("", (use,)),)

    def split(self, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
        return tuple(piece._replace(splits=True) for piece in pieces)

    def arithmetic(self, node: tree_sitter.Node, start: int, end: int) -> int | None:
        """The number of an expression; what it sets is set."""
        from gpulint.source.shell import arithmetic

        expression = self._fill(node, start, end) if "$" in self.script.text[start:end] else self.script.text[start:end]
        if expression is None or excess.is_over(len(expression), ARITHMETIC_CHARACTERS_MAX, LONG_EXPRESSION):
            return None
        here = self.script.place(start, end)

        def assign(name: str, value: int) -> None:
            pieces = (Piece(str(value), (here,)),)
            self.variables.assign(name, Word(str(value), *here, str(value), pieces=pieces, source=self.script.source))

        return arithmetic.compute(expression, lambda name: self.variables.text(name, self.once), assign)

    def _fill(self, node: tree_sitter.Node, start: int, end: int) -> str | None:
        """An expression with its `$NAME` and the like filled in; None where one is no number."""
        parts, at = [], start
        for child in _find_outermost(node):
            child_start, child_end = self.script.span(child)
            text = _text(tuple(self.pieces(child, quoted=True)))
            if text is None or not re.fullmatch(r"\s*[-\w]+\s*", text):
                return None
            parts += [self.script.text[at:child_start], f"({text})" if text.startswith("-") else text]
            at = child_end
        return "".join((*parts, self.script.text[at:end]))


def _join(pieces: Sequence[Piece], where: Span, raw: str, source: str) -> Word:
    text = _text(pieces)
    if text is None:
        why = next((piece.why for piece in pieces if piece.text is None), "")
        return Word(None, *where, raw, why, tuple(pieces), source)
    return Word(text, *where, raw, "", () if text == raw and len(pieces) == 1 else tuple(pieces), source)


def _text(pieces: Sequence[Piece]) -> str | None:
    texts = [piece.text for piece in pieces]
    return None if None in texts else "".join(filter(None, texts))


def _make_piece(number: int | None, use: Span) -> tuple[Piece, ...] | None:
    return None if number is None else (Piece(str(number), (use,)),)


def _caller(name: str, use: Span) -> Piece:
    return Piece(None, (use,), why=f"the value of ${name} is not known", raw=f"${name}")


def _move(word: Word, use: Span, script: Script) -> Word:
    """A word of another file at the place of this one that brings it in."""
    if word.source == script.source:
        return word
    pieces = (piece.bring(word.source, use) for piece in word.parts())
    return Word(word.text, *use, word.raw, word.why, tuple(pieces), script.source)


def _strip_tabs(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The text of `<<-`: tabs before a line are gone."""
    fresh = True
    for piece in pieces:
        if piece.text is None:
            yield piece
            fresh = False
            continue
        for match in re.finditer(r"[^\n]*\n|[^\n]+", piece.text):
            tabs = len(match[0]) - len(match[0].lstrip("\t")) if fresh else 0
            yield piece.part(match.start() + tabs, match.end())
            fresh = match[0].endswith("\n")


def _explain_run_time(source: str) -> str:
    return f"`{source[:40]}` is known only when it runs"


def _parts(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The named parts of a string or concatenation; a translated string holds a plain one."""
    for child in node.named_children:
        if node.type == "translated_string" and child.type == "string":
            yield from child.named_children
        else:
            yield child


def _find_outermost(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The expansions below a node, in order, none within another."""
    for child in node.named_children:
        if child.type in _EXPANDS:
            yield child
        else:
            yield from _find_outermost(child)
