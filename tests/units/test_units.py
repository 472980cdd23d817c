"""Units: quantities as Kubernetes and vLLM read them, and numbers as people do."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from gpulint import units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80Gi", 85899345920),
        ("500M", 500000000),
        ("1e9", 1000000000),
        ("1E9", 1000000000),
        ("1E", 1000000000000000000),
        ("12e-1", 2),
        ("1500m", 2),
        ("1.5Gi", 1610612736),
        ("128974848", 128974848),
        ("0", 0),
        (".5k", 500),
        ("2.k", 2000),
        ("+3Ki", 3072),
        (" 1Mi ", 1048576),
        ("1Ti", 1099511627776),
        ("1n", 1),
        (7, 7),
        (0.5, 1),
    ],
)
def test_memory_is_read_as_kubernetes_reads_it(text: str | float, expected: int) -> None:
    assert units.bytes_of(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("80GB", '"80GB" is not a quantity: the suffix "GB" is unknown; write 80G or 80Gi'),
        ("80gi", '"80gi" is not a quantity: the suffix "gi" is unknown; write 80G or 80Gi'),
        ("80g", '"80g" is not a quantity: the suffix "g" is unknown; write 80G or 80Gi'),
        ("64K", '"64K" is not a quantity: the suffix "K" is unknown; write 64k or 64Ki'),
        ("64kb", '"64kb" is not a quantity: the suffix "kb" is unknown; write 64k or 64Ki'),
        ("1cores", '"1cores" is not a quantity: the suffix "cores" is unknown; write a number such as 1, 500m or 80Gi'),
        ("", '"" is not a quantity; write a number such as 1, 500m or 80Gi'),
        ("1 Gi", '"1 Gi" is not a quantity; write a number such as 1, 500m or 80Gi'),
        ("${GPUS}", '"${GPUS}" is not a quantity; write a number such as 1, 500m or 80Gi'),
        ("-1", '"-1" is negative; an amount of memory is zero or more'),
        (True, '"true" is not a quantity; write a number such as 1, 500m or 80Gi'),
        (float("inf"), '"inf" is not a quantity; write a number such as 1, 500m or 80Gi'),
        ("١", '"١" is not a quantity; write a number such as 1, 500m or 80Gi'),
    ],
)
def test_what_is_no_amount_of_memory_is_refused_in_plain_words(text: str | float, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        units.bytes_of(text)


def test_a_hostile_number_is_refused_before_it_is_computed() -> None:
    for text in ("9" * 1_000_000, "1e999999999"):
        with pytest.raises(ValueError, match="is not a quantity"):
            units.bytes_of(text)
    with pytest.raises(ValueError, match="is not a whole number"):
        units.human_int("9" * 1_000_000 + "k")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", Fraction(1)),
        ("-2", Fraction(-2)),
        ("500m", Fraction(1, 2)),
        (0.5, Fraction(1, 2)),
        (8, Fraction(8)),
        ("2.5", Fraction(5, 2)),
    ],
)
def test_a_count_may_be_a_fraction(text: str | float, expected: Fraction) -> None:
    assert units.quantity(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64k", 64000),
        ("64K", 65536),
        ("1m", 1000000),
        ("1M", 1048576),
        ("1.5k", 1500),
        ("25.6k", 25600),
        ("131072", 131072),
        ("2g", 2000000000),
        ("1G", 1073741824),
        (" 8k ", 8000),
        ("-1", -1),
    ],
)
def test_lower_case_is_decimal_and_upper_case_binary_for_vllm(text: str, expected: int) -> None:
    assert units.human_int(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5K", '"1.5K": K counts in steps of 1,024 and takes whole numbers; write 1.5k'),
        ("auto", '"auto" is not a whole number such as 65536, 64k or 64K'),
        ("1.5", '"1.5" is not a whole number such as 65536, 64k or 64K'),
    ],
)
def test_what_vllm_refuses_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        units.human_int(text)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (16063137751, "bytes", "14.96 GiB"),
        (536870912, "bytes", "512 MiB"),
        (85899345920, "bytes", "80 GiB"),
        (1550284146278, "bytes", "1,443.81 GiB"),
        (2048, "bytes", "2 KiB"),
        (12, "bytes", "12 B"),
        (0, "bytes", "0 B"),
        (-1073741824, "bytes", "-1 GiB"),
        (3350000000000, "bytes_per_s", "3.35 TB/s"),
        (450000000000.0, "bytes_per_s", "450 GB/s"),
        (989400000000000.0, "flop_per_s", "989.4 TFLOP/s"),
        (70_553_706_496, "parameters", "70.6 B"),
        (1_026_470_731_056, "parameters", "1.03 T"),
        (41_943_040, "parameters", "41.9 M"),
        (8192, "parameters", "8,192"),
        (3.8e24, "flop", "3.8 YFLOP"),
        (9.7e15, "flop", "9.7 PFLOP"),
        (16_060_522_496, "flop", "16.06 GFLOP"),
        (12, "flop", "12 FLOP"),
        (700, "w", "700 W"),
        (9900, "w", "9,900 W"),
        (10200, "w", "10.2 kW"),
        (1_200_000, "w", "1.2 MW"),
        (16, "a", "16 A"),
        (17292.0, "va", "17.29 kVA"),
        (24, "c", "24 °C"),
        (0.5215, "m3_per_s", "1,105 CFM"),
        (0.001333, "liquid_m3_per_s", "80 L/min"),
        (12.29, "usd_per_hour", "$12.29/h"),
        (1234.5, "usd_per_hour", "$1,234.50/h"),
        (131072, "tokens", "131,072"),
        (0.9, "ratio", "90 %"),
        (0.85714, "", "0.857"),
        (1.23456, "", "1.23"),
        (123.456, "", "123"),
        (12345.6, "", "12,346"),
        (0.0000123, "", "1.23e-05"),
        (Fraction(1, 2), "", "0.5"),
        (8.0, "", "8"),
        (True, "", "yes"),
        (False, "bytes", "no"),
        (None, "bytes", "none"),
        ("fp8", "", "fp8"),
        ([1, 2048], "", "1, 2,048"),
        ((1073741824, 2147483648), "bytes", "1 GiB, 2 GiB"),
        (float("inf"), "bytes", "unlimited"),
        ([], "", ""),
    ],
)
def test_numbers_are_written_for_people(value: object, unit: str, expected: str) -> None:
    assert units.human(value, unit) == expected


@pytest.mark.parametrize(
    ("cell", "unit", "expected"), [("79.6", units.GIB, 85469849190), ("24", units.MIB, 25165824), ("", units.GIB, None)]
)
def test_a_catalog_cell_becomes_bytes_and_an_empty_one_nothing(cell: str, unit: int, expected: int | None) -> None:
    assert units.scale_to_bytes(cell, unit) == expected


def test_an_empty_catalog_cell_is_not_stated() -> None:
    assert units.count("") is None
    assert units.scale("", units.GB) is None
    assert units.scale("400", units.GBIT) == 50_000_000_000.0


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("16gb", 16 * 2**30),
        ("16g", 16 * 2**30),
        ("1.5G", 3 * 2**29),
        ("512m", 512 * 2**20),
        ("64 MiB", 64 * 2**20),
        ("100", 100),
    ],
)
def test_docker_counts_sizes_in_steps_of_1024(text: str, size_bytes: int) -> None:
    assert units.binary_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "all", "-1g", "1e3", "16gbit", "${SIZE}"])
def test_what_docker_takes_for_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        units.binary_bytes(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("400 Gb/s", 50e9),
        ("400Gbps", 50e9),
        ("400 Gbit/s", 50e9),
        ("50 GB/s", 50e9),
        ("50GBps per direction", 50e9),
        ("900 GB/s both ways", 450e9),
        ("3.2 Tb/s", 400e9),
        ("25 Gb/s one way", 3.125e9),
    ],
)
def test_bits_are_told_from_bytes_and_one_way_from_both(text: str, expected: float) -> None:
    assert units.rate(text) == expected


@pytest.mark.parametrize("text", ["400", "400 G", "400 gb/s", "fast", "-1 Gb/s", "1e9 Gb/s", "900 GB/s all ways", ""])
def test_a_bandwidth_without_its_unit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a bandwidth; write 400 Gb/s, 50 GB/s or 900 GB/s both ways"):
        units.rate(text)
