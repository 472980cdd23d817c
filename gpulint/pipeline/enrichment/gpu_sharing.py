"""GPU sharing: a device plugin of the repository that offers one GPU as several."""

from __future__ import annotations

from dataclasses import replace

from gpulint.catalog import resource_names
from gpulint.policy.rules.evaluate import Outcome
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Unknown


def find(role: Role, outcome: Outcome, repository: Repository) -> str | None:
    """Return the file that shares GPUs, if a verdict rests on their number or on the role having
    one to itself.
    """
    counts = any("gpus_per_replica" in verdict.rule.facts for verdict in outcome.verdicts)
    alone = any("sharing" in verdict.rule.facts for verdict in outcome.verdicts)
    resource = resource_names.find(role.text("accelerator_resource"))
    pattern = resource.shared_by if resource else ""
    if not pattern or not ((counts and _has_several(role)) or alone):
        return None
    from gpulint.suggestions.edits import accelerator_names

    if accelerator_names.find_cloud(role) == "gcp":
        return None
    return repository.search(pattern, role.anchor.document.path)


def apply(role: Role, path: str) -> Role:
    """Return a role whose GPU count is one of shares, which the file at `path` hands out."""
    reason = Unknown(f"{path} shares each GPU between several pods, and this number counts the shares")
    counted = ("gpus_per_pod", "gpus_per_replica") if _has_several(role) else ()
    counts = {name: replace(role.fields[name], value=reason) for name in counted}
    return role.having(**counts, sharing=Field("time-slicing in some pool", source=path))


def _has_several(role: Role) -> bool:
    return role.value("gpus_per_pod") not in (None, 1)
