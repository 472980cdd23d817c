"""Referenced objects: those of other files that a document names, added before it is read."""

from __future__ import annotations

import functools
import itertools
import posixpath
from collections.abc import Iterator, Sequence

from gpulint.adapters.objects import synthetic
from gpulint.adapters.objects.synthetic import Part
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository

DEPTH = 24
KEPT_MAX = 256
SEVERAL = 2
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
REFERENCES = frozenset({"configMapRef", "configMapKeyRef", "configMap"})
"""Keys whose mapping names a ConfigMap: of an environment, and of a volume."""


def complete(document: Document, repository: Repository) -> None:
    """Add the ConfigMaps of other files that a document names to its neighbours."""
    if not document.mentions("configMap") or document.get(("apiVersion",)) is None:
        return
    here = {str(config_map.get(("metadata", "name"))) for config_map in document.find_beside("ConfigMap")}
    wanted = sorted(set(_find_names(document.data, DEPTH)) - here)
    if not wanted:
        return
    config_maps = [config_map for name in wanted for config_map in _find_elsewhere(name, document, repository)]
    generated = list(_find_generated(document, wanted, repository))
    document.beside = (*document.beside, *generated, *config_maps)


def _find_elsewhere(name: str, document: Document, repository: Repository) -> Iterator[Document]:
    """Yield the ConfigMaps of a name in other files; of several, none is meant, so that two of them are enough."""
    found = (
        config_map
        for config_map in repository.objects("ConfigMap", name, document.path)
        if config_map.path != document.path and config_map.get(("apiVersion",)) == "v1"
    )
    return itertools.islice(found, SEVERAL)


def _find_generated(document: Document, wanted: Sequence[str], repository: Repository) -> Iterator[Document]:
    """Yield the ConfigMaps of these names that kustomize creates from literals in the folder of a document."""
    folder = posixpath.dirname(document.path)
    for name in KUSTOMIZATIONS:
        path = posixpath.join(folder, name)
        for instructions in repository.read_documents(path) if repository.exists(path) else ():
            generators = _index_generators(instructions)
            for at in sorted(at for name in wanted for at in generators.get(name, ())):
                yield build_config_map(instructions, at)


@functools.lru_cache(maxsize=KEPT_MAX)
def _index_generators(kustomization: Document) -> dict[str, list[int]]:
    """Return the numbers of the generators of each name; many objects ask about the same Kustomization."""
    found: dict[str, list[int]] = {}
    listed = kustomization.get(("configMapGenerator",))
    for at in range(len(listed) if isinstance(listed, list) else 0):
        found.setdefault(str(kustomization.get(("configMapGenerator", at, "name"))), []).append(at)
    return found


def build_config_map(instructions: Document, at: int) -> Document:
    """Return the ConfigMap that a generator of a Kustomization creates from its literals."""
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


def find_names(value: object) -> Iterator[str]:
    """Yield the names of the ConfigMaps that an object takes values from."""
    yield from _find_names(value, DEPTH)


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
