"""Nanotron: the YAML of a training run, with the network in its `model_config`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.trainers import key_tables
from gpulint.catalog.architecture import stated
from gpulint.catalog.architecture.stated import Network
from gpulint.engines.trainers import vocabulary
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("batch_accumulation_per_replica",)
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "nanotron"
SETTLES = frozenset(vocabulary.DECIDING) - {"activation_checkpointing", "optimizer"}
"""Nanotron trains all weights, without quantised ones and without offload (huggingface/nanotron 2411b022 src/nanotron/config)."""
SECTIONS = frozenset({"general", "parallelism", "tokens", "optimizer", "model"})
SIZES = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")
NETWORK = ("model", "model_config")


def claims(document: Document) -> Claim:
    """Claim Nanotron's sections with the batch of a run, which it names as no other trainer does."""
    data = document.data
    tokens = data.get("tokens") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(tokens, dict):
        return Claim.NONE
    return Claim.SHAPE.where(data.keys() >= SECTIONS - {"general"} and "batch_accumulation_per_replica" in tokens)


def kind(document: Document) -> str:
    return "Nanotron configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    """Return batch, parallelism, training states and network of the run."""
    fields = {**key_tables.read_fields(document, "nanotron"), **_find_network(document)}
    degrees = (key_tables.field(document, ("parallelism", name), "int") for name in ("dp", "tp", "pp"))
    found = [degree for degree in degrees if degree is not None]
    if len(found) == 3 and (ranks := key_tables.product(*found)) is not None:
        fields["gpus_per_replica"] = ranks
    return {**fields, **_read_states(document)}


def _read_states(document: Document) -> dict[str, Field]:
    """Return how ZeRO shards the states, and that gradients in 32 bits bring a copy of the weights in 32 bits.

    Source: huggingface/nanotron 2411b022 src/nanotron/optim/gradient_accumulator.py, zero.py.
    """
    found: dict[str, Field] = {}
    stage = key_tables.field(document, ("optimizer", "zero_stage"), "from-zero")
    if stage is not None and not isinstance(stage.value, Unknown):
        found["sharding"] = Field("deepspeed" if stage.value else "ddp", stage.origins)
        found |= {"zero_stage": stage} if stage.value else {}
    whole = ("optimizer", "accumulate_grad_in_fp32")
    if document.get(whole) is True:
        place = (Origin(document, whole),)
        found |= {"gradient_dtype": Field("float32", place), "master_weights": Field(True, place)}
    if (dtype := key_tables.field(document, ("model", "dtype"), "dtype")) is not None:
        found["parameter_dtype"] = dtype
    return found


def _find_network(document: Document) -> dict[str, Field]:
    """Return the network of a Llama that a file states; empty if it states none."""
    if not isinstance(document.get(NETWORK), dict):
        return {}
    place = Origin(document, NETWORK, key=True)
    sizes = [document.get((*NETWORK, name)) for name in SIZES]
    groups = document.get((*NETWORK, "num_key_value_heads")) or sizes[3]
    is_llama = document.get((*NETWORK, "is_llama_config")) is True and not document.get((*NETWORK, "moe_config"))
    if not is_llama or not all(stated.is_size(size) for size in (*sizes, groups)) or sizes[1] % sizes[3]:  # type: ignore[operator]
        return {"checkpoint": Field(Unknown("the trainer's own architecture", "own program"), (place,))}
    layers, hidden, width, heads, vocab = sizes
    context = document.get((*NETWORK, "max_position_embeddings"))
    network = Network(
        *("llama", layers, hidden, width, heads, groups, hidden // heads, vocab),  # type: ignore[operator, arg-type]
        gated=True,
        tied=document.get((*NETWORK, "tie_word_embeddings")) is True,
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
        norm_vectors=1,
        context=context if isinstance(context, int) and stated.is_size(context) else 0,
    )
    return {"network": Field(network.render(), (place,))}
