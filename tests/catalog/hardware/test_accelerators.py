"""Hardware: names of cards as people type them."""

from __future__ import annotations

import pytest

from gpulint.catalog import hardware


@pytest.mark.parametrize(
    ("typed", "accelerator"),
    [
        ("Tesla V100 SXM2 16GB", "v100-sxm2-16gb"),
        ("tesla v100 sxm2 16gb", "v100-sxm2-16gb"),
        ("H100 SXM5 80GB", "h100-sxm-80gb"),
        ("GB200 Grace Blackwell (per GPU)", "gb200"),
        ("H100-SXM-80GB", "h100-sxm-80gb"),
    ],
)
def test_a_card_is_found_by_the_name_that_reports_print_in_either_case(typed: str, accelerator: str) -> None:
    found = hardware.find_accelerator(typed)
    assert found is not None
    assert found.id == accelerator


@pytest.mark.parametrize(
    "typed", ["Tesla V100", "V100 SXM2 16GB", "B200 SXM", "Tesla V100 SXM2 16GB ", "", "GB200 Grace"]
)
def test_a_part_of_a_name_is_no_name(typed: str) -> None:
    assert hardware.find_accelerator(typed) is None


def test_no_two_products_have_one_name() -> None:
    names = [one.name.lower() for one in hardware.list_accelerators()]
    assert len(set(names)) == len(names)


def test_every_name_that_is_printed_is_understood() -> None:
    assert [one.id for one in hardware.list_accelerators() if hardware.find_accelerator(one.name) != one] == []
