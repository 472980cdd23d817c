"""Command line: the arguments that a parser of argparse or of Transformers reads, joined with the words of the command.

Where nothing says how the program is started, its own defaults count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.source.python import calls, library, operations, points
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import (
    CALLER,
    Class,
    Constant,
    Function,
    Given,
    Items,
    Mapping,
    Member,
    Name,
    Object,
    Open,
    Value,
    is_true,
)

PARSER = "ArgumentParser"
CLASSES = frozenset({"HfArgumentParser", "TrlParser", "H4ArgumentParser"})
DECLARED = "declared arguments"
DEFAULTS = "set defaults"
SAME_PARSER = frozenset({"add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser"})
FROM_FILE = frozenset({"parse_yaml_file", "parse_json_file", "parse_dict"})
FLAGS = frozenset({"store_true", "store_false"})
TRUE = frozenset({"1", "true", "yes", "y", "t", "on"})


class Declared(NamedTuple):
    """An argument of a program: its flags or its position, its name, and how its value is read."""

    flags: tuple[str, ...]
    name: str
    default: Value | None = None
    kind: Value | None = None
    constant: bool | None = None
    several: bool = False
    choices: Value | None = None
    required: bool = False


class Words(NamedTuple):
    """The words of a command, by the flag before them. `open_ended` says why there may be more."""

    flags: dict[str, list[Given]]
    positional: list[Given]
    open_ended: str


def split(words: Sequence[Given], switches: frozenset[str]) -> Words:
    """Return the words by flag; a switch takes no value."""
    found = Words(
        {}, [], next((word.why or "a word of the command is open" for word in words if word.text is None), "")
    )
    current: list[Given] | None = None
    for word in words:
        text = word.text
        if (text is not None and text.startswith("--") and len(text) > 2) or (
            (text or "")[:1] == "-" and (text or "")[1:2].isalpha()
        ):
            name, equals, value = (text or "").partition("=")
            name = normalize(name)
            current = found.flags.setdefault(name, [])
            current.clear()
            if equals:
                current.append(word._replace(text=value))
                current = None
            elif name in switches:
                current = None
        elif current is not None:
            current.append(word)
        else:
            found.positional.append(word)
    return found


def normalize(flag: str) -> str:
    """Return a flag as it is compared: with underscores behind its dashes."""
    bare = flag.lstrip("-")
    return flag[: len(flag) - len(bare)] + bare.replace("-", "_")


# ---- argparse


def call_parser(
    program: Evaluator, parser: Object, method: str, arguments: list[Value], keywords: dict[str, Value], place: object
) -> Value | None:
    """Return what a method of a parser returns; None for a method that is not known."""
    declared = parser.attributes.setdefault(DECLARED, Items([]))
    if method == "add_argument" and isinstance(declared, Items):
        declared.extend(Items([Object("argument", place, arguments, keywords)]))
        return Constant(None)
    if method in SAME_PARSER:
        return parser
    if method == "set_defaults":
        defaults = parser.attributes.setdefault(DEFAULTS, Mapping({}))
        if isinstance(defaults, Mapping):
            defaults.entries.update(keywords)
        return Constant(None)
    if method in ("parse_args", "parse_known_args"):
        words = _read_words(program, arguments[0] if arguments else keywords.get("args"))
        found = _parse(program, parser, words, place)
        return found if method == "parse_args" else Items([found, Items([], open_ended=True)])
    if (method.startswith("parse_") and "dataclass" in method) or method in ("parse", "parse_args_and_config"):
        return _parse_classes(program, parser, place)
    if method in FROM_FILE and arguments:
        return _parse_classes(program, parser, place, _read_entries(program, arguments[0]))
    return Constant(None) if method in ("print_help", "error", "set_description") else None


def _read_words(program: Evaluator, stated: Value | None) -> Sequence[Given] | None:
    """Return the words that a parser gets: those of the command, or a list of the program's own."""
    if not isinstance(stated, Items) or stated.open_ended:
        return program.words
    return [
        Given(str(item.value), item.place)
        if isinstance(item, Constant)
        else Given(None, None, "it is computed at run time")
        for item in stated.items
    ]


def _parse(program: Evaluator, parser: Object, words: Sequence[Given] | None, place: object) -> Object:
    declared = tuple(_list_declared(program, parser))
    result = Object(library.NAMESPACE, place)
    result.attributes = read(program, declared, words)
    defaults = parser.attributes.get(DEFAULTS)
    for name, value in defaults.entries.items() if isinstance(defaults, Mapping) else ():
        result.attributes.setdefault(str(name), value)
    if words is not None:
        result.open_ended = next(
            (word.why or "a word of the command is open" for word in words if word.text is None), ""
        )
    return result


def _list_declared(program: Evaluator, parser: Object) -> Iterator[Declared]:
    listed = parser.attributes.get(DECLARED)
    defaults = parser.attributes.get(DEFAULTS)
    for entry in listed.items if isinstance(listed, Items) else ():
        if not isinstance(entry, Object):
            continue
        names = [str(one.value) for one in entry.arguments if isinstance(one, Constant)]
        long = next((name for name in names if name.startswith("--")), names[0] if names else "")
        stated = entry.keywords.get("dest")
        name = str(stated.value) if isinstance(stated, Constant) else long.lstrip("-").replace("-", "_")
        action = entry.keywords.get("action")
        constant = None
        if isinstance(action, Constant) and action.value in FLAGS:
            constant = action.value == "store_true"
        elif isinstance(action, Name) and action.name.endswith("BooleanOptionalAction"):
            constant = True
        default = entry.keywords.get("default")
        if isinstance(defaults, Mapping) and name in defaults.entries:
            default = defaults.entries[name]
        if default is None and constant is not None:
            default = Constant(not constant)
        flags = tuple(normalize(one) for one in names if one.startswith("-"))
        several = isinstance(count := entry.keywords.get("nargs"), Constant) and count.value != "?"
        choices = entry.keywords.get("choices")
        yield Declared(
            flags,
            name,
            default,
            entry.keywords.get("type"),
            constant,
            several,
            choices,
            is_true(entry.keywords.get("required")) is True,
        )


def read(program: Evaluator, declared: Sequence[Declared], words: Sequence[Given] | None) -> dict[str, Value]:
    """Return the value of each argument: from the words, else its default."""
    switches = frozenset(flag for one in declared if one.constant is not None for flag in one.flags)
    given = split(words or (), switches)
    waiting = list(given.positional)
    found: dict[str, Value] = {}
    for one in declared:
        if not one.flags:
            taken = waiting if one.several else waiting[:1]
            waiting = [] if one.several else waiting[1:]
            values: list[Given] | None = list(taken) or None
        else:
            values = next((given.flags[flag] for flag in _list_spellings(one, given) if flag in given.flags), None)
        found[one.name] = _settle(program, one, values, words is not None, given.open_ended)
    return found


def _list_spellings(one: Declared, given: Words) -> Iterator[str]:
    """Yield the flags of an argument, and abbreviations of them that argparse accepts."""
    yield from one.flags
    yield from (flag for flag in given.flags if len(flag) > 4 and any(own.startswith(flag) for own in one.flags))


def _settle(program: Evaluator, one: Declared, values: list[Given] | None, started: bool, open_ended: str) -> Value:
    if values is None:
        default = Constant(None) if one.default is None else one.default
        flag = one.flags[0] if one.flags else one.name
        if one.default is None and (not started or open_ended) and one.constant is None:
            found = points.decide_argument(program, flag, one.choices, getattr(one.choices, "place", None))
            if found is not None:
                return found
        if one.default is None and one.constant is None and (not one.flags or one.required):
            return Open(f"the argument {flag} is not stated", CALLER, flag)
        if isinstance(default, Constant) and (not started or open_ended) and not default.name:
            return Constant(default.value, default.place, flag, default.computed)
        return (
            _convert(program, one.kind, default)
            if isinstance(default, Constant) and isinstance(default.value, str)
            else default
        )
    if one.constant is not None and not values:
        return Constant(one.constant)
    if values and values[0].text is None:
        found = points.decide_argument(program, one.flags[0] if one.flags else one.name, one.choices, values[0].place)
        if found is not None:
            return found
    read_values = [_convert(program, one.kind, library.convert_given(value, one.name, CALLER)) for value in values]
    if one.several:
        return Items(list(read_values))
    return read_values[0] if read_values else Constant(None)


def _convert(program: Evaluator, kind: Value | None, value: Value) -> Value:
    """Return a text as the type of an argument."""
    if not isinstance(value, Constant) or not isinstance(value.value, str):
        return value
    if isinstance(kind, Name) and kind.name in ("int", "float", "str"):
        return operations.convert(kind.name, value, value.place)
    if isinstance(kind, Name) and kind.name == "bool":
        return Constant(value.value.lower() in TRUE, value.place, value.name)
    if isinstance(kind, Function):
        converted = program.call(kind, [value], {}, value.place)
        return Constant(converted.value, value.place, value.name) if isinstance(converted, Constant) else converted
    return value


# ---- classes whose fields are arguments


def _read_entries(program: Evaluator, source: Value) -> dict[str, Value] | None:
    """Return the entries of a dict, or of the file that a path names; None if they cannot be read."""
    found = source if isinstance(source, Mapping) else None
    path = library.find_path(source) if found is None else None
    if path is not None:
        read_file = program.read_file(str(path.value), "")
        found = read_file if isinstance(read_file, Mapping) else None
    return {str(key): value for key, value in found.entries.items()} if found is not None else None


def _parse_classes(
    program: Evaluator, parser: Object, place: object, stated_entries: dict[str, Value] | None = None
) -> Value:
    """Return one object for each class of HfArgumentParser; what no class names belongs to those of other packages."""
    stated = parser.arguments[0] if parser.arguments else parser.keywords.get("dataclass_types")
    kinds = stated.items if isinstance(stated, Items) else [stated] if stated is not None else []
    given = split((program.words or ()) if stated_entries is None else (), frozenset())
    results: list[Value] = []
    for kind in kinds:
        values = {flag.lstrip("-"): _read_flag(words) for flag, words in given.flags.items()}
        values = _join_file(program, values) if stated_entries is None else dict(stated_entries)
        if isinstance(kind, Class):
            results.append(_make_from(program, kind, values, given, place))
        elif isinstance(kind, Name):
            made = Object(kind.name, place, keywords=values, open_ended=given.open_ended)
            results.append(program.record(made))
        else:
            results.append(operations.NOT_COMPUTED)
    return Items(results)


def _join_file(program: Evaluator, values: dict[str, Value]) -> dict[str, Value]:
    """Return the flags with the entries of the file that `--config` names, which they override."""
    entries = _read_entries(program, values["config"]) if "config" in values else None
    return {**entries, **values} if entries is not None else values


def _read_flag(words: Sequence[Given]) -> Value:
    if not words:
        return Constant(True)
    values = [library.infer(library.convert_given(word, "a flag", CALLER)) for word in words]
    return values[0] if len(values) == 1 else Items(values)


def _make_from(program: Evaluator, kind: Class, values: dict[str, Value], given: Words, place: object) -> Value:
    names = dict(calls.list_fields(kind))
    keywords = {name: value for name, value in values.items() if name in names or kind.external()}
    made = program.make(kind, [], keywords, place)
    if isinstance(made, Object):
        made.open_ended = made.open_ended or given.open_ended
        if program.words is None:
            made.keywords = {name: _mark(value, f"--{name}") for name, value in made.keywords.items()}
    return made


def _mark(value: Value, name: str) -> Value:
    unnamed = isinstance(value, Constant) and not value.name
    return (
        Constant(value.value, value.place, name, value.computed) if unnamed and isinstance(value, Constant) else value
    )


def is_parser(value: Value) -> bool:
    """Return whether an object reads the command line."""
    if isinstance(value, Member):
        return False
    return isinstance(value, Object) and (value.name.endswith(PARSER) or value.name.rpartition(".")[2] in CLASSES)
