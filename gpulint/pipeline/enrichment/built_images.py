"""Built images: what a container starts whose image the same repository builds, by its Dockerfile and the files in it."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.images import entry_points, join, layers, start
from gpulint.adapters.images.layers import Layer
from gpulint.adapters.platforms import task
from gpulint.adapters.trainers import settings_file
from gpulint.engines import Reading
from gpulint.source.repository import Repository
from gpulint.workload import Container, Field, Origin, Role, Unknown, Workload

OF_MACHINES = frozenset({"gpus_per_pod", "gpus_per_replica", "pods_per_replica", "replicas", "accelerator"})
"""Fields in which the file that starts a container precedes what its image says."""
OVERRIDABLE = "a variable is assumed to have its value from the Dockerfile; another object may replace it"
OF_IMAGES = frozenset({"own program", "image default"})
"""Why a file does not state what its own image decides."""
REPLACEABLE = "the Dockerfile's default is used; --build-arg {} can replace it"


def merge_images(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with what the images of its roles start, as far as the repository builds them."""
    if all(role.container is None for role in workload.roles):
        return workload
    roles = tuple(one for role in workload.roles for one in _merge(role, workload, repository))
    if roles == workload.roles:
        return workload
    kind = task.purpose(roles) if workload.kind in ("unknown", "") else workload.kind
    return replace(workload, roles=roles, kind=kind)


def _is_open(role: Role) -> bool:
    """Return whether the image of a role may say more of what runs than its file."""
    if role.container is None:
        return False
    return not _is_known(role) or "engine_version" not in role.fields


def _asks_image(role: Role) -> bool:
    """Return whether the Dockerfile of a role's image matters: for what runs, or for the entry point that takes its words."""
    container = role.container
    if container is None:
        return False
    return _is_open(role) or (container.entrypoint is None and container.build is not None)


def _is_known(role: Role) -> bool:
    """Return whether a role's file states what runs: an engine with its model."""
    return bool(engines.find_purpose(role.text("engine"))) and bool(role.text("checkpoint"))


def _merge(role: Role, workload: Workload, repository: Repository) -> Sequence[Role]:
    container = role.container
    if container is None:
        return (role,)
    found = join.find(container, workload.document.path, repository) if _asks_image(role) else ()
    role = role.having(**entry_points.find_faults(container, found))
    if not found or not _is_open(role):
        return (role,)
    started = start.read(container, found, repository)
    find = functools.partial(_find_settings, found, container, repository)
    expanded = [settings_file.expand(invocation, find) for invocation in started.invocations]
    readings = task.read(expanded, find)
    role = replace(role, image_assumption=found[0].build.assumption)
    command = start.choose_program(started, container, found, repository)
    if readings:
        settled = task.merge_readings(readings, role.fields.get("gpus_per_pod", Field(None)))
        if _is_known(role) and not _agrees(role, settled):
            return (role,)
        return tuple(replace(_settle(role, reading, found), command=command) for reading in settled)
    if command is None:
        return (role,)
    from gpulint.adapters.python import reading as python_reading

    named = task.program(list(started.invocations), container.image.origin)
    is_known = python_reading.read(command, workload.document.path, repository) is not None
    kept = _drop_unread(role) if is_known else role.fields
    return (replace(role, fields={**kept, **_mark(named, found)}, command=command),)


def _drop_unread(role: Role) -> dict[str, Field]:
    """Return the fields of a role without those of which its file only says that its own image decides them."""
    return {
        name: field
        for name, field in role.fields.items()
        if name != "program" and not (isinstance(field.value, Unknown) and field.value.category in OF_IMAGES)
    }


def _find_settings(found: Sequence[Layer], container: Container, repository: Repository, name: str) -> Origin | None:
    """Return a settings file of the image."""
    folder = container.folder or next((layer.image.folder for layer in found if layer.image.folder), "")
    path = layers.find_file(found, name, folder, repository)
    return (
        settings_file.find_in_repository(repository, posixpath.dirname(path), posixpath.basename(path))
        if path
        else None
    )


def _agrees(role: Role, readings: Sequence[Reading]) -> bool:
    """Return whether the image starts what the role's file states, so that it only tells the release."""
    stated = [role.value(name) for name in ("engine", "checkpoint")]
    found = [[reading.fields.get(name, Field(None)).value for name in ("engine", "checkpoint")] for reading in readings]
    return found == [stated]


def _settle(role: Role, reading: Reading, found: Sequence[Layer]) -> Role:
    """Return a role with the engine that its image starts; what its own file states of machines holds."""
    own = {
        name: field
        for name, field in reading.fields.items()
        if name not in OF_MACHINES or name not in role.fields or isinstance(role.value(name), Unknown)
    }
    return replace(
        role,
        image_assumption=role.image_assumption or (OVERRIDABLE if _rests_on_variable(role, own, found) else ""),
        fields={**_drop_unread(role), **_mark(own, found)},
        arguments=_locate_arguments(role, reading),
        open_ended=reading.open_ended,
    )


def _rests_on_variable(role: Role, fields: Mapping[str, Field], found: Sequence[Layer]) -> bool:
    """Return whether fields rest on a variable of an image that an object beside the file may replace."""
    if role.container is None or not role.container.further_environment:
        return False
    stated = {(layer.file.path, setting.span) for layer in found for setting in layer.image.settings.values()}
    return any((origin.document.path, origin.span) in stated for field in fields.values() for origin in field.origins)


def _locate_arguments(role: Role, reading: Reading) -> Origin | None:
    """Return the last argument if the role's own file states it."""
    place = reading.arguments
    return (
        place if place is not None and role.arguments is not None and place.document is role.anchor.document else None
    )


def _mark(fields: Mapping[str, Field], found: Sequence[Layer]) -> dict[str, Field]:
    """Return fields of an image; those that rest on the default of an argument of the build say so."""
    replaceable = dict(_list_replaceable(found))
    marked = {}
    for name, field in fields.items():
        places = ((origin.document.path, origin.span) for origin in field.origins)
        argument = next((replaceable[place] for place in places if place in replaceable), "")
        assumed = bool(argument) and not field.assumption
        marked[name] = replace(field, assumption=REPLACEABLE.format(argument), basis="open") if assumed else field
    return marked


def _list_replaceable(found: Sequence[Layer]) -> Iterator[tuple[tuple[str, tuple[int, int] | None], str]]:
    for layer in found:
        for setting in layer.image.settings.values():
            if setting.replaceable:
                yield (layer.file.path, setting.span), setting.replaceable


# ---- an image that only names tell


def mark_assumed(before: Workload, after: Workload) -> Workload:
    """Return a workload whose fields of an image say that its Dockerfile is assumed, if no file names it."""
    if not any(role.image_assumption for role in after.roles):
        return after
    stated = {role.name: role.fields for role in before.roles}
    return replace(after, roles=tuple(_mark_role(role, stated.get(role.name, {})) for role in after.roles))


def _mark_role(role: Role, stated: Mapping[str, Field]) -> Role:
    if not role.image_assumption:
        return role
    fields = {
        name: field
        if stated.get(name) == field
        else replace(field, assumption="; ".join(filter(None, (role.image_assumption, field.assumption))))
        for name, field in role.fields.items()
    }
    return replace(role, fields=fields)


def leave_out_assumed(role: Role) -> Role:
    """Return a role without what an image states whose Dockerfile is assumed."""
    kept = {
        name: field for name, field in role.fields.items() if not field.assumption.startswith(role.image_assumption)
    }
    return replace(role, fields=kept, arguments=None, command=None)
