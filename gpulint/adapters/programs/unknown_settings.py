"""Invalid settings: keys of a trainer's configuration that are unknown, retired or mutually
exclusive.

`catalog/setting_names.csv` lists the keys of each format. `setting_changes.csv` lists the keys that a
release renamed or removed. `setting_conflicts.csv` lists the combinations that a trainer rejects or
ignores. A condition of the last is a list of words that must all be true: `key` (set to a true value),
`!key` (absent or false), `key=a|b`, `key~a|b` (set, to none of these), `key>1`.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog import slips, tables
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, gather

STRANGE_MAX = 3
"""Maximum of unknown keys in one mapping. A file with more is for a fork or another program."""
TESTED = re.compile(r"(?P<negated>!)?(?P<key>[\w.-]+)(?:(?P<sign>[=~>])(?P<values>.+))?")
SHORT_MIN = 5
"""Minimum length of a misspelt key in a mapping that reads no other keys."""
ALIKE = 0.8
"""Minimum similarity of a misspelt key to the one that is meant, in such a mapping."""
OWN_MIN = 8
"""Minimum length of a key that only one section has: a shorter one may be a team's own."""
REQUIREMENTS = ("requirements.txt", "pyproject.toml", "setup.py", "requirements/requirements.txt")
REQUIREMENTS_BYTES_MAX = 200_000
PINNED = re.compile(
    r"(?im)(?P<package>\b(?:transformers|trl))(?:\[[\w,-]*\])?[^#\n\"']*?(?:==|<=?|~=)\s*(?P<release>\d+(?:\.\d+)*)"
)
"""A requirement that allows no newer release than it names."""
SINCE = re.compile(r"not in (?P<package>Transformers|TRL) (?P<release>\d[\d.]*)")
Release = tuple[int, ...]
OF_TRAINERS: Mapping[str, str] = {"transformers": "trainer", "trl": "trainer", "llama-factory": "llama-factory"}
"""Trainers whose arguments are also keys of their configuration files, and the format of these."""


class NameTable(NamedTuple):
    """The keys that a format reads in one of its mappings, and what it does with others; empty if they may be a team's own."""

    mapping: Path
    others: str
    names: frozenset[str]

    @property
    def rejects(self) -> bool:
        """Whether some release rejects other keys."""
        return "reject" in self.others


class Change(NamedTuple):
    """A key that a release renamed or removed."""

    path: Path
    instead: str
    effect: str
    beside: frozenset[str]
    renamed: bool = False

    @property
    def renames(self) -> Path:
        """The path of the same value under the new name; empty if the new key takes another value."""
        return (*self.path[:-1], self.instead) if self.renamed else ()


class Conflict(NamedTuple):
    """A combination of settings, and what the trainer does with it."""

    conditions: tuple[re.Match[str], ...]
    problem: str
    message: str


def problems(
    document: Document, format: str, root: Path = (), pinned: Mapping[str, Release] | None = None
) -> Iterator[Problem]:
    """Yield the invalid settings of a mapping in a format. `pinned` are the installed releases."""
    data = document.get(root) if root else document.data
    if isinstance(data, dict) and not _is_templated(document):
        yield from _find_unknown(document, format, root)
        yield from _find_changed(document, format, root, pinned or {})
        yield from _find_conflicts(document, format, root)


def pins(repository: Repository) -> dict[str, Release]:
    """Return the newest releases of trainers that the repository's own requirements allow."""
    releases: dict[str, Release] = {}
    for path in REQUIREMENTS:
        content = repository.read_at_root(path) or b""
        for match in PINNED.finditer(content[:REQUIREMENTS_BYTES_MAX].decode("utf-8", "replace")):
            releases.setdefault(match["package"].lower(), _parse_release(match["release"]))
    return releases


# ---- keys that nobody reads


def _find_unknown(document: Document, format: str, root: Path) -> Iterator[Problem]:
    """Yield keys that resemble a known one or belong elsewhere, and all unknown keys where the format does not read others.

    Where a format keeps unknown keys, a mapping with many of them is for a program of its own, which may read each.
    """
    for table in _load_names(format):
        base = (*root, *table.mapping)
        data = document.get(base) if base else document.data
        if not isinstance(data, dict):
            continue
        plain_keys = {key: str(key).replace("-", "_") for key in data}
        strange = {
            key: plain
            for key, plain in plain_keys.items()
            if plain not in table.names
            and re.fullmatch(r"[A-Za-z]\w+", plain)
            and not _is_changed(format, (*table.mapping, plain))
        }
        owner = (
            f"{_name_format(format)}'s {'.'.join(map(str, table.mapping))}" if table.mapping else _name_format(format)
        )
        for key, plain in strange.items():
            is_own = not table.rejects and len(strange) > STRANGE_MAX
            near = "" if is_own else _find_nearest(plain, table, frozenset(plain_keys.values()))
            section = "" if near else _find_section(plain, table, format)
            if near:
                message = f"{key} is not a setting of {owner}; did you mean {near}?"
            elif section:
                message = f"{key} is not a setting of {owner}, but of its {section}"
            elif table.others and len(strange) <= STRANGE_MAX:
                message = f"{key} is not a setting of {owner}, {table.others}"
            else:
                continue
            kind = "setting-unknown" if near or section or table.rejects else "setting-not-read"
            place = document.locate((*base, str(key)), key=True)
            meant = near.replace("_", "-") if "-" in str(key) else near
            yield Problem(kind, message, place, (), ((place, str(key), meant),) if near else ())


def _find_nearest(plain: str, table: NameTable, stated: frozenset[str]) -> str:
    """Return the key that a misspelling means; where a mapping reads no other keys, the one that is most alike."""
    free = table.names - stated
    if not (table.mapping and table.others and len(plain) >= SHORT_MIN):
        return slips.find_nearest(plain, free)
    return next(iter(difflib.get_close_matches(plain, free, n=1, cutoff=ALIKE)), "")


def _find_section(plain: str, table: NameTable, format: str) -> str:
    """Return the one section of a format that has a key which its file states at the top; empty if none or several do."""
    if table.mapping or len(plain) < OWN_MIN:
        return ""
    sections = [
        ".".join(map(str, other.mapping)) for other in _load_names(format) if other.mapping and plain in other.names
    ]
    return sections[0] if len(sections) == 1 else ""


# ---- keys of other releases


def _find_changed(document: Document, format: str, root: Path, pinned: Mapping[str, Release]) -> Iterator[Problem]:
    """Yield one problem for all keys of a file that releases renamed or removed, at the first of
    them, with the places of the others.
    """
    changes = [
        change
        for change in _load_changes(format)
        if _is_set(document, root, change) and not _is_before_change(change, pinned)
    ]
    if not changes:
        return
    places = [document.locate((*root, *change.path), key=True) for change in changes]
    parts = [
        f"{change.path[-1]}: {change.effect}" + (f", use {change.instead} instead" if change.instead else "")
        for change in changes
    ]
    others = tuple((str(change.path[-1]), place) for change, place in zip(changes[1:], places[1:], strict=True))
    free = all(change.renames and document.node((*root, *change.renames)) is None for change in changes)
    renamings = ((place, str(change.path[-1]), change.instead) for place, change in zip(places, changes, strict=True))
    yield Problem("setting-retired", "; ".join(parts), places[0], others, tuple(renamings) if free else ())


def arguments(words: Sequence[Argument], format: str, pinned: Mapping[str, Release]) -> dict[str, Field]:
    """Return the arguments of a command that the trainer's releases renamed or removed, and since
    when.
    """
    return gather(_list_retired(words, format, pinned))


def _list_retired(words: Sequence[Argument], format: str, pinned: Mapping[str, Release]) -> Iterator[dict[str, Field]]:
    changes = {
        f"--{entry.path[0]}": entry for entry in _load_changes(format) if len(entry.path) == 1 and not entry.beside
    }
    for word in words:
        name = (word.text or word.flag).partition("=")[0]
        change = changes.get(name.replace("-", "_").replace("__", "--", 1) if name.startswith("--") else "")
        if change is None or _is_before_change(change, pinned):
            continue
        instead = f", use --{change.instead} instead" if change.instead else ""
        yield {
            "retired_setting": Field(name, (word.origin,)),
            "retired_setting_since": Field(f"{change.effect}{instead}", (word.origin,)),
            **({"current_setting": Field(f"--{change.instead}")} if change.renamed else {}),
        }


def _is_before_change(change: Change, pinned: Mapping[str, Release]) -> bool:
    """Return True if the installed release still has the key."""
    since = SINCE.match(change.effect)
    installed = pinned.get(since["package"].lower()) if since else None
    return since is not None and installed is not None and installed < _parse_release(since["release"])


def _parse_release(text: str) -> Release:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _is_set(document: Document, root: Path, change: Change) -> bool:
    path = (*root, *change.path)
    if document.node(path) is None or document.get(path) in (None, False, ""):
        return False
    data = document.get(root) if root else document.data
    return not change.beside or (isinstance(data, dict) and bool(change.beside & data.keys()))


def _is_changed(format: str, path: Path) -> bool:
    return any(change.path == path for change in _load_changes(format))


# ---- keys that exclude one another


def _find_conflicts(document: Document, format: str, root: Path) -> Iterator[Problem]:
    for conflict in _load_conflicts(format):
        if not all(_is_true(document, root, condition) for condition in conflict.conditions):
            continue
        places = [
            (*root, *condition["key"].split(".")) for condition in conflict.conditions if not condition["negated"]
        ]
        stated = [path for path in places if document.node(path) is not None]
        if stated:
            related = tuple((str(path[-1]), document.locate(path)) for path in stated[1:])
            yield Problem(conflict.problem, conflict.message, document.locate(stated[0]), related)


def _is_true(document: Document, root: Path, condition: re.Match[str]) -> bool:
    path = (*root, *condition["key"].split("."))
    value = document.get(path)
    if condition["negated"]:
        return not value
    if isinstance(value, str) and re.search(r"\$\{|\{\{|<\w", value):
        return False
    if not condition["sign"]:
        return bool(value) and str(value).lower() not in ("auto", "none", "false", "no")
    if condition["sign"] == ">":
        return isinstance(value, int | float) and not isinstance(value, bool) and value > float(condition["values"])
    named = str(value).lower() in condition["values"].lower().split("|")
    return value is not None and named == (condition["sign"] == "=")


# ---- the tables


@functools.cache
def _load_names(format: str) -> Sequence[NameTable]:
    rows = (row for row in tables.rows("setting_names") if row["format"] == format)
    return tuple(NameTable(_parse_path(row["mapping"]), row["others"], frozenset(row["keys"].split())) for row in rows)


@functools.cache
def _load_changes(format: str) -> Sequence[Change]:
    rows = (row for row in tables.rows("setting_changes") if row["format"] == format)
    return tuple(
        Change(
            _parse_path(row["key"]),
            row["instead"],
            row["effect"],
            frozenset(row["beside"].split()),
            row["renamed"] == "x",
        )
        for row in rows
    )


@functools.cache
def _load_conflicts(format: str) -> Sequence[Conflict]:
    rows = (row for row in tables.rows("setting_conflicts") if row["format"] == format)
    return tuple(Conflict(_parse_conditions(row["holds"]), row["problem"], row["message"]) for row in rows)


def _parse_conditions(text: str) -> tuple[re.Match[str], ...]:
    read = [TESTED.fullmatch(word) for word in text.split()]
    if None in read:
        raise ValueError(f"setting_conflicts.csv: a condition of {text!r} cannot be read")
    return tuple(condition for condition in read if condition)


def _parse_path(text: str) -> Path:
    return tuple(text.split(".")) if text else ()


def _name_format(format: str) -> str:
    return FORMAT_NAMES.get(format, format)


def _is_templated(document: Document) -> bool:
    """Return True if a tool completes the file, so that its keys may belong to that tool."""
    return document.mentions("{%", "{{")


FORMAT_NAMES: Mapping[str, str] = {
    "trainer": "Transformers' Trainer or TRL",
    "llama-factory": "LLaMA-Factory",
    "axolotl": "Axolotl",
    "accelerate": "Accelerate",
    "deepspeed": "DeepSpeed",
    "gpt-neox": "GPT-NeoX",
    "llm-foundry": "LLM-Foundry",
    "litgpt": "LitGPT",
}
