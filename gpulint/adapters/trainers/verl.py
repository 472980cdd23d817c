"""verl: the Hydra configuration of reinforcement learning, and the parts that compose it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.trainers import key_tables
from gpulint.engines import trainers as engines_trainers
from gpulint.engines.trainers import verl, vocabulary
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Workload

MENTIONS = ("actor_rollout_ref", "verl.workers", "ppo_mini_batch_size")
READS = ("plain",)
ENGINE = "verl"
SETTLES = vocabulary.DECIDING
"""What verl's keys decide: each is read, or its default holds."""


def claims(document: Document) -> Claim:
    """Claim the whole run, or a part that names verl's own class."""
    data = document.data
    if not isinstance(data, dict):
        return Claim.NONE
    if str(data.get("_target_", "")).startswith("verl."):
        return Claim.EXACT
    return Claim.SHAPE.where(isinstance(data.get("actor_rollout_ref"), dict))


def kind(document: Document) -> str:
    return "verl configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield a whole run that states its machines."""
    if document.get(("actor_rollout_ref",)) is not None and document.get(("trainer",)) is not None:
        yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    """Return machines, batch and parallelism of the actor and its rollout."""
    fields = key_tables.read_fields(document, "verl", interpolated=True)
    answers = key_tables.field(document, ("actor_rollout_ref", "rollout", "n"), "int", interpolated=True)
    if answers is not None:
        fields["generations"] = answers
    if batch := key_tables.product(
        key_tables.field(document, ("actor_rollout_ref", "actor", "ppo_mini_batch_size"), "int", interpolated=True),
        answers,
    ):
        fields["global_batch_size"] = batch
    lengths = (
        key_tables.field(document, ("data", name), "int", interpolated=True)
        for name in ("max_prompt_length", "max_response_length")
    )
    if (length := engines_trainers.add(lengths)) is not None:
        fields["sequence_length"] = length
    return {**fields, **verl.derive_companions(key_tables.read_words(document, ("verl",)))}
