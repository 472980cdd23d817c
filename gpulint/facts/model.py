"""Facts: the named quantities of one role, each resolved when it is first asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gpulint.catalog import hardware, offers
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.trace import Trace
from gpulint.report.model import Fact, Scenarios
from gpulint.workload import Field, Role, Value

if TYPE_CHECKING:
    from gpulint.catalog.architecture import Resolution


class Missing(NamedTuple):
    """A fact that cannot be resolved; `names` are the quantities that somebody would have to declare."""

    names: frozenset[str]


class ResolvedFact(NamedTuple):
    """The values of a fact, where they come from, and the uncertain quantities that they depend on."""

    scenarios: Scenarios[Value]
    how: str
    terms: frozenset[str] = frozenset()


Provider: TypeAlias = "Callable[[Quantity, Facts], ResolvedFact | Missing | None]"
"""A function that resolves a quantity, or returns None if another one has to."""
Override: TypeAlias = "Callable[[str], ResolvedFact | Missing | None]"
"""A function that answers for a name before any provider, or returns None if a provider has to."""
Providers: TypeAlias = Callable[[str], tuple[Provider, ...]]
"""A function that lists the providers of a quantity in the order in which they are asked."""
Interval: TypeAlias = "Callable[[str, ResolvedFact, Facts], tuple[Value, Value]]"
"""A function that returns the printed interval of a fact."""


@dataclass(slots=True)
class Results:
    """What was resolved so far. Facts of components with the same content share it, but for the names `unshared`."""

    found: dict[str, ResolvedFact | Missing] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    unshared: frozenset[str] = frozenset()


class Facts:
    """Facts of one role, resolved by the first provider that knows them.

    `override` answers for a name before any provider, or leaves it to them. The providers of `layer` come before all
    others. A `trace` records what each fact
    depends on. With a `parent`, all facts that do not depend on a field in `changed` are taken over from it.
    """

    def __init__(
        self,
        role: Role,
        resolved: Resolution | None,
        providers: Providers,
        interval: Interval,
        *,
        layer: tuple[Provider, ...] = (),
        override: Override | None = None,
        trace: Trace | None = None,
        parent: Facts | None = None,
        changed: dict[str, bool] | None = None,
        results: Results | None = None,
    ) -> None:
        results = results or Results()
        self.role = role if trace is None else replace(role, fields=trace.fields)
        self.resolved = resolved
        self.engine = role.text("engine") or None
        self.reasons = results.reasons
        self.deviations: dict[tuple[str, str], Facts] = {}
        self._providers = providers
        self._interval = interval
        self._layer = layer
        self._override = override
        self._trace = trace
        self._open = trace.open if trace else ()
        self._parent = parent
        self._changed = {} if changed is None else changed
        self._found = results.found
        self._unshared = results.unshared
        self._possible: tuple[Facts, ...] | None = None

    # ---- reading

    def find(self, name: str) -> ResolvedFact | Missing:
        """Return a fact with its origin."""
        if self._open:
            self._open[-1].add(name)
        found = self._found.get(name)
        return self._resolve(name) if found is None else found

    def scenarios(self, name: str) -> Scenarios[Value] | Missing:
        """Return the values of a fact, or what is missing for it."""
        found = self.find(name)
        return found if isinstance(found, Missing) else found.scenarios

    def expected(self, name: str) -> Value | Missing:
        """Return the likely value of a fact, or what is missing for it."""
        found = self.find(name)
        return found if isinstance(found, Missing) else found.scenarios.expected

    def number(self, name: str) -> float | None:
        """Return the likely value of a fact; None if it is missing, absent or not a number."""
        found = self.expected(name)
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    def ends(self, name: str) -> tuple[Value, Value] | None:
        """Return the interval that is printed for a fact; None if it is missing."""
        found = self.find(name)
        return None if isinstance(found, Missing) else self._interval(name, found, self)

    def report(self, name: str) -> Fact | None:
        """Return a fact as reports carry it; None if it is missing."""
        found = self.scenarios(name)
        return None if isinstance(found, Missing) else Fact(name, glossary()[name].unit, Scenarios(*found))

    def missing(self, names: Iterable[str]) -> frozenset[str]:
        """Return everything that somebody would have to declare for all of these facts."""
        found = (self.find(name) for name in names)
        return frozenset().union(*(fact.names for fact in found if isinstance(fact, Missing)))

    # ---- resolving

    def _resolve(self, name: str) -> ResolvedFact | Missing:
        if self._override is not None and (taken := self._override(name)) is not None:
            self._found[name] = taken
            return taken
        if name in self._unshared:
            return self._ask(name)
        parent = self._parent
        if parent is not None and not parent._depends(name, self._changed):
            if self._trace and parent._trace:
                self._trace.reads[name] = parent._trace.reads[name]
            found = self._found[name] = parent.find(name)
            return found
        self._found[name] = Missing(frozenset({name}))  # a formula that needs itself is unknown
        if self._trace is None:
            found = self._ask(name)
        else:
            self._trace.begin(name)
            try:
                found = self._ask(name)
            finally:
                self._trace.end()
        if isinstance(found, ResolvedFact) and not found.terms and not is_constant(found.scenarios):
            found = found._replace(terms=frozenset({name}))  # an uncertain quantity is a term of its own
        self._found[name] = found
        return found

    def _ask(self, name: str) -> ResolvedFact | Missing:
        """Ask the providers in their order."""
        quantity = glossary()[name]
        for provider in self.list_providers(name):
            if (found := provider(quantity, self)) is not None:
                return found
        return Missing(frozenset({name}))

    def list_providers(self, name: str) -> tuple[Provider, ...]:
        """Return the providers that are asked for a fact, in their order."""
        return (*self._layer, *self._providers(name)) if self._layer else self._providers(name)

    # ---- facts of other roles

    def fresh(self, role: Role, resolved: Resolution | None) -> Facts:
        """Return the facts of another role, which are resolved independently of these."""
        return Facts(role, resolved, self._providers, self._interval)

    def add_layer(self, *layer: Provider, override: Override | None = None) -> Facts:
        """Return the facts of the same role under providers that come before all others."""
        return Facts(self.role, self.resolved, self._providers, self._interval, layer=layer, override=override)

    @property
    def is_traced(self) -> bool:
        """Whether variants of these facts take over what does not change."""
        return self._trace is not None

    def start_trace(self) -> Facts:
        """Return the same facts, resolved again and traced: each records what it depends on."""
        columns = self.role, self.resolved, self._providers, self._interval
        return Facts(*columns, layer=self._layer, override=self._override, trace=Trace(self.role.fields))

    def list_reads(self, name: str) -> Collection[str]:
        """Return the fields and facts that a traced fact was resolved from."""
        self.find(name)
        return self._trace.reads.get(name, ()) if self._trace else ()

    def variant(self, role: Role) -> Facts:
        """Return the facts of the same role with other fields."""
        if self._trace is None:
            return self.fresh(role, self.resolved)
        return Facts(
            role,
            self.resolved,
            self._providers,
            self._interval,
            trace=Trace(role.fields),
            parent=self,
            changed=self._trace.dependent_on(role.fields),
        )

    def _depends(self, name: str, changed: dict[str, bool]) -> bool:
        """Whether a fact depends on a name that changed; the answer is added to `changed`."""
        depends = changed.get(name)
        if depends is None:
            self.find(name)
            changed[name] = False  # a fact that needs itself adds nothing
            reads = self._trace.reads.get(name, ()) if self._trace else ()
            depends = changed[name] = any(self._depends(read, changed) for read in reads)
        return depends

    # ---- hardware

    def offer(self) -> offers.Offer | None:
        """Return the machine that one pod of the role runs on."""
        gpus = self.expected("gpus_per_pod")
        if isinstance(gpus, bool) or not isinstance(gpus, int | float) or gpus <= 0:
            return None
        accelerator, machine, pool, cloud = (
            self.role.text(name) for name in ("accelerator", "instance_type", "node_pool", "cloud")
        )
        count = math.ceil(gpus) if not self.role.text("mig_profile") else 1
        return offers.select_machine(self.role.available, accelerator, count, machine, pool, cloud or None)

    def possible(self) -> tuple[Facts, ...]:
        """Return the facts on each accelerator with the declared memory; none if the accelerator is known."""
        if self._possible is None:
            memory = self.role.value("device_memory_bytes")
            unnamed = hardware.accelerator(self.role.text("accelerator")) is None
            products = hardware.find_by_memory(memory) if unnamed and isinstance(memory, int | float) else ()
            kinds = {(product.generation, product.link_domain_gpus): product.id for product in products}
            roles = (self.role.having(accelerator=Field(product)) for product in kinds.values())
            self._possible = tuple(self.fresh(role, self.resolved) for role in roles)
        return self._possible


def constant(value: object, how: str) -> ResolvedFact:
    """Make a fact that has the same value in all scenarios."""
    return ResolvedFact(Scenarios(value, value, value), how)  # type: ignore[arg-type]


def is_constant(scenarios: Scenarios[Value]) -> bool:
    """Whether a fact has the same value in all scenarios."""
    return scenarios.best == scenarios.expected == scenarios.worst
