"""Policy requirements: a workload's requirements as quantities that rules compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gpulint.pipeline.enrichment.object_metadata import MAPS
from gpulint.policy.config.governance import PolicyRequirements, Requirement
from gpulint.workload import Field, Origin, Role, Workload

SOURCE = "gpulint.yaml"


def add_requirements(workload: Workload, governance: PolicyRequirements) -> Workload:
    """Return the workload with thresholds, allowed accelerators and required declarations."""
    return replace(workload, roles=tuple(_add_to_role(role, workload, governance) for role in workload.roles))


def _add_to_role(role: Role, workload: Workload, governance: PolicyRequirements) -> Role:
    fields = {name: Field(value, source=SOURCE, basis="stated") for name, value in governance.thresholds.items()}
    if governance.permitted.allowed or governance.permitted.forbidden:
        permitted = governance.permitted
        fields["permitted_accelerators"] = Field(
            str(permitted), _find_first_origin([permitted.origin]), source=SOURCE, basis="stated"
        )
    applying = [
        requirement for requirement in governance.requirements if requirement.matches(workload.name, workload.kind)
    ]
    return role.having(**fields, **(dict(_find_required(applying, role, workload)) if applying else {}))


def _find_required(applying: Sequence[Requirement], role: Role, workload: Workload) -> Iterator[tuple[str, Field]]:
    """Yield what the requirements want declared.

    A role that runs next to another declares nothing of its own.
    """
    words = {
        "required_labels": [(requirement, name) for requirement in applying for name in requirement.labels],
        "required_annotations": [(requirement, name) for requirement in applying for name in requirement.annotations],
        "required_facts": [
            (requirement, name) for requirement in applying for name in requirement.facts if not role.text("part_of")
        ],
    }
    for quantity, named in words.items():
        if named:
            origins = _find_first_origin(requirement.origin for requirement, _ in named)
            yield (
                quantity,
                Field(tuple(dict.fromkeys(name for _, name in named)), origins, source=SOURCE, basis="stated"),
            )
    if aimed := [requirement for requirement in applying if requirement.objective]:
        yield (
            "objective_required",
            Field(True, _find_first_origin(requirement.origin for requirement in aimed), source=SOURCE, basis="stated"),
        )
    for name, (place, origin) in _locate_maps(workload).items():
        yield name, Field(place, (origin,), source="the format")


def _find_first_origin(origins: Iterable[Origin | None]) -> tuple[Origin, ...]:
    return tuple(origin for origin in origins if origin is not None)[:1]


def _locate_maps(workload: Workload) -> dict[str, tuple[str, Origin]]:
    """Return where labels and annotations belong in this format, in words and as a location."""
    document, metadata = workload.document, (*workload.path, "metadata")
    if not isinstance(document.get(metadata), dict):
        anchor = workload.roles[0].anchor
        return {f"{name}_place": (f"a comment such as # gpulint: {name}=NAME:VALUE", anchor) for name in MAPS}
    paths = {name: (*metadata, name) for name in MAPS}
    return {
        f"{name}_place": (
            f"metadata.{name}",
            Origin(document, metadata if document.get(path) is None else path, key=True),
        )
        for name, path in paths.items()
    }
