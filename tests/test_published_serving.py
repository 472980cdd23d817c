"""Published speeds of serving against what the cards could do at all: nobody measured more than physics allows."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpulint.catalog import architecture
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.report.model import Scenarios
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role, Value

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
Row = Mapping[str, str]
QUANTISED = {
    ("deepseek-ai/DeepSeek-R1", "nvfp4"): "nvidia/DeepSeek-R1-FP4",
    ("deepseek-ai/DeepSeek-R1-0528", "nvfp4"): "nvidia/DeepSeek-R1-FP4",
    ("meta-llama/Llama-2-70b-chat-hf", "nvfp4"): "nvidia/Llama-3.3-70B-Instruct-FP4",
    ("meta-llama/Llama-3.3-70B-Instruct", "nvfp4"): "nvidia/Llama-3.3-70B-Instruct-FP4",
    ("meta-llama/Llama-3.1-8B-Instruct", "nvfp4"): "RedHatAI/Llama-3.1-8B-Instruct-NVFP4",
    ("meta-llama/Llama-3.1-405B-Instruct", "fp8"): "RedHatAI/Meta-Llama-3.1-405B-Instruct-FP8",
    ("Qwen/Qwen3-30B-A3B", "nvfp4"): "nvidia/Qwen3-30B-A3B-NVFP4",
    ("Qwen/Qwen3-235B-A22B", "nvfp4"): "nvidia/Qwen3-235B-A22B-NVFP4",
    ("deepseek-ai/DeepSeek-R1", "fp8"): "deepseek-ai/DeepSeek-R1",
    ("moonshotai/Kimi-K2-Instruct", "fp8"): "moonshotai/Kimi-K2-Instruct",
}
"""Releases of a network in a row's precision; Llama 2 70B in four bits is counted as Llama 3.3 70B, whose cache is as large."""
FLOORS = {"tpot": ("tpot_floor_s", "weight_read_floor_s"), "ttft": ("ttft_floor_s",)}


def checkpoint(row: Row) -> str | None:
    """The release of a row's network in its precision, None where the catalog has none."""
    if (row["model"], row["precision"]) in QUANTISED:
        return QUANTISED[row["model"], row["precision"]]
    if row["precision"] == "fp8":
        return f"{row['model']}-FP8"
    return None if row["precision"] == "nvfp4" else row["model"]


def whole(row: Row, column: str, absent: int = 1) -> int:
    return int(row[column]) if row[column] else absent


def replicas(row: Row) -> int:
    return whole(row, "replicas", max(1, whole(row, "gpus") // (whole(row, "tp") * whole(row, "pp"))))


def served(row: Row) -> Facts | None:
    """The facts of a row's engines, as a spec would state them."""
    name = checkpoint(row)
    if name is None:
        return None
    gpus, tensor, stages = whole(row, "gpus") // replicas(row), whole(row, "tp"), whole(row, "pp")
    stated: dict[str, Value] = {
        "engine": row["engine"],
        "checkpoint": name,
        "accelerator": row["gpu"],
        "device": "gpu",
        "task": "inference",
        "tensor_parallel": tensor,
        "pipeline_parallel": stages,
        "data_parallel": max(1, gpus // (tensor * stages)),
        "expert_parallel": whole(row, "ep") > 1,
        "kv_cache_dtype": "fp8" if row["kv_precision"] == "fp8" else "auto",
        "gpus_per_pod": min(8, gpus),
        "pods_per_replica": max(1, gpus // 8),
        "gpus_per_replica": gpus,
        "replicas": replicas(row),
        "max_num_seqs": 4096,
        "target_concurrency": whole(row, "concurrency", 10**6),
        "max_model_len": whole(row, "isl", 2048) + whole(row, "osl", 2048),
        "max_model_len_stated": True,
    }
    requests = {"request_prompt_tokens": "isl", "request_output_tokens": "osl"}
    stated |= {fact: whole(row, column) for fact, column in requests.items() if row[column]}
    role = Role("server", NOWHERE, {name: Field(value) for name, value in stated.items()})
    return resolver.resolve(role, architecture.resolve(name))


def measured(row: Row) -> float:
    """The figure in seconds, or tokens per second of one replica."""
    if row["figure"] == "batch_s":
        return float(row["concurrency"]) * float(row["osl"]) / float(row["value"])
    if row["figure"] == "output_tokens_per_s":
        return float(row["value"]) / replicas(row)
    return float(row["value"]) / (1000 if row["unit"] == "ms" else 1)


def scenarios(known: Facts, *names: str) -> Scenarios[float] | None:
    """The first of the facts that can be told."""
    for name in names:
        found = known.scenarios(name)
        if isinstance(found, Scenarios):
            return found  # type: ignore[return-value]
    return None


def rows() -> list[Row]:
    with (Path(__file__).parent / "known_answers" / "serving.csv").open(newline="") as file:
        return list(csv.DictReader(file))


SERVED = [(row, known) for row in rows() if (known := served(row))]
SPEEDS = [(row, known) for row, known in SERVED if row["figure"] in ("output_tokens_per_s", "batch_s")]
TIMES = [(row, known) for row, known in SERVED if row["figure"] in FLOORS]


@pytest.mark.parametrize(("row", "known"), SPEEDS, ids=[row["id"] for row, _ in SPEEDS])
def test_no_measured_throughput_is_beyond_our_ceiling(row: Row, known: Facts) -> None:
    ceiling = scenarios(known, "output_tokens_per_s_ceiling")
    assert ceiling is None or measured(row) <= ceiling.best


@pytest.mark.parametrize(("row", "known"), TIMES, ids=[row["id"] for row, _ in TIMES])
def test_no_measured_time_is_below_our_floor(row: Row, known: Facts) -> None:
    floor = scenarios(known, *FLOORS[row["figure"]])
    assert floor is None or measured(row) >= floor.best


def test_most_of_the_figures_have_a_bound() -> None:
    bounds = [scenarios(known, "output_tokens_per_s_ceiling") for _, known in SPEEDS]
    bounds += [scenarios(known, *FLOORS[row["figure"]]) for row, known in TIMES]
    assert sum(bound is not None for bound in bounds) >= 100


def test_nine_in_ten_of_the_measured_throughputs_lie_between_our_scenarios() -> None:
    told = [(measured(row), found) for row, known in SPEEDS if (found := scenarios(known, "output_tokens_per_s"))]
    inside = sum(min(found) <= figure <= max(found) for figure, found in told)
    assert len(told) >= 70
    assert inside / len(told) >= 0.9, inside


def test_the_likely_throughput_of_thirty_pairs_lies_in_the_band_that_a_reader_set() -> None:
    """Bands were written with the figures, before any formula; a pair of network and card counts with all of its figures."""
    off: dict[tuple[str, str], list[bool]] = {}
    for row, known in SPEEDS:
        if row["band"] and (found := scenarios(known, "output_tokens_per_s")):
            within = abs(found.expected / measured(row) - 1) <= float(row["band"])
            off.setdefault((row["model"], row["gpu"]), []).append(not within)
    assert len(off) >= 36
    assert sum(not any(pair) for pair in off.values()) >= 30
