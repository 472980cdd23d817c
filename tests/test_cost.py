"""What workloads cost, draw and emit, worked out by hand from published prices, runs and measurements.

List prices: p5.48xlarge 55.04 and p5.4xlarge 6.88 USD an hour, AWS us-east-1, 2026-07-20; g2-standard-4 0.70683 (spot 0.39734),
GCP us-central1, 2026-08-03.
"""

from __future__ import annotations

from typing import Any

import pytest

from gpulint.catalog import hardware
from gpulint.catalog.offers import EVERYTHING, Available, Energy, Pool, Price
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.sizing.cost import energy, price
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
H100 = {"accelerator": "h100-sxm-80gb", "instance_type": "p5.48xlarge"}
ONE = {"gpus_per_pod": 1, "pods_per_replica": 1, "gpus_per_replica": 1, "replicas": 1}


def known(available: Available = EVERYTHING, **stated: Any) -> Facts:
    fields = {name: Field(value) for name, value in ({"device": "gpu", **ONE} | stated).items()}
    return resolver.resolve(Role("server", NOWHERE, fields, available=available), None)


def usd(available: Available = EVERYTHING, **stated: Any) -> object:
    return known(available, **stated).expected("cost_usd_per_hour")


# ---- per hour


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param({"gpus_per_pod": 8, "gpus_per_replica": 8}, 55.04, id="a machine"),
        pytest.param({"gpus_per_pod": 4, "gpus_per_replica": 4, "replicas": 2}, 55.04, id="two halves"),
        pytest.param({"gpus_per_pod": 8, "pods_per_replica": 2, "gpus_per_replica": 16, "replicas": 3}, 330.24, id="3 × 2"),
        pytest.param({}, 6.88, id="an eighth"),
        pytest.param({"whole_node": True}, 55.04, id="a whole machine for one GPU"),
        pytest.param({"whole_machine": True, "gpus_per_pod": 4, "gpus_per_replica": 4, "replicas": 2}, 110.08, id="own"),
        pytest.param({"mig_profile": "1g.10gb"}, 55.04 / 8 / 7, id="one of the seven slices of a card"),
        pytest.param({"mig_profile": "3g.40gb"}, 55.04 / 8 / 2, id="one of two"),
        pytest.param({"gpus_per_pod": 0.5, "gpus_per_replica": 0.5}, 3.44, id="half a card"),
    ],
)  # fmt: skip
def test_a_workload_costs_its_share_of_the_machines_or_the_machines_that_it_takes_whole(
    stated: dict[str, Any], expected: float
) -> None:
    assert usd(**H100, **stated) == pytest.approx(expected)


def test_without_a_machine_type_it_is_the_cheapest_of_the_cloud_and_spot_beside_it() -> None:
    found = known(accelerator="l4", cloud="gcp", replicas=3)
    assert found.expected("cost_usd_per_hour") == pytest.approx(2.12049)
    assert found.expected("spot_usd_per_hour") == pytest.approx(1.19202)
    assert known(accelerator="l4", cloud="aws").expected("cost_usd_per_hour") == 0.8048


def test_a_team_that_pays_otherwise_is_told_so() -> None:
    own = Price(2.5, "2026-11-01", accelerator="h100-sxm-80gb")
    assert usd(Available(prices=(own,)), **H100, gpus_per_pod=8, gpus_per_replica=8) == 20.0
    lab = Available(pools=(Pool("lab", "h100-sxm-80gb", 8),), prices=(Price(12.0, "2026-11-01", pool="lab"),))
    assert usd(lab, accelerator="h100-sxm-80gb", node_pool="lab") == 1.5


@pytest.mark.parametrize(
    "stated",
    [
        pytest.param({"accelerator": "h100-sxm-80gb", "instance_type": "p5e.48xlarge"}, id="a machine without a price"),
        pytest.param({"accelerator": "rtx-4090"}, id="a card that no cloud of the catalog rents out"),
        pytest.param({"accelerator": "l4", "cloud": "azure"}, id="a card that this cloud has not"),
        pytest.param({**H100, "sharing": "time-slicing"}, id="a card in shares of unknown size"),
        pytest.param({**H100, "gpus_per_pod": 16, "gpus_per_replica": 16}, id="more than a machine holds"),
        pytest.param({"instance_type": "p5.48xlarge", "replicas": None}, id="how many is not stated"),
        pytest.param({}, id="nothing"),
    ],
)  # fmt: skip
def test_what_nobody_knows_has_no_price(stated: dict[str, Any]) -> None:
    fields = {name: value for name, value in stated.items() if value is not None}
    found = known(**fields)
    if "replicas" in stated:
        found = resolver.resolve(
            Role("server", NOWHERE, {k: v for k, v in found.role.fields.items() if k != "replicas"}), None
        )
    assert isinstance(found.scenarios("cost_usd_per_hour"), Missing)


def test_spot_that_no_dated_list_has_is_not_known_where_the_price_is() -> None:
    found = known(**H100)
    assert isinstance(found.scenarios("spot_usd_per_hour"), Missing)
    assert found.expected("cost_usd_per_hour") == pytest.approx(6.88)


def test_the_slices_of_a_card_are_those_that_nvidia_lists() -> None:
    """NVIDIA MIG user guide, H100 80GB: 7 × 1g.10gb, 3 × 2g.20gb, 2 × 3g.40gb, 1 × 7g.80gb."""
    counts = [hardware.slices_per_card(name, "h100-sxm-80gb") for name in ("1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb")]
    assert counts == [7, 3, 2, 1]
    assert hardware.slices_per_card("9g.90gb", "h100-sxm-80gb") is None


# ---- per million tokens


def test_deepseek_on_h100_costs_what_lmsys_published() -> None:
    """22.3k output tokens a second of a node of eight H100 for $0.20 per million: lmsys.org, 2025-05-05, large-scale EP.

    The post gives no price; $2 a GPU-hour, $16 a node, is the one at which its two figures agree.
    """
    assert price.cost_usd_per_million_tokens(16.0, 22_300) == pytest.approx(0.1993, abs=1e-4)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param((None, 0.0, 700.0, 3, 4000.0), 4000.0, id="nothing is stated: all that can be carried"),
        pytest.param((64, 0.0, 700.0, 3, 4000.0), 2100.0, id="so many at once"),
        pytest.param((None, 1500.0, None, 3, 4000.0), 1500.0, id="the wanted rate"),
        pytest.param((64, 5000.0, 700.0, 3, 4000.0), 4000.0, id="no more than can be carried"),
    ],
)
def test_tokens_are_counted_at_the_stated_load_or_the_full_one(stated: tuple[Any, ...], expected: float) -> None:
    assert price.delivered_tokens_per_s(*stated) == expected


SERVED = {
    "engine": "vllm",
    "engine_version": "0.10.1",
    "checkpoint": "meta-llama/Llama-3.1-8B-Instruct",
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "data_parallel": 1,
    "max_model_len": 8192,
    "task": "inference",
    "request_prompt_tokens": 1000,
    "request_output_tokens": 250,
    "max_model_len_stated": True,
}


def served(available: Available = EVERYTHING, **stated: Any) -> Facts:
    from gpulint.catalog import architecture

    role = known(available, **SERVED, **H100, **stated).role
    return resolver.resolve(role, architecture.resolve("meta-llama/Llama-3.1-8B-Instruct"))


def test_a_slower_scenario_costs_more_for_each_token() -> None:
    scenarios = served().scenarios("cost_usd_per_million_tokens")
    assert not isinstance(scenarios, Missing)
    assert 0 < float(scenarios.best) < float(scenarios.expected) < float(scenarios.worst)  # type: ignore[arg-type]


def test_a_replica_that_is_not_needed_makes_each_token_dearer() -> None:
    one, two = (served(replicas=count, target_concurrency=32) for count in (1, 2))
    costs = [found.expected("cost_usd_per_million_tokens") for found in (one, two)]
    assert float(costs[0]) < float(costs[1])  # type: ignore[arg-type]


def test_without_a_usual_request_there_is_no_price_of_tokens() -> None:
    lacking = {name: value for name, value in SERVED.items() if not name.startswith("request_")}
    assert isinstance(known(**lacking, **H100).scenarios("cost_usd_per_million_tokens"), Missing)


# ---- per training run


def test_deepseek_v3_cost_what_its_report_says() -> None:
    """DeepSeek-V3 technical report, table 1: 2.788 million H800 hours at $2 are $5.576 million, on 2,048 GPUs.

    Section 1: pre-training takes 180 thousand GPU-hours for each trillion tokens, so 1,543 tokens a second of each GPU.
    """
    hours = 2.788e6 / 2048
    assert price.training_cost_usd(2048 * 2.0, hours * 3600) == pytest.approx(5.576e6)
    rate = 1e12 / (180e3 * 3600)
    assert price.training_cost_usd_per_billion_tokens(2048 * 2.0, rate, 2048) == pytest.approx(360.0)


def test_mpt_7b_cost_what_mosaic_published() -> None:
    """MPT-7B: 440 A100 40GB for 9.5 days, "~$200k" (databricks.com/blog/mpt-7b, 2023-05-05): $2 a GPU-hour."""
    assert price.training_cost_usd(440 * 2.0, 9.5 * 86400) == pytest.approx(200_640)


# ---- power, energy, CO2


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param({"task": "inference"}, 700 * 0.6, id="serving"),
        pytest.param({"task": "training"}, 700 * 0.76, id="training"),
        pytest.param({"task": "inference", "gpus_per_pod": 8, "gpus_per_replica": 16, "replicas": 2}, 32 * 420, id="many"),
        pytest.param({"task": "training", "power_cap_w": 400.0}, 400 * 0.76, id="under a lowered limit"),
    ],
)  # fmt: skip
def test_the_busy_boards_draw_their_share(stated: dict[str, Any], expected: float) -> None:
    assert known(**H100, **stated).expected("power_w") == pytest.approx(expected)


def test_a_training_node_draws_less_than_it_is_rated_for() -> None:
    """8 H100 train at 7.8 of 10.2 kW, 0.76 (arXiv 2506.14551); at most 8.4 kW, 0.82 (arXiv 2412.08602)."""
    low, high = (known(**H100, task="training").scenarios("training_board_share")[at] for at in (0, 2))  # type: ignore[index]
    assert low < 0.76 < 0.82 < high


def test_bloom_used_and_emitted_what_was_published() -> None:
    """BLOOM: 1,082,990 hours of A100 at 400 W, 433,196 kWh, 24.69 t at 57 g/kWh (Luccioni et al., 2022, section 4.2)."""
    used = energy.training_energy_j(384 * 400.0, 1.0, 1_082_990 / 384 * 3600)
    assert used / 3.6e6 == pytest.approx(433_196)
    hours = 1_082_990 / 384
    assert energy.co2_kg_per_hour(384 * 400.0, 1.0, 0.057) * hours == pytest.approx(24_692, rel=1e-4)


def test_the_grid_is_that_of_the_regions_that_a_team_names() -> None:
    """Grid of us-central1 in 2024: 412.72 g/kWh (GoogleCloudPlatform/region-carbon-info); PUE about 1.1 (DCD, 2024-12)."""
    team = Available(regions=("us-central1",))
    found = known(team, accelerator="l4", cloud="gcp", task="inference")
    assert found.expected("co2_kg_per_hour") == pytest.approx(72 * 0.6 / 1000 * 1.1 * 0.41272)
    assert isinstance(known(accelerator="l4", cloud="gcp", task="inference").scenarios("co2_kg_per_hour"), Missing)


def test_a_teams_own_site_comes_first() -> None:
    site = Available(energy=Energy(usd_per_kwh=0.2, co2_kg_per_kwh=0.03, pue=1.5))
    found = known(site, **H100, task="inference", gpus_per_pod=8, gpus_per_replica=8)
    assert found.expected("facility_w") == pytest.approx(5040.0)
    assert found.expected("energy_usd_per_hour") == pytest.approx(1.008)
    assert found.expected("co2_kg_per_hour") == pytest.approx(0.1512)


def test_electricity_has_no_price_where_none_is_stated() -> None:
    assert isinstance(known(**H100, task="inference").scenarios("energy_usd_per_hour"), Missing)


def test_more_power_is_never_cheaper_in_a_worse_scenario() -> None:
    site = Available(energy=Energy(usd_per_kwh=0.2, co2_kg_per_kwh=0.03, pue=1.5))
    for task in ("inference", "training"):
        for name in ("power_w", "energy_usd_per_hour", "co2_kg_per_hour"):
            scenarios = known(site, **H100, task=task).scenarios(name)
            assert not isinstance(scenarios, Missing)
            assert scenarios.best < scenarios.expected < scenarios.worst, name  # type: ignore[operator]
