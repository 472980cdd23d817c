"""The enrichment stage: what the file, the repository and the policy add to a workload before it is
evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gpulint import adapters, engines
from gpulint.catalog.offers import Available
from gpulint.pipeline.enrichment import object_metadata
from gpulint.policy.config.governance import NONE
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.source.documents import Comment, Document, Loaded
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

if TYPE_CHECKING:
    from gpulint.pipeline.enrichment import hints


class Context(NamedTuple):
    """What is merged into the workloads of one file: its Services and its comments, the repository
    and the policy.

    `malformed` are the `# gpulint:` comments that cannot be read, each with the reason. `vouched` are the
    lines of the annotations for gpulint that apply, with what they state, if a commit governs them.
    """

    repository: Repository
    policy: ResolvedPolicy
    services: Mapping[tuple[str, str], Origin] = {}
    overrides: Sequence[hints.Override] = ()
    malformed: Sequence[tuple[Comment, str]] = ()
    vouched: frozenset[tuple[int, str]] = frozenset()


def read_context(loaded: Loaded, repository: Repository, policy: ResolvedPolicy) -> Context:
    """Return what is merged into the workloads of a file."""
    context = Context(repository, policy, _find_services(loaded.documents))
    if policy.vouched is not None:
        from gpulint.policy.waivers import declarations

        found = declarations.list_all_annotations(loaded.documents)
        context = context._replace(vouched=frozenset((entry.location.line, entry.text) for entry in found))
    if not loaded.comments:
        return context
    from gpulint.pipeline.enrichment import hints

    overrides, malformed = hints.read_comments(loaded.comments)
    return context._replace(overrides=overrides, malformed=malformed)


def read(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of a document with what the files of the repository add to them."""
    for workload in adapters.read(document, repository):
        yield apply_repository(workload, repository)


def apply(workload: Workload, context: Context, stated: Workload | None = None) -> Workload:
    """Return a workload with what its repository, its file and the policy add to it.

    `stated` is the workload without the annotations for gpulint, if it has any.
    """
    from gpulint.pipeline.enrichment import hints

    policy = context.policy
    if policy.vouched is not None:
        workload = hints.leave_out(workload, context.vouched, policy.vouched)
    found = apply_repository(workload, context.repository)
    merged = _merge(_link_services(found, context.services), context.repository, policy)
    return hints.apply(merged, context.overrides, policy.hints, policy.accelerator, _read_plain(stated, context))


def _read_plain(stated: Workload | None, context: Context) -> Workload | None:
    """Return a workload without hints as its file and its repository state it."""
    if stated is None:
        return None
    return object_metadata.add_metadata(apply_repository(stated, context.repository), context.repository)


def apply_repository(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with its launch command, queue, node pool, MIG profiles, volumes and
    autoscaler, from files of the repository.
    """
    from gpulint.pipeline.enrichment import (
        absent_programs,
        autoscaling,
        built_images,
        downloaded_checkpoint,
        first_releases,
        image_releases,
        kueue,
        launch_command,
        mig_profiles,
        node_pools,
        own_scripts,
        own_variables,
        produced_checkpoint,
        python_programs,
        requesting_services,
        retired_arguments,
        server_ports,
        settings_programs,
        unkept_weights,
        weights_storage,
    )

    stated = own_scripts.reopen(workload, repository)
    started = python_programs.merge_programs(built_images.merge_images(stated, repository), repository)
    workload = settings_programs.merge_programs(built_images.mark_assumed(stated, started), repository)
    workload = retired_arguments.merge_retired(own_variables.leave_out_own(workload, repository), repository)
    workload = kueue.merge_queue(launch_command.merge_launch(workload, repository), repository)
    workload = mig_profiles.check_profiles(node_pools.merge_pools(workload, repository))
    workload = image_releases.mark_moving(_merge_models(workload, repository), repository)
    workload = downloaded_checkpoint.merge_downloads(workload, repository)
    workload = produced_checkpoint.merge_produced(workload, repository)
    workload = absent_programs.merge_absent(server_ports.merge_ports(workload, repository), repository)
    workload = first_releases.merge_first(workload, repository)
    workload = requesting_services.merge_services(unkept_weights.mark_unkept(workload), repository)
    return autoscaling.merge_scalers(weights_storage.merge_volumes(workload, repository), repository)


def _merge_models(workload: Workload, repository: Repository) -> Workload:
    """Merge the models of servers that are started without one: of Triton in its repository, of Ollama by what asks it."""
    named = {role.text("engine") for role in workload.roles}
    if "triton" in named:
        from gpulint.pipeline.enrichment import served_models

        return served_models.merge_served(workload, repository)
    if "ollama" in named:
        from gpulint.pipeline.enrichment import requested_models

        return requested_models.merge_requests(workload, repository)
    return workload


def _merge(workload: Workload, repository: Repository, policy: ResolvedPolicy) -> Workload:
    """Merge the object's metadata, and the machines, pools, facility, requirements and fabrics that
    the policy names.
    """
    workload = object_metadata.add_metadata(workload, repository)
    workload = replace(workload, roles=tuple(_limit_offers(role, policy.available) for role in workload.roles))
    if policy.pools:
        from gpulint.pipeline.enrichment import node_pools

        named = tuple(node_pools.build_pool(**pool._asdict()) for pool in policy.pools)
        workload = node_pools.merge_configured_pools(workload, named)
    if policy.facility:
        from gpulint.pipeline.enrichment import facility_pools

        found = facility_pools.load(policy.facility, repository)
        workload = (
            facility_pools.add_facility(workload, found)
            if isinstance(found, facility_pools.FacilityContext)
            else workload
        )
    if policy.governance is not NONE:
        from gpulint.pipeline.enrichment import requirements

        workload = requirements.add_requirements(workload, policy.governance)
    from gpulint.pipeline.enrichment import hints

    return hints.apply_fabrics(workload, policy.fabrics)


def _limit_offers(role: Role, available: Available) -> Role:
    """Return a role with the machines that its team can have, in the region that it names."""
    region = role.text("region")
    return replace(role, available=available._replace(regions=(region,)) if region else available)


def _find_services(found: Iterable[Document]) -> dict[tuple[str, str], Origin]:
    """Return the Services of a file by namespace and by the variable that Kubernetes sets to their
    address.
    """
    services = {}
    for document in found:
        name = document.get(("metadata", "name"))
        if (document.get(("apiVersion",)), document.get(("kind",))) == ("v1", "Service") and isinstance(name, str):
            variable = f"{name.upper().replace('-', '_')}_PORT"
            services[_find_namespace(document), variable] = Origin(document, ("metadata", "name"))
    return services


def _link_services(workload: Workload, services: Mapping[tuple[str, str], Origin]) -> Workload:
    """Return a workload with the engine variables that Kubernetes overwrites with the address of a
    Service.
    """
    if not services:
        return workload
    namespace = _find_namespace(workload.document)
    return replace(workload, roles=tuple(_link_service(role, namespace, services) for role in workload.roles))


def _link_service(role: Role, namespace: str, services: Mapping[tuple[str, str], Origin]) -> Role:
    for variable in engines.list_own_variables(role.text("engine")):
        if origin := services.get((namespace, variable)):
            return role.having(service_variable=Field(variable, (origin,)))
    return role


def _find_namespace(document: Document) -> str:
    return str(document.get(("metadata", "namespace")) or "")
