"""Variants: the facts of a role with changed fields.

Facts that depend on none of them are reused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from gpulint.catalog.architecture import Resolved
from gpulint.facts.resolver import Facts, Known, Missing
from gpulint.workload import Field, Role


class _Watched(Mapping[str, Field]):
    """A mapping of fields that reports which names are read."""

    def __init__(self, fields: Mapping[str, Field], record: Callable[[str], None]) -> None:
        self._fields = fields
        self._record = record

    def __getitem__(self, name: str) -> Field:
        self._record(name)
        return self._fields[name]

    def get(self, name: str, default: Field | None = None) -> Field | None:  # type: ignore[override]
        self._record(name)
        return self._fields.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._record(str(name))
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Traced(Facts):
    """Facts of a role with the names that each of them depends on; a variant reuses those of the
    original role.
    """

    def __init__(
        self,
        role: Role,
        resolved: Resolved | None,
        before: Traced | None = None,
        changed: dict[str, bool] | None = None,
    ) -> None:
        self._fields = role.fields
        self._before = before
        self._changed = changed or {}
        self._reading: list[set[str]] = []
        self._read: dict[str, set[str]] = {}
        self._resting: dict[frozenset[str], dict[str, bool]] = {}
        super().__init__(replace(role, fields=_Watched(role.fields, self._record)), resolved)

    def _record(self, name: str) -> None:
        if self._reading:
            self._reading[-1].add(name)

    def find(self, name: str) -> Known | Missing:
        if self._reading:
            self._reading[-1].add(name)
        if (found := self._found.get(name)) is not None:
            return found
        if self._before is not None and not self._before.rests(name, self._changed):
            self._read[name] = self._before._read[name]
            found = self._found[name] = self._before.find(name)
            return found
        self._read[name] = set()
        self._reading.append(self._read[name])
        try:
            return super().find(name)
        finally:
            self._reading.pop()

    def rests(self, name: str, changed: dict[str, bool]) -> bool:
        """Return whether a fact depends on any changed name; results are cached in `changed`."""
        rests = changed.get(name)
        if rests is None:
            self.find(name)
            changed[name] = False  # what needs itself adds nothing
            rests = changed[name] = any(self.rests(read_name, changed) for read_name in self._read.get(name, ()))
        return rests

    def variant(self, role: Role) -> Traced:
        """Return the facts of the same role with other fields."""
        names = self._fields.keys() | role.fields.keys()
        changed = frozenset(name for name in names if self._fields.get(name) is not role.fields.get(name))
        return Traced(role, self.resolved, self, self._resting.setdefault(changed, dict.fromkeys(changed, True)))
