"""The hardware catalog: what its CSV files must hold, whoever edits them."""

import csv
import re
from datetime import date
from pathlib import Path

import pytest

CATALOG = Path(__file__).resolve().parent.parent / "gpulint" / "catalog"

HEADERS = {
    "accelerators.csv": (
        "id,name,vendor,generation,compute_capability,driver_memory_mib,cuda_memory_gib,"
        "bandwidth_gb_per_s,dense_bf16_tflops,dense_fp16_tflops,dense_fp8_tflops,"
        "dense_fp4_tflops,dense_int8_tops,board_w,form_factor,link,"
        "link_gb_per_s_per_direction,link_domain_gpus,mig,ecc,unified_memory,launch_year,"
        "source,date"
    ),
    "accelerator_labels.csv": "key,value,accelerator,source,date",
    "mig_profiles.csv": (
        "accelerator,profile,memory_gib,compute_slices,compute_slices_total,max_instances,source,date"
    ),
    "nodes.csv": (
        "instance_type,cloud,accelerator,gpus,vcpus,memory_gib,link,network_gbit_per_s,rdma,"
        "price_usd_per_hour,price_region,price_date,source,date"
    ),
}
FILES = sorted(HEADERS)
SORT_KEY = {
    "accelerators.csv": ("id",),
    "accelerator_labels.csv": ("key", "value"),
    "mig_profiles.csv": ("accelerator", "profile"),
    "nodes.csv": ("instance_type", "cloud"),
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


@pytest.mark.parametrize("name", [n for n in FILES if n != "accelerators.csv"])
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


def test_the_same_profile_name_counts_differently_on_a_40_and_an_80_gb_card():
    counts = {(r["accelerator"], r["profile"]): r["max_instances"] for r in rows("mig_profiles.csv")}
    assert counts["a100-sxm4-40gb", "1g.10gb"] == "4"
    assert counts["a100-sxm4-80gb", "1g.10gb"] == "7"


def test_nodes_have_whole_gpus():
    for row in rows("nodes.csv"):
        assert 1 <= int(row["gpus"]) <= 16, row


def test_a_price_never_comes_without_its_region_and_date():
    for row in rows("nodes.csv"):
        if row["price_usd_per_hour"]:
            assert float(row["price_usd_per_hour"]) > 0, row
            assert row["price_region"], row
            date.fromisoformat(row["price_date"])
        else:
            assert row["price_region"] == row["price_date"] == "", row


@pytest.mark.parametrize(
    ("instance", "accelerator", "gpus"),
    [
        ("p4d.24xlarge", "a100-sxm4-40gb", "8"),
        ("p5.48xlarge", "h100-sxm-80gb", "8"),
        ("g5.12xlarge", "a10g", "4"),
        ("Standard_NC24ads_A100_v4", "a100-pcie-80gb", "1"),
        ("a2-ultragpu-8g", "a100-sxm4-80gb", "8"),
        ("a4x-highgpu-4g", "gb200", "4"),
    ],
)
def test_a_well_known_node_has_its_gpus(instance, accelerator, gpus):
    (row,) = [r for r in rows("nodes.csv") if r["instance_type"] == instance]
    assert (row["accelerator"], row["gpus"]) == (accelerator, gpus)
