"""SGLang: figures that its log gives only together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.logs import reading
from gpulint.adapters.logs.reading import Reading


def derived(told: Mapping[str, Reading]) -> Iterator[Reading]:
    """The weights of releases that print only what is free before and after them."""
    before, after = told.get("free_before_bytes"), told.get("free_loaded_bytes")
    if before and after and "loaded_bytes_per_gpu" not in told:
        yield reading.combined("loaded_bytes_per_gpu", (before, 1), (after, -1))


def taken_before(told: Mapping[str, Reading], device_memory_bytes: float) -> Iterator[Reading]:
    """What context and communication hold before the weights: the card's total without what is free then."""
    before = told.get("free_before_bytes")
    if before and before.number < device_memory_bytes:
        yield before._replace(name="non_torch_bytes", value=device_memory_bytes - before.number)
