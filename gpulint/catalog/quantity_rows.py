"""Rows of the glossary: what its topics declare, and what the docstrings of formulas say.

Formulas are read as text. Nothing is imported, so that a start from a source tree stays fast.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpulint.catalog import axes

FORMULA = re.compile(
    r'^def (?P<name>[a-z]\w*)\((?P<inputs>[^()]*(?:\([^()]*\)[^()]*)*)\) -> (?P<returns>[^:\n]+):\n\s+r?"""(?P<doc>.*?)"""',
    re.MULTILINE | re.DOTALL,
)
UNIT = re.compile(r"^Returns:\s+\[([^]]+)\]", re.MULTILINE)
COMPONENT = re.compile(r"^Component: (.+)$", re.MULTILINE)
"""The kinds of facility component that have the quantity."""
SENTENCE = re.compile(r"(.+?)\.(?:\s|$)", re.DOTALL)
ORDINARY = re.compile(r"[A-Z][a-z]*(?![\w₂])")
"""A first word that starts with a capital only because the sentence does."""
TYPES: Mapping[str, str] = {
    "float": "number",
    "int": "number",
    "bool": "flag",
    "str": "text",
    "tuple": "list",
    "Draws": "list",
    "Mapping": "map",
}
NOTATION = str.maketrans({"/": " per ", "-": " ", "³": "3", "²": "2", "°": ""})
SHORT: Mapping[str, str] = {"h": "hour"}
Row = Mapping[str, object]


class Formula(NamedTuple):
    """A formula of a module, as its text declares it."""

    name: str
    returns: str
    doc: str


def merge(topics: Iterable[Mapping[str, Row]], modules: Mapping[str, str]) -> dict[str, Row]:
    """Return every row by name: a formula's own, then what a topic says of the quantity.

    `modules` are the texts of the modules with formulas, by dotted name. A formula for every engine comes before that
    of a single one.
    """
    rows: dict[str, Row] = {}
    for topic in topics:
        for name, row in topic.items():
            if name in rows:
                raise ValueError(f"{name}: two topics of the glossary declare it")
            rows[name] = row
    derived: dict[str, Row] = {}
    for module in sorted(modules, key=lambda name: (name.startswith("engines."), name)):
        find = find_axis_formulas if module == axes.MODULE else find_formulas
        for formula in find(modules[module]):
            if formula.name not in derived:
                derived[formula.name] = describe(formula)
    return {**rows, **{name: {**row, **rows.get(name, {})} for name, row in derived.items()}}


def find_formulas(text: str) -> Iterator[Formula]:
    """Yield the formulas of a module's text."""
    for found in FORMULA.finditer(text):
        yield Formula(found["name"], found["returns"], inspect.cleandoc(found["doc"]))


def find_axis_formulas(text: str) -> Iterator[Formula]:
    """Yield the formulas of each axis that the formulas of a group give."""
    for formula in find_formulas(text):
        for axis in (axis for axis, names in axes.FORMULAS.items() if formula.name in names):
            yield Formula(axes.rename(formula.name, axis), formula.returns, axes.rename_in(formula.doc, axis))


def describe(formula: Formula) -> Row:
    """Return the row of a formula: unit, type and meaning, and the components that have it."""
    unit, component = UNIT.search(formula.doc), COMPONENT.search(formula.doc)
    row = {
        "of": "derived",
        "type": TYPES[re.split(r"\W", formula.returns, maxsplit=1)[0]],
        "unit": name_unit(unit[1]) if unit else "",
        "meaning": summarise(formula.doc),
    }
    return {**row, "part": component[1]} if component else row


def name_unit(notation: str) -> str:
    """Return the name of a unit, such as bytes_per_s for bytes/s."""
    return "_".join(SHORT.get(word, word) for word in notation.lower().translate(NOTATION).split())


def summarise(doc: str) -> str:
    """Return the first sentence of a docstring as a phrase without a full stop."""
    found = SENTENCE.match(doc)
    sentence = " ".join((found[1] if found else doc).split())
    return sentence[:1].lower() + sentence[1:] if ORDINARY.match(sentence) else sentence
