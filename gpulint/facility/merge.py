"""Merging: a declared facility completed by an inventory. Declared values take precedence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from gpulint.facility.model import Component
from gpulint.workload import Field

CONTAINERS = frozenset({"site", "room", "row"})
"""Containers of racks. An inventory may call a row what a file calls a room."""


def merge(stated: Component, found: Component) -> Component:
    """Add what an inventory knows to a file's components: missing fields and unnamed components."""
    matches = _Matches(stated, found)
    whole = matches.complete(stated)
    return dataclasses.replace(whole, parts=(*whole.parts, *matches.find_unmatched(found)))


class _Matches:
    """The mapping from file components to inventory components, by their names and those of their
    parents.
    """

    def __init__(self, stated: Component, found: Component) -> None:
        self.of: dict[int, Component] = {}
        self._taken: set[int] = set()
        named: dict[tuple[str, str], list[tuple[Component, tuple[Component, ...]]]] = {}
        for candidate, holders in _walk(found):
            named.setdefault((candidate.role.name, _match_kind(candidate)), []).append((candidate, holders))
        for part, above in _walk(stated):
            candidates = named.get((part.role.name, _match_kind(part)), ())
            matching = [candidate for candidate, holders in candidates if self._lies_in(above, holders)]
            if len(matching) == 1:
                self.of[id(part)] = matching[0]
                self._taken.add(id(matching[0]))

    def complete(self, part: Component) -> Component:
        """Return a component of the file, completed by the inventory."""
        other = self.of.get(id(part))
        children = tuple(self.complete(child) for child in part.parts)
        if other is None:
            return dataclasses.replace(part, parts=children)
        if part.kind == "rack":
            return _merge_rack(part, other)
        further = tuple(self.find_unmatched(other)) if part.kind in CONTAINERS else ()
        return _fill(part, other, (*children, *further))

    def find_unmatched(self, part: Component) -> Iterator[Component]:
        """Yield the components below an inventory component that the file does not name. Empty
        containers are left out.
        """
        for child in part.parts:
            if id(child) in self._taken:
                continue
            if child.kind not in CONTAINERS:
                yield child
            elif rest := tuple(self.find_unmatched(child)):
                yield dataclasses.replace(child, parts=rest)

    def _lies_in(self, above: Sequence[Component], holders: Sequence[Component]) -> bool:
        """Return whether the parents of a file component are parents of an inventory component, as
        far as both know them.
        """
        names = {holder.role.name for holder in holders}
        return all(holder.role.name in names or not self._is_known(holder) for holder in above)

    def _is_known(self, holder: Component) -> bool:
        """Return whether the inventory knows a parent of a file component."""
        return id(holder) in self.of


def _match_kind(part: Component) -> str:
    return "container" if part.kind in CONTAINERS else part.kind


def _walk(part: Component, above: tuple[Component, ...] = ()) -> Iterator[tuple[Component, tuple[Component, ...]]]:
    """Yield the named components below a component, each with its parents from the outermost in."""
    for child in part.parts:
        if child.kind not in ("feed", "server"):
            yield child, above
            yield from _walk(child, (*above, child))


def _fill(part: Component, other: Component, parts: tuple[Component, ...]) -> Component:
    fields: Mapping[str, Field] = {**other.role.fields, **part.role.fields}
    return Component(part.kind, dataclasses.replace(part.role, fields=fields), parts)


def _merge_rack(part: Component, other: Component) -> Component:
    """Merge a rack. A file's list of feeds or servers replaces the inventory's, and entries of one
    name are merged.
    """
    feeds, servers = (_merge_list(part, other, kind) for kind in ("feed", "server"))
    named = {feed.role.name for feed in feeds}
    corded = tuple(_drop_foreign_cords(server, named) for server in servers)
    rest = tuple(child for child in (*part.parts, *other.parts) if child.kind not in ("feed", "server"))
    return _fill(part, other, (*feeds, *corded, *rest))


def _merge_list(part: Component, other: Component, kind: str) -> Sequence[Component]:
    own = [child for child in part.parts if child.kind == kind]
    if not own:
        return [child for child in other.parts if child.kind == kind]
    named = {child.role.name: child for child in other.parts if child.kind == kind}
    return [_fill(child, named[child.role.name], child.parts) if child.role.name in named else child for child in own]


def _drop_foreign_cords(server: Component, feeds: set[str]) -> Component:
    """Drop a server's cords if they lead to feeds that its rack does not have."""
    cords = server.role.fields.get("cords")
    if cords is None or not isinstance(cords.value, Mapping) or set(cords.value) <= feeds:
        return server
    fields = {name: field for name, field in server.role.fields.items() if name != "cords"}
    return dataclasses.replace(server, role=dataclasses.replace(server.role, fields=fields))
