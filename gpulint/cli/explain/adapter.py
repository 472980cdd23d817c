"""Explain an adapter: its documents, the keys it reads, and the facts that each declares."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from gpulint import adapters
from gpulint.catalog import package_data, tables
from gpulint.cli.explain import rule, seen, sources
from gpulint.cli.explain.parts import (
    Code,
    Explanation,
    Listing,
    Part,
    Table,
    Text,
    make_sentence,
    render_reference,
    render_references,
)
from gpulint.facts.glossary import glossary

PACKAGE = "gpulint.adapters"
DOCUMENTS: Mapping[str, str] = {
    "object": "objects of an API",
    "plain": "YAML, JSON and TOML without an apiVersion",
    "template": "templates",
    "shell": "scripts",
    "hcl": "Terraform's language",
    "slurm": "Slurm's settings",
    "pbtxt": "protobuf text",
    "python": "Python programs",
    "notebook": "notebooks",
}
"""Descriptions of the formats that an adapter `READS`."""


@functools.cache
def explain(name: str) -> Explanation:
    """Return the explanation of an adapter."""
    module = importlib.import_module(f"{PACKAGE}.{package_data.modules(adapters.HERE)[name]}")
    summary, further = sources.summarise(module.__doc__ or "")
    reads = getattr(module, "READS", adapters.OBJECTS)
    parts: list[Part] = [Text(paragraph) for paragraph in further]
    words = ", ".join(f"`{word}`" for word in module.MENTIONS)
    parts.append(Listing("Considered if the text contains one of", (words,)))
    parts += [
        *_list_kinds(module),
        *_sample(name),
        *_keys(name),
        *_list_locations(name),
        *_list_own_facts(name),
        *_list_added(module),
        *_list_changed(name),
    ]
    parts.append(
        Listing("See", (f"{render_reference('page', 'formats')}: what is merged with it, and what is not read",))
    )
    marks = [("reads", ", ".join(DOCUMENTS.get(format_, format_) for format_ in reads))]
    if configured := getattr(module, "ENGINE", ""):
        marks.append(("configures", render_reference("engine", configured)))
    return Explanation(name, "adapter", make_sentence(summary), tuple(marks), tuple(parts))


def list_names() -> tuple[str, ...]:
    """Return the names of all adapters."""
    return tuple(sorted(package_data.list_mentions(adapters.HERE)))


def list_kinds(module: ModuleType) -> tuple[tuple[str, str], ...]:
    """Return the groups and kinds that an adapter of objects names."""
    named = (*getattr(module, "KINDS_READ", ()), *getattr(module, "KINDS", ()))
    return tuple(sorted(kind for kind in named if isinstance(kind, tuple) and len(kind) == 2))


@functools.cache
def list_shared_keys() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """Return the modules that adapters share: a description, and the facts they declare."""
    formats = {_file(name) for name in list_names()}
    files = [
        file for file in sorted(adapters.HERE.rglob("*.py")) if file not in formats and file.parent != adapters.HERE
    ]
    return {
        package_data.name_module(file, adapters.HERE): (
            sources.summarise(sources.read_docstring(file))[0],
            find_declaring(file),
        )
        for file in files
        if find_declaring(file)
    }


def find_declaring(file: Path) -> tuple[str, ...]:
    """Return the facts that a module declares, by the keys under which it stores values."""
    return tuple(sorted(name for name in sources.read_keys(file) if name in glossary()))


def _file(name: str) -> Path:
    return package_data.file(adapters.HERE, name)


def _list_kinds(module: ModuleType) -> Iterator[Part]:
    if named := list_kinds(module):
        yield Listing("Kinds", tuple(f"`{group}/{kind}`" if group else f"`{kind}`" for group, kind in named))


def _keys(name: str) -> Iterator[Part]:
    """Yield the keys of `catalog/setting_keys.csv` for the formats of the adapter."""
    named = sources.read_passed_keys(_file(name), "stated")
    listed = [row for row in tables.rows("setting_keys") if row["format"] in named]
    stating = [row for row in listed if row["quantity"] in glossary()]
    if stating:
        rows = tuple((f"`{row['key']}`", render_reference("fact", row["quantity"])) for row in stating)
        yield Table("Keys that declare a fact", ("key", "fact"), rows)
        yield Listing("Sources of the keys", tuple(dict.fromkeys(f"{row['source']} ({row['date']})" for row in listed)))


def _sample(name: str) -> Iterator[Part]:
    if text := seen.find_sample(name):
        yield Code("Minimal example", text, rule.read_language(seen.render_path(name, text)))


def _list_locations(name: str) -> Iterator[Part]:
    rows = tuple((f"`{path}`", render_references("fact", stated)) for path, stated in seen.list_locations(name).items())
    if rows:
        yield Table("Locations of facts, in the example and in rule samples", ("location", "facts"), rows)


def _list_own_facts(name: str) -> Iterator[Part]:
    if own := find_declaring(_file(name)):
        yield Listing("Facts declared by its code, not by a table", (render_references("fact", own),))
    beside = list_shared_keys()
    used = [one for one in sources.list_imported(_file(name), PACKAGE) if one in beside]
    if used:
        title = "Parts shared with other formats"
        yield Table(title, ("part", "reads", "facts"), tuple(_make_row(one, *beside[one]) for one in used))


def _make_row(name: str, knows: str, stated: tuple[str, ...]) -> tuple[str, str, str]:
    return name, knows, render_references("fact", stated)


def _list_added(module: ModuleType) -> Iterator[Part]:
    """Yield what the controllers of its kinds add to pods by default."""
    named = set(list_kinds(module))
    rows = tuple(
        ("/".join(filter(None, (row["group"], row["kind"]))), row["quantity"], row["value"], row["source"])
        for row in tables.rows("operators")
        if (row["group"], row["kind"]) in named
    )
    if rows:
        yield Table("What the kind's controller adds", ("kind", "fact", "value", "source"), rows)


def _list_changed(name: str) -> Iterator[Part]:
    """Yield keys that releases renamed or removed, for the formats of the adapter."""
    named = sources.read_passed_keys(_file(name), "stated")
    rows = tuple(
        (f"`{row['key']}`", f"`{row['instead']}`" if row["instead"] else "", row["effect"], row["source"])
        for row in tables.rows("setting_changes")
        if row["format"] in named
    )
    if rows:
        yield Table("Keys of earlier releases", ("key", "now", "effect", "source"), rows)
