"""The style of text on a terminal: colours and links, or none."""

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


def link_text(text: str, address: str) -> str:
    """Return text as a hyperlink of a terminal (OSC 8)."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"
