"""Loads: what a run places on the pools of a facility, when a sum over files speaks, and when it has to stay silent."""

from __future__ import annotations

import csv
import json
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
import samples
from folders import DATA
from loaded_hall import HALL, service

from gpulint.adapters.native import facility
from gpulint.catalog.offers import EVERYTHING
from gpulint.cli.explain import fact
from gpulint.facility.model import ComponentFacts
from gpulint.facts.model import Missing
from gpulint.pipeline import check, evaluate, run, session
from gpulint.pipeline.facility import workload_load
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import facility as rules_facility
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Report, Severity
from gpulint.report.racks import text as racks_text
from gpulint.sizing.power import busy_and_idle, placed_workloads, power_cap
from gpulint.source import documents
from gpulint.source.repository import Source

CAPS = DATA / "known_answers" / "power_caps.csv"
JOB = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --partition=gpu
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=96
#SBATCH --gpus-per-node=8
#SBATCH --time=08:00:00
srun torchrun --nnodes={nodes} --nproc-per-node=8 train.py
"""


def job(name: str = "train", nodes: int = 2) -> str:
    return JOB.format(name=name, nodes=nodes)


def report(hall: str = HALL, only: str = "", **files: str) -> Report:
    """The report on files of a repository whose gpulint.yaml names a hall, or on one of them."""
    kept = {"hall.yaml": textwrap.dedent(hall)}
    kept |= {
        name.replace("__", "/").replace("_yaml", ".yaml").replace("_sh", ".sh"): text for name, text in files.items()
    }
    held = {path: text.encode() for path, text in kept.items()}
    given = ResolvedPolicy(tuple(load_shipped().values()), tuple(load_shipped()), facility="hall.yaml")
    sources = [Source(path, content) for path, content in held.items() if only in ("", path)]
    return check.check_files(sources, samples.ExampleRepository(held), given)


def said(found: Report) -> dict[str, Severity]:
    """The rules of placement that speak."""
    spoken = {one.rule: one.severity for one in found.open if one.family == "placement"}
    assert not found.failures
    return spoken


def known(hall: str = HALL) -> ComponentFacts:
    (document,) = documents.load("hall.yaml", hall.encode()).documents
    described = facility.read_facility(document)
    assert described is not None
    return rules_facility.resolve_facts(described, {})


# ---- what a workload learns from the pool that it is led to


def test_a_node_selector_tells_the_card_the_node_and_the_network() -> None:
    (role,) = samples.roles(report(app_yaml=service()))
    assert role.accelerator == "1 × H100 SXM5 80GB"
    assert any("the accelerator of pool h100 (hall.yaml)" in one for one in role.assumptions)


def test_the_pool_tells_the_network_and_a_cap_of_the_cards() -> None:
    hall = HALL.replace("servers: [{type: dgx-h100, count: 2}]", "servers: [{type: dgx-h100, gpu_power_cap: 500 W}]")
    text = {"hall.yaml": hall.encode(), "app.yaml": service().encode()}
    given = ResolvedPolicy(tuple(load_shipped().values()), facility="hall.yaml")
    (one,) = evaluate.file(Source("app.yaml", text["app.yaml"]), samples.ExampleRepository(text), given).roles
    assert one.facts.expected("network_bytes_per_s") == 400e9
    assert one.facts.expected("network_kind") == "infiniband"
    assert one.facts.expected("power_cap_w") == 500
    assert one.facts.expected("pool_gpus") == 8
    assert one.facts.expected("pool_most_gpus") == 16
    assert (one.facts.expected("pue"), one.facts.expected("usd_per_kwh")) == (1.3, 0.1)


def test_alternatives_may_be_made_of_its_pools_where_a_team_has_nothing_else() -> None:
    text = {"hall.yaml": HALL.encode(), "app.yaml": service().encode()}
    only = EVERYTHING._replace(pools_only=True)
    given = ResolvedPolicy(tuple(load_shipped().values()), facility="hall.yaml", available=only)
    (one,) = evaluate.file(Source("app.yaml", text["app.yaml"]), samples.ExampleRepository(text), given).roles
    assert [(pool.name, pool.accelerator, pool.gpus, pool.labels) for pool in one.facts.role.available.pools] == [
        ("h100", "h100-sxm-80gb", 8, (("pool", "h100"),)),
        ("train", "h200-sxm-141gb", 8, ()),
        ("batch", "h100-sxm-80gb", 8, ()),
    ]


DEFAULT = HALL.replace("labels: {pool: h100},", "default: true,").replace(
    "partition: gpu", "partition: gpu, default: true"
)
NOWHERE = service("chat", 33).replace("      nodeSelector: {pool: h100}\n", "")


@pytest.mark.parametrize(
    ("text", "card", "rules"),
    [
        pytest.param(NOWHERE, "1 × H100 SXM5 80GB", {"pool-overcommitted"}, id="nothing is asked of a node"),
        pytest.param(
            NOWHERE.replace("      containers:", "      nodeSelector: {kubernetes.io/arch: amd64}\n      containers:"),
            "1 × H100 SXM5 80GB",
            {"pool-overcommitted"},
            id="nothing that tells nodes with cards apart",
        ),
        pytest.param(
            service("chat", 33, pool="other"),
            "1 × nvidia.com/gpu (the accelerator depends on the nodes",
            set(),
            id="another pool",
        ),
        pytest.param(
            service("chat", 33).replace("pool: h100", "nvidia.com/gpu.product: NVIDIA-L4"),
            "1 × L4",
            set(),
            id="another card",
        ),
        pytest.param(
            service("chat", 33).replace("pool: h100", "node.kubernetes.io/instance-type: p5.48xlarge"),
            "1 × H100 SXM5 80GB",
            set(),
            id="a machine of a cloud",
        ),
    ],
)
def test_a_default_pool_takes_what_nothing_leads_elsewhere(text: str, card: str, rules: set[str]) -> None:
    found = report(DEFAULT, app_yaml=text)
    assert said(found).keys() == rules
    assert samples.roles(found)[0].accelerator.startswith(card)


def test_a_default_partition_takes_jobs_that_name_none() -> None:
    found = report(DEFAULT, job_sh=job(nodes=3).replace("#SBATCH --partition=gpu\n", ""))
    assert said(found) == {"job-exceeds-pool": Severity.ERROR}


def test_a_partition_tells_the_card() -> None:
    (role,) = samples.roles(report(job_sh=job()))
    assert role.accelerator.endswith("H200 SXM 141GB")


def test_a_queue_tells_the_card() -> None:
    text = service(pool="any").replace(
        "metadata: {name: chat, namespace: ml}", "metadata: {name: chat, labels: {kueue.x-k8s.io/queue-name: batch}}"
    )
    (role,) = samples.roles(report(app_yaml=text.replace("      nodeSelector: {pool: any}\n", "")))
    assert role.accelerator == "1 × H100 SXM5 80GB"


def test_what_the_repository_says_goes_before_the_facility() -> None:
    text = service().replace("{pool: h100}", "{pool: h100, nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}")
    (role,) = samples.roles(report(app_yaml=text))
    assert role.accelerator == "1 × A100 SXM4 80GB"


def test_a_missing_facility_is_said_and_breaks_nothing() -> None:
    given = ResolvedPolicy(tuple(load_shipped().values()), facility="gone.yaml")
    found = check.check_files([Source("app.yaml", service().encode())], samples.ExampleRepository(), given)
    assert [one.path for one in found.skipped] == ["gone.yaml"]
    assert len(found.workloads) == 1


# ---- sums that speak


def test_services_beyond_the_pool_are_an_error_at_the_largest_of_them() -> None:
    found = report(a_yaml=service("chat", 24), b_yaml=service("search", 9))
    (one,) = samples.of_rule(found, "pool-overcommitted")
    assert one.severity == Severity.ERROR
    assert one.message == "the services of pool h100 request 33 GPUs, but the servers of the pool have only 32"
    assert one.location.path == "a.yaml"
    assert [place.location.path for place in one.related] == ["hall.yaml"]
    assert one.arithmetic == ("24 GPUs chat (a.yaml) + 9 GPUs search (b.yaml)",)


def test_one_file_alone_speaks_where_it_is_too_much_alone() -> None:
    assert "pool-overcommitted" in said(report(only="a.yaml", a_yaml=service("chat", 33)))


def test_a_job_larger_than_the_partition_never_starts() -> None:
    assert said(report(job_sh=job(nodes=3))) == {"job-exceeds-pool": Severity.ERROR}


# ---- sums that stay silent

SILENT = {
    "a pool that is just full": {"a_yaml": service("chat", 24), "b_yaml": service("search", 8)},
    "many jobs of one partition, which wait for one another": {f"j{n}_sh": job(f"train{n}", 2) for n in range(9)},
    "one object in a base and in an overlay": {
        "base__a_yaml": service("chat", 20),
        "prod__a_yaml": service("chat", 20),
    },
    "services of another pool": {"a_yaml": service("chat", 99, pool="other")},
    "services that name no pool": {"a_yaml": service("chat", 99).replace("      nodeSelector: {pool: h100}\n", "")},
    "services that wait in a queue": {
        "a_yaml": service("chat", 40).replace("namespace: ml", "labels: {kueue.x-k8s.io/queue-name: team}")
    },
    "runs to an end": {
        "a_yaml": service("chat", 1, 8).replace("kind: Deployment", "kind: Job").replace("apps/v1", "batch/v1")
    },
    "an autoscaler that starts from little": {
        "a_yaml": service("chat", 40).replace("  replicas: 40\n", "")
        + "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: chat, namespace: ml}\nspec:\n"
        "  minReplicas: 2\n  maxReplicas: 32\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}\n"
    },
}


@pytest.mark.parametrize("name", SILENT)
def test_these_sums_stay_silent(name: str) -> None:
    assert said(report(**SILENT[name])) == {}


def test_a_pool_whose_servers_are_not_known_is_not_judged() -> None:
    hall = HALL.replace("type: dgx-h100, count: 2", "type: nobody-knows, count: 2")
    assert said(report(hall, a_yaml=service("chat", 99))) == {}


def test_a_pool_in_two_halls_of_one_label_counts_for_none() -> None:
    hall = HALL.replace("{name: train, partition: gpu}", "{name: train, labels: {pool: h100}}")
    assert said(report(hall, a_yaml=service("chat", 40))) == {}


def test_a_run_over_a_facility_alone_says_nothing_of_loads() -> None:
    assert said(report(only="hall.yaml")) == {}


# ---- the load of a rack


@pytest.mark.parametrize(
    ("busy", "scenarios"),
    [
        (0, (0.0, 0.0, 0.0)),
        (8, (0.0, 4.0, 8.0)),
        (24, (8.0, 12.0, 16.0)),
        (32, (16.0, 16.0, 16.0)),
    ],
)
def test_the_part_of_a_rack_is_bounded_by_what_fits_elsewhere(busy: int, scenarios: tuple[float, float, float]) -> None:
    """Two racks of 16: of 24 GPUs that compute, 8 are in each at the least, and 16 at the most."""
    assert tuple(placed_workloads.group_busy_gpus(16, 32, busy, share) for share in (0.0, 0.5, 1.0)) == scenarios


def loaded(**files: str) -> ComponentFacts:
    """The facts of the hall under what files place there."""
    kept = {name.replace("_yaml", ".yaml").replace("_sh", ".sh"): text.encode() for name, text in files.items()}
    given = ResolvedPolicy(tuple(load_shipped().values()), facility="hall.yaml")
    held = samples.ExampleRepository({**kept, "hall.yaml": HALL.encode()})
    judged = [
        (one.workload, one.facts)
        for path, text in kept.items()
        for one in evaluate.file(Source(path, text), held, given).roles
    ]
    return rules_facility.resolve_facts(workload_load.load_facility(known(), list(workload_load.allocate(judged))), {})


def test_a_rack_draws_between_idle_and_its_maximum_by_what_is_placed() -> None:
    root = loaded(a_yaml=service("chat", 16))
    racks = {one.role.name: one for one in root.list_components("rack")}
    found = racks["r1"].scenarios("placed_load_w")
    assert not isinstance(found, Missing)
    assert found.best == pytest.approx(2 * 1020)  # all 16 fit into the other rack: two servers idle at a tenth
    assert found.expected == pytest.approx(2 * (1530 + (0.72 * 10200 - 1530) / 2))  # half of each server computes
    assert found.worst == pytest.approx(2 * 0.85 * 10200)  # all 16 here


def test_services_count_for_sure_and_jobs_only_by_the_largest() -> None:
    root = loaded(a_yaml=service("batch", 4, pool="h100"), j_sh=job("train", 2), k_sh=job("more", 1))
    pools = {one.role.name: one for one in root.list_components("pool")}
    assert pools["h100"].expected("pool_service_gpus") == 4
    assert pools["train"].expected("pool_service_gpus") == 0
    assert (pools["train"].expected("pool_queued_gpus"), pools["train"].expected("pool_largest_job_gpus")) == (24, 16)
    server = next(one for one in root.list_components("server") if one.expected("pool") == "train")
    assert server.scenarios("pool_busy_gpus") == (0, 16, 16)


FEED = "      feeds: [{voltage: 208 V, phases: 3, breaker: 60 A, code: NEC}]\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a_yaml": service("chat", 32)}, {}),  # 14.7 kW in each rack, 15.0 kVA
        ({"a_yaml": service("chat", 32), "b_yaml": service("more", 1)}, {"pool-overcommitted": Severity.ERROR}),
    ],
)
def test_what_likely_draws_less_than_a_feed_carries_is_not_told_off(
    files: dict[str, str], expected: dict[str, Severity]
) -> None:
    """208 V · √3 · 60 A · 0.8 = 17.3 kVA; two DGX H100 draw 20.4 kW by their plate, and 17.3 kW in a burn test."""
    hall = HALL.replace(
        "      servers: [{type: dgx-h100, count: 2}]\n", FEED + "      servers: [{type: dgx-h100, count: 2}]\n"
    )
    spoken = said(report(hall, **files))
    assert spoken == expected


def test_three_busy_servers_on_one_feed_likely_trip_it() -> None:
    """Three at 0.72 of 10.2 kW are 22 kW."""
    hall = HALL.replace(
        "      servers: [{type: dgx-h100, count: 2}]\n", FEED + "      servers: [{type: dgx-h100, count: 3}]\n"
    )
    found = report(hall, a_yaml=service("chat", 48))
    assert said(found) == {"placed-load-over-circuit": Severity.WARNING}
    (one,) = samples.of_rule(found, "placed-load-over-circuit")
    assert one.location.path == "a.yaml"
    assert one.arithmetic == ("48 GPUs chat (a.yaml)", "so in r2")
    assert said(report(hall, a_yaml=service("chat", 8))) == {}


def test_of_an_array_of_jobs_one_is_the_largest() -> None:
    array = job("sweep", 1).replace("#SBATCH --time", "#SBATCH --array=0-99\n#SBATCH --time")
    (pool,) = (one for one in loaded(a_sh=array).list_components("pool") if one.role.name == "train")
    assert (pool.expected("pool_queued_gpus"), pool.expected("pool_largest_job_gpus")) == (800, 8)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [(48, {"placed-heat-over-cooling": Severity.WARNING}), (8, {})],  # 22 kW busy, 12 kW mostly idle
)
def test_what_cools_a_rack_is_held_against_the_heat_of_what_runs_there(
    replicas: int, expected: dict[str, Severity]
) -> None:
    cooled = "      cooling_capacity: 20 kW\n      servers: [{type: dgx-h100, count: 3}]\n"
    hall = HALL.replace("      servers: [{type: dgx-h100, count: 2}]\n", cooled)
    assert said(report(hall, a_yaml=service("chat", replicas))) == expected


MEASURED = [
    ("two training runs on H100", "dgx-h100", "", 7750),  # 0.76 of 10.2 kW: arXiv 2506.14551
    ("a burn test on H100", "dgx-h100", "", 8480),  # arXiv 2412.08602
    (
        "Llama 3.1 405B offline on B200",
        "dgx-b200",
        "",
        9892,
    ),  # MLPerf Inference v5.1, tests/data/known_answers/power.csv
    ("Llama 3.1 8B offline on B200", "dgx-b200", "", 9436),
    ("Llama 2 70B offline on B200", "dgx-b200", "", 10_401),
    ("Llama 2 70B server on B200", "dgx-b200", "", 10_442),
    ("Llama 2 70B offline on H200, held to 500 W", "dgx-h200", ", gpu_power_cap: 500 W", 6153),
    ("Llama 2 70B server on H200, held to 500 W", "dgx-h200", ", gpu_power_cap: 500 W", 6280),
]


@pytest.mark.parametrize(("what", "kind", "cap", "measured_w"), MEASURED, ids=[one[0] for one in MEASURED])
def test_a_busy_node_draws_what_was_measured_of_one(what: str, kind: str, cap: str, measured_w: float) -> None:
    hall = HALL.replace("servers: [{type: dgx-h100}]", f"servers: [{{type: {kind}{cap}}}]")
    server = next(one for one in known(hall).list_components("server") if one.expected("pool") == "batch")
    found = server.scenarios("busy_w")
    assert not isinstance(found, Missing)
    assert found.best <= measured_w <= found.worst
    assert found.expected == pytest.approx(measured_w, rel=0.2)


# ---- a year


def test_a_dgx_at_full_load_all_year_costs_what_a_hand_reckons() -> None:
    """10.2 kW · 8760 h · 1.3 = 116,158 kWh; at 0.1 USD it is 11,616 USD."""
    hall = HALL.replace(
        "servers: [{type: dgx-h100}]", "servers: [{type: dgx-h100, idle: 10.2 kW}]\n      utilization: 1"
    )
    rack = next(one for one in known(hall).list_components("rack") if one.role.name == "q1")
    assert rack.expected("energy_year_usd") == pytest.approx(11_616, abs=1)
    assert rack.expected("overhead_year_usd") == pytest.approx(11_616 * 0.3 / 1.3, abs=1)


def test_without_a_pue_no_year_is_told_and_the_pue_is_asked_for() -> None:
    hall = known(HALL.replace("  pue: 1.3\n", ""))
    assert hall.scenarios("energy_year_usd") == Missing(frozenset({"site_pue"}))


# ---- caps

PAIRS = [SimpleNamespace(**row) for row in csv.DictReader(CAPS.read_text(encoding="utf-8").splitlines())]
OUTLIERS = {
    "nvl-llama2-server": "a bound on latency",
    "pcie-gptj-offline": "200 W is the least that the board can be set to",
}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
def test_a_published_cap_costs_what_the_interval_says(pair: SimpleNamespace) -> None:
    left = float(pair.capped) / float(pair.uncapped)
    least, expected, most = (
        power_cap.serving_clock_share(float(pair.board_w), float(pair.cap_w), exponent) for exponent in (1.1, 0.57, 0)
    )
    assert (least <= left <= most) is (pair.id not in OUTLIERS)
    if pair.id not in OUTLIERS:
        assert abs(expected - left) < 0.2


def test_most_published_caps_cost_what_is_likely_within_a_twentieth() -> None:
    near = [
        pair
        for pair in PAIRS
        if abs((float(pair.cap_w) / float(pair.board_w)) ** 0.57 - float(pair.capped) / float(pair.uncapped)) < 0.05
    ]
    assert (len(near), len(PAIRS)) == (16, 23)


# ---- gpulint.yaml


def test_gpulint_yaml_names_the_facility(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "apps").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "site" / "gpulint.yaml").write_text("")
    (tmp_path / "gpulint.yaml").write_text("facility: site/hall.yaml\n")
    (tmp_path / "site" / "hall.yaml").write_text(HALL)
    (tmp_path / "apps" / "chat.yaml").write_text(service("chat", 40))
    monkeypatch.chdir(tmp_path / "apps")
    found = run.report(session.prepare(["chat.yaml"], session.Options()), ["chat.yaml"])
    (one,) = samples.of_rule(found, "pool-overcommitted")
    assert one.related[0].location.path.endswith("site/hall.yaml")


def test_a_facility_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "gpulint.yaml").write_text("fail-on: error\nfacility: hall.yaml\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(session.Unusable, match=r"gpulint\.yaml:2:11: there is no file hall\.yaml"):
        session.prepare(["."], session.Options())


def test_a_facility_outside_the_repository_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "gpulint.yaml").write_text("facility: ../hall.yaml\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(session.Unusable, match=r"\.\./hall\.yaml is outside the repository"):
        session.prepare(["."], session.Options())


# ---- fitted terms


@pytest.mark.parametrize("term", ["queue_share", "packing_share", "idle_server_share", "busy_server_share"])
def test_more_of_a_fitted_term_never_lowers_the_load(term: str) -> None:
    def load(value: float) -> float:
        told = {
            "queue_share": 0.5,
            "packing_share": 0.5,
            "idle_server_share": 0.15,
            "busy_server_share": 0.7,
            term: value,
        }
        busy = placed_workloads.pool_busy_gpus(64, 16, 24, 16, told["queue_share"])
        here = placed_workloads.group_busy_gpus(16, 64, busy, told["packing_share"])
        idle = busy_and_idle.idle_w(10_200, told["idle_server_share"])
        full = busy_and_idle.busy_w(10_200, told["busy_server_share"], idle)
        return placed_workloads.placed_group_w(idle * 2, full * 2, told["packing_share"], 16, here)

    values = [load(step / 10) for step in range(11)]
    assert values == sorted(values)
    assert len(set(values)) > 1


@pytest.mark.parametrize(("term", "sign"), [("serving_power_exponent", -1), ("busy_time_share", 1)])
def test_more_of_the_other_terms_moves_one_way(term: str, sign: int) -> None:
    from gpulint.sizing.cost import site_energy

    def figure(value: float) -> float:
        if term == "busy_time_share":
            return site_energy.group_average_w(1000, 9000, site_energy.busy_share(None, value))
        return power_cap.serving_clock_share(700, 450, value)

    values = [sign * figure(step / 10) for step in range(11)]
    assert values == sorted(values)


# ---- a hall that NetBox describes


def netboxed(pooled: str) -> dict[str, bytes]:
    """A hall of two racks with two DGX H100 each, exported, and the few lines that lead workloads there."""
    racks = [{"id": at, "name": f"r0{at}", "site": {"id": 1, "name": "ams1"}, "u_height": 48} for at in (1, 2)]
    dgx = {"id": 3, "manufacturer": {"id": 9, "name": "NVIDIA"}, "model": "DGX H100", "slug": "nvidia-dgx-h100"}
    devices = [
        {
            "id": at,
            "name": f"dgx0{at}",
            "device_type": dgx,
            "site": {"id": 1, "name": "ams1"},
            "rack": {"id": (at + 1) // 2, "name": f"r0{(at + 1) // 2}"},
            "status": {"value": "active"},
        }
        for at in (1, 2, 3, 4)
    ]
    hall = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: ams1}\nspec:\n  netbox: [export]\n"
    hall += "  pools: [{name: h100, labels: {pool: h100}}]\n" + pooled
    lists = {"racks": racks, "devices": devices}
    pages = {
        f"export/{name}.json": json.dumps({"count": len(rows), "next": None, "results": rows}).encode()
        for name, rows in lists.items()
    }
    return {"hall.yaml": hall.encode(), **pages}


@pytest.mark.parametrize(
    ("pooled", "replicas", "expected"),
    [
        ("  racks: [{name: r01, pool: h100}, {name: r02, pool: h100}]\n", 33, {"pool-overcommitted"}),
        ("  racks: [{name: r01, pool: h100}, {name: r02, pool: h100}]\n", 32, set()),
        ("  racks: [{name: r01, pool: h100}]\n", 17, {"pool-overcommitted"}),
        ("  racks: [{name: r01, pool: h100}]\n", 16, set()),
    ],
)
def test_a_line_for_each_rack_leads_to_what_netbox_holds_there(pooled: str, replicas: int, expected: set[str]) -> None:
    kept = {**netboxed(pooled), "app.yaml": service("chat", replicas).encode()}
    given = ResolvedPolicy(tuple(load_shipped().values()), tuple(load_shipped()), facility="hall.yaml")
    found = check.check_files([Source("app.yaml", kept["app.yaml"])], samples.ExampleRepository(kept), given)
    assert said(found).keys() == expected
    assert samples.roles(found)[0].accelerator == "1 × H100 SXM5 80GB"


@pytest.mark.parametrize(
    ("kind", "always"),
    [
        *((kind, True) for kind in ("Deployment", "StatefulSet", "InferenceService", "LeaderWorkerSet", "RayService")),
        *((kind, True) for kind in ("NIMService", "DynamoGraphDeployment", "HelmRelease", "Rollout")),
        *(
            (kind, False)
            for kind in ("Job", "CronJob", "JobSet", "RayJob", "Pod", "Notebook", "Workflow", "PipelineRun")
        ),
        *((kind, False) for kind in ("ServingRuntime", "PodTemplate", "SparkApplication", "AppWrapper", "")),
    ],
)
def test_only_what_is_kept_running_counts_for_sure(kind: str, always: bool) -> None:
    assert workload_load.is_kept_running("inference", kind, {}) is always
    assert not workload_load.is_kept_running("training", kind, {})
    assert not workload_load.is_kept_running("inference", kind, {"kueue.x-k8s.io/queue-name": "team"})


# ---- how much of a pool is taken


def taken(whole: bool = True, **files: str) -> dict[str, tuple[float, str, str]]:
    """What every run says of each pool: the least that is taken, the verdict, and why no more can be told."""
    held = {name.replace("_yaml", ".yaml").replace("_sh", ".sh"): text.encode() for name, text in files.items()}
    given = ResolvedPolicy(tuple(load_shipped().values()), facility="hall.yaml", whole=whole)
    found = check.check_files(
        [Source(path, text) for path, text in held.items()],
        samples.ExampleRepository({**held, "hall.yaml": HALL.encode()}),
        given,
    )
    return {one.budget: (one.least, one.verdict, one.reason) for one in found.budgets}


@pytest.mark.parametrize(
    ("whole", "files", "expected"),
    [
        (True, {"a_yaml": service("chat", 24)}, (24, "within", "")),
        (False, {"a_yaml": service("chat", 24)}, (24, "not evaluated", "only part of the repository was checked")),
        (False, {"a_yaml": service("chat", 33)}, (33, "exceeded", "only part of the repository was checked")),
    ],
)
def test_a_run_says_how_much_of_a_pool_services_take(
    whole: bool, files: dict[str, str], expected: tuple[float, str, str]
) -> None:
    assert taken(whole, **files) == {"pool h100 of ams1": expected}


def test_jobs_leave_it_open_only_where_they_do_not_all_fit() -> None:
    assert taken(j_sh=job("a", 1), k_sh=job("b", 1)) == {"pool train of ams1": (0, "within", "")}
    why = "jobs request 24 GPUs more"
    assert taken(j_sh=job("a", 2), k_sh=job("b", 1)) == {"pool train of ams1": (0, "not evaluated", why)}


def test_a_drawing_says_what_a_year_takes_and_costs_to_three_digits() -> None:
    hall = HALL.replace("servers: [{type: dgx-h100}]", "servers: [{type: dgx-h100, idle: 10.2 kW}]").replace(
        "  racks:\n", "  utilization: 100 %\n  racks:\n"
    )
    start, end = hall.index("    - name: r[1-2]"), hall.index("    - name: q1")
    (drawn,) = report(hall[:start] + hall[end:], only="hall.yaml").facilities
    lines = [line.strip() for line in racks_text.render((drawn,)).split("\n")]
    at = next(at for at, line in enumerate(lines) if line.startswith("average"))
    assert lines[at : at + 3] == [
        "average power   10.2 kW; idle 10.2 kW, busy 10.2 kW",
        "energy/year     116 MWh",
        "cost/year       $11,600; cooling and losses $2,680",
    ]


def test_a_rule_about_what_a_run_places_waits_for_its_end() -> None:
    said = {"pool_service_gpus", "pool_queued_gpus", "pool_largest_job_gpus", "pool_gpus_held", "placed_workloads"}
    resting = set(said)
    while further := {one for name in resting for one in fact.list_uses().get(name, ())} - resting:
        resting |= further
    about = [one for one in load_shipped().values() if one.target.scope == "facility" and resting & {*one.facts}]
    assert len(about) >= 6
    assert [one.name for one in about if not workload_load.SUMMED & {*one.facts}] == []
