"""vLLM: figures that its log gives only together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.logs import reading
from gpulint.adapters.logs.reading import Reading


def derived(told: Mapping[str, Reading]) -> Iterator[Reading]:
    """What follows from the lines since 0.27, which put graphs with activations and libraries with weights."""
    both, estimate = told.get("activation_and_graph_bytes"), told.get("graph_estimate_bytes")
    if both and "activation_bytes" not in told:
        taken_off = estimate and "graphs_outside_budget" not in told
        yield reading.combined("activation_bytes", (both, 1), *([(estimate, -1)] if estimate and taken_off else []))
    consumed, loaded = told.get("consumed_bytes"), told.get("loaded_bytes_per_gpu")
    if consumed and loaded and "non_torch_bytes" not in told:
        yield reading.combined("non_torch_bytes", (consumed, 1), (loaded, -1))
    if estimate and "graph_bytes" not in told:
        yield estimate._replace(name="graph_bytes")
