"""Lines: untrusted log text as bounded lines without colours, each with the rank that wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gpulint import units

LARGEST = 8 * units.MIB
"""Maximum number of bytes that are read of a log. An engine's start-up is far shorter."""
LONGEST = 16 * units.KIB
"""Maximum number of characters that are read of a line. One line may hold a whole configuration."""

_ESCAPES = re.compile(r"(?:\x1b|#033)\[[0-9;?]{0,20}[ -/]{0,4}[@-~]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_RANKS = (
    re.compile(r"\((?P<rank>(?:Vllm|Ray)?Worker\w{0,40}[^()]{0,80})\)"),
    re.compile(r"\((?P<rank>EngineCore_DP\d{1,4})\b"),
    re.compile(r"\[\d{4}-\d\d-\d\d [\d:.,]{8,15} (?P<rank>(?:(?:DP|PP|TP|EP|ATTN_TP|MOE_EP)\d{1,4} ?){1,6})\]"),
    re.compile(r"\[(?P<rank>[Rr]ank ?\d{1,5})\]"),
    re.compile(r"\[(?P<rank>default\d{1,3})\]:"),
)


class Line(NamedTuple):
    """A line of a log: its number, its rank (empty if one process writes for all), its text."""

    number: int
    rank: str
    text: str


def read(content: bytes, words: Collection[str]) -> Iterator[Line]:
    """Yield the lines of a log with one of the words.

    States of a progress bar are parts of one line.
    """
    sought = re.compile("|".join(map(re.escape, sorted(words))).encode())
    for number, raw in enumerate(content[:LARGEST].split(b"\n"), 1):
        for part in raw.split(b"\r") if sought.search(raw.lower()) else ():
            text = _strip_escapes(part[: 4 * LONGEST].decode("utf-8", "replace"))
            if text:
                yield Line(number, _find_rank(text), text)


def _strip_escapes(text: str) -> str:
    return _CONTROLS.sub("", _ESCAPES.sub("", text))[:LONGEST].strip()


def _find_rank(text: str) -> str:
    head = text[:200]
    name = next((match["rank"] for match in (rank.search(head) for rank in _RANKS) if match), "")
    return re.sub(r" ?pid=\d+,?", "", name).strip() if "_" in name else name.strip()
