"""Speeds of training that trainers publish, against ours: the half that terms were fitted to, and the half kept apart.

    python bench/training_speed.py [--list]

`training_speed.csv` has one run a row: the card, the network, the network's shape, what is stated in the glossary's words, and
tokens a second for each GPU. The rule of the halves was set before anything was fitted: rows of a source's table are
numbered as printed, odd ones are fitted, even ones are kept. Of long tables a part is listed here. Recomputation and
overlap that a source leaves to its recipes are as in those recipes.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import alone
import model_words
from alone import share

from gpulint import units
from gpulint.catalog import architecture
from gpulint.catalog.architecture import Architecture, Resolution
from gpulint.facts import resolver
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

ROWS = Path(__file__).parent / "training_speed.csv"
NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
HEAD = ("table", "half", "rows", "answered", "median error", "p90 error", "bias", "in scenarios", "floors beaten")
NODE_GPUS, SUPERCHIP_NODE_GPUS = 8, 4
INTERNLM = Architecture(
    id="internlm-7b",
    family="llama",
    parameters=7_321_000_000,
    layers=32,
    hidden=4096,
    intermediate=11008,
    gated_mlp=True,
    attention_heads=32,
    kv_heads=32,
    head_dim=128,
    vocab=103168,
    tied_embeddings=False,
    modality="text",
    moe_layers=0,
    checkpoint_dtype="bfloat16",
)
"""InternLM/InternEvo configs/7B_sft.py."""


class Judged(NamedTuple):
    """One run: the figure, ours in three scenarios, smallest first, and the most that the dense peak allows."""

    id: str
    half: str
    measured: float
    ours: tuple[float, float, float] | None
    bound: float = 0.0
    missing: str = ""

    @property
    def error(self) -> float:
        return self.ours[1] / self.measured - 1 if self.ours else 0.0


def known(row: dict[str, str]) -> Facts:
    """A row as gpulint is told it."""
    gpus = int(row["gpus"])
    node = SUPERCHIP_NODE_GPUS if row["accelerator"].startswith("gb") else NODE_GPUS
    stated: dict[str, object] = {
        "task": "training",
        "packed": True,
        "accelerator": row["accelerator"],
        "gpus_per_replica": gpus,
        "gpus_per_pod": min(gpus, node),
        "pods_per_replica": max(1, gpus // node),
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
    }
    if row["network_gbit_per_s_per_gpu"]:
        speed = float(row["network_gbit_per_s_per_gpu"]) * min(gpus, node) * units.GBIT
        stated |= {"network_bytes_per_s": speed, "network_kind": "infiniband"}
    stated |= dict(_words(row["stated"]))
    fields = {name: Field(value) for name, value in stated.items()}  # type: ignore[arg-type]
    return resolver.resolve(Role(row["id"], NOWHERE, fields), _network(row["model"]))


def _words(text: str) -> Iterable[tuple[str, object]]:
    kinds = {name: quantity.type for name, quantity in glossary().items()}
    for word in text.split(";"):
        name, _, value = word.partition("=")
        number = float(value) if kinds[name] == "number" and not value.isdigit() else value
        yield name, int(value) if value.isdigit() else value == "true" if kinds[name] == "flag" else number


def _network(model: str) -> Resolution | None:
    if model == INTERNLM.id:
        return Resolution(INTERNLM, "the source's configuration")
    return architecture.resolve(model) if "/" in model else model_words.resolved(model)


def judged(row: dict[str, str]) -> Judged:
    found = known(row)
    rates, floor = found.scenarios("training_tokens_per_s_per_gpu"), found.expected("step_floor_s")
    measured = float(row["tokens_per_s_per_gpu"])
    if isinstance(rates, Missing) or isinstance(floor, Missing):
        return Judged(row["id"], row["half"], measured, None, missing=", ".join(sorted(found.missing(["step_s"]))))
    low, expected, high = sorted(float(value) for value in rates)  # type: ignore[arg-type]
    step = float(found.expected("step_s"))  # type: ignore[arg-type]
    return Judged(row["id"], row["half"], measured, (low, expected, high), expected * step / float(floor))  # type: ignore[arg-type]


def table(every: list[Judged]) -> list[tuple[str, ...]]:
    """A line for each source and half, then for each half."""
    sources = sorted({one.id.rpartition("-")[0] for one in every})
    lines: list[tuple[str, ...]] = [HEAD]
    for half in ("fitted", "held"):
        own = [one for one in every if one.half == half]
        lines += [_line(name, half, [one for one in own if one.id.startswith(name)]) for name in sources]
    return [*lines, *(_line("all", half, [one for one in every if one.half == half]) for half in ("fitted", "held"))]


def _line(title: str, half: str, every: list[Judged]) -> tuple[str, ...]:
    answered = [one for one in every if one.ours]
    if not answered:
        return (title, half, str(len(every)), share(0, len(every)), "-", "-", "-", "-", "-")
    errors = sorted(abs(one.error) for one in answered)
    inside = sum(one.ours[0] <= one.measured <= one.ours[2] for one in answered if one.ours)
    p90 = errors[max(0, -(-9 * len(errors) // 10) - 1)]
    shown = (
        f"{statistics.median(errors):.1%}",
        f"{p90:.1%}",
        f"{statistics.median(one.error for one in answered):+.1%}",
    )
    beaten = sum(one.measured > one.bound for one in answered)
    return (
        title,
        half,
        str(len(every)),
        share(len(answered), len(every)),
        *shown,
        share(inside, len(answered)),
        str(beaten),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", dest="listed", help="print each run")
    arguments = parser.parse_args()
    with ROWS.open(encoding="utf-8", newline="") as file:
        every = [judged(row) for row in csv.DictReader(file)]
    print(alone.table(table(every)))
    for one in every if arguments.listed else ():
        ours = " ".join(f"{value:,.1f}" for value in one.ours) if one.ours else f"lacks {one.missing}"
        print(f"{one.id:<24} {one.half:<7} {one.measured:>10,.1f}  {ours}  {one.error:+.1%}")


if __name__ == "__main__":
    main()
