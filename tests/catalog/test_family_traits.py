"""Traits of architecture families: each row is about a family that is known, and each trait is read by a formula."""

from __future__ import annotations

import re
from pathlib import Path

from gpulint import sizing
from gpulint.catalog import family_traits, tables
from gpulint.catalog.architecture import families, seq2seq, towers

SIZING = Path(sizing.__path__[0])
CALL = re.compile(r"(?:has|read)_trait\(\s*family,\s*\"(\w+)\"")


def test_every_trait_is_read_by_a_formula_and_has_a_row() -> None:
    read = {name for path in SIZING.rglob("*.py") for name in CALL.findall(path.read_text())}
    assert read == {row["trait"] for row in tables.rows(family_traits.TABLE)}


def test_a_family_has_a_trait_once() -> None:
    pairs = [(row["family"], row["trait"]) for row in tables.rows(family_traits.TABLE)]
    assert len(pairs) == len(set(pairs))


def test_every_family_is_one_that_an_architecture_can_have() -> None:
    listed = {row["family"] for row in tables.rows("architectures")}
    read = {family.name for family in (*families.FAMILIES.values(), *seq2seq.FAMILIES.values())}
    named = {row["family"] for row in tables.rows(family_traits.TABLE)}
    assert named <= listed | read | set(map(towers.family, towers.TOWERS))


def test_no_formula_keeps_a_list_of_families() -> None:
    for path in SIZING.rglob("*.py"):
        assert not re.search(r"\bfamily (?:not )?in\b", path.read_text()), path
