"""Published speeds of training, and what pipelines wait for, against ours: figures of papers and of trainers' own tables."""

from __future__ import annotations

import csv
import functools
import statistics
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpulint.catalog import architecture
from gpulint.catalog.architecture import Architecture, Resolution
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.sizing.training import exchange_time
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

FOLDER = Path(__file__).parent / "known_answers"
NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
Row = Mapping[str, str]
TRAINERS: Mapping[str, Mapping[str, object]] = {
    "": {"engine": "megatron-lm"},
    "hai-llm": {"engine": "megatron-lm"},
    "megatron-lm": {"engine": "megatron-lm"},
    "megatron-deepspeed": {"engine": "megatron-deepspeed"},
    "deepspeed": {"engine": "deepspeed", "training_kernels": "fused"},
    "llm-foundry": {"engine": "llm-foundry"},
    "internevo": {"engine": "transformers", "training_kernels": "fused"},
    "megatron-bridge pretraining": {"engine": "megatron-bridge", "tensor_overlap": True},
    "megatron-bridge SFT": {"engine": "megatron-bridge", "tensor_overlap": True},
    "megatron-bridge LoRA": {
        "engine": "megatron-bridge",
        "tensor_overlap": True,
        "lora_rank": 16,
        "lora_targets": "qkvogud",
    },
    "torchtitan": {"engine": "torchtitan", "power_cap_w": 500.0, "memory_bytes_per_s": 2.4e12},
    "torchtitan compile": {
        "engine": "torchtitan",
        "compiled": True,
        "power_cap_w": 500.0,
        "memory_bytes_per_s": 2.4e12,
    },
}
"""A row's trainer in the glossary's words; torchtitan's tables are of H100 with 2.4 TB/s held to 500 W."""
SHARDING: Mapping[str, Mapping[str, object]] = {
    "none": {"sharding": "ddp"},
    "ddp": {"sharding": "ddp"},
    "fsdp": {"sharding": "fsdp"},
    "": {"sharding": "ddp"},
    "zero1": {"sharding": "distributed-optimizer"},
    "zero1 in the node": {"sharding": "fsdp", "zero_stage": 1, "shard_group": 8},
    "zero2": {"sharding": "deepspeed", "zero_stage": 2},
    "zero3": {"sharding": "deepspeed", "zero_stage": 3},
}
PRECISION = {"fp16": "float16", "bf16": "bfloat16", "": "bfloat16", "fp8": "fp8", "mxfp8": "fp8"}
GBIT_PER_GPU = {
    "a100": 200,
    "h100": 400,
    "h200": 400,
    "b200": 400,
    "b300": 800,
    "gb200": 400,
    "gb300": 800,
    "h800": 400,
}
SLOWER_NETWORKS = {"internevo": 50, "megatron-deepspeed": 50}
"""4 x 100 Gb/s for eight cards: InternEvo's cluster, and Jean Zay of the BLOOM runs."""
HALVED = "megatron-bridge"
"""Counts attention without its masked half."""
INTERLEAVED = 4
"""The Llama 3 paper tells that its pipelines are interleaved and not how often (section 3.3.2)."""


def rows_of(name: str) -> list[Row]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def known(identity: str) -> Facts:
    row = next(one for one in rows_of("training_speed") if one["id"] == identity)
    gpus, card = int(row["gpus"]), row["hardware"]
    node = 4 if card.startswith("gb") else 8
    trainer = TRAINERS[row["trainer"]]
    network = SLOWER_NETWORKS.get(row["trainer"], GBIT_PER_GPU[card.split("-")[0]])
    tensor = int(row["tp"] or 1)
    stated: dict[str, object] = {
        "task": "training",
        "accelerator": card,
        "gpus_per_replica": gpus,
        "gpus_per_pod": min(node, gpus),
        "pods_per_replica": max(1, gpus // node),
        "network_kind": "infiniband",
        "network_bytes_per_s": network * min(node, gpus) * 1e9 / 8,
        "tensor_parallel": tensor,
        "pipeline_parallel": int(row["pp"] or 1),
        "virtual_stages": int(row["virtual_stages"] or (INTERLEAVED if row["id"].startswith("llama3") else 1)),
        "context_parallel": int(row["cp"] or 1),
        "expert_parallel_size": int(row["ep"]) if row["ep"] else None,
        "micro_batch_size": int(row["micro_batch"] or 1),
        "global_batch_size": int(row["global_batch"]) if row["global_batch"] else None,
        "sequence_length": int(row["sequence"]),
        "training_dtype": PRECISION[row["precision"]],
        "parameter_dtype": "bfloat16",
        "optimizer": "adamw",
        "packed": True,
        "activation_checkpointing": _recomputed(row),
        "sequence_parallel": tensor > 1,
        **SHARDING[row["sharding"]],
        **trainer,
    }
    resolved = _network(row)
    fields = {name: Field(value) for name, value in stated.items() if value is not None}  # type: ignore[arg-type]
    return resolver.resolve(Role("run", NOWHERE, fields), resolved)


def _recomputed(row: Row) -> str:
    if row["recompute"] in ("full", "none", ""):
        return row["recompute"] or "none"
    return "products" if row["trainer"].startswith("torchtitan") else "scores"


def _network(row: Row) -> Resolution | None:
    if not row["layers"] or row["model"].startswith("bigscience/"):
        return architecture.resolve(row["model"])
    layers, hidden, heads = (int(row[name]) for name in ("layers", "hidden_size", "heads"))
    shape = Architecture(
        id=row["model"],
        family="gpt-2",
        parameters=round(float(row["parameters"])),
        layers=layers,
        hidden=hidden,
        intermediate=4 * hidden,
        gated_mlp=False,
        attention_heads=heads,
        kv_heads=heads,
        head_dim=hidden // heads,
        vocab=50368 if row["model"].startswith("mpt") else 51200,
        tied_embeddings=True,
        modality="text",
        moe_layers=0,
        checkpoint_dtype="bfloat16",
    )
    return Resolution(shape, "the paper's table")


def ours(row: Row) -> tuple[float, float, float] | None:
    """The figure of a row as we see it in three scenarios, the smallest first."""
    found, peak = known(row["id"]), 0.0
    if row["figure"].endswith("flop_per_s_per_gpu"):
        peak = float(found.expected("dense_bf16_flop_per_s")) / 1e12  # type: ignore[arg-type]
    names = {"hardware_flop_per_s_per_gpu": "hfu", "model_flop_per_s_per_gpu": "mfu", "training_run_days": "step_s"}
    names |= {"samples_per_s_per_gpu": "training_tokens_per_s_per_gpu"}
    names |= {"tokens_per_s_per_gpu": "training_tokens_per_s_per_gpu"}
    scenarios = found.scenarios(names.get(row["figure"], row["figure"]))
    if not hasattr(scenarios, "expected"):
        return None
    factor = peak or (100.0 if row["unit"] == "%" else 1.0)
    if row["figure"] == "samples_per_s_per_gpu":
        factor = 1 / float(row["sequence"])
    if (row["trainer"], row["precision"], row["figure"]) == ("llm-foundry", "fp8", "mfu"):
        factor /= 2  # held against the peak in FP8
    if row["trainer"].startswith(HALVED) and row["figure"] == "model_flop_per_s_per_gpu":
        factor *= float(found.expected("step_flop")) / float(found.expected("counted_step_flop"))  # type: ignore[arg-type]
    low, high = sorted((float(scenarios.best), float(scenarios.worst)))
    return low * factor, float(scenarios.expected) * factor, high * factor


LEFT_OUT = ("training_run_days", "gpu_hours_per_trillion_tokens")
"""Figures whose tokens or batch only their source states."""
JUDGED = [
    row
    for row in rows_of("training_speed")
    if row["figure"] not in LEFT_OUT and row["precision"] != "nvfp4" and row["sequence"]
]


def error(row: Row) -> float:
    found = ours(row)
    assert found is not None, (row["id"], known(row["id"]).missing(["step_s"]))
    return found[1] / float(row["value"]) - 1


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row["id"])
def test_a_published_speed_of_training_lies_within_our_scenarios(row: Row) -> None:
    low, _, high = ours(row) or (0.0, 0.0, 0.0)
    assert low <= float(row["value"]) <= high


@pytest.mark.parametrize("row", JUDGED, ids=lambda row: row["id"])
def test_no_published_speed_beats_our_floor(row: Row) -> None:
    """The step at the dense peak of all cards and nothing else; what is computed again counts as arithmetic too."""
    found = known(row["id"])
    step, floor = found.scenarios("step_s"), float(found.expected("step_floor_s"))  # type: ignore[arg-type]
    fastest = ours(row)
    assert fastest is not None
    assert hasattr(step, "expected")
    expected = float(step.expected)  # type: ignore[union-attr]
    if row["figure"] == "step_s":
        assert float(row["value"]) >= floor
    else:
        assert float(row["value"]) <= fastest[1] * expected / floor


def test_most_published_speeds_of_training_lie_in_the_band_that_a_reader_would_grant() -> None:
    errors = [abs(error(row)) for row in JUDGED]
    granted = sum(found <= float(row["band"] or 0.3) for found, row in zip(errors, JUDGED, strict=True))
    assert len(JUDGED) >= 150
    assert granted >= 0.85 * len(JUDGED)
    assert statistics.median(errors) <= 0.12


# ---- what pipelines wait for


def waiting(row: Row) -> float:
    """Of the ideal time, of the whole time, or of what 1F1B waits for."""
    stages, parts, batches = (int(row[name] or 1) for name in ("pp", "virtual_stages", "micro_batches"))
    ratio = exchange_time.bubble_ratio(stages, parts, batches, row["schedule"])
    return ratio if row["of"] == "ideal" else ratio / (1 + ratio)


@pytest.mark.parametrize("row", [row for row in rows_of("bubbles") if row["of"] == "ideal"], ids=lambda row: row["id"])
def test_a_bubble_of_a_paper_s_formula_is_ours(row: Row) -> None:
    assert waiting(row) == pytest.approx(float(row["value"]), rel=float(row["band"]))


@pytest.mark.parametrize(
    "row", [row for row in rows_of("bubbles") if row["of"] == "whole" and row["band"]], ids=lambda row: row["id"]
)
def test_a_measured_bubble_is_ours_within_its_band(row: Row) -> None:
    """Or within three hundredths of the step: measured stages also wait for hand-overs."""
    assert waiting(row) == pytest.approx(float(row["value"]), rel=float(row["band"]), abs=0.03)


def test_zero_bubble_with_twice_the_memory_leaves_less_than_a_twentieth() -> None:
    for row in rows_of("bubbles"):
        assert row["schedule"] != "zb-2p" or waiting(row) <= float(row["value"]) <= 0.05


def test_a_third_of_the_waiting_is_left_by_the_first_zero_bubble_schedule() -> None:
    row = next(row for row in rows_of("bubbles") if row["of"] == "of 1f1b")
    left = exchange_time.bubble_ratio(8, 1, 64, "zb-h1") / exchange_time.bubble_ratio(8, 1, 64, "1f1b")
    assert left == pytest.approx(float(row["value"]), rel=float(row["band"]))
