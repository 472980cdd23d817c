"""Measured matrix products, copies, sends and collectives: each a role that asks for one fact."""

from __future__ import annotations

from collections.abc import Iterator

import figures

from gpulint import units
from gpulint.catalog import hardware
from gpulint.facts.model import Facts, Missing
from gpulint.sizing.interconnect import _bandwidth


def products(case: figures.Case, fields: figures.Fields) -> Iterator[figures.Asked]:
    dtype = "fp8" if "fp8" in str(figures.config(case).get("dtype", "")) else "bfloat16"
    known = figures.known({**fields, "training_dtype": dtype, "task": "training"}, None)
    measured = figures.measured(case, "achievable_tflops") or figures.measured(case, "achieved_tflops")
    if measured is not None:
        bound = figures.scaled(known, "training_peak_flop_per_s", units.TERA)
        yield figures.Asked(
            "achievable_tflops", measured, figures.of(known, "achievable_flop_per_s", units.TERA), bound
        )


def host(case: figures.Case, fields: figures.Fields) -> Iterator[figures.Asked]:
    known = figures.known(fields, None)
    for name in ("h2d_gbps", "d2h_gbps"):
        if (measured := figures.measured(case, name)) is not None:
            bound = figures.scaled(known, "host_link_bytes_per_s", units.GB)
            yield figures.Asked(name, measured, figures.of(known, "host_copy_bytes_per_s", units.GB), bound)


def pairs(case: figures.Case, fields: figures.Fields) -> Iterator[figures.Asked]:
    stages = {"tensor_parallel": 1, "pipeline_parallel": 2, "context_parallel": 1, "training_copies": 1}
    known = figures.known({**fields, **figures.ranks(2), **stages, "task": "training", "engine": "megatron-lm"}, None)
    for name, ways in (("unidirectional_gbps", 1), ("duplex_gbps", 2)):
        if (measured := figures.measured(case, name)) is not None:
            bound = figures.scaled(known, "pipeline_nominal_bytes_per_s", units.GB / ways)
            yield figures.Asked(name, measured, figures.of(known, "pipeline_bytes_per_s", units.GB / ways), bound)


def collectives(case: figures.Case, fields: figures.Fields) -> Iterator[figures.Asked]:
    config = figures.config(case)
    ranks = int(float(str(config.get("gpus") or fields["gpus_per_replica"])))
    known = figures.known({**fields, "tensor_parallel": ranks, "pipeline_parallel": 1, "task": "training"}, None)
    payload = figures.payload(str(config.get("bytes") or config.get("payload") or ""))
    name = str(config.get("collective", "all_reduce"))
    moved = figures.measured(case, "algbw_gbps")
    whole = 2 * (ranks - 1) / ranks if name == "all_reduce" else (ranks - 1) / ranks
    if (measured := figures.measured(case, "busbw_gbps") or (moved and moved * whole)) is not None:
        yield figures.Asked(
            "busbw_gbps",
            measured,
            lambda: _bus(known, name, payload, ranks),
            lambda: _bus_bound(known, name, ranks),
        )


def _bus(known: Facts, name: str, payload: float | None, ranks: int) -> figures.Values:
    """The bus bandwidth of a collective with that payload, or of a large one."""
    found, hops = known.scenarios("tensor_bus_bytes_per_s"), known.scenarios("tensor_hop_s")
    if isinstance(found, Missing) or isinstance(hops, Missing):
        return ", ".join(sorted(known.missing(["tensor_bus_bytes_per_s", "tensor_hop_s"])))
    values = [float(one) for one in found]  # type: ignore[arg-type]
    if payload:
        times = [
            _bandwidth.all_gather_s(payload, ranks, bus, float(hop))  # type: ignore[arg-type]
            for bus, hop in zip(values, hops, strict=True)
        ]
        values = [(ranks - 1) / ranks * payload / time for time in times]
        if name == "all_reduce":
            pairs = zip([float(one) for one in found], hops, strict=True)  # type: ignore[arg-type]
            times = [_bandwidth.all_reduce_s(payload, ranks, bus, float(hop)) for bus, hop in pairs]  # type: ignore[arg-type]
            values = [2 * (ranks - 1) / ranks * payload / time for time in times]
    return figures.ordered(values, units.GB)


def _bus_bound(known: Facts, name: str, ranks: int) -> float | None:
    """The bus bandwidth that physics forbids: the nominal one; twice as much less its own where switches add up."""
    nominal, medium = known.expected("tensor_nominal_bytes_per_s"), known.expected("tensor_medium")
    if not isinstance(nominal, int | float):
        return None
    joined = hardware.link(str(medium))
    in_switch = name == "all_reduce" and joined is not None and joined.reduces
    return 2 * (ranks - 1) / ranks * nominal / _bandwidth.all_reduce_floor_s(1.0, ranks, 1.0, in_switch) / units.GB
