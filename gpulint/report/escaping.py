"""Escaping: text of any content as a terminal, an XML file or a sentence can show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

XML_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
TAB = "    "
PLAIN = str.maketrans({"×": "x", "…": "~", "→": ">", "·": ".", "µ": "u", "≥": ">", "²": "2", "°": "d"})
"""ASCII replacements of the same width for characters that a terminal may lack."""


def safe(text: str) -> str:
    """Return untrusted text without terminal control characters."""
    return "".join(
        TAB if character == "\t" else character if character.isprintable() else "\ufffd" for character in text
    )


def count(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def convert_to_ascii(text: str) -> str:
    """Return text in ASCII with the same width."""
    return text.translate(PLAIN).encode("ascii", "replace").decode("ascii")


def render_element(name: str, attributes: Mapping[str, object], inside: Iterable[str] = (), words: str = "") -> str:
    """Return an element around others, each on its own line, or around literal text."""
    rendered = "".join(f' {key}="{_escape(str(value)).replace(chr(10), "&#10;")}"' for key, value in attributes.items())
    within = "".join(f"\n{child}" for child in inside)
    if not within and not words:
        return f"<{name}{rendered}/>"
    return f"<{name}{rendered}>{_escape(words)}{within}{chr(10) if within else ''}</{name}>"


def _escape(words: str) -> str:
    """Return text with markup escaped. Characters that XML cannot represent become replacement characters."""
    return "\n".join(safe(line).translate(MARKUP) for line in words.split("\n"))
