"""Trainers: figures that follow from several of their reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.logs import reading
from gpulint.adapters.logs.reading import Reading

PARTS = ("before_init_mem_gpu", "init_mem_gpu_alloc_delta", "train_mem_gpu_alloc_delta", "train_mem_gpu_peaked_delta")
"""What Transformers' trainer reports instead of its peak, in the order of measurement."""


def derive(readings: Mapping[str, Reading]) -> Iterator[Reading]:
    """Yield the peak of a run that reports the growth of each stage and the peak of the last."""
    if all(part in readings for part in PARTS):
        yield reading.add_readings("training_peak_bytes", *((readings[part], 1) for part in PARTS))
