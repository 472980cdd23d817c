"""The resolved policy of a path: every value with its location, and its effect on the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_origin

from gpulint.policy.config import schema
from gpulint.policy.config.merge import LAYER_KEYS
from gpulint.policy.config.settings import Override, Settings
from gpulint.policy.rules import selection
from gpulint.policy.rules.rule import Rule
from gpulint.report import json_text

DEFAULT = "default"
BY_NAME = frozenset(
    field.alias or name
    for name, field in schema.PolicyFile.model_fields.items()
    if get_origin(field.annotation) is dict
)
SINGLE_MAX = 2


class Value(NamedTuple):
    """One value of the settings, its key (such as `available.clouds`) and its location."""

    key: str
    value: object
    origin: str


class Change(NamedTuple):
    """A rule that a policy changes: the new severity, the location, and whether the policy names the rule itself."""

    rule: Rule
    becomes: str
    origin: str
    named: bool


class EffectivePolicy(NamedTuple):
    """The resolved policy of a path: its files, matching overrides, values, and changed rules."""

    path: str
    layers: tuple[str, ...]
    overrides: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: bool
    values: tuple[Value, ...]
    unset: tuple[str, ...]
    changes: tuple[Change, ...]


def resolve(path: str, found: Settings, overrides: Iterable[Override], left_out: bool) -> EffectivePolicy:
    """Return the resolved policy of a path."""
    values = tuple(_values(found))
    stated = {value.key.partition(".")[0] for value in values}
    return EffectivePolicy(
        path,
        tuple(layer.document.path for layer in reversed(found.layers)),
        tuple(_locate_override(found, override) for override in overrides),
        left_out,
        values,
        tuple(key for key in _keys() if key not in stated),
        tuple(_find_changes(found)),
    )


def _keys() -> list[str]:
    fields = {field.alias or name: field for name, field in schema.PolicyFile.model_fields.items()}
    return [key for key in fields if key not in ("extends", "summary", "overrides")]


def _values(found: Settings) -> Iterator[Value]:
    """Yield every declared value, and the single values whose default matters."""
    defaults = {
        field.alias or name: field.default
        for name, field in schema.PolicyFile.model_fields.items()
        if isinstance(field.default, bool | str) and field.default != "" and name not in LAYER_KEYS
    }
    for key in _keys():
        if key in LAYER_KEYS:
            yield from _list_per_layer(found, key)
        elif key in found.stated:
            yield from _flatten(found, (key,), found.stated[key])
        elif key in defaults:
            yield Value(key, defaults[key], DEFAULT)


def _flatten(found: Settings, path: tuple[str | int, ...], value: Any) -> Iterator[Value]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(found, (*path, key), inner)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield Value(".".join(map(str, path)), item, _line(found.place(*path, index)))
    else:
        yield Value(".".join(map(str, path)), value, _line(found.place(*path)))


def _list_per_layer(found: Settings, key: str) -> Iterator[Value]:
    """Yield the items of a list that applies to each layer separately."""
    for layer in found.layers:
        for index, item in enumerate(layer.stated.get(key, ())):
            yield Value(key, item, _line(layer.place((key, index))))


def _locate_override(found: Settings, override: Override) -> tuple[str, tuple[str, ...]]:
    layer = found.layers[override.layer]
    place = layer.place(("overrides", override.entry, "paths", 0))
    return _line(place), layer.stated["overrides"][override.entry]["paths"]


def _find_changes(found: Settings) -> Iterator[Change]:
    rules = selection.load_rules(found)
    enabled = {rule.name: rule for rule in selection.enable_rules(rules, found)}
    default = {rule.name for rule in rules.values() if rule.status != "preview"}
    for rule in sorted(rules.values(), key=lambda rule: (rule.family, rule.name)):
        now = enabled.get(rule.name)
        becomes = _describe_change(rule, now, rule.name in default)
        if becomes:
            level = selection.find_level(rule, found, rules)
            capped = now is not None and now.severity.word == found.at_most
            place = level.place if level and not capped else _locate_general(found, now)
            yield Change(rule, becomes, _line(place), not capped and level is not None and level.word == rule.name)


def _describe_change(rule: Rule, now: Rule | None, is_default: bool) -> str:
    if now is None:
        return "off" if is_default else ""
    if now.severity != rule.severity:
        return now.severity.word
    return "" if is_default else f"{now.severity.word}, in preview"


def _locate_general(found: Settings, now: Rule | None) -> str:
    """Return the setting that decides on an unnamed rule: select, at-most or preview."""
    if now is None:
        return found.place("select", 0)
    return found.place("at-most" if now.severity.word == found.at_most else "preview")


def _line(place: str) -> str:
    """Return a location without its column."""
    return place.rpartition(":")[0] if place.count(":") > 1 else place


# ---- as text and as JSON


def render_text(effective: EffectivePolicy) -> str:
    """Render the resolved policy of a path as text."""
    lines = [_head(effective)]
    lines += [f"  {', '.join(paths)}  ({origin})" for origin, paths in effective.overrides]
    rows = [(*_render_row(value), value.origin) for value in effective.values]
    lines += ["", *_columns([("key", "value", "from"), *_hide_repeats(rows)])]
    if effective.unset:
        lines += ["", f"not set: {', '.join(effective.unset)}"]
    if further := [change for change in effective.changes if not change.named]:
        lines += ["", *_columns([("rule", "becomes", "from"), *_group(further)])]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(effective: EffectivePolicy) -> str:
    if not effective.layers:
        return f"{effective.path}: no gpulint.yaml; the defaults apply"
    extended = f", which extends {', '.join(effective.layers[1:])}" if effective.layers[1:] else ""
    left_out = "\nexcluded: nothing is checked here" if effective.left_out else ""
    overrides = "\nwith the overrides for" if effective.overrides else ""
    return f"{effective.path}: {effective.layers[0]}{extended}{left_out}{overrides}"


def _render_row(value: Value) -> tuple[str, str]:
    """Return a key and its value. Entries of a mapping appear under the key of the mapping."""
    key, _, name = value.key.partition(".")
    return (key, f"{name}: {_render(value.value)}") if key in BY_NAME else (value.key, _render(value.value))


def _hide_repeats(rows: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield rows in which a repeated key is blank."""
    last = None
    for key, value, origin in rows:
        yield ("" if key == last else key, value, origin)
        last = key


def _group(changes: Iterable[Change]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each changed rule, or one row for several rules of a family with the same change."""
    groups: dict[tuple[str, str, str], list[Change]] = {}
    for change in changes:
        groups.setdefault((change.rule.family, change.becomes, change.origin), []).append(change)
    for (family, becomes, origin), several in groups.items():
        if len(several) > SINGLE_MAX:
            yield f"{family} ({len(several)} rules)", becomes, origin
            continue
        for change in several:
            before = "" if becomes == "off" else f"{change.rule.severity.word} → "
            yield change.rule.name, before + becomes, origin


def _render(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_render(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_render, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def render_json(effective: EffectivePolicy) -> str:
    """Render the resolved policy of a path as JSON."""
    data: Mapping[str, Any] = {
        "format": "gpulint-policy/1",
        "path": effective.path,
        "files": list(effective.layers),
        "overrides": [{"origin": origin, "paths": list(paths)} for origin, paths in effective.overrides],
        "left_out": effective.left_out,
        "settings": [value._asdict() for value in effective.values],
        "not_stated": list(effective.unset),
        "rules": [
            {
                "rule": change.rule.name,
                "family": change.rule.family,
                "severity": change.rule.severity.word,
                "becomes": change.becomes,
                "origin": change.origin,
            }
            for change in effective.changes
        ],
    }
    return json_text.encode(data)
