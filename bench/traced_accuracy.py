"""The formulas of training and of a prompt against runs traced under fake tensors: the peak, by family and split.

python bench/traced_accuracy.py [bench/fake_tensors.csv …] [--list]
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from typing import NamedTuple

import alone

from gpulint.catalog import architecture
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

SHIPPED = [Path(__file__).with_name(name) for name in ("fake_tensors.csv", "unseen_tensors.csv", "sharded_tensors.csv")]
NOWHERE = Origin(documents.load("traced.yaml", b"{}").documents[0], ())
NONE = ("", "none", "0", "1")
Run = Mapping[str, str]


class Compared(NamedTuple):
    """A traced run, what was traced and ours [bytes]."""

    run: Run
    traced: int
    ours: float | None

    @property
    def error(self) -> float:
        """How far ours is from what was traced; infinite where nothing is answered."""
        return inf if self.ours is None else self.ours / self.traced - 1


def described(run: Run) -> Facts:
    """The run as a role of Transformers' Trainer."""
    resolved = architecture.resolve(run["checkpoint"])
    shape, layers, adapters = resolved.architecture, int(run["layers"]), int(run["lora_rank"])
    own = int(run["trainable_parameters"]) if adapters else 0
    group, kept, groups = shared(run["fsdp"] or "1")
    ranks = groups * group
    stated: dict[str, int | str | bool | None] = {
        **dict.fromkeys(("tensor_parallel", "pipeline_parallel"), 1),
        **dict.fromkeys(("gpus_per_pod", "gpus_per_replica"), ranks),
        "engine": "transformers",
        "sharding": "fsdp" if ranks > 1 else "none",
        "reduction_dtype": "float32" if adapters or run["weight_dtype"] == "float32" else "bfloat16",
        "shard_group": group if groups > 1 else None,
        "zero_stage": 2 if kept else None,
        "packed": True,
        "layers": layers,
        "parameters": int(run["parameters"]) - own,
        "micro_batch_size": int(run["micro_batch"]),
        "sequence_length": int(run["sequence"]),
        "parameter_dtype": run["weight_dtype"],
        "training_dtype": "bfloat16" if ranks > 1 or run["autocast"] not in NONE else run["weight_dtype"],
        "autocast": run["autocast"] not in NONE,
        "optimizer": {"adamw-foreach": "adamw", "adamw-loop": "adamw-single"}.get(run["optimizer"], run["optimizer"]),
        "activation_checkpointing": run["recomputation"],
        "gradient_accumulation_steps": int(run["accumulation"]),
        "attention_backend": {"eager": "eager", "flash": "flash"}.get(run["attention"]),
    }
    if adapters:
        stated |= {
            "lora_rank": adapters,
            "lora_targets": run["lora_targets"].replace("all-linear", "qkvogud"),
            "trainable_parameters": own,
        }
    if shape is not None and shape.moe_layers and shape.layers:
        stated["moe_layers"] = layers - (shape.layers - shape.moe_layers)
    return resolver.resolve(Role("traced", NOWHERE, {name: Field(value) for name, value in stated.items()}), resolved)


def shared(fsdp: str) -> tuple[int, bool, int]:
    """Ranks of a group that shares states out, whether weights stay gathered after the forward pass, and groups: `2x8 kept`."""
    size, _, kept = fsdp.partition(" ")
    groups, _, ranks = size.rpartition("x")
    return int(ranks), kept == "kept", int(groups or 1)


def prompted(run: Run) -> Facts:
    """The run as a static batch of Transformers of whose answer one token is computed."""
    known = described(run)
    stated: dict[str, int | str] = {
        "task": "inference",
        "engine_version": run["transformers"],
        "batch_size": int(run["micro_batch"]),
        "prompt_tokens": int(run["sequence"]),
        "new_tokens": 1,
        "weight_dtype": run["weight_dtype"],
    }
    shape = known.resolved.architecture if known.resolved else None
    if shape is not None and shape.sliding_layers and shape.layers:
        stated["sliding_layers"] = round(shape.sliding_layers * int(run["layers"]) / shape.layers)
    return resolver.resolve(known.role.having(**{name: Field(value) for name, value in stated.items()}), known.resolved)


def prompt_peak(known: Facts) -> float | None:
    """Weights, KV cache and work of a prompt; libraries' workspaces are not traced."""
    terms = [known.expected(name) for name in ("weight_bytes_per_gpu", "prompt_cache_bytes", "prompt_work_bytes")]
    found = [float(term) for term in terms if isinstance(term, int | float)]
    return sum(found) if len(found) == len(terms) else None


def compared(paths: Iterable[Path], task: str = "training") -> list[Compared]:
    """Every run of a task, prompts on one device; `ours` is None where the formulas do not answer."""
    runs: list[Run] = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            runs += [run for run in csv.DictReader(file) if run["task"] == task]
    if task == "prefill":
        alone = (run for run in runs if run.get("fsdp", "") in NONE)
        return [Compared(run, int(run["peak_bytes"]), prompt_peak(prompted(run))) for run in alone]
    answers = [(run, described(run).expected("training_peak_bytes")) for run in runs]
    return [
        Compared(run, int(run["peak_bytes"]), ours if isinstance(ours, int | float) else None) for run, ours in answers
    ]


def table(every: list[Compared], what: str = "steps") -> list[tuple[str, ...]]:
    """Median, 90th percentile and worst error by split and by family."""
    groups: dict[str, list[float]] = defaultdict(list)
    for one in every:
        device = "one device" if one.run["fsdp"] in NONE else "fully_shard"
        for name in (one.run["split"], one.run["family"], device, "all"):
            groups[name].append(abs(one.error))
    rows: list[tuple[str, ...]] = [(f"{what} of", "answered", "median error", "p90 error", "worst")]
    for name, errors in sorted(groups.items()):
        ordered = sorted(error for error in errors if error < inf)
        if not ordered:
            rows.append((name, f"0/{len(errors)}", "-", "-", "-"))
            continue
        p90 = ordered[max(0, -(-9 * len(ordered) // 10) - 1)]
        shown = (f"{value:.2%}" for value in (statistics.median(ordered), p90, ordered[-1]))
        rows.append((name, f"{len(ordered)}/{len(errors)}", *shown))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", type=Path, nargs="*", default=SHIPPED)
    parser.add_argument("--list", action="store_true", dest="listed", help="print the twenty worst runs")
    arguments = parser.parse_args()
    every, prompts = compared(arguments.runs), compared(arguments.runs, "prefill")
    print(alone.table(table(every)), alone.table(table(prompts, "prompts")), sep="\n\n")
    shown = (
        "checkpoint",
        "layers",
        "task",
        "sequence",
        "attention",
        "recomputation",
        "weight_dtype",
        "autocast",
        "lora_rank",
    )
    for one in sorted([*every, *prompts], key=lambda one: -abs(one.error))[: 20 if arguments.listed else 0]:
        error, ours = ("unanswered", "") if one.ours is None else (f"{one.error:+.1%}", round(one.ours))
        print(error, *(one.run[name] for name in shown), one.traced, ours)


if __name__ == "__main__":
    main()
