"""Explain a fact: its meaning, source, formulas by engine, and what depends on it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping

from gpulint import engines, units
from gpulint.catalog import tables
from gpulint.catalog.axes import AXES
from gpulint.cli.explain import engine
from gpulint.cli.explain.parts import (
    Code,
    Explanation,
    Part,
    Table,
    Text,
    make_sentence,
    render_reference,
    render_references,
)
from gpulint.facts.formulas import find_formulas, list_parameters
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.providers import AT_CAPACITY, DRAFT_FACTS
from gpulint.policy.config import governance
from gpulint.policy.rules import rule

SUPPLIED: Mapping[str, str] = {
    "pod": "declared by the object, script or task of the workload",
    "engine": "declared by the engine's arguments or environment, else its documented default",
    "checkpoint": "from the checkpoint's name or files",
    "architecture": "from the model architecture: the catalog or a config.json",
    "accelerator": "from the accelerator in the catalog",
    "node": "from the machine type in the catalog, or `fabric:` in gpulint.yaml",
    "offer": "from machine offers: the catalog, or `prices:` in gpulint.yaml",
    "fitted": "fitted to measurements or assumed, in three scenarios",
    "measured": "measured by interconnect and number of ranks, in three scenarios",
    "derived": "computed",
    "object": "declared by the workload's object, for all of its roles",
    "policy": "set by the policy for the file's path",
    "repository": "summed over the workloads of a run",
    "document": "read from the text of the document",
    "facility": "declared in a Facility for the component or one that contains it",
    "server": "declared for the server in a Facility, or from its type in the file or the catalog",
    "list": "collected from components of a facility",
    "expected": "the expected value of another fact, in all scenarios",
}
"""The source of a fact, by `of` in the glossary."""
COMPUTED = frozenset({"derived", "fitted", "measured"})
"""Sources that are never declared."""


def explain(quantity: Quantity) -> Explanation:
    """Return the explanation of a fact."""
    marks = [("", f"{quantity.type}, {render_unit(quantity)}" if quantity.unit else quantity.type)]
    marks.append(("", SUPPLIED.get(quantity.of, quantity.of)))
    parts = [*_supply(quantity), *_formulas(quantity.name), *_rows(quantity), *_use(quantity.name)]
    return Explanation(quantity.name, "fact", make_sentence(_capitalise(quantity.meaning)), tuple(marks), tuple(parts))


def render_unit(quantity: Quantity) -> str:
    """Return the base unit in its usual notation."""
    return units.name_base(quantity.unit)


def render_measure(quantity: Quantity) -> str:
    """Return the unit, or the type of a fact without one."""
    return render_unit(quantity) or quantity.type


def render_absent(quantity: Quantity) -> str:
    """Return what it means that the fact is not declared."""
    if not quantity.absent:
        return "unknown"
    value = quantity.absent[0]
    if value is None:
        return "there is none; it compares as `null`"
    if isinstance(value, str | bool):
        return f"`{str(value).lower()}`"
    return units.human(value, quantity.unit) if isinstance(value, int | float) else "there are none"


@functools.cache
def list_formulas(name: str) -> Mapping[str, Callable[..., object]]:
    """Return the formulas of a fact by engine; the general one has an empty name."""
    of = {each: find_formulas(each or None).get(name) for each in ("", *engines.modules())}
    return {each: formula for each, formula in of.items() if formula is not None}


@functools.cache
def list_uses() -> Mapping[str, tuple[str, ...]]:
    """Return the facts that are computed from each fact."""
    found: dict[str, list[str]] = {}
    for name, quantity in glossary().items():
        needs = (each for formula in list_formulas(name).values() for each in list_parameters(formula))
        for each in dict.fromkeys(filter(None, (*needs, quantity.each))):
            found.setdefault(each, []).append(name)
    return {name: tuple(sorted(others)) for name, others in found.items()}


@functools.cache
def list_rules() -> Mapping[str, tuple[str, ...]]:
    """Return the built-in rules that compare or print each fact."""
    found: dict[str, list[str]] = {}
    for one in rule.load_shipped().values():
        for name in one.facts:
            found.setdefault(name, []).append(one.name)
    return {name: tuple(sorted(names)) for name, names in found.items()}


def _capitalise(words: str) -> str:
    return words[:1].upper() + words[1:]


def _supply(quantity: Quantity) -> Iterator[Part]:
    if quantity.of not in COMPUTED:
        told = "a default or formula below, else " if _has_default(quantity.name) else ""
        yield Text(f"If it is not declared: {told}{render_absent(quantity)}.")
    if quantity.name in governance.list_thresholds():
        yield Text(f"To change it: `thresholds: {{{quantity.name}: …}}` in gpulint.yaml.")
    if stands_for := AT_CAPACITY.get(quantity.name):
        yield Text(f"It is {render_reference('fact', stands_for)} of a replica at its maximum number of requests.")
    if stands_for := DRAFT_FACTS.get(quantity.name):
        yield Text(
            f"For a draft model with its own checkpoint, it is {render_reference('fact', stands_for)} of that model."
        )
    if quantity.ask:
        yield Text(f"To supply it: {make_sentence(quantity.ask)}")
    if stating := tuple(_list_arguments(quantity.name)):
        yield Table("Declared by", ("engine", "argument or variable"), stating)
    if keyed := tuple(_list_keys(quantity.name)):
        yield Table("Declared by a configuration key", ("configuration", "keys"), keyed)


def _has_default(name: str) -> bool:
    return bool(list_formulas(name)) or any(row["field"] == name for row in tables.rows("engine_defaults"))


def _list_arguments(name: str) -> Iterator[tuple[str, str]]:
    """Yield the arguments that declare a fact, by engine."""
    for each in engines.modules():
        words = [f"`{row.name}`" for row in engine.list_arguments(each) if row.field == name]
        if words:
            yield render_reference("engine", engine.make_slug(each)), ", ".join(dict.fromkeys(words))


def _list_keys(name: str) -> Iterator[tuple[str, str]]:
    """Yield the configuration keys that declare a fact, by format."""
    found: dict[str, list[str]] = {}
    for row in tables.rows("setting_keys"):
        if row["quantity"] == name:
            found.setdefault(row["format"], []).append(f"`{row['key']}`")
    yield from ((format_, ", ".join(dict.fromkeys(keys))) for format_, keys in found.items())


def _formulas(name: str) -> Iterator[Part]:
    """Yield the general formula, then the formulas of engines."""
    found = list_formulas(name)
    for each, formula in found.items():
        general = "Formula of every other engine" if len(found) > 1 else "Formula"
        titled = f"Formula of {engine.make_title(each)}" if each else general
        yield Code(titled, inspect.cleandoc(formula.__doc__ or ""), "text")
        yield Text(f"Computed from {_inputs(formula)}.")


def _inputs(formula: Callable[..., object]) -> str:
    return render_references("fact", list_parameters(formula)) or "nothing"


def _rows(quantity: Quantity) -> Iterator[Part]:
    """Yield the tables about a fact: its values in three scenarios, or the defaults of engines."""
    fitted = tuple(
        (
            _describe_source(row),
            row["condition"],
            *(engine.render_value(row[scenario], quantity) for scenario in engine.SCENARIOS),
            _cases(row),
        )
        for row in tables.rows("fitted")
        if row["name"] == quantity.name
    )
    if fitted:
        yield Table(
            "Values in the three scenarios", ("engine", "condition", *engine.SCENARIOS, "cases and source"), fitted
        )
    yield from _list_collectives(quantity)
    defaults = tuple(
        (_describe_source(row), row["condition"], engine.render_value(row["value"], quantity), row["source"])
        for row in tables.rows("engine_defaults")
        if row["field"] == quantity.name
    )
    if defaults:
        yield Table("Defaults of engines", ("engine", "condition", "value", "source"), defaults)


def _cases(row: tables.Row) -> str:
    return f"{row['cases']}: {row['source']}"


def _list_collectives(quantity: Quantity) -> Iterator[Part]:
    """Yield the rows of `catalog/collectives.csv` for one kind of parallelism."""
    axis, _, column = quantity.name.partition("_")
    if axis not in AXES or column not in ("slowdown", "hop_s"):
        return
    ranks, operation = AXES[axis].ranks, AXES[axis].operation
    rows = tuple(
        (
            row["medium"],
            row["engine"],
            row["ranks_from"],
            *(engine.render_value(row[f"{column}_{scenario}"], quantity) for scenario in engine.SCENARIOS),
        )
        for row in tables.rows("collectives")
        if row["operation"] == operation
    )
    by = render_references("fact", (f"{axis}_medium", ranks))
    yield Text(f"By {by}, for {operation}; sources are in `gpulint/catalog/tables/collectives.csv`.")
    yield Table("Values in the three scenarios", ("interconnect", "engine", "ranks from", *engine.SCENARIOS), rows)


def _describe_source(row: tables.Row) -> str:
    return " ".join(filter(None, (row["engine"] or "any", engine.render_releases(row["since"], row["until"]))))


def _use(name: str) -> Iterator[Part]:
    if above := list_uses().get(name):
        yield Text(f"Used by {render_references('fact', above)}.")
    if judged := list_rules().get(name):
        yield Text(f"Compared or printed by {render_references('rule', judged)}.")
