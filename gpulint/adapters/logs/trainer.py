"""Trainers: figures that their reports give only together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.logs import reading
from gpulint.adapters.logs.reading import Reading

PARTS = ("before_init_mem_gpu", "init_mem_gpu_alloc_delta", "train_mem_gpu_alloc_delta", "train_mem_gpu_peaked_delta")
"""What Transformers' trainer reports instead of its peak, in the order in which it was taken."""


def derived(told: Mapping[str, Reading]) -> Iterator[Reading]:
    """The peak of a run that reports by how much each stage grew, and by how much the last one rose above its end."""
    if all(part in told for part in PARTS):
        yield reading.combined("training_peak_bytes", *((told[part], 1) for part in PARTS))
