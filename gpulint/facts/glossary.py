"""The glossary: every quantity that a fact may be, by name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from gpulint.catalog import package_data
from gpulint.facts.on_demand import OnDemand
from gpulint.workload import Value


class Quantity(NamedTuple):
    """A row of the glossary.

    For a quantity of a facility, `part` names the kinds of component that have it, `key` is its key in
    the file, and `words` are all its values. If `inherits` is set, a component that does not declare the
    quantity has the value of the component above. A list holds the fact `each` of every component of the
    kind `over`, or of those that know it if `known` is set.
    """

    name: str
    of: str
    type: str
    unit: str
    meaning: str
    ask: str
    absent: tuple[Value, ...]
    part: tuple[str, ...] = ()
    key: str = ""
    words: tuple[str, ...] = ()
    inherits: bool = False
    over: str = ""
    each: str = ""
    known: bool = False


@functools.cache
def glossary() -> Mapping[str, Quantity]:
    """Return every quantity by name."""
    rows = package_data.load_glossary()
    return OnDemand(rows, lambda name: _read_quantity(name, rows[name]))


def _read_quantity(name: str, row: Mapping[str, object]) -> Quantity:
    text = {key: str(row.get(key, "")) for key in ("of", "type", "unit", "meaning", "ask")}
    stated = row.get("absent")
    absent = ((tuple(stated) if isinstance(stated, list) else stated),) if "absent" in row else ()
    if "part" not in row:
        return Quantity(name=name, absent=absent, **text)  # type: ignore[arg-type]
    return Quantity(
        name=name,
        absent=absent,  # type: ignore[arg-type]
        **text,
        part=tuple(str(row["part"]).split()),
        key=str(row.get("key", "")),
        words=tuple(map(str, row.get("words", ()))),  # type: ignore[call-overload]
        inherits=row.get("inherits") is True,
        over=str(row.get("over", "")),
        each=str(row.get("each", "")),
        known=row.get("known") is True,
    )
