"""Claims: how strongly an adapter claims a document."""

from __future__ import annotations

from enum import IntEnum


class Claim(IntEnum):
    """The strength of a claim, from none to exact. The adapter with the strongest claim reads the document.

    A module that never claims more than a shape or a guess states it in `CLAIMS` and is asked later.
    """

    NONE = 0
    GUESS = 1
    """Keys or a name that files of other formats have as well."""
    SHAPE = 2
    """Keys that no other format combines."""
    EXACT = 3
    """The document names its format: by its group and kind, its file format or its own classes."""

    def where(self, condition: object) -> Claim:
        """Return this claim where a condition holds, else none.

        >>> Claim.SHAPE.where({"services"} & {"name"})
        <Claim.NONE: 0>
        """
        return self if condition else Claim.NONE
