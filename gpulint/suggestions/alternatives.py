"""Alternatives: small changes of a role, kept only if the same rules, run again, have nothing new to say in any world."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint import engines
from gpulint.catalog import hardware, offers
from gpulint.catalog.offers import Offer
from gpulint.facts.model import Facts
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity, Suggestion
from gpulint.suggestions import edits
from gpulint.suggestions.edits import accelerator_names as labels
from gpulint.suggestions.serving import candidates, layouts
from gpulint.suggestions.serving import changes as moves
from gpulint.suggestions.serving.changes import Move
from gpulint.suggestions.training import changes as training_moves
from gpulint.suggestions.training import layouts as training_layouts
from gpulint.workload import Field, Role, Unknown, Value, Workload

PRINTED = 3
TRIED = 24


def alternatives(
    verdict: Verdict, outcome: Outcome, workload: Workload, known: Facts, rules: Sequence[Rule]
) -> tuple[Suggestion, ...]:
    """Up to three changes after which the rule is evaluated, holds in no world, and nothing else is new.

    Those that leave the fewest errors of other rules come first, then those that cost no more, the smallest first. A
    verdict that needs one takes only those that do the same for less, after which no other rule holds in any world.
    """
    tried: set[frozenset[tuple[str, Value]]] = set()

    def stands(other: Verdict, after: Outcome, changed: Facts) -> bool:
        kinds = (worth_trying(kind, changed) for kind in other.rule.change)
        found = _cured(other, after, workload, changed, rules, set(), lambda *_: True)
        return any(next(found(kind), None) for kind in kinds)

    cure = _cured(verdict, outcome, workload, known, rules, tried, stands)
    by_kind = {kind: cure(worth_trying(kind, known)) for kind in verdict.rule.change}
    accepted = [pair for found in by_kind.values() for pair in itertools.islice(found, 1)]
    if "accelerator" in by_kind:  # a second product differs more than a second length or count
        accepted += itertools.islice(by_kind["accelerator"], max(0, PRINTED - len(accepted)))
    best = sorted(accepted, key=lambda pair: (pair[0], costs_more(pair[1]), len(pair[1].values)))
    return tuple(one for _, one in best[:PRINTED])


@functools.lru_cache(maxsize=1)
def _traced(known: Facts) -> Facts:
    """The same facts, whose variants take over what a change does not touch."""
    return known if known.is_traced else known.traced()


def _cured(
    verdict: Verdict,
    outcome: Outcome,
    workload: Workload,
    known: Facts,
    rules: Sequence[Rule],
    tried: set[frozenset[tuple[str, Value]]],
    stands: Callable[[Verdict, Outcome, Facts], bool],
) -> Callable[[Iterator[Move]], Iterator[tuple[int, Suggestion]]]:
    """Of changes, those that are accepted, with the errors of other rules that they leave.

    A rule that speaks only with an alternative is new only where it would have one of its own.
    """

    def cure(changes: Iterator[Move]) -> Iterator[tuple[int, Suggestion]]:
        for move in changes:
            values = frozenset(move.values.items())
            if values in tried or not _possible(known.role, move) or len(tried) >= TRIED:
                continue
            tried.add(values)
            changed = _traced(known).variant(applied(known.role, move.values))
            after = check.judged(check.matching(rules, workload, changed.role), changed)
            unsure = [one for one in after.verdicts if one.rule.only_with and _is_new(one, outcome)]
            rest = after._replace(verdicts=tuple(one for one in after.verdicts if one not in unsure))
            if not cures([verdict.rule.name], outcome, rest) or any(stands(one, after, changed) for one in unsure):
                continue
            said = suggestion(move, known, changed)
            sure = after.holding <= outcome.holding and _saves(said, known, verdict.rule)
            if sure or not verdict.rule.only_with:
                yield sum(one.severity == Severity.ERROR for one in after.verdicts), said

    return cure


def _is_new(one: Verdict, before: Outcome) -> bool:
    """Whether a rule did not speak before, or not as severely."""
    return all(one.rule.name != other.rule.name or one.severity > other.severity for other in before.verdicts)


def costs_more(one: Suggestion) -> bool:
    before, after = one.cost_before_usd_per_hour, one.cost_after_usd_per_hour
    return before is not None and after is not None and after > before


OF_THE_ANSWERS = frozenset({"quantization", "weight_dtype", "kv_cache_dtype", "max_model_len"})
"""Quantities that change what is answered, or what may be asked."""


def _saves(one: Suggestion, known: Facts, rule: Rule) -> bool:
    """Whether the same is done for less: another product is known to cost less, any other change takes no more of the same."""
    if OF_THE_ANSWERS & set(one.values) - set(rule.change):
        return False
    before, after = one.cost_before_usd_per_hour, one.cost_after_usd_per_hour
    if before is not None and after is not None:
        return after < before if "accelerator" in one.values else after <= before
    counts = ((one.values.get(name), known.likely(name)) for name in ("gpus_per_pod", "replicas", "pods_per_replica"))
    more = any(isinstance(new, int) and isinstance(old, int) and new > old for new, old in counts)
    return "accelerator" not in one.values and not more


def worth_trying(quantity: str, known: Facts) -> Iterator[Move]:
    """The changes of a quantity that are worth a try, of what the role is for."""
    if engines.trains(known.role):
        return itertools.chain(training_layouts.training(quantity, known), training_moves.of(quantity, known))
    whole = candidates.cards(known) if quantity == "accelerator" else ()
    return itertools.chain(moves.moves(quantity, known), layouts.serving(quantity, known), whole)


def cures(names: Iterable[str], before: Outcome, after: Outcome) -> bool:
    """Whether none of these rules holds in any world after a change, and no finding and no rule not evaluated is new."""
    lacking = {one.rule for one in before.not_evaluated}
    if not after.holding.isdisjoint(names) or any(one.rule not in lacking for one in after.not_evaluated):
        return False
    severities = {verdict.rule.name: verdict.severity for verdict in before.verdicts}
    return all(verdict.severity <= severities.get(verdict.rule.name, 0) for verdict in after.verdicts)


def expressible(role: Role, move: Move) -> bool:
    """Whether every quantity of a move can be written exactly, where it is stated or as this release takes it."""
    if "pods_per_replica" in move.values and role.value("multi_node") is True:
        return False  # an argument of the engine counts the machines too
    return edits.of(role, move.values) is not None


def _possible(role: Role, move: Move) -> bool:
    return expressible(role, move) and to_be_had(role, move)


def to_be_had(role: Role, move: Move) -> bool:
    """Whether another card of a move is on a machine that can be had and that holds the rest of the pod."""
    card, gpus = move.values.get("accelerator"), move.values.get("gpus_per_pod", role.value("gpus_per_pod"))
    if not isinstance(card, str) or card == role.text("accelerator"):
        return True
    return labels.hosted(role, card, gpus)  # type: ignore[arg-type]


def applied(role: Role, values: Mapping[str, Value]) -> Role:
    """The role with a move's values in place, and everything that follows from them."""
    values = edits.together(role, values)
    fields = {name: _restated(role, name, value) for name, value in values.items()}
    if "gpus_per_pod" in values:
        fields.update(_counted(role, values["gpus_per_pod"]))
    if "pods_per_replica" in values:
        fields["gpus_per_replica"] = Field(_of_pods(role, values["pods_per_replica"]))
    if "max_model_len" in values:
        fields["max_model_len_stated"] = Field(True)
        fields["max_model_len_fitted"] = Field(False)
    if "accelerator" in values and "instance_type" not in values:
        fields["instance_type"] = Field(_other_machine(role, values))
        if (pool := labels.pool_of(role, str(values["accelerator"]))) is not None:
            fields["node_pool"] = Field(pool)
    if "machine_network" in role.fields and fields.keys() & {"accelerator", "gpus_per_pod", "instance_type"}:
        fields["machine_network"] = Field(None)
    if "mig_profile" in values and edits.renames_resource(role):
        fields["accelerator_resource"] = Field(f"{edits.SLICE}{values['mig_profile']}")
    return _without_loaded_format(role, values).having(**fields)


def _without_loaded_format(role: Role, values: Mapping[str, Value]) -> Role:
    """A role whose weights are kept as its trainer keeps them beside FSDP, where a word more asks for that.

    Transformers' Trainer trains weights in the format of --dtype, but FSDP shares them out in 32 bits.
    """
    stated = role.fields.get("sharding")
    by_word = stated is not None and any(origin.text().startswith("--fsdp") for origin in stated.origins)
    if "sharding" not in values or role.arguments is None or role.arguments.key or by_word:
        return role
    return replace(role, fields={name: field for name, field in role.fields.items() if name != "parameter_dtype"})


def _other_machine(role: Role, values: Mapping[str, Value]) -> str | None:
    """The machine type that the places would name for another product; None where they name no machine."""
    named = (hardware.node(text) for text in labels.relabelled(role, str(values["accelerator"]), values) or ())
    return next((node.instance_type for node in named if node), None)


def _restated(role: Role, name: str, value: Value) -> Field:
    field = role.fields.get(name)
    return Field(value, field.origins if field else (), source="suggested")


def _counted(role: Role, gpus: Value) -> dict[str, Field]:
    """The counts that follow from a pod's; pods of other roles in the same instance keep theirs."""
    whole, now, pods = (role.value(name) for name in ("gpus_per_replica", "gpus_per_pod", "pods_per_replica"))
    known = all(isinstance(count, int | float) and math.isfinite(count) for count in (whole, now, pods, gpus))
    total: Value | Unknown = round(whole + (gpus - now) * pods) if known else Unknown("pods of a replica")  # type: ignore[arg-type,operator]
    fields = {"gpus_per_replica": Field(total), "gpu_count_whole": Field(True)}
    for side in ("gpu_limit", "gpu_request"):
        if role.value(side) is not None:
            fields[side] = _restated(role, side, gpus)
    return fields


def _of_pods(role: Role, pods: Value) -> Value | Unknown:
    """The GPUs of so many pods, where today's pods hold all of them."""
    whole, each, now = (role.value(name) for name in ("gpus_per_replica", "gpus_per_pod", "pods_per_replica"))
    if isinstance(each, int) and isinstance(now, int) and isinstance(pods, int) and whole == each * now:
        return each * pods
    return Unknown("GPUs of the other pods")


# ---- what a move would write


def suggestion(move: Move, before: Facts, after: Facts) -> Suggestion:
    """A move with the places that it changes, what is left afterwards, and its list price before and after."""
    written = edits.of(before.role, move.values) or ()
    shown = tuple(fact for name in ("headroom", "kv_cache_tokens", "training_room") if (fact := after.shown(name)))
    machines = _machines(before.role, after.role)
    costs = [_cost(known, machine) for known, machine in zip((before, after), machines, strict=True)]
    listed = (offers.listing(one, before.role.available.today) for one in machines if one)
    prices = ", ".join(dict.fromkeys(filter(None, listed)))
    return Suggestion(move.title, written, shown, move.gives_up, costs[0], costs[1], prices, move.values)


def _machines(before: Role, after: Role) -> tuple[Offer | None, Offer | None]:
    """The machines before and after; where a file may run in any cloud, those of the cloud that has both at the least price."""
    node = hardware.node(before.text("instance_type"))
    cloud = labels.cloud(before) or before.text("cloud") or (node.cloud if node else None)
    pair = _machine(before, cloud), _machine(after, cloud)
    if cloud or (pair[1] and pair[1].pool):
        return pair
    rented = {one.cloud for one in offers.of(after.available, accelerator=after.text("accelerator")) if one.cloud}
    pairs = [(_machine(before, one), _machine(after, one)) for one in sorted(rented)]
    both = [(new.cost_usd_per_hour, old, new) for old, new in pairs if old and new and old.cloud == new.cloud]
    priced = [(cost, old, new) for cost, old, new in both if cost is not None and old.cost_usd_per_hour is not None]
    return min(priced, key=lambda one: one[0])[1:] if priced else pair


def _machine(role: Role, cloud: str | None) -> Offer | None:
    """The machine that the pods run on: of their pool or type, else the cheapest that holds one, of a cloud or of any."""
    gpus = role.value("gpus_per_pod")
    if not isinstance(gpus, int) or gpus == 0:
        return None
    card, machine, pool = (role.text(name) for name in ("accelerator", "instance_type", "node_pool"))
    if not (card or machine or pool):
        return None
    return offers.carrying(role.available, card, gpus, machine, pool, cloud)


def _cost(known: Facts, machine: Offer | None) -> float | None:
    """Price of all instances, of one where their number is not stated: their share of the machines, or all of them."""
    role, share = known.role, known.likely("slice_share")
    gpus, pods, instances = (role.value(name) for name in ("gpus_per_pod", "pods_per_replica", "replicas"))
    if not isinstance(gpus, int) or not isinstance(pods, int) or not isinstance(share, int | float):
        return None
    if machine is None or machine.cost_usd_per_hour is None:
        return None
    whole = role.value("whole_node") is True or role.value("whole_machine") is True
    each = 1 if whole else gpus * share / machine.node_gpus
    return machine.cost_usd_per_hour * each * pods * (instances if isinstance(instances, int) else 1)
