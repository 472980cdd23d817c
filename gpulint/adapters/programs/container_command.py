"""The command of a container: its environment, and the programs that its command, arguments or script start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.objects import config_maps as config_map
from gpulint.adapters.programs import processes as ranks
from gpulint.engines import Argument, Invocation
from gpulint.source import shell
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin

REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
"""Read as Kubernetes does, from the left: two dollars are one, so that `$$(NAME)` refers to nothing."""
WHOLE_VARIABLE = re.compile(r"\"?\$(?:\((?P<paren>\w+)\)|\{(?P<brace>\w+)\}|(?P<bare>\w+))\"?")
VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
CALLER = "caller's variable"
PLACEHOLDER = re.compile(
    r"\$\([A-Za-z_][\w.-]*\)|\$\{\w+\}|\$[A-Za-z_]\w*|<[^<>]+>|\{\{|(?i:\byour[-_]|\b(?:change|replace)[-_]?me\b)"
)
SCRIPTS_WITHIN_MAX = 4
BESIDE = re.compile(r"(?:\s*\d?>>?&?\s*[^\s;|)<>&]+){0,4}\s*(?:&(?![&>])|\|(?!\|)|\))")
"""Behind a command that runs in a shell of its own: in the background, in a pipe or in parentheses."""
EVERY_ARGUMENT = frozenset({'"$@"', "$@", "$*"})
SHELL_OPTION = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
WRAPPERS = frozenset(
    {
        *("exec", "nohup", "time", "sudo", "command", "tini", "dumb-init", "--", "env", "numactl", "stdbuf"),
        "nvidia_entrypoint.sh",
    }
)


class Script(NamedTuple):
    """A shell's script, and where the characters from one position to another stand."""

    text: str
    origin: Callable[[int, int], Origin]


class Held(NamedTuple):
    """A script in a file of the container, the word that names it, and the words that it is given."""

    script: Script
    named: Argument
    given: tuple[Argument, ...]


class Started(NamedTuple):
    """The words of one command; conditional where it stands in a branch or a loop, final where nothing runs after it.

    `exported` are the variables that its script has set by then.
    """

    words: tuple[Argument, ...]
    conditional: bool = False
    final: bool = False
    exported: Mapping[str, Argument] = {}


class Environment(dict[str, Argument]):
    """Environment values by name; `open_ended` when whole objects supply more names than the file shows."""

    open_ended = False

    def variables(self) -> Mapping[str, str | None]:
        """What a shell of the container sees; a name that another object may supply is unknown."""
        values = {name: argument.text for name, argument in self.items()}
        return _Anything(values) if self.open_ended else values


class _Anything(dict[str, str | None]):
    """Holds every name; those it was not given have an unknown value."""

    def __contains__(self, name: object) -> bool:
        return True


def environment(document: Document, path: Path, supplied: Mapping[str, Argument] = {}) -> Environment:
    """The environment of a container; `$(NAME)` of an earlier entry is expanded as Kubernetes does.

    What `env` states wins over what `envFrom` brings, and both over what the object's controller supplies.
    """
    known = Environment(supplied)
    sources = document.get((*path, "envFrom"))
    for at, source in enumerate(sources if isinstance(sources, list) else ()):
        brought = config_map.values(document, source)
        known.open_ended = known.open_ended or brought is None
        named = Origin(document, (*path, "envFrom", at, "configMapRef", "name"))
        known.update({name: config_map.at_reference(one, named) for name, one in (brought or {}).items()})
    listed = document.get((*path, "env"))
    for at, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            known[entry["name"]] = _entry(document, entry, Origin(document, (*path, "env", at, "value")), known)
    return known


def _entry(document: Document, entry: Mapping[str, object], origin: Origin, known: Environment) -> Argument:
    """The value of one entry: as written, or of a ConfigMap of the same file."""
    if "value" in entry:
        return _expanded("" if entry["value"] is None else str(entry["value"]), origin, known)
    name, source = str(entry["name"]), entry.get("valueFrom")
    reference = source.get("configMapKeyRef") if isinstance(source, dict) else None
    held = config_map.value(document, reference, name)
    key = Origin(document, (*origin.path[:-1], "valueFrom", "configMapKeyRef", "key"))
    return config_map.at_reference(held, key) if held else Argument(None, origin, f"{name} comes from another object")


def self_reference(known: Environment) -> Field | None:
    """An entry such as LD_LIBRARY_PATH: ${LD_LIBRARY_PATH}:/more; `${NAME}` alone is for a tool that fills it in."""
    for name, argument in known.items():
        itself = re.search(rf"\$(?:\{{{re.escape(name)}\}}|{re.escape(name)}(?!\w))", argument.text or "")
        if itself and (argument.text or "").strip() != itself[0]:
            return Field(name, (argument.origin._replace(span=itself.span()),))
    return None


def invocations(
    document: Document, path: Path, known: Environment, find: Callable[[str], Origin | None] = lambda name: None
) -> Iterator[Invocation]:
    """The programs a container starts: of its command and args, or of the script that a shell is given.

    `find` tells where the text of a file of the container stands.
    """
    named = _image(document, path)
    command, args = (tuple(_words(document, (*path, key), known)) for key in ("command", "args"))
    if held := script_file((*command, *args), find):
        yield from scripted(named, held.script, known, held.given)
        return
    beside = (one.words for one in _started(_after_start(document, path, known), known, _written))
    yield from programs(named, (*command, *args), known, _written, image_program=not command, beside=tuple(beside))


def programs(
    image: Argument,
    words: tuple[Argument, ...],
    known: Environment,
    written: Callable[[Argument], Script],
    image_program: bool,
    beside: tuple[tuple[Argument, ...], ...] = (),
) -> Iterator[Invocation]:
    """The programs that words start; `written` gives the text of the word that is a shell's script, `image_program` says
    that the words follow the image's own program, `beside` is what starts next to them.
    """
    started = tuple(_started(words, known, written))
    entrypoint = image_program and _script(words) is None
    yield from _invoked(image, started, known, entrypoint, beside)


def scripted(
    image: Argument, script: Script, known: Environment, given: tuple[Argument, ...] = ()
) -> Iterator[Invocation]:
    """The programs that a script starts which a platform runs by itself, or with further words."""
    yield from _invoked(image, tuple(_run(script, given, known)), known, entrypoint=False)


def _invoked(
    image: Argument,
    started: Sequence[Started],
    known: Environment,
    entrypoint: bool,
    beside: tuple[tuple[Argument, ...], ...] = (),
) -> Iterator[Invocation]:
    for at, one in enumerate(started):
        others = (*(other.words for other in (*started[:at], *started[at + 1 :])), *beside)
        yield Invocation(
            image, one.words, known, entrypoint, one.conditional, known.open_ended, others, one.final, one.exported
        )


def _after_start(document: Document, path: Path, known: Environment) -> tuple[Argument, ...]:
    """The words of the command that runs beside the container once it has started."""
    return tuple(_words(document, (*path, "lifecycle", "postStart", "exec", "command"), known))


def _started(
    words: tuple[Argument, ...], known: Environment, written: Callable[[Argument], Script]
) -> Iterator[Started]:
    """The words of each command that these words start, and whether it stands in a branch or a loop."""
    script = _script(words)
    if script is None:
        yield Started(_unwrapped(words))
        return
    yield from _run(written(words[script]), words[script + 2 :], known)


def _run(script: Script, given: tuple[Argument, ...], known: Environment) -> Iterator[Started]:
    """The commands of a script that is given further words."""
    yield from _commands(script, shell.commands(script.text, known.variables()), given, known, SCRIPTS_WITHIN_MAX)


def _commands(
    script: Script, commands: Sequence[shell.Command], given: tuple[Argument, ...], known: Environment, left: int
) -> Iterator[Started]:
    """The commands of a script, and in place of one that hands a script to a shell those of that script."""
    for one in commands:
        final = len(one.words) > 1 and one.words[0].text == "exec" and not BESIDE.match(script.text, one.words[-1].end)
        within = _within(one, known) if left else ()
        for started in _commands(script, within, (), known, left - 1):
            conditional = started.conditional or one.conditional
            yield started._replace(conditional=conditional, final=started.final and final)
        if within:
            continue
        arguments = tuple(
            argument
            for word in one.words
            for argument in (given if word.raw in EVERY_ARGUMENT else (_from_shell(script, word, known),))
        )
        set_here = {**one.environment, **dict(one.assignments)}
        exported = {name: _from_shell(script, word, known) for name, word in set_here.items()}
        yield Started(_unwrapped(arguments), one.conditional, final, exported)
        if final and not one.conditional:
            return


def _within(one: shell.Command, known: Environment) -> tuple[shell.Command, ...]:
    """The commands of the script of `sh -c SCRIPT`."""
    first = next((at for at, word in enumerate(one.words) if not _wraps(word.text or "")), len(one.words))
    words = one.words[first : first + 3]
    if len(words) < 3 or (words[0].text or "").rsplit("/", 1)[-1] not in SHELLS:
        return ()
    if not SHELL_OPTION.fullmatch(words[1].text or ""):
        return ()
    return shell.inner(words[2], one, known.variables())


def script_file(words: tuple[Argument, ...], find: Callable[[str], Origin | None]) -> Held | None:
    """The script that a shell, or the container itself, is started with, where its text can be found."""
    words = _unwrapped(words)
    first = int(bool(words) and (words[0].text or "").rsplit("/", 1)[-1] in SHELLS)
    at = next((at for at, word in enumerate(words[first:], first) if not (word.text or "").startswith("-")), None)
    named = words[at].text if at is not None else None
    if at is None or not named or _script(words) is not None or not (first or "/" in named):
        return None
    place = find(named)
    text = place.document.get(place.path) if place else None
    if place is None or not isinstance(text, str):
        return None
    if not named.endswith((".sh", ".bash")) and place.document.format != "shell":
        return None
    return Held(Script(text, lambda start, end: place._replace(span=(start, end))), words[at], words[at + 1 :])


def _written(word: Argument) -> Script:
    """The script that a word of a container is: the text as it stands in the file, for its shell to expand."""
    text = word.origin.document.get(word.origin.path)
    return Script(text if isinstance(text, str) else "", lambda start, end: word.origin._replace(span=(start, end)))


def _image(document: Document, path: Path) -> Argument:
    image = document.get((*path, "image"))
    if isinstance(image, str):
        return Argument(image, Origin(document, (*path, "image")))
    return Argument(None, Origin(document, (*path, "image")), "no image")


def _expanded(text: str, origin: Origin, known: Environment) -> Argument:
    """A word with its `$(NAME)` references filled in; a name that nothing defines stays as it is, as in Kubernetes."""
    names = [name for name in REFERENCE.findall(text) if name and (name in known or known.open_ended)]
    for name in names:
        if name not in known or known[name].text is None:
            why = known[name].why if name in known else f"{name} may come from another object"
            return _unreadable(text, origin, why)
    filled = REFERENCE.sub(lambda match: _filled(match, known), text)
    whole = WHOLE_VARIABLE.fullmatch(text.partition("=")[2] if text.startswith("-") else text)
    return Argument(filled, origin, behind=known[names[0]].origin if len(names) == 1 and whole else None)


def _filled(match: re.Match[str], known: Environment) -> str:
    if match[0] == "$$":
        return "$"
    return str(known[match[1]].text) if match[1] in known else match[0]


def _unreadable(text: str, origin: Origin, why: str) -> Argument:
    """A word whose value cannot be known; of `--flag=value`, the flag can."""
    flag, equals, _ = text.partition("=")
    return Argument(None, origin, why, flag=flag if equals and flag.startswith("-") else "")


def _words(document: Document, path: Path, known: Environment) -> Iterator[Argument]:
    listed = document.get(path)
    if isinstance(listed, str):
        yield Argument(listed, Origin(document, path))
    for at, word in enumerate(listed if isinstance(listed, list) else ()):
        origin = Origin(document, (*path, at))
        if isinstance(word, dict | list):
            yield Argument(None, origin, "an argument is not a string")
        else:
            yield placeheld(_expanded("" if word is None else spelled(origin, word), origin, known))


def spelled(origin: Origin, word: object) -> str:
    """An argument as the author wrote it: an unquoted 0.90 or yes keeps its spelling."""
    node = origin.document.node(origin.path)
    return node.value if node is not None and isinstance(node.value, str) else str(word)


def placeheld(argument: Argument) -> Argument:
    """A word that holds `${NAME}`, `<placeholder>` or a template expression outside a shell cannot be known."""
    text = argument.text or ""
    if "\n" in text or not PLACEHOLDER.search(text) or (" " in text and "{{" not in text):
        return argument
    flag, equals, value = text.partition("=")
    stated = value if equals and flag.startswith("-") else text
    unread = _unreadable(text, argument.origin, f"{stated} is filled in elsewhere")
    return unread._replace(category=ranks.category(unread._replace(origin=argument.origin._replace(span=None))))


def _script(words: tuple[Argument, ...]) -> int | None:
    """Which word is the script of a shell: the one after `-c`."""
    shells = (at for at, word in enumerate(words) if (word.text or "").rsplit("/", 1)[-1] in SHELLS)
    first = next(shells, len(words))
    for at in range(first, len(words) - 1):
        if SHELL_OPTION.fullmatch(words[at].text or ""):
            after = at + 1 + (words[at + 1].text == "--")
            return after if after < len(words) else None
    return None


def _from_shell(script: Script, word: shell.Word, known: Environment) -> Argument:
    place = script.origin(word.start, word.end)
    flag, equals, value = word.raw.partition("=")
    stated = value if equals and flag.startswith("-") else word.raw
    named = WHOLE_VARIABLE.fullmatch(stated)
    name = next(filter(None, named.groups()), "") if named else ""
    if word.text is None or PLACEHOLDER.search(word.text):
        unset = known[name] if name in known and known[name].text is None else Argument(None, place)
        unread = _unreadable(word.raw, place, unset.why or f"{stated} is not known here")
        return unread._replace(category=unset.category or _decides(word, place, known))
    return Argument(word.text, place, behind=known[name].origin if name in known else None)


def _decides(word: shell.Word, place: Origin, known: Environment) -> str:
    """Who decides a word of a script that cannot be known, by the variables and placeholders in it."""
    category = ranks.category(Argument(None, place._replace(span=None), f"{word.why} {word.raw}"))
    elsewhere = known.open_ended and any(name not in known for name in VARIABLE.findall(word.raw))
    return "another object" if elsewhere and category == CALLER else category


def _unwrapped(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """A command without `exec`, `nohup`, `env NAME=value` and the like in front of it."""
    at = 0
    while at < len(words) and _wraps(words[at].text or ""):
        at += 1
    return words[at:] if at < len(words) else words


def _wraps(word: str) -> bool:
    """Whether a word only starts the command behind it."""
    return word.rsplit("/", 1)[-1] in WRAPPERS or re.match(r"\w+=", word) is not None
