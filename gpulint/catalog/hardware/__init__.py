"""Hardware of the catalog: accelerators, their links and slices, and the machine types that hold them.

Every product is looked up by its exact name.
"""

from gpulint.catalog.hardware.accelerators import (
    Accelerator,
    accelerator,
    labels,
    list_accelerators,
    named,
    of_memory,
    product_labels,
)
from gpulint.catalog.hardware.links import Link, Measured, link, measured
from gpulint.catalog.hardware.mig import slice_memory_bytes, slice_share_of, slices, slices_per_card
from gpulint.catalog.hardware.nodes import (
    ListPrice,
    Node,
    cheapest,
    cloud_of,
    holding,
    is_cloud,
    list_nodes,
    list_prices,
    node,
    priced_regions,
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
    "holding",
    "is_cloud",
    "labels",
    "link",
    "list_accelerators",
    "list_nodes",
    "list_prices",
    "measured",
    "named",
    "node",
    "of_memory",
    "priced_regions",
    "product_labels",
    "slice_memory_bytes",
    "slice_share_of",
    "slices",
    "slices_per_card",
]
