"""Networks that are counted as a whole: detectors, classifiers and pipelines whose layers no formula uses.

The table `networks.csv` has the parameters of each, by its published id.
"""

from __future__ import annotations

from gpulint.catalog import tables
from gpulint.catalog.architecture.model import Architecture


def find(name: str) -> Architecture | None:
    """Return a network that is counted as a whole; None if the table does not list it.

    >>> found = find("torchvision/resnet50")
    >>> found.parameters, found.layers
    (25557032, None)
    """
    row = tables.index_rows("networks", "id").get(name)
    if row is None:
        return None
    return Architecture(
        id=row["id"],
        family="",
        parameters=int(row["parameters"]),
        checkpoint_dtype=row["dtype"],
        task=row["task"],
        modality=row["modality"],
        source=row["source"],
    )


def list_ids() -> tuple[str, ...]:
    """Return the ids of all networks that are counted as a whole."""
    return tuple(tables.index_rows("networks", "id"))
