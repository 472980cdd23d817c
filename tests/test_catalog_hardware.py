"""The hardware catalog: what its CSV files must hold, whoever edits them."""

import csv
import re
from datetime import date
from pathlib import Path

import pytest

CATALOG = Path(__file__).resolve().parent.parent / "gpulint" / "catalog" / "tables"

HEADERS = {
    "accelerators.csv": (
        "id,name,vendor,generation,compute_capability,driver_memory_mib,cuda_memory_gib,"
        "bandwidth_gb_per_s,dense_bf16_tflops,dense_fp16_tflops,dense_fp8_tflops,"
        "dense_fp4_tflops,dense_int8_tops,board_w,form_factor,link,"
        "link_gb_per_s_per_direction,link_domain_gpus,host_link,mig,ecc,unified_memory,launch_year,"
        "source,date"
    ),
    "accelerator_labels.csv": "key,value,accelerator,source,date",
    "mig_profiles.csv": (
        "accelerator,profile,memory_gib,compute_slices,compute_slices_total,max_instances,source,date"
    ),
    "product_names.csv": "name,source,date",
    "quantization.csv": (
        "quantization,bytes_per_weight,best,worst,native_capability,weight_only_capability,source,note,date"
    ),
    "nodes.csv": (
        "instance_type,cloud,accelerator,gpus,cpu,vcpus,memory_gib,link,network_gbit_per_s,rdma,nics,source,date"
    ),
    "prices.csv": "instance_type,region,home,usd_per_hour,spot_usd_per_hour,source,date",
}
HEADERS |= {
    "collectives.csv": (
        "medium,operation,engine,ranks_from,ranks_until,slowdown_best,slowdown_expected,slowdown_worst,"
        "hop_s_best,hop_s_expected,hop_s_worst,cases,source,date"
    ),
    "links.csv": ("id,name,kind,shape,gb_per_s_per_link,links,domain_gpus,nccl_gb_per_s,reduces,found_on,source,date"),
}
HEADERS |= {
    "servers.csv": (
        "id,name,vendor,accelerator,gpus,units,weight_kg,max_w,idle_w,heat_btu_per_h,psus,psu_w,psus_needed,plug,"
        "volts_min,volts_max,cooling,liquid_share,flow_l_per_min,airflow_cfm,inlet_min_c,inlet_max_c,source,date"
    ),
    "server_names.csv": "name,server,source,date",
}
FILES = sorted(HEADERS)
SORT_KEY = {
    "accelerators.csv": ("id",),
    "accelerator_labels.csv": ("key", "value"),
    "collectives.csv": ("medium", "operation", "engine", "ranks_from"),
    "links.csv": ("id",),
    "mig_profiles.csv": ("accelerator", "profile"),
    "nodes.csv": ("instance_type", "cloud"),
    "prices.csv": ("instance_type", "region"),
    "product_names.csv": ("name",),
    "quantization.csv": ("quantization",),
    "servers.csv": ("id",),
    "server_names.csv": ("name",),
}


def rows(name):
    with (CATALOG / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


ACCELERATORS = {row["id"]: row for row in rows("accelerators.csv")}


@pytest.mark.parametrize("name", FILES)
def test_the_header_is_exactly_the_agreed_one(name):
    first = (CATALOG / name).read_text(encoding="utf-8").split("\n", 1)[0]
    assert first == HEADERS[name]


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_utf8_with_unix_line_ends_and_a_final_newline(name):
    raw = (CATALOG / name).read_bytes()
    raw.decode("utf-8")
    assert b"\r" not in raw
    assert raw.endswith(b"\n")


@pytest.mark.parametrize("name", FILES)
def test_every_row_has_as_many_cells_as_the_header(name):
    with (CATALOG / name).open(encoding="utf-8", newline="") as handle:
        table = list(csv.reader(handle))
    assert len(table) > 10
    assert {len(line) for line in table} == {len(table[0])}


@pytest.mark.parametrize("name", FILES)
def test_rows_are_sorted_and_no_key_comes_twice(name):
    keys = [tuple(row[column] for column in SORT_KEY[name]) for row in rows(name)]
    assert keys == sorted(keys)
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", FILES)
def test_every_row_names_its_source_and_an_iso_date_not_in_the_far_past(name):
    for row in rows(name):
        assert len(row["source"].strip()) > 5, row
        assert date(2024, 1, 1) <= date.fromisoformat(row["date"]), row


@pytest.mark.parametrize("name", FILES)
def test_no_source_names_a_private_path_or_a_figure_from_memory(name):
    text = (CATALOG / name).read_text(encoding="utf-8").lower()
    for phrase in ("recalled", "reference/hardware", "../shared"):
        assert phrase not in text


@pytest.mark.parametrize("name", ["accelerator_labels.csv", "mig_profiles.csv", "nodes.csv"])
def test_every_label_slice_and_node_names_a_catalogued_accelerator(name):
    assert {row["accelerator"] for row in rows(name)} <= set(ACCELERATORS)


def test_ids_are_kebab_case():
    for name in ACCELERATORS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name


def test_yes_and_no_are_the_only_booleans_and_only_ecc_may_be_unknown():
    for row in ACCELERATORS.values():
        assert row["mig"] in ("yes", "no"), row["id"]
        assert row["unified_memory"] in ("yes", "no"), row["id"]
        assert row["ecc"] in ("yes", "no", ""), row["id"]


def test_only_nvidia_rows_have_a_compute_capability():
    for row in ACCELERATORS.values():
        if row["vendor"] == "nvidia":
            assert re.fullmatch(r"\d+\.\d", row["compute_capability"]), row["id"]
        else:
            assert row["compute_capability"] == "", row["id"]


def test_numbers_are_positive_numbers_or_empty():
    columns = [c for c in HEADERS["accelerators.csv"].split(",") if re.search(r"_(mib|gib|tflops|tops|w|per_s)$", c)]
    assert len(columns) == 9
    for row in ACCELERATORS.values():
        for column in columns:
            assert row[column] == "" or float(row[column]) > 0, (row["id"], column)
        assert row["bandwidth_gb_per_s"], row["id"]


# Memory ------------------------------------------------------------------------------------


def test_every_accelerator_has_a_driver_or_a_cuda_memory_figure():
    for row in ACCELERATORS.values():
        assert row["driver_memory_mib"] or row["cuda_memory_gib"], row["id"]


def test_what_cuda_reports_is_never_more_than_what_the_driver_reports_and_within_two_gib_of_it():
    for row in ACCELERATORS.values():
        if row["driver_memory_mib"] and row["cuda_memory_gib"]:
            gap = float(row["driver_memory_mib"]) / 1024 - float(row["cuda_memory_gib"])
            assert 0 <= gap < 2, (row["id"], gap)


# The marketing figure read as GiB: the mistake the catalog exists to avoid.
MUST_NOT = [
    ("h100-sxm-80gb", 80),
    ("h100-pcie-80gb", 80),
    ("h100-nvl-94gb", 94),
    ("h200-sxm-141gb", 141),
    ("b200-sxm-180gb", 180),
    ("b200-sxm-180gb", 192),
    ("b300-sxm-288gb", 288),
    ("gb200", 186),
    ("gb300", 288),
    ("a100-sxm4-40gb", 40),
    ("a100-sxm4-80gb", 80),
    ("l4", 24),
    ("l40s", 48),
    ("a10g", 24),
    ("t4", 16),
    ("mi300x", 192),
    ("gb10", 128),
    ("rtx-3080-10gb", 10),
    ("rtx-5060-ti-16gb", 16),
    ("rtx-pro-6000-max-q", 96),
]


@pytest.mark.parametrize(("accelerator", "marketing"), MUST_NOT)
def test_usable_memory_is_below_the_marketing_figure(accelerator, marketing):
    assert float(ACCELERATORS[accelerator]["cuda_memory_gib"]) < marketing - 0.2


# Rates -------------------------------------------------------------------------------------

# Written out by hand: accelerator, column, dense figure.
PUBLISHED = [
    # NVIDIA A100 datasheet: BF16 312 | 624 with sparsity; INT8 624 | 1248.
    ("a100-sxm4-80gb", "dense_bf16_tflops", 312),
    ("a100-sxm4-80gb", "dense_int8_tops", 624),
    # NVIDIA H100 datasheet: SXM BF16 1,979 and FP8 3,958 with sparsity; 3.35 TB/s.
    ("h100-sxm-80gb", "dense_bf16_tflops", 989),
    ("h100-sxm-80gb", "dense_fp8_tflops", 1979),
    ("h100-sxm-80gb", "bandwidth_gb_per_s", 3350),
    # NVIDIA H100 datasheet: PCIe BF16 1,513 with sparsity.
    ("h100-pcie-80gb", "dense_bf16_tflops", 756.5),
    # NVIDIA H200 datasheet: 4.8 TB/s.
    ("h200-sxm-141gb", "bandwidth_gb_per_s", 4800),
    # NVIDIA Blackwell datasheet, HGX B200 a GPU: BF16 4.5 and FP8 9 PFLOPS with sparsity.
    ("b200-sxm-180gb", "dense_bf16_tflops", 2250),
    ("b200-sxm-180gb", "dense_fp8_tflops", 4500),
    # NVIDIA Blackwell datasheet, GB200 a GPU: BF16 5 PFLOPS with sparsity.
    ("gb200", "dense_bf16_tflops", 2500),
    # NVIDIA L4 datasheet: FP16 242 and FP8 485 with sparsity; 300 GB/s.
    ("l4", "dense_fp16_tflops", 121),
    ("l4", "bandwidth_gb_per_s", 300),
    # NVIDIA L40S datasheet: BF16 362.05 | 733 with sparsity; 864 GB/s.
    ("l40s", "dense_bf16_tflops", 362),
    # NVIDIA T4 datasheet: 65 FP16 mixed precision, 130 INT8.
    ("t4", "dense_fp16_tflops", 65),
    # NVIDIA Ada architecture whitepaper, appendix A: RTX 4090 BF16 with FP32 accumulate 165.2 | 330.4.
    ("rtx-4090", "dense_bf16_tflops", 165.2),
    # NVIDIA RTX Blackwell architecture whitepaper, table 3: RTX 5090 BF16 209.5 | 419.
    ("rtx-5090", "dense_bf16_tflops", 209.5),
    # AMD Instinct MI300X datasheet: BF16 1307.4, 5.3 TB/s.
    ("mi300x", "dense_bf16_tflops", 1307.4),
    # AMD MI250X as listed by voidful/gpu-info-api: 383 and 2 x 1638.4 GB/s a module of two devices.
    ("mi250x", "dense_bf16_tflops", 383 / 2),
    ("mi250x", "bandwidth_gb_per_s", 3276.8 / 2),
    # V100S as public spec tables list it beside the V100: 1134 GB/s.
    ("v100s-pcie-32gb", "bandwidth_gb_per_s", 1134),
    # NVIDIA RTX 5000 Ada datasheet: 576 GB/s.
    ("rtx-5000-ada", "bandwidth_gb_per_s", 576),
]


@pytest.mark.parametrize(("accelerator", "column", "figure"), PUBLISHED)
def test_a_published_dense_figure_is_in_the_catalog(accelerator, column, figure):
    assert float(ACCELERATORS[accelerator][column]) == pytest.approx(figure, rel=0.002)


# No rate of a generation may exceed its dense peak: a sparse figure is twice too high.
CEILINGS = [
    ("ampere", "dense_bf16_tflops", 312),
    ("ampere", "dense_int8_tops", 624),
    ("ada", "dense_bf16_tflops", 366),
    ("ada", "dense_fp8_tflops", 733),
    ("hopper", "dense_bf16_tflops", 990),
    ("hopper", "dense_fp8_tflops", 1980),
    ("blackwell", "dense_bf16_tflops", 2500),
    ("blackwell", "dense_fp4_tflops", 10000),
    ("cdna3", "dense_bf16_tflops", 1308),
]


@pytest.mark.parametrize(("generation", "column", "ceiling"), CEILINGS)
def test_no_rate_is_above_the_dense_peak_of_its_generation(generation, column, ceiling):
    found = [r for r in ACCELERATORS.values() if r["generation"] == generation and r[column]]
    assert found
    for row in found:
        assert float(row[column]) <= ceiling, row["id"]


def test_volta_turing_and_older_have_no_bf16_rate_and_fp8_starts_with_ada():
    for row in ACCELERATORS.values():
        if row["generation"] in ("pascal", "volta", "turing"):
            assert row["dense_bf16_tflops"] == "", row["id"]
        if row["generation"] in ("pascal", "volta", "turing", "ampere"):
            assert row["dense_fp8_tflops"] == "", row["id"]


# Links -------------------------------------------------------------------------------------


def test_link_bandwidth_is_per_direction_and_domains_are_as_sold():
    for name, link, bandwidth, domain in [
        ("a100-sxm4-80gb", "nvlink3", 300, 8),
        ("h100-sxm-80gb", "nvlink4", 450, 8),
        ("b200-sxm-180gb", "nvlink5", 900, 8),
        ("gb200", "nvlink5", 900, 72),
        ("mi300x", "xgmi", 448, 8),
        ("a800-sxm4-80gb", "nvlink3", 200, 8),
        ("h800-sxm-80gb", "nvlink4", 200, 8),
    ]:
        row = ACCELERATORS[name]
        assert row["link"] == link
        assert float(row["link_gb_per_s_per_direction"]) == bandwidth
        assert int(row["link_domain_gpus"]) == domain


def test_a_card_without_a_link_or_with_an_optional_bridge_is_alone_in_its_domain():
    for row in ACCELERATORS.values():
        if row["link"] == "none" or row["link"].endswith("-bridge"):
            assert row["link_domain_gpus"] == "1", row["id"]


def test_gb200_and_b200_are_different_rows():
    assert ACCELERATORS["gb200"]["link_domain_gpus"] != ACCELERATORS["b200-sxm-180gb"]["link_domain_gpus"]
    assert ACCELERATORS["gb200"]["driver_memory_mib"] != ACCELERATORS["b200-sxm-180gb"]["driver_memory_mib"]


# Labels ------------------------------------------------------------------------------------

LABELS = {(row["key"], row["value"]): row["accelerator"] for row in rows("accelerator_labels.csv")}


@pytest.mark.parametrize(
    ("key", "value", "accelerator"),
    [
        ("cloud.google.com/gke-accelerator", "nvidia-tesla-a100", "a100-sxm4-40gb"),
        ("cloud.google.com/gke-accelerator", "nvidia-a100-80gb", "a100-sxm4-80gb"),
        ("cloud.google.com/gke-accelerator", "nvidia-h100-mega-80gb", "h100-sxm-80gb"),
        ("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3", "h100-sxm-80gb"),
        ("nvidia.com/gpu.product", "NVIDIA-H100-PCIe", "h100-pcie-80gb"),
        ("nvidia.com/gpu.product", "NVIDIA-GB200", "gb200"),
        ("nvidia.com/gpu.product", "NVIDIA-B200", "b200-sxm-180gb"),
        ("gpu.nvidia.com/class", "A100_NVLINK_80GB", "a100-sxm4-80gb"),
        ("karpenter.k8s.aws/instance-gpu-name", "h100", "h100-sxm-80gb"),
        ("alias", "h100", "h100-sxm-80gb"),
    ],
)
def test_a_label_of_the_field_maps_to_its_accelerator(key, value, accelerator):
    assert LABELS[key, value] == accelerator


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("alias", "a100"),
        ("alias", "v100"),
        ("alias", "gh200"),
        ("alias", "rtx-6000"),
        ("alias", "rtx-pro-6000"),
        ("karpenter.k8s.aws/instance-gpu-name", "a100"),
        ("karpenter.k8s.aws/instance-gpu-name", "v100"),
        ("karpenter.azure.com/sku-gpu-name", "A100"),
        ("karpenter.azure.com/sku-gpu-name", "H100"),
        ("machine.cluster.vke.volcengine.com/gpu-name", "Tesla-V100"),
        ("nvidia.com/gpu.product", "NVIDIA-GeForce-RTX-3060"),
        ("nvidia.com/gpu.product", "NVIDIA-GeForce-RTX-3080"),
        ("nvidia.com/gpu.product", "NVIDIA-GeForce-RTX-4060-Ti"),
        ("nvidia.com/gpu.product", "NVIDIA-H100"),
    ],
)
def test_a_value_that_could_be_two_products_is_not_mapped(key, value):
    assert (key, value) not in LABELS


def test_no_two_aliases_that_differ_only_in_case_disagree():
    seen = {}
    for (key, value), accelerator in LABELS.items():
        assert seen.setdefault((key, value.lower()), accelerator) == accelerator, value


def test_product_labels_carry_no_sharing_or_slice_suffix():
    for key, value in LABELS:
        if key == "nvidia.com/gpu.product":
            assert not value.endswith("-SHARED") and "-MIG-" not in value and " " not in value


def test_the_product_names_of_the_drivers_cover_the_labels_of_turing_and_later():
    written = {row["name"].replace(" ", "-") for row in rows("product_names.csv")}
    later = {"turing", "ampere", "ada", "hopper", "blackwell", "blackwell-ultra", "blackwell-rtx"}
    unwritten = {
        value
        for (key, value), accelerator in LABELS.items()
        if key == "nvidia.com/gpu.product" and ACCELERATORS[accelerator]["generation"] in later
    } - written
    # Older drivers left out the maker's name; GH200 96GB and T4G are not in the list of the open kernel modules.
    assert unwritten == {
        "A100-PCIE-40GB",
        "A100-SXM4-40GB",
        "A100-SXM4-80GB",
        "NVIDIA-GH200-96GB-HBM3",
        "NVIDIA-T4G",
    }


def test_memory_that_the_host_shares_is_told_apart():
    assert [name for name, row in ACCELERATORS.items() if row["unified_memory"] == "yes"] == ["gb10"]


# MIG and nodes -----------------------------------------------------------------------------


def test_mig_slices_exist_only_on_mig_cards_and_are_smaller_than_their_name():
    for row in rows("mig_profiles.csv"):
        assert ACCELERATORS[row["accelerator"]]["mig"] == "yes", row
        slices, nominal = re.match(r"(\d)g\.(\d+)gb", row["profile"]).groups()
        assert row["compute_slices"] == slices, row
        assert int(slices) <= int(row["compute_slices_total"]), row
        assert 0.8 * int(nominal) < float(row["memory_gib"]) < int(nominal), row
        assert 1 <= int(row["max_instances"]) <= 7, row


def test_mig_instances_fit_on_the_card_together():
    for row in rows("mig_profiles.csv"):
        driver = ACCELERATORS[row["accelerator"]]["driver_memory_mib"]
        if driver:
            assert float(row["memory_gib"]) * int(row["max_instances"]) * 1024 <= float(driver), row


@pytest.mark.parametrize(
    ("accelerator", "profile", "mebibytes"),
    [
        # nvidia-smi of MIG cards, utkuozdemir/nvidia_gpu_exporter captures: H100 80GB HBM3 and H200, driver 590.48.01.
        ("h100-sxm-80gb", "1g.10gb", 9984),
        ("h100-sxm-80gb", "2g.20gb", 20096),
        ("h100-sxm-80gb", "3g.40gb", 40448),
        ("h200-sxm-141gb", "1g.18gb", 16384),
        ("h200-sxm-141gb", "2g.35gb", 33280),
        ("h200-sxm-141gb", "3g.71gb", 71424),
    ],
)
def test_a_slice_has_the_memory_that_nvidia_smi_prints(accelerator, profile, mebibytes):
    (row,) = [r for r in rows("mig_profiles.csv") if (r["accelerator"], r["profile"]) == (accelerator, profile)]
    assert float(row["memory_gib"]) * 1024 == pytest.approx(mebibytes, abs=6)


def test_the_hosts_of_grace_and_graviton_have_arm_processors():
    arm = {row["accelerator"] for row in rows("nodes.csv") if row["cpu"] == "arm64"}
    assert arm == {"t4g", "gb200", "gb300", "gh200-96gb"}
    assert {row["cpu"] for row in rows("nodes.csv")} == {"", "arm64"}


def test_the_same_profile_name_counts_differently_on_a_40_and_an_80_gb_card():
    counts = {(r["accelerator"], r["profile"]): r["max_instances"] for r in rows("mig_profiles.csv")}
    assert counts["a100-sxm4-40gb", "1g.10gb"] == "4"
    assert counts["a100-sxm4-80gb", "1g.10gb"] == "7"


def test_nodes_have_whole_gpus():
    for row in rows("nodes.csv"):
        assert 1 <= int(row["gpus"]) <= 16, row


def test_a_price_is_of_a_known_machine_and_never_nothing():
    machines = {row["instance_type"] for row in rows("nodes.csv")}
    for row in rows("prices.csv"):
        assert row["instance_type"] in machines
        assert row["region"]
        prices = [float(row[kind]) for kind in ("usd_per_hour", "spot_usd_per_hour") if row[kind]]
        assert prices
        assert min(prices) > 0


def test_spot_is_cheaper_than_on_demand():
    for row in rows("prices.csv"):
        if row["usd_per_hour"] and row["spot_usd_per_hour"]:
            assert float(row["spot_usd_per_hour"]) < float(row["usd_per_hour"]), row


def test_each_priced_machine_has_one_home_region():
    homes = [row["instance_type"] for row in rows("prices.csv") if row["home"] == "yes"]
    assert len(homes) == len(set(homes))
    assert set(homes) == {row["instance_type"] for row in rows("prices.csv")}


@pytest.mark.parametrize(
    ("instance", "region", "on_demand", "spot"),
    [
        # aws/karpenter-provider-aws zz_generated.pricing_aws.go, generated 2026-07-20
        ("p5.48xlarge", "us-east-1", 55.04, None),
        ("g6e.xlarge", "us-east-1", 1.861, None),
        # Azure/karpenter-provider-azure zz_generated.pricing.go, generated 2026-06-18
        ("Standard_ND96isr_H100_v5", "eastus", 98.32, None),
        ("Standard_NC24ads_A100_v4", "westeurope", 4.775, None),
        # cloudpilot-ai/karpenter-provider-gcp initial-prices.json of 2026-08-03
        ("g2-standard-4", "us-central1", 0.706832255, 0.397336),
        ("a2-highgpu-1g", "europe-west4", 3.747972, 1.692835),
    ],
)
def test_known_list_prices(instance, region, on_demand, spot):
    (row,) = [r for r in rows("prices.csv") if (r["instance_type"], r["region"]) == (instance, region)]
    assert float(row["usd_per_hour"]) == pytest.approx(on_demand, abs=1e-5)
    assert (float(row["spot_usd_per_hour"]) if row["spot_usd_per_hour"] else None) == (
        None if spot is None else pytest.approx(spot, abs=1e-5)
    )


@pytest.mark.parametrize(
    ("instance", "accelerator", "gpus"),
    [
        ("p4d.24xlarge", "a100-sxm4-40gb", "8"),
        ("p5.48xlarge", "h100-sxm-80gb", "8"),
        ("g5.12xlarge", "a10g", "4"),
        ("Standard_NC24ads_A100_v4", "a100-pcie-80gb", "1"),
        ("a2-ultragpu-8g", "a100-sxm4-80gb", "8"),
        ("a4x-highgpu-4g", "gb200", "4"),
        ("g5g.16xlarge", "t4g", "2"),
    ],
)
def test_a_well_known_node_has_its_gpus(instance, accelerator, gpus):
    (row,) = [r for r in rows("nodes.csv") if r["instance_type"] == instance]
    assert (row["accelerator"], row["gpus"]) == (accelerator, gpus)


# Number formats of weights -----------------------------------------------------------------

FORMATS = {row["quantization"]: row for row in rows("quantization.csv")}


# Bits of a weight as the formats' own documents print them: comments of ggml-common.h, `llama-quantize --help`,
# the OCP Microscaling specification, and the QLoRA paper (NF4: 0.5 bits of scale a weight, 0.127 when quantised twice).
BITS = {
    "ggml-q2_k": 2.625,
    "ggml-q3_k": 3.4375,
    "ggml-q4_k": 4.5,
    "ggml-q5_k": 5.5,
    "ggml-q6_k": 6.5625,
    "ggml-q4_0": 4.5,
    "ggml-q8_0": 8.5,
    "ggml-iq1_s": 1.5625,
    "ggml-iq1_m": 1.75,
    "ggml-iq2_xxs": 2.0625,
    "ggml-iq2_xs": 2.3125,
    "ggml-iq2_s": 2.5625,
    "ggml-iq3_xxs": 3.0625,
    "ggml-iq3_s": 3.4375,
    "ggml-iq4_xs": 4.25,
    "ggml-iq4_nl": 4.5,
    "ggml-tq1_0": 1.6875,
    "ggml-tq2_0": 2.0625,
    "ggml-q1_0": 1.125,
    "ggml-q2_0": 2.25,
    "mxfp4": 4.25,
    "mxfp8": 8.25,
    "nvfp4": 4.5,
    "nf4": 4.5,
    "int4-bnb": 4.127,
    "fp8": 8,
    "int8": 8,
    "int4-gcol": 4,
}


@pytest.mark.parametrize("name", BITS)
def test_a_format_has_the_bits_that_its_document_prints(name):
    assert float(FORMATS[name]["bytes_per_weight"]) * 8 == pytest.approx(BITS[name], abs=0.0005)


# Whole files: GB (10^9 bytes) and billions of weights as published, by file type.
FILES = [
    ("gguf-q4_k_m", 0.986, 1.544),  # bartowski/Qwen2.5-1.5B-Instruct-GGUF
    ("gguf-q4_k_m", 4.9, 8.03),  # Llama-3.1-8B, llama.cpp tools/quantize/README.md
    ("gguf-q4_k_m", 9.0, 14.77),  # Qwen3-14B
    ("gguf-q4_k_m", 19.9, 32.76),  # Qwen2.5-32B
    ("gguf-q4_k_m", 43.1, 70.55),  # Llama-3.1-70B, llama.cpp tools/quantize/README.md
    ("gguf-q4_k_m", 249.1, 405.85),  # Llama-3.1-405B, llama.cpp tools/quantize/README.md
    ("gguf-q4_k_s", 0.940, 1.544),
    ("gguf-q3_k_m", 0.824, 1.544),
    ("gguf-q3_k_m", 15.9, 32.76),
    ("gguf-q2_k", 12.3, 32.76),
    ("gguf-q5_k_m", 23.3, 32.76),
    ("gguf-q6_k", 26.9, 32.76),
    ("gguf-q8_0", 34.8, 32.76),
    ("gguf-iq4_xs", 4.22, 7.616),
    ("gguf-iq4_xs", 17.7, 32.76),
    ("gguf-ud-q4_k_xl", 2.546, 4.022),
]


@pytest.mark.parametrize(("name", "gigabytes", "billions"), FILES)
def test_a_published_file_lies_between_the_ends_of_its_type(name, gigabytes, billions):
    low, high = float(FORMATS[name]["best"]), float(FORMATS[name]["worst"])
    assert low * 0.99 <= gigabytes / billions <= high * 1.01


def test_only_file_types_are_uncertain_and_the_likely_value_lies_between():
    for name, row in FORMATS.items():
        assert bool(row["best"]) == bool(row["worst"]) == name.startswith("gguf-"), name
        if row["best"]:
            assert float(row["best"]) <= float(row["bytes_per_weight"]) <= float(row["worst"]), name


def test_a_weight_only_kernel_needs_no_newer_card_than_native_arithmetic():
    for row in FORMATS.values():
        if row["native_capability"] and row["weight_only_capability"]:
            assert float(row["weight_only_capability"]) < float(row["native_capability"]), row["quantization"]


def test_native_arithmetic_of_a_number_format_starts_with_its_generation():
    assert {n: FORMATS[n]["native_capability"] for n in ("bfloat16", "fp8", "int8", "nvfp4", "nf4")} == {
        "bfloat16": "8.0",  # Ampere
        "fp8": "8.9",  # Ada
        "int8": "7.5",  # Turing
        "nvfp4": "10.0",  # Blackwell
        "nf4": "",
    }
