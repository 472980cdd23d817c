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
    product_labels,
)
from gpulint.catalog.hardware.links import Link, Measured, find_measurement, link
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
    "Node",
    "accelerator",
    "cheapest",
    "cloud_of",
    "find_accelerator",
    "find_by_memory",
    "find_family",
    "find_measurement",
    "holding",
    "is_cloud",
    "labels",
    "link",
    "list_accelerators",
    "list_nodes",
    "list_priced_regions",
    "list_prices",
    "node",
    "product_labels",
    "slice_memory_bytes",
    "slice_share_of",
    "slices",
    "slices_per_card",
]
