"""Weights on a volume or in a bucket: what the name of their folder says of the model."""

from __future__ import annotations

from gpulint.catalog import architecture
from gpulint.workload import Field, Origin, Unknown


def read(uri: str, origin: Origin) -> Field:
    """Return the checkpoint that the last part of an address names, or that states its size; else what is not stated."""
    is_named = architecture.resolve(uri).how != "unknown"
    return Field(uri if is_named else Unknown(f"what {uri} holds is not stated", "another object"), (origin,))
