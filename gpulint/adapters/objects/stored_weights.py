"""Weights on a volume or in a bucket: what the name of their folder says of the model."""

from __future__ import annotations

from gpulint.catalog import architecture
from gpulint.workload import Field, Origin, Unknown, Value


def read(uri: str, origin: Origin) -> Field:
    """Return the checkpoint that the last part of an address names, or that states its size; else what is not stated."""
    is_named = architecture.resolve(uri).how != "unknown"
    return Field(uri if is_named else Unknown(f"what {uri} holds is not stated", "another object"), (origin,))


def is_named_below(checkpoint: Value | Unknown, mount: str) -> bool:
    """Return whether a checkpoint is a folder below a mount whose name says which model it holds."""
    below = isinstance(checkpoint, str) and checkpoint.startswith(f"{mount}/")
    return below and architecture.resolve(str(checkpoint)).how != "unknown"
