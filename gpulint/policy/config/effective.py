"""Effective: what governs a file, value by value, each with the place that says it, and what becomes of the rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_origin

from gpulint.policy.config import schema
from gpulint.policy.config.merge import OF_A_LAYER
from gpulint.policy.config.settings import Override, Settings
from gpulint.policy.rules import selection
from gpulint.policy.rules.rule import Rule

DEFAULT = "default"
BY_NAME = frozenset(
    field.alias or name
    for name, field in schema.PolicyFile.model_fields.items()
    if get_origin(field.annotation) is dict
)
SINGLE_MAX = 2


class Value(NamedTuple):
    """One value of the settings by its key, as `available.clouds`, and where it stands."""

    key: str
    value: object
    origin: str


class Change(NamedTuple):
    """A rule that a policy treats otherwise than gpulint does: what it becomes, and who says so, by its name or by another."""

    rule: Rule
    becomes: str
    origin: str
    named: bool


class Effective(NamedTuple):
    """What governs a path: the files that say so, the overrides that hold for it, each value, and the rules it changes."""

    path: str
    layers: tuple[str, ...]
    overrides: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: bool
    values: tuple[Value, ...]
    unset: tuple[str, ...]
    changes: tuple[Change, ...]


def of(path: str, found: Settings, overrides: Iterable[Override], left_out: bool) -> Effective:
    """What governs a path by these settings."""
    values = tuple(_values(found))
    stated = {one.key.partition(".")[0] for one in values}
    return Effective(
        path,
        tuple(one.document.path for one in reversed(found.layers)),
        tuple(_override(found, one) for one in overrides),
        left_out,
        values,
        tuple(key for key in _keys() if key not in stated),
        tuple(_changes(found)),
    )


def _keys() -> list[str]:
    fields = {field.alias or name: field for name, field in schema.PolicyFile.model_fields.items()}
    return [key for key in fields if key not in ("extends", "summary", "overrides")]


def _values(found: Settings) -> Iterator[Value]:
    """Every value that is stated, and those single ones whose default matters."""
    defaults = {
        field.alias or name: field.default
        for name, field in schema.PolicyFile.model_fields.items()
        if isinstance(field.default, bool | str) and field.default != "" and name not in OF_A_LAYER
    }
    for key in _keys():
        if key in OF_A_LAYER:
            yield from _of_layers(found, key)
        elif key in found.stated:
            yield from _below(found, (key,), found.stated[key])
        elif key in defaults:
            yield Value(key, defaults[key], DEFAULT)


def _below(found: Settings, path: tuple[str | int, ...], value: Any) -> Iterator[Value]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _below(found, (*path, key), inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield Value(".".join(map(str, path)), item, _line(found.place(*path, index)))
    else:
        yield Value(".".join(map(str, path)), value, _line(found.place(*path)))


def _of_layers(found: Settings, key: str) -> Iterator[Value]:
    """The items of a list that each layer keeps to itself."""
    for layer in found.layers:
        for index, item in enumerate(layer.stated.get(key, ())):
            yield Value(key, item, _line(layer.place((key, index))))


def _override(found: Settings, one: Override) -> tuple[str, tuple[str, ...]]:
    layer = found.layers[one.layer]
    return _line(layer.place(("overrides", one.entry, "paths", 0))), layer.stated["overrides"][one.entry]["paths"]


def _changes(found: Settings) -> Iterator[Change]:
    rules = selection.known(found)
    spoken = {one.name: one for one in selection.speaking(rules, found)}
    usual = {one.name for one in rules.values() if one.status != "preview"}
    for one in sorted(rules.values(), key=lambda rule: (rule.family, rule.name)):
        now = spoken.get(one.name)
        becomes = _becomes(one, now, one.name in usual)
        if becomes:
            level = selection.decided(one, found, rules)
            capped = now is not None and now.severity.word == found.at_most
            place = level.place if level and not capped else _general(found, now)
            yield Change(one, becomes, _line(place), not capped and level is not None and level.word == one.name)


def _becomes(one: Rule, now: Rule | None, usual: bool) -> str:
    if now is None:
        return "off" if usual else ""
    if now.severity != one.severity:
        return now.severity.word
    return "" if usual else f"{now.severity.word}, in preview"


def _general(found: Settings, now: Rule | None) -> str:
    """Who decides on a rule that nobody names: what is selected, how severe all may be, or whether previews speak."""
    if now is None:
        return found.place("select", 0)
    return found.place("at-most" if now.severity.word == found.at_most else "preview")


def _line(place: str) -> str:
    """A place without its column."""
    return place.rpartition(":")[0] if place.count(":") > 1 else place


# ---- as text and as JSON


def as_text(one: Effective) -> str:
    """What governs a path, as a person reads it."""
    lines = [_head(one)]
    lines += [f"  {', '.join(paths)}  ({origin})" for origin, paths in one.overrides]
    shown = [(*_under_its_key(value), value.origin) for value in one.values]
    lines += ["", *_columns([("key", "value", "from"), *_without_repeats(shown)])]
    if one.unset:
        lines += ["", f"not stated: {', '.join(one.unset)}"]
    if further := [change for change in one.changes if not change.named]:
        lines += ["", *_columns([("rule", "becomes", "from"), *_grouped(further)])]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(one: Effective) -> str:
    if not one.layers:
        return f"{one.path}: no gpulint.yaml; what holds without one"
    extended = f", which extends {', '.join(one.layers[1:])}" if one.layers[1:] else ""
    left_out = "\nleft out by exclude: nothing is checked here" if one.left_out else ""
    overrides = "\nwith what overrides say of" if one.overrides else ""
    return f"{one.path}: {one.layers[0]}{extended}{left_out}{overrides}"


def _under_its_key(one: Value) -> tuple[str, str]:
    """A key and its value; entries of a mapping from name to word stand under the key of the mapping."""
    key, _, name = one.key.partition(".")
    return (key, f"{name}: {_shown(one.value)}") if key in BY_NAME else (one.key, _shown(one.value))


def _without_repeats(rows: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Rows of which one key is written once."""
    last = None
    for key, value, origin in rows:
        yield ("" if key == last else key, value, origin)
        last = key


def _grouped(changes: Iterable[Change]) -> Iterator[tuple[str, str, str]]:
    """A row for each rule that changes; one for several rules of a family with which the same happens."""
    groups: dict[tuple[str, str, str], list[Change]] = {}
    for one in changes:
        groups.setdefault((one.rule.family, one.becomes, one.origin), []).append(one)
    for (family, becomes, origin), several in groups.items():
        if len(several) > SINGLE_MAX:
            yield f"{family} ({len(several)} rules)", becomes, origin
            continue
        for one in several:
            before = "" if becomes == "off" else f"{one.rule.severity.word} → "
            yield one.rule.name, before + becomes, origin


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def as_json(one: Effective) -> str:
    """What governs a path, for programs."""
    data: Mapping[str, Any] = {
        "format": "gpulint-policy/1",
        "path": one.path,
        "files": list(one.layers),
        "overrides": [{"origin": origin, "paths": list(paths)} for origin, paths in one.overrides],
        "left_out": one.left_out,
        "settings": [value._asdict() for value in one.values],
        "not_stated": list(one.unset),
        "rules": [
            {
                "rule": change.rule.name,
                "family": change.rule.family,
                "severity": change.rule.severity.word,
                "becomes": change.becomes,
                "origin": change.origin,
            }
            for change in one.changes
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"
