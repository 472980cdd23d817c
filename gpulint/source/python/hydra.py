"""Hydra: the configuration that a program gets, composed of YAML files and the words of the command."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.source.python import library, operations
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import CALLER, Constant, Given, Items, Mapping, Object, Open, Value

FILES_MAX = 40
"""Files of one configuration that are read."""
DEPTH_MAX = 8
INTERPOLATED_MAX = 500
DEFAULTS = "defaults"
SELF = "_self_"
ENTRY = re.compile(r"(?:override |optional )*(?P<group>[^@ ]+)(?:@(?P<package>\S+))?")
"""An entry of a defaults list: a group, and the section that its file becomes."""
REFERENCE = re.compile(r"\$\{(?P<name>[\w./-]+)\}")
VARIABLE = re.compile(r"\$\{oc\.env:(?P<name>\w++)(?:, *+(?P<default>[^{}]*+))?\}")
FLAGS = {"--config-name": "name", "-cn": "name", "--config-path": "folder", "-cp": "folder", "--config-dir": "folder"}


class _Composer(NamedTuple):
    """Reads the files of one configuration. `chosen` are the options that the command takes of groups."""

    program: Evaluator
    base: str
    near: str
    chosen: dict[str, Value]
    read: list[str]

    def load(self, name: str) -> Mapping | None:
        """Return the data of a file of the configuration, without the comment that names its section."""
        path = posixpath.normpath(posixpath.join(self.base, f"{name.removesuffix('.yaml').lstrip('/')}.yaml"))
        if len(self.read) >= FILES_MAX:
            return None
        self.read.append(path)
        found = self.program.read_file(path, self.near)
        return found if isinstance(found, Mapping) else None

    def compose(self, name: str, depth: int = 0) -> Mapping | None:
        """Return a file with the files that its defaults list names; the file itself comes last unless the list says where."""
        own = self.load(name)
        if own is None or depth > DEPTH_MAX:
            return own
        listed = own.entries.get(DEFAULTS)
        plain = operations.merge(own, Mapping({}), own.place)
        plain.entries.pop(DEFAULTS, None)
        if not isinstance(listed, Items):
            return plain
        found, is_placed = Mapping({}, own.place), False
        for group, option, package in _list_defaults(listed):
            if group == SELF:
                found, is_placed = operations.merge_deep(found, plain, own.place), True
                continue
            taken = self.chosen.get(group, option)
            found = self._add(found, posixpath.dirname(name), group, taken, package, depth)
        return found if is_placed else operations.merge_deep(found, plain, own.place)

    def _add(self, found: Mapping, folder: str, group: str, option: Value, package: str | None, depth: int) -> Mapping:
        """Return settings with the file of an option, in the section of its group."""
        if isinstance(option, Constant) and option.value is None:
            return found
        if not isinstance(option, Constant):
            found.open_ended = found.open_ended or f"the option of {group} is open"
            return found
        path = posixpath.join(group, str(option.value))
        inner = self.compose(posixpath.join(folder, path) if not group.startswith("/") else path, depth + 1)
        if inner is None:
            found.open_ended = found.open_ended or f"the file {path}.yaml is not in the repository"
            return found
        section = group.strip("/").split("/") if package is None else package.replace("_group_", group).split(".")
        if section in ([""], ["_global_"], ["_here_"]) or _is_global(inner):
            return operations.merge_deep(found, inner, found.place)
        wrapped = Mapping({})
        operations.set_deep(wrapped, section, inner)
        return operations.merge_deep(found, wrapped, found.place)


def _is_global(found: Mapping) -> bool:
    """Return whether the first line of a file says that it is no section of its own."""
    document = getattr(found.place, "document", None)
    return document is not None and "@package _global_" in document.text[:400]


def _list_defaults(listed: Items) -> Iterator[tuple[str, Value, str | None]]:
    """Yield the entries of a defaults list: a group with its option and its section, or a file of the same folder."""
    for entry in listed.items:
        if isinstance(entry, Constant) and isinstance(entry.value, str):
            yield (SELF, entry, None) if entry.value == SELF else ("", entry, None)
        elif isinstance(entry, Mapping):
            for key, option in entry.entries.items():
                match = ENTRY.fullmatch(str(key)[:200])
                if match:
                    yield match["group"], option, match["package"]


def read(program: Evaluator, configured: Object, near: str) -> Value:
    """Return the configuration of a function under `hydra.main`."""
    folder, name = (configured.keywords.get(key) for key in ("config_path", "config_name"))
    words = list(program.words or ())
    stated = {FLAGS[flag]: value for flag, value in _list_flags(words)}
    name, folder = stated.get("name", name), stated.get("folder", folder)
    if not isinstance(name, Constant):
        return Open("the configuration file is named at run time", CALLER)
    base = str(folder.value) if isinstance(folder, Constant) and folder.value else "."
    composer = _Composer(program, base, near, _list_choices(words), [])
    found = composer.compose(str(name.value))
    if found is None:
        file = str(name.value).removesuffix(".yaml")
        return Open(f"the configuration file {file}.yaml is not in the repository", CALLER)
    groups = {posixpath.dirname(posixpath.relpath(path, base)) for path in composer.read}
    found = _append_groups(composer, found, words, groups)
    library.override(found, [word for word in words if _name_group(word) not in groups or word.text is None])
    _interpolate(program, found)
    return found


def _append_groups(composer: _Composer, found: Mapping, words: Sequence[Given], groups: set[str]) -> Mapping:
    """Return settings with the files that `+group=option` words add."""
    for word in words:
        key, equals, value = (word.text or "").partition("=")
        if key.startswith("+") and equals and composer.load(f"{key.lstrip('+')}/{value}") is not None:
            found = composer._add(found, "", key.lstrip("+"), Constant(value, word.place), None, 0)
            groups.add(key.lstrip("+"))
    return found


def _name_group(word: Given) -> str:
    return (word.text or "").partition("=")[0].lstrip("+")


def _list_choices(words: Sequence[Given]) -> dict[str, Value]:
    """Return the options that `group=option` words take."""
    pairs = ((word, *(word.text or "").partition("=")) for word in words)
    return {key.lstrip("+"): Constant(value, word.place) for word, key, equals, value in pairs if equals and key}


def _list_flags(words: Sequence[Given]) -> Iterator[tuple[str, Value]]:
    """Yield the flags by which a command names another configuration."""
    for at, word in enumerate(words):
        flag, equals, value = (word.text or "").partition("=")
        if flag in FLAGS and equals:
            yield flag, Constant(value, word.place)
        elif flag in FLAGS and at + 1 < len(words):
            yield flag, library.convert_given(words[at + 1], flag, CALLER)


def _interpolate(program: Evaluator, root: Mapping) -> None:
    """Replace `${section.key}` and `${oc.env:NAME}` by what they refer to."""
    left: list[Mapping] = [root]
    for _ in range(INTERPOLATED_MAX):
        if not left:
            return
        section = left.pop()
        for key, value in list(section.entries.items()):
            if isinstance(value, Mapping):
                left.append(value)
            elif isinstance(value, Constant) and isinstance(value.value, str) and "${" in value.value:
                section.entries[key] = _resolve(program, root, value)


def _resolve(program: Evaluator, root: Mapping, value: Value, depth: int = 0) -> Value:
    text = value.value if isinstance(value, Constant) else None
    if not isinstance(text, str) or depth > DEPTH_MAX:
        return value
    if match := VARIABLE.fullmatch(text):
        default = match["default"]
        fallback = Constant(default, value.place) if isinstance(value, Constant) and default is not None else None
        return library.read_variable(program, Constant(match["name"]), fallback)
    if match := REFERENCE.fullmatch(text):
        found: Value | None = root
        for part in match["name"].split("."):
            found = found.entries.get(part) if isinstance(found, Mapping) else None
        return _resolve(program, root, found, depth + 1) if found is not None else operations.NOT_COMPUTED
    parts: list[Value] = []
    at = 0
    for match in REFERENCE.finditer(text):
        parts += [Constant(text[at : match.start()]), _resolve(program, root, Constant(match[0]), depth + 1)]
        at = match.end()
    place = value.place if isinstance(value, Constant) else None
    return operations.concatenate([*parts, Constant(text[at:])], place) if parts else value
