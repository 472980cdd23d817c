"""Variants: the facts of a role with some fields changed; what rests on none of them is taken over from the role as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from gpulint.architecture import Resolved
from gpulint.facts import Facts, Known, Missing
from gpulint.workload import Field, Role


class _Watched(Mapping[str, Field]):
    """Fields that tell who reads them."""

    def __init__(self, fields: Mapping[str, Field], told: Callable[[str], None]) -> None:
        self._fields = fields
        self._told = told

    def __getitem__(self, name: str) -> Field:
        self._told(name)
        return self._fields[name]

    def get(self, name: str, default: Field | None = None) -> Field | None:  # type: ignore[override]
        self._told(name)
        return self._fields.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._told(str(name))
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Traced(Facts):
    """The facts of a role, each with the names that were read to find it."""

    def __init__(self, role: Role, resolved: Resolved | None) -> None:
        self._reading: list[set[str]] = []
        self._read: dict[str, set[str]] = {}
        self._resting: dict[frozenset[str], dict[str, bool]] = {}
        self.fields = role.fields
        super().__init__(replace(role, fields=_Watched(role.fields, self._told)), resolved)

    def _told(self, name: str) -> None:
        if self._reading:
            self._reading[-1].add(name)

    def find(self, name: str) -> Known | Missing:
        self._told(name)
        if name in self._read:
            return super().find(name)
        self._read[name] = set()
        self._reading.append(self._read[name])
        try:
            return super().find(name)
        finally:
            self._reading.pop()

    def rests(self, name: str, known: dict[str, bool]) -> bool:
        """Whether a fact rests on any name that `known` calls changed; what is found out is added there."""
        if name not in known:
            self.find(name)
            known[name] = False  # what needs itself adds nothing
            known[name] = any(self.rests(one, known) for one in self._read.get(name, ()))
        return known[name]

    def changed(self, role: Role) -> Facts:
        """The facts of the same role with other fields."""
        names = self.fields.keys() | role.fields.keys()
        changed = frozenset(name for name in names if self.fields.get(name) is not role.fields.get(name))
        return _Changed(role, self, self._resting.setdefault(changed, dict.fromkeys(changed, True)))


class _Changed(Facts):
    """Facts of a changed role, over those of the role as it was."""

    def __init__(self, role: Role, before: Traced, changed: dict[str, bool]) -> None:
        super().__init__(role, before.resolved)
        self._before = before
        self._rests = changed

    def find(self, name: str) -> Known | Missing:
        if name in self._found or self._before.rests(name, self._rests):
            return super().find(name)
        found = self._found[name] = self._before.find(name)
        return found

    def affected(self, name: str) -> bool:
        """Whether a fact rests on what was changed."""
        return self._before.rests(name, self._rests)
