"""Decisions: which values of a role somebody else settles, and what each of them can be."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import engines
from gpulint.catalog import capabilities, hardware, tables
from gpulint.catalog.architecture import Resolution
from gpulint.facts import table_rows
from gpulint.facts.formulas import find_formulas, list_parameters
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.workload import Decision, Field, Member, Role, Unknown, Value

DECISIONS_MAX = 9
ARGUMENTS = "arguments"
"""What is missing where words that cannot be read may state any argument."""

UNREAD = "arguments that cannot be read"
"""Who decides what words that cannot be read may state."""
HARDWARE = frozenset({"gpus_per_pod", "gpus_per_replica", "pods_per_replica"})
ELSEWHERE = "elsewhere"
"""The condition of decisions that a file which is named, but missing, makes."""

FORM = re.compile(r" (?:PCIe|SXM\d?)(?= )")
"""The form of a product, which its memory does not depend on."""
DECIDERS = {"queue or partition": "the cluster"}
"""Who takes the accelerator, by the category of what leaves it open."""
SHORTEST_SAMPLE = 256
"""Tokens: samples of instruction data sets are that long or longer."""
SAMPLE_LENGTH = "sample length"
ONE_MODEL = "trains_one_model"
SAMPLES = "samples that are not packed are at most as long as the stated length"


NETWORKS = frozenset({"checkpoint", "network"})
"""Fields that decide which network a role runs."""


class Opened(NamedTuple):
    """A role whose further values are decisions; what no decision settles differently has the value of absence."""

    role: Role
    decisions: tuple[Decision, ...]


def find_decisions(facts: Facts, quantity: str, given: Mapping[str, Field]) -> Opened | Missing:
    """Return the decisions that leave a quantity open, beside those that the `given` fields settle.

    Where a value has no domain, return what is missing.
    """
    own = [*list_own(facts.role), *_list_products(facts.role), *_list_unread(facts), *bound_samples(facts)]
    role, decisions = _open_settings(facts.role), own
    while True:
        tried = facts.fresh(assign(role, decisions, {}).having(**given), find_resolution(decisions, {}, facts.resolved))
        left = tried.scenarios(quantity)
        if not isinstance(left, Missing):
            return Opened(role, tuple(decisions))
        names = _expand(left.names, tried)
        settled = {field for decision in decisions for field in decision.fields} | given.keys()
        found = list(_list_decisions(names - settled, tried))
        absent = {name: value for name in names - settled if (value := _find_absence(name, role, found)) is not None}
        if not found and not absent:
            return Missing(left.names)
        decisions += found
        role = role.having(**absent)
        if len(decisions) > DECISIONS_MAX:
            return Missing(left.names)


def _list_products(role: Role) -> Iterator[Decision]:
    """Yield the accelerator, where a role names several products of which somebody else takes one.

    Forms of a product with the same memory are one member, and the form with the least memory stands for it.
    """
    field = role.fields.get("accelerator")
    value = field.value if field is not None else None
    if field is None or not isinstance(value, Unknown) or "device_memory_bytes" in role.fields:
        return
    named = [product for name in value.choices if (product := hardware.accelerator(name))]
    named.sort(key=lambda product: product.cuda_memory_bytes or product.driver_memory_bytes or 0)
    members: dict[str, Member] = {}
    for product in named:
        label = FORM.sub("", product.name)
        known = replace(field, value=product.id, source=value.reason)
        members.setdefault(label, Member(label, {"accelerator": known}))
    if members and len(named) == len(value.choices):
        yield Decision("GPU", DECIDERS.get(value.category, "the platform"), value.reason, tuple(members.values()))


def bound_samples(facts: Facts) -> Iterator[Decision]:
    """Yield the length of the samples of a training run that does not pack them: the stated length is only its end."""
    field = facts.role.fields.get("sequence_length")
    longest = field.value if field is not None else None
    if field is None or not isinstance(longest, int) or not engines.is_training(facts.role):
        return
    if longest <= SHORTEST_SAMPLE or facts.expected("packed") is True:
        return
    lengths = itertools.takewhile(
        lambda length: length < longest, (SHORTEST_SAMPLE << step for step in itertools.count())
    )
    members = [Member(f"{length:,}", {"sequence_length": replace(field, value=length)}) for length in lengths]
    members.append(Member(f"{longest:,}", {"sequence_length": field}))
    yield Decision(SAMPLE_LENGTH, "the data", SAMPLES, tuple(members), len(members) - 1, ordered=True)


def list_fields(role: Role) -> frozenset[str]:
    """Return the fields of all decisions that a role of this task and engine can leave open."""
    return frozenset().union(*(decision.fields for decision, _ in _load(_find_task(role), role.text("engine"))))


def has_unread_settings(role: Role) -> bool:
    """Return whether a program may do more than its settings that were read say, such as keep a second model."""
    return (
        bool(role.open_ended)
        or _is_own_loop(role)
        or any(getattr(field.value, "lacking", "") == ARGUMENTS for field in role.fields.values())
    )


def _is_own_loop(role: Role) -> bool:
    """Whether a training loop is the user's own, so that it may train several models: its engine leaves that to the program."""
    engine = role.text("engine")
    return (
        engines.is_training(role)
        and bool(engine)
        and not (capabilities.does(engine, ONE_MODEL) or capabilities.lacks(engine, ONE_MODEL))
    )


def assign(role: Role, decisions: Iterable[Decision], chosen: Mapping[str, int]) -> Role:
    """Return a role with a member of each decision: the chosen one, else the expected one, else the middle."""
    fields: dict[str, Field] = {}
    absent: set[str] = set()
    for decision in decisions:
        member = decision.members[find_member(decision, chosen)].fields
        absent |= {name for name in decision.fields - member.keys() if _is_settled_by(decision, role.value(name))}
        fields |= member
    kept = {name: field for name, field in role.fields.items() if name not in absent}
    return replace(role, fields={**kept, **fields})


def _is_settled_by(decision: Decision, value: Value | Unknown) -> bool:
    return isinstance(value, Unknown) and value.decision is decision


def list_own(role: Role) -> tuple[Decision, ...]:
    """Return the decisions that the fields of a role name, each once."""
    named = (field.value.decision for field in role.fields.values() if isinstance(field.value, Unknown))
    return tuple({decision.name: decision for decision in named if decision is not None}.values())


def find_resolution(
    decisions: Iterable[Decision], chosen: Mapping[str, int], resolved: Resolution | None
) -> Resolution | None:
    """Return the architecture under an assignment: that of a chosen member, else that of the role."""
    members = (decision.members[find_member(decision, chosen)] for decision in decisions)
    return next((member.resolved for member in members if member.resolved is not None), resolved)


def resolve_members(role: Role, resolve: Callable[[Role], Resolution | None]) -> Role:
    """Return a role in whose decisions each member that names a network has its architecture.

    Members whose network nothing in the repository or the catalog describes are left out beside others that are known: a
    checkpoint that a run goes on from has the size of the model that it began with.
    """
    for decision in list_own(role):
        if not decision.fields & NETWORKS:
            continue
        members = tuple(
            member._replace(resolved=resolve(assign(role, (replace(decision, members=(member,), expected=None),), {})))
            for member in decision.members
        )
        known = tuple(one for one in members if one.resolved is not None and one.resolved.architecture is not None)
        role = _replace_decision(role, decision, known or members)
    return role


def _replace_decision(role: Role, decision: Decision, members: tuple[Member, ...]) -> Role:
    settled = {name for name in decision.fields if _is_settled_by(decision, role.value(name))}
    kept = {name: field for name, field in role.fields.items() if name not in settled}
    if len(members) == 1:
        others = ", ".join(one.label for one in decision.members if one.label != members[0].label)
        said = f"{decision.name} decides between {members[0].label} and {others}, of which the catalog knows the first"
        assumed = {name: replace(field, assumption=said) for name, field in members[0].fields.items()}
        return replace(role, fields={**kept, **assumed})
    expected = decision.expected if len(members) == len(decision.members) else None
    own = replace(decision, members=members, expected=expected)
    fields = dict(role.fields)
    for name in settled:
        value = fields[name].value
        if isinstance(value, Unknown):
            fields[name] = replace(fields[name], value=replace(value, decision=own))
    return replace(role, fields=fields)


def find_member(decision: Decision, chosen: Mapping[str, int]) -> int:
    """Return the index of the chosen member of a decision, else of the expected one, else of the middle."""
    middle = (len(decision.members) - 1) // 2
    return chosen.get(decision.name, middle if decision.expected is None else decision.expected)


def _expand(names: frozenset[str], facts: Facts) -> frozenset[str]:
    """Return the inputs that are missing: of a formula those that nothing states, of the arguments those not read."""
    found = names - {ARGUMENTS}
    if ARGUMENTS in names:
        fields = facts.role.fields.items()
        found |= {name for name, field in fields if getattr(field.value, "lacking", "") == ARGUMENTS}
    computed = find_formulas(None)
    inputs = (list_parameters(computed[name]) for name in names if name in computed)
    return found | {name for name in frozenset().union(*inputs) if facts.expected(name) is None}


def _find_absence(name: str, role: Role, found: Sequence[Decision]) -> Field | None:
    """Return the value of absence for an unread setting that no decision settles."""
    absent = glossary()[name].absent if name in glossary() else ()
    if not absent or getattr(role.value(name), "lacking", "") != ARGUMENTS or any(name in one.fields for one in found):
        return None
    return Field(absent[0], source="nothing that was read states it")


def _open_settings(role: Role) -> Role:
    """Return a role without unread arguments: of a training run they may state every setting that no word states."""
    if not role.open_ended or not engines.is_training(role):
        return replace(role, open_ended="")
    unread = Field(Unknown(role.open_ended, "another object", lacking=ARGUMENTS))
    stated = {name for name, field in role.fields.items() if field.origins}
    return replace(role.having(**dict.fromkeys(list_fields(role) - stated - HARDWARE, unread)), open_ended="")


def _is_stated_otherwise(decision: Decision, role: Role) -> bool:
    """Return whether a file states a field of a decision in words that are not understood: it is none of the members."""
    fields = (role.fields.get(name) for name in decision.fields)
    return any(
        field is not None
        and isinstance(field.value, Unknown)
        and not (field.value.category or field.value.lacking or field.value.choices)
        for field in fields
    )


def _list_unread(facts: Facts) -> Iterator[Decision]:
    """Yield what arguments that cannot be read may settle beyond those that a server's file states."""
    engine = facts.engine
    if not facts.role.open_ended or not engine or capabilities.does(engine, "moves_layers_to_cpu"):
        return
    for decision, condition in _load(_find_task(facts.role), engine):
        is_stated = any(facts.role.value(name) is not None for name in decision.fields)
        if decision.decider == UNREAD and not is_stated and _holds(condition, decision, facts):
            yield decision


def _find_task(role: Role) -> str:
    return "training" if engines.is_training(role) else "inference"


def _list_decisions(names: Iterable[str], facts: Facts) -> Iterator[Decision]:
    """Yield the decisions that settle some of these quantities, each once."""
    wanted = frozenset(names)
    taken: set[str] = set()
    for decision, condition in _load(_find_task(facts.role), facts.role.text("engine")):
        is_asked = decision.decider != UNREAD and (decision.fields & wanted) - taken
        if _is_stated_otherwise(decision, facts.role):
            continue
        if is_asked and _holds(condition, decision, facts) and (kept := _restrict(decision, facts, wanted)):
            taken |= kept.fields
            yield kept


def _holds(condition: str, decision: Decision, facts: Facts) -> bool:
    """Return whether a decision is one of this role: `elsewhere` where a file that is missing settles its fields."""
    if condition != ELSEWHERE:
        return not facts.missing(table_rows.find_compared(condition)) and table_rows.is_verified(condition, facts)
    fields = (facts.role.fields.get(name) for name in decision.fields)
    unread = (field.value for field in fields if field is not None and isinstance(field.value, Unknown))
    return any(value.category == "another object" or value.choices for value in unread)


def _restrict(decision: Decision, facts: Facts, wanted: frozenset[str]) -> Decision | None:
    """Return a decision with the members that agree with what the role states of its other fields and with its network."""
    role, longest = facts.role, facts.number("trained_context") or math.inf
    stated = {
        name: role.fields[name].value
        for name in decision.fields - wanted
        if name in role.fields and not isinstance(role.fields[name].value, Unknown)
    }
    agreeing = [
        at for at, member in enumerate(decision.members) if _agrees(member, stated) and _find_length(member) <= longest
    ]
    if not agreeing:
        return None
    expected = agreeing.index(decision.expected) if decision.expected in agreeing else None
    return replace(decision, members=tuple(decision.members[at] for at in agreeing), expected=expected)


def _find_length(member: Member) -> float:
    """Return the tokens of a sequence that a member sets; 0 if it sets none."""
    field = member.fields.get("sequence_length")
    return float(field.value) if field is not None and isinstance(field.value, int) else 0.0


def _agrees(member: Member, stated: Mapping[str, Value | Unknown]) -> bool:
    return all(member.fields[name].value == value for name, value in stated.items() if name in member.fields)


@functools.cache
def _load(task: str, engine: str) -> tuple[tuple[Decision, str], ...]:
    """Return the decisions of a task with their conditions; those of an engine replace the general ones of its fields.

    A decision whose members depend on the hardware has a group of rows for each condition.
    """
    rows = [row for row in tables.rows("domains") if row["task"] in ("", task) and row["engine"] in ("", engine)]
    own = {name for row in rows if row["engine"] for name in _read_fields(row)}
    kept = [row for row in rows if row["engine"] or not own & _read_fields(row).keys()]
    grouped: dict[tuple[str, str], list[tables.Row]] = {}
    for row in kept:
        grouped.setdefault((row["decision"], row["condition"]), []).append(row)
    return tuple((_read_decision(group), condition) for (_, condition), group in grouped.items())


def _read_decision(rows: Sequence[tables.Row]) -> Decision:
    first = rows[0]
    members = [(row["member"], _read_fields(row)) for row in rows]
    absent = {
        name: Field(glossary()[name].absent[0]) for _, fields in members for name in fields if glossary()[name].absent
    }
    expected = [at for at, row in enumerate(rows) if row["expected"]]
    return Decision(
        first["decision"],
        first["decider"],
        next((row["source"] for row in rows if row["expected"]), first["source"]),
        tuple(Member(label, {**absent, **fields}) for label, fields in members),
        expected[0] if expected else None,
        bool(first["ordered"]),
    )


def _read_fields(row: tables.Row) -> dict[str, Field]:
    pairs = (part.strip().partition("=") for part in row["fields"].split(";") if part)
    source = f"{row['decision']}: {row['member']} ({row['decider']} decides)"
    return {name: Field(_read_value(name, text), source=source) for name, _, text in pairs}


def _read_value(name: str, text: str) -> Value:
    if text == "null":
        return None
    kind = glossary()[name].type
    if kind == "number":
        return float(text) if "." in text else int(text)
    return text == "true" if kind == "flag" else text
