"""Arguments: a command line parsed by the table of an engine's flags, `<engine>_flags.csv`."""

from __future__ import annotations

import bisect
import csv
import functools
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import package_data, slips, tables
from gpulint.engines import Argument
from gpulint.workload import Field, Origin, Unknown, Value, gather

Release = tuple[int, ...] | None
UNSPLIT = "unsplit"
"""The kind of an argument whose flag and value stand in one word, which parsers refuse."""
AUTOMATIC = frozenset({"auto", "-1"})
FITTED = "max_model_len"
"""The quantity that engines choose by themselves where a word or -1 stands in place of the number."""
NUMBERS = frozenset({"int", "human-int", "float", "gib"})
VALUED = NUMBERS | {"string", "json"}
"""Kinds that take a value always."""
SHARES = frozenset({"gpu_memory_utilization", "static_memory_fraction", "kv_cache_free_fraction"})
FROM_ZERO = re.compile(r"_bytes$|_s$|^(?:gpu_layers|redundant_experts|draft_tokens|max_loras)$")


class Flag(NamedTuple):
    """A row of a flag table: its quantity, how its value is read, the releases that have it, and what replaces it.

    Kinds: bool (present: true), false (present: false), optional-value, int, human-int (4k), float, gib (a number of GiB),
    string, list, json. A field that is no quantity of the glossary is for the engine's module alone.
    """

    name: str
    field: str
    kind: str
    since: str = ""
    until: str = ""
    instead: str = ""


class ParsedArgument(NamedTuple):
    """One argument of a command: its flag, the word that names it, and the word that holds its
    value.
    """

    flag: Flag
    word: Argument
    value: Argument | None

    @property
    def spelling(self) -> str:
        """Return the flag as written, without a value."""
        return (self.word.flag or self.word.text or "").partition("=")[0]


class Grammar(NamedTuple):
    """How an engine's parser splits words: what a bare word sets, which spellings it accepts, and
    the newest release whose arguments are listed.
    """

    engine: str
    positional: str = ""
    abbreviations: bool = True
    underscores: bool = True
    newest: tuple[int, ...] = ()


@functools.cache
def flags(engine: str) -> Mapping[str, Flag]:
    """Return every known spelling of an engine's arguments."""
    with (Path(__file__).parent / "serving" / f"{engine}_flags.csv").open(encoding="utf-8", newline="") as file:
        rows = tuple(csv.DictReader(file))
    columns = ("flag", *Flag._fields[1:])
    return {row["flag"]: Flag(*(row.get(column, "") for column in columns)) for row in rows}


def parse(words: Sequence[Argument], grammar: Grammar, release: Release = None) -> tuple[list[ParsedArgument], str]:
    """Return the arguments in order, and the reason if there may be more than can be read."""
    stated: list[ParsedArgument] = []
    open_ended = ""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.text is None and not word.flag:
            open_ended = open_ended or word.why or "an argument cannot be read"
            continue
        name, has_value, _ = (f"{word.flag}=" if word.text is None else word.text).partition("=")
        if not name.startswith("-"):
            stated.append(ParsedArgument(Flag("", grammar.positional, "string"), word, word))
        elif " " in name.strip() and word.origin.span is None:
            field = find_flag(name.split()[0], grammar, release).field
            stated.append(ParsedArgument(Flag(name, field, UNSPLIT), word, word))
        else:
            flag = find_flag(name, grammar, release)
            taken = 0 if has_value else _count_values(flag, words, at)
            value = _drop_key(word) if has_value else words[at] if taken else None
            stated.append(ParsedArgument(flag, word, value))
            at += taken
    return stated, open_ended


def find_flag(name: str, grammar: Grammar, release: Release = None) -> Flag:
    """Return the flag of a spelling: exact, with underscores, or as an unambiguous prefix. An
    unlisted flag has no kind.
    """
    spelling = name.replace("_", "-") if grammar.underscores and name.startswith("--") else name
    known = flags(grammar.engine)
    if found := known.get(spelling) or known.get(name):
        return found
    if "." in spelling and (dotted := known.get(spelling.split(".", 1)[0])):
        return Flag(dotted.name, dotted.field, "part")
    if not grammar.abbreviations or not spelling.startswith("--"):
        return Flag(spelling, "", "")
    starting = {flag for flag in _list_starting(spelling, grammar.engine) if is_in_release(flag, release)}
    meant = {flag.field or flag.name for flag in starting}
    return min(starting) if len(meant) == 1 else Flag(spelling, "", "")


def _list_starting(prefix: str, engine: str) -> Iterator[Flag]:
    """Yield the arguments of which a spelling starts with a prefix."""
    known, spellings = flags(engine), _sort_spellings(engine)
    starting = itertools.islice(spellings, bisect.bisect_left(spellings, prefix), None)
    return (known[name] for name in itertools.takewhile(lambda name: name.startswith(prefix), starting))


@functools.cache
def _sort_spellings(engine: str) -> Sequence[str]:
    return sorted(flags(engine))


def is_in_release(flag: Flag, release: Release) -> bool:
    """Return whether a release has a flag; for an unknown release, whether any release may have it."""
    return release is None or tables.is_in_version({"since": flag.since, "until": flag.until}, release)


def _count_values(flag: Flag, words: Sequence[Argument], start: int) -> int:
    """Return how many words from `start` on are values of a flag."""
    if flag.kind in ("bool", "false"):
        return 0
    end = len(words) if flag.kind == "list" else min(start + 1, len(words))
    return next((at for at in range(start, end) if _names_flag(words[at])), end) - start


def _names_flag(word: Argument) -> bool:
    if word.text is None:
        return bool(word.flag)
    return word.text.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", word.text)


def _drop_key(word: Argument) -> Argument:
    return word if word.text is None else word._replace(text=word.text.partition("=")[2])


# ---- fields


def read_fields(stated: Iterable[ParsedArgument]) -> dict[str, Field]:
    """Return fields by quantity. If an argument occurs twice, the last one decides."""
    found: dict[str, Field] = {}
    for argument in stated:
        if argument.flag.kind == UNSPLIT:
            found["unsplit_argument"] = Field(argument.word.text, find_origins(argument.word))
            if len(parts := (argument.word.text or "").split()) == 2 and parts[0].startswith("--"):
                found["joined_argument"] = Field("=".join(parts))
            if argument.flag.field:
                found[argument.flag.field] = Field(
                    Unknown(f"{argument.word.text} is passed as a single word"), find_origins(argument.word)
                )
        elif argument.flag.field:
            found[argument.flag.field] = read_field(argument)
    return found


def select_glossary_fields(found: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields that are quantities of the glossary. The others were for the engine's
    module.
    """
    return {name: value for name, value in found.items() if name in package_data.load_glossary()}


def read_field(one: ParsedArgument) -> Field:
    """Return the value of an argument, read as its kind. A value that cannot be read is unknown."""
    flag, value = one.flag, one.value
    if flag.kind == "part":
        return Field(Unknown("its value is set in several parts"), find_origins(value))
    if value is None and flag.kind in VALUED:
        return Field(Unknown(f"{flag.name} has no value"), find_origins(one.word))
    if value is None:
        return Field(flag.kind != "false", find_origins(one.word))
    if value.text is None:
        return Field(Unknown(value.why or "its value cannot be read", value.category), find_origins(value))
    try:
        read = _value(flag.kind, value.text)
    except ValueError:
        return Field(Unknown(f"{value.text} is not a number"), find_origins(value))
    if read in AUTOMATIC and flag.kind == "human-int" and flag.field != FITTED:
        return Field(Unknown(f"{value.text} cannot be"), find_origins(value))
    if isinstance(read, str) and package_data.load_glossary().get(flag.field, {}).get("type") == "flag":
        return Field(Unknown(f"{value.text} is neither true nor false"), find_origins(value))
    if isinstance(read, int | float) and not isinstance(read, bool) and not _is_possible(flag.field, read):
        return Field(Unknown(f"{value.text} cannot be"), find_origins(value))
    return Field(read, find_origins(value))


def _is_possible(name: str, value: float) -> bool:
    """Return whether engines accept a number: counts from 1, shares up to 1, sizes from 0."""
    if name in SHARES:
        return 0 < value <= 1
    return value >= (0 if FROM_ZERO.search(name) else 1)


def _value(kind: str, text: str) -> Value:
    if kind == "int":
        return int(text)
    if kind == "human-int":
        return text if text in AUTOMATIC else units.human_int(text)
    if kind in ("float", "gib"):
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(text)
        return round(number * units.GIB) if kind == "gib" else number
    if kind in ("bool", "false", "optional-value") and text.lower() in ("true", "false", "1", "0"):
        return (text.lower() in ("true", "1")) is (kind != "false")
    return text


def find_origins(value: Argument | None) -> tuple[Origin, ...]:
    """Return the locations of a value, first the source of its variable. A location in another file
    follows the reference.
    """
    if value is None:
        return ()
    if value.behind is None:
        return (value.origin,)
    elsewhere = value.behind.document.path != value.origin.document.path
    return (value.origin, value.behind) if elsewhere else (value.behind, value.origin)


def parse_json_object(text: str | None) -> Mapping[str, object] | None:
    """Return the object in a JSON-valued argument; None if it is not an object."""
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


# ---- arguments that a release does not have


def find_notices(stated: Iterable[ParsedArgument], grammar: Grammar, release: Release) -> dict[str, Field]:
    """Return the arguments that no release has, that this one lacks, that were removed, that are
    abbreviated, and that have an invalid value.
    """
    return gather(_list_notices(stated, grammar, release))


def _list_notices(stated: Iterable[ParsedArgument], grammar: Grammar, release: Release) -> Iterator[dict[str, Field]]:
    for argument in stated:
        if argument.flag.kind in (UNSPLIT, "part") or not argument.flag.name:
            continue
        if _is_refused(argument):
            yield {"impossible_argument": Field(_quote_argument(argument), find_origins(argument.value))}
        elif argument.flag.kind in NUMBERS and argument.value is None:
            yield {"impossible_argument": Field(f"{argument.spelling} without a number", find_origins(argument.word))}
        if name := _notice(argument, grammar, release):
            notice = {name: Field(argument.spelling, find_origins(argument.word))}
            yield notice | _describe_notice(name, argument, grammar, release)


def _describe_notice(name: str, argument: ParsedArgument, grammar: Grammar, release: Release) -> dict[str, Field]:
    """Return what helps with an argument: its full name, the one that it means, or when it came and went."""
    flag = argument.flag
    if name == "abbreviated_argument":
        return {"full_argument": Field(flag.name)}
    if name in ("unknown_argument", "misspelt_argument"):
        near = _find_nearest(argument.spelling, grammar, release)
        return {"nearest_argument": Field(near, source="the arguments of the release")} if near else {}
    before = (
        release is not None and flag.since and not tables.is_in_version({"since": flag.since, "until": ""}, release)
    )
    change = f"added in {flag.since}" if before else f"removed in {flag.until}"
    return {"argument_change": Field(change + (f"; use {flag.instead} instead" if flag.instead and not before else ""))}


def _find_nearest(spelling: str, grammar: Grammar, release: Release) -> str:
    """Return the release's argument that an unknown one probably misspells; empty if none is similar."""
    import difflib

    usable = [name for name, flag in flags(grammar.engine).items() if is_in_release(flag, release)]
    return next(iter(difflib.get_close_matches(spelling, usable, n=1, cutoff=0.8)), "")


def _is_misspelt(spelling: str, grammar: Grammar) -> bool:
    """Return whether an argument that no listed release has differs by a typing error from one that they have."""
    usable = [name for name, flag in flags(grammar.engine).items() if not flag.until]
    return bool(slips.find_nearest(spelling.removeprefix("--"), (name.removeprefix("--") for name in usable)))


def _notice(one: ParsedArgument, grammar: Grammar, release: Release) -> str:
    if not one.flag.kind:
        if release is not None and release <= grammar.newest:
            return "unknown_argument"
        return "misspelt_argument" if _is_misspelt(one.spelling, grammar) else ""
    if release is not None and not is_in_release(one.flag, release):
        return "unavailable_argument"
    if release is None and one.flag.until:
        return "removed_argument"
    spelling = one.spelling.replace("_", "-") if grammar.underscores else one.spelling
    return "abbreviated_argument" if len(spelling) < len(one.flag.name) and spelling.startswith("--") else ""


def _is_refused(one: ParsedArgument) -> bool:
    """Return whether the argument rejects a readable value. A switch takes no value at all."""
    if one.value is None or one.value.text is None:
        return False
    if one.flag.kind in ("bool", "false"):
        return True
    if not one.flag.field:
        return False
    return isinstance(read_field(one).value, Unknown)


def _quote_argument(one: ParsedArgument) -> str:
    return f"{one.spelling} {one.value.text if one.value else ''}".strip()


IN_TWO_WORDS = frozenset({"llama_cpp"})
"""Engines that know no `--flag=value`: https://github.com/gpustack/gpustack/issues/3741"""


def render_argument(engine: str, release: str, quantity: str, value: Value) -> str | None:
    """Return `--tensor-parallel-size=4` for a quantity and its value; None if that release has no
    argument for it.
    """
    version = tables.release(release)
    usable = (
        flag
        for flag in flags(engine).values()
        if flag.field == quantity
        and flag.name.startswith("--")
        and flag.kind != "false"
        and is_in_release(flag, version)
    )
    flag = min(
        usable, key=lambda one: (bool(one.since), bool(one.until)), default=None
    )  # any release has it, or more do
    if flag is None:
        return None
    return flag.name if flag.kind == "bool" else f"{flag.name}{' ' if engine in IN_TWO_WORDS else '='}{value}"
