"""Settings: the keys of a configuration file as fields of a role, by table.

`catalog/setting_keys.csv` has a row for each key of a format that states a quantity. Keys are paths with dots; of several
that state one quantity the first in the table that stands in the file counts. Kinds: those of `engines/trainer_flags.csv`
(int, from-zero, text, dtype), number, count (of a list), optimizer, targets (matrices that carry adapters), and
`word:a=x;b=y;*=z`: the value by the word that stands there; a word without one states nothing; `*` is any other, `?` in
place of a value leaves it unknown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters.trainers import omegaconf
from gpulint.catalog import tables as catalog
from gpulint.engines import trainers as training
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown, Value

OPEN = re.compile(r"\$\{?\w|\{\{|<[^<>\s]+>|(?i:\byour[-_]|\b(?:change|replace)[-_]?me\b)|__\w+__")
"""A value that a tool or a reader completes."""
LEFT = frozenset({"auto", "none", "null", "", "~"})
"""Words that leave a quantity to whoever reads the file."""


OPTIMIZERS: Mapping[str, str] = {
    **dict.fromkeys(("adamw_torch", "adamw_hf", "adamw", "adamw_anyprecision", "adamw_torch_npu_fused"), "adamw"),
    **dict.fromkeys(("adamw_torch_fused", "adamw_apex_fused", "decoupled_adamw", "fusedadam"), "adamw-fused"),
    **dict.fromkeys(("adamw_bnb_8bit", "adamw_8bit", "adamw8bit", "adamw_torch_8bit"), "adamw-8bit"),
    **dict.fromkeys(("paged_adamw_8bit", "pagedadamw8bit"), "paged-adamw-8bit"),
    **dict.fromkeys(("paged_adamw_32bit", "paged_adamw", "pagedadamw"), "paged-adamw"),
    **dict.fromkeys(("lion_8bit", "lion_bnb_8bit", "paged_lion_8bit"), "lion-8bit"),
    **dict.fromkeys(("lion_32bit", "lion_pytorch", "lion", "paged_lion_32bit", "decoupled_lionw"), "lion"),
    **dict.fromkeys(("adafactor", "muon", "sgd", "rmsprop", "adagrad"), ""),
    **dict.fromkeys(("adam", "fused_adam", "distributed_fused_adam"), "adam-fused"),
}
"""Optimizers as trainers spell them; empty for those that keep their name (transformers 5.23.0, OptimizerNames)."""
LETTERS: Mapping[str, str] = {
    **{f"{letter}_proj": letter for letter in "qkvo"},
    **dict.fromkeys(("gate_proj", "w1"), "g"),
    **dict.fromkeys(("up_proj", "w3"), "u"),
    **dict.fromkeys(("down_proj", "w2", "linear_fc2"), "d"),
    **dict.fromkeys(("output_proj", "linear_proj"), "o"),
    **dict.fromkeys(("query_key_value", "qkv_proj", "c_attn", "linear_qkv", "attn_qkv"), "qkv"),
    **dict.fromkeys(("gate_up_proj", "linear_fc1"), "gu"),
    **dict.fromkeys(("all", "all-linear", "all_linear"), "qkvogud"),
}
"""Matrices that carry adapters, by the name of their module (peft, utils/constants.py; llama's module names)."""


class Key(NamedTuple):
    """A key that states a quantity, and how its value is read."""

    path: Path
    quantity: str
    kind: str


@functools.cache
def keys(format: str) -> tuple[Key, ...]:
    """The keys of a format, in the order in which they count."""
    rows = (row for row in catalog.rows("setting_keys") if row["format"] == format)
    return tuple(Key(tuple(row["key"].split(".")), row["quantity"], row["kind"]) for row in rows)


def stated(document: Document, format: str, root: Path = (), interpolated: bool = False) -> dict[str, Field]:
    """The quantities that a mapping of a document states as a format's keys do."""
    found: dict[str, Field] = {}
    for key in keys(format):
        if key.quantity not in found and (field := _field(document, key, root, interpolated)) is not None:
            found[key.quantity] = field
    return found


def field(document: Document, path: Path, kind: str, root: Path = (), interpolated: bool = False) -> Field | None:
    """What one key states, read as its kind; None where it states nothing."""
    return _field(document, Key(path[len(root) :], "", kind), root, interpolated)


def both_halves(document: Document, *paths: Path) -> dict[str, Field]:
    """That fp16 and bf16 are both switched on."""
    on = [path for path in paths if document.get(path) is True]
    return {"half_formats": Field(True, tuple(Origin(document, path) for path in on))} if len(on) > 1 else {}


def extended(document: Document, *paths: Path) -> dict[str, Field]:
    """That positions beyond the checkpoint's own are asked for on purpose: rope scaling, or overrides of its settings."""
    stated = next((path for path in paths if document.get(path)), None)
    return {"context_extended": Field(True, (Origin(document, stated, key=True),))} if stated else {}


def product(*factors: Field | None) -> Field | None:
    """Counts multiplied, of which those that nothing states count once; unknown as the first that is."""
    known = [one for one in factors if one is not None]
    origins = tuple(origin for one in known for origin in one.origins)
    total = 1
    for one in known:
        if not isinstance(one.value, int) or isinstance(one.value, bool):
            return Field(one.value if isinstance(one.value, Unknown) else Unknown("no whole number"), one.origins)
        total *= one.value
    return Field(total, origins) if known else None


def _field(document: Document, key: Key, root: Path, interpolated: bool) -> Field | None:
    path = (*root, *key.path)
    if document.node(path) is None:
        path = (*path[:-1], str(path[-1]).replace("_", "-"))  # GPT-NeoX takes either
    if document.node(path) is None:
        return None
    origin = Origin(document, path)
    found = omegaconf.value(document, path, root) if interpolated else document.get(path)
    if isinstance(found, Unknown):
        return Field(found, (origin,))
    if isinstance(found, str) and OPEN.search(found):
        return Field(Unknown(f"{found} is filled in elsewhere", "placeholder"), (origin,))
    return None if (value := _read(key.kind, found)) is None else Field(value, (origin,))


def _read(kind: str, found: object) -> Value | Unknown:
    kind, _, words = kind.partition(":")
    if kind == "count":
        return len(found) if isinstance(found, list) else None
    text = _text(found)
    if kind == "word":
        return None if found is None else _by_word(words, text)
    if kind == "targets":
        return _targets(found)
    if isinstance(found, dict | list) or text.lower() in LEFT:
        return None
    if kind == "number":
        return _number(text)
    if kind == "optimizer":
        known = OPTIMIZERS.get(text.lower())
        return Unknown(f"the optimizer {text} is not listed") if known is None else known or text.lower()
    return training.read_value(kind, text)


def _by_word(words: str, text: str) -> Value | Unknown:
    table = dict(_pairs(words))
    value = table.get(text.lower(), table.get("*", ""))
    if value == "?":
        return Unknown(f"{text} is not modelled")
    return {"true": True, "false": False, "": None}.get(value, value)


def _targets(found: object) -> Value | Unknown:
    """The letters of the matrices that a list, or a text with commas, names."""
    names = found if isinstance(found, list) else str(found or "").split(",")
    letters = "".join(LETTERS.get(str(name).strip().lower(), "?") for name in names if str(name).strip())
    if "?" in letters:
        return Unknown(f"matrices beyond those of a decoder's layers carry adapters: {', '.join(map(str, names))}")
    return "".join(dict.fromkeys(letters)) or None


def _pairs(words: str) -> Iterator[tuple[str, str]]:
    for pair in words.split(";"):
        word, _, value = pair.partition("=")
        yield word, value


def _number(text: str) -> Value | Unknown:
    try:
        return float(text)
    except ValueError:
        return Unknown(f"{text} is no number")


def _text(found: object) -> str:
    return str(found).lower() if isinstance(found, bool) else "" if found is None else str(found)


def merged(*layers: Mapping[str, Field]) -> dict[str, Field]:
    """Fields of several sources, an earlier one counting."""
    found: dict[str, Field] = {}
    for layer in layers:
        found |= {name: one for name, one in layer.items() if name not in found}
    return found
