"""PyTorch: a training loop of somebody's own. No command names it: the text of the program does."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading

MENTIONS = ("torch.optim",)
TRIGGERS = ()
PURPOSE = "training"


def read(invocation: Invocation) -> Reading | None:
    """Return None: that a program trains in a loop of its own is read from its text (`adapters.python.loops`)."""
    return None
