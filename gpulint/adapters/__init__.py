"""Adapters: one module an input format, each with `claims(document)` and `workloads(document, repository)`.

A module is imported when one of its `MENTIONS` stands in the document.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from gpulint import shipped
from gpulint.documents import Document, Problem
from gpulint.repository import Repository
from gpulint.workload import Workload

HERE = Path(__file__).parent


def read(document: Document, repository: Repository) -> Iterator[Workload]:
    """The workloads of a document, from the first adapter that claims it."""
    for adapter in mentioned(document):
        if adapter.claims(document):
            yield from adapter.workloads(document, repository)
            return


def problems(document: Document) -> Iterator[Problem]:
    """What the adapter that claims a document finds wrong with it as one of its format."""
    for adapter in mentioned(document):
        if adapter.claims(document):
            yield from getattr(adapter, "problems", _none)(document)
            return


def mentioned(document: Document) -> Iterator[ModuleType]:
    """The adapters one of whose words stands in a document, by name; the others need not be imported."""
    for name, words in shipped.mentions(HERE).items():
        if any(word in document.text for word in words):
            yield importlib.import_module(f"{__name__}.{name}")


def _none(document: Document) -> Iterator[Problem]:
    yield from ()
