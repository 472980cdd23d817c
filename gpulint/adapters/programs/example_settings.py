"""Example settings: a workload whose variables come from the example of a file that nobody committed."""

from __future__ import annotations

import posixpath

from gpulint.workload import Field

FIELD = "settings_example"


def build(example: str) -> dict[str, Field]:
    """Return the field that says so; none without an example."""
    if not example:
        return {}
    said = f"the variables of {posixpath.basename(example)}, because no file of the repository sets them"
    return {FIELD: Field(example, source=example, assumption=said)}
