"""Evidence of hardware: what one place of a file or a repository suggests."""

from __future__ import annotations

from typing import NamedTuple

from gpulint.source.documents import Comment


class Evidence(NamedTuple):
    """The accelerators that one place suggests, with their count if it names one."""

    products: tuple[str, ...]
    place: str
    gpus: int | None = None
    comment: Comment | None = None
