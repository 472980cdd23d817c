"""How far gpulint's facts about rooms agree with what vendors, tables and data-centre texts publish.

    python bench/facility.py [--list] [--answers bench/facility_answers.csv]

Each row states a Facility as it would be written and one published value. It is met when the fact of gpulint is within
2 % of it; a row that is not has its reason in the column `difference`, and a row whose quantity gpulint does not compute
says so there. `formula` is computed by us, `catalog` read from a row of ours, `class` from a table of classes or parts.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import alone
from alone import share

from gpulint import documents, facilities, units
from gpulint.facility import reader
from gpulint.facts import Missing
from gpulint.parts import PartFacts

SHIPPED = Path(__file__).with_name("facility_answers.csv")
NEAR = 0.02
HEAD = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: published}\nspec: "
FACTS: dict[str, tuple[str, str]] = {}
"""The fact of each quantity, and the kind of part that it is asked of; two facts with a slash are a quotient."""


class Answer(NamedTuple):
    """One published value beside ours."""

    row: dict[str, str]
    ours: float | None
    published: float
    needs: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether ours is within 2 %."""
        return self.ours is not None and abs(self.ours - self.published) <= NEAR * abs(self.published)
