"""Words: text of strangers and counted nouns, as a terminal may show them."""

from __future__ import annotations

TAB = "    "
PLAIN = str.maketrans({"×": "x", "…": "~", "→": ">", "·": ".", "µ": "u", "≥": ">", "²": "2", "°": "d"})
"""What stands for the characters of ours that a terminal may lack, each as wide as they are."""


def safe(text: str) -> str:
    """Text of a stranger's file, without control characters that a terminal would obey."""
    return "".join(TAB if char == "\t" else char if char.isprintable() else "\ufffd" for char in text)


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def in_ascii(text: str) -> str:
    """Text for a terminal that has no other characters, as wide as it was."""
    return text.translate(PLAIN).encode("ascii", "replace").decode("ascii")
