"""What all tests share: which folder holds none, the command line as a fixture, and the order in which tests start."""

from __future__ import annotations

import pytest
from command_line import run
from hypothesis import HealthCheck, settings

__all__ = ["run"]

collect_ignore = ["support"]
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")
"""A machine that does other work besides is no fault of a test."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files that take long before all others, so that no process ends long after the rest."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
