"""A fact, explained: what it means, who supplies it, how it is computed for each engine, and what rests on it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping

from gpulint import engines, units
from gpulint.catalog import tables as catalog
from gpulint.cli.explain import engine
from gpulint.cli.explain.parts import Code, Explanation, Part, Table, Text, reference, references, sentence
from gpulint.facts.formulas import find_formulas, list_parameters
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.providers import AT_CAPACITY, AXES, DRAFT_FACTS
from gpulint.policy.config import governance
from gpulint.policy.rules import rule

SUPPLIED: Mapping[str, str] = {
    "pod": "stated by the object, script or task that declares the workload",
    "engine": "stated by the engine's arguments or environment, else its documented default",
    "checkpoint": "known from the checkpoint's name or files",
    "architecture": "known from the shape of the network: the catalog, or a config.json",
    "accelerator": "known from the accelerator, of the catalog",
    "node": "known from the machine type, of the catalog or of `fabric:` in gpulint.yaml",
    "offer": "known from the offers of machines: the catalog, or `prices:` in gpulint.yaml",
    "fitted": "fitted to measured cases, or assumed, in three worlds",
    "measured": "measured for what joins the ranks and for how many they are, in three worlds",
    "derived": "computed",
    "object": "stated by the object that declares the workload, for all of its roles",
    "policy": "stated by the policy, for the path of the file",
    "repository": "summed up over the workloads of a run",
    "document": "read from the text of the document",
    "facility": "stated in a Facility, of the part or of one that holds it",
    "server": "stated of the server in a Facility, or known from its type: the file's own, or the catalog's",
    "list": "gathered from parts of a facility",
    "likely": "the likely value of another fact, in all worlds",
}
"""Who supplies a fact, by `of` of the glossary."""
COMPUTED = frozenset({"derived", "fitted", "measured"})
"""What nobody states."""
UNITS: Mapping[str, str] = {
    "": "",
    "w": "W",
    "a": "A",
    "v": "V",
    "va": "VA",
    "c": "°C",
    "m2": "m²",
    "kg_per_m2": "kg/m²",
    "m3_per_s": "m³/s",
    "liquid_m3_per_s": "m³/s",
    "j": "J",
    "usd": "USD",
    "flop": "FLOP",
    "gpu_hours": "GPU-hours",
    "capability": "compute capability",
    "flop_per_s": "FLOP/s",
    "line_bytes_per_s": "bytes/s",
    "db": "dB",
    "kg_per_kwh": "kg/kWh",
    "usd_per_kwh": "USD/kWh",
    "usd_per_hour": "USD/h",
    "kg_per_hour": "kg/h",
    "usd_per_million_tokens": "USD per million tokens",
    "usd_per_billion_tokens": "USD per billion tokens",
}


def explained(quantity: Quantity) -> Explanation:
    """A quantity of the glossary."""
    marks = [("", f"{quantity.type}, {unit(quantity)}" if quantity.unit else quantity.type)]
    marks.append(("", SUPPLIED.get(quantity.of, quantity.of)))
    parts = [*_supply(quantity), *_formulas(quantity.name), *_rows(quantity), *_use(quantity.name)]
    return Explanation(quantity.name, "fact", sentence(_opened(quantity.meaning)), tuple(marks), tuple(parts))


def unit(quantity: Quantity) -> str:
    """The base unit, as people write it."""
    return UNITS.get(quantity.unit, quantity.unit.replace("_per_", "/"))


def measure(quantity: Quantity) -> str:
    """The unit, or what else the fact is: a text, a flag or a bare count."""
    return unit(quantity) or quantity.type


def absent(quantity: Quantity) -> str:
    """What it means that nothing states the fact."""
    if not quantity.absent:
        return "unknown"
    value = quantity.absent[0]
    if value is None:
        return "there is none, and it compares as `null`"
    if isinstance(value, str | bool):
        return f"`{str(value).lower()}`"
    return units.human(value, quantity.unit) if isinstance(value, int | float) else "there are none"


@functools.cache
def formulas(name: str) -> Mapping[str, Callable[..., object]]:
    """The formulas of a fact by engine; those of every other engine under no name."""
    of = {each: find_formulas(each or None).get(name) for each in ("", *engines.modules())}
    return {each: formula for each, formula in of.items() if formula is not None}


@functools.cache
def uses() -> Mapping[str, tuple[str, ...]]:
    """The facts that are computed from each fact."""
    found: dict[str, list[str]] = {}
    for name, quantity in glossary().items():
        needs = (each for formula in formulas(name).values() for each in list_parameters(formula))
        for each in dict.fromkeys(filter(None, (*needs, quantity.each))):
            found.setdefault(each, []).append(name)
    return {name: tuple(sorted(others)) for name, others in found.items()}


@functools.cache
def rules() -> Mapping[str, tuple[str, ...]]:
    """The shipped rules that compare or print each fact."""
    found: dict[str, list[str]] = {}
    for one in rule.shipped_rules().values():
        for name in one.facts:
            found.setdefault(name, []).append(one.name)
    return {name: tuple(sorted(names)) for name, names in found.items()}


def _opened(words: str) -> str:
    return words[:1].upper() + words[1:]


def _supply(quantity: Quantity) -> Iterator[Part]:
    if quantity.of not in COMPUTED:
        told = "as below where there is a default or a formula, else " if _has_default(quantity.name) else ""
        yield Text(f"Where nothing states it: {told}{absent(quantity)}.")
    if quantity.name in governance.thresholds():
        yield Text(f"Another value: `thresholds: {{{quantity.name}: …}}` in gpulint.yaml.")
    if stands_for := AT_CAPACITY.get(quantity.name):
        yield Text(f"It is {reference('fact', stands_for)} of a replica that has as many requests as it admits.")
    if stands_for := DRAFT_FACTS.get(quantity.name):
        yield Text(f"Of a draft with a checkpoint of its own, it is {reference('fact', stands_for)} of that network.")
    if quantity.ask:
        yield Text(f"To supply it: {sentence(quantity.ask)}")
    if stating := tuple(_stating(quantity.name)):
        yield Table("Stated by", ("engine", "argument or variable"), stating)
    if keyed := tuple(_keyed(quantity.name)):
        yield Table("Stated by a key of", ("configuration", "keys"), keyed)


def _has_default(name: str) -> bool:
    return bool(formulas(name)) or any(row["field"] == name for row in catalog.rows("engine_defaults"))


def _stating(name: str) -> Iterator[tuple[str, str]]:
    """The arguments that state a fact, by engine."""
    for each in engines.modules():
        words = [f"`{row.name}`" for row in engine.arguments(each) if row.field == name]
        if words:
            yield reference("engine", engine.slug(each)), ", ".join(dict.fromkeys(words))


def _keyed(name: str) -> Iterator[tuple[str, str]]:
    """The keys of configuration files that state a fact, by format."""
    found: dict[str, list[str]] = {}
    for row in catalog.rows("setting_keys"):
        if row["quantity"] == name:
            found.setdefault(row["format"], []).append(f"`{row['key']}`")
    yield from ((format_, ", ".join(dict.fromkeys(keys))) for format_, keys in found.items())


def _formulas(name: str) -> Iterator[Part]:
    """The formula of every engine that has one of its own, behind the general one."""
    found = formulas(name)
    for each, formula in found.items():
        general = "Formula of every other engine" if len(found) > 1 else "Formula"
        titled = f"Formula of {engine.title(each)}" if each else general
        yield Code(titled, inspect.cleandoc(formula.__doc__ or ""), "text")
        yield Text(f"Computed from {_inputs(formula)}.")


def _inputs(formula: Callable[..., object]) -> str:
    return references("fact", list_parameters(formula)) or "nothing"


def _rows(quantity: Quantity) -> Iterator[Part]:
    """What tables say of a fact: its values in three worlds, or the defaults of engines."""
    fitted = tuple(
        (_whose(row), row["condition"], *(engine.value(row[world], quantity) for world in engine.WORLDS), _cases(row))
        for row in catalog.rows("fitted")
        if row["name"] == quantity.name
    )
    if fitted:
        yield Table("Values in the three worlds", ("engine", "where", *engine.WORLDS, "cases and source"), fitted)
    yield from _measured(quantity)
    defaults = tuple(
        (_whose(row), row["condition"], engine.value(row["value"], quantity), row["source"])
        for row in catalog.rows("engine_defaults")
        if row["field"] == quantity.name
    )
    if defaults:
        yield Table("Defaults of engines", ("engine", "where", "value", "source"), defaults)


def _cases(row: catalog.Row) -> str:
    return f"{row['cases']}: {row['source']}"


def _measured(quantity: Quantity) -> Iterator[Part]:
    """The rows of `catalog/collectives.csv` for what one kind of parallelism does together."""
    axis, _, column = quantity.name.partition("_")
    if axis not in AXES or column not in ("slowdown", "hop_s"):
        return
    ranks, operation = AXES[axis]
    rows = tuple(
        (
            row["medium"],
            row["engine"],
            row["ranks_from"],
            *(engine.value(row[f"{column}_{world}"], quantity) for world in engine.WORLDS),
        )
        for row in catalog.rows("collectives")
        if row["operation"] == operation
    )
    by = references("fact", (f"{axis}_medium", ranks))
    yield Text(f"By {by}, for {operation}; the sources stand in `gpulint/catalog/tables/collectives.csv`.")
    yield Table("Values in the three worlds", ("joined by", "engine", "ranks from", *engine.WORLDS), rows)


def _whose(row: catalog.Row) -> str:
    return " ".join(filter(None, (row["engine"] or "any", engine.releases(row["since"], row["until"]))))


def _use(name: str) -> Iterator[Part]:
    if above := uses().get(name):
        yield Text(f"Used by {references('fact', above)}.")
    if judged := rules().get(name):
        yield Text(f"Judged or printed by {references('rule', judged)}.")
