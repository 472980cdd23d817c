"""Merged objects: what an operator merges, read as its result.

Each part keeps the location that states it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.adapters.objects import synthetic
from gpulint.source import excess
from gpulint.source.documents import Document, Node, Path, values
from gpulint.workload import Field, Origin, Role

NAMED_BY = {
    **dict.fromkeys(("containers", "initContainers", "env", "volumes", "resourceClaims"), "name"),
    "volumeMounts": "mountPath",
}
"""Lists of a pod whose items a strategic merge patch matches by a key.

Source: k8s.io/api/core/v1 types.go, patchMergeKey.
"""
DEPTH = 24
NODES_MAX = 20_000
"""The number of nodes after which nothing more is copied.

Aliases may turn a small file into a large object.
"""
Parts = dict[str | Node, synthetic.Part]
"""A mapping that an operator writes."""


class Copy(NamedTuple):
    """The location that states a copied value, and the location that refers to it."""

    stated: Origin
    reference: Origin


class Places:
    """The original locations of nodes that were copied from other objects."""

    def __init__(self) -> None:
        self._copies: dict[int, Copy] = {}
        self._kept: list[Node] = []

    def copy(self, document: Document, path: Path, reference: Origin, depth: int = DEPTH) -> Node | None:
        """Copy a value of another object as a node at the place that refers to it.

        None if there is no value.
        """
        node, value = document.node(path), document.get(path)
        if node is None or excess.is_over(DEPTH + 1 - depth, DEPTH, "a merged object nests deeper than {} levels"):
            return None
        if excess.is_over(len(self._kept), NODES_MAX, "merged objects have more than {} values"):
            return None
        at = synthetic.place(reference.document, reference.path)
        if isinstance(value, dict):
            pairs = (
                (synthetic.word(str(key), at), self.copy(document, (*path, key), reference, depth - 1)) for key in value
            )
            copy = Node("mapping", at.start, at.end, [(key, inner) for key, inner in pairs if inner])
        elif isinstance(value, list):
            items = (self.copy(document, (*path, nth), reference, depth - 1) for nth in range(len(value)))
            copy = Node("sequence", at.start, at.end, [inner for inner in items if inner])
        else:
            source = node.target or node
            copy = Node("scalar", at.start, at.end, source.value, source.style and synthetic.WRITTEN, source.tag)
        return self._register(copy, Copy(Origin(document, path), reference))

    def word(self, text: str, copy: Copy, span: tuple[int, int]) -> Node:
        """Return a word of a copied text, located where that text is referred to."""
        at = synthetic.place(copy.reference.document, copy.reference.path)
        return self._register(synthetic.word(text, at), copy._replace(stated=copy.stated._replace(span=span)))

    def find_copy(self, origin: Origin) -> Copy | None:
        """Return the copy at a location of a merged object; None if the location is its own."""
        node = origin.document.node(origin.path)
        return self._copies.get(id(node)) if node is not None else None

    def resolve(self, role: Role) -> Role:
        """Return the role with the locations of copied values.

        If another file states a value, the reference comes first.
        """
        fields = {name: self._resolve_field(field) for name, field in role.fields.items()}
        arguments = role.arguments if role.arguments and not self.find_copy(role.arguments) else None
        copy = self.find_copy(role.anchor)
        return replace(role, fields=fields, anchor=copy.reference if copy else role.anchor, arguments=arguments)

    def _register(self, node: Node, copy: Copy) -> Node:
        self._copies[id(node)] = copy
        self._kept.append(node)
        return node

    def _resolve_field(self, field: Field) -> Field:
        if not any(self.find_copy(origin) for origin in field.origins):
            return field
        origins = [place for origin in field.origins for place in self._resolve_origins(origin)]
        return replace(field, origins=tuple(dict.fromkeys(origins)))

    def _resolve_origins(self, origin: Origin) -> tuple[Origin, ...]:
        copy = self.find_copy(origin)
        if copy is None:
            return (origin,)
        there = copy.stated._replace(span=origin.span or copy.stated.span, key=origin.key)
        return (there,) if there.document.path == copy.reference.document.path else (copy.reference, there)


def merge(base: Node | None, over: Node | None, key: str = "") -> Node | None:
    """Merge two values as a strategic merge patch does.

    Mappings merge by key and a pod's lists by name; otherwise the latter value wins.
    """
    if base is None or over is None:
        return over or base
    if (base.kind, over.kind) == ("mapping", "mapping"):
        return Node("mapping", over.start, over.end, list(_merge_entries(base, over)))
    if (base.kind, over.kind) == ("sequence", "sequence") and key in NAMED_BY:
        return Node("sequence", over.start, over.end, list(_merge_items(base, over, NAMED_BY[key])))
    return over


def entries(node: Node | None) -> Mapping[str, tuple[Node, Node]]:
    """Return the keys and values of a mapping by name, those of its merge keys included."""
    if node is None or node.kind != "mapping":
        return {}
    own = {values.render_key(key): (key, value) for key, value in node.value if not values.is_merge(key)}
    for source in values.list_merge_sources(value for key, value in node.value if values.is_merge(key)):
        own = {**entries(source), **own}
    return own


def value(node: Node | None, *path: str) -> Node | None:
    """Return the value below a mapping along keys; None if it is empty."""
    for key in path:
        node = entries(node).get(key, (None, None))[1]
    return None if node is None or values.is_empty(node) else node


def items(node: Node | None) -> Sequence[Node]:
    """Return the items of a list."""
    return node.value if node is not None and node.kind == "sequence" else ()


def text(node: Node | None) -> str:
    """Return the text of a scalar; empty if there is none."""
    return str(node.value) if node is not None and node.kind == "scalar" else ""


def _merge_entries(base: Node, over: Node) -> Iterator[tuple[Node, Node]]:
    below, above = entries(base), entries(over)
    for name in {**below, **above}:
        key, _ = above.get(name) or below[name]
        both = merge(below.get(name, (None, None))[1], above.get(name, (None, None))[1], name)
        if both is not None:
            yield key, both


def _merge_items(base: Node, over: Node, key: str) -> Iterator[Node]:
    above = {text(value(item, key)): item for item in items(over)}
    for item in items(base):
        joined = merge(item, above.pop(text(value(item, key)), None))
        if joined is not None:
            yield joined
    yield from above.values()


# ---- the pod that is made


def pod(of: Document, spec: Node, metadata: Path = ("metadata",)) -> Document:
    """Return a pod that an operator creates from an object, as a document of that object's file."""
    parts: synthetic.Part = {"apiVersion": "v1", "kind": "Pod", "metadata": of.node(metadata), "spec": spec}
    made = synthetic.document(of, parts, spec)
    made.beside = of.beside
    return made
