"""Bytes of the tensors alive while PyTorch code runs: every storage counted once, and who made it.

A storage counts from the operator that makes it until the last tensor on it dies, at the size CUDA's caching allocator would
round it to; views and in-place operators make none. Real and fake tensors are counted alike.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import torch  # type: ignore[import-not-found,unused-ignore]
from torch.distributed.tensor import DTensor  # type: ignore[import-not-found,unused-ignore]
from torch.utils._python_dispatch import TorchDispatchMode  # type: ignore[import-not-found,unused-ignore]
from torch.utils._pytree import tree_leaves  # type: ignore[import-not-found,unused-ignore]

ALLOCATED_TO = 512
"""CUDA's caching allocator rounds every block up to this many bytes (PyTorch 2.15, c10/core/AllocatorConfig.h, kMinBlockSize)."""

PHASES = ("forward", "loss", "blocks", "step")
"""The backward pass is `loss` while a tensor as wide as the vocabulary lives, `blocks` after."""
ROLES = ("weights", "gradients", "optimizer", "inputs", "logits", "saved", "gathered", "backward", "step")
"""`saved` and `backward` are what the forward and the backward pass made; `gathered` FSDP's whole weights and buffers."""
KINDS = (
    "matmul",
    "attention",
    "cast",
    "weight_copy",
    "elementwise",
    "softmax",
    "norm",
    "dropout",
    "copy",
    "index",
    "other",
)
MODULES = ("embedding", "norm", "attention", "mlp", "block", "head")

Parts = Counter[tuple[str, str, str]]
"""Bytes by role, kind of operator and module."""


class Live(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
    """Bytes of the storages alive, by (role, kind of operator, module), and what they were at each phase's peak."""

    def __init__(self, vocab: int, sharded: bool = False) -> None:
        super().__init__()
        self.sharded = sharded
        self.vocab = vocab
        self.phase = "inputs"
        self.modules: list[str] = ["head"]
        self.storages: dict[int, tuple[int, tuple[str, str, str], weakref.ref[Any]]] = {}
        self.live: Parts = Counter()
        self.total = self.logits = 0
        self.peaks: dict[str, tuple[int, Parts]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # it comes back with each rank's own tensors
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self._made(tensor, func, args)
        self._mark()
        return out

    def _mark(self) -> None:
        """Remember this moment if it is its phase's highest."""
        phase = self.phase
        if phase == "backward":
            phase = "loss" if self.logits else "blocks"
        if self.total > self.peaks.get(phase, (-1,))[0]:
            self.peaks[phase] = self.total, self.live.copy()

    def _made(self, tensor: Any, func: Any, args: Any) -> None:
        if tensor.untyped_storage()._cdata in self.storages:
            return None
        kind = kind_of(func)
        if any(word in func.__name__ for word in COLLECTIVES) or (
            self.sharded and func.__name__ == "empty.memory_format"
        ):
            return self.count(tensor, "gathered", kind, self.modules[-1])
        if kind == "cast" and args and self.role(args[0]) == "weights":
            kind = "weight_copy"
        role = {"forward": "saved", "inputs": "inputs"}.get(self.phase, self.phase)
        if tensor.ndim > 1 and tensor.shape[-1] == self.vocab and role in ("saved", "backward"):
            role = "logits"
        return self.count(tensor, role, kind, self.modules[-1])

    def role(self, tensor: Any) -> str:
        """The role of the storage below a tensor; empty when it is not counted."""
        if not isinstance(tensor, torch.Tensor):
            return ""
        found = self.storages.get(tensor.untyped_storage()._cdata)
        return found[1][0] if found else ""

    def count(self, tensor: Any, role: str, kind: str = "other", module: str = "block") -> None:
        """Count the tensor's storage under this role, whatever it was counted under before."""
        self.count_storage(local(tensor).untyped_storage(), role, kind, module)

    def count_storage(self, storage: Any, role: str, kind: str = "other", module: str = "block") -> None:
        """`count` for a storage, at its size now."""
        key = storage._cdata
        if key in self.storages:
            self._gone(key, None)
        size = -(-storage.nbytes() // ALLOCATED_TO) * ALLOCATED_TO
        self.storages[key] = size, (role, kind, module), weakref.ref(storage, partial(self._gone, key))
        self._add((role, kind, module), size)

    def _gone(self, key: int, _: object) -> None:
        size, label, _ref = self.storages.pop(key)
        self._add(label, -size)

    def _add(self, label: tuple[str, str, str], size: int) -> None:
        self.live[label] += size
        self.total += size
        self.logits += size if label[0] == "logits" else 0

    def begin(self, phase: str) -> None:
        """The phase that begins holds at least what is alive now."""
        self.phase = phase
        self._mark()


@contextmanager
def resizes(live: Live) -> Iterator[None]:
    """Follow storages that FSDP empties and fills again: no operator does that."""
    resize = torch.UntypedStorage.resize_

    def followed(storage: Any, size: int) -> Any:
        out = resize(storage, size)
        live.count_storage(storage, "gathered")
        live._mark()
        return out

    with mock.patch.object(torch.UntypedStorage, "resize_", followed):
        yield


def local(tensor: Any) -> Any:
    """This rank's own part of a tensor."""
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor


def kind_of(func: Any) -> str:
    """The kind of an ATen operator, by its name."""
    name = func.__name__.split(".")[0].strip("_")
    for kind, words in NAMED.items():
        if any(word in name for word in words):
            return kind
    return "other"


COLLECTIVES = ("all_gather", "reduce_scatter", "chunk_cat")
NAMED: Mapping[str, Sequence[str]] = {
    "attention": ("attention",),
    "norm": ("layer_norm", "rms_norm", "group_norm"),
    "dropout": ("dropout", "bernoulli"),
    "softmax": ("softmax", "nll_loss", "logsumexp"),
    "matmul": ("addmm", "bmm", "mm", "linear"),
    "index": ("embedding", "index", "gather", "scatter", "sort", "topk", "where", "masked_fill", "arange", "triu", "tril"),
    "cast": ("to_copy",),
    "copy": ("clone", "cat", "copy", "repeat", "stack", "constant_pad", "slice", "select", "split"),
    "elementwise": (
        "mul", "add", "sub", "div", "pow", "rsqrt", "mean", "sum", "neg", "silu", "gelu", "relu", "tanh", "sigmoid",
        "sqrt", "cos", "sin", "exp", "sign", "abs", "clamp", "lerp", "fill", "square",
    ),
}  # fmt: skip
"""Kind → parts of operators' names; the first that matches holds."""


@contextmanager
def by_module(live: Live) -> Iterator[None]:
    """Tell `live` which part of the model runs."""

    def enter(module: Any, _args: object) -> None:
        live.modules.append(part_of(type(module).__name__) or live.modules[-1])

    def leave(_module: object, _args: object, _out: object) -> None:
        live.modules.pop()

    hooks = (
        torch.nn.modules.module.register_module_forward_pre_hook(enter),
        torch.nn.modules.module.register_module_forward_hook(leave, always_call=True),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def part_of(class_name: str) -> str:
    """The part of the model that a module of this class is; empty when it is of the part around it."""
    name = class_name.lower()
    for part, words in PARTS.items():
        if any(word in name for word in words):
            return part
    return ""


PARTS: Mapping[str, Sequence[str]] = {
    "norm": ("norm",),
    "attention": ("attention",),
    "mlp": ("mlp", "expert", "moe", "router"),
    "embedding": ("embedding",),
    "block": ("layer", "block"),
    "head": ("forcausallm", "lmheadmodel"),
}
