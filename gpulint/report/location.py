"""Location: a span of a file."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from gpulint.report.json_keys import HIDDEN, Between


class Location(NamedTuple):
    """A span of a file; lines and columns count from 1, the end column is exclusive."""

    path: str
    line: Annotated[int, Between(1)]
    column: Annotated[int, Between(1)]
    end_line: Annotated[int, Between(1)]
    end_column: Annotated[int, Between(1)]
    text: Annotated[str, HIDDEN] = ""
    """The source of its lines."""
