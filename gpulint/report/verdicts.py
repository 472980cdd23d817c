"""Verdict words that several parts of a report share."""

from __future__ import annotations

NOT_EVALUATED = "not evaluated"
"""The verdict on a role, a limit, a feed, a budget or an objective for which a value is missing."""
