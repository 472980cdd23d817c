"""Components of a facility, each with the facts of its kind, of its parents and of its children."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from gpulint.catalog import hardware
from gpulint.catalog.hardware import servers
from gpulint.facts import intervals, resolver
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.model import Facts, Missing, ResolvedFact, Results, constant
from gpulint.report.model import Scenarios
from gpulint.workload import Field, Role, Value

LISTS: Mapping[str, str] = {
    "sites": "site",
    "rooms": "room",
    "rows": "row",
    "racks": "rack",
    "feeds": "feed",
    "servers": "server",
    "panels": "panel",
    "cdus": "cdu",
    "pools": "pool",
    "switches": "switch",
    "cables": "cable",
    "server_types": "server_type",
}
"""The kind of component that each key lists."""
_BESIDE = frozenset({"panel", "cdu", "pool", "switch", "cable", "server_type"})
HOLDS: Mapping[str, frozenset[str]] = {
    "facility": frozenset({"site", "room", "row", "rack"}) | _BESIDE,
    "site": frozenset({"room", "row", "rack"}) | _BESIDE,
    "room": frozenset({"row", "rack"}) | _BESIDE,
    "row": frozenset({"rack"}) | _BESIDE,
    "rack": frozenset({"feed", "server", "switch"}),
}
"""The kinds of component that a component of a kind may contain."""
NAMELESS = frozenset({"facility", "feed", "server", "cable"})
"""Kinds whose components need no name."""
LINKED: Mapping[str, tuple[str, ...]] = {"cable": ("switch",), "switch": ("cable",)}
"""Kinds of component whose facts depend on those that they name, or that name them."""
ENDS: Mapping[str, tuple[str, ...]] = {"cable": ("cable_from", "cable_to")}
"""The facts by which a kind of component names others, anywhere in the facility."""
_UNSOUGHT = frozenset({"site", "room", "row", "rack", "feed", "server"})
"""Kinds of component that no other component refers to by name."""
NAME_FACTS = frozenset({"facility_name", "site_name", "room_name", "row_name", "rack_name"})
"""Facts that no formula takes. Components that differ only in them share all other facts."""
_STAYING = frozenset({"site", "room", "row", "rack", "cable", "switch"})
"""Kinds of component that a change elsewhere leaves unchanged."""
NAMED = frozenset({"panel", "cdu", "pool", "switch"})
"""Kinds of component without children of their own.

Components that name one in a key of its kind belong to it.
"""


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a facility: its kind, its declared values, and its children."""

    kind: str
    role: Role
    parts: tuple[Component, ...] = ()

    def all(self) -> Iterator[Component]:
        """Yield this component and its children, at any depth."""
        yield self
        for component in self.parts:
            yield from component.all()


class ContentIndex:
    """Numbers components by their declared values and children; equal numbers mean equal
    content.
    """

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._of: dict[int, tuple[Component, int]] = {}

    def number(self, part: Component) -> int:
        """Return the number of a component. Its name counts only if others may refer to it."""
        if id(part) not in self._of:
            role = part.role
            name = "" if part.kind in _UNSOUGHT else role.name
            fields = tuple(
                (key, repr(field.value), field.source) for key, field in role.fields.items() if key not in NAME_FACTS
            )
            children = tuple(map(self.number, part.parts))
            content = part.kind, name, role.open_ended, fields, children
            self._of[id(part)] = part, self._numbers.setdefault(content, len(self._numbers))
        return self._of[id(part)][1]


class SharedFacts:
    """Facts shared by components with the same content and parents, so that each is resolved
    once.
    """

    def __init__(self) -> None:
        self.results = Results(unshared=NAME_FACTS)
        self._below: dict[int, SharedFacts] = {}

    def find_child(self, number: int) -> SharedFacts:
        """Return the facts shared by the children with one content number."""
        return self._below.setdefault(number, SharedFacts())


class ComponentFacts:
    """One component with its facts; `above` is its parent and `below` are its children."""

    def __init__(
        self,
        part: Component,
        above: ComponentFacts | None = None,
        below: Callable[[ComponentFacts], Iterator[ComponentFacts]] | None = None,
        contents: ContentIndex | None = None,
    ) -> None:
        self.part = part
        self.role = part.role
        self.kind = part.kind
        self.above = above
        self.contents: ContentIndex = above.contents if above else contents or ContentIndex()
        self.common: SharedFacts = above.common.find_child(self.contents.number(part)) if above else SharedFacts()
        self.facts = Facts(
            part.role,
            None,
            resolver.list_providers,
            intervals.span_scenarios,
            layer=(self._provide,),
            results=self.common.results,
        )
        self.below = tuple(below(self) if below else (ComponentFacts(component, self) for component in part.parts))
        self._of_kind: dict[str, tuple[ComponentFacts, ...]] = {}
        self._called: dict[str, Mapping[str, tuple[ComponentFacts, ...]]] = {}
        self._ending: dict[str, Mapping[str, tuple[ComponentFacts, ...]]] = {}
        self._type: Mapping[str, Field] | None = None

    def path(self) -> tuple[str, ...]:
        """Return the names that lead from the facility to here, without the facility's."""
        return (*self.above.path(), self.role.name) if self.above else ()

    def all(self) -> Iterator[ComponentFacts]:
        """Yield this component and its children at any depth, in the order of the file."""
        waiting = [self]
        while waiting:
            component = waiting.pop()
            yield component
            waiting += reversed(component.below)

    def list_components(self, kind: str) -> tuple[ComponentFacts, ...]:
        """Return the components of a kind that belong to this one: children at any depth, or those
        that name it.
        """
        if kind not in self._of_kind:
            self._of_kind[kind] = tuple(self._find_belonging(kind))
        return self._of_kind[kind]

    def _find_belonging(self, kind: str) -> Iterator[ComponentFacts]:
        if self.kind in ENDS:
            return self._find_at_ends(kind)
        return self._find_naming(kind) if self.kind in NAMED else self._find_contained(kind)

    def _find_at_ends(self, kind: str) -> Iterator[ComponentFacts]:
        """Yield the components of a kind that the ends of this one name."""
        called = self.root().map_by_name(kind)
        for device in dict.fromkeys(_find_device(self.expected(name)) for name in ENDS[self.kind]):
            yield from called.get(device, ())

    def _find_contained(self, kind: str) -> Iterator[ComponentFacts]:
        for component in self.below:
            if component.kind == kind:
                yield component
            yield from (
                component.list_components(kind) if component.kind not in NAMED and component.kind not in ENDS else ()
            )

    def _find_naming(self, kind: str) -> Iterator[ComponentFacts]:
        """Yield the components of a kind next to this one that name it; cables may be anywhere."""
        if kind in ENDS:
            yield from self.root().ending(kind).get(self.role.name, ())
            return
        for component in self.above.list_components(kind) if self.above else ():
            if component.expected(self.kind) == self.role.name:
                yield component

    def map_by_name(self, kind: str) -> Mapping[str, tuple[ComponentFacts, ...]]:
        """Return the components of a kind by name."""
        if kind not in self._called:
            found: dict[str, list[ComponentFacts]] = {}
            for component in self.list_components(kind):
                found.setdefault(component.role.name, []).append(component)
            self._called[kind] = {name: tuple(components) for name, components in found.items()}
        return self._called[kind]

    def ending(self, kind: str) -> Mapping[str, tuple[ComponentFacts, ...]]:
        """Return the components of a kind with two ends by the names at their ends, without
        ports.
        """
        if kind not in self._ending:
            found: dict[str, dict[ComponentFacts, None]] = {}
            for component in self.list_components(kind):
                for device in filter(None, (_find_device(component.expected(name)) for name in ENDS[kind])):
                    found.setdefault(device, {})[component] = None
            self._ending[kind] = {name: tuple(components) for name, components in found.items()}
        return self._ending[kind]

    def vary(self, roles: Mapping[int, Role], added: Mapping[int, tuple[Component, ...]]) -> ComponentFacts:
        """Return the facts of the facility with changed roles and added components, both by `id`.

        Components that a change does not reach are reused, such as whole racks next to it.
        """
        changed = [component for component in self.all() if id(component) in roles or id(component) in added]
        reached = {
            id(holder)
            for component in changed
            for linked in component._find_linked()
            for holder in linked._find_holders()
        }
        return self._vary(self._restate(roles, added), roles, added, reached, None, False)

    def _restate(self, roles: Mapping[int, Role], added: Mapping[int, tuple[Component, ...]]) -> Component:
        """Return the component with changed roles and added children at any depth; itself if
        nothing changes.
        """
        children = (*(component._restate(roles, added) for component in self.below), *added.get(id(self), ()))
        role = roles.get(id(self), self.role)
        return (
            self.part
            if role is self.role and _is_identical(children, self.part.parts)
            else Component(self.kind, role, children)
        )

    def _vary(
        self,
        part: Component,
        roles: Mapping[int, Role],
        added: Mapping[int, tuple[Component, ...]],
        reached: Collection[int],
        above: ComponentFacts | None,
        within: bool,
    ) -> ComponentFacts:
        changed = within or id(self) in roles or id(self) in added

        def vary_children(new: ComponentFacts) -> Iterator[ComponentFacts]:
            for child, again in zip(self.below, part.parts, strict=False):
                stays = not changed and id(child) not in reached and self.kind != "rack" and child.kind in _STAYING
                yield child if stays else child._vary(again, roles, added, reached, new, changed)
            yield from (ComponentFacts(child, new) for child in part.parts[len(self.below) :])

        return ComponentFacts(part, above, vary_children, self.contents)

    def _find_linked(self) -> Iterator[ComponentFacts]:
        """Yield this component, and those that a cable connects or that connect to a switch."""
        yield self
        for kind in LINKED.get(self.kind, ()):
            yield from self.list_components(kind)

    def _find_holders(self) -> Iterator[ComponentFacts]:
        """Yield this component and its parents."""
        yield self
        if self.above is not None:
            yield from self.above._find_holders()

    def nearest(self, kinds: tuple[str, ...]) -> ComponentFacts | None:
        """Return the nearest parent of one of these kinds."""
        above = self.above
        while above is not None and above.kind not in kinds:
            above = above.above
        return above

    def root(self) -> ComponentFacts:
        """Return the component that contains all others."""
        return self.above.root() if self.above else self

    def find(self, name: str) -> ResolvedFact | Missing:
        """Return a fact with its origin."""
        return self.facts.find(name)

    def scenarios(self, name: str) -> Scenarios[Value] | Missing:
        """Return the values of a fact, or what is missing for it."""
        return self.facts.scenarios(name)

    def expected(self, name: str) -> Value | Missing:
        """Return the likely value of a fact, or what is missing for it."""
        return self.facts.expected(name)

    def number(self, name: str) -> float | None:
        """Return the likely value of a fact; None if it is missing, absent or not a number."""
        return self.facts.number(name)

    def _provide(self, quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
        """Provide what the facility knows of a quantity; None if the component has it like any other role."""
        if not quantity.part:
            return self._find_general(quantity)
        if self.kind not in quantity.part:
            return self._find_above(quantity)
        if quantity.of == "list":
            return self._gather(quantity)
        if quantity.of == "expected":
            found = facts.find(quantity.each)
            return found if isinstance(found, Missing) else constant(found.scenarios.expected, found.how)
        if quantity.name in self.role.fields:
            return None
        if _is_type_quantity(quantity) and (supplied := self._find_typed(quantity)) is not None:
            return supplied
        above = self.nearest(quantity.part) if quantity.inherits else None
        return above.find(quantity.name) if above else None

    def _find_general(self, quantity: Quantity) -> ResolvedFact | Missing | None:
        """Find a fact that is not one of a facility: a threshold, or one of the server's accelerator."""
        if quantity.of == "accelerator" and "accelerator" not in self.role.fields:
            product = self.find("accelerator")
            if isinstance(product, Missing):
                return product
            card = hardware.accelerator(str(product.scenarios.expected))
            value = getattr(card, quantity.name, None)
            return Missing(frozenset({"accelerator"})) if value is None else constant(value, "catalog")
        if quantity.of == "policy" and quantity.name not in self.role.fields and self.above is not None:
            return self.root().find(quantity.name)
        return None

    def _find_above(self, quantity: Quantity) -> ResolvedFact | Missing:
        """Return a fact of the nearest parent that has such facts."""
        above = self.nearest(quantity.part)
        if above is not None:
            return above.find(quantity.name)
        return (
            constant(quantity.absent[0], "nothing states it")
            if quantity.absent
            else Missing(frozenset({quantity.name}))
        )

    def _gather(self, quantity: Quantity) -> ResolvedFact | Missing:
        """Return one fact of each child of a kind, scenario by scenario."""
        found = [component.find(quantity.each) for component in self.list_components(quantity.over)]
        lacking = [fact.names for fact in found if isinstance(fact, Missing)]
        if lacking and not quantity.known:
            return Missing(frozenset().union(*lacking))
        resolved = [fact for fact in found if isinstance(fact, ResolvedFact)]
        if len(resolved) == 0:
            return constant((), "none")
        scenarios = Scenarios(
            *(tuple(getattr(fact.scenarios, world) for fact in resolved) for world in Scenarios._fields)
        )
        return ResolvedFact(scenarios, f"each {quantity.over}")  # type: ignore[arg-type]

    def _find_typed(self, quantity: Quantity) -> ResolvedFact | Missing | None:
        """Return a server's fact from its type: an entry of the file's own types, else the
        catalog's row.
        """
        name = self.role.text("server_type")
        own = self._find_own_type(name).get(quantity.name)
        if own is not None:
            return resolver.resolve(self.role.having(**{quantity.name: own}), None).find(quantity.name)
        row = servers.find_server(name)
        value = getattr(row, quantity.name, None)
        return None if value is None else constant(value, "catalog")

    def _find_own_type(self, name: str) -> Mapping[str, Field]:
        if self._type is None:
            types = (
                component for component in self.root().list_components("server_type") if component.role.name == name
            )
            found = next(types, None)
            self._type = found.role.fields if found else {}
        return self._type


def _is_identical(some: tuple[Component, ...], others: tuple[Component, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _find_device(stated: object) -> str:
    """Return the name of a cable's end, without the port after the colon."""
    return stated.partition(":")[0] if isinstance(stated, str) else ""


def _is_type_quantity(quantity: Quantity) -> bool:
    """Return whether the type of a server may supply the quantity."""
    return quantity.of == "server" or quantity.name == "accelerator"


@functools.cache
def list_keys(kind: str) -> Mapping[str, Quantity]:
    """Return the keys that a component of a kind may declare, with the quantity of each."""
    wanted = "server" if kind == "server_type" else kind
    rows = (quantity for quantity in glossary().values() if quantity.key and wanted in quantity.part)
    return {quantity.key: quantity for quantity in rows if kind != "server_type" or _is_type_quantity(quantity)}
