"""vLLM's start-up memory, term by term, against start-up logs of many releases and cards that others published.

    python bench/vllm_logs.py [--list]

Each run of `vllm_logs.csv` goes through the public path of `gpulint size`. Rows of `gpulint/catalog/tables/fitted.csv`
may rest on the fitted half; the held half, drawn by a hash of the source before anything was compared, judges them.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import vllm_runs
from vllm_runs import Term

from gpulint import units
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import memory_breakdown
from gpulint.source.repository import WorkTree
from gpulint.workload import Field

LOGS = Path(__file__).with_name("vllm_logs.csv")
HALVES = ("fitted", "held")
COUNTS = (
    *("tensor_parallel", "pipeline_parallel", "max_model_len", "max_num_seqs", "max_num_batched_tokens"),
    *("max_lora_rank", "max_loras"),
)
WORDS = ("weight_dtype", "quantization")
FLAGS = ("enforce_eager", "expert_parallel")
TERMS: Mapping[str, tuple[str, float]] = {**vllm_runs.TERMS, "graphs_gib": ("graph_bytes", units.GIB)}


def logs() -> Iterator[dict[str, str]]:
    with LOGS.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def described(log: Mapping[str, str]) -> Facts:
    """A run as `gpulint size` would be told it, with the card's memory as the log prints it."""
    stated: dict[str, object] = {"engine": "vllm", "engine_version": log["release"]}
    stated |= {name: int(log[name]) for name in COUNTS if log[name]}
    stated |= {name: log[name] for name in WORDS if log[name]}
    stated |= {name: True for name in FLAGS if log[name]}
    stated["enable_lora"] = bool(log["max_lora_rank"])
    if log["gpu_memory_utilization"]:
        stated["gpu_memory_utilization"] = float(log["gpu_memory_utilization"])
    if log["device_gib"]:
        stated["device_memory_bytes"] = float(log["device_gib"]) * units.GIB
    role, resolved = memory_breakdown.build_role(
        log["checkpoint"], stated, log["card"] or None, WorkTree(Path(__file__).parent)
    )
    gpus = int(log["tensor_parallel"]) * int(log["pipeline_parallel"])
    return resolver.resolve(role.having(gpus_per_pod=Field(gpus), gpus_per_replica=Field(gpus)), resolved)


def terms(log: Mapping[str, str]) -> Iterator[Term]:
    """The terms that a log prints; graphs that give memory back are no demand and are left out."""
    known = described(log)
    for name, (fact, scale) in TERMS.items():
        if not log[name] or float(log[name]) < 0:
            continue
        scenarios = known.scenarios(fact)
        ours = None if isinstance(scenarios, Missing) else tuple(float(value) / scale for value in scenarios)  # type: ignore[arg-type]
        yield Term(log["run"], name, float(log[name]), ours)  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print every term of every run")
    arguments = parser.parse_args()
    found = [(log["half"], term) for log in logs() for term in terms(log)]
    for half in HALVES:
        own = [term for drawn, term in found if drawn == half]
        print(f"{half}: {len({term.run for term in own})} logs\n")
        print(vllm_runs.table(own, TERMS))
        print()
    if arguments.list:
        for half, term in found:
            ours = " ".join(f"{value:,.2f}" for value in term.ours) if term.ours else "not answered"
            print(f"{half:6} {term.run:28} {term.name:16} {term.printed:>12,.2f}   {ours}")


if __name__ == "__main__":
    main()
