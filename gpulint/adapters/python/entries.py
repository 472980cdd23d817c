"""Entries: the functions and methods of a program that a framework calls when it starts or serves a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulint.source.documents import Document
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Class, Function, Name, Object, Value

BASES = frozenset(
    {
        "cog.BasePredictor",
        "cog.BaseRunner",
        "litserve.LitAPI",
        "ts.torch_handler.base_handler.BaseHandler",
        "kserve.Model",
        "mlserver.MLModel",
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
    }
)
"""Classes whose methods the framework calls: replicate/cog python/cog/base_predictor.py, Lightning-AI/LitServe
src/litserve/api.py, pytorch/serve ts/torch_handler/base_handler.py, kserve/kserve python/kserve/kserve/model.py,
SeldonIO/MLServer mlserver/model.py, Lightning-AI/pytorch-lightning src/lightning/pytorch/core/module.py."""
NAMES = frozenset({"TritonPythonModel"})
"""triton-inference-server/python_backend README.md: the class of a model.py has this name."""
SERVERS = frozenset({"fastapi", "flask", "starlette", "quart", "sanic", "litestar", "celery", "robyn"})
"""Packages whose decorators register a function that a server or a worker calls."""


def find_nodes(document: Document, evaluated: Evaluated) -> frozenset[int]:
    """Return the nodes of the functions of a program that a framework calls."""
    scope = evaluated.modules.get(document.path)
    return frozenset(_list_nodes(scope.names.values())) if scope is not None else frozenset()


def _list_nodes(values: Iterable[Value]) -> Iterator[int]:
    for value in tuple(values):
        if isinstance(value, Function) and any(_registers(one) for one in value.decorators):
            yield id(value.node)
        elif isinstance(value, Class) and (value.external() in BASES or value.name in NAMES):
            yield from (id(member.node) for member in value.body.values() if isinstance(member, Function))


def _registers(decorator: Value) -> bool:
    return isinstance(decorator, Object | Name) and decorator.name.partition(".")[0] in SERVERS
