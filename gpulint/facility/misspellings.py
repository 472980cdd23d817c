"""Mistakes: what people write in a Facility that its contract does not take, with what was meant."""

from __future__ import annotations

import difflib

from gpulint.catalog import hardware
from gpulint.facility.model import HOLDS, LISTS, keys
from gpulint.source.documents import Path

OTHERWISE = {
    "amps": "breaker",
    "amperage": "breaker",
    "height": "units",
    "model": "type",
    "qty": "count",
    "quantity": "count",
    "u": "units",
    "u_height": "units",
    "volts": "voltage",
    "watts": "power",
}
"""Keys of other tools and languages, by what they are called here."""
CLOSE = 0.8
"""How like two words are of which one is a slip of the other: `room` and `rooms`, not `servers` and `server_types`."""

NAMED = 3
NEAR = 0.5
"""How like a name an accelerator's is that is offered instead: `l40s` for `l40s-48gb`."""


def unknown_key(path: Path) -> str:
    """What is said of a key that its part does not have."""
    key = str(path[-1])
    if len(path) == 1:
        return f"unknown key {key} beside spec{_below(key)}"
    part = next((LISTS[str(one)] for one in reversed(path[:-1]) if one in LISTS), "facility")
    return f"unknown key {key} of a {part}{_meant(key, part)}"


def _below(key: str) -> str:
    if key == "name":
        return "; it belongs under metadata"
    known = _known("facility")
    near = key if key in known else next(iter(difflib.get_close_matches(key, known, n=1)), None)
    return f"; {near} belongs under spec" if near else ""


def _known(part: str) -> list[str]:
    """The keys of a kind of part, those that list others among them."""
    return [*keys(part), *(key for key, held in LISTS.items() if held in HOLDS.get(part, ())), "name"]


def _meant(key: str, part: str) -> str:
    """The key of that part that was meant, or the parts that have one so called."""
    known = _known(part)
    if (said := OTHERWISE.get(key.lower())) in known:
        return f"; did you mean {said}?"
    if near := difflib.get_close_matches(key, known, n=1, cutoff=CLOSE):
        return f"; did you mean {near[0]}?"
    if having := [kind for kind in ("facility", *LISTS.values()) if key in _known(kind)]:
        *others, last = having
        return f"; it is a key of a {', '.join(others)} or {last}" if others else f"; it is a key of a {last}"
    near = difflib.get_close_matches(key, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def near_accelerator(stated: str) -> str:
    """The accelerators whose names are like one that nobody knows, or where to look."""
    known = [one.id for one in hardware.accelerators()]
    near = difflib.get_close_matches(stated.lower(), known, n=NAMED, cutoff=NEAR)
    return f"; did you mean {', '.join(near)}?" if near else "; gpulint catalog accelerators lists them"
