"""Syntax of templates: the text of a file as literals, actions and blocks, as Go's text/template parses it.

https://pkg.go.dev/text/template describes the language. Whatever is outside of it is a `SyntaxProblem`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

NESTED_MAX = 60
TOKENS_MAX = 20_000
SPACE = " \t\r\n"
COMMENT = re.compile(r"\s*+/\*.*?\*/\s*+(-?)\}\}", re.DOTALL)
TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<text>"(?:\\.|[^"\\\n])*"|`[^`]*`)|(?P<char>'(?:\\.|[^'\\\n])')"""
    r"""|(?P<number>[-+]?(?:0[xX][0-9a-fA-F_]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?))"""
    r"""|(?P<variable>\$\w*)|(?P<field>\.\w+)|(?P<dot>\.)|(?P<name>[^\W\d]\w*)|(?P<sign>:=|[=|(),])"""
)
BLOCKS = frozenset({"if", "with", "range", "define", "block"})


class SyntaxProblem(Exception):
    """A text that text/template would not parse, or that nests too deep."""


class Token(NamedTuple):
    """A token of an action; `joined` says that no space precedes it."""

    kind: str
    text: str
    joined: bool


# ---- expressions


class Literal(NamedTuple):
    """A constant."""

    data: str | int | float | bool | None


class Field(NamedTuple):
    """The dot, a variable, a function or an expression in parentheses, and the fields below it."""

    base: object
    names: tuple[str, ...]


class Variable(NamedTuple):
    """A variable, with its `$`."""

    name: str


class Function(NamedTuple):
    """A function by its name."""

    name: str


class Dot(NamedTuple):
    """The current value."""


class Command(NamedTuple):
    """Operands: a function or a field with its arguments."""

    operands: tuple[object, ...]


class Pipeline(NamedTuple):
    """Commands, of which each passes its result on, and the variables that are set to the last one's."""

    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    declares: bool = False


# ---- nodes


class Text(NamedTuple):
    """Literal text and its offset in the file."""

    text: str
    start: int


class Output(NamedTuple):
    """An action that prints the result of a pipeline."""

    pipeline: Pipeline
    start: int
    end: int


class Call(NamedTuple):
    """`template`: another template's output."""

    name: str
    pipeline: Pipeline | None
    start: int
    end: int


class Branch(NamedTuple):
    """`if`, `with` or `range`, and what is written otherwise."""

    kind: str
    pipeline: Pipeline
    body: tuple[object, ...]
    otherwise: tuple[object, ...]
    start: int
    end: int


class Jump(NamedTuple):
    """`break` or `continue`."""

    kind: str


class Template(NamedTuple):
    """The nodes of a file, and the templates that it defines."""

    nodes: tuple[object, ...]
    defined: dict[str, tuple[object, ...]]


def parse(text: str) -> Template:
    """Return the template that a text is; raise SyntaxProblem if it is none."""
    reader = _Reader(text)
    nodes, _ = reader.read_nodes(0)
    return Template(nodes, reader.defined)


class _Action(NamedTuple):
    tokens: list[Token]
    start: int
    end: int


class _Reader:
    def __init__(self, text: str) -> None:
        self.defined: dict[str, tuple[object, ...]] = {}
        self._parts = _split(text)
        self._nested = 0

    def read_nodes(self, depth: int, inside: str = "") -> tuple[tuple[object, ...], _Action | None]:
        """Return nodes up to the action that ends them (`end` or `else`), and that action."""
        if depth > NESTED_MAX:
            raise SyntaxProblem("blocks nest too deep")
        nodes: list[object] = []
        for part in self._parts:
            if isinstance(part, Text):
                nodes.append(part)
                continue
            word = part.tokens[0].text if part.tokens and part.tokens[0].kind == "name" else ""
            if word in ("end", "else"):
                if not inside:
                    raise SyntaxProblem(f"{word} without a block")
                return tuple(nodes), part
            nodes += self._read_action(word, part, depth)
        if inside:
            raise SyntaxProblem(f"{inside} without end")
        return tuple(nodes), None

    def _read_action(self, word: str, action: _Action, depth: int) -> Iterator[object]:
        if not action.tokens:
            return
        if word in ("if", "with", "range"):
            yield self._read_branch(word, action.tokens[1:], action, depth)
        elif word in ("define", "block"):
            name = _read_name(action.tokens)
            body, closing = self.read_nodes(depth + 1, word)
            if closing is None or closing.tokens[0].text != "end":
                raise SyntaxProblem(f"{word} without end")
            self.defined[name] = body
            if word == "block":
                yield Call(name, _read_pipeline(action.tokens[2:]), action.start, closing.end)
        elif word == "template":
            rest = action.tokens[2:]
            yield Call(_read_name(action.tokens), _read_pipeline(rest) if rest else None, action.start, action.end)
        elif word in ("break", "continue"):
            yield Jump(word)
        else:
            yield Output(_read_pipeline(action.tokens), action.start, action.end)

    def _read_branch(self, kind: str, tokens: list[Token], action: _Action, depth: int) -> Branch:
        body, closing = self.read_nodes(depth + 1, kind)
        otherwise: tuple[object, ...] = ()
        assert closing is not None  # noqa: S101  read_nodes raises where a block is not closed
        end = closing.end
        if closing.tokens[0].text == "else":
            rest = closing.tokens[1:]
            if rest and rest[0].text in ("if", "with"):
                inner = self._read_branch(rest[0].text, rest[1:], closing, depth + 1)
                otherwise, end = (inner,), inner.end
            else:
                otherwise, last = self.read_nodes(depth + 1, "else")
                if last is None or last.tokens[0].text != "end":
                    raise SyntaxProblem("else without end")
                end = last.end
        return Branch(kind, _read_pipeline(tokens), body, otherwise, action.start, end)


def _read_name(tokens: list[Token]) -> str:
    if len(tokens) < 2 or tokens[1].kind != "text":
        raise SyntaxProblem("a template without a name")
    return _decode(tokens[1].text)


# ---- text and actions


def _split(text: str) -> Iterator[Text | _Action]:
    """Yield literal text, trimmed as the actions beside it ask, and the actions without comments."""
    at, trim = 0, False
    while True:
        start = text.find("{{", at)
        literal, offset = (text[at:] if start < 0 else text[at:start]), at
        if trim:
            stripped = literal.lstrip(SPACE)
            literal, offset = stripped, offset + len(literal) - len(stripped)
        if start < 0:
            if literal:
                yield Text(literal, offset)
            return
        inside = start + 2
        if text[inside : inside + 1] == "-" and text[inside + 1 : inside + 2] in tuple(SPACE):
            literal, inside = literal.rstrip(SPACE), inside + 1
        if literal:
            yield Text(literal, offset)
        tokens, at, trim = _read_tokens(text, inside)
        yield _Action(tokens, start, at)


def _read_tokens(text: str, at: int) -> tuple[list[Token], int, bool]:
    """Return the tokens of an action, the offset after it, and whether it trims the text that follows."""
    tokens: list[Token] = []
    joined = False
    comment = COMMENT.match(text, at)
    if comment:
        return [], comment.end(), bool(comment[1])
    while True:
        if text.startswith("}}", at):
            return tokens, at + 2, False
        if text.startswith("-}}", at) and not joined:
            return tokens, at + 3, True
        match = TOKEN.match(text, at)
        if match is None or len(tokens) > TOKENS_MAX:
            raise SyntaxProblem("an action that is not closed or not understood")
        kind = str(match.lastgroup)
        joined = kind != "space"
        if joined:
            tokens.append(Token(kind, match[0], at > 0 and text[at - 1] not in SPACE))
        at = match.end()


# ---- pipelines


def _read_pipeline(tokens: list[Token]) -> Pipeline:
    names: list[str] = []
    rest = tokens
    sign = next((at for at, token in enumerate(tokens[:4]) if token.text in (":=", "=")), 0)
    if sign:
        names = [token.text for token in tokens[:sign] if token.kind == "variable"]
        if not names or any(token.kind != "variable" and token.text != "," for token in tokens[:sign]):
            raise SyntaxProblem("an assignment without a variable")
        rest = tokens[sign + 1 :]
    parser = _Expressions(rest)
    commands = parser.read_commands(0)
    if parser.at != len(rest):
        raise SyntaxProblem(f"{rest[parser.at].text} is not expected")
    return Pipeline(commands, tuple(names), bool(sign) and tokens[sign].text == ":=")


class _Expressions:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    def read_commands(self, depth: int) -> tuple[Command, ...]:
        if depth > NESTED_MAX:
            raise SyntaxProblem("parentheses nest too deep")
        commands = [self._read_command(depth)]
        while self._next() == "|":
            self.at += 1
            commands.append(self._read_command(depth))
        return tuple(commands)

    def _next(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def _read_command(self, depth: int) -> Command:
        operands: list[object] = []
        while self.at < len(self.tokens) and self._next() not in ("|", ")", ","):
            operands.append(self._read_operand(depth))
        if not operands:
            raise SyntaxProblem("an empty command")
        return Command(tuple(operands))

    def _read_operand(self, depth: int) -> object:
        token = self.tokens[self.at]
        self.at += 1
        base: object
        if token.kind == "sign":
            if token.text != "(":
                raise SyntaxProblem(f"{token.text} is not expected")
            base = Pipeline(self.read_commands(depth + 1))
            if self._next() != ")":
                raise SyntaxProblem("a parenthesis that is not closed")
            self.at += 1
        elif token.kind == "field":
            return Field(Dot(), (token.text[1:], *self._read_fields()))
        elif token.kind == "dot":
            base = Dot()
        elif token.kind == "variable":
            base = Variable(token.text)
        elif token.kind == "name":
            base = _read_word(token.text)
        else:
            return Literal(_read_constant(token))
        names = self._read_fields()
        return Field(base, names) if names else base

    def _read_fields(self) -> tuple[str, ...]:
        names = []
        while self.at < len(self.tokens) and self.tokens[self.at].kind == "field" and self.tokens[self.at].joined:
            names.append(self.tokens[self.at].text[1:])
            self.at += 1
        return tuple(names)


def _read_word(name: str) -> Literal | Function:
    constants = {"true": True, "false": False, "nil": None}
    return Literal(constants[name]) if name in constants else Function(name)


def _read_constant(token: Token) -> str | int | float:
    if token.kind == "text":
        return _decode(token.text)
    if token.kind == "char":
        return ord(_decode('"' + token.text[1:-1].replace('"', '\\"') + '"'))
    plain = token.text.replace("_", "")
    try:
        return int(plain, 0) if re.fullmatch(r"[-+]?(?:0[xX].*|[1-9]\d*|0)", plain) else float(plain)
    except ValueError:
        raise SyntaxProblem(f"{token.text} is not a number") from None


def _decode(text: str) -> str:
    """Return what a quoted constant of Go means."""
    if text.startswith("`"):
        return text[1:-1]
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        raise SyntaxProblem(f"{text} is not a text") from None
