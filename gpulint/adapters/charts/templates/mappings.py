"""Functions of mappings and lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulint.adapters.charts.templates import value
from gpulint.adapters.charts.templates.value import UNKNOWN, Value


def build_dict(*arguments: Value) -> Value:
    """Return a mapping of keys and values in turn."""
    keys = [value.word(key) for key in arguments[::2]]
    return Value(
        {key: arguments[2 * at + 1] if 2 * at + 1 < len(arguments) else Value("") for at, key in enumerate(keys)}
    )


def build_list(*arguments: Value) -> Value:
    """Return a list of values."""
    return Value(list(arguments))


def append(items: Value, item: Value) -> Value:
    """Return a list with a further item at its end."""
    return UNKNOWN if items.is_open else Value([*items.items, item])


def prepend(items: Value, item: Value) -> Value:
    """Return a list with a further item at its start."""
    return UNKNOWN if items.is_open else Value([item, *items.items])


def concat(*lists: Value) -> Value:
    """Return the items of several lists."""
    return UNKNOWN if any(each.is_open for each in lists) else Value([item for each in lists for item in each.items])


def get(mapping: Value, key: Value) -> Value:
    """Return the value of a key; an empty text if there is none."""
    if mapping.is_open or value.is_open(key):
        return UNKNOWN
    return mapping.entries.get(value.word(key), Value(""))


def has_key(mapping: Value, key: Value) -> Value:
    """Return whether a mapping has a key."""
    if mapping.is_open or value.is_open(key) or not isinstance(mapping.data, dict):
        return UNKNOWN
    return Value(value.word(key) in mapping.data)


def index(argument: Value, *steps: Value) -> Value:
    """Return what lies below a value along keys and numbers."""
    found = argument
    for step in steps:
        if found.is_open or value.is_open(step):
            return UNKNOWN
        if isinstance(found.data, dict):
            found = found.data.get(value.word(step), Value())
        elif isinstance(found.data, list) and isinstance(step.data, int | float) and step.data >= 0:
            found = found.data[int(step.data)]
        else:
            return UNKNOWN
    return found


def change_entry(mapping: Value, key: Value, item: Value) -> Value:
    """Set a key of a mapping, and return the mapping."""
    if mapping.is_open or value.is_open(key) or not isinstance(mapping.data, dict):
        return UNKNOWN
    mapping.data[value.word(key)] = item
    return mapping


def remove_entry(mapping: Value, key: Value) -> Value:
    """Remove a key of a mapping, and return the mapping."""
    if mapping.is_open or value.is_open(key) or not isinstance(mapping.data, dict):
        return UNKNOWN
    mapping.data.pop(value.word(key), None)
    return mapping


def _merge_into(target: Value, *sources: Value, over: bool) -> Value:
    """Merge mappings into the first one: the first, or with `over` the last, decides."""
    if any(each.is_open or not isinstance(each.data, dict) for each in (target, *sources)):
        return UNKNOWN
    result = target
    for each in (target, *sources):
        value.check_size(each)
    for source in sources:
        result = _merge(result, source) if over else _merge(source, result)
    target.data = result.data
    return target


def _merge(base: Value, over: Value) -> Value:
    """Merge as Sprig does: an empty value of the latter decides nothing."""
    if not isinstance(base.data, dict) or not isinstance(over.data, dict):
        return over if value.truth(over) is not False else base
    merged = dict(base.data)
    for key, inner in over.data.items():
        merged[key] = _merge(merged[key], inner) if key in merged else inner
    return Value(merged, over.origin)


def _dig(*arguments: Value) -> Value:
    *steps, otherwise, found = arguments
    for step in steps:
        if not isinstance(found.data, dict):
            return UNKNOWN
        if value.word(step) not in found.data:
            return otherwise
        found = found.data[value.word(step)]
    return found


def _has(needle: Value, items: Value) -> Value:
    return Value(any(value.plain(item) == value.plain(needle) for item in items.items))


def _without(items: Value, *unwanted: Value) -> Value:
    left_out = [value.plain(item) for item in unwanted]
    return Value([item for item in items.items if value.plain(item) not in left_out])


def _unique(items: Value) -> Value:
    kept: list[Value] = []
    for item in items.items[:1000]:
        if all(value.plain(item) != value.plain(other) for other in kept):
            kept.append(item)
    return Value(kept)


def _slice(argument: Value, *bounds: Value) -> Value:
    start, end = [*(int(str(bound.data)) for bound in bounds), None][:2] if bounds else (0, None)
    whole = argument.data
    return Value(whole[start:end]) if isinstance(whole, list | str) else UNKNOWN


def _first(items: Value, at: int) -> Value:
    return items.items[at] if items.items else Value()


def _measure(argument: Value) -> Value:
    return Value(0 if argument.data is None else len(argument.data))  # type: ignore[arg-type]


def _pick(mapping: Value, keys: Sequence[Value], inside: bool) -> Value:
    names = {value.word(key) for each in keys for key in (each.items if isinstance(each.data, list) else [each])}
    return Value({key: inner for key, inner in mapping.entries.items() if (key in names) is inside}, mapping.origin)


LENIENT: dict[str, Callable[..., Value]] = {
    "dict": build_dict,
    "list": build_list,
    "tuple": build_list,
    "append": append,
    "mustAppend": append,
    "push": append,
    "prepend": prepend,
    "concat": concat,
    "get": get,
    "hasKey": has_key,
    "index": index,
    "set": change_entry,
    "unset": remove_entry,
    "merge": lambda *arguments: _merge_into(*arguments, over=False),
    "mustMerge": lambda *arguments: _merge_into(*arguments, over=False),
    "mergeOverwrite": lambda *arguments: _merge_into(*arguments, over=True),
    "mustMergeOverwrite": lambda *arguments: _merge_into(*arguments, over=True),
    "lookup": lambda *arguments: Value({}),
}
"""`lookup` finds nothing where no cluster is asked, as in `helm template`."""
STRICT: dict[str, Callable[..., Value]] = {
    "deepCopy": value.copy,
    "mustDeepCopy": value.copy,
    "dig": _dig,
    "keys": lambda *mappings: Value([Value(key) for each in mappings for key in sorted(each.entries)]),
    "values": lambda mapping: Value([inner for _, inner in sorted(mapping.entries.items())]),
    "pick": lambda mapping, *keys: _pick(mapping, keys, inside=True),
    "omit": lambda mapping, *keys: _pick(mapping, keys, inside=False),
    "pluck": lambda key, *mappings: Value(
        [each.entries[value.word(key)] for each in mappings if value.word(key) in each.entries]
    ),
    "has": _has,
    "without": _without,
    "uniq": _unique,
    "compact": lambda items: Value([item for item in items.items if value.truth(item) is not False]),
    "reverse": lambda items: Value(items.items[::-1]),
    "sortAlpha": lambda items: Value(sorted((value.text(item) for item in items.items), key=value.word)),
    "first": lambda items: _first(items, 0),
    "last": lambda items: _first(items, -1),
    "rest": lambda items: Value(items.items[1:]),
    "initial": lambda items: Value(items.items[:-1]),
    "slice": _slice,
    "len": _measure,
}
