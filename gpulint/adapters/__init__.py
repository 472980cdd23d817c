"""Adapters: one module an input format, each with `claims(document)` and `workloads(document, repository)`."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from gpulint.documents import Document, Problem
from gpulint.repository import Repository
from gpulint.workload import Workload


def read(document: Document, repository: Repository) -> Iterator[Workload]:
    """The workloads of a document, from the first adapter that claims it."""
    for adapter in modules():
        if adapter.claims(document):
            yield from adapter.workloads(document, repository)
            return


def problems(document: Document) -> Iterator[Problem]:
    """What the adapter that claims a document finds wrong with it as one of its format."""
    for adapter in modules():
        if adapter.claims(document):
            yield from getattr(adapter, "problems", _none)(document)
            return


def _none(document: Document) -> Iterator[Problem]:
    yield from ()


@functools.cache
def modules() -> tuple[ModuleType, ...]:
    """The adapter modules, by name."""
    found = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return tuple(module for module in found if hasattr(module, "claims"))
