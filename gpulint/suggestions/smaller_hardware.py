"""Smaller hardware: the cheapest that holds a service which states no load, if it has far more."""

from __future__ import annotations

import math
import posixpath
import re
from dataclasses import replace

from gpulint.catalog import hardware, offers
from gpulint.facts.model import Facts
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report.model import Fit, Scenarios, Severity
from gpulint.suggestions import smallest_fit
from gpulint.suggestions.edits import accelerator_names
from gpulint.workload import Field, Role

OF_HARDWARE = frozenset(
    {
        *(
            "accelerator",
            "instance_type",
            "node_pool",
            "whole_node",
            "whole_machine",
            "machine_network",
            "visible_devices",
        ),
        *("gpus_per_pod", "gpus_per_replica", "gpu_limit", "gpu_request", "gpu_count_whole", "pods_per_replica"),
        *("tensor_parallel", "pipeline_parallel", "data_parallel", "decode_context_parallel", "processes_per_pod"),
        *("expert_parallel", "expert_parallel_size", "all2all_backend", "data_parallel_attention"),
    }
)
"""Fields that state how much hardware there is, and how the model is spread over it."""
INTERACTIVE_S = 0.03
"""The longest time per token of a single request: MLCommons, MLPerf Inference v5.1, Llama 3.1 8B, interactive scenario."""
TRIAL = re.compile(r"(?:^|[^a-z])(?:tests?|e2e|bench(?:mark)?s?|scal(?:e|ing|ability)|perf)(?![a-z])")
"""Names of tests, which may need the GPUs to show how a program scales."""
SHOWN = re.compile(r"(?:^|[^a-z])(?:examples?|samples?|demos?|tutorials?|guides?|recipes?|docs?)(?![a-z])")
"""Names of folders of examples, whose small model stands for another."""
EVALUATIONS = 20
"""Evaluations of all rules that one search counts as."""


def find_smaller(role: EvaluatedRole) -> Fit | None:
    """Return the cheapest hardware that holds a service in every scenario, if it costs less than what it has.

    It holds the requests that the service runs at once, each as long as is allowed, if their number is stated; else one.
    None if the service has no more GPUs than the smallest machine that its accelerator is sold in, and for tests and
    examples.
    """
    facts = role.facts
    if _is_trial(role):
        return None
    cloud = _find_cloud(facts)
    offered = offers.list_offers(facts.role.available, cloud)
    if _is_one_machine(facts, offered):
        return None
    released = facts.fresh(_release(facts, cloud), facts.resolved)
    severe = tuple(rule for rule in role.rules if rule.severity is Severity.ERROR)
    tokens = _count_tokens(facts)
    found = smallest_fit.find_smallest(
        released,
        offered,
        lambda tried: _serves(tried, tokens) and smallest_fit.adds_no_error(severe, tried, role.outcome),
    )
    return found[0] if found and _is_smaller(found[0], facts) else None


def _is_trial(role: EvaluatedRole) -> bool:
    """Whether names in the repository say that a service is a test or an example."""
    path = role.facts.role.anchor.location().path
    folder = "" if posixpath.isabs(path) else posixpath.dirname(path).lower()
    names = f"{role.workload.name} {role.facts.role.name}".lower()
    return bool(TRIAL.search(folder) or SHOWN.search(folder) or TRIAL.search(names))


def _find_cloud(facts: Facts) -> str | None:
    """Return the cloud of a role's machines; None if any is possible."""
    node = hardware.node(facts.role.text("instance_type"))
    stated = accelerator_names.find_cloud(facts.role) or facts.role.text("cloud")
    return stated or (node.cloud if node else None)


def _is_one_machine(facts: Facts, offered: tuple[offers.Offer, ...]) -> bool:
    """Whether the accelerator is not sold in a smaller machine than what the service takes, or a job takes one whole node."""
    gpus, accelerator = facts.expected("workload_gpus"), facts.role.text("accelerator")
    least = min((offer.node_gpus for offer in offered if offer.accelerator == accelerator), default=1)
    if facts.role.value("whole_node") is True and facts.expected("gpus_per_pod") == gpus:
        return True
    return not isinstance(gpus, int | float) or gpus <= least


def _release(facts: Facts, cloud: str | None) -> Role:
    """Return the role as one instance on hardware that is left open, with the requests that all instances run at once."""
    fields = {name: field for name, field in facts.role.fields.items() if name not in OF_HARDWARE}
    fields["replicas"] = fields["pods_per_replica"] = Field(1)
    if cloud:
        fields["cloud"] = Field(cloud)
    if (sequences := _count_sequences(facts)) > 1:
        fields["max_num_seqs"] = Field(sequences)
    return replace(facts.role, fields=fields)


def _count_sequences(facts: Facts) -> int:
    """Return the requests that a service runs at once, if its settings state it; else 1."""
    most = facts.expected("service_batch")
    is_stated = facts.expected("max_num_seqs_stated") is True
    return math.ceil(most) if is_stated and isinstance(most, int | float) else 1


def _count_tokens(facts: Facts) -> float:
    """Return the tokens of these requests at full length."""
    length = facts.expected("max_model_len")
    return _count_sequences(facts) * length if isinstance(length, int | float) else math.inf


def _serves(tried: Facts, tokens: float) -> bool:
    """Whether hardware caches so many tokens, and reads the weights fast enough for a single request."""
    cached, read_s = tried.scenarios("kv_cache_tokens"), tried.expected("weight_read_floor_s")
    least = cached.worst if isinstance(cached, Scenarios) else None
    is_large = isinstance(least, int | float) and least >= tokens
    return is_large and isinstance(read_s, int | float) and read_s <= INTERACTIVE_S


def _is_smaller(fit: Fit, facts: Facts) -> bool:
    """Whether hardware costs less than that of a service, or has less memory if a price is unknown."""
    now = facts.expected("cost_usd_per_hour")
    if isinstance(now, int | float) and fit.cost_usd_per_hour is not None:
        return fit.cost_usd_per_hour < now
    memory, gpus = facts.expected("device_memory_bytes"), facts.expected("workload_gpus")
    whole = smallest_fit.find_memory_bytes(hardware.accelerator(fit.accelerator)) * fit.gpus
    return isinstance(memory, int | float) and isinstance(gpus, int | float) and whole < memory * gpus
