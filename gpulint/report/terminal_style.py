"""The style of text on a terminal: colours, or none."""

from __future__ import annotations

from collections.abc import Callable

Paint = Callable[[str, str], str]
"""Text and the numbers of a style as one styled text."""


def plain(text: str, style: str) -> str:
    """Return text without a style."""
    return text


def apply_style(text: str, style: str) -> str:
    """Return text with a terminal style."""
    return f"\x1b[{style}m{text}\x1b[0m"
