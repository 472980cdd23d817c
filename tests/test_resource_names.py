"""Resource names: the one table of the names under which nodes offer GPUs, and nowhere else."""

from __future__ import annotations

import re

import pytest

from gpulint.catalog import package_data, resource_names


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("nvidia.com/gpu", "gpus"),
        ("nvidia.com/gpu.shared", "gpus"),
        ("amd.com/gpu", "gpus"),
        ("gpu.intel.com/xe", "gpus"),
        ("nvidia.com/mig-1g.10gb", "slices"),
        ("nvidia.com/gpumem-percentage", "shares"),
        ("aws.amazon.com/neuroncore", "other"),
        ("huawei.com/Ascend910", "other"),
        ("nvidia.com/gpux", ""),
        ("nvidia.com/hostdev", ""),
        ("gpu.intel.com/monitoring", ""),
        ("google.com/tpux", ""),
        ("cpu", ""),
        ("", ""),
    ],
)
def test_a_name_says_what_its_amount_counts(name: str, counts: str) -> None:
    assert resource_names.counts(name) == counts


@pytest.mark.parametrize(
    ("name", "vendor"),
    [("nvidia.com/rtxa6000", "nvidia"), ("gpu.intel.com/tiles", "intel"), ("habana.ai/gaudi", "habana"), ("cpu", "")],
)
def test_a_domain_is_a_vendors(name: str, vendor: str) -> None:
    assert resource_names.find_vendor(name) == vendor


def test_a_vendors_usual_name_is_the_first_row() -> None:
    names = [resource_names.find_name(vendor) for vendor in ("nvidia", "amd", "intel", "habana")]
    assert names == ["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "habana.ai/gaudi"]
    assert resource_names.find_name("nvidia", "gpucores") == "nvidia.com/gpucores"
    assert resource_names.slice_prefix() == "nvidia.com/mig-"


def test_no_module_spells_a_name_of_the_table() -> None:
    names = (resource.name.strip("*") for resource in resource_names.list_resources())
    spelled = re.compile(rf"""["'](?:{"|".join(map(re.escape, names))})["']""")
    found = {
        file.relative_to(package_data.PACKAGE).as_posix(): spelled.findall(text)
        for file in sorted(package_data.PACKAGE.rglob("*.py"))
        if spelled.search(text := _code(file.read_text()))
    }
    assert found == {}


def _code(text: str) -> str:
    """A text without its docstrings, whose examples spell names."""
    return re.sub(r'"""(?s:.*?)"""', "", text)
