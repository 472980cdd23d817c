"""vLLM's start-up memory on one card and release, term by term, against 59 logs that others published.

    python bench/vllm_runs.py [--list]

Each run of `vllm_runs.csv` goes through the public path of `gpulint size`. Of every term: how many are answered, the median,
p90 and worst absolute error in GiB, the mean error with its sign, and how many logs lie between the best and the worst
world. Logs of a pipeline print the first stage, which is not the fullest one: of those only the tokens are compared.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import alone

from gpulint import units
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import memory_breakdown
from gpulint.source.repository import WorkTree
from gpulint.workload import Field

RUNS = Path(__file__).with_name("vllm_runs.csv")
CARD = "h100-sxm-80gb"
RELEASE = "0.19.0"
TERMS: Mapping[str, tuple[str, float]] = {
    "weights_gib": ("loaded_bytes_per_gpu", units.GIB),
    "activation_gib": ("activation_bytes", units.GIB),
    "non_torch_gib": ("non_torch_bytes", units.GIB),
    "kv_cache_gib": ("kv_cache_bytes", units.GIB),
    "kv_cache_tokens": ("kv_cache_tokens", 1),
}
COUNTS = ("tensor_parallel", "pipeline_parallel", "data_parallel", "max_model_len")


class Term(NamedTuple):
    """One printed figure of a run and ours in each scenario; None where it is not answered."""

    run: str
    name: str
    printed: float
    ours: tuple[float, float, float] | None


def runs() -> Iterator[dict[str, str]]:
    with RUNS.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def described(run: Mapping[str, str]) -> Facts:
    """A run as `gpulint size` would be told it."""
    stated: dict[str, object] = {"engine": "vllm", "engine_version": RELEASE}
    stated |= {name: int(run[name]) for name in COUNTS}
    stated["gpu_memory_utilization"] = float(run["gpu_memory_utilization"])
    stated["weight_dtype"] = run["weight_dtype"]
    if run["quantization"] == "fp8":
        stated["quantization"] = run["quantization"]
    if run["kv_cache_dtype"] != "auto":
        stated["kv_cache_dtype"] = run["kv_cache_dtype"]
    role, resolved = memory_breakdown.build_role(run["checkpoint"], stated, CARD, WorkTree(Path(__file__).parent))
    gpus = int(run["tensor_parallel"]) * int(run["pipeline_parallel"]) * int(run["data_parallel"])
    return resolver.resolve(role.having(gpus_per_pod=Field(gpus), gpus_per_replica=Field(gpus)), resolved)


def terms(run: Mapping[str, str]) -> Iterator[Term]:
    """The terms that a run prints."""
    known = described(run)
    for name, (fact, scale) in TERMS.items():
        if run["pipeline_parallel"] != "1" and name != "kv_cache_tokens":
            continue
        scenarios = known.scenarios(fact)
        ours = None if isinstance(scenarios, Missing) else tuple(float(value) / scale for value in scenarios)  # type: ignore[arg-type]
        yield Term(run["run"], name, float(run[name]), ours)  # type: ignore[arg-type]


def table(found: list[Term], names: Iterable[str] = TERMS) -> str:
    rows: list[tuple[str, ...]] = [("term", "answered", "median", "p90", "worst", "mean error", "in the scenarios")]
    for name in names:
        own = [one for one in found if one.name == name]
        answered = [(one.printed, one.ours) for one in own if one.ours]
        if not answered:
            continue
        errors = sorted(abs(ours[1] - printed) for printed, ours in answered)
        mean = statistics.mean(ours[1] - printed for printed, ours in answered)
        inside = sum(min(ours) <= printed <= max(ours) for printed, ours in answered)
        p90 = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
        shown = "{:,.0f}" if name == "kv_cache_tokens" else "{:.2f}"
        cells = (shown.format(value) for value in (statistics.median(errors), p90, errors[-1], mean))
        rows.append((name, alone.share(len(answered), len(own)), *cells, alone.share(inside, len(answered))))
    return alone.table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print every run, the largest error of the KV cache first")
    arguments = parser.parse_args()
    found = [term for run in runs() for term in terms(run)]
    print(table(found))
    if arguments.list:
        worst = [one for one in found if one.name == "kv_cache_gib"]
        worst.sort(key=lambda one: -abs(one.ours[1] - one.printed) if one.ours else -1e9)
        for pool in worst:
            parts = {one.name: one for one in found if one.run == pool.run}
            said = [
                f"{name} {one.printed:g} ({one.ours[1]:.2f})" if one.ours else f"{name} ?"
                for name, one in parts.items()
            ]
            print(f"{pool.run}: {', '.join(said)}")


if __name__ == "__main__":
    main()
