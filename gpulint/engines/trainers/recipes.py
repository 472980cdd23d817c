"""Recipes: the settings of a trainer's own recipes and default configurations, by name.

`catalog/tables/trainer_recipes.csv` has a row for each recipe of a release that states its training, and its network if it
has one. A default configuration has no network: the command names it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from gpulint.catalog import tables
from gpulint.catalog.architecture import builders
from gpulint.engines import Reading, trainers
from gpulint.engines.trainers import vocabulary
from gpulint.workload import Field, Origin, Value

SOURCE = "recipe "
"""The start of the source of each field that a recipe sets."""


def find_fields(trainer: str, recipe: str, origins: tuple[Origin, ...] = ()) -> Mapping[str, Field]:
    """Return what a recipe of a trainer's release sets, by quantity; nothing if it is not listed.

    >>> find_fields("torchtune", "llama3_2/1B_lora")["lora_rank"].value, find_fields("torchtune", "own/1B")
    (64, {})
    """
    row = _index().get((trainer, recipe))
    if row is None:
        return {}
    pairs = (part.strip().partition("=") for part in row["fields"].split(";"))
    source = f"{SOURCE}{recipe} ({row['source']})"
    fields = {name: Field(_read_value(text), origins, source) for name, _, text in pairs}
    if not row["checkpoint"]:
        return fields
    assumption = builders.explain(recipe.rpartition(":")[2], row["checkpoint"])
    return {"checkpoint": Field(row["checkpoint"], origins, source, assumption, basis="stated"), **fields}


def is_of_release(field: Field) -> bool:
    """Return whether a field has its value from a recipe or a default configuration."""
    return field.source.startswith(SOURCE)


def build_reading(
    trainer: str,
    started: trainers.Program,
    flags: Sequence[str],
    recipe: str,
    harmless: re.Pattern[str],
    own: Mapping[str, Field | None] | None = None,
) -> Reading | None:
    """Return a program with all settings of a recipe; None if it is not listed, or if a word may change what it keeps.

    `own` are fields of the trainer's module, which precede those of the recipe.
    """
    settings = find_fields(trainer, recipe, (started.word.origin,))
    if not settings or not lists_all(started, flags, harmless):
        return None
    given = {**settings, **{name: field for name, field in (own or {}).items() if field is not None}}
    found = trainers.build_reading(trainer, started, flags, given, vocabulary.DECIDING)
    return found._replace(open_ended=trainers.read_words(started.words, flags)[1])


def lists_all(started: trainers.Program, flags: Sequence[str], harmless: re.Pattern[str]) -> bool:
    """Return whether every flag and key of a command is in these tables, or does not change what a run keeps."""
    listed = trainers.load_rows(tuple(flags))
    return all(name in listed or harmless.fullmatch(name) for name in started.list_names())


@functools.cache
def _index() -> Mapping[tuple[str, str], tables.Row]:
    return {(row["trainer"], row["recipe"]): row for row in tables.rows("trainer_recipes")}


def _read_value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isdecimal() else text
