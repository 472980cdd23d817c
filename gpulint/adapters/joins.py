"""Joins: the objects of other files that a document refers to, put beside it before it is read."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.documents import Document
from gpulint.repository import Repository

DEPTH = 24
REFERENCES = frozenset({"configMapRef", "configMapKeyRef", "configMap"})
"""Keys whose mapping names a ConfigMap: of an environment, and of a volume."""


def complete(document: Document, repository: Repository) -> None:
    """Put the ConfigMaps that a document names, and that its own file does not hold, beside it."""
    if "configMap" not in document.text or document.get(("apiVersion",)) is None:
        return
    here = {str(one.get(("metadata", "name"))) for one in document.beside if one.get(("kind",)) == "ConfigMap"}
    wanted = sorted(set(_named(document.data, DEPTH)) - here)
    found = (one for name in wanted for one in repository.objects("ConfigMap", name, document.path))
    document.beside = (*document.beside, *(one for one in found if one.path != document.path))


def _named(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, list) and depth:
        for inner in value:
            yield from _named(inner, depth - 1)
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            name = inner.get("name") if key in REFERENCES and isinstance(inner, dict) else None
            if isinstance(name, str):
                yield name
            yield from _named(inner, depth - 1)
