"""Explain what is wrong with the condition of a team's rule, and what to write instead."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint import units
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import glossary
from gpulint.policy import did_you_mean
from gpulint.policy.conditions import cel

TOKEN = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\d[\w.]*(?:(?<=[eE])[+-]\d+)?%?|[A-Za-z_]\w*(?:\.\w+)*|[=!<>]=|&&|\|\||<>|=~|=>|=<|\S"
)
NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+|\d+u")
AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-zµ%]+)")
ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
UNDECLARED = re.compile(r"(?:undeclared reference to '|reserved identifier: )([\w.]+)")
COMPARED = ("==", "!=", "<", ">", "<=", ">=", "in")
WORDS = {
    "=": "`=` does not compare: write `==`",
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
    **dict.fromkeys("“”‘’„`", "use straight quotation marks"),
}
"""Operators and words of other languages, in lower case, with their CEL equivalents."""
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
"""Common words for facts with a different name."""
SEPARATED = "write numbers without separators: 1000000 or 1e6"
FUNCTIONS = (
    *("size", "has", "contains", "startsWith", "endsWith", "matches", "exists", "exists_one", "all", "filter", "map"),
    *("int", "double", "string"),
)
ORDINARY: dict[str, object] = {"number": 1, "text": "a", "flag": True, "map": {}, "object": {}}
ABSENCES_MAX = 2
"""Maximum number of facts tried as absent together: two are needed for guards that `||` combines."""


class Mistake(NamedTuple):
    """What is wrong with a condition, and the character at which it is."""

    offset: int
    message: str


class _Token(NamedTuple):
    text: str
    start: int


def find_mistakes(expression: str, about_workloads: bool = True) -> Iterator[Mistake]:
    """Yield what keeps a condition from compiling, or else the first reason why it can never work as intended."""
    tokens = [_Token(match[0], match.start()) for match in TOKEN.finditer(expression)]
    try:
        cel.compile(expression)
    except cel.ConditionError as error:
        yield from list(_explain_errors(expression, tokens, str(error)))
        return
    if about_workloads:
        yield from itertools.islice(itertools.chain(_find_mistyped(tokens), _find_unguarded(expression)), 1)


# ---- what does not compile


def _explain_errors(expression: str, tokens: list[_Token], message: str) -> Iterator[Mistake]:
    errors = [_parse_error(expression, match) for match in ERROR.finditer(message)]
    undeclared = [error for error in errors if UNDECLARED.search(error.message)]
    if undeclared and len(undeclared) == len(errors):
        yield from (_explain_undeclared(error, tokens) for error in undeclared)
    elif (mistake := next(_find_foreign(expression, tokens), None)) is not None:
        yield mistake
    elif errors:
        yield Mistake(errors[0].offset, _simplify(errors[0].message, expression[errors[0].offset :]))
    else:
        yield Mistake(0, message.splitlines()[0])


def _parse_error(expression: str, match: re.Match[str]) -> Mistake:
    lines = expression.split("\n")
    line, column = int(match[1]), int(match[2])
    return Mistake(
        sum(len(text) + 1 for text in lines[: line - 1]) + column - 1, match[3].replace(" [INVALID_ARGUMENT]", "")
    )


def _explain_undeclared(error: Mistake, tokens: list[_Token]) -> Mistake:
    """Explain a name that is no fact: unquoted text, a function, or a misspelt fact."""
    found = UNDECLARED.search(error.message)
    name = found[1] if found else ""
    index = next((i for i, token in enumerate(tokens) if token.start + len(token.text) > error.offset), len(tokens) - 1)
    index -= tokens[index].text == "(" and index > 0
    token = tokens[index]
    if name.lower() in WORDS:
        return Mistake(token.start, f"{name} is not CEL: {WORDS[name.lower()]}")
    if tokens[index + 1 : index + 2] and tokens[index + 1].text == "(":
        meant = token.text.rpartition(".")[2]
        return Mistake(token.start, f"no such function: {meant}{did_you_mean.suggest_one(meant, FUNCTIONS)}")
    if _is_unquoted_text(tokens, index):
        return Mistake(token.start, f"text needs quotation marks: write '{token.text}'")
    return Mistake(token.start, f"no such fact: {name}{suggest_fact(name)}")


def _is_unquoted_text(tokens: list[_Token], index: int) -> bool:
    """True if a word is compared with a fact that is a text."""
    before = list(itertools.takewhile(lambda token: token.text not in ("&&", "||", "?", ":"), reversed(tokens[:index])))
    if not before or (before[0].text not in COMPARED and before[0].text not in ("[", ",")):
        return False
    return any(_type(token.text) == "text" for token in before)


def _find_foreign(expression: str, tokens: list[_Token]) -> Iterator[Mistake]:
    """Yield symbols and words of other languages, numbers with units, and unclosed brackets."""
    for index, token in enumerate(tokens):
        before, after = (tokens[at].text if 0 <= at < len(tokens) else "" for at in (index - 1, index + 1))
        if token.text in ("'", '"'):
            yield Mistake(token.start, "a quotation mark is not closed")
        elif token.text.lower() in WORDS and token.text not in ("true", "false"):
            yield Mistake(token.start, WORDS[token.text.lower()])
        elif re.fullmatch(r"\d+(_\d+)+", token.text):
            yield Mistake(token.start, SEPARATED)
        elif AMOUNT.fullmatch(token.text) and not NUMBER.fullmatch(token.text):
            yield Mistake(token.start, _explain_amount(token.text, _fact_before(tokens, index)))
        elif NUMBER.fullmatch(token.text) and after == "," and before not in ("[", ",", "("):
            yield Mistake(token.start, SEPARATED)
        elif token.text == "in" and after == "(":
            yield Mistake(token.start, "a list needs brackets: in ['a', 'b']")
    for opened, closed, sign in (("(", ")", "parenthesis"), ("[", "]", "bracket")):
        if expression.count(opened) > expression.count(closed):
            yield Mistake(expression.rfind(opened), f"a {sign} is not closed")
        elif expression.count(opened) < expression.count(closed):
            yield Mistake(expression.rfind(closed), f"a {sign} is closed but was not opened")


def _simplify(message: str, rest: str) -> str:
    if "mismatched input '<EOF>'" in message or not rest.strip():
        return "the condition is incomplete: the value to compare with is missing"
    return f"cannot parse it from `{rest.split(maxsplit=1)[0]}` on"


# ---- what compiles but cannot be intended


def _find_mistyped(tokens: list[_Token]) -> Iterator[Mistake]:
    """Yield comparisons of a fact with a value of a type that it never has."""
    for left, sign, right in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if sign.text not in COMPARED:
            continue
        for name, value in ((left, right), (right, left)):
            if name.text in glossary() and (message := _explain_mismatch(name.text, sign.text, value.text)):
                yield Mistake(value.start, message)


def _explain_mismatch(name: str, sign: str, literal: str) -> str:
    kind, quoted = _type(name), literal[:1] in ("'", '"')
    if kind == "number" and quoted and sign != "in":
        amount = literal[1:-1]
        return (
            _explain_amount(amount, name)
            if AMOUNT.fullmatch(amount)
            else f"{name} is a number{_render_unit(name)}, never the text {literal}"
        )
    if kind == "text" and NUMBER.fullmatch(literal) and sign != "in":
        return f"{name} is a text, never the number {literal}" + (
            f": write '{literal}'" if sign in ("==", "!=") else ""
        )
    if kind == "text" and sign in ("<", ">", "<=", ">=") and quoted:
        return f"{name} is a text: `{sign}` sorts '10' before '9'; compare with ==, in [...] or .startsWith()"
    if kind == "flag" and (quoted or NUMBER.fullmatch(literal)):
        return f"{name} is true or false, never {literal}: write {name} or !{name}"
    if kind in ("text", "number") and literal in ("true", "false"):
        return f"{name} is a {kind}{_render_unit(name)}, never {literal}"
    return ""


def _find_unguarded(expression: str) -> Iterator[Mistake]:
    """Yield facts that a condition uses without a guard although they may be absent, alone or together."""
    quantities = [glossary()[name] for name in cel.find_names(expression)]
    present = {quantity.name: ORDINARY.get(quantity.type, []) for quantity in quantities}
    nullable = [quantity.name for quantity in quantities if may_be_null(quantity.name)]
    for count in range(min(len(nullable), ABSENCES_MAX) + 1):
        for absent in itertools.combinations(nullable, count):
            try:
                cel.evaluate(expression, {**present, **dict.fromkeys(absent)})
            except cel.KeyAbsent:
                continue
            except cel.ConditionError as error:
                yield _explain_unguarded(expression, absent, str(error))
                return


def _explain_unguarded(expression: str, absent: tuple[str, ...], error: str) -> Mistake:
    if not absent:
        if "Index error" in error:
            return Mistake(0, "reads an item that may be missing: write size(LIST) > 0 && before it, or 'ITEM' in LIST")
        if "matching overload" in error or "regular expression" in error:
            return Mistake(0, f"fails although every fact is known: {_reason(error)}")
        return Mistake(0, f"the result is {error}, neither true nor false; compare it with a value")
    guards = " && ".join(f"{name} != null" for name in absent)
    at = expression.find(absent[0])
    reason = f"{absent[0]} is not declared" if len(absent) == 1 else f"neither {' nor '.join(absent)} is declared"
    return Mistake(max(at, 0), f"fails if {reason}: write {guards} && before it")


def _reason(error: str) -> str:
    """Return CEL's message without error codes and source excerpt."""
    match = ERROR.search(error)
    return match[3] if match else error.partition(": ")[2]


def may_be_null(name: str) -> bool:
    """True if a fact is null when nothing declares it, or if its formula may return None."""
    formula = find_formulas(None).get(name)
    is_nullable = glossary()[name].absent == (None,)
    return is_nullable or (formula is not None and "None" in str(formula.__annotations__.get("return")))


# ---- amounts


def _explain_amount(written: str, name: str) -> str:
    """Explain how to write an amount with a unit as a number in the fact's own unit."""
    quantity = glossary().get(name)
    if quantity is None:
        return f"numbers take no unit, so {written} cannot be parsed; `gpulint explain FACT` shows the unit of a fact"
    number = _convert_amount(written, quantity.unit)
    instead = f"write {number} for {written}" if number else "write the number alone"
    form = {"": "a plain number", "ratio": "a ratio"}.get(quantity.unit, f"in {quantity.unit}")
    return f"{name} is {form}: {instead}"


def _convert_amount(written: str, unit: str) -> str:
    """Return an amount in a base unit; empty if the unit is unknown."""
    plain = written.replace(" ", "")
    try:
        value = units.parse(plain.removesuffix("B") if unit == "bytes" else plain, unit)
    except ValueError:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _render_unit(name: str) -> str:
    unit = glossary()[name].unit
    return f" in {unit}" if unit else ""


def _fact_before(tokens: list[_Token], index: int) -> str:
    """Return the fact that the value at an index is compared with."""
    names = (token.text for token in reversed(tokens[:index]) if token.text in glossary())
    return next(names, "")


def _type(name: str) -> str:
    return glossary()[name].type if name in glossary() else ""


def suggest_fact(name: str) -> str:
    """Suggest the fact that a name may mean: by common word, by a part of its path, or by spelling."""
    parts = [part for part in reversed(name.split(".")) if part in glossary()]
    meant = MEANT.get(name.lower(), next(iter(parts), ""))
    return f"; did you mean {meant}?" if meant else did_you_mean.suggest_one(name, glossary())
