"""Settings: the keys of a configuration file as fields of a role, by table.

`catalog/setting_keys.csv` has a row for each key of a format that sets a quantity. Keys are dotted paths.
If several keys set one quantity, the first in the table that the file has counts. Kinds: those of
`engines/trainer_flags.csv` (int, from-zero, text, dtype), number, count (of a list), optimizer, targets
(matrices that carry adapters), and `word:a=x;b=y;*=z`, which maps the value to another. An unlisted word
sets nothing, `*` is any other word, and a value of `?` is unknown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters.trainers import omegaconf
from gpulint.catalog import tables
from gpulint.engines import trainers
from gpulint.engines.trainers.vocabulary import ADAPTED
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown, Value

OPEN = re.compile(r"\$\{?\w|\{\{|<[^<>\s]+>|(?i:\byour[-_]|\b(?:change|replace)[-_]?me\b)|__\w+__")
"""A value that a tool or a reader fills in."""
LEFT = frozenset({"auto", "none", "null", "", "~"})
"""Words that leave a quantity to the program that reads the file."""


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
"""Optimizers as trainers spell them; empty for those that keep their name (transformers 5.23.0,
OptimizerNames).
"""
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
"""Matrices that carry adapters, by the name of their module (peft, utils/constants.py; llama's
module names).
"""


class Key(NamedTuple):
    """A key that sets a quantity, and how its value is read."""

    path: Path
    quantity: str
    kind: str


@functools.cache
def keys(format: str) -> tuple[Key, ...]:
    """Return the keys of a format, in order of precedence."""
    rows = (row for row in tables.rows("setting_keys") if row["format"] == format)
    return tuple(Key(tuple(row["key"].split(".")), row["quantity"], row["kind"]) for row in rows)


def read_fields(document: Document, format: str, root: Path = (), interpolated: bool = False) -> dict[str, Field]:
    """Return the quantities that a mapping of a document sets with a format's keys."""
    quantities: dict[str, Field] = {}
    for key in keys(format):
        if key.quantity not in quantities and (field := _read_field(document, key, root, interpolated)) is not None:
            quantities[key.quantity] = field
    return quantities


def field(document: Document, path: Path, kind: str, root: Path = (), interpolated: bool = False) -> Field | None:
    """Return what one key sets, read as its kind; None if it sets nothing."""
    return _read_field(document, Key(path[len(root) :], "", kind), root, interpolated)


def find_half_formats(document: Document, *paths: Path) -> dict[str, Field]:
    """Return a fact if both fp16 and bf16 are switched on."""
    on = [path for path in paths if document.get(path) is True]
    return {"half_formats": Field(True, tuple(Origin(document, path) for path in on))} if len(on) > 1 else {}


def find_context_extension(document: Document, *paths: Path) -> dict[str, Field]:
    """Return a fact if positions are deliberately extended: rope scaling, or overrides of the
    settings.
    """
    stated = next((path for path in paths if document.get(path)), None)
    return {"context_extended": Field(True, (Origin(document, stated, key=True),))} if stated else {}


def product(*factors: Field | None) -> Field | None:
    """Multiply counts. A missing one counts once, and an unknown one makes the product unknown."""
    counts = [factor for factor in factors if factor is not None]
    origins = tuple(origin for count in counts for origin in count.origins)
    total = 1
    for count in counts:
        if not isinstance(count.value, int) or isinstance(count.value, bool):
            return Field(
                count.value if isinstance(count.value, Unknown) else Unknown("not a whole number"), count.origins
            )
        total *= count.value
    return Field(total, origins) if counts else None


def read_words(document: Document, tables: tuple[str, ...], root: Path = ()) -> dict[str, Field]:
    """Return what a file states under the keys that are words of a trainer's command line, by the fields of its table."""
    found: dict[str, Field] = {}
    for row in trainers.load_rows(tables).values():
        path = (*root, *row.name.split("."))
        raw = None if row.name.startswith("-") or document.node(path) is None else omegaconf.value(document, path, root)
        kind, _, constant = row.kind.partition(":")
        if raw is None or isinstance(raw, dict | list | Unknown) or (kind == "unsettles" and raw is not True):
            continue
        value = raw if kind == "unsettles" else trainers.read_value(kind, _render_scalar(raw), constant)
        if value is not None and _render_scalar(raw) not in trainers.NOTHING:
            found[row.field] = Field(value, (Origin(document, path),))  # type: ignore[arg-type]
    return found


def _read_field(document: Document, key: Key, root: Path, interpolated: bool) -> Field | None:
    path = (*root, *key.path)
    if document.node(path) is None:
        path = (*path[:-1], str(path[-1]).replace("_", "-"))  # GPT-NeoX takes either
    if document.node(path) is None:
        return None
    origin = Origin(document, path)
    raw = omegaconf.value(document, path, root) if interpolated else document.get(path)
    if isinstance(raw, Unknown):
        return Field(raw, (origin,))
    if isinstance(raw, str) and OPEN.search(raw):
        return Field(Unknown(f"{raw} is filled in elsewhere", "placeholder"), (origin,))
    return None if (value := _read_value(key.kind, raw)) is None else Field(value, (origin,))


def _read_value(kind: str, raw: object) -> Value | Unknown:
    kind, _, words = kind.partition(":")
    if kind == "count":
        return len(raw) if isinstance(raw, list) else None
    text = _render_scalar(raw)
    if kind == "word":
        return _map_word(words, text or "null") if raw is not None or "null=" in words else None
    if kind == "targets":
        return _read_targets(raw)
    if isinstance(raw, dict | list) or text.lower() in LEFT:
        return None
    if kind == "number":
        return _parse_number(text)
    if kind == "optimizer":
        optimizer = OPTIMIZERS.get(text.lower())
        return Unknown(f"the optimizer {text} is not listed") if optimizer is None else optimizer or text.lower()
    return trainers.read_value(kind, text)


def _map_word(words: str, text: str) -> Value | Unknown:
    table = dict(_split_pairs(words))
    value = table.get(text.lower(), table.get("*", ""))
    if value == "?":
        return Unknown(f"{text} is not modelled")
    return {"true": True, "false": False, "": None}.get(value, value)


def _read_targets(raw: object) -> Value | Unknown:
    """Return the letters of the matrices in a list or in a text with commas."""
    names = raw if isinstance(raw, list) else str(raw or "").split(",")
    letters = "".join(LETTERS.get(str(name).strip().lower(), "?") for name in names if str(name).strip())
    if "?" in letters:
        listed = ", ".join(map(str, names))
        return Unknown(f"matrices beyond those of a decoder's layers carry adapters: {listed}", choices=ADAPTED)
    return "".join(dict.fromkeys(letters)) or None


def _split_pairs(words: str) -> Iterator[tuple[str, str]]:
    for pair in words.split(";"):
        word, _, value = pair.partition("=")
        yield word, value


def _parse_number(text: str) -> Value | Unknown:
    try:
        return float(text)
    except ValueError:
        return Unknown(f"{text} is not a number")


def _render_scalar(raw: object) -> str:
    return str(raw).lower() if isinstance(raw, bool) else "" if raw is None else str(raw)


def merge(*layers: Mapping[str, Field]) -> dict[str, Field]:
    """Merge fields of several sources. An earlier source counts."""
    merged_fields: dict[str, Field] = {}
    for layer in layers:
        merged_fields |= {name: layer_field for name, layer_field in layer.items() if name not in merged_fields}
    return merged_fields
