"""Methods: what the methods of a text, a list, a dict or a path return."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

from gpulint.source.python import builtins, operations, points
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.library import PATHS, find_existing
from gpulint.source.python.values import Choice, Constant, Items, Mapping, Object, Value, choose, list_members


def call_method(
    program: Evaluator, receiver: Value, name: str, arguments: list[Value], keywords: dict[str, Value], place: object
) -> Value | None:
    """Return what a method of a text, a list, a dict or a path returns; None for any other."""
    if isinstance(receiver, Constant):
        if name == "format" and isinstance(receiver.value, str):
            return operations.fill(receiver.value, arguments, keywords, place)
        return operations.call_text(name, receiver, arguments, place)
    if isinstance(receiver, Mapping):
        return _call_mapping(program, receiver, name, arguments, keywords, place)
    if isinstance(receiver, Items):
        return _call_items(receiver, name, arguments)
    if isinstance(receiver, Object) and receiver.name in PATHS:
        return _call_path(program, receiver, name, arguments, place)
    if isinstance(receiver, Choice) and all(isinstance(one, Constant) for one in receiver.members):
        return operations.call_text(name, receiver, arguments, place)
    return None


def _call_mapping(
    program: Evaluator, receiver: Mapping, name: str, arguments: list[Value], keywords: dict[str, Value], place: object
) -> Value:
    if name in ("get", "pop", "setdefault") and arguments:
        arguments = [points.decide_key(program, None, receiver, arguments[0], None), *arguments[1:]]
        found = operations.take(receiver, arguments[0])
        fallback = arguments[1] if len(arguments) > 1 else Constant(None, place)
        members = [
            fallback if _is_missing(receiver, key) else operations.take(receiver, key)
            for key in list_members(arguments[0])
        ]
        result = choose(members) if members else found
        if name == "setdefault" and isinstance(arguments[0], Constant):
            receiver.entries.setdefault(arguments[0].value, result)
        if name == "pop" and isinstance(arguments[0], Constant):
            receiver.entries.pop(arguments[0].value, None)
        return result
    if name == "update":
        for other in (*arguments, Mapping(dict(keywords))):
            if isinstance(other, Mapping):
                receiver.entries.update(other.entries)
                receiver.keys.update(other.keys)
                receiver.open_ended = receiver.open_ended or other.open_ended
            else:
                receiver.open_ended = "it is updated at run time"
        return Constant(None)
    if name in ("copy", "deepcopy"):
        return builtins.copy(receiver) if name == "deepcopy" else operations.merge(receiver, Mapping({}), place)
    if name == "items":
        pairs = [Items([Constant(key, receiver.keys.get(key)), value]) for key, value in receiver.entries.items()]
        return Items(list(pairs), place, bool(receiver.open_ended))
    if name in ("keys", "values"):
        listed: list[Value] = [Constant(key) for key in receiver.entries]
        return Items(listed if name == "keys" else list(receiver.entries.values()), place, bool(receiver.open_ended))
    return operations.NOT_COMPUTED


def _is_missing(receiver: Mapping, key: Value) -> bool:
    return isinstance(key, Constant) and key.value not in receiver.entries and not receiver.open_ended


def _call_items(receiver: Items, name: str, arguments: list[Value]) -> Value:
    if name == "append" and arguments:
        receiver.extend(Items([arguments[0]]))
    elif name == "extend" and arguments:
        receiver.extend(arguments[0])
    elif name == "copy":
        return Items(list(receiver.items), receiver.place, receiver.open_ended)
    elif name in ("insert", "pop", "remove", "sort", "clear"):
        receiver.open_ended = True
    return operations.NOT_COMPUTED


def _call_path(program: Evaluator, receiver: Object, name: str, arguments: list[Value], place: object) -> Value | None:
    if name == "is_absolute" and receiver.arguments:
        return operations.apply(posixpath.isabs, receiver.arguments[0], place=place)
    if name in ("exists", "is_file") and receiver.arguments:
        return find_existing(program, receiver.arguments[0], place)
    if name == "joinpath":
        return Object(receiver.name, place, [operations.join_path([*receiver.arguments, *arguments], place)])
    if name in ("resolve", "absolute", "expanduser"):
        return receiver
    return receiver.arguments[0] if name == "as_posix" and receiver.arguments else None


def read_path_part(receiver: Object, name: str, place: object) -> Value | None:
    """Return the parent of a path, its name or its stem."""
    parts: dict[str, Callable[[Any], str]] = {
        "parent": lambda path: posixpath.dirname(path) or ".",
        "name": posixpath.basename,
        "stem": lambda path: posixpath.splitext(posixpath.basename(path))[0],
    }
    if name not in parts or not receiver.arguments:
        return None
    part = operations.apply(parts[name], receiver.arguments[0], place=place)
    return Object(receiver.name, place, [part]) if name == "parent" else part
