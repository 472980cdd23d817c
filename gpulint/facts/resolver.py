"""Facts: the value of every named quantity of a role in three scenarios, found by wiring formulas to their parameter names."""

from __future__ import annotations

import functools
import importlib
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from gpulint import engines, sizing
from gpulint.catalog import architecture, hardware, offers
from gpulint.catalog import package_data as shipped
from gpulint.catalog import tables as catalog
from gpulint.catalog.architecture import Resolved
from gpulint.catalog.errors import MissingInput
from gpulint.report.model import Fact, Scenarios
from gpulint.workload import Field, Role, Unknown, Value

OF_ENGINES = "engines."
"""What the topics of single engines begin with."""
CONDITION = re.compile(r"(\w+)\s*(==|=|!=|>=|<=|>|<)\s*([\w.-]+)")
"""A fact compared with a number, a word, or true and false; `and` joins several."""
COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
NEVER_ZERO = frozenset({"engine", "checkpoint", "architecture"})
DRAFT_FACTS: Mapping[str, str] = {
    "draft_weight_bytes_per_gpu": "weight_bytes_per_gpu",
    "draft_kv_bytes_per_token": "kv_bytes_per_token",
}
"""Facts of a draft with a checkpoint of its own, by the fact of that network."""
AT_CAPACITY: Mapping[str, str] = {"capacity_tokens_per_s": "output_tokens_per_s"}
"""Facts of a replica that has as many requests as it admits, by the fact of that load."""
ALIKE = frozenset({"admission_limit"})
"""Facts that are the expected one in all scenarios: who waits for admission makes nobody faster where less memory is left."""
AXES: Mapping[str, tuple[str, str]] = {
    "tensor": ("tensor_parallel", "all_reduce"),
    "context": ("context_ranks", "all_gather"),
    "data": ("data_ranks", "all_gather"),
    "shard": ("state_ranks", "all_gather"),
    "copy": ("state_copies", "all_gather"),
    "expert": ("expert_ranks", "all_to_all"),
    "pipeline": ("pipeline_parallel", "send"),
}
"""The fact that counts the ranks of a kind of parallelism, and what they do together."""
_MEMORIES = frozenset({"cuda_memory_bytes", "driver_memory_bytes", "unified_memory_bytes"})
"""Totals of a card by who counts them; one that is stated stands for all."""
LARGEST = 2**53
"""Beyond it a float no longer holds every whole number, and nothing that is deployed comes near."""


_NETWORK = frozenset({"network_bytes_per_s", "network_kind"})
"""What all machine types of a cloud with the same accelerators may have in common."""


class Quantity(NamedTuple):
    """A row of the glossary.

    Of a quantity of a facility, `part` names the kinds of part that have it, `key` is its word in the file, and `words` are
    all its values; a part that does not state one that `inherits` has it from the part above. A list holds the fact `each`
    of every part of the kind `over`, or of those where it is `known`; what is expected is the fact `each` of its own part.
    """

    name: str
    of: str
    type: str
    unit: str
    meaning: str
    ask: str
    absent: tuple[Value, ...]
    part: tuple[str, ...] = ()
    key: str = ""
    words: tuple[str, ...] = ()
    inherits: bool = False
    over: str = ""
    each: str = ""
    known: bool = False


class Missing(NamedTuple):
    """A fact that cannot be known; `names` are the quantities somebody would have to state."""

    names: frozenset[str]


class Known(NamedTuple):
    """A fact's values, in words where they come from, and the uncertain quantities behind them."""

    scenarios: Scenarios[Value]
    how: str
    terms: frozenset[str] = frozenset()


T = TypeVar("T")


class _OnDemand(Mapping[str, T]):
    """Values by name, each made when it is first asked for: one workload needs a third of the glossary and of the formulas."""

    def __init__(self, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        """Without an exception for what is not there: most facts have no formula."""
        return self[name] if name in self._names else default

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@functools.cache
def glossary() -> Mapping[str, Quantity]:
    """Every quantity by name."""
    rows = shipped.glossary()
    return _OnDemand(rows, lambda name: _quantity(name, rows[name]))


def _quantity(name: str, row: Mapping[str, object]) -> Quantity:
    text = {key: str(row.get(key, "")) for key in ("of", "type", "unit", "meaning", "ask")}
    stated = row.get("absent")
    absent = ((tuple(stated) if isinstance(stated, list) else stated),) if "absent" in row else ()
    if "part" not in row:
        return Quantity(name=name, absent=absent, **text)  # type: ignore[arg-type]
    return Quantity(
        name=name,
        absent=absent,  # type: ignore[arg-type]
        **text,
        part=tuple(str(row["part"]).split()),
        key=str(row.get("key", "")),
        words=tuple(map(str, row.get("words", ()))),  # type: ignore[call-overload]
        inherits=row.get("inherits") is True,
        over=str(row.get("over", "")),
        each=str(row.get("each", "")),
        known=row.get("known") is True,
    )


@functools.cache
def formulas(engine: str | None) -> Mapping[str, Callable[..., Value]]:
    """The formulas by fact name: of all topics, or of one engine's own module."""
    if engine is not None:
        own = OF_ENGINES + engines.module_name(engine)
        return _public(f"gpulint.sizing.{own}") if own in _written() else {}
    homes = {name: topic for topic, names in _written().items() if not topic.startswith(OF_ENGINES) for name in names}
    return _OnDemand(homes, lambda name: getattr(importlib.import_module(f"gpulint.sizing.{homes[name]}"), name))


def _written() -> Mapping[str, Iterable[str]]:
    """The formulas of each topic and of each engine's own module."""
    return shipped.functions(Path(sizing.__path__[0]))


def _public(module: str) -> Mapping[str, Callable[..., Value]]:
    members = vars(importlib.import_module(module))
    return {
        name: member
        for name, member in members.items()
        if callable(member) and not name.startswith("_") and getattr(member, "__module__", "") == module
    }


def counts(engine: str, name: str) -> bool:
    """Whether an engine's own formulas take a fact into account."""
    return any(name in parameters(formula) for formula in formulas(engine or None).values())


@functools.cache
def parameters(formula: Callable[..., Value]) -> tuple[str, ...]:
    """The facts a formula needs."""
    code = formula.__code__
    return code.co_varnames[: code.co_argcount]


@functools.cache
def _optional(formula: Callable[..., Value]) -> frozenset[str]:
    """The facts that a formula can do without where their value does not matter."""
    names = parameters(formula)
    return frozenset(names[len(names) - len(formula.__defaults__ or ()) :])


@functools.cache
def _called(formula: Callable[..., Value]) -> str:
    """A formula by its topic and its name."""
    return f"{formula.__module__.rsplit('.', 1)[-1]}.{formula.__name__}"


def of(role: Role, resolved: Resolved | None) -> Facts:
    """The facts of a role, whose checkpoint resolves to an architecture or to none."""
    return Facts(role, resolved)


class Facts:
    """Facts of one role, each resolved once, on demand."""

    def __init__(self, role: Role, resolved: Resolved | None) -> None:
        self.role = role
        self.resolved = resolved
        self._shifted: dict[tuple[str, str], Shifted] = {}
        self._engine = role.text("engine") or None
        self.reasons: dict[str, str] = {}
        self._found: dict[str, Known | Missing] = {}
        self._cards: tuple[Facts, ...] | None = None

    def variant(self, role: Role) -> Facts:
        """The facts of the same role with other fields."""
        return Facts(role, self.resolved)

    def scenarios(self, name: str) -> Scenarios[Value] | Missing:
        """The values of a fact, or what is missing for it."""
        found = self.find(name)
        return found if isinstance(found, Missing) else found.scenarios

    def expected(self, name: str) -> Value | Missing:
        """The value of a fact in the expected scenario."""
        found = self.find(name)
        return found if isinstance(found, Missing) else found.scenarios.expected

    def number(self, name: str) -> float | None:
        """A fact in the expected scenario; None where it is missing, no number, or known to be absent."""
        found = self.expected(name)
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    def find(self, name: str) -> Known | Missing:
        """A fact with its origin, resolved once."""
        found = self._found.get(name)
        if found is None:
            self._found[name] = Missing(frozenset({name}))  # a formula that needs itself is unknown
            found = self._found[name] = self._told_apart(name, self._resolve(glossary()[name]))
        return found

    def _told_apart(self, name: str, found: Known | Missing) -> Known | Missing:
        """An uncertain quantity that no formula gave is a term of its own."""
        if isinstance(found, Missing) or found.terms or _constant(found.scenarios):
            return found
        return found._replace(terms=frozenset({name}))

    def ends(self, name: str) -> tuple[Value, Value] | None:
        """The interval that is printed: independent terms combined by quadrature around the expected value."""
        found = self.find(name)
        if isinstance(found, Missing):
            return None
        expected = found.scenarios.expected
        if _constant(found.scenarios) or isinstance(expected, bool) or not isinstance(expected, int | float):
            return found.scenarios.best, found.scenarios.worst
        shifts = [self._shifts(name, term, expected) for term in sorted(found.terms)]
        down, up = (math.sqrt(sum(shift[side] ** 2 for shift in shifts)) for side in (0, 1))
        extremes = [value for value in found.scenarios if isinstance(value, int | float)]
        low, high = max(expected - down, min(extremes)), min(expected + up, max(extremes))
        return (round(low), round(high)) if isinstance(expected, int) else (low, high)

    def _shifts(self, name: str, term: str, expected: float) -> tuple[float, float]:
        """How far one term alone moves a fact down and up."""
        moved = [0.0]
        for scenario in ("best", "worst"):
            if self._unmoved(term, scenario):
                continue
            if (term, scenario) not in self._shifted:
                self._shifted[term, scenario] = Shifted(self, term, scenario)
            value = self._shifted[term, scenario].expected(name)
            moved += [value - expected] if isinstance(value, int | float) else []
        return min(moved), max(moved)

    def _unmoved(self, term: str, scenario: str) -> bool:
        scenarios = self.scenarios(term)
        return isinstance(scenarios, Missing) or getattr(scenarios, scenario) == scenarios.expected

    def shown(self, name: str) -> Fact | None:
        """A fact as reports carry it; None when it is missing."""
        found = self.scenarios(name)
        return None if isinstance(found, Missing) else Fact(name, glossary()[name].unit, Scenarios(*found))

    def offer(self) -> offers.Offer | None:
        """The machine that one pod of the role runs on."""
        gpus = self.expected("gpus_per_pod")
        if isinstance(gpus, bool) or not isinstance(gpus, int | float) or gpus <= 0:
            return None
        card, machine, pool, cloud = (
            self.role.text(name) for name in ("accelerator", "instance_type", "node_pool", "cloud")
        )
        cards = math.ceil(gpus) if not self.role.text("mig_profile") else 1
        return offers.carrying(self.role.available, card, cards, machine, pool, cloud or None)

    def missing(self, names: Iterable[str]) -> frozenset[str]:
        """Everything somebody would have to state for all of these facts."""
        found = (self.find(name) for name in names)
        return frozenset().union(*(fact.names for fact in found if isinstance(fact, Missing)))

    def _resolve(self, quantity: Quantity) -> Known | Missing:
        name = quantity.name
        if (field := self.role.fields.get(name)) is not None:
            if (reason := _unusable(field.value, quantity)) is not None:
                lacking = getattr(field.value, "lacking", "") or name
                self.reasons[lacking] = reason
                return Missing(frozenset({lacking}))
            return same(field.value, field.source or "stated")
        if quantity.of == "engine" and self.role.open_ended:
            self.reasons["arguments"] = self.role.open_ended
            return Missing(frozenset({"arguments"}))
        engine = self._engine
        if name == "task" and (purpose := engines.purpose(engine or "")):
            return same(purpose, "what the engine does")
        if (assumed := self._without_shape(name)) is not None:
            return assumed
        if engine and (own := formulas(engine).get(name)):
            return self._computed(own)
        if (stated := self._supplied(quantity)) is not None:
            return stated
        if (drafted := self._of_draft(name)) is not None:
            return drafted
        if name == "task" and engine and (purpose := engines.purpose(engine)):
            return same(purpose, f"what {engine} is for")
        if name in AT_CAPACITY:
            return self._at_capacity(AT_CAPACITY[name])
        if (general := formulas(None).get(name)) is not None:
            found = self._computed(general, alike=name in ALIKE)
            return same(quantity.absent[0], "unknown") if isinstance(found, Missing) and quantity.absent else found
        if quantity.of == "fitted":
            return self._fitted(name)
        if quantity.of == "measured":
            return self._measured(name)
        if quantity.of == "engine" and (default := self._default(quantity)) is not None:
            return default
        if quantity.absent and (quantity.of != "engine" or engine):
            return same(quantity.absent[0], "nothing states it")
        return Missing(frozenset({name}))

    def _without_shape(self, name: str) -> Known | Missing | None:
        """What stands in for the shape of a network of which only the name is known, as far as weights need it."""
        shape = self.resolved.architecture if self.resolved else None
        if shape is None or shape.named_parameters is None:
            return None
        if name in (
            "embedding_parameters",
            "expert_parameters",
            "encoder_parameters",
            "table_bytes",
            "tied_embeddings",
        ):
            return same(0, "a dense network in one number format is assumed")
        if name == "quantised_parameters":
            return self.find("parameters")
        if name == "quantised_excess" and not self._counts_all_tensors():
            return self.find("named_quantised_excess")
        if name == "stage_share":
            stages = self.find("pipeline_parallel")
            return stages if isinstance(stages, Missing) else same(1 / float(stages.scenarios.expected), "even stages")  # type: ignore[arg-type]
        return None

    def _counts_all_tensors(self) -> bool:
        """Whether the size of the number format was measured over whole files, embeddings included."""
        row = catalog.by("quantization", "quantization").get(str(self.expected("weight_format")))
        return row is not None and row["best"] != ""

    def _of_draft(self, name: str) -> Known | Missing | None:
        """A fact of the speculative draft's own checkpoint; None for another fact, and where it has no checkpoint."""
        if name not in DRAFT_FACTS:
            return None
        stated = [self.find(one) for one in ("draft_checkpoint", "draft_tensor_parallel", "tensor_parallel")]
        if lacking := [one.names for one in stated if isinstance(one, Missing)]:
            return Missing(frozenset().union(*lacking))
        reference, own_ranks, ranks = (one.scenarios.expected for one in stated if isinstance(one, Known))
        if not isinstance(reference, str) or reference == self.role.value("checkpoint"):
            return None
        resolved = architecture.resolve(reference)
        if resolved.architecture is None or not resolved.architecture.known:
            self.reasons["draft_checkpoint"] = f"the catalog does not list {reference}"
            return Missing(frozenset({"draft_checkpoint"}))
        alone = {one: Field(None) for one in ("speculative", "draft_checkpoint", "quantization")}
        whole = {"tensor_parallel": Field(own_ranks or ranks), "pipeline_parallel": Field(1), "stage_share": Field(1.0)}
        role = self.role.having(checkpoint=Field(reference), cpu_offload_bytes=Field(0), **whole, **alone)
        return Facts(role, resolved).find(DRAFT_FACTS[name])

    def _at_capacity(self, name: str) -> Known | Missing:
        """A fact of the same role, in each scenario with as many requests as it admits there."""
        admitted, replicas = self.find("admitted_sequences"), self.find("service_replicas")
        if isinstance(admitted, Missing) or isinstance(replicas, Missing):
            return Missing(self.missing(("admitted_sequences", "service_replicas")))
        found = {}
        for scenario, count in zip(Scenarios._fields, admitted.scenarios, strict=True):
            requests = int(count) * int(replicas.scenarios.expected)  # type: ignore[arg-type]
            full = {"target_concurrency": Field(max(1, requests)), "admission_limit": Field(max(1, int(count)))}  # type: ignore[arg-type]
            loaded = self.variant(self.role.having(**full)).find(name)
            if isinstance(loaded, Missing):
                return loaded
            found[scenario] = getattr(loaded.scenarios, scenario) if requests else 0.0
        return Known(Scenarios(**found), f"{name} of a full replica")

    def _supplied(self, quantity: Quantity) -> Known | Missing | None:
        """What the checkpoint, the accelerator, the node or the number format's row supplies; None when it is none's."""
        match quantity.of, quantity.name:
            case (("architecture" | "checkpoint"), "checkpoint"):
                return None
            case (("architecture" | "checkpoint"), name):
                return self._of_architecture(name, quantity)
            case "accelerator", "slice_memory_bytes":
                return self._slice_memory()
            case "accelerator", name:
                return self._of_accelerator(name, quantity)
            case "node", name:
                return self._of_node(name)
            case "offer", name:
                return self._of_offer(name, quantity)
            case _, "bytes_per_weight":
                return self._bytes_per_weight()
            case "policy", ("accelerator_permitted" | "missing_facts" | "missing_facts_ask") as name:
                return self._of_policy(name)
        return None

    def _of_policy(self, name: str) -> Known | Missing:
        """What follows from the demands of gpulint.yaml and from what is known of the role."""
        if name == "accelerator_permitted":
            barred, product = self.role.available.barred, hardware.accelerator(self.role.text("accelerator"))
            if barred and product is None:
                return Missing(frozenset({"accelerator"}))
            return same(product is None or product.id not in barred, "accelerators in gpulint.yaml")
        required = self.role.value("required_facts")
        missing = self.missing(required if isinstance(required, tuple) else ())
        told = sorted(missing) if name == "missing_facts" else [glossary()[one].ask for one in sorted(missing)]
        return same(tuple(filter(None, dict.fromkeys(told))), "require in gpulint.yaml")

    def _of_architecture(self, name: str, quantity: Quantity) -> Known | Missing | None:
        if self.resolved is None:
            return Missing(frozenset({"checkpoint"}))
        shape = self.resolved.architecture
        if shape is None:
            return Missing(frozenset({"architecture"}))
        value = shape.id if name == "architecture" and shape.known else getattr(shape, name, None)
        if value is not None:
            return same(value, self.resolved.how)
        if name == "parameters" and shape.named_parameters is not None:
            return None
        if quantity.absent and (shape.known or quantity.of == "checkpoint"):
            return same(quantity.absent[0], self.resolved.how)
        return Missing(frozenset({name if shape.known else "architecture"}))

    def _of_accelerator(self, name: str, quantity: Quantity) -> Known | Missing:
        profile = self.role.text("mig_profile")
        if profile and name.endswith("_memory_bytes"):
            return same(None, "a slice")
        if profile and name == "accelerator_name":
            return same(f"the slice {profile}", "a slice")
        product = hardware.accelerator(self.role.text("accelerator"))
        if product is None:
            if name in _MEMORIES and "device_memory_bytes" in self.role.fields:
                return same(None, "its memory is stated")
            if reason := getattr(self.role.value("accelerator"), "reason", ""):
                self.reasons["accelerator"] = reason
            return Missing(frozenset({"accelerator"}))
        value = getattr(product, name)
        if profile and value and (share := hardware.slice_share_of(name, profile, product)) is not None:
            return same(value * share, "its share of a card")
        if value is None and not quantity.absent:
            self.reasons["accelerator"] = f"the catalog has no {quantity.meaning} of {product.name}"
            return Missing(frozenset({"accelerator"}))
        return same(value, "catalog")

    def _slice_memory(self) -> Known | Missing:
        if not (profile := self.role.text("mig_profile")):
            return same(None, "a whole card")
        found = hardware.slice_memory_bytes(profile, self.role.text("accelerator") or None)
        if not found:
            return Missing(frozenset({"accelerator"}))
        return Known(Scenarios(found[-1], found[0], found[0]), "catalog")

    def _of_node(self, name: str) -> Known | Missing:
        machine = hardware.node(self.role.text("instance_type"))
        if machine is None:
            return self._of_cloud(name) if name in _NETWORK else Missing(_unplaced(name))
        value = getattr(machine, name)
        return Missing(frozenset({name})) if value is None else same(value, "catalog")

    def _of_offer(self, name: str, quantity: Quantity) -> Known | Missing:
        """What the machine that a pod runs on costs, and what is known of the site where it stands."""
        if name in offers.SITE:
            value, how = offers.site(self.role.available, self.offer(), name)
        else:
            offer = self.offer()
            if offer is None:
                return Missing(self.missing(("gpus_per_pod", "accelerator")) or _unplaced("node_gpus"))
            value, how = offers.of_machine(offer, name)
        if value is not None:
            return same(value, how)
        return same(quantity.absent[0], "nothing states it") if quantity.absent else Missing(frozenset({name}))

    def _of_cloud(self, name: str) -> Known | Missing:
        """What all machine types of the stated cloud with that many of the stated accelerator have in common."""
        cloud, gpus = self.role.text("cloud"), self.role.value("gpus_per_pod")
        fitting = (
            hardware.holding(self.role.text("accelerator"), gpus, cloud) if cloud and isinstance(gpus, int) else ()
        )
        values = {getattr(machine, name) for machine in fitting}
        if len(values) != 1 or None in values:
            return Missing(frozenset({name}))
        return same(values.pop(), f"every machine type of {cloud} with {gpus} of them")

    def _bytes_per_weight(self) -> Known | Missing:
        found = self.find("weight_format")
        if isinstance(found, Missing):
            return found
        row = catalog.by("quantization", "quantization").get(str(found.scenarios.expected))
        if row is None:
            self.reasons["weight_format"] = f"the catalog has no format {found.scenarios.expected}"
            return Missing(frozenset({"weight_format"}))
        held = float(row["bytes_per_weight"])
        if row["best"]:
            return Known(Scenarios(float(row["best"]), held, float(row["worst"])), "measured: " + row["source"])
        shape = self.resolved.architecture if self.resolved else None
        if shape is None or shape.format_assumed is None or isinstance(self.expected("quantization"), str):
            return same(held, "catalog")
        rows = catalog.by("quantization", "quantization")
        small, middle = (float(rows[name]["bytes_per_weight"]) for name in ("int4-g128", shape.format_assumed))
        expected = held if shape.format_assumed == shape.checkpoint_dtype else middle
        return Known(Scenarios(small, expected, held), "4, 8 or 16 bits: nothing states the number format")

    def _computed(self, formula: Callable[..., Value], alike: bool = False) -> Known | Missing:
        inputs, lacking = self._inputs(formula)
        if lacking:
            return Missing(frozenset().union(*lacking))
        triples = [fact.scenarios for fact in inputs]
        how = _called(formula)
        try:
            if alike or all(_constant(triple) for triple in triples):
                return same(formula(*(triple.expected for triple in triples)), how)
            found = Scenarios(*(formula(*values) for values in zip(*triples, strict=True)))
            terms = frozenset().union(*(fact.terms for fact in inputs))
            return Known(found, how, frozenset() if _constant(found) else terms)
        except MissingInput as error:
            name = str(error.args[0])
            return Missing(self.missing([name]) or frozenset({name}))
        except (LookupError, ArithmeticError) as error:
            self.reasons[formula.__name__] = str(error)
            return Missing(frozenset({formula.__name__}))

    def _inputs(self, formula: Callable[..., Value]) -> tuple[list[Known], list[frozenset[str]]]:
        """What a formula is given, and what it cannot do without; None stands for an unknown that it may not need."""
        optional, inputs, lacking = _optional(formula), [], []
        for name in parameters(formula):
            fact = self.find(name)
            if isinstance(fact, Known):
                inputs.append(fact)
            elif name in optional:
                inputs.append(same(None, "not known"))
            else:
                lacking.append(fact.names)
        return inputs, lacking

    def _measured(self, name: str) -> Known | Missing:
        """What groups of that many ranks were measured to achieve over what joins them."""
        axis, _, quantity = name.partition("_")
        counted, operation = AXES[axis]
        medium, ranks = self.find(f"{axis}_medium"), self.find(counted)
        if isinstance(medium, Missing) or isinstance(ranks, Missing):
            return medium if isinstance(medium, Missing) else ranks
        joined = str(medium.scenarios.expected or "")
        if not joined:
            return same(1.0 if quantity == "slowdown" else 0.0, "one rank")
        found = hardware.measured(joined, operation, self._engine or "", int(ranks.scenarios.expected))  # type: ignore[arg-type]
        if found is None:
            self.reasons[name] = f"the catalog has no measurement over {joined}"
            return Missing(frozenset({name}))
        return Known(getattr(found, quantity), "measured: " + found.source)

    def _default(self, quantity: Quantity) -> Known | Missing | None:
        engine = self.role.text("engine")
        held = self._rows("engine_defaults", "field", quantity.name)
        if not held:
            return None
        if lacking := self._lacking(held):
            return lacking
        rows = [row for row in held if self._holds(row["condition"])]
        values = [(self._cell(row["value"], quantity.type), row["kinder"]) for row in rows]
        if not values:
            return Missing(frozenset({quantity.name}))
        release = self.role.text("engine_version")
        how = f"default of {engine} {release}" if release else f"default of {engine}, whose release is not stated"
        newest, kinder = values[-1]
        if kinder == "none" or len({value for value, _ in values}) == 1:
            return same(newest, how)
        ordered = sorted((value for value, _ in values), key=float, reverse=kinder == "higher")  # type: ignore[arg-type]
        return Known(Scenarios(ordered[0], newest, ordered[-1]), how)

    def _cell(self, cell: str, kind: str) -> Value:
        """A table's value; `=name` is the value of that fact."""
        if cell.startswith("="):
            found = self.expected(cell[1:])
            return None if isinstance(found, Missing) else found
        return _typed(cell, kind)

    def _fitted(self, name: str) -> Known | Missing:
        held = self._rows("fitted", "name", name)
        if lacking := self._lacking(held):
            return lacking
        rows = [row for row in held if self._holds(row["condition"])]
        if not rows:
            return Missing(frozenset({name}))
        worst = max(float(row["worst"]) for row in rows)
        best = min(float(row["best"]) for row in rows)
        told = max(rows, key=lambda row: float(row["expected"])) if self._possible() else rows[-1]
        return Known(Scenarios(best, float(told["expected"]), worst), "fitted: " + told["source"])

    def _rows(self, table: str, column: str, name: str) -> tuple[catalog.Row, ...]:
        return _rows_of(table, column, name, self.role.text("engine"), self.role.text("engine_version"))

    def _lacking(self, rows: Iterable[catalog.Row]) -> Missing | None:
        """What is missing to tell which of the rows' conditions hold."""
        named = {name for row in rows for name in _condition_facts(row["condition"])}
        names = self.missing({*named, *(row["value"][1:] for row in rows if row.get("value", "").startswith("="))})
        return None if not names or (names == {"accelerator"} and self._possible()) else Missing(names)

    def _possible(self) -> tuple[Facts, ...]:
        """The same role on each kind of card that has its stated memory; none where the card is known."""
        if self._cards is None:
            memory = self.role.value("device_memory_bytes")
            unnamed = hardware.accelerator(self.role.text("accelerator")) is None
            cards = hardware.of_memory(memory) if unnamed and isinstance(memory, int | float) else ()
            kinds = {(card.generation, card.link_domain_gpus): card.id for card in cards}
            roles = (self.role.having(accelerator=Field(card)) for card in kinds.values())
            self._cards = tuple(Facts(role, self.resolved) for role in roles)
        return self._cards

    def _holds(self, condition: str) -> bool:
        """Whether a row's condition holds, or holds on any card that it may be."""
        if self._possible() and self.missing(_condition_facts(condition)):
            return any(one._holds(condition) for one in self._possible())
        return all(self._holds_alone(part) for part in _parts(condition))

    def _holds_alone(self, condition: str) -> bool:
        if (compared := _comparison(condition)) is None:
            return condition == self.expected("device_class")
        name, sign, operand = compared
        value = self.expected(name)
        if isinstance(value, str) or value is None or isinstance(value, bool):
            return (_word(value) == operand) is (sign != "!=")
        return COMPARE[sign](float(value), float(operand))  # type: ignore[arg-type]


def _unusable(value: Value | Unknown, quantity: Quantity) -> str | None:
    """Why a stated value cannot be used; a number that nothing can be (tensor parallel 0, .nan) is unknown."""
    if isinstance(value, Unknown):
        return value.reason
    if quantity.type != "number" or not isinstance(value, int | float):
        return None
    never_zero = quantity.of in NEVER_ZERO and not quantity.absent
    possible = 0 < value <= LARGEST or (value == 0 and not never_zero)
    return None if possible else f"{value} is not possible"


@functools.cache
def _rows_of(table: str, column: str, name: str, engine: str, release: str) -> tuple[catalog.Row, ...]:
    """A quantity's rows for a release of an engine; of an unknown release, those of any it may be."""
    version, oldest = catalog.release(release), engines.oldest(engine)
    return tuple(
        row
        for row in catalog.rows(table)
        if row[column] == name and row["engine"] in ("", engine) and _held(row, version, oldest)
    )


def _held(row: catalog.Row, version: tuple[int, ...] | None, oldest: tuple[int, ...] | None) -> bool:
    if version is not None:
        return catalog.in_version(row, version)
    until = catalog.release(row["until"])
    return until is None or oldest is None or until > oldest


class Shifted(Facts):
    """The same facts with one term in a scenario and all others as expected; only what depends on the term is new."""

    def __init__(self, expected: Facts, term: str, scenario: str) -> None:
        super().__init__(expected.role, expected.resolved)
        self._expected, self._term, self._scenario = expected, term, scenario

    def find(self, name: str) -> Known | Missing:
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._from(name, self._expected.find(name))
        return found

    def _from(self, name: str, found: Known | Missing) -> Known | Missing:
        if isinstance(found, Missing) or not found.terms:
            return found
        if self._term not in found.terms:
            return same(found.scenarios.expected, found.how)
        return same(getattr(found.scenarios, self._scenario), found.how) if name == self._term else self._again(name)

    def _again(self, name: str) -> Known | Missing:
        own = formulas(self._engine).get(name) if self._engine else None
        formula = own or formulas(None).get(name)
        if (assumed := self._without_shape(name)) is not None:
            return same(assumed.scenarios.expected, "moved") if isinstance(assumed, Known) else assumed
        if formula is None:
            return self._resolve(glossary()[name])
        inputs, _ = self._inputs(formula)
        try:
            return same(formula(*(fact.scenarios.expected for fact in inputs)), "moved")
        except (LookupError, ArithmeticError):
            return Missing(frozenset({name}))


def _unplaced(name: str) -> frozenset[str]:
    """What somebody would have to state so that a quantity of the node is known."""
    return frozenset({name if glossary()[name].ask else "instance_type"})


@functools.cache
def _condition_facts(condition: str) -> tuple[str, ...]:
    compared = [_comparison(part) for part in _parts(condition)]
    return tuple(one[0] if one else "device_class" for one in compared)


@functools.cache
def _comparison(condition: str) -> tuple[str, str, str] | None:
    """The fact, the sign and the operand of a single condition; None of one that names a class of cards."""
    found = CONDITION.fullmatch(condition)
    return (found[1], found[2], found[3]) if found else None


@functools.cache
def _parts(condition: str) -> tuple[str, ...]:
    """The single conditions of one that joins several; none where everything will do."""
    return () if condition in ("", "any") else tuple(condition.split(" and "))


def _word(value: Value) -> str:
    """A word or a flag as a table's condition writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value or "")


def _typed(text: str, kind: str) -> Value:
    if kind == "flag":
        return text == "true"
    if kind == "number":
        return float(text) if "." in text else int(text)
    return text


def same(value: object, how: str) -> Known:
    """A fact that has one value in all scenarios."""
    return Known(Scenarios(value, value, value), how)  # type: ignore[arg-type]


def _constant(triple: Scenarios[Value]) -> bool:
    return triple.best == triple.expected == triple.worst
