"""What a team can have: the catalog narrowed by `available:` and `pools:`, at the prices that `prices:` states.

List prices: AWS us-east-1, p5.48xlarge 55.04 USD an hour on 2026-07-20 (karpenter-provider-aws, generated price table).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import samples
from click.testing import CliRunner, Result

from gpulint import cli
from gpulint.catalog import offers
from gpulint.catalog.offers import EVERYTHING, Available, Offer, Pool, Price

H100S = Pool("lab", "h100-sxm-80gb", 8)
L40S = Pool("small", "l40s", 4)


def kinds(found: tuple[Offer, ...]) -> set[str]:
    return {one.instance_type or one.pool for one in found}


# ---- which machines


def test_unsaid_it_is_the_whole_catalog_of_the_files_cloud() -> None:
    found = offers.list_offers(EVERYTHING, "gcp")
    assert {one.cloud for one in found} == {"gcp"}
    assert {"g2-standard-4", "a3-highgpu-8g", "a4-highgpu-8g"} <= kinds(found)
    assert {"aws", "azure", "gcp", "oci"} <= {one.cloud for one in offers.list_offers(EVERYTHING)}


def test_named_clouds_stand_in_place_of_the_files() -> None:
    assert {one.cloud for one in offers.list_offers(Available(clouds=("aws", "azure")), "gcp")} == {"aws", "azure"}


def test_named_machine_types_are_all_there_is() -> None:
    assert kinds(offers.list_offers(Available(instance_types=("g6.xlarge", "p5.48xlarge")))) == {
        "g6.xlarge",
        "p5.48xlarge",
    }


def test_a_forbidden_accelerator_is_never_offered() -> None:
    assert "h100-sxm-80gb" not in {
        one.accelerator for one in offers.list_offers(Available(forbidden=("h100-sxm-80gb",)))
    }


def test_named_accelerators_are_all_there_is_also_in_pools() -> None:
    found = offers.list_offers(Available(accelerators=("l40s",), pools=(H100S, L40S)), "aws")
    assert {one.accelerator for one in found} == {"l40s"}
    assert "small" in kinds(found)


def test_pools_alone_are_all_there_is() -> None:
    assert kinds(offers.list_offers(Available(pools=(H100S, L40S), pools_only=True), "aws")) == {"lab", "small"}


def test_a_region_that_the_catalog_prices_leaves_only_what_can_be_had_there() -> None:
    found = offers.list_offers(Available(regions=("us-east4",)), "gcp")
    assert {one.region for one in found} == {"us-east4"}
    assert "a3-megagpu-8g" in kinds(found)
    assert "a2-highgpu-1g" not in kinds(found)  # cloud.google.com/compute/docs/gpus/gpu-regions-zones


def test_a_region_that_it_does_not_price_leaves_list_prices_of_elsewhere_said_so() -> None:
    found = offers.list_offers(Available(regions=("eu-west-1",)), "aws")
    assert {one.region for one in found if one.cost_usd_per_hour is not None} == {"us-east-1"}


def test_of_several_regions_the_cheapest_counts() -> None:
    team = Available(regions=("europe-west4", "us-west1"), instance_types=("g2-standard-4",))
    assert [one.region for one in offers.list_offers(team)] == ["us-west1"]


def test_hosts_with_arm_processors_are_offered_where_a_team_names_them() -> None:
    assert not {"gb200", "t4g"} & {one.accelerator for one in offers.list_offers(EVERYTHING)}
    assert {one.accelerator for one in offers.list_offers(Available(accelerators=("gb200",)))} == {"gb200"}
    assert kinds(offers.list_offers(Available(instance_types=("g5g.xlarge",)))) == {"g5g.xlarge"}


def test_the_order_is_by_product_then_size_then_cost_and_the_same_again() -> None:
    found = offers.list_offers(EVERYTHING, "aws")
    keys = [(one.accelerator, one.node_gpus) for one in found]
    assert keys == sorted(keys)
    l4 = [one.cost_usd_per_hour for one in found if (one.accelerator, one.node_gpus) == ("l4", 1)]
    assert l4 == sorted(l4)  # type: ignore[type-var]
    assert found == offers.list_offers(Available(), "aws")


# ---- at what price


def test_a_list_price_has_its_region_date_and_source() -> None:
    (found,) = offers.list_offers(Available(instance_types=("p5.48xlarge",)))
    assert (found.cost_usd_per_hour, found.region, found.price_date) == (55.04, "us-east-1", "2026-07-20")
    assert "karpenter" in found.price_source


def test_spot_stands_beside_it_where_a_dated_list_has_it() -> None:
    (found,) = offers.list_offers(Available(instance_types=("g2-standard-4",)))
    assert (found.cost_usd_per_hour, found.spot_usd_per_hour) == (0.70683, 0.39734)
    (unlisted,) = offers.list_offers(Available(instance_types=("g6.xlarge",)))
    assert (unlisted.cost_usd_per_hour, unlisted.spot_usd_per_hour) == (0.8048, None)


def test_a_machine_without_a_listed_price_has_none_and_not_nothing() -> None:
    (found,) = offers.list_offers(Available(instance_types=("p6e-gb200.36xlarge",)))
    assert (found.cost_usd_per_hour, found.price_date, found.price_source) == (None, "", "")


def test_a_teams_price_of_a_machine_type_replaces_the_list_price() -> None:
    own = Price(31.0, "2026-11-01", instance_type="p5.48xlarge", spot_usd_per_hour=20.0, source="contract 17")
    (found,) = offers.list_offers(Available(instance_types=("p5.48xlarge",), prices=(own,)))
    assert (found.cost_usd_per_hour, found.spot_usd_per_hour) == (31.0, 20.0)
    assert (found.price_date, found.price_source) == ("2026-11-01", "contract 17")


def test_a_price_of_an_accelerator_counts_for_each_in_the_machine() -> None:
    own = Price(2.0, "2026-11-01", accelerator="h100-sxm-80gb")
    found = offers.list_offers(Available(instance_types=("p5.4xlarge", "p5.48xlarge"), prices=(own,)))
    assert [one.cost_usd_per_hour for one in found] == [2.0, 16.0]
    assert {one.price_source for one in found} == {"gpulint.yaml"}


def test_a_price_of_a_pool_comes_before_that_of_its_machine_type_and_its_accelerator() -> None:
    pool = Pool("lab", "h100-sxm-80gb", 8, "p5.48xlarge")
    stated = (
        Price(2.0, "2026-11-01", accelerator="h100-sxm-80gb"),
        Price(30.0, "2026-11-01", instance_type="p5.48xlarge"),
        Price(25.0, "2026-11-01", pool="lab"),
    )
    costs = [
        offers.list_offers(Available(pools=(pool,), pools_only=True, prices=stated[:count]))[0].cost_usd_per_hour
        for count in (0, 1, 2, 3)
    ]
    assert costs == [55.04, 16.0, 30.0, 25.0]


def test_a_pool_that_nothing_prices_is_offered_without_a_price() -> None:
    (found,) = offers.list_offers(Available(pools=(L40S,), pools_only=True))
    assert found == Offer("l40s", 4, pool="small")


def test_the_machine_of_a_pod_keeps_its_price_when_its_card_is_forbidden() -> None:
    team = Available(forbidden=("h100-sxm-80gb",))
    assert offers.find_cheapest(team, "h100-sxm-80gb", 8, "aws") is None
    found = offers.select_machine(team, "h100-sxm-80gb", 8, cloud="aws")
    assert found is not None
    assert found.instance_type == "p5.48xlarge"


def test_what_only_a_pool_without_a_price_holds_can_still_be_had() -> None:
    found = offers.find_cheapest(Available(pools=(L40S,), pools_only=True), "l40s", 2)
    assert found == Offer("l40s", 4, pool="small")
    assert offers.find_cheapest(Available(pools=(L40S,)), "l40s", 2, "aws").instance_type == "g6e.12xlarge"  # type: ignore[union-attr]


def test_a_team_with_pools_only_pays_no_list_price() -> None:
    team = Available(pools=(L40S,), pools_only=True)
    assert offers.select_machine(team, "l40s", 2) == Offer("l40s", 4, pool="small")
    assert offers.select_machine(team, "t4", 1) is None


# ---- in suggestions

TOO_SMALL = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {nvidia.com/gpu.product: Tesla-T4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=meta-llama/Llama-3.1-8B-Instruct, --dtype=half, --max-model-len=8192]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


def cards(available: Available) -> set[str]:
    """The products that alternatives to a T4 name."""
    report = samples.report(TOO_SMALL, available=available)
    edits = [edit for finding in report.open for one in finding.suggestions for edit in one.edits]
    return {edit.new for edit in edits if edit.quantity == "accelerator"}


def test_a_forbidden_card_is_not_suggested() -> None:
    unsaid = cards(EVERYTHING)
    assert "NVIDIA-L4" in unsaid
    assert "NVIDIA-L4" not in cards(Available(forbidden=("l4",)))


def costs(available: Available) -> dict[str, tuple[float | None, float | None, str]]:
    """What alternatives to a T4 cost before and after, and whose prices those are, by their title."""
    report = samples.report(TOO_SMALL, available=available)
    found = [one for finding in report.open for one in finding.suggestions]
    return {one.title: (one.cost_before_usd_per_hour, one.cost_after_usd_per_hour, one.prices) for one in found}


def test_of_a_file_that_any_cloud_may_run_both_prices_are_of_one_cloud() -> None:
    """AWS us-east-1: g4dn.xlarge 0.526, g6.xlarge 0.8048; GCP has no machine with a T4 in the catalog."""
    assert costs(EVERYTHING)["1 × L4 24GB"] == (0.526, 0.8048, "list price aws us-east-1 2026-07-20")


def test_a_pool_costs_what_its_team_says_and_todays_card_is_none_of_it() -> None:
    own = Price(3.2, "2026-10-01", pool="small")
    team = Available(pools=(L40S,), pools_only=True, prices=(own,), today="2026-11-22")
    assert costs(team)["1 × L40S 48GB"] == (None, 0.8, "own price small 2026-10-01, 52 days old")


def test_only_the_cards_of_a_teams_pools_are_suggested_with_or_without_a_price() -> None:
    assert cards(Available(pools=(L40S,), pools_only=True)) == {"NVIDIA-L40S"}


# ---- gpulint.yaml


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Result]:
    """Checks a file beside a gpulint.yaml of these words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(TOO_SMALL)

    def run(settings: str) -> Result:
        (tmp_path / "gpulint.yaml").write_text(settings)
        return CliRunner().invoke(cli.main, ["check", "--exit-zero", "."])

    return run


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("available: {clouds: [asw]}", "the catalog has no cloud asw; did you mean aws?"),
        ("available: {regions: [us-east-11]}", "the catalog has no region us-east-11; did you mean us-east-1,"),
        ("available: {instance-types: [p5.48xlrge]}", "no machine type p5.48xlrge; did you mean p5.48xlarge,"),
        ("available: {accelerators: [l44]}", "available: the catalog has no accelerator l44; did you mean l4,"),
        ("available: {forbidden: [h10]}", "available: forbidden: the catalog has no accelerator h10; did you mean"),
        ("available: {accelerators: [rtx-4090]}", "but no known machine has it; declare the GPUs per node under pools:"),
        ("available: {cloud: [aws]}", ":1:13: unknown key cloud; did you mean clouds?"),
        ("prices: [{pool: lap, usd-per-hour: 2, date: 2026-11-01}]\npools: [{name: lab, accelerator: l4, gpus: 1}]",
         "there is no pool lap under `pools`; did you mean lab?"),
        ("prices: [{accelerator: l4, usd-per-hour: 2}]", "date is missing"),
        ("prices: [{accelerator: l4, usd-per-hour: 0, date: 2026-11-01}]", "greater than 0"),
        ("prices: [{accelerator: l4, pool: x, usd-per-hour: 1, date: 2026-11-01}]", "give exactly one of instance-type"),
        ("prices: [{accelerator: l4, usd-per-hour: 1, date: yesterday}]", "date must be a date such as 2027-03-31, not y"),
        ("energy: {pue: 0.9}", "greater than or equal to 1"),
        ("energy: {usd-per-kw: 0.2}", "unknown key usd-per-kw; did you mean usd-per-kwh?"),
    ],
)  # fmt: skip
def test_what_nobody_can_have_is_misuse_and_says_what_was_meant(
    check: Callable[[str], Result], settings: str, message: str
) -> None:
    result = check(settings)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_region_of_ones_own_becomes_known_by_a_price(check: Callable[[str], Result]) -> None:
    result = check(
        "available: {regions: [eu-isoe-west-1]}\n"
        "prices: [{accelerator: l4, usd-per-hour: 1, region: eu-isoe-west-1, date: 2026-11-01}]\n"
    )
    assert result.exit_code == 0, result.stderr


def test_names_are_read_as_elsewhere_and_kept_by_their_id(check: Callable[[str], Result]) -> None:
    result = check(
        "pools: [{name: lab, labels: {pool: lab}, accelerator: l40s, gpus: 4}]\n"
        "available: {pools: true, forbidden: [T4, NVIDIA H100 80GB HBM3]}\n"
        "prices: [{pool: lab, usd-per-hour: 3.2, date: 2026-11-01, source: invoice of October}]\n"
        "energy: {usd-per-kwh: 0.21, co2-kg-per-kwh: 0.35, pue: 1.3}\n"
    )
    assert result.exit_code == 0, result.stderr
