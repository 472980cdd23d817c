"""The command of a container: its environment and the programs that it starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.programs import processes
from gpulint.engines import Argument, Invocation
from gpulint.source import excess, shell
from gpulint.source.documents import Document, Path
from gpulint.workload import Container, Origin

REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
"""Kubernetes reads from the left: `$$` is one dollar sign, so `$$(NAME)` is no reference."""
WHOLE_VARIABLE = re.compile(r"\"?\$(?:\((?P<paren>\w+)\)|\{(?P<brace>\w+)(?::?-[^{}]*)?\}|(?P<bare>\w+))\"?")
VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
CALLER = "caller's variable"
PLACEHOLDER = re.compile(
    r"\$\([A-Za-z_][\w.-]*\)|\$\{[^{}]*\}|\$[A-Za-z_]\w*|<[^<>]+>|\{\{|(?i:\byour[-_]|\b(?:change|replace)[-_]?me\b)"
)
SCRIPTS_WITHIN_MAX = 4
BESIDE = re.compile(r"(?:\s*\d?>>?&?\s*[^\s;|)<>&]+){0,4}\s*(?:&(?![&>])|\|(?!\|)|\))")
"""Text after a command that runs in its own shell: in the background, a pipe or parentheses."""
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
    """A shell script, and a function from character positions to their location in a file."""

    text: str
    origin: Callable[[int, int], Origin]


class ScriptFile(NamedTuple):
    """A script in a file of the container, the word that names it, and its arguments."""

    script: Script
    named: Argument
    given: tuple[Argument, ...]


class StartedCommand(NamedTuple):
    """The words of one command.

    It is conditional in a branch or a loop, and final if nothing runs after it. `exported` are the
    variables that its script has set by then.
    """

    words: tuple[Argument, ...]
    conditional: bool = False
    final: bool = False
    exported: Mapping[str, Argument] = {}


class Environment(dict[str, Argument]):
    """Environment values by name.

    `open_ended` is true if whole objects supply names that the file does not show.
    """

    open_ended = False

    def variables(self) -> Mapping[str, str | None]:
        """Return what a shell of the container sees; names from other objects are unknown."""
        values = {name: argument.text for name, argument in self.items()}
        return _Anything(values) if self.open_ended else values


class _Anything(dict[str, str | None]):
    """A mapping that contains every name; names without a value have an unknown one."""

    def __contains__(self, name: object) -> bool:
        return True


def invocations(
    document: Document, path: Path, variables: Environment, find: Callable[[str], Origin | None] = lambda name: None
) -> Iterator[Invocation]:
    """Yield the programs that a container starts.

    They are those of its command and args, or of the script that a shell gets. `find` returns the
    location of a file's text in the container.
    """
    named = _read_image(document, path)
    command, args = (tuple(_read_words(document, (*path, key), variables)) for key in ("command", "args"))
    if file := script_file((*command, *args), find):
        yield from expand_script(named, file.script, variables, file.given)
        return
    beside = (
        started.words
        for started in _find_commands(_read_post_start(document, path, variables), variables, _read_script)
    )
    yield from programs(
        named, (*command, *args), variables, _read_script, image_program=not command, beside=tuple(beside)
    )


def read_container(document: Document, path: Path, variables: Environment) -> Container | None:
    """Return how a container starts by its image; None if it states none."""
    image = _read_image(document, path)
    if image.text is None:
        return None
    entrypoint, command = (
        tuple(_read_words(document, (*path, key), variables)) if document.get((*path, key)) else None
        for key in ("command", "args")
    )
    folder = document.get((*path, "workingDir"))
    return Container(
        image, entrypoint, command, variables, variables.open_ended, folder if isinstance(folder, str) else ""
    )


def programs(
    image: Argument,
    words: tuple[Argument, ...],
    variables: Environment,
    written: Callable[[Argument], Script],
    image_program: bool,
    beside: tuple[tuple[Argument, ...], ...] = (),
) -> Iterator[Invocation]:
    """Yield the programs that words start.

    `written` returns the text of a word that is a shell script. `image_program` is true if the
    words follow the image's own program. `beside` are the commands that start next to them.
    """
    started = tuple(_find_commands(words, variables, written))
    entrypoint = image_program and _locate_script(words) is None
    yield from _build_invocations(image, started, variables, entrypoint, beside)


def expand_script(
    image: Argument, script: Script, variables: Environment, given: tuple[Argument, ...] = ()
) -> Iterator[Invocation]:
    """Yield the programs of a script that a platform runs, alone or with further words."""
    yield from _build_invocations(image, tuple(_run_script(script, given, variables)), variables, entrypoint=False)


def _build_invocations(
    image: Argument,
    started: Sequence[StartedCommand],
    variables: Environment,
    entrypoint: bool,
    beside: tuple[tuple[Argument, ...], ...] = (),
) -> Iterator[Invocation]:
    for at, command in enumerate(started):
        others = (*(other.words for other in (*started[:at], *started[at + 1 :])), *beside)
        yield Invocation(
            image,
            command.words,
            variables,
            entrypoint,
            command.conditional,
            variables.open_ended,
            others,
            command.final,
            command.exported,
        )


def _read_post_start(document: Document, path: Path, variables: Environment) -> tuple[Argument, ...]:
    """Return the words of the command that runs once the container has started."""
    return tuple(_read_words(document, (*path, "lifecycle", "postStart", "exec", "command"), variables))


def _find_commands(
    words: tuple[Argument, ...], variables: Environment, written: Callable[[Argument], Script]
) -> Iterator[StartedCommand]:
    """Yield each command that these words start, and whether it is in a branch or a loop."""
    script = _locate_script(words)
    if script is None:
        yield StartedCommand(_unwrap(words))
        return
    yield from _run_script(written(words[script]), words[script + 2 :], variables)


def _run_script(script: Script, given: tuple[Argument, ...], variables: Environment) -> Iterator[StartedCommand]:
    """Yield the commands of a script that gets further words."""
    yield from _iterate_commands(script, shell.read_commands(script.text, variables.variables()), given, variables, 0)


def _iterate_commands(
    script: Script, commands: Sequence[shell.Command], given: tuple[Argument, ...], variables: Environment, nested: int
) -> Iterator[StartedCommand]:
    """Yield the commands of a script.

    A command that passes a script to a shell is replaced by the commands of that script.
    """
    for command in commands:
        final = (
            len(command.words) > 1
            and command.words[0].text == "exec"
            and not BESIDE.match(script.text, command.words[-1].end)
        )
        within = _find_inner_commands(command, variables)
        if within and excess.is_over(
            nested + 1, SCRIPTS_WITHIN_MAX, "scripts within a command nest deeper than {} levels"
        ):
            within = ()
        for started in _iterate_commands(script, within, (), variables, nested + 1):
            conditional = started.conditional or command.conditional
            yield started._replace(conditional=conditional, final=started.final and final)
        if within:
            continue
        arguments = tuple(
            argument
            for word in command.words
            for argument in (given if word.raw in EVERY_ARGUMENT else (_read_shell_word(script, word, variables),))
        )
        set_here = {**command.environment, **dict(command.assignments)}
        exported = {name: _read_shell_word(script, word, variables) for name, word in set_here.items()}
        yield StartedCommand(_unwrap(arguments), command.conditional, final, exported)
        if final and not command.conditional:
            return


def _find_inner_commands(command: shell.Command, variables: Environment) -> tuple[shell.Command, ...]:
    """Return the commands of the script in `sh -c SCRIPT`."""
    first = next((at for at, word in enumerate(command.words) if not _is_wrapper(word.text or "")), len(command.words))
    words = command.words[first : first + 3]
    if len(words) < 3 or (words[0].text or "").rsplit("/", 1)[-1] not in SHELLS:
        return ()
    if not SHELL_OPTION.fullmatch(words[1].text or ""):
        return ()
    return shell.read_inner(words[2], command, variables.variables())


def script_file(words: tuple[Argument, ...], find: Callable[[str], Origin | None]) -> ScriptFile | None:
    """Return the script that a shell, or the container itself, is started with.

    None if its text cannot be found.
    """
    words = _unwrap(words)
    first = int(bool(words) and (words[0].text or "").rsplit("/", 1)[-1] in SHELLS)
    at = next((at for at, word in enumerate(words[first:], first) if not (word.text or "").startswith("-")), None)
    named = words[at].text if at is not None else None
    if at is None or not named or _locate_script(words) is not None or not (first or "/" in named):
        return None
    place = find(named)
    text = place.document.get(place.path) if place else None
    if place is None or not isinstance(text, str):
        return None
    if not named.endswith((".sh", ".bash")) and place.document.format != "shell":
        return None
    return ScriptFile(Script(text, lambda start, end: place._replace(span=(start, end))), words[at], words[at + 1 :])


def _read_script(word: Argument) -> Script:
    """Return the script in a word of a container: its text in the file, for its shell to expand."""
    text = word.origin.document.get(word.origin.path)
    return Script(text if isinstance(text, str) else "", lambda start, end: word.origin._replace(span=(start, end)))


def _read_image(document: Document, path: Path) -> Argument:
    image = document.get((*path, "image"))
    if isinstance(image, str):
        return Argument(image, Origin(document, (*path, "image")))
    return Argument(None, Origin(document, (*path, "image")), "no image")


def expand_variables(text: str, origin: Origin, variables: Environment) -> Argument:
    """Return a word with its `$(NAME)` references filled in.

    A name without a definition stays as it is, as in Kubernetes.
    """
    names = [name for name in REFERENCE.findall(text) if name and (name in variables or variables.open_ended)]
    for name in names:
        if name not in variables or variables[name].text is None:
            why = variables[name].why if name in variables else f"{name} may come from another object"
            return _mark_unreadable(text, origin, why)
    filled = REFERENCE.sub(lambda match: _fill(match, variables), text)
    whole = WHOLE_VARIABLE.fullmatch(text.partition("=")[2] if text.startswith("-") else text)
    return Argument(filled, origin, behind=variables[names[0]].origin if len(names) == 1 and whole else None)


def _fill(match: re.Match[str], variables: Environment) -> str:
    if match[0] == "$$":
        return "$"
    return str(variables[match[1]].text) if match[1] in variables else match[0]


def _mark_unreadable(text: str, origin: Origin, why: str) -> Argument:
    """Return a word whose value is unknown; of `--flag=value`, the flag is known."""
    flag, equals, _ = text.partition("=")
    return Argument(None, origin, why, flag=flag if equals and flag.startswith("-") else "")


def _read_words(document: Document, path: Path, variables: Environment) -> Iterator[Argument]:
    listed = document.get(path)
    if isinstance(listed, str):
        yield Argument(listed, Origin(document, path))
    for at, word in enumerate(listed if isinstance(listed, list) else ()):
        origin = Origin(document, (*path, at))
        if isinstance(word, dict | list):
            yield Argument(None, origin, "an argument is not a string")
        else:
            yield mark_placeholder(
                expand_variables("" if word is None else read_spelling(origin, word), origin, variables)
            )


def read_spelling(origin: Origin, word: object) -> str:
    """Return an argument as its author wrote it: an unquoted 0.90 or yes keeps its spelling."""
    if isinstance(word, str):
        return word
    node = origin.document.node(origin.path)
    return node.value if node is not None and isinstance(node.value, str) else str(word)


def mark_placeholder(argument: Argument) -> Argument:
    """Return a word as unknown if it has `${NAME}`, `<placeholder>` or a template expression.

    This is for words that no shell expands.
    """
    text = argument.text or ""
    if "\n" in text or not PLACEHOLDER.search(text) or (" " in text and "{{" not in text):
        return argument
    flag, equals, value = text.partition("=")
    stated = value if equals and flag.startswith("-") else text
    unread = _mark_unreadable(text, argument.origin, f"{stated} is filled in elsewhere")
    return unread._replace(category=processes.category(unread._replace(origin=argument.origin._replace(span=None))))


def _locate_script(words: tuple[Argument, ...]) -> int | None:
    """Return the index of the word that is a shell's script: the one after `-c`."""
    shells = (at for at, word in enumerate(words) if (word.text or "").rsplit("/", 1)[-1] in SHELLS)
    first = next(shells, len(words))
    for at in range(first, len(words) - 1):
        if SHELL_OPTION.fullmatch(words[at].text or ""):
            after = at + 1 + (words[at + 1].text == "--")
            return after if after < len(words) else None
    return None


def _read_shell_word(script: Script, word: shell.Word, variables: Environment) -> Argument:
    place = script.origin(word.start, word.end)
    flag, equals, value = word.raw.partition("=")
    stated = value if equals and flag.startswith("-") else word.raw
    named = WHOLE_VARIABLE.fullmatch(stated)
    name = next(filter(None, named.groups()), "") if named else ""
    if word.text is None or PLACEHOLDER.search(word.text):
        unset = variables[name] if name in variables and variables[name].text is None else Argument(None, place)
        unread = _mark_unreadable(word.raw, place, unset.why or f"{stated} is not known here")
        return unread._replace(category=unset.category or _find_category(word, place, variables))
    known = variables.get(name)
    if known is None or known.text is None or not word.text.endswith(known.text):
        return Argument(word.text, place)
    return Argument(word.text, place, behind=known.behind or known.origin)


def _find_category(word: shell.Word, place: Origin, variables: Environment) -> str:
    """Return who decides an unknown word of a script, by its variables and placeholders."""
    category = processes.category(Argument(None, place._replace(span=None), f"{word.why} {word.raw}"))
    elsewhere = variables.open_ended and any(name not in variables for name in VARIABLE.findall(word.raw))
    return "another object" if elsewhere and category == CALLER else category


def refer(word: Argument, named: Origin) -> Argument:
    """Return a word of another file's script, located where the checked file names the script."""
    if word.origin.document is named.document:
        return word
    if word.behind is not None and word.behind.document is named.document:
        return word._replace(origin=word.behind, behind=word.origin)
    return word._replace(origin=named, behind=word.behind or word.origin)


def _unwrap(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return a command without a leading `exec`, `nohup`, `env NAME=value` and the like."""
    at = 0
    while at < len(words) and _is_wrapper(words[at].text or ""):
        at += 1
    return words[at:] if at < len(words) else words


def _is_wrapper(word: str) -> bool:
    """Return whether a word only starts the command after it."""
    return word.rsplit("/", 1)[-1] in WRAPPERS or re.match(r"\w+=", word) is not None
