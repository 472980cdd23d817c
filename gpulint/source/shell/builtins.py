"""The effect of `source`, `eval`, `set`, `shift`, `read` and similar builtins on the variables."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

import tree_sitter

from gpulint.source import excess
from gpulint.source.shell import limits, script, variables
from gpulint.source.shell.choices import Choice
from gpulint.source.shell.command import HOLE, Command, Piece, Word, locate
from gpulint.source.shell.interfaces import Reader
from gpulint.source.shell.limits import is_readable
from gpulint.source.shell.run import Context

FILES_MAX = 100
NESTED_FILES_MAX = 10
NESTED_EVALS_MAX = 16

_DECLARES = frozenset({"declare", "typeset", "local", "export", "readonly"})
_SETS_VARIABLES = frozenset({"read", "mapfile", "readarray", "getopts", "unset"})
_HARMLESS_SOURCES = frozenset(
    {
        *("activate", "conda.sh", "mamba.sh", "profile", ".profile", ".bashrc", "bashrc", ".bash_profile", ".zshrc"),
        *("setvars.sh", "modules.sh", "lmod.sh", "nvm.sh", "setup-env.sh", "hpcx-init.sh", "os-release"),
    }
)
_OF_THE_SYSTEM = ("/etc/", "/usr/", "/opt/", "/var/lib/", "/apps/", "/cvmfs/")
_OF_LIBRARIES = re.compile(
    r"(?:NCCL|CUDA|LD|FI|UCX|OMPI|PYTHON|HPCX|MPI|I_MPI|ROCM|HIP|CC|CXX)(?:_\w+)?|PATH|PYTHONPATH"
)
"""The variables that a system's set-up files may change."""
_HARMLESS_EVAL = re.compile(r"(?:conda|mamba|pyenv|ssh-agent|brew|direnv|spack|modulecmd|register-python-argcomplete)")
_PRINTS = frozenset({"grep", "egrep", "cat", "sed", "awk", "envsubst"})
"""Programs that print the lines of a file that they are given last."""
_EVERY_ARGUMENT = frozenset({'"$@"', "$@", '"$*"', "$*", '"${@}"'})


def apply(reader: Reader, words: Sequence[Word], where: Context) -> None:
    """Apply the effect of a command to the variables."""
    name, known = words[0].text, reader.variables
    if name in _SETS_VARIABLES:
        known.forget(word.text.partition("[")[0] for word in words[1:] if word.text)
    elif name == "printf" and len(words) > 2 and words[1].text == "-v":
        known.forget([words[2].text or ""])
    elif name in ("source", ".") and len(words) > 1:
        _source(reader, words[1:], where)
    elif name == "eval":
        _eval(reader, words[1:])
    elif name == "set":
        _set(reader, words[1:])
    elif name == "shift" and known.arguments is not None:
        count = words[1].text if len(words) > 1 else "1"
        known.arguments = known.arguments[int(count) :] if count is not None and count.isdecimal() else None
    elif name == "let":
        _let(reader, words[1:])
    elif name == "exit" and where.certain and not where.conditional and not reader.run.lists:
        reader.run.exited = True
    elif name == "return" and where.certain and not reader.run.lists and (reader.run.active or reader.run.files):
        reader.run.returned = True


def arguments(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """The arguments of a call; None where they are those that the script itself is given.

    Behind an unquoted one that is not known, nobody knows which is which.
    """
    given = words[1:]
    for at, word in enumerate(given):
        every = word.raw in _EVERY_ARGUMENT
        if at == 0 and word.text is None and every:
            return None
        if word.text is None and (every or (not word.raw.startswith(("'", '"')) and word.text_with_holes == HOLE)):
            return (*given[:at], *(other._replace(text=None, pieces=(), why=word.why) for other in given[at:]))
    return tuple(given)


def apply_export(keyword: str, options: Sequence[str]) -> bool:
    if keyword == "export":
        return not any("n" in option or "f" in option for option in options if option.startswith("-"))
    return keyword in _DECLARES and any("x" in option for option in options if option.startswith("-"))


def is_local(keyword: str, options: Sequence[str]) -> bool:
    """Whether a declaration within a function is the function's own."""
    return keyword in ("local", "declare", "typeset") and not any(
        "g" in option for option in options if option.startswith("-")
    )


def is_print(command: Command) -> Word | None:
    """The text that a command only prints: that of `cat <<EOF`, or of `echo TEXT`."""
    names = [word.text for word in command.words]
    if names in (["cat"], ["cat", "-"]):
        return command.here
    return command.words[1] if len(names) == 2 and names[0] == "echo" else None


def _source(reader: Reader, words: Sequence[Word], where: Context) -> None:
    """`source FILE`: its commands in place, where the repository has it; else it may set any name."""
    run, path = reader.run, words[0].text
    if path is None:
        path = _choose_source(reader, words[0])
    found = run.sourced(path) if run.sourced is not None and path is not None else None
    if found is None or path is None:
        _forget_sourced(reader, words[0])
        return
    shown, text = found
    run.opened += 1
    if shown in run.files or _is_too_much(reader) or not is_readable(text):
        excess.note(limits.find_excess(text))
        reader.variables.forget_all()
        return
    given = run.variables.arguments
    if len(words) > 1:
        run.variables.arguments = arguments(words)
    run.files.append(shown)
    inner = reader.open(script.parse_file(text, shown, posixpath.dirname(path) or "."))
    inner.walk(inner.script.tree, where)
    run.returned = False
    run.files.pop()
    run.variables.arguments = given


def apply_printed(reader: Reader, node: tree_sitter.Node, where: Context) -> None:
    """`export $(grep -v '^#' .env | xargs)`: the variables of a file that a first command prints."""
    commands = list(variables.extend_path(node, "command"))
    command = min(commands, key=lambda child: child.start_byte, default=None)
    if command is None:
        return
    words = [
        word
        for child in command.named_children
        if not child.type.endswith("redirect")
        for word in _expand(reader, child)
    ]
    if len(words) < 2 or words[0].text not in _PRINTS or words[-1].text is None:
        return
    before = reader.variables.exports_all
    reader.variables.exports_all = True
    _source(reader, words[-1:], where)
    reader.variables.exports_all = before


def _expand(reader: Reader, node: tree_sitter.Node) -> Iterator[Word]:
    inner = node.named_children[0] if node.type == "command_name" and node.named_children else node
    return reader.expansion.expand(inner)


def _choose_source(reader: Reader, word: Word) -> str | None:
    """Return the file of the presets that is taken: `source "configs/$1.sh"` takes one of configs/*.sh."""
    run = reader.run
    if run.listed is None or run.choices is None or reader.script.origin is not None or run.loops:
        return None
    paths = run.listed(word.text_with_holes)
    key = (reader.script.source, word.start)
    if key in run.choices.settled and run.choices.settled[key] < len(paths):
        return paths[run.choices.settled[key]]
    labels = tuple(posixpath.basename(path).partition(".")[0] for path in paths)
    run.choices.add(Choice(*key, labels, tuple((word.start, word.end) for _ in paths)))
    return None


def _is_too_much(reader: Reader) -> bool:
    """Whether a further sourced file exceeds a limit."""
    nested, opened = len(reader.run.files) + 1, reader.run.opened
    return excess.is_over(
        nested, NESTED_FILES_MAX, "the files that a script sources source one another more than {} deep"
    ) or excess.is_over(opened, FILES_MAX, "a script sources files more than {} times")


def _forget_sourced(reader: Reader, word: Word) -> None:
    raw = word.raw.strip("\"'")
    if raw.rsplit("/", 1)[-1] in _HARMLESS_SOURCES:
        return
    if raw.startswith(_OF_THE_SYSTEM):
        reader.variables.forget_like(_OF_LIBRARIES)
    else:
        reader.variables.forget_all()


def apply_eval(reader: Reader, words: Sequence[Word], where: Context) -> bool:
    """Whether the text of an `eval` is known; its commands are then read in place."""
    if not words:
        return False
    text = join_words(words)
    if text.text_with_holes.lstrip().startswith(HOLE):
        return False
    if not is_readable(text.text_with_holes):
        excess.note(limits.find_excess(text.text_with_holes))
        return False
    nested = len(reader.run.active) + 1
    if excess.is_over(nested, NESTED_EVALS_MAX, "a script nests eval and functions more than {} deep"):
        return False
    reader.run.active.append("")
    inner = reader.open(script.parse(text.text_with_holes, text.source, reader.script.folder, text))
    inner.walk(inner.script.tree, where._replace(depth=where.depth + 1))
    reader.run.active.pop()
    return True


def _eval(reader: Reader, words: Sequence[Word]) -> None:
    """`eval` of what is not known may set any name, but for the hooks of well-known programs."""
    if words and not _HARMLESS_EVAL.search(f"{words[0].raw} {words[0].why}"):
        reader.variables.forget_all()


def join_words(words: Sequence[Word]) -> Word:
    """Words as one text, a blank between each two."""
    pieces: list[Piece] = []
    for word in words:
        pieces += [Piece(" ", ((word.start, word.start),))] if pieces else []
        pieces += word.parts()
    known = None if any(word.text is None for word in words) else " ".join(word.text or "" for word in words)
    where = (words[0].start, words[-1].end) if words[0].start <= words[-1].end else locate(pieces)
    why = next((word.why for word in words if word.text is None), "")
    return Word(known, *where, " ".join(word.raw for word in words), why, tuple(pieces), words[0].source)


def _set(reader: Reader, words: Sequence[Word]) -> None:
    """`set -- WORDS` gives new arguments, `set -a` exports what is set from then on."""
    texts = [word.text for word in words]
    if "--" in texts:
        given = words[texts.index("--") :]
        reader.variables.arguments = tuple(given[1:]) if all(word.text is not None for word in given) else None
        return
    for option, meaning in (("-", True), ("+", False)):
        if any(text and re.fullmatch(f"{re.escape(option)}[b-z]*a[a-z]*", text) for text in texts) or (
            f"{option}o" in texts and "allexport" in texts
        ):
            reader.variables.exports_all = meaning
    if texts and texts[0] is not None and not texts[0].startswith(("-", "+")):
        reader.variables.arguments = tuple(words) if None not in texts else None


def _let(reader: Reader, words: Sequence[Word]) -> None:
    """`let NAME=…`: each word is an expression."""
    from gpulint.source.shell import arithmetic, expansion

    known = reader.variables
    for word in words:

        def assign(name: str, value: int, word: Word = word) -> None:
            pieces = (Piece(str(value), ((word.start, word.end),)),)
            known.assign(name, Word(str(value), word.start, word.end, word.raw, pieces=pieces, source=word.source))

        text = word.text or ""
        too_long = excess.is_over(len(text), expansion.ARITHMETIC_CHARACTERS_MAX, expansion.LONG_EXPRESSION)
        if word.text is None or too_long or arithmetic.compute(text, known.text, assign) is None:
            known.forget(re.findall(r"(?<!\w)([A-Za-z_]\w*+)\s*+(?:\+\+|--|[-+*/%]?=)", word.text or word.raw))
