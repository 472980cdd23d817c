"""Text helpers: safe output of untrusted text, counted nouns, ASCII fallback."""

from __future__ import annotations

TAB = "    "
PLAIN = str.maketrans({"×": "x", "…": "~", "→": ">", "·": ".", "µ": "u", "≥": ">", "²": "2", "°": "d"})
"""ASCII replacements of the same width for characters that a terminal may lack."""


def safe(text: str) -> str:
    """Return untrusted text without terminal control characters."""
    return "".join(
        TAB if character == "\t" else character if character.isprintable() else "\ufffd" for character in text
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def in_ascii(text: str) -> str:
    """Return text in ASCII with the same width."""
    return text.translate(PLAIN).encode("ascii", "replace").decode("ascii")
