"""Merge the layers of a policy and record where each value comes from.

The last layer wins for single values. Mappings are merged key by key, and lists are concatenated.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from gpulint import units
from gpulint.catalog.offers import Available, Energy, Price
from gpulint.policy.config import requirements, schema
from gpulint.policy.config.files import SettingsError, normalise
from gpulint.policy.config.layer import Layer, Part
from gpulint.policy.config.settings import (
    AcceptedFindings,
    Folder,
    Hint,
    Level,
    NamedFabric,
    NamedPool,
    Override,
    Settings,
)
from gpulint.report.model import Comment, Waiver
from gpulint.source.documents import Path

T = TypeVar("T", Hint, NamedFabric)
FIRST_MATCH_LISTS = frozenset({"hints", "objectives", "fabric", "pools", "prices"})
"""Lists whose first matching entry applies: entries of a later layer come first."""
REPLACED_LISTS = frozenset({("select",), ("accelerators", "allowed")})
"""Lists that restrict: an override replaces them."""
LAYER_KEYS = frozenset({"extends", "summary", "overrides", "exclude", "rules"})
"""Keys about a layer itself, or about files in its folder."""


class LocatedValue(NamedTuple):
    """A value or list item, its location, and the folder to which its globs are relative."""

    value: Any
    place: str
    folder: str


def merge_settings(layers: Sequence[Layer], chosen: Sequence[Override] = ()) -> Settings:
    """Return the settings of layers with the chosen overrides."""
    parts = [Part(layer, layer.stated) for layer in layers]
    parts += [_override_part(layers[override.layer], override.entry) for override in chosen]
    tree = merge(parts)
    whole = _strip_places(tree)
    stated = schema.PolicyFile.model_validate(whole)
    own = layers[-1]
    return _build_settings(stated, tree)._replace(
        exclude=tuple(line for layer in layers for line in layer.globs(("exclude",))),
        rules=tuple(_folders(layers)),
        levels=tuple(tuple(_levels(part)) for part in parts),
        named=tuple(level for part in _all_parts(layers) for level in _levels(part)),
        overrides=tuple(_overrides(layers)),
        waivers=tuple(accepted for layer in layers for accepted in _read_waivers(layer)),
        path=own.document.path,
        folder=own.folder,
        stated=whole,
        origins=dict(_places(tree, ())),
        layers=tuple(layers),
        governance=requirements.read_requirements(stated, layers, parts),
    )


def merge(parts: Iterable[Part]) -> dict[str, Any]:
    """Merge parts into one tree of mappings, lists and single values, each with its location."""
    tree: dict[str, Any] = {}
    for part in parts:
        kept = {key: value for key, value in part.stated.items() if key not in LAYER_KEYS}
        _merge(tree, kept, (), part)
    return tree


def _merge(tree: dict[str, Any], stated: Mapping[str, Any], at: Path, part: Part) -> None:
    for key, value in stated.items():
        path = (*at, key)
        if isinstance(value, dict):
            below = tree.setdefault(key, {})
            _merge(below, value, path, part)
        elif isinstance(value, list | tuple):
            known = [] if part.inside and path in REPLACED_LISTS else tree.get(key, [])
            tree[key] = _merge_list(known, value, path, part)
        else:
            tree[key] = LocatedValue(value, part.place(path), part.layer.folder)


def _merge_list(earlier: Sequence[LocatedValue], new: Sequence[Any], path: Path, part: Part) -> list[LocatedValue]:
    items = [LocatedValue(value, part.place((*path, index)), part.layer.folder) for index, value in enumerate(new)]
    if path[0] in FIRST_MATCH_LISTS:
        return [*items, *earlier]
    unique: dict[str, LocatedValue] = {}
    for item in (*earlier, *items):
        unique.setdefault(repr(item.value), item)
    return list(unique.values())


def _strip_places(tree: object) -> Any:
    if isinstance(tree, dict):
        return {key: _strip_places(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [item.value for item in tree]
    return tree.value if isinstance(tree, LocatedValue) else tree


def _places(tree: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _places(value, (*path, key))
    elif isinstance(tree, list):
        yield from (((*path, index), item.place) for index, item in enumerate(tree))
    elif isinstance(tree, LocatedValue):
        yield path, tree.place


# ---- the content of a layer


def _override_part(layer: Layer, index: int) -> Part:
    entry = layer.stated["overrides"][index]
    return Part(layer, {key: value for key, value in entry.items() if key != "paths"}, ("overrides", index))


def _all_parts(layers: Iterable[Layer]) -> Iterator[Part]:
    for layer in layers:
        yield Part(layer, layer.stated)
        yield from (_override_part(layer, index) for index in range(len(layer.stated.get("overrides", ()))))


def _overrides(layers: Iterable[Layer]) -> Iterator[Override]:
    for number, layer in enumerate(layers):
        for index in range(len(layer.stated.get("overrides", ()))):
            yield Override(tuple(layer.globs(("overrides", index, "paths"))), number, index)


def _folders(layers: Iterable[Layer]) -> Iterator[Folder]:
    for layer in layers:
        for index, folder in enumerate(layer.stated.get("rules", ())):
            place = layer.place(("rules", index))
            path = layer.resolve_path(folder)
            if path is None:
                raise SettingsError(
                    f"{place}: rules: {folder} is outside the {layer.realm}; pass such a folder with --rules"
                )
            yield Folder(layer.reader, "" if path == "." else path, place)


def _read_waivers(layer: Layer) -> Iterator[AcceptedFindings]:
    for index, entry in enumerate(layer.stated.get("waivers", ())):
        until = entry.get("until")
        waiver = Waiver(
            "policy",
            entry["reason"],
            layer.document.locate((*layer.inside, "waivers", index)),
            entry.get("owner", ""),
            until.isoformat() if until else "",
            entry.get("while", ""),
        )
        paths = tuple(layer.globs(("waivers", index, "paths")))
        about = (entry.get("workload") or "*", entry.get("object") or "*")
        yield AcceptedFindings(tuple(entry["rules"]), waiver, paths, *about, layer.folder)


def _levels(part: Part) -> Iterator[Level]:
    """Yield what one part says of rules, lowest precedence first: select, severity, ignore."""
    for index, word in enumerate(part.stated.get("select", ())):
        yield Level(word, "on", part.place(("select", index)))
    for word, level in part.stated.get("severity", {}).items():
        yield Level(word, level, part.place(("severity", word), key=True))
    for index, word in enumerate(part.stated.get("ignore", ())):
        yield Level(word, "off", part.place(("ignore", index)), ignored=True)


# ---- settings for the other modules


def _build_settings(stated: schema.PolicyFile, tree: Mapping[str, Any]) -> Settings:
    """Return the settings of a merged policy. Its lists have the same order as in the tree."""
    hints = (Hint(**{key: value for key, value in hint.model_dump().items() if value}) for hint in stated.hints)
    objectives = (Hint(entry.path, entry.workload or "*", objective=entry.words()) for entry in stated.objectives)
    fabrics = (NamedFabric(**fabric.where(), quantities=fabric.quantities()) for fabric in stated.fabric)
    return Settings(
        select=tuple(stated.select),
        fail_on=stated.fail_on,
        at_most=stated.at_most,
        preview=stated.preview,
        accelerator=stated.accelerator,
        hints=(*_add_folders(tree, "hints", hints), *_add_folders(tree, "objectives", objectives)),
        pools=tuple(NamedPool(**pool.model_dump()) for pool in stated.pools),
        fabrics=tuple(_add_folders(tree, "fabric", fabrics)),
        like=dict(stated.like),
        available=_available(stated),
        comment=Comment(usd_per_month=stated.comment.usd_per_month, gpus=stated.comment.gpus),
        waivers_need=stated.waivers_need,
        waivers_last_s=units.seconds_of(stated.waivers_last) if stated.waivers_last else None,
        baseline=_resolve_file(tree["baseline"], "give such a file with --baseline") if stated.baseline else "",
        facility=_resolve_file(tree["facility"], "copy it into the repository") if stated.facility else "",
    )


def _resolve_file(item: LocatedValue, instead: str) -> str:
    """Return the path of a file of the repository from its root; raise SettingsError if it is outside."""
    path = normalise(posixpath.join(item.folder, item.value))
    if path is None or "\\" in item.value:
        raise SettingsError(f"{item.place}: {item.value} is outside the repository; {instead}")
    return path


def _add_folders(tree: Mapping[str, Any], key: str, entries: Iterable[T]) -> Iterator[T]:
    """Yield the entries of a list with the folder to which their paths are relative."""
    for item, entry in zip(tree.get(key, ()), entries, strict=True):
        yield entry._replace(folder=item.folder)


def _available(stated: schema.PolicyFile) -> Available:
    """Return what a team has and pays, by the names in the policy."""
    available = stated.available
    return Available(
        clouds=available.clouds,
        regions=available.regions,
        instance_types=available.instance_types,
        accelerators=available.accelerators,
        forbidden=available.forbidden,
        pools_only=available.pools and not (available.clouds or available.regions or available.instance_types),
        prices=tuple(Price(**price.model_dump() | {"date": price.date.isoformat()}) for price in stated.prices),
        energy=Energy(**stated.energy.model_dump()),
    )
