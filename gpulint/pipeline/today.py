"""Day: the day on which gpulint runs; nothing else asks a clock what day it is."""

from __future__ import annotations

import time


def today() -> str:
    """Today, as 2026-11-22."""
    return time.strftime("%Y-%m-%d")
