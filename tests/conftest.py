"""What all tests share: the order in which they start."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files that take long before all others, so that no process ends long after the rest."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
