"""SGLang: figures that follow from several lines of its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.logs import reading
from gpulint.adapters.logs.reading import Reading


def derive(readings: Mapping[str, Reading]) -> Iterator[Reading]:
    """Yield the weights, for releases that print only the free memory before and after loading."""
    before, after = readings.get("free_before_bytes"), readings.get("free_loaded_bytes")
    if before and after and "loaded_bytes_per_gpu" not in readings:
        yield reading.add_readings("loaded_bytes_per_gpu", (before, 1), (after, -1))


def derive_reserved(readings: Mapping[str, Reading], device_memory_bytes: float) -> Iterator[Reading]:
    """Yield what context and communication use before the weights: total memory minus free memory."""
    before = readings.get("free_before_bytes")
    if before and before.number < device_memory_bytes:
        yield before._replace(name="non_torch_bytes", value=device_memory_bytes - before.number)
