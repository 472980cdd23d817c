"""Arithmetic: the integer that an expression of bash gives, as C computes it on 64 bits."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpulint.source import excess

INTEGER_MAX = 2**63 - 1
NESTING_MAX = 40
NAMES_MAX = 200

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+#\w+|\d+)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\*\*|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>!~?:=(),]))"
)
_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %", "**")
_PRECEDENCE = {operator: level for level, operators in enumerate(_LEVELS, 1) for operator in operators.split()}
_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})

Known = Callable[[str], str | None]
Assign = Callable[[str, int], None]


class UnknownValueError(ValueError):
    """The expression contains a value that cannot be computed."""


def compute(expression: str, known: Known | None = None, assign: Assign | None = None) -> int | None:
    """The value of an expression; `known` gives the values of names, `assign` takes what the expression sets.

    >>> compute("2 ** 3 + (1 < 2 ? 0x10 : 5) % 7")
    10
    """
    return _compute_cached(expression, known or (lambda name: None), assign, [NAMES_MAX])


def _compute_cached(expression: str, known: Known, assign: Assign | None, left: list[int]) -> int | None:
    try:
        return _Parser(_tokens(expression), known, assign, left).whole()
    except (UnknownValueError, ZeroDivisionError, IndexError):
        return None


def _tokens(expression: str) -> list[tuple[str, str]]:
    tokens, at, text = [], 0, expression.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise UnknownValueError(text[at : at + 10])
        tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return [*tokens, ("end", "")]


class _Parser:
    """Reads tokens by precedence, computing as it goes."""

    def __init__(self, tokens: list[tuple[str, str]], known: Known, assign: Assign | None, left: list[int]) -> None:
        self._tokens = tokens
        self._known = known
        self._assign = assign
        self._left = left
        self._at = 0
        self._depth = 0
        self._branches = 0

    def whole(self) -> int:
        value = self._expression()
        while self._accept(","):
            value = self._expression()
        if self._tokens[self._at][0] != "end":
            raise UnknownValueError("more than an expression")
        return value

    def _accept(self, operator: str) -> bool:
        found = self._tokens[self._at] == ("operator", operator)
        self._at += found
        return found

    def _expression(self) -> int:
        """An assignment, or a choice `a ? b : c`, or what binds closer."""
        (kind, name), (_, operator) = self._tokens[self._at], self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        if kind == "name" and operator in _ASSIGNS:
            self._at += 2
            value = self._expression()
            return self._set(
                name, value if operator == "=" else _apply_operator(operator[:-1], self._value(name), value)
            )
        condition = self._binary(1)
        if not self._accept("?"):
            return condition
        self._branches += 1
        first = self._expression()
        if not self._accept(":"):
            raise UnknownValueError("a choice without its other side")
        second = self._expression()
        self._branches -= 1
        return first if condition else second

    def _binary(self, lowest: int) -> int:
        left = self._unary()
        while (precedence := _PRECEDENCE.get(self._operator(), 0)) >= lowest:
            operator = self._operator()
            self._at += 1
            lazy = operator in ("&&", "||")
            self._branches += lazy
            right = self._binary(precedence + (operator != "**"))
            self._branches -= lazy
            left = _apply_operator(operator, left, right)
        return left

    def _operator(self) -> str:
        kind, text = self._tokens[self._at]
        return text if kind == "operator" else ""

    def _unary(self) -> int:
        self._depth += 1
        if excess.is_over(self._depth, NESTING_MAX, "an arithmetic expression of a script nests deeper than {} levels"):
            raise UnknownValueError("nested too deeply")
        value = self._parse_operand()
        self._depth -= 1
        return value

    def _parse_operand(self) -> int:
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return _number(text)
        if kind == "name":
            return self._name(text)
        if text in ("++", "--") and self._tokens[self._at][0] == "name":
            name = self._tokens[self._at][1]
            self._at += 1
            return self._set(name, self._value(name) + (1 if text == "++" else -1))
        if text == "(":
            value = self._expression()
            while self._accept(","):
                value = self._expression()
            if not self._accept(")"):
                raise UnknownValueError("an open parenthesis")
            return value
        return _apply_unary(text, self._unary)

    def _name(self, name: str) -> int:
        value = self._value(name)
        for operator, step in (("++", 1), ("--", -1)):
            if self._accept(operator):
                self._set(name, value + step)
        return value

    def _value(self, name: str) -> int:
        """The value of a name, which may be an expression itself."""
        text = self._known(name)
        self._left[0] -= 1
        used = NAMES_MAX - self._left[0]
        if text is None or excess.is_over(used, NAMES_MAX, "an expression of a script refers to more than {} names"):
            raise UnknownValueError(name)
        if re.fullmatch(r"-?(?:0|[1-9]\d{0,17})", text):
            return int(text)
        value = _compute_cached(text, self._known, None, self._left) if text.strip() else 0
        if value is None:
            raise UnknownValueError(name)
        return value

    def _set(self, name: str, value: int) -> int:
        if self._assign is None or self._branches:
            raise UnknownValueError("sets a variable where that cannot be followed")
        self._assign(name, value)
        return value


def _apply_unary(text: str, operand: Callable[[], int]) -> int:
    if text == "-":
        return _check_bounds(-operand())
    if text == "+":
        return operand()
    if text == "!":
        return int(not operand())
    if text == "~":
        return ~operand()
    raise UnknownValueError(text)


def _number(text: str) -> int:
    try:
        if "#" in text:
            base, _, digits = text.partition("#")
            return _check_bounds(int(digits, int(base)))
        if text[:2].lower() == "0x":
            return _check_bounds(int(text, 16))
        return _check_bounds(int(text, 8 if text.startswith("0") else 10))
    except ValueError as error:
        raise UnknownValueError(text) from error


def _apply_operator(operator: str, left: int, right: int) -> int:
    if operator in ("<<", ">>", "**") and not 0 <= right <= 63:
        raise UnknownValueError("beyond 64 bits")
    if operator in ("/", "%"):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _check_bounds(quotient if operator == "/" else left - right * quotient)
    return _check_bounds(_OPERATORS[operator](left, right))


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "||": lambda left, right: int(bool(left or right)),
    "&&": lambda left, right: int(bool(left and right)),
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "&": lambda left, right: left & right,
    "==": lambda left, right: int(left == right),
    "!=": lambda left, right: int(left != right),
    "<": lambda left, right: int(left < right),
    "<=": lambda left, right: int(left <= right),
    ">": lambda left, right: int(left > right),
    ">=": lambda left, right: int(left >= right),
    "<<": lambda left, right: left << right,
    ">>": lambda left, right: left >> right,
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "**": lambda left, right: left**right,
}


def _check_bounds(number: int) -> int:
    if abs(number) > INTEGER_MAX:
        raise UnknownValueError("beyond 64 bits")
    return number
