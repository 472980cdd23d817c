"""Formulas of single engines: if one differs from the general formula, the engine's module decides.

An engine with many formulas has further modules, named like its own with a suffix, such as `vllm_kv_cache`.
"""

from __future__ import annotations

from collections.abc import Mapping

SHARED: Mapping[str, str] = {"llama_factory": "frozen_towers", "ms_swift": "frozen_towers"}
"""The module of formulas that several engines share, by the engine's own module."""
