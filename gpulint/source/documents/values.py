"""Values: what the nodes of a document mean, as Kubernetes reads them.

The dialect is that of go-yaml 2, as forked in sigs.k8s.io/yaml (goyaml.v2/resolve.go).
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from gpulint.source.documents.nodes import Node

_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_NUMBER_CHARACTERS_MAX = 400
_STANDARD_TAG = "tag:yaml.org,2002:"
_BINARY = _STANDARD_TAG + "binary"
_PLAIN_AMOUNTS = frozenset({"cpu", "memory", "ephemeral-storage"})
_FOREIGN = frozenset({"values", "valuesObject", "valuesInline", "data", "stringData"})
"""What an object holds for another program. In the values of a chart, null removes the chart's default."""
_RESOLVED_TAGS = {_STANDARD_TAG + name for name in ("int", "float", "bool", "null")}


def build(root: Node) -> object:
    """The data of a document, without what a Kubernetes object leaves empty."""
    return leave_out_empty(Builder().build(root))


def leave_out_empty(data: object) -> object:
    """The data without the keys that a Kubernetes object leaves empty: they state as little as missing ones.

    A spec of gpulint's own keeps its empty keys, so that a misspelled one is found.
    """
    if isinstance(data, dict) and _is_object(data):
        seen: set[int] = set()
        waiting: list[tuple[str, object]] = [("", data)]
        while waiting:
            name, value = waiting.pop()
            if id(value) in seen or name in _FOREIGN:
                continue
            seen.add(id(value))
            if isinstance(value, dict):
                for key in [key for key, inner in value.items() if inner is None and not _is_kept(name, key)]:
                    del value[key]
                waiting += ((key, inner) for key, inner in value.items() if isinstance(inner, dict | list))
            elif isinstance(value, list):
                waiting += ((name, inner) for inner in value if isinstance(inner, dict | list))
    return data


def _is_object(data: dict[str, object]) -> bool:
    version = data.get("apiVersion")
    return isinstance(version, str) and isinstance(data.get("kind"), str) and not version.startswith("gpulint/")


def _is_kept(name: str, key: str) -> bool:
    """Whether a key states something without a value: the source of a volume, or a device that a container asks for."""
    return key == "emptyDir" or (name in ("limits", "requests") and key not in _PLAIN_AMOUNTS)


def is_empty(node: Node) -> bool:
    """Whether a node is null."""
    return node.kind == "scalar" and _scalar_value(node) is None


class Builder:
    """Builds plain data from nodes. A node shared by several aliases is built once."""

    def __init__(self) -> None:
        self.shared: dict[int, object] = {}

    def build(self, node: Node) -> object:
        if node.kind == "scalar":
            return _scalar_value(node)
        source = node.target or node
        if id(source) not in self.shared:
            self.shared[id(source)] = self._collection(source)
        return self.shared[id(source)]

    def _collection(self, node: Node) -> object:
        if node.kind == "sequence":
            return [self.build(item) for item in node.value]
        pairs = node.value
        merged = [value for key, value in pairs if is_merge(key)]
        if not merged:
            return {render_key(key): self.build(value) for key, value in pairs}
        result = {render_key(key): self.build(value) for key, value in pairs if not is_merge(key)}
        for source in list_merge_sources(merged):
            found: Any = self.build(source)
            for name, value in found.items():
                result.setdefault(name, value)
        return result


def render_key(key: Node) -> str:
    """The key as JSON would have it: whole numbers in decimal, all else as written."""
    text: str = _decode_binary(key.value) if key.tag == _BINARY else key.value
    if key.style or key.tag is not None or not text or text[0] not in _NUMBER_STARTS:
        return text
    value = _parse_number(text)
    return str(value) if isinstance(value, int) else text


def is_merge(key: Node) -> bool:
    return bool(key.value == "<<" and key.kind == "scalar" and not key.style and key.tag is None)


def list_merge_sources(values: Iterable[Node]) -> Iterator[Node]:
    for value in values:
        candidates = value.value if value.kind == "sequence" else [value]
        yield from (candidate for candidate in candidates if candidate.kind == "mapping")


def _scalar_value(node: Node) -> object:
    text = node.value
    if node.tag == _BINARY:
        return _decode_binary(text)
    if node.tag is not None and node.tag in _RESOLVED_TAGS:
        return _resolve(text)
    return text if node.style or node.tag is not None else _resolve(text)


def _decode_binary(text: str) -> str:
    """The text that Base64 holds; the text as written where it is no Base64 of UTF-8."""
    try:
        return base64.b64decode(re.sub(r"\s", "", text), validate=True).decode()
    except ValueError:
        return text


def _resolve(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    return _parse_number(text) if text[0] in _NUMBER_STARTS else text


def _parse_number(text: str) -> object:
    """The number a plain scalar means; text that is none stays text. Not-a-number stays text too."""
    if len(text) > _NUMBER_CHARACTERS_MAX:
        return text
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return int(text)
    plain = text.replace("_", "") if text[0] != "." else text
    if match := _parse_integer().fullmatch(plain):
        sign, hexadecimal, binary, octal, decimal = match.groups()
        value = int(
            hexadecimal or binary or octal or decimal, 16 if hexadecimal else 2 if binary else 8 if octal else 10
        )
        return -value if sign == "-" else value
    return float(plain) if _parse_float().fullmatch(plain) else text


@functools.cache
def _parse_integer() -> re.Pattern[str]:
    return re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))", re.ASCII)


@functools.cache
def _parse_float() -> re.Pattern[str]:
    return re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
