"""Formulas of single engines: if one differs from the general formula, the engine's module decides."""

from __future__ import annotations

from collections.abc import Mapping

SHARED: Mapping[str, str] = {"llama_factory": "frozen_towers", "ms_swift": "frozen_towers"}
"""The module of formulas that several engines share, by the engine's own module."""
