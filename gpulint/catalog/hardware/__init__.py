"""Hardware of the catalog: accelerators, their links and slices, and the machine types that hold them.

Every product is looked up by its exact name.
"""

from gpulint.catalog.hardware.accelerators import (
    Accelerator,
    accelerator,
    find_accelerator,
    find_by_memory,
    find_family,
    labels,
    list_accelerators,
    list_families,
    product_labels,
)
from gpulint.catalog.hardware.links import Link, Measured, find_measurement, link
from gpulint.catalog.hardware.mentions import (
    Mention,
    find_in_name,
    find_in_sentence,
    find_in_site_name,
    find_in_stem,
    list_printed,
)
from gpulint.catalog.hardware.mig import slice_memory_bytes, slice_share_of, slices, slices_per_card
from gpulint.catalog.hardware.nodes import (
    ListPrice,
    Node,
    cheapest,
    cloud_of,
    holding,
    is_cloud,
    list_nodes,
    list_priced_regions,
    list_prices,
    node,
)

__all__ = [
    "Accelerator",
    "Link",
    "ListPrice",
    "Measured",
    "Mention",
    "Node",
    "accelerator",
    "cheapest",
    "cloud_of",
    "find_accelerator",
    "find_by_memory",
    "find_family",
    "find_in_name",
    "find_in_sentence",
    "find_in_site_name",
    "find_in_stem",
    "find_measurement",
    "holding",
    "is_cloud",
    "labels",
    "link",
    "list_accelerators",
    "list_families",
    "list_nodes",
    "list_priced_regions",
    "list_prices",
    "list_printed",
    "node",
    "product_labels",
    "slice_memory_bytes",
    "slice_share_of",
    "slices",
    "slices_per_card",
]
