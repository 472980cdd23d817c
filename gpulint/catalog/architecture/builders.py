"""Names by which trainers build networks: recipes, flavours and models, and the checkpoints with the same network."""

from __future__ import annotations

from gpulint.catalog import tables


def find_checkpoint(trainer: str, name: str) -> str | None:
    """Return the checkpoint with the network that a trainer builds by a name; None if the name is not listed.

    >>> find_checkpoint("nemo", "llama3_8b"), find_checkpoint("maxtext", "llama9-1b")
    ('meta-llama/Meta-Llama-3-8B', None)
    """
    row = tables.index_rows("model_builders", "builder").get(f"{trainer}:{name}")
    return row["checkpoint"] if row else None


def explain(name: str, checkpoint: str) -> str:
    """Return what was assumed of a network that a trainer builds by a name."""
    return f"{name} builds the architecture of {checkpoint}"
