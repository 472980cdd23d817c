"""Pools by label and by folder, so that a workload is compared with the few pools that may take it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from gpulint.adapters.nodes.pool import Pool
from gpulint.adapters.pods import placement
from gpulint.adapters.pods.placement import Label
from gpulint.workload import Field

ANYWHERE = "*"
"""The folder of a pool that no file defines: it is near to every workload."""


class PoolGroup:
    """Pools that a selector may mean. `others` have none of its keys, but may have values of labels that decide nothing."""

    def __init__(self, pools: Sequence[Pool], others: PoolGroup | None = None) -> None:
        self._pools = pools
        self._others = others
        self._with_value: dict[tuple[str, str], list[int]] = {}
        self._values: dict[str, set[str]] = {}
        self._naming: dict[str, list[Pool]] = {}
        self._lacking: dict[str, list[int]] = {}
        for at, pool in enumerate(pools):
            for key, values in pool.labels.items():
                self._values.setdefault(key, set()).update(values)
                for value in values:
                    self._with_value.setdefault((key, value), []).append(at)
            for key in pool.naming:
                self._naming.setdefault(key, []).append(pool)

    def select(self, asked: Sequence[Label]) -> tuple[Pool, ...]:
        """Return the pools with accelerators whose nodes carry all the labels, at least one of them
        decisive.

        Return nothing if a label allows a further value that no known pool has.
        """
        candidates = (self._find_candidates(label) for label in asked if not is_mute(label.key))
        fewest = min(candidates, key=len, default=[])
        matches = tuple(
            self._pools[at] for at in fewest if self._pools[at].has_card() and _is_match(self._pools[at], asked)
        )
        return matches if matches and all(self._is_covered(label) for label in asked) else ()

    def find_unknown_name(self, asked: Sequence[Label]) -> dict[str, Field]:
        """Return a selector's pool name that no pool has, if one folder names its pools by that label."""
        for label in asked:
            alike = self._naming.get(label.key, [])
            folders = {posixpath.dirname(origin.document.path) for pool in alike for origin in pool.place()}
            if len(label.values) != 1 or len(folders) != 1 or any(label.key not in pool.labels for pool in alike):
                continue
            names = sorted({name for pool in alike for name in pool.labels[label.key]})
            ((value, origin),) = label.values
            if re.fullmatch(r"[\w.-]+", value) and value not in names:
                listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
                return {"unmatched_pool": Field(value, (origin,)), "pool_names": Field(listed, source="the repository")}
        return {}

    def _find_candidates(self, label: Label) -> list[int]:
        """Return the pools with a value of a label, and the open ones that do not state it."""
        if label.key not in self._lacking:
            open_pools = (at for at, pool in enumerate(self._pools) if pool.is_open and label.key not in pool.labels)
            self._lacking[label.key] = list(open_pools)
        found = {at for value, _ in label.values for at in self._with_value.get((label.key, value), ())}
        return sorted({*found, *self._lacking[label.key]})

    def _is_covered(self, label: Label) -> bool:
        """Return True if known pools have every allowed value of a label, or none of them."""
        wanted = {value for value, _ in label.values}
        there = {value for value in wanted if self._has_value(label.key, value)}
        return not there or there == wanted

    def _has_value(self, key: str, value: str) -> bool:
        return value in self._values.get(key, ()) or (self._others is not None and self._others._has_value(key, value))


class PoolIndex:
    """All pools of a repository; those near to a workload are found by the folders above it."""

    def __init__(self, pools: Sequence[Pool]) -> None:
        self.every = PoolGroup(pools)
        self._pools = pools
        self._defining: dict[tuple[str, str], list[int]] = {}
        self._groups: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], PoolGroup] = {}
        self._others: dict[tuple[str, ...], PoolGroup] = {}
        for at, pool in enumerate(pools):
            for folder in _list_folders(pool.origin.document.path) if pool.origin else (ANYWHERE,):
                for key in {*pool.labels, *pool.naming}:
                    self._defining.setdefault((key, folder), []).append(at)

    def find_near(self, asked: Sequence[Label], path: str) -> PoolGroup:
        """Return the pools without those of other clusters: for each label, those defined nearest to the
        file.
        """
        keys = tuple(dict.fromkeys(label.key for label in asked if not is_mute(label.key)))
        places = [ANYWHERE, *_list_folders(path)]
        found = ((key, next((place for place in places if (key, place) in self._defining), None)) for key in keys)
        nearest = tuple((key, place) for key, place in found if place is not None)
        others = keys if len(keys) < len(asked) else ()
        if (others, nearest) not in self._groups:
            self._groups[others, nearest] = PoolGroup(self._collect(nearest), self._find_others(others))
        return self._groups[others, nearest]

    def _collect(self, nearest: Sequence[tuple[str, str]]) -> list[Pool]:
        """Return the pools that are among the nearest of every key that they define."""
        among = {key: set(self._defining[key, place]) for key, place in nearest}
        return [
            self._pools[at]
            for at in sorted(set().union(*among.values()))
            if all(at in near for key, near in among.items() if _defines(self._pools[at], key))
        ]

    def _find_others(self, keys: tuple[str, ...]) -> PoolGroup | None:
        """Return the pools that define none of some keys."""
        if not keys:
            return None
        if keys not in self._others:
            self._others[keys] = PoolGroup(
                [pool for pool in self._pools if not any(_defines(pool, key) for key in keys)]
            )
        return self._others[keys]


def is_mute(key: str) -> bool:
    """Return whether a label says nothing about which pool is meant."""
    return placement.MUTE_KEYS.fullmatch(key) is not None


def _defines(pool: Pool, key: str) -> bool:
    return key in pool.labels or key in pool.naming


def _list_folders(path: str) -> Iterator[str]:
    """Yield the folders that hold a file, the deepest first and the root, "", last."""
    folder = posixpath.dirname(path)
    if not folder.startswith("/"):
        while folder:
            yield folder
            folder = posixpath.dirname(folder)
    yield ""


def _is_match(pool: Pool, asked: Iterable[Label]) -> bool:
    met = 0
    for label in asked:
        wanted = {value for value, _ in label.values}
        if label.key in pool.labels:
            if not wanted & pool.labels[label.key]:
                return False
            met += not is_mute(label.key)
        elif not (is_mute(label.key) or pool.is_open):
            return False
    return met > 0
