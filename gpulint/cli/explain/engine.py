"""Explain an engine or trainer: its arguments, their releases, the facts they declare, and defaults."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from gpulint import engines, units
from gpulint.catalog import capabilities, package_data
from gpulint.catalog import tables as catalog_tables
from gpulint.cli.explain import sources
from gpulint.cli.explain.parts import (
    Explanation,
    Listing,
    Part,
    Table,
    Text,
    drop_empty,
    make_sentence,
    render_reference,
    render_references,
)
from gpulint.engines.command_line import Grammar
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import Quantity, glossary
from gpulint.policy.rules import rule

VARIABLE = re.compile(r"(?=[A-Z0-9_]*_)[A-Z][A-Z0-9_]{4,}")
TRAINERS = "trainer_flags"
SCENARIOS = ("best", "expected", "worst")
SCENARIOS = ("best", "expected", "worst")


KINDS: Mapping[str, str] = {
    "bool": "`true` if present",
    "false": "`false` if present",
    "boolean": "true or false",
    "optional-value": "with or without a value",
    "int": "whole number",
    "human-int": "whole number, also as 4k",
    "from-zero": "whole number, also 0",
    "float": "number",
    "gib": "GiB",
    "string": "text",
    "dtype": "number format",
    "json": "JSON",
    "file": "file, or nothing",
    "letters": "names of matrices",
    "optimizer": "name of an optimizer",
    "sharding": "FSDP options",
    "unsettles": "makes the fact unknown",
}
"""Descriptions of the value types of arguments."""


class ArgumentRow(NamedTuple):
    """An argument or variable of an engine, the fact that it declares, and the releases that have it."""

    name: str
    field: str
    kind: str
    since: str
    until: str
    note: str
    source: str


@functools.cache
def explain(name: str) -> Explanation:
    """Return the explanation of an engine."""
    module = engines.modules()[name]
    purpose = getattr(module, "PURPOSE", "inference")
    summary, further = sources.summarise(module.__doc__ or "")
    parts: list[Part] = [Text(paragraph) for paragraph in further]
    parts.append(
        Listing(
            "How it is recognised",
            (f"by one of {_quote(module.MENTIONS)} in the image or command", *_releases(module)),
        )
    )
    parts += [*_describe_capabilities(name), *_arguments(name), *_variables(module), *_defaults(name), *_formulas(name)]
    parts += [*_list_fitted(name), *_rules(name), *_other_arguments(name)]
    return Explanation(make_slug(name), "engine", make_sentence(summary), (("", purpose),), tuple(parts))


def make_slug(name: str) -> str:
    """Return a module's name as users write it and as its page is called."""
    return name.replace("_", "-")


def make_title(name: str) -> str:
    """Return the official name of the engine: the first words of its module."""
    return (engines.modules()[name].__doc__ or name).partition(":")[0]


def find_module(name: str) -> str | None:
    """Return the module of an engine by any spelling: tensorrt-llm, tensorrt_llm, llama.cpp."""
    found = engines.module_name(name)
    return found if found in list_modules() else None


def list_modules() -> tuple[str, ...]:
    """Return the modules of all engines and trainers."""
    return tuple(sorted(package_data.list_mentions(engines.HERE)))


@functools.cache
def list_arguments(name: str) -> tuple[ArgumentRow, ...]:
    """Return the arguments and variables in an engine's tables."""
    folder = engines.HERE
    tables = sorted((folder / "serving").glob("*_flags.csv"))
    own = [file for file in tables if _belongs_to(file.stem.removesuffix("_flags"), name)]
    found = [_word(row) for file in own for row in _read(file)]
    told = sources.read_texts(package_data.file(engines.HERE, name)) if not own else frozenset()
    shared = (row for row in _read(folder / "trainers" / f"{TRAINERS}.csv") if row["trainer"] in told)
    return (*found, *(_word(row) for row in shared))


def _belongs_to(table: str, name: str) -> bool:
    return table == name or table.startswith(f"{name}_")


def _read(file: Path) -> list[Mapping[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _word(row: Mapping[str, str]) -> ArgumentRow:
    variable = row.get("environment", "")
    name = row.get("flag") or row["name"]
    told = (row.get(key, "") for key in ("field", "kind", "since", "until", "note", "source"))
    return ArgumentRow(f"{name}` / `{variable}" if variable else name, *told)


def _quote(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _releases(module: ModuleType) -> Iterator[str]:
    if oldest := getattr(module, "OLDEST_ASSUMED", None):
        yield f"an image without a release in its tag is assumed to be {_render_release(oldest)} or later"
    for grammar in (member for member in vars(module).values() if isinstance(member, Grammar)):
        if grammar.newest:
            yield f"its arguments are known up to release {_render_release(grammar.newest)}"


def _render_release(release: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in release)


def _arguments(name: str) -> Iterator[Part]:
    listed = list_arguments(name)
    stating = tuple(
        (f"`{word.name}`", _render_fact(word), _value(word), render_releases(word.since, word.until), word.note)
        for word in listed
        if word.field
    )
    if stating:
        head = ("argument or variable", "fact", "value", "releases", "note")
        yield drop_empty(Table("Arguments that declare a fact", head, stating))
        if any(word.field and word.field not in glossary() for word in listed):
            yield Text("A name in italics is not a fact: the engine derives facts from several such settings.")


def _other_arguments(name: str) -> Iterator[Part]:
    listed = list_arguments(name)
    others = tuple(
        (f"`{word.name}`", _value(word), render_releases(word.since, word.until), word.note)
        for word in listed
        if not word.field
    )
    if others:
        known = "Other known arguments, listed to detect misspelt ones"
        head = ("argument or variable", "value", "releases", "note")
        yield drop_empty(Table(known, head, others, page_only=True))
    if read := tuple(dict.fromkeys(word.source for word in listed)):
        yield Listing("Sources of the arguments", read)


def _value(word: ArgumentRow) -> str:
    """Return a description of an argument's value."""
    kind, _, stated = word.kind.partition(":")
    there, _, otherwise = stated.partition("|")
    if kind == "switch":
        return f"`{there}` if present"
    if kind == "boolean" and (there, otherwise) != ("true", "false"):
        return f"`{there}` if true" + (f", `{otherwise}` if false" if otherwise else "")
    return KINDS.get(kind, kind)


def _render_fact(word: ArgumentRow) -> str:
    return render_reference("fact", word.field) if word.field in glossary() else f"*{word.field}*"


def render_releases(since: str, until: str) -> str:
    """Return the first release and the release before which it ends."""
    return " ".join(filter(None, (since and f"since {since}", until and f"before {until}")))


def _variables(module: ModuleType) -> Iterator[Part]:
    files = [package_data.file(engines.HERE, module.__name__.rpartition(".")[2])]
    files += [file for file in files[0].parent.glob("*_settings.py") if file.stem.startswith(files[0].stem)]
    found = {word for file in files for word in sources.read_texts(file) if VARIABLE.fullmatch(word)}
    found -= {word.name for word in list_arguments(files[0].stem)}
    if found:
        yield Listing("Environment variables that gpulint reads", (_quote(tuple(sorted(found))),))


def _defaults(name: str) -> Iterator[Part]:
    rows = tuple(
        (
            render_reference("fact", row["field"]),
            row["condition"],
            render_value(row["value"], glossary()[row["field"]]),
            render_releases(row["since"], row["until"]),
            f"{row['source']} ({row['date']})",
        )
        for row in catalog_tables.rows("engine_defaults")
        if engines.module_name(row["engine"]) == name
    )
    if rows:
        yield drop_empty(Table("Defaults", ("fact", "condition", "value", "releases", "source"), rows))


def render_value(cell: str, quantity: Quantity) -> str:
    """Return a table cell in readable form. `=name` is the value of that fact."""
    if cell.startswith("="):
        return f"the value of {render_reference('fact', cell[1:])}"
    return units.human(float(cell), quantity.unit) if quantity.type == "number" else cell


def _formulas(name: str) -> Iterator[Part]:
    rows = tuple(
        (render_reference("fact", fact), sources.summarise(formula.__doc__ or "")[0])
        for fact, formula in find_formulas(name).items()
    )
    if rows:
        yield Table("Facts with a formula of its own", ("fact", "formula"), rows)


def _list_fitted(name: str) -> Iterator[Part]:
    rows = tuple(
        (
            render_reference("fact", row["name"]),
            row["condition"],
            render_releases(row["since"], row["until"]),
            *_scenarios(row),
        )
        for row in catalog_tables.rows("fitted")
        if row["engine"] and engines.module_name(row["engine"]) == name
    )
    if rows:
        head = ("fact", "condition", "releases", *SCENARIOS)
        yield Table("Measured or assumed terms in three scenarios", head, rows, page_only=True)


def _scenarios(row: catalog_tables.Row) -> tuple[str, ...]:
    quantity = glossary()[row["name"]]
    return tuple(render_value(row[scenario], quantity) for scenario in SCENARIOS)


def _describe_capabilities(name: str) -> Iterator[Part]:
    """What an engine does, by its row, as general rules ask for it."""
    row = _find_row(name)
    done = [f"`{word}`: {meaning}" for word, meaning in capabilities.MEANINGS.items() if row and row[word] == "yes"]
    if row and done:
        yield Listing("What it does", (*done, f"Source: {row['source']} ({row['date']})"))


def _find_row(name: str) -> catalog_tables.Row | None:
    return next(
        (row for row in catalog_tables.rows(capabilities.TABLE) if engines.module_name(row["engine"]) == name), None
    )


def _rules(name: str) -> Iterator[Part]:
    every = rule.load_shipped().values()
    found = sorted(known.name for known in every if name in map(engines.module_name, known.target.engine))
    if found:
        yield Listing("Rules that name it", (render_references("rule", tuple(found)),))
    row = _find_row(name)
    asking = sorted(one.name for one in every if row and one.target.does and one.target.includes_engine(row["engine"]))
    if asking:
        yield Listing("Rules that ask for what it does", (render_references("rule", tuple(asking)),))
