"""Collectives against measured ones: our time for each row of the tables that ship in the aiconfigurator package.

    python bench/fabric.py SYSTEMS [--by medium|system|operation|ranks|payload]

Needs pandas and pyarrow, as the package itself does; SYSTEMS is its folder `aiconfigurator_core/systems`.
The tables are read where they are and never copied (Apache-2.0, NVIDIA). Half of the systems were fitted, half are held:
H200, B300, GB300 and RTX PRO 6000. A row is covered where its time lies between the best and the worst scenario. Rows
of engines in eager mode measure the launch of kernels and are left out.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gpulint.catalog import hardware
from gpulint.facts import resolver
from gpulint.facts.model import Missing
from gpulint.report.model import Scenarios
from gpulint.sizing.interconnect import _bandwidth
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role, Value

ACCELERATORS = {
    "a100_sxm": "a100-sxm4-80gb",
    "b200_sxm": "b200-sxm-180gb",
    "b300_sxm": "b300-sxm-288gb",
    "b60": "arc-pro-b60",
    "gb200": "gb200",
    "gb300": "gb300",
    "h100_sxm": "h100-sxm-80gb",
    "h200_sxm": "h200-sxm-141gb",
    "l40s": "l40s",
    "rtx_pro_6000_server": "rtx-pro-6000-se",
}
HELD = frozenset({"h200_sxm", "b300_sxm", "gb300", "rtx_pro_6000_server"})
ENGINES = {"trtllm": "tensorrt_llm", "vllm": "vllm", "sglang": "sglang"}
AXES = {
    "all_reduce": ("tensor", "tensor_parallel", _bandwidth.all_reduce_s),
    "all_gather": ("data", "data_parallel", _bandwidth.all_gather_s),
    "reduce_scatter": ("data", "data_parallel", _bandwidth.reduce_scatter_s),
    "alltoall": ("expert", "expert_ranks", _bandwidth.all_to_all_s),
}
"""An operation, the kind of parallelism whose facts tell its bandwidth, and its cost."""
SIZES = {"half": 2, "bfloat16": 2, "int8": 1}


class Row(NamedTuple):
    """One measured time and ours."""

    system: str
    medium: str
    operation: str
    ranks: int
    payload: str
    measured_s: float
    ours_s: Scenarios[float]
    floor_s: float


def main() -> None:
    """Read the tables, judge each row and print one line a group."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("systems", type=Path)
    options.add_argument("--by", choices=("medium", "system", "operation", "ranks", "payload"), default="medium")
    given = options.parse_args()
    rows = list(judged(given.systems))
    print(f"{'half':7}{given.by:16}{'n':>6}{'median':>8}{'p90':>8}{'covered':>9}{'beaten':>8}")
    for half, held in (("fitted", False), ("held", True)):
        ours = [row for row in rows if (row.system in HELD) is held]
        groups = defaultdict(list)
        for row in ours:
            groups[str(getattr(row, given.by))].append(row)
        for name in sorted(groups):
            print(line(half, name, groups[name]))
        print(line(half, "all", ours))


def line(half: str, name: str, rows: list[Row]) -> str:
    """What the rows of a group say: absolute relative error, coverage, and floors that reality beats."""
    errors = sorted(abs(row.ours_s.expected / row.measured_s - 1) for row in rows)
    covered = sum(row.ours_s.best <= row.measured_s <= row.ours_s.worst for row in rows) / len(rows)
    beaten = sum(row.floor_s > row.measured_s for row in rows)
    p90 = errors[int(0.9 * (len(errors) - 1))]
    return f"{half:7}{name:16}{len(rows):6}{statistics.median(errors):8.1%}{p90:8.1%}{covered:9.1%}{beaten:8}"


def judged(systems: Path) -> Iterator[Row]:
    """Every row of the tables with our time for it."""
    for system, library, table in tables(systems):
        for row in table:
            operation = row.get("op_name", "all_reduce")
            if "eager" in f"{row.get('backend')}" or operation not in AXES or not row["latency"] > 0:
                continue
            engine = ENGINES.get(library, "") if "implementation" in row or "backend" in row else ""
            payload = row["message_size"] * SIZES.get(str(row.get("nccl_dtype") or row.get("allreduce_dtype")), 2)
            yield _row(system, engine, operation, int(row["num_gpus"]), float(payload), row["latency"] / 1e3)


def tables(systems: Path) -> Iterator[tuple[str, str, Iterable[dict[str, Any]]]]:
    """The tables of NCCL and of the engines' own kernels: system, library and rows."""
    pandas = importlib.import_module("pandas")
    for path in sorted((systems / "data").glob("*/comm/*/*/*.parquet")):
        if path.name in ("nccl_perf.parquet", "custom_allreduce_perf.parquet", "oneccl_perf.parquet"):
            system, _, library = path.relative_to(systems / "data").parts[:3]
            yield system, library, pandas.read_parquet(path).to_dict("records")


def _row(system: str, engine: str, operation: str, ranks: int, payload: float, measured_s: float) -> Row:
    axis, counted, cost = AXES[operation]
    medium, bus, hop, nominal = carried(ACCELERATORS[system], engine, axis, counted, ranks)
    ours = Scenarios(*(cost(payload, ranks, *each) for each in zip(bus, hop, strict=True)))
    link = hardware.link(medium)
    reduces = link is not None and link.reduces and operation == "all_reduce"
    floor = _bandwidth.all_reduce_floor_s(payload, ranks, nominal, reduces)
    floor = floor if operation == "all_reduce" else floor / 2
    size = "below 1 MB" if payload < 1e6 else "1 to 32 MB" if payload < 32e6 else "above 32 MB"
    return Row(system, medium, operation, ranks, size, measured_s, ours, floor)


@functools.cache
def carried(
    accelerator: str, engine: str, axis: str, counted: str, ranks: int
) -> tuple[str, Scenarios[float], Scenarios[float], float]:
    """What our facts say that a group of those ranks achieves: medium, bandwidth, latency, and the nominal bandwidth."""
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    stated: dict[str, Value] = {
        "task": "inference",
        "engine": engine or "vllm",
        "accelerator": accelerator,
        "gpus_per_pod": max(ranks, 8),
    }
    whole: dict[str, Value] = {
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "data_parallel": 1,
        **stated,
        counted: ranks,
    }
    role = Role("ranks", nowhere, {name: Field(value) for name, value in whole.items()})
    known = resolver.resolve(role if engine else role.having(engine=Field("deepspeed")), None)
    found = [
        known.scenarios(f"{axis}_{name}") for name in ("medium", "bus_bytes_per_s", "hop_s", "nominal_bytes_per_s")
    ]
    missing = [one for one in found if isinstance(one, Missing)]
    if missing:
        raise ValueError(f"{accelerator}, {ranks} ranks of {axis}: {missing}")
    medium, bus, hop, nominal = found
    return str(medium.expected), bus, hop, float(nominal.expected)  # type: ignore[union-attr, return-value, arg-type]


if __name__ == "__main__":
    main()
