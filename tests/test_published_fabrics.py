"""Published bandwidths of collectives, copies and pairs: what the model says of the same cards, ranks, payload and network."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from gpulint import units
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Scenarios
from gpulint.sizing.interconnect import _bandwidth
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

COSTS = {
    "all_reduce": ("tensor", _bandwidth.all_reduce_s, 2),
    "all_gather": ("data", _bandwidth.all_gather_s, 1),
    "reduce_scatter": ("data", _bandwidth.reduce_scatter_s, 1),
}
RANKS = {"tensor": "tensor_parallel", "data": "data_parallel"}
KINDS = {"efa": "efa", "infiniband": "infiniband", "roce": "roce", "tcpx": "gpudirect-tcpx", "tcpxo": "gpudirect-tcpxo"}
LARGE = 8 * units.GIB
"""The payload of a run whose source states none."""
WIDER = {
    "aws-p4d-16": "NCCL 2.9 of 2021 over a tree, which a ring's bus bandwidth does not bound",
    "aws-p4d-32": "NCCL 2.9 of 2021: six tenths of the network",
    "aws-p6-b200-16": "EFA gains less from a tree between two nodes than InfiniBand and RoCE do",
    "azure-h100-8-1m": "42 µs where the same benchmark takes 35 on the H200 machines",
    "mle-b200-8-ring": "NVLS was switched off",
    "mle-h200-6-ring": "NVLS was switched off",
    "mle-h200-8-ring": "NVLS was switched off",
    "nccl1639-5090-8": "fitted as two cards of one host",
}
"""Rows that only have to lie between the scenarios, and why."""


def rows() -> list[dict[str, str]]:
    with (Path(__file__).parent / "known_answers" / "interconnect.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def described(row: dict[str, str], **counted: int) -> Facts:
    """The facts of a role on those cards, nodes and network."""
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    ranks, nodes = int(row["gpus"]), int(row["nodes"])
    stated: dict[str, Any] = {"task": "inference", "engine": "deepspeed", "accelerator": row["hardware"]}
    stated |= {"tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 1, **counted}
    stated |= {"gpus_per_pod": ranks // nodes, "nvlink_bridge": row["link"] == "nvlink-bridge"}
    if kind := KINDS.get(row["link"].rpartition("+")[2]):
        stated["network_kind"] = kind
    if row["network_gbit_per_s_per_gpu"]:
        stated["network_bytes_per_s_per_gpu"] = float(row["network_gbit_per_s_per_gpu"]) * units.GBIT
    return resolver.resolve(Role("ranks", nowhere, {name: Field(value) for name, value in stated.items()}), None)


def scenarios(found: Facts, name: str) -> Scenarios[float]:
    value = found.scenarios(name)
    assert not isinstance(value, Missing), value
    return value  # type: ignore[return-value]


def ours(row: dict[str, str]) -> Scenarios[float]:
    """The bandwidth of a row in each scenario [bytes/s]."""
    if row["figure"] in ("host_to_device", "device_to_host"):
        return scenarios(described(row), "host_copy_bytes_per_s")
    if row["figure"] == "peer_to_peer":
        return scenarios(described(row, pipeline_parallel=2), "pipeline_bytes_per_s")
    axis, cost, sent = COSTS[row["collective"]]
    ranks, payload = int(row["gpus"]), float(row["payload_bytes"] or LARGE)
    found = described(row, **{RANKS[axis]: ranks})
    times = zip(scenarios(found, f"{axis}_bus_bytes_per_s"), scenarios(found, f"{axis}_hop_s"), strict=True)
    return Scenarios(*(sent * (ranks - 1) / ranks * payload / cost(payload, ranks, bus, hop) for bus, hop in times))


def measured(row: dict[str, str]) -> float:
    return float(row["value"]) * units.GB


JUDGED = [
    row
    for row in rows()
    if row["collective"] in (*COSTS, "copy", "send")
    and row["hardware"] != "gb10"
    and not (row["link"] == "pcie+roce" and not row["network_gbit_per_s_per_gpu"])
]
"""All but statements of whole networks, and machines whose network is not stated."""


@pytest.mark.parametrize("row", JUDGED, ids=[row["id"] for row in JUDGED])
def test_a_published_bandwidth_lies_between_the_scenarios(row: dict[str, str]) -> None:
    found = ours(row)
    assert found.worst <= measured(row) <= found.best


@pytest.mark.parametrize("row", JUDGED, ids=[row["id"] for row in JUDGED])
def test_the_likely_bandwidth_is_within_what_a_reader_grants(row: dict[str, str]) -> None:
    if row["id"] in WIDER:
        pytest.skip(WIDER[row["id"]])
    assert ours(row).expected == pytest.approx(measured(row), rel=float(row["band"]))


def test_half_of_the_published_bandwidths_are_within_a_tenth() -> None:
    errors = sorted(abs(ours(row).expected / measured(row) - 1) for row in JUDGED)
    assert len(errors) >= 60
    assert errors[len(errors) // 2] <= 0.1
