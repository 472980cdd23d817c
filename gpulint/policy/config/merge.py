"""Merging: what the layers of a policy state, one over the other, and where each value comes from.

Of single values the last layer's counts, mappings are merged key by key, and lists add up.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from gpulint import units
from gpulint.catalog.offers import Available, Energy, Price
from gpulint.policy.config import schema
from gpulint.policy.config.files import within
from gpulint.policy.config.governance import Governance
from gpulint.policy.config.packs import Layer
from gpulint.policy.config.settings import (
    Accepted,
    Folder,
    Hint,
    Level,
    NamedFabric,
    NamedPool,
    Override,
    Settings,
    SettingsError,
)
from gpulint.report.model import Comment, Waiver
from gpulint.source.documents import Path

T = TypeVar("T", Hint, NamedFabric)
FIRST_COUNTS = frozenset({"hints", "objectives", "fabric", "pools", "prices"})
"""Lists whose first entry that matches counts: the entries of a later layer stand in front."""
ONLY_THESE = frozenset({("select",), ("accelerators", "allowed")})
"""Lists that narrow: what an override says of them takes the place of what was said."""
OF_A_LAYER = frozenset({"extends", "summary", "overrides", "exclude", "rules"})
"""Keys that are about a layer itself, or about files beside it."""


class Told(NamedTuple):
    """A value, or an item of a list, its place, and the folder that globs in it are relative to."""

    value: Any
    place: str
    folder: str


class Part(NamedTuple):
    """A layer, or one override of it, which stands at `inside`."""

    layer: Layer
    stated: Mapping[str, Any]
    inside: Path = ()

    def place(self, path: Path, key: bool = False) -> str:
        return self.layer.place((*self.inside, *path), key=key)


def settings(layers: Sequence[Layer], chosen: Sequence[Override] = ()) -> Settings:
    """The settings that layers make, with what those of their overrides say that are chosen."""
    parts = [Part(one, one.stated) for one in layers]
    parts += [_of_override(layers[one.layer], one.entry) for one in chosen]
    tree = merged(parts)
    whole = _plain(tree)
    stated = schema.PolicyFile.model_validate(whole)
    own = layers[-1]
    return _settings(stated, tree)._replace(
        exclude=tuple(line for one in layers for line in one.globs(("exclude",))),
        rules=tuple(_folders(layers)),
        levels=tuple(tuple(_levels(part)) for part in parts),
        named=tuple(level for part in _all_parts(layers) for level in _levels(part)),
        overrides=tuple(_overrides(layers)),
        waivers=tuple(accepted for layer in layers for accepted in _accepted(layer)),
        path=own.document.path,
        folder=own.folder,
        stated=whole,
        origins=dict(_places(tree, ())),
        layers=tuple(layers),
        governance=_governance(stated, layers, parts),
    )


def _governance(stated: schema.PolicyFile, layers: Sequence[Layer], parts: Sequence[Part]) -> Governance:
    from gpulint.policy.config import requirements as organisation

    return organisation.of(stated, layers, parts)


def merged(parts: Iterable[Part]) -> dict[str, Any]:
    """What parts state, one over the other: mappings of mappings, lists and single values, each with its place."""
    tree: dict[str, Any] = {}
    for part in parts:
        kept = {key: value for key, value in part.stated.items() if key not in OF_A_LAYER}
        _merge(tree, kept, (), part)
    return tree


def _merge(tree: dict[str, Any], stated: Mapping[str, Any], at: Path, part: Part) -> None:
    for key, value in stated.items():
        path = (*at, key)
        if isinstance(value, dict):
            below = tree.setdefault(key, {})
            _merge(below, value, path, part)
        elif isinstance(value, list | tuple):
            known = [] if part.inside and path in ONLY_THESE else tree.get(key, [])
            tree[key] = _added(known, value, path, part)
        else:
            tree[key] = Told(value, part.place(path), part.layer.folder)


def _added(known: Sequence[Told], new: Sequence[Any], path: Path, part: Part) -> list[Told]:
    told = [Told(value, part.place((*path, index)), part.layer.folder) for index, value in enumerate(new)]
    if path[0] in FIRST_COUNTS:
        return [*told, *known]
    first: dict[str, Told] = {}
    for one in (*known, *told):
        first.setdefault(repr(one.value), one)
    return list(first.values())


def _plain(tree: object) -> Any:
    if isinstance(tree, dict):
        return {key: _plain(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [one.value for one in tree]
    return tree.value if isinstance(tree, Told) else tree


def _places(tree: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _places(value, (*path, key))
    elif isinstance(tree, list):
        yield from (((*path, index), one.place) for index, one in enumerate(tree))
    elif isinstance(tree, Told):
        yield path, tree.place


# ---- what stands in a layer


def _of_override(layer: Layer, index: int) -> Part:
    entry = layer.stated["overrides"][index]
    return Part(layer, {key: value for key, value in entry.items() if key != "paths"}, ("overrides", index))


def _all_parts(layers: Iterable[Layer]) -> Iterator[Part]:
    for layer in layers:
        yield Part(layer, layer.stated)
        yield from (_of_override(layer, index) for index in range(len(layer.stated.get("overrides", ()))))


def _overrides(layers: Iterable[Layer]) -> Iterator[Override]:
    for number, layer in enumerate(layers):
        for index in range(len(layer.stated.get("overrides", ()))):
            yield Override(tuple(layer.globs(("overrides", index, "paths"))), number, index)


def _folders(layers: Iterable[Layer]) -> Iterator[Folder]:
    for layer in layers:
        for index, folder in enumerate(layer.stated.get("rules", ())):
            place = layer.place(("rules", index))
            path = layer.beside(folder)
            if path is None:
                raise SettingsError(
                    f"{place}: rules: {folder} lies outside the {layer.realm}; give such a folder with --rules"
                )
            yield Folder(layer.reader, "" if path == "." else path, place)


def _accepted(layer: Layer) -> Iterator[Accepted]:
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
        yield Accepted(tuple(entry["rules"]), waiver, paths, *about, layer.folder)


def _levels(part: Part) -> Iterator[Level]:
    """What one part says of rules, the least first: what is selected, what has a severity, what is ignored."""
    for index, word in enumerate(part.stated.get("select", ())):
        yield Level(word, "on", part.place(("select", index)))
    for word, level in part.stated.get("severity", {}).items():
        yield Level(word, level, part.place(("severity", word), key=True))
    for index, word in enumerate(part.stated.get("ignore", ())):
        yield Level(word, "off", part.place(("ignore", index)), ignored=True)


# ---- what is stated, as the rest of gpulint takes it


def _settings(stated: schema.PolicyFile, tree: Mapping[str, Any]) -> Settings:
    """The settings of a merged policy; its lists stand in the same order as in the tree."""
    hints = (Hint(**{key: value for key, value in hint.model_dump().items() if value}) for hint in stated.hints)
    aims = (Hint(one.path, one.workload or "*", objective=one.words()) for one in stated.objectives)
    fabrics = (NamedFabric(**one.where(), quantities=one.quantities()) for one in stated.fabric)
    return Settings(
        select=tuple(stated.select),
        fail_on=stated.fail_on,
        at_most=stated.at_most,
        preview=stated.preview,
        accelerator=stated.accelerator,
        hints=(*_from(tree, "hints", hints), *_from(tree, "objectives", aims)),
        pools=tuple(NamedPool(**pool.model_dump()) for pool in stated.pools),
        fabrics=tuple(_from(tree, "fabric", fabrics)),
        like=dict(stated.like),
        available=_available(stated),
        comment=Comment(usd_per_month=stated.comment.usd_per_month, gpus=stated.comment.gpus),
        waivers_need=stated.waivers_need,
        waivers_last_s=units.seconds_of(stated.waivers_last) if stated.waivers_last else None,
        baseline=_inside(tree["baseline"], "give such a file with --baseline") if stated.baseline else "",
        facility=_inside(tree["facility"], "copy it into the repository") if stated.facility else "",
    )


def _inside(told: Told, instead: str) -> str:
    """A file of the repository that a policy names, from the root; SettingsError where it would be another."""
    path = within(posixpath.join(told.folder, told.value))
    if path is None or "\\" in told.value:
        raise SettingsError(f"{told.place}: {told.value} lies outside the repository; {instead}")
    return path


def _from(tree: Mapping[str, Any], key: str, entries: Iterable[T]) -> Iterator[T]:
    """Entries of a list with the folder that their paths are relative to."""
    for told, entry in zip(tree.get(key, ()), entries, strict=True):
        yield entry._replace(folder=told.folder)


def _available(stated: schema.PolicyFile) -> Available:
    """What a team can have and pays, by the names that it gives."""
    had = stated.available
    return Available(
        clouds=had.clouds,
        regions=had.regions,
        instance_types=had.instance_types,
        accelerators=had.accelerators,
        forbidden=had.forbidden,
        pools_only=had.pools and not (had.clouds or had.regions or had.instance_types),
        prices=tuple(Price(**one.model_dump() | {"date": one.date.isoformat()}) for one in stated.prices),
        energy=Energy(**stated.energy.model_dump()),
    )
