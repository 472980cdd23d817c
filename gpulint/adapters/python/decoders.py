"""Networks: decoders that a program builds itself from the layers of PyTorch, in the way of GPT-2.

The layers of its classes are counted. A network is given only if a decoder of these sizes has as many parameters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.adapters.python.words import Reader, is_on, last_name, read_number
from gpulint.catalog.architecture import stated
from gpulint.catalog.architecture.stated import Network
from gpulint.source.python.values import Constant, Items, Mapping, Member, Object, Value
from gpulint.workload import Field

MODULE = re.compile(r"(?:^|\.)(?:Module|LightningModule)$")
CONTAINERS = frozenset({"ModuleDict", "ModuleList", "Sequential"})
NORMS = frozenset({"LayerNorm", "RMSNorm"})
SIZES = {
    "Linear": ("in_features", "out_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    **dict.fromkeys(NORMS, ("normalized_shape",)),
}
"""Layers of PyTorch with the names of their sizes: pytorch/pytorch torch/nn/modules."""
HEADS = re.compile(r"(?:n|num)?_?(?:attention_)?heads?|nhead", re.IGNORECASE)
HEAD_WIDTH = 64
UNCAST = Field("float32", source="default of PyTorch's layers")
CASTS = frozenset({"half", "bfloat16", "double", "type", "set_default_dtype", "convert_to_float8_training"})
FORMATS = frozenset({"float16", "bfloat16", "half"})
DEEP_MAX = 12
DIFFERENCE_MAX = 0.02
COUNTED = "the parameters are counted from the layers in the program's own classes"


class Layer(NamedTuple):
    """A layer with its sizes, whether it has a bias, and how often the network has it."""

    kind: str
    sizes: tuple[int, ...]
    bias: bool
    times: int

    def count_parameters(self) -> int:
        """Return the parameters of all of them."""
        own = self.sizes[0] * (self.sizes[1] if len(self.sizes) > 1 else 1)
        return self.times * (own + (self.sizes[-1] if self.bias else 0))


class _UncountedError(Exception):
    """A part of a network has sizes that are not known."""


def read(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the network that a program builds itself; nothing if it is no decoder that can be counted."""
    seen: set[int] = set()
    found: list[tuple[Object, list[Layer]]] = []
    for call in reversed(calls):  # a module is recorded after its parts
        if call.cls is not None and MODULE.search(call.name) and id(call) not in seen:
            found.append((call, _count(call, seen)))
    if not found:
        return {}
    root, layers = max(found, key=lambda pair: sum(layer.count_parameters() for layer in pair[1]))
    parts = list(_list_parts(root, set(), 0))
    network = _build(layers, _find_heads(parts), any(isinstance(one.attributes.get("weight"), Member) for one in parts))
    if network is None:
        return {}
    fields = {"network": Field(network.render(), reader.origins(None, root.place), assumption=COUNTED, basis="stated")}
    return fields if any(_may_cast(call) for call in calls) else {**fields, "parameter_dtype": UNCAST}


def _may_cast(call: Object) -> bool:
    """Return whether a call may change the number format of a network's weights."""
    if last_name(call) != "to":
        return last_name(call) in CASTS
    given = [value for value in (*call.arguments, call.get("dtype")) if value is not None]
    return not all(_is_device(value) for value in given)


def _is_device(value: Value) -> bool:
    if isinstance(value, Constant):
        return value.value not in FORMATS
    return isinstance(value, Object) and value.name == "torch.device"


def _count(root: Object, seen: set[int]) -> list[Layer]:
    """Return the layers of a module; none if one of them has a size that is not known."""
    try:
        return list(_list_layers(root, 1, seen, 0))
    except _UncountedError:
        return []


def _list_layers(value: Value, times: int, seen: set[int], depth: int) -> Iterator[Layer]:
    if depth > DEEP_MAX or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Items):
        if value.open_ended and value.items:
            raise _UncountedError
        copies = Counter(map(id, value.items))
        for item in {id(item): item for item in value.items}.values():
            yield from _list_layers(item, times * copies[id(item)], seen, depth + 1)
    elif isinstance(value, Mapping):
        for entry in value.entries.values():
            yield from _list_layers(entry, times, seen, depth + 1)
    elif isinstance(value, Object) and value.name.startswith("torch.nn.") and last_name(value) in SIZES:
        yield _read_layer(value, times)
    elif isinstance(value, Object) and (value.cls is not None or last_name(value) in CONTAINERS):
        for part in (*value.arguments, *value.keywords.values(), *value.attributes.values()):
            yield from _list_layers(part, times, seen, depth + 1)


def _read_layer(value: Object, times: int) -> Layer:
    kind = last_name(value)
    given = dict(zip(SIZES[kind], value.arguments, strict=False))
    sizes = tuple(read_number(given.get(name) or value.get(name)) or 0 for name in SIZES[kind])
    if not all(stated.is_size(size) for size in sizes):
        raise _UncountedError
    bias = value.get("bias")
    has_bias = kind in ("Linear", "LayerNorm") and (bias is None or is_on(bias))
    return Layer(kind, sizes, has_bias, times)


def _list_parts(value: Value, seen: set[int], depth: int) -> Iterator[Object]:
    """Yield an object of a network and what it holds."""
    if depth > DEEP_MAX or id(value) in seen:
        return
    seen.add(id(value))
    inner: Sequence[Value] = ()
    if isinstance(value, Items):
        inner = value.items
    elif isinstance(value, Mapping):
        inner = tuple(value.entries.values())
    elif isinstance(value, Object):
        yield value
        inner = (*value.arguments, *value.keywords.values(), *value.attributes.values())
    for part in inner:
        yield from _list_parts(part, seen, depth + 1)


def _find_heads(parts: Sequence[Object]) -> int | None:
    """Return the heads that a part of a network keeps under a usual name."""
    named = (
        entry for one in parts for entry in {**one.keywords, **one.attributes}.items() if HEADS.fullmatch(entry[0])
    )
    return next((number for _, value in named if (number := read_number(value))), None)


def _build(layers: Sequence[Layer], heads: int | None, shared: bool) -> Network | None:
    """Return the decoder that has these layers; None if none has. A `shared` head is the table of the vocabulary."""
    tables = sorted((layer for layer in layers if layer.kind == "Embedding"), key=lambda layer: -layer.sizes[0])
    repeated: Counter[int] = Counter()
    for layer in layers:
        repeated[layer.times] += layer.count_parameters() if layer.times > 1 else 0
    if not tables or not repeated or not repeated.total():
        return None
    (vocab, hidden), times = tables[0].sizes, repeated.most_common(1)[0][0]
    block = [layer for layer in layers if layer.times == times]
    matrices, norms = ([one for one in block if (one.kind == "Linear") == linear] for linear in (True, False))
    inner = max((max(one.sizes) for one in matrices), default=0)
    mlp = [one for one in matrices if inner in one.sizes]
    attention = [one for one in matrices if one not in mlp]
    if not mlp or not attention or not norms:
        return None
    head = [one for one in layers if one.times == 1 and one.kind == "Linear" and one.sizes == (hidden, vocab)]
    heads = heads or max(1, hidden // HEAD_WIDTH)
    width = max(1, hidden // heads)
    inputs = sum(one.sizes[0] * one.sizes[1] for one in attention) // hidden
    network = Network(
        family="gpt-2" if len(tables) > 1 else "llama",
        layers=times,
        hidden=hidden,
        intermediate=inner,
        heads=heads,
        kv_heads=max(1, (inputs - 2 * hidden) // (2 * width)),
        head_dim=width,
        vocab=vocab,
        gated=len(mlp) == 3,
        tied=shared or not head,
        qkv_bias=attention[0].bias,
        out_bias=attention[-1].bias,
        mlp_bias=mlp[0].bias,
        norm_vectors=2 if norms[0].bias else 1,
        norms=len(norms),
        positions=sum(one.sizes[0] for one in tables[1:]),
        context=sum(one.sizes[0] for one in tables[1:]),
    )
    total = sum(layer.count_parameters() for layer in layers if not (shared and layer in head))
    built = stated.build(network).parameters or 0
    return network if abs(built - total) <= DIFFERENCE_MAX * total else None
