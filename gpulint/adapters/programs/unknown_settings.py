"""Misstated: settings of a trainer's configuration that its format does not know, that are retired, or that exclude one another.

`catalog/setting_names.csv` lists the keys of each format, `setting_changes.csv` those that a release renamed or removed,
`setting_conflicts.csv` the combinations that a trainer refuses or does not heed. A condition of the last is words that must
all hold: `key` (set to something true), `!key` (absent or not), `key=a|b`, `key~a|b` (stated, and none of these),
`key>1`.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog import tables as catalog
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field

STRANGE_MAX = 3
"""Keys in one mapping that a trainer does not know; a file with more is that of a fork, or of another program."""
NEAR = 0.86
"""Least likeness of a misspelling to the key that is meant (difflib's ratio)."""
LETTERS_MIN = 7
"""Shorter keys are too like one another."""
TESTED = re.compile(r"(?P<negated>!)?(?P<key>[\w.-]+)(?:(?P<sign>[=~>])(?P<values>.+))?")
WORD_MIN = 5
"""Shorter words with one letter replaced are other words: `dora` is not `mora`."""
SHOWN_MAX = 4
REQUIREMENTS = ("requirements.txt", "pyproject.toml", "setup.py", "requirements/requirements.txt")
REQUIREMENTS_BYTES_MAX = 200_000
PINNED = re.compile(
    r"(?im)(?P<package>\b(?:transformers|trl))(?:\[[\w,-]*\])?[^#\n\"']*?(?:==|<=?|~=)\s*(?P<release>\d+(?:\.\d+)*)"
)
"""A requirement that allows no newer release than it names."""
SINCE = re.compile(r"not in (?P<package>Transformers|TRL) (?P<release>\d[\d.]*)")
Release = tuple[int, ...]


class Change(NamedTuple):
    """A key that a release renamed or removed."""

    path: Path
    instead: str
    effect: str
    beside: frozenset[str]
    renamed: bool = False

    @property
    def renames(self) -> Path:
        """Where the same value stands under the new name; empty where the new one takes another value."""
        return (*self.path[:-1], self.instead) if self.renamed else ()


class Conflict(NamedTuple):
    """A combination of settings, and what the trainer makes of it."""

    conditions: tuple[re.Match[str], ...]
    problem: str
    message: str


def problems(
    document: Document, format: str, root: Path = (), pinned: Mapping[str, Release] | None = None
) -> Iterator[Problem]:
    """What is misstated in a mapping of a document, as one of a format's; `pinned` are the releases that are installed."""
    data = document.get(root) if root else document.data
    if isinstance(data, dict) and not _is_templated(document):
        yield from _unknown(document, format, root)
        yield from _changed(document, format, root, pinned or {})
        yield from _conflicting(document, format, root)


def pins(repository: Repository) -> dict[str, Release]:
    """The releases of trainers' packages that the repository's own requirements name, the newest that they allow."""
    found: dict[str, Release] = {}
    for path in REQUIREMENTS:
        content = repository.at_root(path) or b""
        for match in PINNED.finditer(content[:REQUIREMENTS_BYTES_MAX].decode("utf-8", "replace")):
            found.setdefault(match["package"].lower(), _release(match["release"]))
    return found


# ---- keys that nobody reads


def _unknown(document: Document, format: str, root: Path) -> Iterator[Problem]:
    """Keys that are like a known one; where a format refuses others, all that it does not know."""
    for mapping, refuses, known in _names(format):
        base = (*root, *mapping)
        data = document.get(base) if base else document.data
        if not isinstance(data, dict):
            continue
        plain_keys = {key: str(key).replace("-", "_") for key in data}
        strange = {
            key: plain
            for key, plain in plain_keys.items()
            if plain not in known and re.fullmatch(r"[A-Za-z]\w+", plain) and not _is_changed(format, (*mapping, plain))
        }
        for key, plain in strange.items():
            near = nearest(plain, known - set(plain_keys.values()))
            if near:
                message = f"{key} is no setting of {_said(format)}; did you mean {near}?"
            elif refuses and len(strange) <= STRANGE_MAX:
                message = f"{key} is no setting of {_said(format)}, which refuses what it does not know"
            else:
                continue
            place = document.locate((*base, str(key)), key=True)
            meant = near.replace("_", "-") if "-" in str(key) else near
            yield Problem("setting-unknown", message, place, (), ((place, str(key), meant),) if near else ())


def nearest(key: str, known: frozenset[str]) -> str:
    """The one key that a misspelling means: letters left out, doubled or swapped, not another word."""
    if len(key) < LETTERS_MIN:
        return ""
    near = difflib.get_close_matches(key, known, n=1, cutoff=NEAR)
    return near[0] if near and _is_slip(key, near[0]) else ""


def _is_slip(key: str, meant: str) -> bool:
    """Whether two keys differ as a slip of the fingers makes them: words of as many letters, give or take one, and no digit."""
    if re.sub(r"\D", "", key) != re.sub(r"\D", "", meant):
        return False
    if key.replace("_", "") == meant.replace("_", ""):
        return True
    words, others = key.split("_"), meant.split("_")
    if len(words) != len(others):
        return False
    unlike = [(one, other) for one, other in zip(words, others, strict=True) if one != other]
    return len(unlike) == 1 and _is_typo(*unlike[0])


def _is_typo(word: str, meant: str) -> bool:
    """Whether a word is another one with a letter left out, put in, replaced or swapped with its neighbour."""
    if min(len(word), len(meant)) < WORD_MIN:
        return f"{word}s" == meant or f"{meant}s" == word
    if len(word) == len(meant):
        unlike = [at for at in range(len(word)) if word[at] != meant[at]]
        swapped = len(unlike) == 2 and unlike[1] == unlike[0] + 1 and word[unlike[0]] == meant[unlike[1]]
        return len(unlike) == 1 or swapped
    longer, shorter = sorted((word, meant), key=len, reverse=True)
    return any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


# ---- keys of other releases


def _changed(document: Document, format: str, root: Path, pinned: Mapping[str, Release]) -> Iterator[Problem]:
    """One word for all keys of a file that releases renamed or removed, at the first of them."""
    told = [one for one in _changes(format) if _stands(document, root, one) and not _is_held_back(one, pinned)]
    if not told:
        return
    places = [document.locate((*root, *one.path), key=True) for one in told]
    parts = [
        f"{one.path[-1]}: {one.effect}" + (f", {one.instead} takes its place" if one.instead else "") for one in told
    ]
    more = f"; and {len(parts) - SHOWN_MAX} more" if len(parts) > SHOWN_MAX else ""
    free = all(one.renames and document.node((*root, *one.renames)) is None for one in told)
    renamed = ((place, str(one.path[-1]), one.instead) for place, one in zip(places, told, strict=True))
    yield Problem("setting-retired", "; ".join(parts[:SHOWN_MAX]) + more, places[0], (), tuple(renamed) if free else ())


def arguments(words: Sequence[Argument], format: str, pinned: Mapping[str, Release]) -> dict[str, Field]:
    """The first argument of a command that releases of the trainer renamed or removed, and since when."""
    changes = {f"--{one.path[0]}": one for one in _changes(format) if len(one.path) == 1 and not one.beside}
    for word in words:
        name = (word.text or word.flag).partition("=")[0]
        change = changes.get(name.replace("-", "_").replace("__", "--", 1) if name.startswith("--") else "")
        if change is not None and not _is_held_back(change, pinned):
            instead = f", --{change.instead} takes its place" if change.instead else ""
            reason = Field(f"{change.effect}{instead}", (word.origin,))
            found = {"retired_setting": Field(name, (word.origin,)), "retired_setting_since": reason}
            return {**found, "current_setting": Field(f"--{change.instead}")} if change.renamed else found
    return {}


def _is_held_back(change: Change, pinned: Mapping[str, Release]) -> bool:
    """Whether the release that is installed still has the key."""
    since = SINCE.match(change.effect)
    installed = pinned.get(since["package"].lower()) if since else None
    return since is not None and installed is not None and installed < _release(since["release"])


def _release(text: str) -> Release:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _stands(document: Document, root: Path, change: Change) -> bool:
    path = (*root, *change.path)
    if document.node(path) is None or document.get(path) in (None, False, ""):
        return False
    data = document.get(root) if root else document.data
    return not change.beside or (isinstance(data, dict) and bool(change.beside & data.keys()))


def _is_changed(format: str, path: Path) -> bool:
    return any(one.path == path for one in _changes(format))


# ---- keys that exclude one another


def _conflicting(document: Document, format: str, root: Path) -> Iterator[Problem]:
    for conflict in _conflicts(format):
        if not all(_holds(document, root, one) for one in conflict.conditions):
            continue
        places = [(*root, *one["key"].split(".")) for one in conflict.conditions if not one["negated"]]
        stated = [path for path in places if document.node(path) is not None]
        if stated:
            related = tuple((str(path[-1]), document.locate(path)) for path in stated[1:])
            yield Problem(conflict.problem, conflict.message, document.locate(stated[0]), related)


def _holds(document: Document, root: Path, condition: re.Match[str]) -> bool:
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
def _names(format: str) -> Sequence[tuple[Path, bool, frozenset[str]]]:
    rows = (row for row in catalog.rows("setting_names") if row["format"] == format)
    return tuple((_path(row["mapping"]), bool(row["others"]), frozenset(row["keys"].split())) for row in rows)


@functools.cache
def _changes(format: str) -> Sequence[Change]:
    rows = (row for row in catalog.rows("setting_changes") if row["format"] == format)
    return tuple(
        Change(
            _path(row["key"]), row["instead"], row["effect"], frozenset(row["beside"].split()), row["renamed"] == "x"
        )
        for row in rows
    )


@functools.cache
def _conflicts(format: str) -> Sequence[Conflict]:
    rows = (row for row in catalog.rows("setting_conflicts") if row["format"] == format)
    return tuple(Conflict(_conditions(row["holds"]), row["problem"], row["message"]) for row in rows)


def _conditions(text: str) -> tuple[re.Match[str], ...]:
    read = [TESTED.fullmatch(word) for word in text.split()]
    if None in read:
        raise ValueError(f"setting_conflicts.csv: a condition of {text!r} cannot be read")
    return tuple(one for one in read if one)


def _path(text: str) -> Path:
    return tuple(text.split(".")) if text else ()


def _said(format: str) -> str:
    return SAID.get(format, format)


def _is_templated(document: Document) -> bool:
    """Whether a tool completes the file, so that its keys may be another's."""
    return "{%" in document.text or "{{" in document.text


SAID: Mapping[str, str] = {
    "trainer": "Transformers' Trainer or TRL",
    "llama-factory": "LLaMA-Factory",
    "axolotl": "Axolotl",
    "accelerate": "Accelerate",
    "deepspeed": "DeepSpeed",
    "gpt-neox": "GPT-NeoX",
    "llm-foundry": "LLM-Foundry",
    "litgpt": "LitGPT",
}
