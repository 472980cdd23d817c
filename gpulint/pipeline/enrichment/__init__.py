"""Surroundings: what stands beside a workload, in its file, its repository and the policy, and belongs to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpulint import engines
from gpulint.catalog.offers import Available
from gpulint.pipeline.enrichment import hints
from gpulint.pipeline.enrichment import object_metadata as metadata
from gpulint.policy.config.governance import NONE
from gpulint.policy.resolved import Given
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload


def hinted(
    workload: Workload,
    services: Mapping[tuple[str, str], Origin],
    told: Sequence[hints.Told],
    repository: Repository,
    given: Given,
) -> Workload:
    """A workload with all that stands beside it: Services, pools, fabrics, and hints."""
    return hints.applied(placed(_beside(workload, services), repository, given), told, given.hints, given.accelerator)


def placed(workload: Workload, repository: Repository, given: Given) -> Workload:
    """A workload with what its object says of itself, and the pools, fabrics and machines to be had that gpulint.yaml names."""
    workload = metadata.described(workload, repository.read)
    workload = replace(workload, roles=tuple(_having(role, given.available) for role in workload.roles))
    if given.pools:
        from gpulint.adapters import nodes as pools

        workload = pools.joined_with(workload, tuple(pools.named(**one._asdict()) for one in given.pools))
    if given.facility:
        from gpulint.pipeline.facility import pools as premises

        found = premises.of(given.facility, repository)
        workload = premises.joined(workload, found) if isinstance(found, premises.Premises) else workload
    if given.governance is not NONE:
        from gpulint.pipeline.enrichment import requirements as governed

        workload = governed.governed(workload, given.governance)
    return hints.wired(workload, given.fabrics)


def _having(role: Role, available: Available) -> Role:
    """A role with what its team can have, in the region that it names."""
    region = role.text("region")
    return replace(role, available=available._replace(regions=(region,)) if region else available)


def services(found: Iterable[Document]) -> dict[tuple[str, str], Origin]:
    """The Services of a file by namespace and by the variable that Kubernetes sets to their address."""
    services = {}
    for document in found:
        name = document.get(("metadata", "name"))
        if (document.get(("apiVersion",)), document.get(("kind",))) == ("v1", "Service") and isinstance(name, str):
            variable = f"{name.upper().replace('-', '_')}_PORT"
            services[_namespace(document), variable] = Origin(document, ("metadata", "name"))
    return services


def _beside(workload: Workload, services: Mapping[tuple[str, str], Origin]) -> Workload:
    """A workload with the variables that its engine takes for its own and that stand for a Service of the file."""
    if not services:
        return workload
    return replace(
        workload, roles=tuple(_linked(role, _namespace(workload.document), services) for role in workload.roles)
    )


def _linked(role: Role, namespace: str, services: Mapping[tuple[str, str], Origin]) -> Role:
    for variable in engines.own_variables(role.text("engine")):
        if origin := services.get((namespace, variable)):
            return role.having(service_variable=Field(variable, (origin,)))
    return role


def _namespace(document: Document) -> str:
    return str(document.get(("metadata", "namespace")) or "")
