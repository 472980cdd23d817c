"""Entries: the functions and methods of a program that a framework calls when it starts or serves a request.

The table `python_entries.csv` lists the classes whose methods a framework calls, by their base or by their name, and the
packages whose decorators register a function that a server or a worker calls.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from gpulint.catalog import tables
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Class, Function, Name, Object, Value


def find_nodes(document: Document, evaluated: Evaluated) -> frozenset[int]:
    """Return the nodes of the functions of a program that a framework calls."""
    scope = evaluated.modules.get(document.path)
    return frozenset(_list_nodes(scope.names.values())) if scope is not None else frozenset()


def _list_nodes(values: Iterable[Value]) -> Iterator[int]:
    for value in tuple(values):
        if isinstance(value, Function) and any(_registers(one) for one in value.decorators):
            yield id(value.node)
        elif isinstance(value, Class) and (value.external() in _load("base") or value.name in _load("class")):
            yield from (id(member.node) for member in value.body.values() if isinstance(member, Function))


def _registers(decorator: Value) -> bool:
    return isinstance(decorator, Object | Name) and decorator.name.partition(".")[0] in _load("decorator")


@functools.cache
def _load(kind: str) -> frozenset[str]:
    return frozenset(row["name"] for row in tables.rows("python_entries") if row["kind"] == kind)
