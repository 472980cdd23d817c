"""What reports and the catalog's lists say of costs and of the age of prices.

g2-standard-4: 0.70683 USD an hour on demand, 0.39734 on spot, GCP us-central1, 2026-08-03.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import samples
from click.testing import CliRunner, Result

from gpulint import cli
from gpulint.catalog.offers import Available, Price
from gpulint.report.model import RoleSummary

L4 = "cloud.google.com/gke-accelerator: nvidia-l4"
SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat{annotations}}}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {{{selector}}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=8192]
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
TODAY = Available(today="2026-11-22")
REQUEST = ', annotations: {gpulint/prompt-tokens: "1000", gpulint/output-tokens: "250"}'
SKY = """\
name: tune
resources: {{cloud: {cloud}, accelerators: "{accelerators}"}}
num_nodes: 2
run: torchrun --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE train.py
"""


def role(text: str, path: str = "", available: Available = TODAY) -> RoleSummary:
    (found,) = samples.roles(samples.report(text, path, available=available))
    return found


def server(selector: str = L4, annotations: str = "") -> str:
    return SERVER.format(selector=selector, annotations=annotations)


# ---- what a role costs


def test_a_role_says_what_all_its_replicas_cost_and_how_old_the_price_is() -> None:
    found = role(server())
    assert (found.cost, found.cost_of_work) == ("$2.12/h, spot $1.19/h", "")
    assert found.prices == "list price gcp us-central1 2026-08-03, 111 days old"


def test_of_a_server_with_a_usual_request_it_says_what_tokens_cost() -> None:
    found = role(server(annotations=REQUEST))
    assert found.cost_of_work.endswith(" per million tokens at the full load")
    stated = {fact.name for fact in found.facts}
    assert {"cost_usd_per_hour", "spot_usd_per_hour", "cost_usd_per_million_tokens", "power_w"} <= stated


def test_a_teams_own_price_is_called_its_own() -> None:
    own = Price(0.5, "2026-11-21", accelerator="l4", source="contract")
    found = role(server(), available=Available(prices=(own,), today="2026-11-22"))
    assert (found.cost, found.prices) == ("$1.50/h", "own price gcp us-central1 2026-11-21, 1 day old")


def test_a_cluster_of_its_own_pays_for_whole_machines() -> None:
    """SkyPilot rents machines for one task: two p4d.24xlarge of AWS at 21.957642 USD an hour."""
    found = role(SKY.format(cloud="aws", accelerators="A100:8"), "tune.yaml")
    assert found.cost == "$43.92/h"


def test_a_region_that_the_spec_names_has_its_own_price_and_grid() -> None:
    """g2-standard-4 in europe-west4: 0.74292 USD an hour; Google's grid there in 2024: 208.81 g/kWh."""
    found = role(server(f"{L4}, topology.kubernetes.io/region: europe-west4"))
    assert found.prices == "list price gcp europe-west4 2026-08-03, 111 days old"
    (co2,) = [fact.values.expected for fact in found.facts if fact.name == "co2_kg_per_hour"]
    assert co2 == pytest.approx(3 * 72 * 0.6 / 1000 * 1.1 * 0.20881)
    task = SKY.format(cloud="gcp", accelerators="L4:1").replace("cloud: gcp", "infra: gcp/us-west4")
    assert role(task, "tune.yaml").prices == "list price gcp us-west4 2026-08-03, 111 days old"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(server("nvidia.com/gpu.product: NVIDIA-L4"), id="a label that any cloud or cellar may have"),
        pytest.param(server("pool: ours"), id="a pool that nothing defines"),
        pytest.param(server("node.kubernetes.io/instance-type: p5e.48xlarge"), id="a machine without a listed price"),
        pytest.param(SKY.format(cloud="kubernetes", accelerators="H100:8"), id="pods of a cluster"),
        pytest.param(
            server("node.kubernetes.io/instance-type: our-own, nvidia.com/gpu.product: NVIDIA-L4"),
            id="a machine that no catalog has",
        ),
    ],
)
def test_where_nobody_knows_what_it_costs_nothing_is_said(text: str) -> None:
    found = role(text, "tune.yaml" if text.startswith("name") else "")
    assert (found.cost, found.prices) == ("", "")
    assert not [fact.name for fact in found.facts if "usd" in fact.name]


# ---- the command line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.yaml").write_text(server())
    return lambda *words: CliRunner().invoke(cli.main, list(words))


def test_the_text_has_a_column_and_a_line_on_the_prices(run: Callable[..., Result]) -> None:
    shown = run("check", "--today", "2026-08-13", "chat.yaml").stdout
    assert "  $2.12/h, spot $1.19/h\n" in shown
    assert "\ncost at list price gcp us-central1 2026-08-03, 10 days old\n" in shown


def test_the_day_is_todays_unless_it_is_said(run: Callable[..., Result]) -> None:
    data = json.loads(run("check", "--format", "json", "chat.yaml").stdout)
    assert "2026-08-03" in data["workloads"][0]["roles"][0]["prices"]
    assert run("check", "--today", "2026-08-02", "chat.yaml").stdout.count("days old") == 0


def test_a_day_that_is_none_is_misuse(run: Callable[..., Result]) -> None:
    result = run("check", "--today", "soon", "chat.yaml")
    assert result.exit_code == 2
    assert "--today soon is not a date; write it as YYYY-MM-DD, for example 2026-11-22" in result.stderr


def test_the_catalog_lists_prices_with_their_age(run: Callable[..., Result]) -> None:
    lines = run("catalog", "prices", "g2-standard-4", "--today", "2026-11-22").stdout.splitlines()
    (home,) = [line.split() for line in lines if "us-central1" in line]
    assert home == ["g2-standard-4", "1", "×", "l4", "gcp", "us-central1", "$0.71/h", "$0.40/h", "$0.71/h",
                    "2026-08-03,", "111", "days", "old"]  # fmt: skip
    every = run("catalog", "prices").stdout
    assert every.count("g2-standard-4 ") == 1
    assert "p5.48xlarge" in every


def test_an_accelerator_shows_where_it_is_cheapest(run: Callable[..., Result]) -> None:
    shown = run("catalog", "accelerators", "h100", "--today", "2026-11-22").stdout
    assert "$6.88/h in p5.48xlarge, list price aws us-east-1 2026-07-20, 125 days old" in shown
    assert "price_of_one" not in run("catalog", "accelerators", "rtx-4090").stdout


def test_a_price_that_is_not_listed_is_misuse(run: Callable[..., Result]) -> None:
    result = run("catalog", "prices", "g2-standart-4")
    assert result.exit_code == 2
    assert "the catalog has no price for g2-standart-4; did you mean g2-standard-4," in result.stderr
