"""Mentions: which accelerators a name or a sentence means, and above all which mean none."""

from __future__ import annotations

import pytest

from gpulint.catalog import hardware

H100, A100 = "h100-sxm-80gb", ("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb")


@pytest.mark.parametrize(
    ("name", "products"),
    [
        ("h100", (H100,)),
        ("gpu-h100", (H100,)),
        ("gpuH100x4", (H100,)),
        ("8xh100", (H100,)),
        ("a100", A100),
        ("gpu_4_a100", A100),
        ("a100-80gb", ("a100-sxm4-80gb",)),
        ("a100_queue", A100),
        ("rtx_6000_ada", ("rtx-6000-ada",)),
        ("gpu-l4", ("l4",)),
        ("p5.48xlarge", (H100,)),
        ("a3-highgpu-8g", (H100,)),
        ("Standard_ND96isr_H100_v5", (H100,)),
    ],
)
def test_a_name_that_consists_of_one_product_means_it(name: str, products: tuple[str, ...]) -> None:
    assert hardware.find_in_name(name) == products


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpu",
        "gpu-8",
        "l4",
        "p4",
        "a2",
        "gpu-a2",
        "p4d",
        "g5-gpu-karpenter",
        "a4-highgpu-8g-",
        "a100-mig",
        "h100-dev-slices",
        "a100-h100",
        "gold",
        "h1000",
        "ha100",
        "amdgpu",
        "my-project-h100-team",
    ],
)
def test_a_name_with_any_other_word_means_nothing(name: str) -> None:
    assert hardware.find_in_name(name) == ()


@pytest.mark.parametrize(
    ("stem", "products"),
    [
        ("values-h100", (H100,)),
        ("kimi-k3-h100", (H100,)),
        ("values-a100", A100),
        ("deploy_a100-80gb", ("a100-sxm4-80gb",)),
        ("llama-rtx-4090-int4", ("rtx-4090",)),
        ("values", ()),
        ("values-l4", ()),
        ("phase-a10", ()),
        ("train-4090", ()),
        ("a100-to-h100", ()),
        ("llama-3.1-70b", ()),
        ("x100-h1000", ()),
    ],
)
def test_a_word_of_a_file_name_means_an_accelerator_if_it_is_the_only_one(stem: str, products: tuple[str, ...]) -> None:
    assert hardware.find_in_stem(stem) == products


@pytest.mark.parametrize(
    ("text", "products", "count"),
    [
        ("8xH100", (H100,), 8),
        ("8 x H100 80GB", (H100,), 8),
        ("Requires 2x A100 80GB", ("a100-sxm4-80gb",), 2),
        ("trained on 96x 40GB A100", ("a100-pcie-40gb", "a100-sxm4-40gb"), 96),
        ("Hardware: 4 x L40S", ("l40s",), 4),
        ("tested on a single RTX 4090", ("rtx-4090",), 1),
        ("2\u00d7 RTX 3090 TP=2", ("rtx-3090",), 2),
        ("Dual RTX 3090", ("rtx-3090",), 2),
        ("ON 4x8 H100 80GB -- TP8 x PP4", (H100,), 32),
        ("H100 x8", (H100,), 8),
        ("8 NVIDIA H100 GPUs", (H100,), 8),
        ("8 H100s", (H100,), 8),
        ("Config for 16 nodes of 8 H100s with FSDP1", (H100,), 128),
        ("only tested on 2 8xH100 nodes", (H100,), None),
        ("only tested on an 8xH100 machine", (H100,), 8),
        ("Config for 1 node of 8 x H100s (80GB)", (H100,), 8),
        ("Llama 3 H100", (H100,), None),
        ("GPU: A100", A100, None),
        ("1x L4", ("l4",), 1),
    ],
)
def test_a_sentence_names_a_product_with_its_count(text: str, products: tuple[str, ...], count: int | None) -> None:
    assert [(found.products, found.gpus) for found in hardware.find_in_sentence(text)] == [(products, count)]


@pytest.mark.parametrize(
    "text",
    [
        "no hardware at all",
        "kimi-k3-h100",
        "hardware=h100",
        "NVIDIA-H100-80GB-HBM3",
        "https://x.org/h100/l40s",
        "A100/H100",
        "H100-based clouds",
        "the l4 layer, a10 and t4",
        "H1000",
        "a2 and p4",
    ],
)
def test_a_part_of_a_word_and_a_short_word_in_small_letters_are_no_product(text: str) -> None:
    assert list(hardware.find_in_sentence(text)) == []


def test_a_product_that_does_not_have_the_memory_that_is_named_is_none() -> None:
    (found,) = hardware.find_in_sentence("8x H100 96GB")
    assert found.products == ()


A100 = ("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb")
V100 = ("v100-pcie-16gb", "v100-pcie-32gb", "v100-sxm2-16gb", "v100-sxm2-32gb", "v100s-pcie-32gb")


@pytest.mark.parametrize(
    ("name", "products"),
    [
        ("3090", ("rtx-3090",)),
        ("P100", ("p100-pcie-16gb", "p100-sxm2-16gb")),
        ("gpu-a100", A100),
        ("a100_80", ("a100-pcie-80gb", "a100-sxm4-80gb")),
        ("kisski-h100", ("h100-sxm-80gb",)),
        ("lrz-hgx-h100-94x4", ("h100-nvl-94gb",)),
        ("lrz-v100x2", V100),
        ("amd_a100nv_8", A100),
        ("rtx8000", ("quadro-rtx-8000",)),
        ("rtxa4000", ("rtx-a4000",)),
        ("2080ti", ("rtx-2080-ti",)),
        ("gpu4090", ("rtx-4090",)),
        ("dgx-h100-01", ("h100-sxm-80gb",)),
        ("a100-node1", A100),
    ],
)
def test_a_site_names_partitions_and_hosts_after_an_accelerator(name: str, products: tuple[str, ...]) -> None:
    assert hardware.find_in_site_name(name) == products


@pytest.mark.parametrize(
    "name",
    ["gpu", "gpu02", "acc", "booster", "p4", "a2", "normal", "mig_amd_a100_4", "gpu_a100_mig", "h100-dev-slices",
     "a100-1g.10gb", "h100-vs-l40s",
     "2024-gpu", "cpu2023", "node4090", "x86", "c7000", "a100-h100"],
)  # fmt: skip
def test_another_name_of_a_site_means_no_accelerator(name: str) -> None:
    assert hardware.find_in_site_name(name) == ()


@pytest.mark.parametrize(
    ("text", "products", "count"),
    [
        ("各占 2 张 H100", ("h100-sxm-80gb",), 2),
        ("使用两张RTX 3090", ("rtx-3090",), 2),
        ("单张H100显卡", ("h100-sxm-80gb",), 1),
        ("8卡A100", A100, 8),
        ("4 枚の A100", A100, 4),
        ("H100 4장", ("h100-sxm-80gb",), 4),
        ("2 карты A100 80GB", ("a100-sxm4-80gb",), 2),
        ("4 GPUs A100", A100, 4),
        ("2 tarjetas A100 40GB", ("a100-sxm4-40gb",), 2),
        ("A100 * 8", A100, 8),
        ("1x Tesla P100-PCIE-16GB", ("p100-pcie-16gb",), 1),
        ("8 A100", A100, None),
        ("RTX 4090 Laptop GPU", ("rtx-4090-laptop",), None),
        ("16 GiB RTX 4090 Laptop GPU", ("rtx-4090-laptop",), None),
        ("RTX 3060 Laptop GPU (6 GB)", ("rtx-3060-laptop",), None),
        ("RTX4070 laptop GPU", ("rtx-4070-laptop",), None),
        ("my laptop with an RTX 4060", ("rtx-4060-laptop",), None),
        ("Radeon RX 7900 XTX laptop", (), None),
        ("RTX 3060 6GB", ("rtx-3060-laptop",), None),
        ("RTX 3060 12 Go", ("rtx-3060-12gb",), None),
        ("RTX 3060", ("rtx-3060-12gb", "rtx-3060-laptop"), None),
        ("RTX 4090 48GB", (), None),
        ("RTX 4060 with 8 GB VRAM", ("rtx-4060",), None),
        ("RTX4060Ti 16GB", ("rtx-4060-ti-16gb",), None),
        ("RTX 4070 Ti SUPER", ("rtx-4070-ti-super",), None),
        ("4x H100 64GB", ("h100-sxm-64gb",), 4),
    ],
)
def test_a_sentence_of_any_language_counts_cards(text: str, products: tuple[str, ...], count: int | None) -> None:
    assert [(found.products, found.gpus) for found in hardware.find_in_sentence(text)] == [(products, count)]
