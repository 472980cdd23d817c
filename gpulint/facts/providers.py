"""Providers: where the value of a quantity can come from.

Each provider is asked for the quantities that `resolver.PROVIDERS` gives it. It returns the fact, what is
missing to know it, or None to let the next provider answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpulint import engines
from gpulint.catalog import architecture, hardware, offers, tables
from gpulint.catalog.axes import AXES
from gpulint.catalog.errors import MissingInput
from gpulint.facts import table_rows
from gpulint.facts.formulas import find_formulas, list_parameters, optional_parameters, title
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.model import Facts, Missing, ResolvedFact, constant, is_constant
from gpulint.report.model import Scenarios
from gpulint.workload import Field, Unknown, Value

NEVER_ZERO = frozenset({"engine", "checkpoint", "architecture"})
"""Origins of numbers that are not zero unless the glossary gives them a value for absence."""
LARGEST = 2**53
"""The largest usable number. Beyond it a float no longer holds every integer."""
DRAFT_FACTS: Mapping[str, str] = {
    "draft_weight_bytes_per_gpu": "weight_bytes_per_gpu",
    "draft_kv_bytes_per_token": "kv_bytes_per_token",
}
"""Facts of a draft model with its own checkpoint, by the fact of that model."""
AT_CAPACITY: Mapping[str, str] = {"capacity_tokens_per_s": "output_tokens_per_s"}
"""Facts of a replica that has as many requests as it admits, by the fact under that load."""
LIKELY_EVERYWHERE = frozenset({"admission_limit"})
"""Facts with their likely value in all scenarios: less memory speeds up nobody who waits for admission."""
_MEMORY_TOTALS = frozenset({"cuda_memory_bytes", "driver_memory_bytes", "unified_memory_bytes"})
"""Totals of an accelerator's memory; one that is declared replaces all."""
_SHARED_BY_CLOUD = frozenset({"network_bytes_per_s", "network_kind"})
"""Quantities that all machine types of a cloud with the same accelerators may have in common."""


# ---- what the role declares


def provide_field(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide a field of the role."""
    field = facts.role.fields.get(quantity.name)
    if field is None:
        return None
    reason = _find_objection(field.value, quantity)
    if reason is None:
        return constant(field.value, field.source or "stated")
    name = getattr(field.value, "lacking", "") or quantity.name
    facts.reasons[name] = reason
    return Missing(frozenset({name}))


def _find_objection(value: Value | Unknown, quantity: Quantity) -> str | None:
    """Return why a declared value cannot be used, such as tensor parallelism of 0; None if it can."""
    if isinstance(value, Unknown):
        return value.reason
    if quantity.type != "number" or not isinstance(value, int | float):
        return None
    never_zero = quantity.of in NEVER_ZERO and not quantity.absent
    possible = 0 < value <= LARGEST or (value == 0 and not never_zero)
    return None if possible else f"{value} is not possible"


def provide_open_arguments(quantity: Quantity, facts: Facts) -> Missing | None:
    """Report an engine's argument as missing if the arguments may hold more than could be read."""
    if not facts.role.open_ended:
        return None
    facts.reasons["arguments"] = facts.role.open_ended
    return Missing(frozenset({"arguments"}))


# ---- what the engine does


def provide_engine_purpose(quantity: Quantity, facts: Facts) -> ResolvedFact | None:
    """Provide the task of an engine that has only one."""
    purpose = engines.find_purpose(facts.engine or "")
    return constant(purpose, "what the engine does") if purpose else None


def provide_engine_formula(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide what a formula of the role's own engine computes."""
    formula = find_formulas(facts.engine).get(quantity.name) if facts.engine else None
    return compute(formula, facts) if formula else None


def provide_engine_default(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide the default of the engine's release."""
    candidates = table_rows.find_rows("engine_defaults", "field", quantity.name, facts)
    if not candidates:
        return None
    if missing := table_rows.missing_inputs(candidates, facts):
        return missing
    rows = [row for row in candidates if table_rows.is_verified(row["condition"], facts)]
    values = [(table_rows.read_cell(row["value"], quantity.type, facts), row["kinder"]) for row in rows]
    if not values:
        return Missing(frozenset({quantity.name}))
    engine, release = facts.role.text("engine"), facts.role.text("engine_version")
    how = f"default of {engine} {release}" if release else f"default of {engine}, whose release is not stated"
    newest, better = values[-1]
    if better == "none" or len({value for value, _ in values}) == 1:
        return constant(newest, how)
    ordered = sorted((value for value, _ in values), key=float, reverse=better == "higher")  # type: ignore[arg-type]
    return ResolvedFact(Scenarios(ordered[0], newest, ordered[-1]), how)


# ---- what the checkpoint says


def provide_checkpoint(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide the shape of the checkpoint's architecture, and what is known of the checkpoint itself."""
    name = quantity.name
    if name == "checkpoint":  # its own name is declared or missing
        return None
    if facts.resolved is None:
        return Missing(frozenset({"checkpoint"}))
    shape = facts.resolved.architecture
    if shape is None:
        return Missing(frozenset({"architecture"}))
    value = shape.id if name == "architecture" and shape.is_known else getattr(shape, name, None)
    if value is not None:
        return constant(value, facts.resolved.how)
    if name == "parameters" and shape.named_parameters is not None:
        return None
    if quantity.absent and (shape.is_known or quantity.of == "checkpoint"):
        return constant(quantity.absent[0], facts.resolved.how)
    return Missing(frozenset({name if shape.is_known else "architecture"}))


def provide_number_format(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide the bytes of a weight in the number format that the weights have."""
    weight_format = facts.find("weight_format")
    if isinstance(weight_format, Missing):
        return weight_format
    formats = tables.index_rows("quantization", "quantization")
    row = formats.get(str(weight_format.scenarios.expected))
    if row is None:
        facts.reasons["weight_format"] = f"the catalog has no format {weight_format.scenarios.expected}"
        return Missing(frozenset({"weight_format"}))
    nominal = float(row["bytes_per_weight"])
    if row["best"]:
        return ResolvedFact(Scenarios(float(row["best"]), nominal, float(row["worst"])), "measured: " + row["source"])
    shape = facts.resolved.architecture if facts.resolved else None
    if shape is None or shape.format_assumed is None or isinstance(facts.expected("quantization"), str):
        return constant(nominal, "catalog")
    small, middle = (float(formats[name]["bytes_per_weight"]) for name in ("int4-g128", shape.format_assumed))
    expected = nominal if shape.format_assumed == shape.checkpoint_dtype else middle
    return ResolvedFact(Scenarios(small, expected, nominal), "4, 8 or 16 bits: nothing states the number format")


def provide_draft(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide a fact of a speculative draft model that has its own checkpoint."""
    inputs = [facts.find(name) for name in ("draft_checkpoint", "draft_tensor_parallel", "tensor_parallel")]
    if missing := [found.names for found in inputs if isinstance(found, Missing)]:
        return Missing(frozenset().union(*missing))
    reference, own_ranks, ranks = (found.scenarios.expected for found in inputs if isinstance(found, ResolvedFact))
    if not isinstance(reference, str) or reference == facts.role.value("checkpoint"):
        return None
    resolved = architecture.resolve(reference)
    if resolved.architecture is None or not resolved.architecture.is_known:
        facts.reasons["draft_checkpoint"] = f"the catalog does not list {reference}"
        return Missing(frozenset({"draft_checkpoint"}))
    alone = {name: Field(None) for name in ("speculative", "draft_checkpoint", "quantization")}
    whole = {"tensor_parallel": Field(own_ranks or ranks), "pipeline_parallel": Field(1), "stage_share": Field(1.0)}
    role = facts.role.having(checkpoint=Field(reference), cpu_offload_bytes=Field(0), **whole, **alone)
    return facts.fresh(role, resolved).find(DRAFT_FACTS[quantity.name])


# ---- what the hardware is


def provide_accelerator(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide the catalog's row of the accelerator, or the share of it that a MIG slice has."""
    if quantity.name == "slice_memory_bytes":
        return _find_slice_memory(facts)
    return _find_slice_share(quantity, facts) or _find_in_catalog(quantity, facts)


def _find_slice_memory(facts: Facts) -> ResolvedFact | Missing:
    if not (profile := facts.role.text("mig_profile")):
        return constant(None, "a whole card")
    found = hardware.slice_memory_bytes(profile, facts.role.text("accelerator") or None)
    if not found:
        return Missing(frozenset({"accelerator"}))
    return ResolvedFact(Scenarios(found[-1], found[0], found[0]), "catalog")


def _find_slice_share(quantity: Quantity, facts: Facts) -> ResolvedFact | None:
    """Return what a MIG slice has instead of the whole accelerator's value; None if it has the same."""
    if not (profile := facts.role.text("mig_profile")):
        return None
    if quantity.name.endswith("_memory_bytes"):
        return constant(None, "a slice")
    if quantity.name == "accelerator_name":
        return constant(f"the slice {profile}", "a slice")
    product = hardware.accelerator(facts.role.text("accelerator"))
    value = getattr(product, quantity.name) if product else None
    share = hardware.slice_share_of(quantity.name, profile, product) if product and value else None
    return None if value is None or share is None else constant(value * share, "its share of a GPU")


def _find_in_catalog(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing:
    product = hardware.accelerator(facts.role.text("accelerator"))
    if product is None:
        if quantity.name in _MEMORY_TOTALS and "device_memory_bytes" in facts.role.fields:
            return constant(None, "its memory is stated")
        if reason := getattr(facts.role.value("accelerator"), "reason", ""):
            facts.reasons["accelerator"] = reason
        return Missing(frozenset({"accelerator"}))
    value = getattr(product, quantity.name)
    if value is None and not quantity.absent:
        facts.reasons["accelerator"] = f"the catalog has no {quantity.meaning} of {product.name}"
        return Missing(frozenset({"accelerator"}))
    return constant(value, "catalog")


def provide_node(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide the catalog's row of the machine type, or what all that fit have in common."""
    machine = hardware.node(facts.role.text("instance_type"))
    if machine is None and not quantity.absent:
        return _find_in_cloud(quantity.name, facts) if quantity.name in _SHARED_BY_CLOUD else _ask_for(quantity.name)
    value = getattr(machine, quantity.name) if machine is not None else None
    if value is None and quantity.absent:
        return constant(quantity.absent[0], "no machine type states it")
    return Missing(frozenset({quantity.name})) if value is None else constant(value, "catalog")


def _find_in_cloud(name: str, facts: Facts) -> ResolvedFact | Missing:
    """Return what all machine types of the declared cloud have in common that hold the GPUs of a pod."""
    cloud, gpus = facts.role.text("cloud"), facts.role.value("gpus_per_pod")
    fitting = hardware.holding(facts.role.text("accelerator"), gpus, cloud) if cloud and isinstance(gpus, int) else ()
    values = {getattr(machine, name) for machine in fitting}
    if len(values) != 1 or None in values:
        return Missing(frozenset({name}))
    return constant(values.pop(), f"every machine type of {cloud} with {gpus} of them")


def _ask_for(name: str) -> Missing:
    """Return what somebody would have to declare so that a quantity of the node is known."""
    return Missing(frozenset({name if glossary()[name].ask else "instance_type"}))


def provide_offer(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide the cost of the machine that a pod runs on, and what is known of its site."""
    found = facts.offer()
    if quantity.name in offers.SITE:
        value, how = offers.find_site_fact(facts.role.available, found, quantity.name)
    elif found is None:
        names = facts.missing(("gpus_per_pod", "accelerator"))
        return Missing(names) if names else _ask_for("node_gpus")
    else:
        value, how = offers.find_machine_fact(found, quantity.name)
    if value is not None:
        return constant(value, how)
    return constant(quantity.absent[0], "nothing states it") if quantity.absent else Missing(frozenset({quantity.name}))


# ---- what the policy requires


def provide_policy(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide what follows from the requirements of gpulint.yaml and from what is known of the role."""
    if quantity.name == "accelerator_permitted":
        barred, product = facts.role.available.barred, hardware.accelerator(facts.role.text("accelerator"))
        if barred and product is None:
            return Missing(frozenset({"accelerator"}))
        return constant(product is None or product.id not in barred, "accelerators in gpulint.yaml")
    required = facts.role.value("required_facts")
    missing = sorted(facts.missing(required if isinstance(required, tuple) else ()))
    lines = missing if quantity.name == "missing_facts" else [glossary()[name].ask for name in missing]
    return constant(tuple(filter(None, dict.fromkeys(lines))), "require in gpulint.yaml")


# ---- what is computed, fitted and measured


def provide_capacity(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide a fact of the same role with as many requests as it admits in each scenario."""
    name = AT_CAPACITY[quantity.name]
    admitted, replicas = facts.find("admitted_sequences"), facts.find("service_replicas")
    if isinstance(admitted, Missing) or isinstance(replicas, Missing):
        return Missing(facts.missing(("admitted_sequences", "service_replicas")))
    values = {}
    for scenario, count in zip(Scenarios._fields, admitted.scenarios, strict=True):
        requests = int(count) * int(replicas.scenarios.expected)  # type: ignore[arg-type]
        full = {"target_concurrency": Field(max(1, requests)), "admission_limit": Field(max(1, int(count)))}  # type: ignore[arg-type]
        loaded = facts.variant(facts.role.having(**full)).find(name)
        if isinstance(loaded, Missing):
            return loaded
        values[scenario] = getattr(loaded.scenarios, scenario) if requests else 0.0
    return ResolvedFact(Scenarios(**values), f"{name} of a full replica")


def provide_general_formula(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide what the formula for every engine computes."""
    formula = find_formulas(None).get(quantity.name)
    if formula is None:
        return None
    found = compute(formula, facts, likely_everywhere=quantity.name in LIKELY_EVERYWHERE)
    return constant(quantity.absent[0], "unknown") if isinstance(found, Missing) and quantity.absent else found


def compute(formula: Callable[..., Value], facts: Facts, likely_everywhere: bool = False) -> ResolvedFact | Missing:
    """Compute a formula in each scenario, once if all inputs are certain."""
    inputs, missing = _find_inputs(formula, facts)
    if missing:
        return Missing(frozenset().union(*missing))
    scenarios = [found.scenarios for found in inputs]
    how = title(formula)
    try:
        if likely_everywhere or all(is_constant(values) for values in scenarios):
            return constant(formula(*(values.expected for values in scenarios)), how)
        result = Scenarios(*(formula(*values) for values in zip(*scenarios, strict=True)))
        terms = frozenset().union(*(found.terms for found in inputs))
        return ResolvedFact(result, how, frozenset() if is_constant(result) else terms)
    except MissingInput as error:
        name = str(error.args[0])
        return Missing(facts.missing([name]) or frozenset({name}))
    except (LookupError, ArithmeticError) as error:
        facts.reasons[formula.__name__] = str(error)
        return Missing(frozenset({formula.__name__}))


def _find_inputs(formula: Callable[..., Value], facts: Facts) -> tuple[list[ResolvedFact], list[frozenset[str]]]:
    """Return the inputs of a formula and what is missing; None stands for an optional input."""
    optional, inputs, missing = optional_parameters(formula), [], []
    for name in list_parameters(formula):
        found = facts.find(name)
        if isinstance(found, ResolvedFact):
            inputs.append(found)
        elif name in optional:
            inputs.append(constant(None, "not known"))
        else:
            missing.append(found.names)
    return inputs, missing


def provide_fitted_value(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide a fitted row of the catalog."""
    candidates = table_rows.find_rows("fitted", "name", quantity.name, facts)
    if missing := table_rows.missing_inputs(candidates, facts):
        return missing
    rows = [row for row in candidates if table_rows.is_verified(row["condition"], facts)]
    if not rows:
        return Missing(frozenset({quantity.name}))
    worst = max(float(row["worst"]) for row in rows)
    best = min(float(row["best"]) for row in rows)
    decisive = max(rows, key=lambda row: float(row["expected"])) if facts.possible() else rows[-1]
    return ResolvedFact(Scenarios(best, float(decisive["expected"]), worst), "fitted: " + decisive["source"])


def provide_measurement(quantity: Quantity, facts: Facts) -> ResolvedFact | Missing | None:
    """Provide what groups of as many ranks were measured to achieve on the medium that connects them."""
    name = quantity.name
    axis, _, column = name.partition("_")
    medium, ranks = facts.find(f"{axis}_medium"), facts.find(AXES[axis].ranks)
    if isinstance(medium, Missing) or isinstance(ranks, Missing):
        return medium if isinstance(medium, Missing) else ranks
    link = str(medium.scenarios.expected or "")
    if not link:
        return constant(1.0 if column == "slowdown" else 0.0, "one rank")
    found = hardware.find_measurement(link, AXES[axis].operation, facts.engine or "", int(ranks.scenarios.expected))  # type: ignore[arg-type]
    if found is None:
        facts.reasons[name] = f"the catalog has no measurement over {link}"
        return Missing(frozenset({name}))
    return ResolvedFact(getattr(found, column), "measured: " + found.source)


def provide_absence(quantity: Quantity, facts: Facts) -> ResolvedFact | None:
    """Provide the value that means absence, if nothing declares the quantity."""
    unknown = quantity.of == "engine" and not facts.engine
    return None if unknown else constant(quantity.absent[0], "nothing states it")
