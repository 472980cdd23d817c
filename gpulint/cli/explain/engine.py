"""An engine or trainer, explained: its words, the releases whose arguments are listed, what states what, and its defaults."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from gpulint import engines, units
from gpulint.catalog import package_data as shipped
from gpulint.catalog import tables as catalog
from gpulint.cli.explain import sources
from gpulint.cli.explain.parts import Explanation, Listing, Part, Table, Text, filled, reference, references, sentence
from gpulint.engines.command_line import Grammar
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import Quantity, glossary
from gpulint.policy.rules import rule

VARIABLE = re.compile(r"(?=[A-Z0-9_]*_)[A-Z][A-Z0-9_]{4,}")
TRAINERS = "trainer_flags"
WORLDS = ("favourable", "likely", "adverse")


KINDS: Mapping[str, str] = {
    "bool": "`true` where it is there",
    "false": "`false` where it is there",
    "boolean": "true or false",
    "optional-value": "with or without a value",
    "int": "whole number",
    "human-int": "whole number, also 4k",
    "from-zero": "whole number, also 0",
    "float": "number",
    "gib": "GiB",
    "string": "text",
    "dtype": "number format",
    "json": "JSON",
    "file": "file, or nothing",
    "letters": "names of matrices",
    "optimizer": "name of an optimizer",
    "sharding": "words of FSDP",
    "unsettles": "makes it unknown",
}
"""How the value of an argument is read, in words where the table's own need one."""


class Word(NamedTuple):
    """An argument or variable of an engine, the quantity that it states, and the releases that have it."""

    name: str
    field: str
    kind: str
    since: str
    until: str
    note: str
    source: str


@functools.cache
def explained(name: str) -> Explanation:
    """The engine that a module of this name reads."""
    module = engines.modules()[name]
    purpose = getattr(module, "PURPOSE", "inference")
    summary, further = sources.told(module.__doc__ or "")
    parts: list[Part] = [Text(one) for one in further]
    parts.append(
        Listing(
            "How it is told", (f"by one of {_quoted(module.MENTIONS)} in the image or the command", *_releases(module))
        )
    )
    parts += [*_arguments(name), *_variables(module), *_defaults(name), *_formulas(name)]
    parts += [*_fitted(name), *_rules(name), *_other_arguments(name)]
    return Explanation(slug(name), "engine", sentence(summary), (("", purpose),), tuple(parts))


def slug(name: str) -> str:
    """A module's name as people write it, and as its page is called."""
    return name.replace("_", "-")


def title(name: str) -> str:
    """What the maker calls the engine: the first words of its module."""
    return (engines.modules()[name].__doc__ or name).partition(":")[0]


def named(name: str) -> str | None:
    """The module of an engine by any of its spellings: tensorrt-llm, tensorrt_llm, llama.cpp."""
    found = engines.module_name(name)
    return found if found in modules() else None


def modules() -> tuple[str, ...]:
    """Every engine and trainer, by its module."""
    return tuple(sorted(shipped.mentions(engines.HERE)))


@functools.cache
def arguments(name: str) -> tuple[Word, ...]:
    """The arguments and variables that an engine's tables list."""
    folder = engines.HERE
    own = [
        file
        for file in sorted((folder / "serving").glob("*_flags.csv"))
        if _is_of(file.stem.removesuffix("_flags"), name)
    ]
    found = [_word(row) for file in own for row in _read(file)]
    told = sources.texts(shipped.file(engines.HERE, name)) if not own else frozenset()
    shared = (row for row in _read(folder / "trainers" / f"{TRAINERS}.csv") if row["trainer"] in told)
    return (*found, *(_word(row) for row in shared))


def _is_of(table: str, name: str) -> bool:
    return table == name or table.startswith(f"{name}_")


def _read(file: Path) -> list[Mapping[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _word(row: Mapping[str, str]) -> Word:
    variable = row.get("environment", "")
    name = row.get("flag") or row["name"]
    told = (row.get(key, "") for key in ("field", "kind", "since", "until", "note", "source"))
    return Word(f"{name}` / `{variable}" if variable else name, *told)


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _releases(module: ModuleType) -> Iterator[str]:
    if oldest := getattr(module, "OLDEST_ASSUMED", None):
        yield f"an image whose tag tells no release is taken for {_dotted(oldest)} or later"
    for grammar in (one for one in vars(module).values() if isinstance(one, Grammar)):
        if grammar.newest:
            yield f"its arguments are listed up to release {_dotted(grammar.newest)}"


def _dotted(release: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in release)


def _arguments(name: str) -> Iterator[Part]:
    listed = arguments(name)
    stating = tuple(
        (f"`{word.name}`", _stated(word), _value(word), releases(word.since, word.until), word.note)
        for word in listed
        if word.field
    )
    if stating:
        head = ("argument or variable", "states", "value", "releases", "note")
        yield filled(Table("Arguments that state something", head, stating))
        if any(word.field and word.field not in glossary() for word in listed):
            yield Text(
                "A name in italics is no fact: several such settings together make facts, by the engine's rules."
            )


def _other_arguments(name: str) -> Iterator[Part]:
    listed = arguments(name)
    others = tuple(
        (f"`{word.name}`", _value(word), releases(word.since, word.until), word.note)
        for word in listed
        if not word.field
    )
    if others:
        known = "Other arguments that are known, so that a misspelt one is told from them"
        head = ("argument or variable", "value", "releases", "note")
        yield filled(Table(known, head, others, page_only=True))
    if read := tuple(dict.fromkeys(word.source for word in listed)):
        yield Listing("The arguments were read from", read)


def _value(word: Word) -> str:
    """How the value of an argument is read, in words."""
    kind, _, stated = word.kind.partition(":")
    there, _, otherwise = stated.partition("|")
    if kind == "switch":
        return f"`{there}` where it is there"
    if kind == "boolean" and (there, otherwise) != ("true", "false"):
        return f"`{there}` where it is true" + (f", `{otherwise}` where it is false" if otherwise else "")
    return KINDS.get(kind, kind)


def _stated(word: Word) -> str:
    return reference("fact", word.field) if word.field in glossary() else f"*{word.field}*"


def releases(since: str, until: str) -> str:
    """Since which release, and until before which."""
    return " ".join(filter(None, (since and f"since {since}", until and f"before {until}")))


def _variables(module: ModuleType) -> Iterator[Part]:
    files = [shipped.file(engines.HERE, module.__name__.rpartition(".")[2])]
    files += [file for file in files[0].parent.glob("*_settings.py") if file.stem.startswith(files[0].stem)]
    found = {word for file in files for word in sources.texts(file) if VARIABLE.fullmatch(word)}
    found -= {word.name for word in arguments(files[0].stem)}
    if found:
        yield Listing("Environment variables that it looks at", (_quoted(tuple(sorted(found))),))


def _defaults(name: str) -> Iterator[Part]:
    rows = tuple(
        (
            reference("fact", row["field"]),
            row["condition"],
            value(row["value"], glossary()[row["field"]]),
            releases(row["since"], row["until"]),
            f"{row['source']} ({row['date']})",
        )
        for row in catalog.rows("engine_defaults")
        if engines.module_name(row["engine"]) == name
    )
    if rows:
        yield filled(Table("Defaults", ("fact", "where", "value", "releases", "source"), rows))


def value(cell: str, quantity: Quantity) -> str:
    """A table's cell as people read it; `=name` is the value of that fact."""
    if cell.startswith("="):
        return f"that of {reference('fact', cell[1:])}"
    return units.human(float(cell), quantity.unit) if quantity.type == "number" else cell


def _formulas(name: str) -> Iterator[Part]:
    rows = tuple(
        (reference("fact", fact), sources.told(formula.__doc__ or "")[0])
        for fact, formula in find_formulas(name).items()
    )
    if rows:
        yield Table("Facts that are computed for it in a way of its own", ("fact", "formula"), rows)


def _fitted(name: str) -> Iterator[Part]:
    rows = tuple(
        (reference("fact", row["name"]), row["condition"], releases(row["since"], row["until"]), *_worlds(row))
        for row in catalog.rows("fitted")
        if row["engine"] and engines.module_name(row["engine"]) == name
    )
    if rows:
        head = ("fact", "where", "releases", *WORLDS)
        yield Table("Terms that were measured or assumed for it, in three worlds", head, rows, page_only=True)


def _worlds(row: catalog.Row) -> tuple[str, ...]:
    quantity = glossary()[row["name"]]
    return tuple(value(row[world], quantity) for world in WORLDS)


def _rules(name: str) -> Iterator[Part]:
    every = rule.shipped_rules().values()
    found = sorted(one.name for one in every if name in map(engines.module_name, one.target.engine))
    if found:
        yield Listing("Rules that name it", (references("rule", tuple(found)),))
