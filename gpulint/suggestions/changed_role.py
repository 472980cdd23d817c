"""A role after a change: which values a file can state, and which other fields follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from gpulint.catalog import hardware
from gpulint.suggestions import edits
from gpulint.suggestions.edits import accelerator_names
from gpulint.suggestions.generators import Candidate
from gpulint.workload import Field, Role, Unknown, Value

OTHER_HARDWARE = frozenset({"accelerator", "mig_profile", "sharing", "instance_type"})
"""Quantities that choose another kind of hardware, not only more or less of the same."""
COUNTS = ("gpus_per_pod", "pods_per_replica", "replicas")


def count_steps_away(role: Role, values: Mapping[str, Value]) -> int:
    """Return how far a change is from today's hardware: 0 the same or less of it, 1 more of it, 2 another product."""
    if not OTHER_HARDWARE.isdisjoint(values):
        return 2
    pairs = ((values.get(name), role.value(name)) for name in COUNTS)
    return int(any(isinstance(new, int) and isinstance(now, int | float) and new > now for new, now in pairs))


def is_expressible(role: Role, candidate: Candidate) -> bool:
    """Whether every value of a candidate can be written exactly, at its location or as this release
    accepts it.
    """
    if "pods_per_replica" in candidate.values and role.value("multi_node") is True:
        return False  # an argument of the engine counts the machines too
    if _is_hardware_assumed(role) and count_steps_away(role, candidate.values):
        return False  # the file asks for no product, and the host may have no more of it
    return edits.write_values(role, candidate.values) is not None


def _is_hardware_assumed(role: Role) -> bool:
    """Return whether the accelerator is known from other files only, such as a README or the record of a run."""
    named = role.fields.get("accelerator")
    if named is None or not named.assumption:
        return False
    return all(origin.document.path != role.anchor.document.path for origin in named.origins)


def is_available(role: Role, candidate: Candidate) -> bool:
    """Whether another accelerator of a candidate, or more of today's, is offered on a machine that also holds the rest
    of the pod.
    """
    accelerator = candidate.values.get("accelerator", role.value("accelerator"))
    now, gpus = role.value("gpus_per_pod"), candidate.values.get("gpus_per_pod", role.value("gpus_per_pod"))
    grows = isinstance(now, int | float) and isinstance(gpus, int | float) and gpus > now
    if not isinstance(accelerator, str) or (accelerator == role.text("accelerator") and not grows):
        return True
    return accelerator_names.is_hosted(role, accelerator, gpus)  # type: ignore[arg-type]


def apply(role: Role, values: Mapping[str, Value]) -> Role:
    """Return the role with other values, and with every field that follows from them."""
    values = edits.add_shared_counts(role, values)
    fields = {name: _restate(role, name, value) for name, value in values.items()}
    if "gpus_per_pod" in values:
        fields.update(_count_gpus(role, values["gpus_per_pod"]))
    if "pods_per_replica" in values:
        fields["gpus_per_replica"] = Field(_multiply_pods(role, values["pods_per_replica"]))
    if "max_model_len" in values:
        fields["max_model_len_stated"] = Field(True)
        fields["max_model_len_fitted"] = Field(False)
    if "accelerator" in values and "instance_type" not in values:
        fields["instance_type"] = Field(_find_machine(role, values))
        if (pool := accelerator_names.find_pool(role, str(values["accelerator"]))) is not None:
            fields["node_pool"] = Field(pool)
    if "machine_network" in role.fields and fields.keys() & {"accelerator", "gpus_per_pod", "instance_type"}:
        fields["machine_network"] = Field(None)
    if "mig_profile" in values and edits.renames_resource(role):
        fields["accelerator_resource"] = Field(f"{edits.SLICE}{values['mig_profile']}")
    return _remove_loaded_dtype(role, values).having(**fields)


def _remove_loaded_dtype(role: Role, values: Mapping[str, Value]) -> Role:
    """Return the role with weights in the dtype that FSDP keeps, if the trainer itself turns on
    FSDP.

    Transformers' Trainer trains weights in the dtype of --dtype, but FSDP shards them in 32 bits.
    """
    sharding = role.fields.get("sharding")
    by_word = sharding is not None and any(origin.text().startswith("--fsdp") for origin in sharding.origins)
    if "sharding" not in values or role.arguments is None or role.arguments.key or by_word:
        return role
    return replace(role, fields={name: field for name, field in role.fields.items() if name != "parameter_dtype"})


def _find_machine(role: Role, values: Mapping[str, Value]) -> str | None:
    """Return the machine type that the file's labels would name for another accelerator; None if
    they name no machine.
    """
    texts = accelerator_names.relabel(role, str(values["accelerator"]), values) or ()
    nodes = (hardware.node(text) for text in texts)
    return next((node.instance_type for node in nodes if node), None)


def _restate(role: Role, name: str, value: Value) -> Field:
    field = role.fields.get(name)
    return Field(value, field.origins if field else (), source="suggested")


def _count_gpus(role: Role, gpus: Value) -> dict[str, Field]:
    """Return the counts that follow from a pod's GPUs; pods of other roles in the same replica keep
    theirs.
    """
    whole, now, pods = (role.value(name) for name in ("gpus_per_replica", "gpus_per_pod", "pods_per_replica"))
    known = all(isinstance(count, int | float) and math.isfinite(count) for count in (whole, now, pods, gpus))
    total: Value | Unknown = round(whole + (gpus - now) * pods) if known else Unknown("pods of a replica")  # type: ignore[arg-type,operator]
    fields = {"gpus_per_replica": Field(total), "gpu_count_whole": Field(True)}
    for side in ("gpu_limit", "gpu_request"):
        if role.value(side) is not None:
            fields[side] = _restate(role, side, gpus)
    return fields


def _multiply_pods(role: Role, pods: Value) -> Value | Unknown:
    """Return the GPUs of another number of pods, if the present pods hold all GPUs of the replica."""
    whole, gpus, now = (role.value(name) for name in ("gpus_per_replica", "gpus_per_pod", "pods_per_replica"))
    if isinstance(gpus, int) and isinstance(now, int) and isinstance(pods, int) and whole == gpus * now:
        return gpus * pods
    return Unknown("GPUs of the other pods")
