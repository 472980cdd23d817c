"""Links and collectives: what joins the ranks of a layout, and how fast it carries what they exchange."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from gpulint import units
from gpulint.catalog import hardware, tables
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Scenarios
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role, Unknown


def role(**stated: Any) -> Facts:
    """The facts of a role that states these values beside one rank of everything."""
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    whole = {"task": "inference", "tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 1}
    whole = {"engine": "vllm", "gpus_per_pod": 8, **whole, **stated}
    return resolver.resolve(Role("server", nowhere, {name: Field(value) for name, value in whole.items()}), None)


def expected_value(found: Facts, name: str) -> Any:
    value = found.expected(name)
    assert not isinstance(value, Missing), value
    return value


def lacks(found: Facts, name: str) -> set[str]:
    missing = found.scenarios(name)
    assert isinstance(missing, Missing), missing
    return set(missing.names)


# ---- what joins the ranks


@pytest.mark.parametrize(
    ("stated", "medium"),
    [
        ({"accelerator": "h100-sxm-80gb", "tensor_parallel": 8}, "nvlink4"),
        ({"accelerator": "l40s", "tensor_parallel": 4}, "pcie4x16"),
        ({"accelerator": "h100-nvl-94gb", "tensor_parallel": 2}, "pcie5x16"),
        ({"accelerator": "h100-nvl-94gb", "tensor_parallel": 2, "nvlink_bridge": True}, "nvlink4-bridge"),
        ({"accelerator": "h100-nvl-94gb", "tensor_parallel": 4, "nvlink_bridge": True}, "pcie5x16"),
        ({"accelerator": "mi300x", "tensor_parallel": 2}, "xgmi"),
        ({"accelerator": "gb200", "tensor_parallel": 16, "gpus_per_pod": 4}, "nvlink5"),
        ({"accelerator": "h100-sxm-80gb", "tensor_parallel": 16, "instance_type": "p5.48xlarge"}, "efa"),
        ({"accelerator": "h100-sxm-80gb", "tensor_parallel": 16, "instance_type": "a3-megagpu-8g"}, "gpudirect-tcpxo"),
    ],
)
def test_the_widest_medium_that_joins_all_ranks_is_taken(stated: dict[str, Any], medium: str) -> None:
    assert expected_value(role(**stated), "tensor_medium") == medium


def test_a_machine_type_that_is_sold_with_bridges_has_them() -> None:
    found = role(accelerator="a100-pcie-80gb", tensor_parallel=2, instance_type="Standard_NC48ads_A100_v4")
    assert expected_value(found, "tensor_medium") == "nvlink3-bridge"


def test_sixteen_cards_behind_switches_are_joined() -> None:
    found = role(accelerator="a100-sxm4-40gb", tensor_parallel=16, gpus_per_pod=16, instance_type="a2-megagpu-16g")
    assert expected_value(found, "tensor_medium") == "nvlink3"


def test_pods_of_one_card_each_are_not_taken_for_one_node() -> None:
    found = role(accelerator="h100-sxm-80gb", tensor_parallel=8, gpus_per_pod=1, instance_type="p5.48xlarge")
    assert expected_value(found, "tensor_medium") == "efa"


def test_rdma_that_is_switched_off_leaves_sockets() -> None:
    stated = {"tensor_parallel": 16, "instance_type": "p5.48xlarge", "rdma_switched_off": "NCCL_IB_DISABLE"}
    assert expected_value(role(accelerator="h100-sxm-80gb", **stated), "tensor_medium") == "tcp"


def test_one_rank_needs_no_link() -> None:
    found = role(accelerator="l4", gpus_per_pod=1)
    assert (expected_value(found, "tensor_medium"), expected_value(found, "tensor_hop_s")) == (None, 0.0)
    assert expected_value(found, "tensor_bus_bytes_per_s") == math.inf


def test_a_network_that_nothing_states_is_not_guessed() -> None:
    found = role(accelerator="h100-sxm-80gb", tensor_parallel=16)
    assert lacks(found, "tensor_bus_bytes_per_s") == {"network_kind"}
    assert lacks(found, "network_bytes_per_s_per_gpu") == {"network_bytes_per_s"}


@pytest.mark.parametrize(
    ("cloud", "accelerator", "kind"),
    [("aws", "h100-sxm-80gb", "efa"), ("gcp", "b200-sxm-180gb", "roce"), ("aws", "a100-sxm4-80gb", "efa")],
)
def test_a_cloud_with_one_machine_type_for_a_full_node_tells_its_network(
    cloud: str, accelerator: str, kind: str
) -> None:
    found = role(accelerator=accelerator, tensor_parallel=16, cloud=cloud)
    assert expected_value(found, "tensor_medium") == kind


@pytest.mark.parametrize(
    ("cloud", "accelerator"), [("gcp", "h100-sxm-80gb"), ("azure", "h100-sxm-80gb"), ("aws", "mi300x"), ("", "gb10")]
)
def test_machine_types_that_differ_leave_the_network_open(cloud: str, accelerator: str) -> None:
    found = role(accelerator=accelerator, tensor_parallel=16, cloud=cloud)
    assert lacks(found, "tensor_medium") == {"network_kind"}


def test_a_node_s_network_is_not_needed_where_the_ranks_stay_inside_it() -> None:
    assert expected_value(role(accelerator="h100-sxm-80gb", tensor_parallel=8), "tensor_bus_bytes_per_s") > 300e9


def test_megatron_s_order_puts_copies_of_a_whole_node_s_tensor_group_on_the_network() -> None:
    stated = {"task": "training", "tensor_parallel": 8, "training_copies": 4, "instance_type": "p5.48xlarge"}
    found = role(accelerator="h100-sxm-80gb", **stated)
    assert (expected_value(found, "tensor_medium"), expected_value(found, "data_medium")) == ("nvlink4", "efa")
    assert expected_value(found, "data_nominal_bytes_per_s") == 50e9


def test_an_engine_tells_whether_copies_are_of_training() -> None:
    stated = {"task": Unknown("nothing"), "training_copies": 4, "instance_type": "p5.48xlarge"}
    found = role(accelerator="h100-sxm-80gb", tensor_parallel=8, engine="megatron_lm", **stated)
    assert lacks(found, "data_ranks") == {"task"}
    plain = {name: value for name, value in stated.items() if name != "task"}
    fields = {
        **dict.fromkeys(("pipeline_parallel", "context_parallel"), 1),
        "tensor_parallel": 8,
        "gpus_per_pod": 8,
        **plain,
    }
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    known = {name: Field(value) for name, value in {**fields, "engine": "megatron_lm"}.items()}
    assert expected_value(resolver.resolve(Role("train", nowhere, known), None), "data_ranks") == 4


def test_eight_copies_in_a_node_share_all_of_its_network_cards() -> None:
    stated = {"task": "training", "training_copies": 16, "instance_type": "p5.48xlarge"}
    assert expected_value(role(accelerator="h100-sxm-80gb", **stated), "data_nominal_bytes_per_s") == 400e9


def test_oversubscription_divides_what_crosses_the_nodes() -> None:
    stated = {"accelerator": "h100-sxm-80gb", "tensor_parallel": 32, "instance_type": "p5.48xlarge"}
    assert expected_value(role(network_oversubscription=2.0, **stated), "tensor_nominal_bytes_per_s") == 200e9


def test_rails_keep_rings_below_oversubscribed_switches_but_not_an_all_to_all() -> None:
    stated = {"accelerator": "h100-sxm-80gb", "instance_type": "p5.48xlarge", "rail_optimized": True}
    found = role(network_oversubscription=2.0, tensor_parallel=32, expert_ranks=32, **stated)
    assert expected_value(found, "tensor_nominal_bytes_per_s") == 400e9
    assert expected_value(found, "expert_nominal_bytes_per_s") == pytest.approx(50e9 * 31 / 24 / 2)


# ---- the pair of a mesh


def test_a_pair_of_a_mesh_uses_one_of_its_links() -> None:
    two, eight = (
        expected_value(role(accelerator="mi300x", tensor_parallel=n), "tensor_bus_bytes_per_s") / 1e9 for n in (2, 8)
    )
    assert two == pytest.approx(48, rel=0.05)  # AMD ROCm blog, 2025-03: about 48 GB/s a link
    assert eight == pytest.approx(313, rel=0.05)  # ml-engineering, network/README.md: 312.9


# ---- the catalog


@pytest.mark.parametrize("row", tables.rows("accelerators"), ids=lambda row: row["id"])
def test_every_link_of_an_accelerator_is_listed(row: tables.Row) -> None:
    assert row["link"] == "none" or hardware.link(row["link"])
    assert not row["host_link"] or hardware.link(row["host_link"])


@pytest.mark.parametrize("row", tables.rows("nodes"), ids=lambda row: row["instance_type"])
def test_every_network_of_a_node_is_listed(row: tables.Row) -> None:
    machine = hardware.node(row["instance_type"])
    assert machine is not None
    assert machine.network_kind is None or hardware.link(machine.network_kind) is not None


@pytest.mark.parametrize("row", tables.rows("collectives"), ids=lambda row: f"{row['medium']}-{row['ranks_from']}")
def test_the_scenarios_of_a_measurement_are_in_order(row: tables.Row) -> None:
    for name in ("slowdown", "hop_s"):
        best, middle, worst = (float(row[f"{name}_{scenario}"]) for scenario in Scenarios._fields)
        assert 0 < best <= middle <= worst
    assert hardware.link(row["medium"]) is not None


def test_no_two_measurements_hold_for_the_same_ranks() -> None:
    rows = tables.rows("collectives")
    for one in rows:
        same = [row for row in rows if all(row[key] == one[key] for key in ("medium", "operation", "engine"))]
        spans = sorted((int(row["ranks_from"]), int(row["ranks_until"] or 10**6)) for row in same)
        assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))


# ---- more of what slows down never makes anything faster


@pytest.mark.parametrize("name", ["host_copy_bytes_per_s", "tensor_bus_bytes_per_s", "pipeline_bytes_per_s"])
@pytest.mark.parametrize("accelerator", ["h100-sxm-80gb", "l40s", "mi300x"])
def test_bandwidth_falls_from_scenario_to_scenario(name: str, accelerator: str) -> None:
    found = role(accelerator=accelerator, tensor_parallel=2, pipeline_parallel=2).scenarios(name)
    assert not isinstance(found, Missing)
    assert found.best > found.expected > found.worst > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("instance", "gbit_per_s", "cards", "kind", "direct"),
    [
        ("p5.48xlarge", 3200, 32, "efa", True),
        ("ml.p5en.48xlarge", 3200, 16, "efa", True),
        ("p4d.24xlarge", 400, 4, "efa", True),
        ("g6e.48xlarge", 400, None, "efa", False),
        ("Standard_ND96isr_H100_v5", 3200, 8, "infiniband", True),
        ("Standard_ND96is_H100_v5", 80, None, "tcp", False),
        ("a3-highgpu-8g", 800, 4, "gpudirect-tcpx", True),
        ("a3-megagpu-8g", 1600, 8, "gpudirect-tcpxo", True),
        ("a2-highgpu-8g", 100, None, "tcp", False),
        ("BM.GPU.H100.8", 3200, 16, "roce", True),
        ("BM.GPU.B300.8", None, 16, "roce", True),
    ],
)
def test_machine_types_have_the_network_that_their_cloud_states(
    instance: str, gbit_per_s: int | None, cards: int | None, kind: str, direct: bool
) -> None:
    machine = hardware.node(instance)
    assert machine is not None
    assert machine.network_bytes_per_s == (None if gbit_per_s is None else gbit_per_s * units.GBIT)
    assert (machine.node_nics, machine.network_kind, machine.gpudirect) == (cards, kind, direct)


@pytest.mark.parametrize(
    ("accelerator", "link", "bytes_per_s"),
    [
        ("h100-sxm-80gb", "pcie5x16", 63e9),
        ("a100-sxm4-80gb", "pcie4x16", 31.5e9),
        ("t4", "pcie3x16", 15.8e9),
        ("a2", "pcie4x8", 15.8e9),
        ("gh200-96gb", "nvlink-c2c", 450e9),
    ],
)
def test_the_link_to_the_host_is_of_the_card_s_generation(accelerator: str, link: str, bytes_per_s: float) -> None:
    card = hardware.accelerator(accelerator)
    assert card is not None
    assert card.host_link == link
    assert card.host_link_bytes_per_s == pytest.approx(bytes_per_s, rel=0.01)


def test_nccl_s_own_constants_lie_between_what_is_likely_and_the_nominal_bandwidth() -> None:
    """NCCL, src/graph/topo.h: 20.6 GB/s of 25 for each of the 18 links of an H100."""
    for row in tables.rows("links"):
        one = hardware.link(row["id"])
        assert one is not None
        if one.nccl_bytes_per_s and one.bytes_per_s:
            assert 0.7 <= one.nccl_bytes_per_s / one.bytes_per_s <= 0.9
