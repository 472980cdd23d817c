"""Job calls: the calls by which a program hands work to a platform, and where each states machines, GPUs and work.

The table `python_jobs.csv` has a row for each of them. A cell names a value by the way to it: `compute>instance_type` is
an attribute, keyword or entry of a value, `0` an argument or item, `^` the object whose method is called, `run()` the call
of a method on the same object, `Cluster@compute` the object of that class and name, and `a|b` the first that is stated. Of a
list, an entry is that of each item.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.python.words import is_nothing, last_name, read_text
from gpulint.catalog import tables
from gpulint.source.python.values import Items, Object, Value
from gpulint.source.python.values import Mapping as Entries

EVERY = "*"
RECEIVER = "^"
CALLED = "()"


class Job(NamedTuple):
    """A call that hands work to a platform: its row, the call, and all calls of the program."""

    row: Mapping[str, str]
    call: Object
    calls: Sequence[Object]

    @property
    def platform(self) -> str:
        return self.row["platform"]

    def find(self, column: str) -> Value | None:
        """Return the value of a column; None if the call does not state it."""
        for way in filter(None, self.row[column].split("|")):
            found = _follow(self.call, way.split(">"), self.calls)
            if found is not None and not is_nothing(found):
                return found
        return None

    def find_each(self, column: str) -> Sequence[Value | None]:
        """Return the values of a column whose way passes through every item of a list."""
        before, every, behind = self.row[column].partition(f">{EVERY}>")
        listed = _follow(self.call, before.split(">"), self.calls) if every else None
        if not isinstance(listed, Items):
            found = self.find(column) if not every else None
            return (found,) if found is not None else ()
        return [_follow(item, behind.split(">"), self.calls) for item in listed.items]


def find(calls: Sequence[Object]) -> Iterator[Job]:
    """Yield the jobs of a program in their order."""
    rows = _load_rows()
    for call in calls:
        if (row := rows.get(call.name)) is not None:
            yield Job(row, call, calls)


@functools.cache
def _load_rows() -> Mapping[str, Mapping[str, str]]:
    return tables.index_rows("python_jobs", "call")


def _follow(value: Value, steps: Sequence[str], calls: Sequence[Object]) -> Value | None:
    found: Value | None = value
    for step in steps:
        if found is None:
            return None
        found = _step(found, step, calls)
    return found


def _step(value: Value, step: str, calls: Sequence[Object]) -> Value | None:
    """Return the value that one step leads to."""
    if step == RECEIVER:
        return value.receiver if isinstance(value, Object) else None
    if step.endswith(CALLED):
        name = step.removesuffix(CALLED)
        return next((call for call in calls if call.receiver is value and last_name(call) == name), None)
    if "@" in step and isinstance(value, Object):
        kind, _, key = step.partition("@")
        named = read_text(value.get(key))
        made = (call for call in calls if last_name(call) == kind and named)
        return next((call for call in made if read_text(call.get("name")) == named), None)
    if step.isdecimal():
        listed = value.arguments if isinstance(value, Object) else value.items if isinstance(value, Items) else ()
        return listed[int(step)] if int(step) < len(listed) else None
    if isinstance(value, Items):
        single = (item for item in value.items if not isinstance(item, Items))
        parts = [part for item in single if (part := _step(item, step, calls)) is not None]
        return parts[0] if len(parts) == 1 else Items(parts, value.place) if parts else None
    if isinstance(value, Object):
        return value.get(step)
    return value.entries.get(step) if isinstance(value, Entries) else None
