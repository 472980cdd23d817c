"""Cog: the cog.yaml of a model on Replicate: whether it needs a GPU, and the program that predicts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field, Origin, Role, Unknown, Workload

MENTIONS = ("build:",)
TRIGGERS = ("cog.yaml",)
READS = ("plain",)
CLAIMS = ("shape",)

GPU: Path = ("build", "gpu")
PREDICT: Path = ("predict",)
KEYS = frozenset({"build", "image", "predict", "train", "concurrency", "environment", "tests", "weights", "run"})
"""replicate/cog docs/yaml.md."""
MACHINE = "any host"


def claims(document: Document) -> Claim:
    """Claim a mapping of Cog's keys that says whether the model needs a GPU."""
    data = document.data
    if not isinstance(data, dict) or not data.keys() <= KEYS or not isinstance(data.get("predict"), str):
        return Claim.NONE
    return Claim.SHAPE.where(isinstance(document.get(GPU), bool) and ".py" in str(data["predict"]))


def kind(document: Document) -> str:
    return "Cog model"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the one model, if it needs a GPU; what Replicate runs it on is chosen with the deployment."""
    if document.get(GPU) is not True:
        return
    at = Origin(document, PREDICT)
    program = str(document.get(PREDICT)).partition(":")[0]
    left = Unknown("the GPU is chosen when the model is deployed", MACHINE)
    word = Argument(program, at._replace(span=(0, len(program))))
    fields = {
        "gpus_per_pod": Field(left, (Origin(document, GPU),)),
        "gpus_per_replica": Field(left, (Origin(document, GPU),)),
        "accelerator": Field(left, (Origin(document, GPU),)),
        "pods_per_replica": Field(1, source="one container for each replica"),
        "replicas": Field(1, source="one replica"),
        "program": Field(posixpath.basename(program), (word.origin,)),
    }
    words = (word._replace(text="python"), word)
    command = Command(word._replace(text=None), words, {}, open_environment=True)
    name = posixpath.basename(posixpath.dirname(document.path)) or "cog"
    yield Workload(name, "inference", "cog", document, (), (Role(name, at, fields, command=command),))
