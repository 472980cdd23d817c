"""Library: what calls of the standard library and of readers of YAML return, as far as the repository states it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import Any

from gpulint.source.python import builtins, operations
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import (
    ENVIRONMENT,
    ITEMS_MAX,
    Choice,
    Constant,
    Given,
    Items,
    Mapping,
    Member,
    Object,
    Open,
    Plain,
    Value,
    choose,
    is_true,
)

WRITTEN_MAX = 32
"""The most files of settings that one program writes."""
NAMESPACE = "argparse.Namespace"
EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
PATHS = frozenset({"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"})
SAME_PATH = frozenset({"os.path.abspath", "os.path.realpath", "os.path.normpath", "os.fspath"})
DATA = (".json", ".yaml", ".yml", ".toml")
LOADERS = frozenset(
    {
        *("json.load", "json.loads", "yaml.safe_load", "yaml.load", "yaml.full_load", "tomllib.load", "tomllib.loads"),
        *("toml.load", "tomli.load", "omegaconf.OmegaConf.load", "ruamel.yaml.YAML.load", "yaml.unsafe_load"),
    }
)
WRAPPERS = frozenset(
    {
        *("omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container", "omegaconf.OmegaConf.to_object"),
        *("omegaconf.OmegaConf.structured", "omegaconf.DictConfig", "types.SimpleNamespace", "easydict.EasyDict"),
        *("addict.Dict", "box.Box", "munch.Munch", "munch.munchify", "ml_collections.ConfigDict", "dotmap.DotMap"),
    }
)
"""Calls that return the same settings under attributes, or as plain data."""
SAME = ("remote", "local", "spawn", "delay", "map", "starmap", "options", "bind", "with_options", "submit")
"""Methods by which Ray, Modal and the like start a function or an actor of the program."""


def call(
    program: Evaluator, name: str, arguments: list[Value], keywords: dict[str, Value], place: object
) -> Value | None:
    """Return what a known function of a library returns; None for any other function."""
    if name in program.known:
        return Constant(program.known[name], None, computed=True)
    if name in EXITS:
        return Open("the program ends", name="exit")
    if name in LOADERS:
        return _load(program, arguments[0]) if arguments else None
    if name in WRAPPERS:
        return _convert_settings(arguments[0]) if arguments else Mapping(dict(keywords), place)
    if name in SAME_PATH and arguments:
        return arguments[0]
    read = _FUNCTIONS.get(name)
    return read(program, arguments, keywords, place) if read else None


def read_variable(program: Evaluator, name: Value, fallback: Value | None) -> Value:
    """Return a variable of the environment, else the program's own fallback."""
    if not isinstance(name, Constant) or not isinstance(name.value, str):
        return Open("a variable whose name is computed at run time", ENVIRONMENT)
    given = program.environment.get(name.value)
    if given is not None:
        return convert_given(given, name.value, ENVIRONMENT)
    if fallback is None and (unstated := program.find_unstated(name.value)) is not None:
        return convert_given(unstated, name.value, ENVIRONMENT)
    if fallback is None:
        return Open(f"the environment variable {name.value} is not stated", ENVIRONMENT, name.value)
    if program.open_environment and isinstance(fallback, Constant) and not fallback.name:
        return Constant(fallback.value, fallback.place, name.value, fallback.computed)
    return fallback


def convert_given(given: Given, name: str, decider: str) -> Value:
    """Return a given text as a value, at its own place."""
    if given.text is None:
        return Open(given.why or f"{name} cannot be read", decider, name, given.place)
    return Constant(given.text, given.place)


def _get_variable(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    fallback = arguments[1] if len(arguments) > 1 else keywords.get("default")
    if fallback is None and not program.open_environment:
        fallback = Constant(None)
    return read_variable(program, arguments[0], fallback) if arguments else operations.NOT_COMPUTED


def _take_variable(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return read_variable(program, arguments[0], None)


def _set_variable(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    name, value = arguments[:2] if len(arguments) > 1 else (operations.NOT_COMPUTED, operations.NOT_COMPUTED)
    if isinstance(name, Constant) and isinstance(value, Constant):
        program.environment = {**program.environment, str(name.value): Given(str(value.value), value.place)}
    return Constant(None)


def _default_variable(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    name = arguments[0] if arguments else operations.NOT_COMPUTED
    if isinstance(name, Constant) and str(name.value) not in program.environment:
        _set_variable(program, arguments, keywords, place)
    return read_variable(program, name, None)


# ---- files


def _load(program: Evaluator, source: Value) -> Value:
    """Return the data of a JSON, YAML or TOML file of the repository."""
    path = find_path(source)
    if path is None:
        return operations.NOT_COMPUTED if not isinstance(source, Open) else source
    written = program.written.get(posixpath.normpath(str(path.value)))
    if written is not None:
        return builtins.copy(written)
    found = program.read_file(str(path.value), "")
    return found or Open(f"the file {path.value!s} is not in the repository", name=str(path.value))


def _write(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    """Keep the settings that a program writes to a file, which it may load again."""
    target = find_path(arguments[1]) if len(arguments) > 1 else None
    if target is not None and len(program.written) < WRITTEN_MAX:
        program.written[posixpath.normpath(str(target.value))] = builtins.copy(arguments[0])
    return Constant(None)


def _convert_settings(value: Value) -> Value:
    """Return an object of a class of settings as a dict; any other value as it is."""
    if not isinstance(value, Object) or value.cls is None:
        return value
    entries = {**value.keywords, **value.attributes}
    return Mapping({name: _convert_settings(entry) for name, entry in entries.items()}, value.place, value.open_ended)


def _merge_settings(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    """Return what OmegaConf makes of several settings: later ones take precedence, section by section."""
    found = Mapping({}, place)
    for one in map(_convert_settings, arguments):
        if isinstance(one, Mapping):
            found = operations.merge_deep(found, one, place)
        else:
            found.open_ended = found.open_ended or "a part of the settings is open"
    return found


def _read_dotted(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    """Return the settings that `key.key=value` words state: those of the command, or of a list."""
    found = Mapping({}, place)
    listed = arguments[0] if arguments else None
    words: Sequence[Given] = program.words or ()
    if isinstance(listed, Items) and not listed.open_ended:
        words = [Given(str(one.value), one.place) for one in listed.items if isinstance(one, Constant)]
    override(found, words)
    return found


def override(found: Mapping, words: Sequence[Given]) -> None:
    """Set in a dict what the `key.key=value` words state; a word that is open leaves the dict open."""
    for word in words:
        key, equals, value = (word.text or "").lstrip("+").partition("=")
        if equals:
            operations.set_deep(found, key.split("."), infer(Constant(value, word.place)))
        elif word.text is None:
            found.open_ended = "a word of the command is open"


def infer(value: Value) -> Value:
    """Return a text as the number or truth that it spells, as Fire and YAML read it."""
    if not isinstance(value, Constant) or not isinstance(value.value, str) or len(value.value) > 40:
        return value
    text = value.value
    if text.lower() in ("true", "false"):
        return Constant(text.lower() == "true", value.place, value.name)
    if text.lower() in ("none", "null"):
        return Constant(None, value.place, value.name)
    for kind in (int, float):
        try:
            return Constant(kind(text), value.place, value.name)
        except ValueError:
            continue
    return value


def find_path(source: Value) -> Constant | None:
    """Return the path behind `open(path)`, `Path(path)`, a handle or its text."""
    for _ in range(6):
        if isinstance(source, Constant):
            return source if isinstance(source.value, str) and "\n" not in source.value else None
        if isinstance(source, Object) and (source.name == "open" or source.name in PATHS) and source.arguments:
            source = source.arguments[0]
        elif (
            isinstance(source, Object)
            and source.receiver is not None
            and source.name.endswith((".read", ".open", ".read_text"))
        ):
            source = source.receiver
        else:
            return None
    return None


def _read_path(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    flat = [operations.read_path(one) for one in arguments]
    joined = flat[0] if len(flat) == 1 else operations.join_path(flat, place) if flat else Constant(".")
    return Object("pathlib.Path", place, [joined])


def _join_path(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return operations.join_path(arguments, place)


def _parent(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return operations.apply(lambda path: posixpath.dirname(path) or ".", *arguments[:1], place=place)


def _base(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return operations.apply(posixpath.basename, *arguments[:1], place=place)


# ---- builtins


_EMPTY: dict[str, Plain] = {"int": 0, "float": 0.0, "str": "", "bool": False}


def _convert(kind: str) -> Callable[[Evaluator, list[Value], dict[str, Value], object], Value]:
    def convert(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
        if not arguments:
            return Constant(_EMPTY[kind], place)
        value = arguments[0]
        if isinstance(value, Choice):
            return choose(operations.convert(kind, member, place) for member in value.members)
        if kind == "bool" and (truth := is_true(value)) is not None:
            return Constant(truth, place, computed=True)
        if isinstance(value, Object) and value.name in PATHS and value.arguments:
            value = value.arguments[0]
        return operations.convert(kind, value, place)

    return convert


def _make_dict(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    found = Mapping({}, place)
    if arguments and isinstance(arguments[0], Mapping):
        found = operations.merge(found, arguments[0], place)
    elif arguments:
        found.open_ended = "the dict is computed at run time"
    found.entries.update(keywords)
    return found


def _make_items(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    if not arguments:
        return Items([], place)
    if isinstance(arguments[0], Items):
        return Items(list(arguments[0].items), place, arguments[0].open_ended)
    return Items([], place, open_ended=True)


def _make_range(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    """Return a range, whose items are not listed: loops over it are read once."""
    ends = [one.value for one in arguments if isinstance(one, Constant) and isinstance(one.value, int)]
    is_known = len(ends) == len(arguments) and 0 < len(ends) <= 3 and (len(ends) < 3 or ends[2] != 0)
    rounds = len(range(*ends)) if is_known else 0
    return Items([], place, open_ended=True, rounds=rounds if rounds <= ITEMS_MAX else 0)


def _open_items(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return Items([], place, open_ended=True)


def _count(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    value = arguments[0] if arguments else operations.NOT_COMPUTED
    if isinstance(value, Items) and not value.open_ended:
        return Constant(len(value.items), place, computed=True)
    if isinstance(value, Mapping) and not value.open_ended:
        return Constant(len(value.entries), place, computed=True)
    return operations.apply(len, value, place=place)


def _compute(function: Callable[..., Any]) -> Callable[[Evaluator, list[Value], dict[str, Value], object], Value]:
    def compute(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
        values: Sequence[Value] = arguments
        if len(arguments) == 1 and isinstance(arguments[0], Items) and not arguments[0].open_ended:
            values = arguments[0].items
        if not values or keywords or len(values) > ITEMS_MAX:
            return operations.NOT_COMPUTED
        stated = next((value for value in values if isinstance(value, Constant)), None)
        result = operations.apply(lambda *operands: function(operands), *values, place=place)
        same = next((one for one in values if isinstance(one, Constant) and _equals(one, result)), stated)
        if isinstance(result, Constant) and same is not None and _equals(same, result):
            return same
        return result

    return compute


def _equals(left: Constant, right: Value) -> bool:
    return isinstance(right, Constant) and type(left.value) is type(right.value) and left.value == right.value


def _dump(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    """Return the text that `json.dumps` makes of a number or of a truth value, at the place of that value."""
    value = arguments[0] if arguments else None
    if not isinstance(value, Constant) or not isinstance(value.value, int | float):
        return value if isinstance(value, Open) else operations.NOT_COMPUTED
    text = str(value.value).lower() if isinstance(value.value, bool) else str(value.value)
    return Constant(text, value.place, value.name, value.computed)


def _round(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return operations.apply(round, *arguments, place=place)


def _get_attribute(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    name = arguments[1] if len(arguments) > 1 else None
    if not isinstance(name, Constant):
        return operations.NOT_COMPUTED
    found = program.read_attribute(arguments[0], str(name.value), place)
    missing = isinstance(found, Open | Member)
    return arguments[2] if missing and len(arguments) > 2 else found


def _has_attribute(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    """Return whether an object has an attribute, where that is certain."""
    owner, name = (*arguments[:2], None, None)[:2]
    if not isinstance(owner, Object | Mapping) or not isinstance(name, Constant):
        return operations.NOT_COMPUTED
    found = owner.get(str(name.value)) if isinstance(owner, Object) else owner.entries.get(name.value)
    if found is None and (owner.open_ended or (isinstance(owner, Object) and owner.name != NAMESPACE)):
        return operations.NOT_COMPUTED
    return Constant(found is not None, place, computed=True)


def _set_attribute(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    if len(arguments) == 3 and isinstance(arguments[1], Constant):
        owner, name, value = arguments
        if isinstance(owner, Object):
            owner.attributes[str(name.value)] = value  # type: ignore[union-attr]
        elif isinstance(owner, Mapping):
            owner.entries[name.value] = value  # type: ignore[union-attr]
    return Constant(None)


def list_attributes(owner: Object, place: object) -> Mapping:
    """Return the attributes of an object as a dict; what is set in one is set in the other."""
    owner.attributes = {**owner.keywords, **owner.attributes}
    return Mapping(owner.attributes, place, owner.open_ended)


def _list_attributes(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    owner = arguments[0] if arguments else None
    return list_attributes(owner, place) if isinstance(owner, Object) else operations.NOT_COMPUTED


def _return_nothing(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    return Constant(None, None, computed=True)


def find_existing(program: Evaluator, path: Value, place: object) -> Value | None:
    """Return that a file of data exists if the repository has it; None for others, which the machine may have."""
    if not isinstance(path, Constant) or not isinstance(path.value, str) or not path.value.endswith(DATA):
        return None
    return Constant(True, place, computed=True) if program.read_file(path.value, "") is not None else None


def _exists(program: Evaluator, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value:
    path = find_path(arguments[0]) if arguments else None
    found = find_existing(program, path, place) if path is not None else None
    return found or program.record(Object("os.path.exists", place, arguments, keywords))


_FUNCTIONS: dict[str, Callable[[Evaluator, list[Value], dict[str, Value], object], Value]] = {
    **dict.fromkeys(("os.environ.get", "os.getenv", "decouple.config"), _get_variable),
    "os.environ[]": _take_variable,
    "os.environ[]=": _set_variable,
    "os.environ.setdefault": _default_variable,
    "os.path.join": _join_path,
    "os.path.dirname": _parent,
    "os.path.basename": _base,
    **dict.fromkeys(("os.path.exists", "os.path.isfile"), _exists),
    **dict.fromkeys(PATHS, _read_path),
    **{kind: _convert(kind) for kind in ("int", "float", "str", "bool")},
    "dict": _make_dict,
    **dict.fromkeys(("list", "tuple", "set", "frozenset"), _make_items),
    **dict.fromkeys(("map", "filter"), _open_items),
    **builtins.FUNCTIONS,
    "range": _make_range,
    "len": _count,
    "min": _compute(min),
    "max": _compute(max),
    "sum": _compute(sum),
    "abs": _compute(lambda operands: abs(operands[0])),
    "round": _round,
    "json.dumps": _dump,
    **dict.fromkeys(("json.dump", "yaml.dump", "yaml.safe_dump", "toml.dump", "omegaconf.OmegaConf.save"), _write),
    "getattr": _get_attribute,
    "hasattr": _has_attribute,
    "setattr": _set_attribute,
    **dict.fromkeys(("omegaconf.OmegaConf.merge", "omegaconf.OmegaConf.unsafe_merge"), _merge_settings),
    **dict.fromkeys(("omegaconf.OmegaConf.from_cli", "omegaconf.OmegaConf.from_dotlist"), _read_dotted),
    **dict.fromkeys(("vars", "dataclasses.asdict", "asdict"), _list_attributes),
    "print": _return_nothing,
}
