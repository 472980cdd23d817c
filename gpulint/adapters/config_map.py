"""ConfigMaps of the same file or repository: what a container takes from them, each with its place there."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.documents import Document
from gpulint.engines import Argument
from gpulint.workload import Origin


def value(document: Document, reference: object, variable: str) -> Argument | None:
    """The value of `configMapKeyRef`; None where no ConfigMap that we see holds it."""
    if not isinstance(reference, dict):
        return None
    key = str(reference.get("key"))
    return next((found for name, found in _held(document, reference.get("name"), variable) if name == key), None)


def text(document: Document, name: object, key: str) -> Origin | None:
    """Where the text of one key of a ConfigMap stands."""
    found = _named(document, name)
    return Origin(found, ("data", key)) if found and isinstance(found.get(("data", key)), str) else None


def at_reference(argument: Argument, reference: Origin) -> Argument:
    """A value of another file, at the place that refers to it; what it changes stands behind."""
    if argument.origin.document.path == reference.document.path:
        return argument
    return argument._replace(origin=reference, behind=argument.origin)


def values(document: Document, source: object) -> dict[str, Argument] | None:
    """The variables of one entry of `envFrom`, with its prefix; None where they stand in another file or a Secret."""
    reference = source.get("configMapRef") if isinstance(source, dict) else None
    if (
        not isinstance(source, dict)
        or not isinstance(reference, dict)
        or _named(document, reference.get("name")) is None
    ):
        return None
    prefix = str(source.get("prefix") or "")
    return {f"{prefix}{name}": found for name, found in _held(document, reference.get("name"), "")}


def _held(document: Document, name: object, variable: str) -> Iterator[tuple[str, Argument]]:
    found = _named(document, name)
    if found is None:
        return
    data = found.get(("data",))
    for key, text in data.items() if isinstance(data, dict) else ():
        origin = Origin(found, ("data", key))
        why = f"{variable or key} of the ConfigMap {name} is not text"
        yield str(key), Argument(text, origin) if isinstance(text, str) else Argument(None, origin, why)


def _named(document: Document, name: object) -> Document | None:
    """The one ConfigMap of that name beside a document: of the same namespace in its file, or else of any file."""
    where = document.get(("metadata", "namespace"))
    found = [
        one
        for one in document.beside
        if one.get(("kind",)) == "ConfigMap"
        and one.get(("apiVersion",)) == "v1"
        and one.get(("metadata", "name")) == name
        and (one.path != document.path or one.get(("metadata", "namespace")) == where)
    ]
    return found[0] if len(found) == 1 else None
