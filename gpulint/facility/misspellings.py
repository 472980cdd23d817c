"""Mistakes in a Facility file, each with what was probably meant."""

from __future__ import annotations

import difflib

from gpulint.catalog import hardware
from gpulint.facility.model import HOLDS, LISTS, list_keys
from gpulint.source.documents import Path

SYNONYMS = {
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
"""Keys of other tools and languages, with our name for each."""
KEY_SIMILARITY_MIN = 0.8
"""Minimum similarity of a misspelled word: `room` and `rooms`, not `servers` and `server_types`."""

SUGGESTIONS_MAX = 3
NAME_SIMILARITY_MIN = 0.5
"""Minimum similarity of an accelerator name that is suggested instead: `l40s` for `l40s-48gb`."""


def render_unknown_key(path: Path) -> str:
    """Return the message for a key that a component does not have."""
    key = str(path[-1])
    if len(path) == 1:
        return f"unknown key {key} at the top level{_suggest_parent(key)}"
    part = next((LISTS[str(name)] for name in reversed(path[:-1]) if name in LISTS), "facility")
    return f"unknown key {key} of a {part}{_suggest_key(key, part)}"


def _suggest_parent(key: str) -> str:
    if key == "name":
        return "; it belongs under metadata"
    valid = _list_keys("facility")
    near = key if key in valid else next(iter(difflib.get_close_matches(key, valid, n=1)), None)
    return f"; {near} belongs under spec" if near else ""


def _list_keys(part: str) -> list[str]:
    """Return the keys of a kind of component, including those that list others."""
    return [*list_keys(part), *(key for key, held in LISTS.items() if held in HOLDS.get(part, ())), "name"]


def _suggest_key(key: str, part: str) -> str:
    """Return the key that was probably meant, or the components that have a key of that name."""
    valid = _list_keys(part)
    if (translated := SYNONYMS.get(key.lower())) in valid:
        return f"; did you mean {translated}?"
    if near := difflib.get_close_matches(key, valid, n=1, cutoff=KEY_SIMILARITY_MIN):
        return f"; did you mean {near[0]}?"
    if having := [kind for kind in ("facility", *LISTS.values()) if key in _list_keys(kind)]:
        *others, last = having
        return f"; it is a key of a {', '.join(others)} or {last}" if others else f"; it is a key of a {last}"
    near = difflib.get_close_matches(key, valid, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def suggest_accelerator(stated: str) -> str:
    """Return accelerators with a similar name to an unknown one, or where to look."""
    ids = [accelerator.id for accelerator in hardware.list_accelerators()]
    near = difflib.get_close_matches(stated.lower(), ids, n=SUGGESTIONS_MAX, cutoff=NAME_SIMILARITY_MIN)
    return f"; did you mean {', '.join(near)}?" if near else "; gpulint catalog accelerators lists them"
