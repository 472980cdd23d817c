"""XML elements as text, safe for any content."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from gpulint.report.formats.escaping import safe

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def element(name: str, attributes: Mapping[str, object], inside: Iterable[str] = (), words: str = "") -> str:
    """Return an element around others, each on its own line, or around literal text."""
    rendered = "".join(f' {key}="{_escape(str(value)).replace(chr(10), "&#10;")}"' for key, value in attributes.items())
    within = "".join(f"\n{child}" for child in inside)
    if not within and not words:
        return f"<{name}{rendered}/>"
    return f"<{name}{rendered}>{_escape(words)}{within}{chr(10) if within else ''}</{name}>"


def _escape(words: str) -> str:
    """Return text with markup escaped. Characters that XML cannot represent become replacement characters."""
    return "\n".join(html.escape(safe(line)) for line in words.split("\n"))
