"""What all tests share: which folder holds none, the command line as a fixture, and the order in which tests start."""

from __future__ import annotations

import pytest
from command_line import run

__all__ = ["run"]

collect_ignore = ["support"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files that take long before all others, so that no process ends long after the rest."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
