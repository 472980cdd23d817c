"""The catalog as a whole."""

from __future__ import annotations

import pkgutil
from pathlib import Path

from gpulint.catalog import tables as catalog_tables

FOLDER = Path(catalog_tables.__file__).parent


def test_the_version_is_the_date_of_the_newest_row() -> None:
    tables = [path.stem for path in FOLDER.glob("*.csv")]
    assert catalog_tables.version() == max(row["date"] for table in tables for row in catalog_tables.rows(table))


def test_every_row_of_every_table_has_a_source_and_a_date() -> None:
    for path in FOLDER.glob("*.csv"):
        for row in catalog_tables.rows(path.stem):
            assert row["source"], (path.name, row)
            assert row["date"] <= catalog_tables.version(), (path.name, row)


def test_a_release_without_a_patch_number_is_any_of_its_patches() -> None:
    row = {"since": "0.7.1", "until": "0.8.0"}
    assert catalog_tables.is_in_version(row, (0, 7))
    assert not catalog_tables.is_in_version(row, (0, 7, 0))
    assert not catalog_tables.is_in_version(row, (0, 8))


def test_tables_are_data_only() -> None:
    assert [module.name for module in pkgutil.iter_modules([str(FOLDER)])] == []
