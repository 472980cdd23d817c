"""Arithmetic: the integer that + - * / % and parentheses give, as C computes it."""

from __future__ import annotations

import ast

INTEGER_MAX = 2**63 - 1


def computed(expression: str) -> int | None:
    """The value of an expression without names; None where it is more than plain arithmetic on 64 bits."""
    try:
        return _evaluated(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ZeroDivisionError):
        return None


def _evaluated(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _evaluated(node.operand) * (-1 if isinstance(node.op, ast.USub) else 1)
    if isinstance(node, ast.BinOp):
        return _bounded(_operated(node.op, _evaluated(node.left), _evaluated(node.right)))
    raise ValueError("not plain arithmetic")


def _operated(operator: ast.operator, left: int, right: int) -> int:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    if isinstance(operator, ast.Div):
        return quotient
    if isinstance(operator, ast.Mod):
        return left - right * quotient
    raise ValueError("not plain arithmetic")


def _bounded(number: int) -> int:
    if abs(number) > INTEGER_MAX:
        raise ValueError("beyond 64 bits")
    return number
