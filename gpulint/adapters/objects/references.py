"""Joins: the objects of other files that a document refers to, put beside it before it is read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from gpulint.adapters.objects import synthetic as tree
from gpulint.adapters.objects.synthetic import Part
from gpulint.source import documents
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository

DEPTH = 24
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
REFERENCES = frozenset({"configMapRef", "configMapKeyRef", "configMap"})
"""Keys whose mapping names a ConfigMap: of an environment, and of a volume."""


def complete(document: Document, repository: Repository) -> None:
    """Put the ConfigMaps that a document names, and that its own file does not hold, beside it."""
    if "configMap" not in document.text or document.get(("apiVersion",)) is None:
        return
    here = {str(one.get(("metadata", "name"))) for one in document.beside if one.get(("kind",)) == "ConfigMap"}
    wanted = sorted(set(_named(document.data, DEPTH)) - here)
    if not wanted:
        return
    found = [one for name in wanted for one in repository.objects("ConfigMap", name, document.path)]
    generated = [one for one in _generated(document, repository) if one.get(("metadata", "name")) in wanted]
    document.beside = (*document.beside, *generated, *(one for one in found if one.path != document.path))


def _generated(document: Document, repository: Repository) -> Iterator[Document]:
    """The ConfigMaps that kustomize makes of literals in the folder of a document."""
    folder = posixpath.dirname(document.path)
    for name in KUSTOMIZATIONS:
        path = posixpath.join(folder, name)
        content = repository.read(path)
        for instructions in documents.load(path, content).documents if content is not None else ():
            listed = instructions.get(("configMapGenerator",))
            for at in range(len(listed) if isinstance(listed, list) else 0):
                yield _config_map(instructions, at)


def _config_map(instructions: Document, at: int) -> Document:
    generator = ("configMapGenerator", at)
    literals = instructions.node((*generator, "literals"))
    items: Sequence[Node] = literals.value if literals is not None and literals.kind == "sequence" else ()
    texts = [(item, str(item.value).partition("=")) for item in items if item.kind == "scalar"]
    data: Part = {name: tree.word(value.strip("\"'"), item) for item, (name, _, value) in texts}
    name = tree.word(str(instructions.get((*generator, "name"))), tree.place(instructions, (*generator, "name")))
    made: Part = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return tree.document(instructions, made, tree.place(instructions, generator))


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
