"""An adapter, explained: the documents it is for, the keys it reads with the fact that each states, and where that is seen."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from gpulint import adapters
from gpulint.catalog import package_data as shipped
from gpulint.catalog import tables as catalog
from gpulint.cli.explain import rule, seen, sources
from gpulint.cli.explain.parts import Code, Explanation, Listing, Part, Table, Text, reference, references, sentence
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
}
"""What an adapter `READS`, in words."""


@functools.cache
def explained(name: str) -> Explanation:
    """The adapter of this name."""
    module = importlib.import_module(f"{PACKAGE}.{shipped.modules(adapters.HERE)[name]}")
    summary, further = sources.told(module.__doc__ or "")
    reads = getattr(module, "READS", adapters.OBJECTS)
    parts: list[Part] = [Text(one) for one in further]
    words = ", ".join(f"`{word}`" for word in module.MENTIONS)
    parts.append(Listing("Tried where one of these stands in the text", (words,)))
    parts += [
        *_kinds(module),
        *_sample(name),
        *_keys(name),
        *_seen(name),
        *_stated(name),
        *_added(module),
        *_changed(name),
    ]
    parts.append(Listing("See", (f"{reference('page', 'formats')}: what is joined with it, and what is left alone",)))
    marks = [("reads", ", ".join(DOCUMENTS.get(one, one) for one in reads))]
    if configured := getattr(module, "ENGINE", ""):
        marks.append(("configures", reference("engine", configured)))
    return Explanation(name, "adapter", sentence(summary), tuple(marks), tuple(parts))


def names() -> tuple[str, ...]:
    """Every adapter."""
    return tuple(sorted(shipped.mentions(adapters.HERE)))


def kinds_of(module: ModuleType) -> tuple[tuple[str, str], ...]:
    """The groups and kinds that an adapter of objects names."""
    named = (*getattr(module, "KINDS_READ", ()), *getattr(module, "KINDS", ()))
    return tuple(sorted(one for one in named if isinstance(one, tuple) and len(one) == 2))


@functools.cache
def shared() -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """The modules that adapters share: what each knows, and the facts that it states."""
    known = {_file(name) for name in names()}
    files = [file for file in sorted(adapters.HERE.rglob("*.py")) if file not in known and file.parent != adapters.HERE]
    return {
        shipped.dotted(file, adapters.HERE): (sources.told(sources.docstring(file))[0], stating(file))
        for file in files
        if stating(file)
    }


def stating(file: Path) -> tuple[str, ...]:
    """The facts that a module states, by the keys that it puts values under."""
    return tuple(sorted(name for name in sources.keys(file) if name in glossary()))


def _file(name: str) -> Path:
    return shipped.file(adapters.HERE, name)


def _kinds(module: ModuleType) -> Iterator[Part]:
    if named := kinds_of(module):
        yield Listing("Kinds", tuple(f"`{group}/{kind}`" if group else f"`{kind}`" for group, kind in named))


def _keys(name: str) -> Iterator[Part]:
    """The keys of `catalog/setting_keys.csv` that are for the formats that the adapter names."""
    named = sources.handed(_file(name), "stated")
    listed = [row for row in catalog.rows("setting_keys") if row["format"] in named]
    stating = [row for row in listed if row["quantity"] in glossary()]
    if stating:
        rows = tuple((f"`{row['key']}`", reference("fact", row["quantity"])) for row in stating)
        yield Table("Keys that state a fact", ("key", "states"), rows)
        yield Listing(
            "The keys were read from", tuple(dict.fromkeys(f"{row['source']} ({row['date']})" for row in listed))
        )


def _sample(name: str) -> Iterator[Part]:
    if text := seen.sample(name):
        yield Code("A small one", text, rule.language(seen.path_of(name, text)))


def _seen(name: str) -> Iterator[Part]:
    rows = tuple((f"`{path}`", references("fact", stated)) for path, stated in seen.places(name).items())
    if rows:
        yield Table("Where facts are stated, in it and in the samples of rules", ("place", "states"), rows)


def _stated(name: str) -> Iterator[Part]:
    if own := stating(_file(name)):
        yield Listing("Facts that it states by itself, not by a table", (references("fact", own),))
    beside = shared()
    used = [one for one in sources.imported(_file(name), PACKAGE) if one in beside]
    if used:
        title = "What it reads with parts that several formats share"
        yield Table(title, ("part", "knows", "states"), tuple(_part(one, *beside[one]) for one in used))


def _part(name: str, knows: str, stated: tuple[str, ...]) -> tuple[str, str, str]:
    return name, knows, references("fact", stated)


def _added(module: ModuleType) -> Iterator[Part]:
    """What the controllers of its kinds add to pods unasked."""
    named = set(kinds_of(module))
    rows = tuple(
        ("/".join(filter(None, (row["group"], row["kind"]))), row["quantity"], row["value"], row["source"])
        for row in catalog.rows("operators")
        if (row["group"], row["kind"]) in named
    )
    if rows:
        yield Table("What the kind's controller adds", ("kind", "what", "value", "source"), rows)


def _changed(name: str) -> Iterator[Part]:
    """Keys that releases renamed or removed, of the formats that the adapter names."""
    named = sources.handed(_file(name), "stated")
    rows = tuple(
        (f"`{row['key']}`", f"`{row['instead']}`" if row["instead"] else "", row["effect"], row["source"])
        for row in catalog.rows("setting_changes")
        if row["format"] in named
    )
    if rows:
        yield Table("Keys of earlier releases", ("key", "now", "effect", "source"), rows)
