"""Evaluate tests whose operands are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import tree_sitter

from gpulint.source import excess
from gpulint.source.shell import patterns
from gpulint.source.shell.command import Piece
from gpulint.source.shell.interfaces import Expander

TOKENS_MAX = 200

_GROUPS = frozenset({"binary_expression", "unary_expression", "parenthesized_expression", "negated_command"})
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}
_TEXTS = frozenset({"=", "==", "!="})
_FILES = frozenset({"-f", "-e", "-s", "-r"})
_UNARY = re.compile(r"-[a-zA-Z]")
_NAME = re.compile(r"\$\{?#?(\w+)")
_BARE = re.compile(r"\"?\$(?:(\w+|#)|\{(\w+)(?:\[[@*0]\])?\}|\{(\w+):?-\})\"?")
_OF_THE_HOST = re.compile(
    r"(?:SLURM|PMI|OMPI|PBS|LSB|SGE|SKYPILOT|DSTACK|KUBERNETES|MPI|CONDA|CUDA|ROCR|HIP|LD|XDG|SSH|TMUX)_\w+"
    r"|HOME|USER|PATH|PWD|SHELL|TERM|HOSTNAME|LANG|DISPLAY|TMPDIR|PYTHONPATH|VIRTUAL_ENV|CI|RANK|LOCAL_RANK|WORLD_SIZE|NODE_RANK"
)
"""Variables that the machine, login or scheduler sets. They must not be presumed unset."""


class Verdict(NamedTuple):
    """The result of a test. It is presumed if it assumes that the caller sets no variable."""

    holds: bool
    presumed: bool = False

    def __bool__(self) -> bool:
        raise TypeError("ask for holds")


class _Operand(NamedTuple):
    text: str | None
    pattern: str | None
    presumed: bool = False


def decide(node: tree_sitter.Node, expansion: Expander, exists: Callable[[str], bool]) -> Verdict | None:
    """Return the result of a condition, or None if it is known only at run time."""
    if node.has_error:
        return None
    if node.type == "test_command":
        if expansion.script.text_of(node).startswith("(("):
            return _arithmetic(node, expansion)
        return _Test(tuple(_tokens(node)), expansion, exists).verdict()
    if node.type == "compound_statement" and expansion.script.text_of(node).startswith("(("):
        return _arithmetic(node, expansion)
    if node.type == "negated_command" and len(node.named_children) == 1:
        return _negate(decide(node.named_children[0], expansion, exists))
    if node.type == "list" and len(node.named_children) == 2:
        left, right = (decide(child, expansion, exists) for child in node.named_children)
        return _and(left, right) if any(child.type == "&&" for child in node.children) else _or(left, right)
    if node.type == "command" and len(node.children) == 1:
        return {"true": Verdict(True), ":": Verdict(True), "false": Verdict(False)}.get(expansion.script.text_of(node))
    return None


def choose_case(node: tree_sitter.Node, subject: str, expansion: Expander) -> bool | None:
    """Whether an item of a `case` is the one for a subject."""
    verdicts = [_matches(child, subject, expansion) for child in _alternatives(node)]
    return True if True in verdicts else None if None in verdicts or not verdicts else False


def _alternatives(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    for child in node.children:
        if child.type == ")":
            return
        if child.is_named:
            yield child


def _matches(node: tree_sitter.Node, subject: str, expansion: Expander) -> bool | None:
    pattern = _operand([node], expansion).pattern
    return None if pattern is None else patterns.is_match(pattern, subject)


def _arithmetic(node: tree_sitter.Node, expansion: Expander) -> Verdict | None:
    start, end = expansion.script.span(node)
    if re.search(r"(?<![=!<>])=(?!=)|\+\+|--", expansion.script.text[start:end]):
        return None
    number = expansion.arithmetic(node, start + 2, end - 2)
    return None if number is None else Verdict(number != 0)


def _tokens(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The operators and operands of a test, in order."""
    for child in node.children:
        if child.type in _GROUPS:
            yield from _tokens(child)
        elif child.type not in ("[", "]", "[[", "]]"):
            yield child


class _Test:
    """Reads the tokens of a test as `[` and `[[` do."""

    def __init__(self, tokens: Sequence[tree_sitter.Node], expansion: Expander, exists: Callable[[str], bool]) -> None:
        self._tokens = tokens
        self._expansion = expansion
        self._exists = exists
        self._at = 0

    def verdict(self) -> Verdict | None:
        if excess.is_over(len(self._tokens), TOKENS_MAX, "a condition of a script has more than {} words"):
            return None
        if not self._tokens:
            return None
        verdict = self._any()
        return verdict if self._at == len(self._tokens) else None

    def _operator(self) -> str:
        """The operator at hand; nothing where there is an operand."""
        if self._at >= len(self._tokens):
            return ""
        node = self._tokens[self._at]
        return self._expansion.script.text_of(node) if node.type == "test_operator" or not node.is_named else ""

    def _accept(self, *operators: str) -> bool:
        found = self._operator() in operators
        self._at += found
        return found

    def _any(self) -> Verdict | None:
        verdict = self._all()
        while self._accept("||", "-o"):
            verdict = _or(verdict, self._all())
        return verdict

    def _all(self) -> Verdict | None:
        verdict = self._one()
        while self._accept("&&", "-a"):
            verdict = _and(verdict, self._one())
        return verdict

    def _one(self) -> Verdict | None:
        if self._accept("!"):
            return _negate(self._one())
        if self._accept("("):
            verdict = self._any()
            return verdict if self._accept(")") else None
        operator = self._operator()
        if _UNARY.fullmatch(operator):
            self._at += 1
            return self._test_unary(operator, self._side())
        left = self._side()
        operator = self._operator()
        if operator in _NUMBERS or operator in _TEXTS or operator in ("=~", "<", ">", "-nt", "-ot", "-ef"):
            self._at += 1
            return self._test_binary(left, operator, self._side())
        return self._test_unary("-n", left)

    def _side(self) -> _Operand:
        """An operand: what stands together without blanks."""
        nodes: list[tree_sitter.Node] = []
        while self._at < len(self._tokens) and not self._operator():
            node = self._tokens[self._at]
            if nodes and nodes[-1].end_byte != node.start_byte:
                break
            nodes.append(node)
            self._at += 1
        return _operand(nodes, self._expansion)

    def _test_unary(self, operator: str, operand: _Operand) -> Verdict | None:
        if operand.text is None:
            return None
        if operator in ("-n", "-z"):
            return Verdict((operand.text != "") == (operator == "-n"), operand.presumed)
        if operator in _FILES and self._exists(operand.text):
            return Verdict(True, operand.presumed)
        return None

    def _test_binary(self, left: _Operand, operator: str, right: _Operand) -> Verdict | None:
        presumed = left.presumed or right.presumed
        if left.text is None:
            return None
        if operator in _TEXTS:
            same = None if right.pattern is None else patterns.is_match(right.pattern, left.text)
            return None if same is None else Verdict(same == (operator != "!="), presumed)
        numbers = [int(text) for text in (left.text, right.text) if text and re.fullmatch(r"\s*-?\d{1,18}\s*", text)]
        if operator not in _NUMBERS or len(numbers) != 2:
            return None
        return Verdict(_NUMBERS[operator](*numbers), presumed)


def _operand(nodes: Sequence[tree_sitter.Node], expansion: Expander) -> _Operand:
    if not nodes:
        return _Operand(None, None)
    source = "".join(expansion.script.text_of(node) for node in nodes)
    bare = _BARE.fullmatch(source)
    if bare is not None and _is_left_open(bare[1] or bare[2] or bare[3], expansion):
        text = "0" if bare[1] == "#" else ""
        return _Operand(text, re.escape(text), presumed=True)
    pieces: list[Piece] = []
    pattern: str | None = ""
    for node in nodes:
        found = list(expansion.pieces(node, quoted=True))
        pieces += found
        one = _pattern(node, found)
        pattern = None if pattern is None or one is None else pattern + one
    if any(piece.text is None for piece in pieces):
        return _Operand(None, None)
    presumed = any(piece.default for piece in pieces) or any(
        _is_open(name, expansion) for name in _NAME.findall(source)
    )
    return _Operand("".join(piece.text or "" for piece in pieces), pattern, presumed)


def _pattern(node: tree_sitter.Node, pieces: Sequence[Piece]) -> str | None:
    """The regular expression of a part of a pattern; what is quoted stands for itself."""
    if any(piece.text is None for piece in pieces):
        return None
    text = "".join(piece.text or "" for piece in pieces)
    literal = node.type in ("string", "raw_string", "ansi_c_string", "number")
    return re.escape(text) if literal or not re.search(r"[*?\[]", text) else patterns.compile(text)


def _is_open(name: str, expansion: Expander) -> bool:
    return not expansion.variables.is_set(name, expansion.once)


def _is_left_open(name: str, expansion: Expander) -> bool:
    """Whether only the caller could have set a name, so that it is empty unless one did."""
    return _is_open(name, expansion) and not _OF_THE_HOST.fullmatch(name)


def _negate(verdict: Verdict | None) -> Verdict | None:
    return None if verdict is None else verdict._replace(holds=not verdict.holds)


def _and(left: Verdict | None, right: Verdict | None) -> Verdict | None:
    for one in (left, right):
        if one is not None and not one.holds:
            return one
    return None if left is None or right is None else Verdict(True, left.presumed or right.presumed)


def _or(left: Verdict | None, right: Verdict | None) -> Verdict | None:
    for one in (left, right):
        if one is not None and one.holds:
            return one
    return None if left is None or right is None else Verdict(False, left.presumed or right.presumed)
