"""Health checks: programs that they start although the image of the container does not contain them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.catalog import tables

TABLE = "missing_tools"
ALTERNATIVE = re.compile(r"\|\||&&.*\|\||\bcommand -v\b|\bwhich\b|\btype\b")
FAILS = re.compile(r"\|\|\s*(?:exit\s+1\s*|false\s*|kill\b[^|]*)$")
FIRST = re.compile(r"\s*(?:/usr/bin/|/bin/)?(?P<program>[\w.-]+)")


def find_missing(image: str, words: Sequence[str]) -> str | None:
    """Return the program of a health check that its image lacks, if nothing takes its place.

    >>> find_missing("ollama/ollama:0.12.6", ["curl", "-f", "http://localhost:11434"])
    'curl'
    >>> find_missing("ollama/ollama:0.12.6", ["sh", "-c", "curl -f http://localhost:11434 || exit 1"])
    'curl'
    >>> find_missing("ollama/ollama:0.12.6", ["ollama", "list"])
    """
    text = words[-1] if len(words) == 3 and words[1] in ("-c", "-ec", "-lc") else " ".join(words)
    checked = FAILS.sub("", text)
    match = FIRST.match(checked)
    if match is None or ALTERNATIVE.search(checked):
        return None
    for row in tables.rows(TABLE):
        if (
            re.search(rf"(?:^|/){re.escape(row['image'])}(?:[:@]|$)(?!\S*rocm)", image)
            and match["program"] in row["tools"].split()
        ):
            return match["program"]
    return None
