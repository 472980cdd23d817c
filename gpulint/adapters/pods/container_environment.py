"""The environment of a container: what it states itself, and what it takes from ConfigMaps."""

from __future__ import annotations

from collections.abc import Mapping

from gpulint.adapters.objects import config_maps
from gpulint.adapters.programs import container_command
from gpulint.adapters.programs.container_command import Environment
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path
from gpulint.workload import Origin


def read(document: Document, path: Path, supplied: Mapping[str, Argument] = {}) -> Environment:
    """Return the environment of a container, with `$(NAME)` expanded as Kubernetes does.

    `env` takes precedence over `envFrom`, and both over what the object's controller supplies.
    """
    variables = Environment(supplied)
    sources = document.get((*path, "envFrom"))
    for at, source in enumerate(sources if isinstance(sources, list) else ()):
        brought = config_maps.values(document, source)
        variables.open_ended = variables.open_ended or brought is None
        named = Origin(document, (*path, "envFrom", at, "configMapRef", "name"))
        variables.update({name: config_maps.relocate(argument, named) for name, argument in (brought or {}).items()})
    listed = document.get((*path, "env"))
    for at, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            variables[entry["name"]] = _read_entry(
                document, entry, Origin(document, (*path, "env", at, "value")), variables
            )
    return variables


def _read_entry(document: Document, entry: Mapping[str, object], origin: Origin, variables: Environment) -> Argument:
    """Return the value of one entry: as written, or from a ConfigMap of the same file. Without either it is no text."""
    stated, source = entry.get("value"), entry.get("valueFrom")
    if stated is not None or source is None:
        return container_command.expand_variables("" if stated is None else str(stated), origin, variables)
    name = str(entry["name"])
    reference = source.get("configMapKeyRef") if isinstance(source, dict) else None
    mapped = config_maps.value(document, reference, name)
    key = Origin(document, (*origin.path[:-1], "valueFrom", "configMapKeyRef", "key"))
    return config_maps.relocate(mapped, key) if mapped else Argument(None, origin, f"{name} comes from another object")
