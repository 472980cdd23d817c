"""Parts: the things a facility is made of, each with the facts of its kind, of what holds it and of what it holds."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from gpulint.catalog import hardware
from gpulint.catalog.hardware import servers
from gpulint.facts import intervals, resolver
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.model import Facts, Known, Missing, Results, constant
from gpulint.report.model import Worlds
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
"""The key that lists the parts of a kind."""
_BESIDE = frozenset({"panel", "cdu", "pool", "switch", "cable", "server_type"})
HOLDS: Mapping[str, frozenset[str]] = {
    "facility": frozenset({"site", "room", "row", "rack"}) | _BESIDE,
    "site": frozenset({"room", "row", "rack"}) | _BESIDE,
    "room": frozenset({"row", "rack"}) | _BESIDE,
    "row": frozenset({"rack"}) | _BESIDE,
    "rack": frozenset({"feed", "server", "switch"}),
}
"""The kinds of part that a part of a kind may hold."""
NAMELESS = frozenset({"facility", "feed", "server", "cable"})
"""Kinds whose parts need no name."""
LINKED: Mapping[str, tuple[str, ...]] = {"cable": ("switch",), "switch": ("cable",)}
"""The kinds of part whose facts hang on one that they name, or that names them."""
ENDS: Mapping[str, tuple[str, ...]] = {"cable": ("cable_from", "cable_to")}
"""The facts by which a kind of part names others, wherever in the facility they are."""
_UNSOUGHT = frozenset({"site", "room", "row", "rack", "feed", "server"})
"""Kinds of part that no other names: they are not looked up by what they are called."""
CALLED = frozenset({"facility_name", "site_name", "room_name", "row_name", "rack_name"})
"""Facts that no formula takes: parts that differ in them alone have all others in common."""
_STAYING = frozenset({"site", "room", "row", "rack", "cable", "switch"})
"""Kinds of part that a change elsewhere leaves as they are."""
NAMED = frozenset({"panel", "cdu", "pool", "switch"})
"""Kinds whose parts hold nothing themselves: those that name one in a key of its kind belong to it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing of a facility: its kind, what is stated of it, and the parts that it holds."""

    kind: str
    role: Role
    parts: tuple[Part, ...] = ()

    def all(self) -> Iterator[Part]:
        """This part and those that it holds, at any depth."""
        yield self
        for one in self.parts:
            yield from one.all()


class Contents:
    """Numbers parts by what is stated of them and of all that they hold: parts of one number state the same."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._of: dict[int, tuple[Part, int]] = {}

    def number(self, part: Part) -> int:
        """The number of a part; its name counts where others may be looked up by it."""
        if id(part) not in self._of:
            role = part.role
            name = "" if part.kind in _UNSOUGHT else role.name
            fields = tuple((key, repr(one.value), one.source) for key, one in role.fields.items() if key not in CALLED)
            held = tuple(map(self.number, part.parts))
            content = part.kind, name, role.open_ended, fields, held
            self._of[id(part)] = part, self._numbers.setdefault(content, len(self._numbers))
        return self._of[id(part)][1]


class Common:
    """What parts that state the same have in common where alike parts hold them: every fact is resolved once for all."""

    def __init__(self) -> None:
        self.results = Results(unshared=CALLED)
        self._below: dict[int, Common] = {}

    def below(self, number: int) -> Common:
        """What the parts of a content that such parts hold have in common."""
        return self._below.setdefault(number, Common())


class PartFacts:
    """One part with its facts; `above` is the part that holds it, `below` are those that it holds."""

    def __init__(
        self,
        part: Part,
        above: PartFacts | None = None,
        below: Callable[[PartFacts], Iterator[PartFacts]] | None = None,
        contents: Contents | None = None,
    ) -> None:
        self.part = part
        self.role = part.role
        self.kind = part.kind
        self.above = above
        self.contents: Contents = above.contents if above else contents or Contents()
        self.common: Common = above.common.below(self.contents.number(part)) if above else Common()
        self.facts = Facts(
            part.role,
            None,
            resolver.list_providers,
            intervals.span_scenarios,
            layer=(self._provide,),
            results=self.common.results,
        )
        self.below = tuple(below(self) if below else (PartFacts(one, self) for one in part.parts))
        self._of_kind: dict[str, tuple[PartFacts, ...]] = {}
        self._called: dict[str, Mapping[str, tuple[PartFacts, ...]]] = {}
        self._ending: dict[str, Mapping[str, tuple[PartFacts, ...]]] = {}
        self._type: Mapping[str, Field] | None = None

    def path(self) -> tuple[str, ...]:
        """The names of the parts that lead here from what the file is about, which is left out."""
        return (*self.above.path(), self.role.name) if self.above else ()

    def all(self) -> Iterator[PartFacts]:
        """This part and those that it holds, at any depth, in the order of the file."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += reversed(one.below)

    def of_kind(self, kind: str) -> tuple[PartFacts, ...]:
        """The parts of a kind that belong to this one: that it holds, at any depth, or that name it."""
        if kind not in self._of_kind:
            self._of_kind[kind] = tuple(self._belonging(kind))
        return self._of_kind[kind]

    def _belonging(self, kind: str) -> Iterator[PartFacts]:
        if self.kind in ENDS:
            return self._at_ends(kind)
        return self._naming(kind) if self.kind in NAMED else self._held(kind)

    def _at_ends(self, kind: str) -> Iterator[PartFacts]:
        """The parts of a kind that this one's ends name."""
        called = self.root().called(kind)
        for device in dict.fromkeys(_device(self.likely(name)) for name in ENDS[self.kind]):
            yield from called.get(device, ())

    def _held(self, kind: str) -> Iterator[PartFacts]:
        for one in self.below:
            if one.kind == kind:
                yield one
            yield from one.of_kind(kind) if one.kind not in NAMED and one.kind not in ENDS else ()

    def _naming(self, kind: str) -> Iterator[PartFacts]:
        """The parts of a kind beside this one that name it; of those with two ends, wherever they are."""
        if kind in ENDS:
            yield from self.root().ending(kind).get(self.role.name, ())
            return
        for one in self.above.of_kind(kind) if self.above else ():
            if one.likely(self.kind) == self.role.name:
                yield one

    def called(self, kind: str) -> Mapping[str, tuple[PartFacts, ...]]:
        """The parts of a kind by their names."""
        if kind not in self._called:
            found: dict[str, list[PartFacts]] = {}
            for one in self.of_kind(kind):
                found.setdefault(one.role.name, []).append(one)
            self._called[kind] = {name: tuple(ones) for name, ones in found.items()}
        return self._called[kind]

    def ending(self, kind: str) -> Mapping[str, tuple[PartFacts, ...]]:
        """The parts of a kind with two ends, by the names at their ends, without the port behind a colon."""
        if kind not in self._ending:
            found: dict[str, dict[PartFacts, None]] = {}
            for one in self.of_kind(kind):
                for device in filter(None, (_device(one.likely(name)) for name in ENDS[kind])):
                    found.setdefault(device, {})[one] = None
            self._ending[kind] = {name: tuple(ones) for name, ones in found.items()}
        return self._ending[kind]

    def varied(self, roles: Mapping[int, Role], added: Mapping[int, tuple[Part, ...]]) -> PartFacts:
        """The facts of the whole with other roles of some parts, and with further parts in some, both by `id`.

        What a change does not reach is taken over as it is: whole racks beside those that change.
        """
        changed = [one for one in self.all() if id(one) in roles or id(one) in added]
        reached = {id(holder) for one in changed for held in one._linked() for holder in held._holders()}
        return self._varied(self._restated(roles, added), roles, added, reached, None, False)

    def _restated(self, roles: Mapping[int, Role], added: Mapping[int, tuple[Part, ...]]) -> Part:
        """The part with other roles and further parts at any depth; itself where nothing of it changes."""
        held = (*(one._restated(roles, added) for one in self.below), *added.get(id(self), ()))
        role = roles.get(id(self), self.role)
        return self.part if role is self.role and _identical(held, self.part.parts) else Part(self.kind, role, held)

    def _varied(
        self,
        part: Part,
        roles: Mapping[int, Role],
        added: Mapping[int, tuple[Part, ...]],
        reached: Collection[int],
        above: PartFacts | None,
        within: bool,
    ) -> PartFacts:
        changed = within or id(self) in roles or id(self) in added

        def below(new: PartFacts) -> Iterator[PartFacts]:
            for one, again in zip(self.below, part.parts, strict=False):
                stays = not changed and id(one) not in reached and self.kind != "rack" and one.kind in _STAYING
                yield one if stays else one._varied(again, roles, added, reached, new, changed)
            yield from (PartFacts(one, new) for one in part.parts[len(self.below) :])

        return PartFacts(part, above, below, self.contents)

    def _linked(self) -> Iterator[PartFacts]:
        """This part, and what a cable joins or what is joined to a switch."""
        yield self
        for kind in LINKED.get(self.kind, ()):
            yield from self.of_kind(kind)

    def _holders(self) -> Iterator[PartFacts]:
        """This part and those that hold it."""
        yield self
        if self.above is not None:
            yield from self.above._holders()

    def nearest(self, kinds: tuple[str, ...]) -> PartFacts | None:
        """The nearest part of one of these kinds that holds this one."""
        above = self.above
        while above is not None and above.kind not in kinds:
            above = above.above
        return above

    def root(self) -> PartFacts:
        """The part that holds all others."""
        return self.above.root() if self.above else self

    def find(self, name: str) -> Known | Missing:
        """Return a fact with its origin."""
        return self.facts.find(name)

    def worlds(self, name: str) -> Worlds[Value] | Missing:
        """Return the values of a fact, or what is missing for it."""
        return self.facts.worlds(name)

    def likely(self, name: str) -> Value | Missing:
        """Return the likely value of a fact, or what is missing for it."""
        return self.facts.likely(name)

    def number(self, name: str) -> float | None:
        """Return the likely value of a fact; None if it is missing, absent or not a number."""
        return self.facts.number(name)

    def _provide(self, quantity: Quantity, facts: Facts) -> Known | Missing | None:
        """Provide what the facility says of a quantity; None if the part says it like any other role."""
        if not quantity.part:
            return self._find_general(quantity)
        if self.kind not in quantity.part:
            return self._above(quantity)
        if quantity.of == "list":
            return self._gathered(quantity)
        if quantity.of == "likely":
            found = facts.find(quantity.each)
            return found if isinstance(found, Missing) else constant(found.worlds.likely, found.how)
        if quantity.name in self.role.fields:
            return None
        if _of_type(quantity) and (supplied := self._typed(quantity)) is not None:
            return supplied
        above = self.nearest(quantity.part) if quantity.inherits else None
        return above.find(quantity.name) if above else None

    def _find_general(self, quantity: Quantity) -> Known | Missing | None:
        """Find a fact that is not one of a facility: a threshold, or one of the server's accelerator."""
        if quantity.of == "accelerator" and "accelerator" not in self.role.fields:
            product = self.find("accelerator")
            if isinstance(product, Missing):
                return product
            card = hardware.accelerator(str(product.worlds.likely))
            value = getattr(card, quantity.name, None)
            return Missing(frozenset({"accelerator"})) if value is None else constant(value, "catalog")
        if quantity.of == "policy" and quantity.name not in self.role.fields and self.above is not None:
            return self.root().find(quantity.name)
        return None

    def _above(self, quantity: Quantity) -> Known | Missing:
        """A fact of the nearest part above that has such facts."""
        above = self.nearest(quantity.part)
        if above is not None:
            return above.find(quantity.name)
        return (
            constant(quantity.absent[0], "nothing states it")
            if quantity.absent
            else Missing(frozenset({quantity.name}))
        )

    def _gathered(self, quantity: Quantity) -> Known | Missing:
        """One fact of each part of a kind below, world by world."""
        found = [one.find(quantity.each) for one in self.of_kind(quantity.over)]
        lacking = [one.names for one in found if isinstance(one, Missing)]
        if lacking and not quantity.known:
            return Missing(frozenset().union(*lacking))
        known = [one for one in found if isinstance(one, Known)]
        if len(known) == 0:
            return constant((), "none")
        worlds = Worlds(*(tuple(getattr(one.worlds, world) for one in known) for world in Worlds._fields))
        return Known(worlds, f"each {quantity.over}")  # type: ignore[arg-type]

    def _typed(self, quantity: Quantity) -> Known | Missing | None:
        """What the type of a server says of it: an entry of the file's own types, else the catalog's row."""
        name = self.role.text("server_type")
        own = self._own_type(name).get(quantity.name)
        if own is not None:
            return resolver.of(self.role.having(**{quantity.name: own}), None).find(quantity.name)
        row = servers.named(name)
        value = getattr(row, quantity.name, None)
        return None if value is None else constant(value, "catalog")

    def _own_type(self, name: str) -> Mapping[str, Field]:
        if self._type is None:
            types = (one for one in self.root().of_kind("server_type") if one.role.name == name)
            found = next(types, None)
            self._type = found.role.fields if found else {}
        return self._type


def _identical(some: tuple[Part, ...], others: tuple[Part, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _device(stated: object) -> str:
    """The name of what a cable ends at, without the port behind a colon."""
    return stated.partition(":")[0] if isinstance(stated, str) else ""


def _of_type(quantity: Quantity) -> bool:
    """Whether the type of a server may say it."""
    return quantity.of == "server" or quantity.name == "accelerator"


@functools.cache
def keys(kind: str) -> Mapping[str, Quantity]:
    """The words that a part of a kind may state, with the quantity of each."""
    wanted = "server" if kind == "server_type" else kind
    rows = (one for one in glossary().values() if one.key and wanted in one.part)
    return {one.key: one for one in rows if kind != "server_type" or _of_type(one)}
