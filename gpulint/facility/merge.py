"""Merging: a facility as its file states it, completed by an inventory; what the file states decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from gpulint.facility.model import Part
from gpulint.workload import Field

CONTAINERS = frozenset({"site", "room", "row"})
"""What racks stand in: an inventory may call a row what a file calls a room."""


def merged(stated: Part, found: Part) -> Part:
    """The parts of a file with what an inventory adds: fields that a part lacks, and parts that the file does not name."""
    joining = _Joining(stated, found)
    whole = joining.joined(stated)
    return dataclasses.replace(whole, parts=(*whole.parts, *joining.left(found)))


class _Joining:
    """Which part of an inventory is which of a file, told by its name and by the names of what holds it."""

    def __init__(self, stated: Part, found: Part) -> None:
        self.of: dict[int, Part] = {}
        self._taken: set[int] = set()
        named: dict[tuple[str, str], list[tuple[Part, tuple[Part, ...]]]] = {}
        for one, holders in _placed(found):
            named.setdefault((one.role.name, _sort(one)), []).append((one, holders))
        for part, above in _placed(stated):
            candidates = named.get((part.role.name, _sort(part)), ())
            alike = [one for one, holders in candidates if self._lies_in(above, holders)]
            if len(alike) == 1:
                self.of[id(part)] = alike[0]
                self._taken.add(id(alike[0]))

    def joined(self, part: Part) -> Part:
        """A part of the file with what the inventory says of it and of what it holds."""
        other = self.of.get(id(part))
        own = tuple(self.joined(one) for one in part.parts)
        if other is None:
            return dataclasses.replace(part, parts=own)
        if part.kind == "rack":
            return _rack(part, other)
        further = tuple(self.left(other)) if part.kind in CONTAINERS else ()
        return _filled(part, other, (*own, *further))

    def left(self, part: Part) -> Iterator[Part]:
        """The parts that an inventory's part holds and that the file does not name, but for what holds nothing any more."""
        for one in part.parts:
            if id(one) in self._taken:
                continue
            if one.kind not in CONTAINERS:
                yield one
            elif kept := tuple(self.left(one)):
                yield dataclasses.replace(one, parts=kept)

    def _lies_in(self, above: Sequence[Part], holders: Sequence[Part]) -> bool:
        """Whether what holds a part of the file holds a part of the inventory too, as far as both know it."""
        names = {holder.role.name for holder in holders}
        return all(holder.role.name in names or not self._is_known(holder) for holder in above)

    def _is_known(self, holder: Part) -> bool:
        """Whether the inventory knows what holds a part of the file."""
        return id(holder) in self.of


def _sort(part: Part) -> str:
    return "container" if part.kind in CONTAINERS else part.kind


def _placed(part: Part, above: tuple[Part, ...] = ()) -> Iterator[tuple[Part, tuple[Part, ...]]]:
    """The parts below one that have names of their own, each with those that hold it, the outer ones first."""
    for one in part.parts:
        if one.kind not in ("feed", "server"):
            yield one, above
            yield from _placed(one, (*above, one))


def _filled(part: Part, other: Part, parts: tuple[Part, ...]) -> Part:
    fields: Mapping[str, Field] = {**other.role.fields, **part.role.fields}
    return Part(part.kind, dataclasses.replace(part.role, fields=fields), parts)


def _rack(part: Part, other: Part) -> Part:
    """A rack whose file lists its feeds has those, and likewise its servers; one of the same name takes the rest over."""
    feeds, servers = (_listed(part, other, kind) for kind in ("feed", "server"))
    named = {feed.role.name for feed in feeds}
    kept = tuple(_corded(server, named) for server in servers)
    rest = tuple(one for one in (*part.parts, *other.parts) if one.kind not in ("feed", "server"))
    return _filled(part, other, (*feeds, *kept, *rest))


def _listed(part: Part, other: Part, kind: str) -> Sequence[Part]:
    own = [one for one in part.parts if one.kind == kind]
    if not own:
        return [one for one in other.parts if one.kind == kind]
    named = {one.role.name: one for one in other.parts if one.kind == kind}
    return [_filled(one, named[one.role.name], one.parts) if one.role.name in named else one for one in own]


def _corded(server: Part, feeds: set[str]) -> Part:
    """A server without cords to feeds that its rack does not have."""
    cords = server.role.fields.get("cords")
    if cords is None or not isinstance(cords.value, Mapping) or set(cords.value) <= feeds:
        return server
    fields = {name: field for name, field in server.role.fields.items() if name != "cords"}
    return dataclasses.replace(server, role=dataclasses.replace(server.role, fields=fields))
