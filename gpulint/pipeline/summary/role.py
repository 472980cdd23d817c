"""The summary of a role: what was read, whether it fits in memory, and on which accelerators it
would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpulint import engines, units
from gpulint.adapters.programs import gpu_tests
from gpulint.catalog import capabilities, hardware
from gpulint.catalog.architecture import Resolution, names
from gpulint.facts.formulas import is_used
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts
from gpulint.pipeline.summary import costs, start
from gpulint.policy.rules import evaluate, memory_verdict, objectives, taken_memory
from gpulint.policy.rules.rule import Rule
from gpulint.report import headroom
from gpulint.report.model import Explanation, Finding, Fit, RoleSummary
from gpulint.report.verdicts import NOT_EVALUATED
from gpulint.workload import Hint, Role, Unknown

if TYPE_CHECKING:
    from gpulint.pipeline.summary import open_values
    from gpulint.policy.rules.bounds import Bounds
    from gpulint.suggestions.smallest_fit import Fitting

SHOWN = (
    *("checkpoint", "architecture", "accelerator", "gpus_per_replica", "tensor_parallel", "pipeline_parallel"),
    *("data_parallel", "max_model_len", "device_memory_bytes", "memory_budget_bytes", "weight_bytes_per_gpu"),
    *("reserve_bytes", "kv_needed_bytes", "kv_cache_bytes", "kv_cache_tokens", "required_bytes_per_gpu", "headroom"),
)
SHOWN_OF_TRAINING = (
    *("checkpoint", "architecture", "accelerator", "gpus_per_replica", "tensor_parallel", "pipeline_parallel"),
    *("sharding", "sharding_stage", "shard_ranks", "micro_batch_size", "sequence_length", "activation_checkpointing"),
    *("optimizer", "trainable_parameters", "device_memory_bytes", "training_weight_bytes", "gradient_bytes"),
    *("optimizer_state_bytes", "state_bytes_per_gpu", "training_peak_bytes", "training_needed_bytes", "training_room"),
)

LOCAL = re.compile(r"[/~.]|(?:pvc|file|s3|gs|gcs|oci|models|pvc\+hf|az|azblob)://|[\w.-]+(?:/[\w.-]+){2,}/?$")
"""References to weights that no hub serves: a path, a volume or a bucket."""


def summarize(
    facts: Facts,
    outcome: evaluate.Outcome,
    rules: Sequence[Rule],
    bounds: Bounds | None = None,
    problems: Sequence[Finding] = (),
) -> RoleSummary:
    """Return the summary of one role, which a report has even when nothing is wrong.

    `problems` are the findings about the document that declares it.
    """
    role, resolved = facts.role, facts.resolved
    names = SHOWN_OF_TRAINING if engines.is_training(role) else SHOWN
    shown = [fact for name in names if (fact := facts.report(name))]
    shown += objectives.list_facts(facts)
    shown += costs.list_facts(facts)
    is_open = bounds is not None and (memory_verdict.find_verdict(facts) == NOT_EVALUATED or bounds.rests_on_samples)
    opened = _describe_bounds(bounds, outcome, rules) if bounds and is_open else None
    found = _find_fitting(facts, outcome, rules, opened.smallest if opened and opened.smallest else None)
    stated = objectives.evaluate_objectives(facts)
    verdict = opened.verdict if opened else _describe_verdict(facts, outcome, rules, objectives.describe_misses(stated))
    return RoleSummary(
        name=role.name,
        engine=role.text("engine"),
        part_of=role.text("part_of"),
        architecture="" if role.text("part_of") else _describe_architecture(role, resolved),
        accelerator=_describe_accelerator(facts),
        parallelism="" if role.text("part_of") else _describe_parallelism(facts),
        verdict=start.correct(verdict, outcome.verdicts, problems),
        headroom=_describe_headroom(facts),
        memory=opened.memory if opened else taken_memory.measure(facts),
        objectives=stated,
        fits_on=found.fits if found else (),
        borderline=found.borderline if found else (),
        too_small=found.too_small if found else (),
        smallest=found.smallest if found else opened.smallest if opened else (),
        open=opened.decisions if opened else (),
        facts=tuple(shown),
        assumptions=tuple(list_assumptions(role, resolved)),
        unknown=dict(sorted(facts.reasons.items())),
        explained=tuple(list_unresolved(role, resolved)),
        not_evaluated=() if _is_part_of_a_run(role) else outcome.not_evaluated,
        cost=costs.describe_hourly_cost(facts),
        cost_of_work=costs.describe_cost_of_work(facts),
        prices=costs.describe_prices(facts),
        figures=costs.resolve_figures(facts),
    )


def _describe_verdict(facts: Facts, outcome: evaluate.Outcome, rules: Sequence[Rule], undersized: str) -> str:
    """Return whether a role fits; if it fits, whether it misses an objective."""
    if leader := facts.role.text("part_of"):
        return f"part of {leader}"
    fits = memory_verdict.find_verdict(facts)
    if fits == NOT_EVALUATED:
        return gpu_tests.describe(facts.role) or _describe_open_network(facts, outcome, rules) or fits
    return undersized or fits if fits in ("fits", "likely fits") else fits


def _describe_open_network(facts: Facts, outcome: evaluate.Outcome, rules: Sequence[Rule]) -> str:
    """Return on which network a verdict depends, if a file says only how a run is sharded."""
    if not _is_part_of_a_run(facts.role):
        return ""
    from gpulint.pipeline.summary import open_network

    return open_network.describe(facts, outcome, rules)


def _describe_bounds(bounds: Bounds, outcome: evaluate.Outcome, rules: Sequence[Rule]) -> open_values.Answer:
    """Return the verdict on a role whose file leaves values open."""
    from gpulint.pipeline.summary import open_values

    return open_values.describe(bounds, outcome, rules)


def _is_part_of_a_run(role: Role) -> bool:
    """Whether a file declares only how a run is sharded; another file declares the rest."""
    return role.text("task") == "training" and not {"engine", "checkpoint", "program"} & role.fields.keys()


def _describe_headroom(facts: Facts) -> str:
    ends = facts.ends("training_room" if engines.is_training(facts.role) else "headroom")
    if ends is None or facts.role.text("device") not in ("", "gpu"):
        return ""
    return headroom.render(*map(memory_verdict.to_number, ends))


def _describe_architecture(role: Role, resolved: Resolution | None) -> str:
    stated = role.value("checkpoint")
    if isinstance(stated, Unknown):
        return f"? ({stated.reason})"
    if resolved is None:
        return "?"
    if resolved.architecture is not None and not role.text("checkpoint"):
        return resolved.architecture.id
    shape, reference = resolved.architecture, role.text("checkpoint")
    if shape is None or not (shape.is_known or resolved.how == "name"):
        is_plain = names.is_folder(reference) and not re.search(r"\d", reference.rstrip("/").rpartition("/")[2])
        return f"? (the model in {reference})" if is_plain else f"{reference} (not in the catalog)"
    if not shape.is_known and shape.named_parameters and "/" not in reference and (hint := _find_name(role)):
        return f"? (about {shape.named_parameters / units.BILLION:g} billion parameters, by {hint.field.source})"
    if folder := _find_tuned_folder(role):
        return f"{folder} ({reference} by its name)"
    if resolved.how != "name" or not shape.is_known or not names.is_folder(reference):
        return reference
    return names.find_maker(shape.id) if shape.id != reference else reference


def _find_tuned_folder(role: Role) -> str:
    """Return the folder of weights whose name holds more than that of the release that it suggests; empty if there is none."""
    hint = _find_name(role)
    stated = hint.stated.value if hint is not None and hint.stated is not None else None
    if hint is None or not isinstance(stated, str) or not hint.field.source.startswith(names.OF_FOLDER):
        return ""
    own, released = (_normalise(name.rstrip("/").rpartition("/")[2]) for name in (stated, role.text("checkpoint")))
    return "" if released.endswith(own) else stated


def _normalise(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _find_name(role: Role) -> Hint | None:
    """Return the hint that a name gives of the size of a checkpoint which nothing states."""
    return next((hint for hint in role.hints if hint.kind == "name" and hint.quantity == "checkpoint"), None)


def _describe_accelerator(facts: Facts) -> str:
    """Return the GPUs of an instance: as stated, else those that its engine or its only process occupies."""
    role = facts.role
    count, product = role.value("gpus_per_replica"), hardware.accelerator(role.text("accelerator"))
    if (device := role.text("device")) not in ("", "gpu"):
        return "none" if device == "cpu" else device
    name = product.name if product else _name_resource(role)
    if profile := role.text("mig_profile"):
        name = f"{profile} of {name}" if product else profile
    left_open = count is None or (isinstance(count, Unknown) and count.category == "any host")
    occupied = left_open and capabilities.does(role.text("engine"), "takes_parallel_sizes")
    is_one, spreads = _is_one_process(role) or _is_whole_on_one_gpu(role), _spreads(role)
    shown = facts.expected("parallel_size") if occupied else 1 if left_open and is_one and not spreads else count
    unknown = "1 or more" if left_open and spreads and (is_one or occupied) else "?"
    return f"{units.human(shown, '') if isinstance(shown, int | float) else unknown} × {name}"


def _is_one_process(role: Role) -> bool:
    """Whether a program that computes itself is started once."""
    if role.value("launcher") is not None:
        return False
    stated = role.value("sharding")
    return bool(role.text("task") or engines.is_training(role)) and (stated is None or isinstance(stated, Unknown))


def _is_whole_on_one_gpu(role: Role) -> bool:
    """Whether a server that cannot divide its network says that each GPU has the whole of it."""
    sizes = [role.value(name) for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")]
    return sizes == [1, 1, 1] and capabilities.lacks(role.text("engine"), "shards_weights")


def _spreads(role: Role) -> bool:
    """Whether a program spreads its model over all GPUs of the machine, however many it has."""
    ranks = role.value("tensor_parallel")
    is_mapped = role.value("spills") is not None and role.value("whole_on_gpu") is None
    return is_mapped or (isinstance(ranks, Unknown) and ranks.category == "any host")


def _name_resource(role: Role) -> str:
    unknown = role.value("accelerator")
    reason = f" ({unknown.reason})" if isinstance(unknown, Unknown) else ""
    return (role.text("accelerator_resource") or "?") + reason


def _describe_parallelism(facts: Facts) -> str:
    parts = []
    for name, letters in (("tensor_parallel", "TP"), ("pipeline_parallel", "PP"), ("data_parallel", "DP")):
        value = facts.expected(name)
        if isinstance(value, int) and (value > 1 or name == "tensor_parallel"):
            parts.append(f"{letters} {value}")
    return " × ".join(parts) or "?"


def list_assumptions(role: Role, resolved: Resolution | None) -> Iterator[str]:
    """Yield what was assumed about a role, in sentences."""
    yield from (field.assumption for field in role.fields.values() if field.assumption)
    if resolved and resolved.assumption:
        yield resolved.assumption
    engine = role.text("engine")
    if engine and not role.text("engine_version") and (oldest := engines.oldest_release(engine)):
        yield f"the release of {engine} is not declared: {'.'.join(map(str, oldest))} or later"
    if role.value("sharing"):
        yield "the GPU is shared: the memory of its other programs is not counted"
    for name, memory in (("speculative", "draft_weight_bytes_per_gpu"), ("enable_lora", "lora_bytes")):
        if role.value(name) not in (None, False) and not is_used(engine, memory):
            yield f"memory of {glossary()[name].meaning} is not counted"


def list_unresolved(role: Role, resolved: Resolution | None) -> Iterator[Explanation]:
    """Yield who decides each value that the file leaves open, with the location that says so."""
    for name, field in role.fields.items():
        if isinstance(field.value, Unknown) and field.value.category and field.origins:
            yield Explanation(name, field.value.category, field.value.reason, field.origins[0].location())
    yield from _explain_accelerator(role)
    checkpoint = role.fields.get("checkpoint")
    if checkpoint is None:
        yield from _explain_program(role)
    elif checkpoint.origins and LOCAL.match(role.text("checkpoint")) and _is_unlisted(resolved):
        reason = f"the weights are at {checkpoint.value}, whose config.json is not in the repository"
        yield Explanation("architecture", "local path", reason, checkpoint.origins[0].location())


def _explain_accelerator(role: Role) -> Iterator[Explanation]:
    """Yield why a pod's accelerator is open if no label, queue or claim names it."""
    resource, count = role.text("accelerator_resource"), role.fields.get("gpus_per_pod")
    if resource and count and count.origins and count.value != 0 and "accelerator" not in role.fields:
        reason = f"the accelerator depends on the nodes that offer {resource}"
        yield Explanation("accelerator", "any host", reason, count.origins[0].location())


def _explain_program(role: Role) -> Iterator[Explanation]:
    """Yield why the architecture is unknown: the program is no engine or trainer that gpulint
    reads.
    """
    for name in ("program", "engine"):
        runs = role.fields.get(name)
        if runs is None or not runs.origins or engines.find_purpose(role.text("engine")):
            continue
        category = runs.value.category if isinstance(runs.value, Unknown) else "own program"
        if category:
            who = "the image" if category == "image default" else f"{runs.value} itself"
            reason = f"the architecture depends on {who}"
            yield Explanation("architecture", category, reason, runs.origins[0].location())
            return


def _is_unlisted(resolved: Resolution | None) -> bool:
    return resolved is None or resolved.architecture is None or not resolved.architecture.is_known


def _find_fitting(
    facts: Facts, outcome: evaluate.Outcome, rules: Sequence[Rule], smallest: Sequence[Fit] | None
) -> Fitting | None:
    """Return how a role fits on each accelerator that is available; None if it names one."""
    accelerator = facts.role.value("accelerator")
    if accelerator is not None and not isinstance(accelerator, Unknown):
        return None
    from gpulint.suggestions import smallest_fit

    return smallest_fit.find_fitting(facts, outcome, rules, smallest)
