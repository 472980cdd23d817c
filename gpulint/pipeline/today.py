"""Day: the date on which gpulint runs. No other module reads the clock for it."""

from __future__ import annotations

import time


def today() -> str:
    """Return today's date, such as 2026-11-22."""
    return time.strftime("%Y-%m-%d")
