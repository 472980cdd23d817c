"""Condition: what is wrong with the one of a team's rule, in a sentence with what to write instead."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint import units
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import glossary
from gpulint.policy.config import did_you_mean as spelling
from gpulint.policy.rules import cel

TOKEN = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\d[\w.]*(?:(?<=[eE])[+-]\d+)?%?|[A-Za-z_]\w*(?:\.\w+)*|[=!<>]=|&&|\|\||<>|=~|=>|=<|\S"
)
NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+|\d+u")
AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-zµ%]+)")
ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
UNDECLARED = re.compile(r"(?:undeclared reference to '|reserved identifier: )([\w.]+)")
COMPARED = ("==", "!=", "<", ">", "<=", ">=", "in")
WORDS = {
    "=": "one `=` compares nothing: write `==`",
    "&": "write `&&` for and",
    "|": "write `||` for or",
    "and": "write `&&` for and",
    "or": "write `||` for or",
    "not": "write `!` for not",
    "is": "write `==`, or `!=` for is not",
    "<>": "write `!=` for differs",
    "=>": "write `>=`",
    "=<": "write `<=`",
    "=~": "write FACT.matches('PATTERN')",
    "like": "write FACT.contains('TEXT') or FACT.matches('PATTERN')",
    "if": "CEL has no if: write CONDITION ? ONE : OTHER",
    "true": "write true",
    "false": "write false",
    "none": "write null",
    "nil": "write null",
    "$": "write the name of a fact alone, without `$` and braces",
    **dict.fromkeys("“”‘’„`", "write straight quotation marks"),
}
"""What people write of other languages, by the word in lower case."""
MEANT = {
    "annotation": "annotations",
    "card": "accelerator",
    "cpu": "cpu_cores",
    "gpu": "accelerator",
    "gpus": "gpus_per_replica",
    "kind": "object_kind",
    "label": "labels",
    "memory": "host_memory_bytes",
    "model": "checkpoint",
    "name": "workload_name",
    "namespace": "object_namespace",
    "nodes": "pods_per_replica",
    "tp": "tensor_parallel",
    "vram": "device_memory_bytes",
}
"""What people call a fact by a word that is far from its name."""
SEPARATED = "a number is written without separators: 1000000 or 1e6"
FUNCTIONS = (
    *("size", "has", "contains", "startsWith", "endsWith", "matches", "exists", "exists_one", "all", "filter", "map"),
    *("int", "double", "string"),
)
ORDINARY: dict[str, object] = {"number": 1, "text": "a", "flag": True, "map": {}, "object": {}}
ABSENCES_MAX = 2
"""So many facts at once are tried as absent: a missing guard shows with one, and where `||` joins two, with both."""


class Mistake(NamedTuple):
    """What is wrong with a condition, and at which of its characters."""

    offset: int
    message: str


class _Token(NamedTuple):
    text: str
    start: int


def mistakes(expression: str, about_workloads: bool = True) -> Iterator[Mistake]:
    """What keeps a condition from being compiled, or from ever meaning what it seems to; of the latter the first only."""
    tokens = [_Token(match[0], match.start()) for match in TOKEN.finditer(expression)]
    try:
        cel.compiled(expression)
    except cel.ConditionError as error:
        yield from list(_uncompiled(expression, tokens, str(error)))
        return
    if about_workloads:
        yield from itertools.islice(itertools.chain(_mistyped(tokens), _unbearing(expression)), 1)


# ---- what does not compile


def _uncompiled(expression: str, tokens: list[_Token], message: str) -> Iterator[Mistake]:
    errors = [_error(expression, match) for match in ERROR.finditer(message)]
    undeclared = [one for one in errors if UNDECLARED.search(one.message)]
    if undeclared and len(undeclared) == len(errors):
        yield from (_undeclared(one, tokens) for one in undeclared)
    elif (known := next(_foreign(expression, tokens), None)) is not None:
        yield known
    elif errors:
        yield Mistake(errors[0].offset, _plain(errors[0].message, expression[errors[0].offset :]))
    else:
        yield Mistake(0, message.splitlines()[0])


def _error(expression: str, match: re.Match[str]) -> Mistake:
    lines = expression.split("\n")
    line, column = int(match[1]), int(match[2])
    return Mistake(
        sum(len(one) + 1 for one in lines[: line - 1]) + column - 1, match[3].replace(" [INVALID_ARGUMENT]", "")
    )


def _undeclared(error: Mistake, tokens: list[_Token]) -> Mistake:
    """A name that is no fact: a text without its quotation marks, a function, or a misspelt fact."""
    found = UNDECLARED.search(error.message)
    name = found[1] if found else ""
    index = next((i for i, one in enumerate(tokens) if one.start + len(one.text) > error.offset), len(tokens) - 1)
    index -= tokens[index].text == "(" and index > 0
    token = tokens[index]
    if name.lower() in WORDS:
        return Mistake(token.start, f"{name} is no word of CEL: {WORDS[name.lower()]}")
    if tokens[index + 1 : index + 2] and tokens[index + 1].text == "(":
        meant = token.text.rpartition(".")[2]
        return Mistake(token.start, f"no function is called {meant}{spelling.nearest(meant, FUNCTIONS)}")
    if _compared_text(tokens, index):
        return Mistake(token.start, f"text stands in quotation marks: write '{token.text}'")
    return Mistake(token.start, f"no fact is called {name}{nearest(name)}")


def _compared_text(tokens: list[_Token], index: int) -> bool:
    """Whether a word stands where a fact that is a text is compared with it."""
    before = list(itertools.takewhile(lambda one: one.text not in ("&&", "||", "?", ":"), reversed(tokens[:index])))
    if not before or (before[0].text not in COMPARED and before[0].text not in ("[", ",")):
        return False
    return any(_type(one.text) == "text" for one in before)


def _foreign(expression: str, tokens: list[_Token]) -> Iterator[Mistake]:
    """Signs and words of other languages, numbers with a unit, and what is not closed."""
    for index, token in enumerate(tokens):
        before, after = (tokens[at].text if 0 <= at < len(tokens) else "" for at in (index - 1, index + 1))
        if token.text in ("'", '"'):
            yield Mistake(token.start, "a quotation mark is not closed")
        elif token.text.lower() in WORDS and token.text not in ("true", "false"):
            yield Mistake(token.start, WORDS[token.text.lower()])
        elif re.fullmatch(r"\d+(_\d+)+", token.text):
            yield Mistake(token.start, SEPARATED)
        elif AMOUNT.fullmatch(token.text) and not NUMBER.fullmatch(token.text):
            yield Mistake(token.start, _amount(token.text, _fact_before(tokens, index)))
        elif NUMBER.fullmatch(token.text) and after == "," and before not in ("[", ",", "("):
            yield Mistake(token.start, SEPARATED)
        elif token.text == "in" and after == "(":
            yield Mistake(token.start, "a list stands in brackets: in ['a', 'b']")
    for opened, closed, sign in (("(", ")", "parenthesis"), ("[", "]", "bracket")):
        if expression.count(opened) > expression.count(closed):
            yield Mistake(expression.rfind(opened), f"a {sign} is opened and not closed")
        elif expression.count(opened) < expression.count(closed):
            yield Mistake(expression.rfind(closed), f"a {sign} is closed and was not opened")


def _plain(message: str, rest: str) -> str:
    if "mismatched input '<EOF>'" in message or not rest.strip():
        return "the condition ends too early: what it compares with is missing"
    return f"cannot be read from `{rest.split(maxsplit=1)[0]}` on"


# ---- what compiles, and is never meant


def _mistyped(tokens: list[_Token]) -> Iterator[Mistake]:
    """Comparisons of a fact with a value that it never has."""
    for left, sign, right in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if sign.text not in COMPARED:
            continue
        for name, value in ((left, right), (right, left)):
            if name.text in glossary() and (said := _unlike(name.text, sign.text, value.text)):
                yield Mistake(value.start, said)


def _unlike(name: str, sign: str, literal: str) -> str:
    kind, quoted = _type(name), literal[:1] in ("'", '"')
    if kind == "number" and quoted and sign != "in":
        amount = literal[1:-1]
        return (
            _amount(amount, name)
            if AMOUNT.fullmatch(amount)
            else f"{name} is a number{_in(name)}, never the text {literal}"
        )
    if kind == "text" and NUMBER.fullmatch(literal) and sign != "in":
        return f"{name} is a text, never the number {literal}" + (
            f": write '{literal}'" if sign in ("==", "!=") else ""
        )
    if kind == "text" and sign in ("<", ">", "<=", ">=") and quoted:
        return f"{name} is a text: `{sign}` puts '10' before '9'; compare with ==, in [...] or .startsWith()"
    if kind == "flag" and (quoted or NUMBER.fullmatch(literal)):
        return f"{name} is true or false, never {literal}: write {name} or !{name}"
    if kind in ("text", "number") and literal in ("true", "false"):
        return f"{name} is a {kind}{_in(name)}, never {literal}"
    return ""


def _unbearing(expression: str) -> Iterator[Mistake]:
    """The facts whose absence a condition does not bear, as each may be absent together with another."""
    named = [glossary()[name] for name in cel.names(expression)]
    present = {one.name: ORDINARY.get(one.type, []) for one in named}
    nullable = [one.name for one in named if may_be_null(one.name)]
    for count in range(min(len(nullable), ABSENCES_MAX) + 1):
        for absent in itertools.combinations(nullable, count):
            try:
                cel.evaluate(expression, {**present, **dict.fromkeys(absent)})
            except cel.KeyAbsent:
                continue
            except cel.ConditionError as error:
                yield _unbearable(expression, absent, str(error))
                return


def _unbearable(expression: str, absent: tuple[str, ...], error: str) -> Mistake:
    if not absent:
        if "Index error" in error:
            return Mistake(
                0, "reads an item that may not be there: write size(LIST) > 0 && before it, or 'ITEM' in LIST"
            )
        if "matching overload" in error or "regular expression" in error:
            return Mistake(0, f"fails where every fact is known: {_reason(error)}")
        return Mistake(0, f"is neither true nor false: it gives {error}; compare it with something")
    guards = " && ".join(f"{name} != null" for name in absent)
    at = expression.find(absent[0])
    reason = f"nothing states {absent[0]}" if len(absent) == 1 else f"neither {' nor '.join(absent)} is stated"
    return Mistake(max(at, 0), f"fails where {reason}: write {guards} && before it")


def _reason(error: str) -> str:
    """What CEL says, without its codes and its drawing."""
    said = ERROR.search(error)
    return said[3] if said else error.partition(": ")[2]


def may_be_null(name: str) -> bool:
    """Whether a fact is null where nothing states it, or where its formula has nothing to say."""
    formula = find_formulas(None).get(name)
    stated = glossary()[name].absent == (None,)
    return stated or (formula is not None and "None" in str(formula.__annotations__.get("return")))


# ---- amounts


def _amount(written: str, name: str) -> str:
    """How an amount that names its unit is written as a number of a fact's own unit."""
    quantity = glossary().get(name)
    if quantity is None:
        return f"a number has no unit here, so {written} cannot be read; gpulint explain FACT says which it is in"
    number = _based(written, quantity.unit)
    instead = f"write {number} for {written}" if number else "write the number alone"
    stated = {"": "a plain number", "ratio": "a ratio"}.get(quantity.unit, f"in {quantity.unit}")
    return f"{name} is {stated}: {instead}"


def _based(written: str, unit: str) -> str:
    """A written amount in a base unit; empty where the unit is not one that people write."""
    plain = written.replace(" ", "")
    try:
        value = units.parse(plain.removesuffix("B") if unit == "bytes" else plain, unit)
    except ValueError:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _in(name: str) -> str:
    unit = glossary()[name].unit
    return f" in {unit}" if unit else ""


def _fact_before(tokens: list[_Token], index: int) -> str:
    """The fact that the value at an index is compared with."""
    named = (one.text for one in reversed(tokens[:index]) if one.text in glossary())
    return next(named, "")


def _type(name: str) -> str:
    return glossary()[name].type if name in glossary() else ""


def nearest(name: str) -> str:
    """The fact that a name may mean: by its word, by a part of its path, or by its spelling."""
    parts = [part for part in reversed(name.split(".")) if part in glossary()]
    meant = MEANT.get(name.lower(), next(iter(parts), ""))
    return f"; did you mean {meant}?" if meant else spelling.nearest(name, glossary())
