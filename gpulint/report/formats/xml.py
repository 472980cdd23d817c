"""XML: elements as text, whatever the words of a file are."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from gpulint.report.formats.escaping import safe

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def element(name: str, attributes: Mapping[str, object], inside: Iterable[str] = (), words: str = "") -> str:
    """An element around others, each on its own line, or around words as they are."""
    stated = "".join(f' {key}="{_escaped(str(value)).replace(chr(10), "&#10;")}"' for key, value in attributes.items())
    within = "".join(f"\n{one}" for one in inside)
    if not within and not words:
        return f"<{name}{stated}/>"
    return f"<{name}{stated}>{_escaped(words)}{within}{chr(10) if within else ''}</{name}>"


def _escaped(words: str) -> str:
    """Words that no reader takes for markup; what XML cannot hold at all is shown as a replacement character."""
    return "\n".join(html.escape(safe(line)) for line in words.split("\n"))
