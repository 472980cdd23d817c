"""Adapters: one module an input format, each with `claims(document)`, `kind(document)` and `workloads(document, repository)`.

A module is imported when one of its `MENTIONS` stands in a document that is what it `READS`: an object of an API unless it
says otherwise. Claiming a document without finding a workload in
it says that the format is known and that there is nothing to judge.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from gpulint.catalog import package_data as shipped
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Workload

HERE = Path(__file__).parent
DATA = frozenset({"yaml", "json", "toml"})
SCALERS: Mapping[str, str] = {
    "HorizontalPodAutoscaler": "autoscaling",
    "ScaledObject": "keda.sh",
    "PodAutoscaler": "autoscaling.aibrix.ai",
    "PodDisruptionBudget": "policy",
}
"""Objects that say how many pods of another one run, by kind and group."""
OF_OBJECTS = ("beta", "ScaledObject", "rayStartParams", "pytorchReplicaSpecs", "backoffLimit")
"""Words without which nothing is wrong with an object by itself."""
OF_NODES = ("guest_accelerator", "mig-configs", "ami_type", "karpenter.sh/", "efaEnabled", "efa_support", "SlurmQueues")
"""Words without which nothing is wrong with nodes."""
OBJECTS = ("object",)
"""What a module reads that does not say it in `READS`."""


def claiming(document: Document) -> ModuleType | None:
    """The first adapter that claims a document."""
    return next((adapter for adapter in mentioned(document) if adapter.claims(document)), None)


def read(document: Document, repository: Repository) -> Iterator[Workload]:
    """The workloads of a document, from the adapter that claims it."""
    adapter = claiming(document)
    yield from workloads(adapter, document, repository) if adapter else ()


def workloads(adapter: ModuleType, document: Document, repository: Repository) -> Iterator[Workload]:
    """The workloads that an adapter finds in a document, with what other files say that it refers to."""
    if "configMap" in document.text:
        from gpulint.adapters.objects import references as joins

        joins.complete(document, repository)
    for workload in adapter.workloads(document, repository):
        from gpulint.adapters import nodes as pools
        from gpulint.adapters.kubernetes import autoscaling
        from gpulint.adapters.nodes import mig_slices as slices
        from gpulint.adapters.pods import weights_storage as stored

        placed = slices.checked(pools.joined(workload, repository))
        yield autoscaling.joined(stored.joined(placed, repository), repository)


def problems(adapter: ModuleType, document: Document, repository: Repository) -> Iterator[Problem]:
    """What is wrong with a document as one of its adapter's format, as an object of Kubernetes, or as nodes."""
    if document.get(("apiVersion",)) is not None and any(word in document.text for word in OF_OBJECTS):
        from gpulint.adapters.objects import problems as object_problems

        yield from object_problems.of(document)
    if "gpulint/" in document.text:
        from gpulint.adapters.objects import objective_annotations as stated_objectives

        yield from stated_objectives.misspelt(document)
    if any(word in document.text for word in OF_NODES):
        from gpulint.adapters.nodes import problems as node_problems

        yield from node_problems.of(document, repository)
    yield from adapter.problems(document) if hasattr(adapter, "problems") else ()
    yield from adapter.settled(document, repository) if hasattr(adapter, "settled") else ()


def kind(adapter: ModuleType, document: Document) -> str:
    """What a document is: the noun of its format, of a Kubernetes object its group and kind."""
    if hasattr(adapter, "kind"):
        return str(adapter.kind(document))
    group = str(document.get(("apiVersion",)) or "").rpartition("/")[0]
    return f"{group}/{document.get(('kind',))}".removeprefix("/")


def name(adapter: ModuleType) -> str:
    """The name of an adapter: its module's."""
    return adapter.__name__.rpartition(".")[2]


def mentioned(document: Document) -> Iterator[ModuleType]:
    """The adapters that read such documents and one of whose words stands in it, by name; others need not be imported."""
    for name in _mentioned(document.text, _such(document)):
        yield importlib.import_module(f"{__name__}.{shipped.modules(HERE)[name]}")


def _such(document: Document) -> str:
    """What a document is to its reader: an `object` of an API, `plain` data, or a text of its own format."""
    if document.format not in DATA:
        return document.format
    return "object" if isinstance(document.data, dict) and "apiVersion" in document.data else "plain"


@functools.lru_cache(maxsize=8)
def _mentioned(text: str, such: str) -> tuple[str, ...]:
    reads = shipped.declared(HERE, "READS")
    return tuple(
        name
        for name, words in shipped.mentions(HERE).items()
        if such in reads.get(name, OBJECTS) and any(word in text for word in words)
    )
