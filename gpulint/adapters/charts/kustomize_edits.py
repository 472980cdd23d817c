"""What kustomize changes in an object: merge patches, JSON patches, images and replicas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.adapters.objects import merge, synthetic
from gpulint.source.documents import Node

DEPTH = 24
DIRECTIVE = "$patch"
"""The key of a strategic merge patch that says what to do with the value around it."""
SCALED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})
IMAGE = re.compile(r"(?P<name>[^@]+?)(?::(?P<tag>[\w][\w.-]*))?(?:@(?P<digest>\S+))?")


def merge_patch(base: Node, patch: Node) -> Node:
    """Return an object with a strategic merge patch; a null, or `$patch: delete`, takes a value away."""
    return _drop(merge.merge(base, patch) or base, DEPTH)


def _drop(node: Node, depth: int) -> Node:
    """Return a value without what directives take away."""
    if node.kind == "mapping" and depth:
        pairs = [
            (key, _drop(value, depth - 1))
            for name, (key, value) in merge.entries(node).items()
            if name != DIRECTIVE and not _is_deleted(value)
        ]
        return Node("mapping", node.start, node.end, pairs, node.style)
    if node.kind == "sequence" and depth:
        items = [_drop(item, depth - 1) for item in node.value if not _is_deleted(item)]
        return Node("sequence", node.start, node.end, items, node.style)
    return node


def _is_deleted(node: Node) -> bool:
    if node.kind == "mapping":
        return merge.text(merge.value(node, DIRECTIVE)) == "delete"
    return node.kind == "scalar" and not node.style and str(node.value or "") in ("null", "~", "")


# ---- JSON patches


def apply_operations(root: Node, operations: Node) -> Node:
    """Return an object with the operations of a JSON patch (RFC 6902): add, replace and remove. Others are left out."""
    for operation in merge.items(operations):
        kind, pointer = merge.text(merge.value(operation, "op")), merge.text(merge.value(operation, "path"))
        value = merge.entries(operation).get("value", (None, None))[1]
        steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        if steps and len(steps) <= DEPTH and kind in ("add", "replace", "remove"):
            root = _change(root, steps, kind, value if kind != "remove" else None)
    return root


def _change(node: Node, steps: list[str], kind: str, value: Node | None) -> Node:
    """Return a value with what an operation does at a path below it; the same value where the path does not exist."""
    step, *further = steps
    if node.kind == "sequence":
        return _change_item(node, step, further, kind, value)
    if node.kind != "mapping":
        return node
    pairs = dict(merge.entries(node))
    if further:
        if step not in pairs:
            return node
        pairs[step] = (pairs[step][0], _change(pairs[step][1], further, kind, value))
    elif value is None:
        pairs.pop(step, None)
    else:
        key = pairs[step][0] if step in pairs else synthetic.word(step, value)
        pairs[step] = (key, value)
    return Node("mapping", node.start, node.end, list(pairs.values()), node.style)


def _change_item(node: Node, step: str, further: list[str], kind: str, value: Node | None) -> Node:
    items = list(node.value)
    at = len(items) if step == "-" else int(step) if step.isdecimal() else -1
    if at < 0 or at > len(items) or (at == len(items) and (further or kind != "add")):
        return node
    if further:
        items[at] = _change(items[at], further, kind, value)
    elif value is None:
        del items[at]
    elif kind == "add":
        items.insert(at, value)
    else:
        items[at] = value
    return Node("sequence", node.start, node.end, items, node.style)


# ---- images and replicas


def set_image(root: Node, entry: Mapping[str, object], place: Node) -> Node:
    """Return an object whose containers of an image have its new name, tag or digest."""
    return _rename(root, entry, place, DEPTH)


def _rename(node: Node, entry: Mapping[str, object], place: Node, depth: int) -> Node:
    if not depth or node.kind not in ("mapping", "sequence"):
        return node
    if node.kind == "sequence":
        items = [_rename(item, entry, place, depth - 1) for item in node.value]
        same = all(new is old for new, old in zip(items, node.value, strict=True))
        return node if same else Node("sequence", node.start, node.end, items, node.style)
    pairs = [
        (key, _rename_value(name, value, entry, place, depth)) for name, (key, value) in merge.entries(node).items()
    ]
    if all(new is old for (_, new), (_, old) in zip(pairs, merge.entries(node).values(), strict=True)):
        return node
    return Node("mapping", node.start, node.end, pairs, node.style)


def _rename_value(name: str, value: Node, entry: Mapping[str, object], place: Node, depth: int) -> Node:
    if name != "image" or value.kind != "scalar":
        return _rename(value, entry, place, depth - 1)
    parts = IMAGE.fullmatch(str(value.value))
    if parts is None or parts["name"] != entry.get("name"):
        return value
    return synthetic.word("".join(_list_parts(parts, entry)), place)


def _list_parts(parts: re.Match[str], entry: Mapping[str, object]) -> Iterator[str]:
    yield str(entry.get("newName") or parts["name"])
    if tag := entry.get("newTag") or ("" if entry.get("digest") else parts["tag"]):
        yield f":{tag}"
    if digest := entry.get("digest") or ("" if entry.get("newTag") else parts["digest"]):
        yield f"@{digest}"


def set_replicas(root: Node, count: object, place: Node) -> Node:
    """Return a scaled object with a number of replicas."""
    if not isinstance(count, int) or merge.text(merge.value(root, "kind")) not in SCALED:
        return root
    return (
        merge.merge(root, synthetic.build_node({"spec": {"replicas": synthetic.number(count, place)}}, place)) or root
    )
