"""vLLM: figures that follow from several lines of its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.logs import reading
from gpulint.adapters.logs.reading import Reading


def derive(readings: Mapping[str, Reading]) -> Iterator[Reading]:
    """Yield what follows from lines since 0.27, which add graphs to activations and libraries to
    weights.
    """
    both, estimate = readings.get("activation_and_graph_bytes"), readings.get("graph_estimate_bytes")
    if both and "activation_bytes" not in readings:
        taken_off = estimate and "graphs_outside_budget" not in readings
        yield reading.add_readings("activation_bytes", (both, 1), *([(estimate, -1)] if estimate and taken_off else []))
    consumed, loaded = readings.get("consumed_bytes"), readings.get("loaded_bytes_per_gpu")
    if consumed and loaded and "non_torch_bytes" not in readings:
        yield reading.add_readings("non_torch_bytes", (consumed, 1), (loaded, -1))
    if estimate and "graph_bytes" not in readings:
        yield estimate._replace(name="graph_bytes")
