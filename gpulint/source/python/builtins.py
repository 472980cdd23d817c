"""Built-in functions on lists, dicts and types, and the copies of `copy`: what they return for values that are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpulint.source.python import operations
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import Class, Constant, Items, Mapping, Name, Object, Value, is_true

DEPTH_MAX = 12
SEQUENCES = frozenset({"list", "tuple", "set", "frozenset", "typing.Sequence", "collections.abc.Sequence"})
MAPPINGS = frozenset({"dict", "typing.Mapping", "collections.abc.Mapping"})
PLAIN = frozenset({"str", "int", "float", "bool", "bytes", "type"})
Call = Callable[[Evaluator, list[Value], dict[str, Value], object], Value]


def _is_instance(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    value, kind = (*arguments[:2], None, None)[:2]
    kinds = kind.items if isinstance(kind, Items) and not kind.open_ended else [kind]
    answers = [_is_of(value, one) for one in kinds]
    if True in answers:
        return Constant(True, place, computed=True)
    return operations.NOT_COMPUTED if None in answers else Constant(False, place, computed=True)


def _is_of(value: Value | None, kind: Value | None) -> bool | None:
    """Return whether a value is of a type; None if that is not certain."""
    if isinstance(kind, Class):
        if isinstance(value, Object):
            return kind in value.cls.lineage() if value.cls is not None else None
        return False if isinstance(value, Constant | Items | Mapping) else None
    if not isinstance(kind, Name) or kind.name not in SEQUENCES | MAPPINGS | PLAIN:
        return False if isinstance(value, Constant) and isinstance(kind, Name) else None
    if isinstance(value, Constant):
        named = {base.__name__ for base in type(value.value).__mro__}
        return kind.name in named
    if isinstance(value, Items):
        return kind.name in SEQUENCES
    return kind.name in MAPPINGS if isinstance(value, Mapping) else None


def _copy(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return copy(arguments[0]) if arguments else operations.NOT_COMPUTED


def copy(value: Value, depth: int = 0) -> Value:
    """Return a dict or a list whose parts can be changed without changing the original; any other value as it is."""
    if depth >= DEPTH_MAX:
        return value
    if isinstance(value, Mapping):
        entries = {key: copy(entry, depth + 1) for key, entry in value.entries.items()}
        return Mapping(entries, value.place, value.open_ended, dict(value.keys))
    if isinstance(value, Items):
        return Items([copy(item, depth + 1) for item in value.items], value.place, value.open_ended, value.rounds)
    return value


def _list_closed(value: Value) -> list[Value] | None:
    """Return the items of a list or the keys of a dict; None if there may be more."""
    if isinstance(value, Mapping):
        return None if value.open_ended else [Constant(key, value.keys.get(key)) for key in value.entries]
    return value.items if isinstance(value, Items) and not value.open_ended else None


def _arrange(function: Callable[[list[list[Value]]], Iterable[Value]]) -> Call:
    """Return a function that makes a list of the items of lists that are closed, and an open list of others."""

    def arrange(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
        listed = [_list_closed(argument) for argument in arguments]
        closed = [items for items in listed if items is not None]
        if keywords or not closed or len(closed) < len(listed):
            return Items([], place, open_ended=True)
        return Items(list(function(closed)), place)

    return arrange


def _sort(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    items = _list_closed(arguments[0]) if len(arguments) == 1 else None
    constants = [item for item in items or () if isinstance(item, Constant)]
    if items is None or len(constants) < len(items) or keywords.keys() - {"reverse"}:
        return Items([], place, open_ended=True)
    try:
        constants.sort(key=lambda item: item.value, reverse=is_true(keywords.get("reverse")) is True)  # type: ignore[arg-type,return-value]
    except TypeError:
        return Items([], place, open_ended=True)
    return Items(list(constants), place)


def _decide(stops: bool) -> Call:
    """Return `any` (that stops at a true item) or `all` (that stops at a false one)."""

    def decide(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
        value = arguments[0] if arguments else None
        truths = [is_true(item) for item in value.items] if isinstance(value, Items) else [None]
        if stops in truths:
            return Constant(stops, place, computed=True)
        is_whole = isinstance(value, Items) and not value.open_ended and None not in truths
        return Constant(not stops, place, computed=True) if is_whole else operations.NOT_COMPUTED

    return decide


FUNCTIONS: dict[str, Call] = {
    "isinstance": _is_instance,
    **dict.fromkeys(("copy.copy", "copy.deepcopy"), _copy),
    "sorted": _sort,
    "enumerate": _arrange(lambda lists: (Items([Constant(at), item]) for at, item in enumerate(lists[0]))),
    "zip": _arrange(lambda lists: (Items(list(row)) for row in zip(*lists, strict=False))),
    "reversed": _arrange(lambda lists: reversed(lists[0])),
    "any": _decide(True),
    "all": _decide(False),
}
