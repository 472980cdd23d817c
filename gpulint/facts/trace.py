"""A trace records the names that are read while each fact is resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpulint.workload import Field


class WatchedFields(Mapping[str, Field]):
    """Fields of a role that report which of them is read."""

    def __init__(self, fields: Mapping[str, Field], note: Callable[[str], None]) -> None:
        self._fields = fields
        self._note = note

    def __getitem__(self, name: str) -> Field:
        self._note(name)
        return self._fields[name]

    def get(self, name: str, default: Field | None = None) -> Field | None:  # type: ignore[override]
        self._note(name)
        return self._fields.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._note(str(name))
        return name in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Trace:
    """The fields and facts that each fact of a role was resolved from."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self.fields = WatchedFields(fields, self.note)
        self.reads: dict[str, set[str]] = {}
        self._declared = fields
        self.open: list[set[str]] = []
        self._dependent: dict[frozenset[str], dict[str, bool]] = {}

    def note(self, name: str) -> None:
        """Record that the fact being resolved reads a field or another fact."""
        if self.open:
            self.open[-1].add(name)

    def begin(self, name: str) -> None:
        """Start to record what a fact is resolved from."""
        self.reads[name] = set()
        self.open.append(self.reads[name])

    def end(self) -> None:
        """Stop to record for the fact that was begun last."""
        self.open.pop()

    def dependent_on(self, fields: Mapping[str, Field]) -> dict[str, bool]:
        """Return which facts depend on the fields that differ, as far as this was asked before."""
        names = self._declared.keys() | fields.keys()
        changed = frozenset(name for name in names if self._declared.get(name) is not fields.get(name))
        return self._dependent.setdefault(changed, dict.fromkeys(changed, True))
