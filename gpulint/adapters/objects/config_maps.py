"""ConfigMaps of the same file or repository: the values that a container takes from them."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.engines import Argument
from gpulint.source.documents import Document
from gpulint.workload import Origin


def value(document: Document, reference: object, variable: str) -> Argument | None:
    """Return the value of `configMapKeyRef`; None if no visible ConfigMap has it."""
    if not isinstance(reference, dict):
        return None
    key = str(reference.get("key"))
    return next(
        (argument for name, argument in _read_entries(document, reference.get("name"), variable) if name == key), None
    )


def text(document: Document, name: object, key: str) -> Origin | None:
    """Return the location of one key's text in a ConfigMap."""
    config_map = _find_config_map(document, name)
    return Origin(config_map, ("data", key)) if config_map and isinstance(config_map.get(("data", key)), str) else None


def relocate(argument: Argument, reference: Origin) -> Argument:
    """Return a value of another file, located at the place that refers to it.

    The location that a change edits is kept in `behind`.
    """
    if argument.origin.document.path == reference.document.path:
        return argument
    return argument._replace(origin=reference, behind=argument.origin)


def values(document: Document, source: object) -> dict[str, Argument] | None:
    """Return the variables of one `envFrom` entry, with its prefix.

    None if they are in another file or a Secret.
    """
    reference = source.get("configMapRef") if isinstance(source, dict) else None
    if (
        not isinstance(source, dict)
        or not isinstance(reference, dict)
        or _find_config_map(document, reference.get("name")) is None
    ):
        return None
    prefix = str(source.get("prefix") or "")
    return {f"{prefix}{name}": argument for name, argument in _read_entries(document, reference.get("name"), "")}


def _read_entries(document: Document, name: object, variable: str) -> Iterator[tuple[str, Argument]]:
    config_map = _find_config_map(document, name)
    if config_map is None:
        return
    data = config_map.get(("data",))
    for key, text in data.items() if isinstance(data, dict) else ():
        origin = Origin(config_map, ("data", key))
        why = f"{variable or key} of the ConfigMap {name} is not text"
        yield str(key), Argument(text, origin) if isinstance(text, str) else Argument(None, origin, why)


def _find_config_map(document: Document, name: object) -> Document | None:
    """Return the one ConfigMap of that name.

    It is in the document's file and namespace, or else in any file next to it.
    """
    where = document.get(("metadata", "namespace"))
    candidates = [
        candidate
        for candidate in (document.find_beside("ConfigMap", name) if isinstance(name, str) else ())
        if candidate.get(("apiVersion",)) == "v1"
        and (candidate.path != document.path or candidate.get(("metadata", "namespace")) == where)
    ]
    return candidates[0] if len(candidates) == 1 else None
