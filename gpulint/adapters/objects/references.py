"""Referenced objects: those of other files that a document names, added before it is read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from gpulint.adapters.objects import synthetic
from gpulint.adapters.objects.synthetic import Part
from gpulint.source import documents
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository

DEPTH = 24
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
REFERENCES = frozenset({"configMapRef", "configMapKeyRef", "configMap"})
"""Keys whose mapping names a ConfigMap: of an environment, and of a volume."""


def complete(document: Document, repository: Repository) -> None:
    """Add the ConfigMaps of other files that a document names to its neighbours."""
    if "configMap" not in document.words or document.get(("apiVersion",)) is None:
        return
    here = {
        str(config_map.get(("metadata", "name")))
        for config_map in document.beside
        if config_map.get(("kind",)) == "ConfigMap"
    }
    wanted = sorted(set(_find_names(document.data, DEPTH)) - here)
    if not wanted:
        return
    config_maps = [config_map for name in wanted for config_map in repository.objects("ConfigMap", name, document.path)]
    generated = [
        config_map
        for config_map in _find_generated(document, repository)
        if config_map.get(("metadata", "name")) in wanted
    ]
    document.beside = (
        *document.beside,
        *generated,
        *(config_map for config_map in config_maps if config_map.path != document.path),
    )


def _find_generated(document: Document, repository: Repository) -> Iterator[Document]:
    """Yield the ConfigMaps that kustomize creates from literals in the folder of a document."""
    folder = posixpath.dirname(document.path)
    for name in KUSTOMIZATIONS:
        path = posixpath.join(folder, name)
        content = repository.read(path)
        for instructions in documents.load(path, content).documents if content is not None else ():
            listed = instructions.get(("configMapGenerator",))
            for at in range(len(listed) if isinstance(listed, list) else 0):
                yield _build_config_map(instructions, at)


def _build_config_map(instructions: Document, at: int) -> Document:
    generator = ("configMapGenerator", at)
    literals = instructions.node((*generator, "literals"))
    items: Sequence[Node] = literals.value if literals is not None and literals.kind == "sequence" else ()
    texts = [(item, str(item.value).partition("=")) for item in items if item.kind == "scalar"]
    data: Part = {name: synthetic.word(value.strip("\"'"), item) for item, (name, _, value) in texts}
    name = synthetic.word(
        str(instructions.get((*generator, "name"))), synthetic.place(instructions, (*generator, "name"))
    )
    made: Part = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return synthetic.document(instructions, made, synthetic.place(instructions, generator))


def _find_names(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, list) and depth:
        for inner in value:
            yield from _find_names(inner, depth - 1)
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            name = inner.get("name") if key in REFERENCES and isinstance(inner, dict) else None
            if isinstance(name, str):
                yield name
            yield from _find_names(inner, depth - 1)
