"""Started: the programs that a script starts, with their launchers and the variables they see.

Scripts inside the script are read too, each word at the place where it is written: `bash -c "…"`,
`bash <<EOF`, jobs that are passed to sbatch, and scripts that a here-document writes to a file, with their first
line `#!/bin/bash`. Other here-documents that only become files are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import dirname, join, normpath
from typing import NamedTuple

from gpulint.adapters.programs import launchers, processes, slurm
from gpulint.adapters.programs.launchers import Launch
from gpulint.adapters.programs.processes import Step
from gpulint.adapters.programs.slurm import Job
from gpulint.engines import Argument
from gpulint.source import dotenv, excess, shell
from gpulint.source.documents import Document, Node
from gpulint.source.recipes import Translated
from gpulint.source.repository import Repository
from gpulint.source.shell import HOLE, Command, Word
from gpulint.workload import Origin

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ash", "ksh"})
SCRIPT_OPTION = re.compile(r"-[a-zA-Z]*c")
REMOTE = frozenset({"ssh", "sbatch", "qsub", "bsub"})
"""Commands that run the script on their standard input."""
SUBMITS = frozenset({"sbatch", "qsub", "bsub"})
SOURCES = frozenset({"source", "."})
WRITERS = frozenset({"cat", "tee"})
SHEBANG = re.compile(r"\s*#!\s*/(?:usr/)?bin/(?:env[ \t]+)?(?:ba|z|da|k)?sh\b")
"""The first line of a script that a script writes to a file."""
JOB_LINES = re.compile(r"(?m)^#(?:SBATCH|PBS|BSUB)[ \t]")
DEPTH_MAX = 4
PRESETS_MAX = 40
"""The most files that a script may source one of."""
PATH_IN_FOLDERS = re.compile(
    rf"(?:--?[\w.-]+=)?(?:{HOLE}|/(?:[\w.+-]+/)*{HOLE})(?:/(?:[\w.+-]|{HOLE})+)*/(?!bin/|[\w.+-]*+(?<=\.sh|\.py)$)[\w.+-]+/?"
)
"""A path below a folder that is not known: its last component is a name, and no program."""
NAMED = re.compile(r"\$(?:\w+|\{\w+\})")


class StartedCommand(NamedTuple):
    """One command of a script: what it starts, the variables it sees, and its job.

    `conditional` means that it is in a branch, a loop or a function. `cluster` are the GPUs that the script
    gives a Ray cluster before it submits a program to it. `example` is the example of a file of variables that the
    script sources and the repository lacks. `ray_spans_job` means that the script started Ray on
    further nodes of its job. `sources` are the files that it has sourced by then. `here` is the text that it reads on its
    standard input from the script.
    """

    launch: Launch
    environment: Mapping[str, Argument]
    conditional: bool
    job: Job | None
    cluster: Argument | None = None
    ray_spans_job: bool = False
    example: str = ""
    sources: tuple[Document, ...] = ()
    here: str = ""

    @property
    def words(self) -> tuple[Argument, ...]:
        return self.launch.words


class ScriptContext(NamedTuple):
    """The context of a script: its job, the launchers in front of it, and its variables."""

    job: Job | None
    steps: tuple[Step, ...] = ()
    environment: Mapping[str, Argument] = {}

    def variables(self) -> dict[str, str | None]:
        """Return the variables that the batch system and the surrounding commands set."""
        values = slurm.variables(self.job) if self.job else {}
        return values | {name: argument.text for name, argument in self.environment.items()}


class Reader:
    """Reads one file's script, or one of its recipes, and the files that it sources if there is a repository.

    `asked` are the files that it sources, found or not.
    """

    def __init__(
        self,
        document: Document,
        repository: Repository | None,
        choices: shell.Choices | None = None,
        recipe: Translated | None = None,
    ) -> None:
        self.document = document
        self.repository = repository
        self.sources: dict[str, Document] = {}
        self.references: dict[str, Origin] = {}
        self.reference: Origin | None = None
        self.asked: set[str] = set()
        self.example = ""
        self.choices = choices
        self.recipe = recipe

    def read(self) -> tuple[StartedCommand, ...]:
        """Return the commands of the script and of the scripts within it."""
        text = self.document.data if isinstance(self.document.data, str) else ""
        text = self.recipe.text if self.recipe is not None else text
        within = ScriptContext(slurm.job(text, self.place))
        commands = shell.read_commands(text, within.variables(), self.read_sourced, self.choices, self.list_sourced)
        return tuple(_add_ray_gpus(self._expand(commands, within, 0)))

    def place(self, start: int, end: int) -> Origin:
        span = self.recipe.locate(start, end) if self.recipe is not None else (start, end)
        return Origin(self.document, (), span=span)

    def place_in(self, source: str, start: int, end: int) -> Origin:
        """Return the location of a part of the script, or of a file that it sources."""
        other = self.sources.get(source)
        return self.place(start, end) if other is None else Origin(other, (), span=(start, end))

    def _expand(self, commands: Iterable[Command], within: ScriptContext, depth: int) -> Iterator[StartedCommand]:
        for command in commands:
            if not command.words:
                continue
            words = tuple(self._build_argument(word) for word in command.words)
            if not command.source and words[0].text in SOURCES and len(words) > 1:
                self.reference = words[1].origin
            submitted = slurm.split_submission(words)
            job, own_words = submitted if submitted is not None else (within.job, words)
            unwrapped = launchers.unwrap(own_words)
            seen = {
                name: self._build_argument(word)
                for name, word in {**command.environment, **dict(command.assignments)}.items()
            }
            given = self._read_env_files(unwrapped)
            started = StartedCommand(
                unwrapped._replace(steps=(*within.steps, *unwrapped.steps)),
                {**within.environment, **seen, **given, **unwrapped.environment},
                command.conditional,
                job,
                example=self.example,
                sources=tuple(self.sources.values()),
                here=command.here.text_with_holes if command.here is not None else "",
            )
            inner = self._find_inner(started, command, words)
            if inner is None or excess.is_over(
                depth + 1, DEPTH_MAX, "scripts within a script nest deeper than {} levels"
            ):
                yield started
                continue
            for nested in self._expand(*inner, depth + 1):
                yield nested._replace(conditional=nested.conditional or started.conditional)

    def _read_env_files(self, launch: Launch) -> dict[str, Argument]:
        """Return the variables of the files that a container is given with `--env-file`."""
        found: dict[str, Argument] = {}
        for word in (word for step in launch.steps for word in step.stated.get("env_file", ())):
            given = self.read_sourced(word.text) if word.text else None
            if given is None:
                continue
            source, text = given
            for entry in dotenv.parse(text):
                behind = Origin(self.sources[source], (), span=(entry.start, entry.end))
                found[entry.name] = Argument(entry.value, word.origin, behind=behind)
        return found

    # ---- scripts within

    def _find_inner(
        self, started: StartedCommand, command: Command, words: tuple[Argument, ...]
    ) -> tuple[tuple[Command, ...], ScriptContext] | None:
        """Return the commands of a script that a command runs, after `-c` or on its standard input."""
        name = (started.words[0].text or "").rpartition("/")[2] if started.words else ""
        given = _find_script(started.words) if name in SHELLS else None
        pairs = zip(words, command.words, strict=True)
        script = next((word for argument, word in pairs if argument is given), None) if given is not None else None
        if (
            script is None
            and words[0].text == "ssh"
            and len(started.words) == 1
            and " " in (started.words[0].text or " ")
        ):
            script = next(
                (word for argument, word in zip(words, command.words, strict=True) if argument is started.words[0]),
                None,
            )
        if script is None and name == "sbatch" and (wrapped := _find_wrapped(words)) is not None:
            script = command.words[wrapped]
        if script is None and command.here is not None and (name in SHELLS or name in REMOTE):
            script = command.here
        written = script is None and name in WRITERS and command.here is not None
        if written and command.here is not None and SHEBANG.match(command.here.text_with_holes):
            script = command.here
        if script is None:
            return None
        if name in SUBMITS or (written and JOB_LINES.search(script.text_with_holes)):
            lines = slurm.job(script.text_with_holes, lambda start, end: self.place(*script.locate_part(start, end)))
            within = ScriptContext(slurm.apply_submission(words, lines) if name == "sbatch" else lines)
        else:
            within = ScriptContext(started.job, started.launch.steps, started.environment)
        return shell.read_inner(script, command, within.variables(), self.read_sourced), within

    # ---- words

    def _build_argument(self, word: Word) -> Argument:
        """Return a word as an engine reads it, with its location and why its text is unknown."""
        origin, behind = self.place(word.start, word.end), None
        if (other := self.sources.get(word.source)) is not None:
            behind = origin._replace(document=other)
            origin = self.references.setdefault(word.source, self.reference or self.place(0, 0))
        elif word.elsewhere is not None:
            behind = self.place_in(word.elsewhere[0], *word.elsewhere[1])
        text = word.text if word.text is not None else _read_path(word)
        if text is not None:
            return Argument(text, origin, behind=behind)
        category = processes.category(Argument(None, origin._replace(span=None), f"{word.why} {word.raw}"))
        flag, equals, _ = word.text_with_holes.partition("=")
        readable = flag if equals and flag.startswith("-") and HOLE not in flag else ""
        return Argument(None, origin, word.why, behind, readable, category)

    # ---- sourced files

    def read_sourced(self, path: str) -> tuple[str, str] | None:
        """Return a file that the script sources, by its path from the script's own folder."""
        if path.startswith(("/", "~")):
            return None
        shown = normpath(join(dirname(self.document.path), path))
        self.asked.add(shown)
        if self.repository is None:
            return None
        content = self.repository.read(shown)
        if content is None:
            return self._read_example(shown)
        text = content.decode("utf-8", "replace")
        if shell.is_too_long(text):
            return shown, text
        loaded = self.repository.read_documents(shown)
        if loaded and not isinstance(loaded[0].data, str):
            return None
        if not loaded and "\0" in text:
            return None
        whole = Node("scalar", 0, len(text), text)
        self.sources[shown] = loaded[0] if loaded else Document(shown, 0, text, whole, "shell", text)
        return shown, str(self.sources[shown].data)

    def list_sourced(self, path: str) -> tuple[str, ...]:
        """Return the files that a path from the script's folder may be, of which one name or a part of it is open."""
        folder, _, name = path.rpartition("/")
        before, hole, after = name.partition(HOLE)
        if self.repository is None or not hole or HOLE in folder or HOLE in after or path.startswith(("/", "~")):
            return ()
        shown = normpath(join(dirname(self.document.path), folder))
        found = (file for file in self.repository.list_files(shown) if dirname(file) == shown)
        own = self.document.path
        names = (file.rpartition("/")[2] for file in found if file != own)
        fitting = [
            name
            for name in names
            if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
        ]
        return tuple(f"{folder or '.'}/{name}" for name in fitting[:PRESETS_MAX]) if before or after else ()

    def _read_example(self, path: str) -> tuple[str, str] | None:
        """Return the example of a file of variables that nobody committed, without what a user fills in."""
        for example in dotenv.list_examples(path):
            content = self.repository.read(example) if self.repository is not None else None
            if content is None:
                continue
            text = content.decode("utf-8", "replace")
            if shell.is_too_long(text) or "\0" in text:
                return None
            self.example = example
            shown = dotenv.blank_placeholders(text)
            self.sources[example] = Document(example, 0, text, Node("scalar", 0, len(text), text), "shell", text)
            return example, shown
        return None


def _read_path(word: Word) -> str | None:
    """Return a path of which only folders are unknown, such as $HOME/models/NAME, with the names of their variables."""
    holed = word.text_with_holes
    if not PATH_IN_FOLDERS.fullmatch(holed):
        return None
    raws = [piece.raw for piece in word.parts() if piece.text is None]
    return "".join(piece.text_or_raw for piece in word.parts()) if all(map(NAMED.fullmatch, raws)) else None


def _add_ray_gpus(commands: Iterable[StartedCommand]) -> Iterator[StartedCommand]:
    """Yield the commands of a script, with the GPUs of the Ray cluster that an earlier one starts, and its nodes."""
    cards: Argument | None = None
    joined = False
    for started in commands:
        if [word.text for word in started.words[:2]] == ["ray", "start"]:
            cards = _read_ray_gpus(started.words) or cards
            joined |= any((word.text or word.flag).startswith("--address") for word in started.words[2:])
        submits = any(step.launcher == "ray job submit" for step in started.launch.steps)
        alone = started.job is None and not started.launch.steps
        cluster = cards if submits or alone else None
        yield started._replace(cluster=cluster, ray_spans_job=joined and started.job is not None)


def _read_ray_gpus(words: tuple[Argument, ...]) -> Argument | None:
    """Return the GPU count of `ray start`, unless it is 0."""
    for at, word in enumerate(words):
        name, equals, value = (word.text or word.flag).partition("=")
        if name == "--num-gpus":
            given = (
                word._replace(text=value if word.text else None, flag="") if equals or not word.text else words[at + 1]
            )
            return None if given.text == "0" else given
    return None


def _find_wrapped(words: tuple[Argument, ...]) -> int | None:
    """Return the index of the command that `sbatch --wrap` turns into a script."""
    at = next((at for at, word in enumerate(words[:-1]) if word.text == "--wrap"), None)
    return None if at is None else at + 1


def _find_script(words: tuple[Argument, ...]) -> Argument | None:
    """Return the script of a shell: the word after `-c`."""
    for at, word in enumerate(words[1:-1], 1):
        if SCRIPT_OPTION.fullmatch(word.text or ""):
            return words[at + 1]
        if not (word.text or "").startswith("-"):
            return None
    return None
