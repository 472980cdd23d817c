"""NeMo RL: the configuration of a run (`policy`, `cluster`), with those that it names under `defaults`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.trainers import key_tables
from gpulint.engines import trainers as engines_trainers
from gpulint.engines.trainers import nemo_rl, preference, vocabulary
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Workload

MENTIONS = ("train_global_batch_size", "dtensor_cfg", "megatron_cfg")
READS = ("plain",)
ENGINE = "nemo-rl"
OWN = frozenset({"train_global_batch_size", "train_micro_batch_size", "dtensor_cfg", "megatron_cfg", "generation"})
METHODS = ("grpo", "dpo", "ppo", "rm")
"""Sections that name the method of a run."""
LAYERS_MAX = 6
SETTLES = vocabulary.DECIDING
"""What NeMo RL's keys decide: each is read, or its default holds."""


def claims(document: Document) -> Claim:
    """Claim a file whose `policy` names a model with two of NeMo RL's own keys."""
    policy = document.data.get("policy") if isinstance(document.data, dict) else None
    return Claim.SHAPE.where(isinstance(policy, dict) and "model_name" in policy and len(OWN & policy.keys()) >= 2)


def kind(document: Document) -> str:
    return "NeMo RL configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find) -> Mapping[str, Field]:
    """Return what a file states, and what the files under its `defaults` state beyond it."""
    layers = list(_list_layers(document, find))
    words = key_tables.merge(*(key_tables.read_words(layer, nemo_rl.TABLES) for layer in layers))
    named = next(((layer, name) for layer in layers for name in METHODS if layer.get((name,)) is not None), None)
    found = {name: field for name, field in words.items() if name not in engines_trainers.OWN_FIELDS}
    if named is not None:
        place = Field(named[1], (Origin(named[0], (named[1],), key=True),))
        found |= preference.read_method(preference.find_method(named[1]), place)
    return {**found, **nemo_rl.derive_backend(words)}


def _list_layers(document: Document, find: trainers.Find) -> Iterator[Document]:
    """Yield a file and, behind it, those that it composes: a later one sets what no earlier one does."""
    waiting = [document]
    seen: set[str] = set()
    while waiting and len(seen) < LAYERS_MAX:
        layer = waiting.pop(0)
        if layer.path in seen:
            continue
        seen.add(layer.path)
        yield layer
        named = layer.get(("defaults",))
        names = named if isinstance(named, list) else [named]
        waiting += [file for name in names if isinstance(name, str) and (file := find(name)) is not None]
