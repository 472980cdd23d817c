"""Index: all weights that the files of a repository write, worked out once, when something first asks where a folder comes from.

Scripts, recipes, Dockerfiles, the shell lines of notebooks, Python programs, settings of trainers and the code of READMEs
are read. A program that a script starts is evaluated with the words of the script.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.adapters.programs import python_program
from gpulint.adapters.programs.process import Reader, StartedCommand
from gpulint.adapters.python import locate, reading
from gpulint.adapters.weights import commands, programs, settings, texts
from gpulint.adapters.weights.produced import Produced
from gpulint.engines import Argument
from gpulint.source import documents, excess, python, recipes
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated, Given
from gpulint.source.repository import Repository
from gpulint.workload import Origin

NAMES = (
    r"(?i)(?:.*\.(?:sh|bash|zsh|slurm|sbatch|sub|job|pbs|py|ipynb|ya?ml|mk)|(?:.*[.-])?dockerfile(?:[.-].*)?|containerfile"
    r"|(?:gnu)?makefile|justfile|readme\.(?:md|rst|txt)|adapter_config\.json)"
)
"""Files that may say how weights come about."""
WORDS = re.compile(
    rb"huggingface-cli|\bhf[\"', \t]{1,4}download|snapshot_download|hf_hub_download|(?:huggingface|modelscope)\.c\w++/"
    rb"|modelscope[ \t]++download"
    rb"|save_pretrained|save_model|save_quantized|save_lora|export_dir|output_dir|--output-dir|merged|quantize|convert[-_]hf|ct2-transformers"
    rb"|\boneshot\b|base_model_name_or_path|[Tt]rainer\("
)
FILES_MAX = 4_000
"""Files whose bytes are searched."""
SCRIPTS_MAX, PROGRAMS_MAX, STARTS_MAX = 120, 60, 60
"""Files that are parsed, and commands whose Python programs are evaluated."""
STEPS_MAX = 400_000
"""Steps of evaluation for all programs together, beyond which no further one is evaluated."""
TEXT_MAX = 600_000
INLINE_MAX = 20_000
README = re.compile(r"(?i)readme\.\w+")
DOCKERFILE = re.compile(r"(?i)(?:.*[.-])?dockerfile(?:[.-].*)?|containerfile")
NAME = "weights"


def list_produced(near: str, repository: Repository) -> tuple[Produced, ...]:
    """Return the weights that the files of a repository write, in the order of its files."""
    return repository.keep(NAME, lambda plain: _Index(plain, near).list(), near)


class _Index:
    """Reads the files of a repository that may write weights."""

    def __init__(self, repository: Repository, near: str) -> None:
        self._repository = repository
        self._near = near
        self._started: set[str] = set()
        self._starts = self._steps = 0
        self._documents: dict[str, Document | None] = {}

    def list(self) -> tuple[Produced, ...]:
        with excess.collect():
            return tuple(dict.fromkeys(self._read_all()))

    def _read_all(self) -> Iterator[Produced]:
        paths = self._find_paths()
        own = [path for path in paths if documents.is_program(path)]
        specs = [path for path in paths if path not in set(own)]
        starting = (spec for path in own for spec in self._repository.list_naming(path))
        for path in list(dict.fromkeys((*specs, *starting)))[:SCRIPTS_MAX]:
            yield from self._read_spec(path)
        for path in own[:PROGRAMS_MAX]:
            yield from self._read_program(path)

    def _find_paths(self) -> Sequence[str]:
        named = self._repository.find_named(NAMES, self._near)[:FILES_MAX]
        contents = ((path, self._repository.read(path)) for path in named)
        return [path for path, content in contents if content and len(content) <= TEXT_MAX and WORDS.search(content)]

    # ---- scripts

    def _read_spec(self, path: str) -> Iterator[Produced]:
        """Yield what a file writes that is no program."""
        name = posixpath.basename(path)
        text = (self._repository.read(path) or b"")[:TEXT_MAX].decode("utf-8", "replace")
        if README.fullmatch(name):
            shown = texts.read_readme(path, text)
            started = set(self._started)
            for found in self._read_script(shown) if shown is not None else ():
                yield found._replace(is_assumed=True)
            self._started = started
            return
        if DOCKERFILE.fullmatch(name):
            shown = texts.read_dockerfile(path, text)
            yield from self._read_script(shown) if shown is not None else ()
            return
        for document in self._repository.read_documents(path):
            if document.format == "shell":
                yield from self._read_script(document)
            else:
                yield from settings.read(document)
                yield from self._read_inner(document)

    def _read_inner(self, document: Document) -> Iterator[Produced]:
        """Yield what the commands within a file write."""
        for text in settings.list_scripts(document):
            if len(text) <= INLINE_MAX and WORDS.search(text.encode("utf-8", "replace")):
                for found in self._read_script(texts.make_script(f"{document.path}.sh", text)):
                    yield found._replace(origin=Origin(document, ()))

    def _read_script(self, document: Document) -> Iterator[Produced]:
        if recipes.find_dialect(document.path):
            for recipe in recipes.read(document.path, document.text):
                yield from self._read_commands(
                    Reader(document, self._repository, None, recipe.commands).read(), document
                )
            return
        yield from self._read_commands(Reader(document, self._repository).read(), document)

    def _read_commands(self, found: Sequence[StartedCommand], document: Document) -> Iterator[Produced]:
        for command in found:
            if not command.words:
                continue
            inline = _find_inline(command)
            if inline:
                yield from self._read_inline(inline, command, document)
                continue
            written = list(self._read_started(command, document))
            yield from written or commands.read(command.words)

    def _read_started(self, command: StartedCommand, document: Document) -> Iterator[Produced]:
        """Yield what the Python program of a command writes, with the words of the command."""
        started = python_program.find(command.words)
        path = locate.find(started, document.path, self._repository) if started is not None else None
        content = self._repository.read(path) if path is not None else None
        if started is None or path is None or not content or self._starts >= STARTS_MAX:
            return
        if not WORDS.search(content) and not any(
            WORDS.search(self._repository.read(one) or b"") for one in self._repository.list_imported(path)
        ):
            return
        self._starts += 1
        self._started.add(path)
        words = [Given(word.text, None, word.why) for word in started.words]
        yield from self._evaluate(path, words, command.environment)

    def _read_inline(self, text: str, command: StartedCommand, document: Document) -> Iterator[Produced]:
        """Yield what a Python program inside a script writes, located at the command that starts it."""
        if not WORDS.search(text.encode("utf-8", "replace")):
            return
        path = f"{document.path}.py"
        own = texts.make_script(path, text)
        self._documents[path] = own
        for found in self._evaluate(path, [], command.environment):
            yield found._replace(origin=command.words[0].origin)

    # ---- programs

    def _read_program(self, path: str) -> Iterator[Produced]:
        """Yield what a program writes by its own defaults, unless a script starts it with words, and its shell lines."""
        document = self._find(path)
        if document is None:
            return
        if document.format == "notebook" and (script := texts.read_notebook(document)) is not None:
            yield from self._read_script(script)
        if path not in self._started:
            yield from self._evaluate(path, None, {})

    def _evaluate(
        self, path: str, words: Sequence[Given] | None, environment: Mapping[str, Argument]
    ) -> Iterator[Produced]:
        given = {name: Given(word.text, None, word.why) for name, word in environment.items()}
        if self._steps > STEPS_MAX:
            return
        evaluated = python.evaluate(path, self._find, words, given, known=reading.KNOWN)
        yield from _read_calls(evaluated)
        self._steps += evaluated.count_steps()

    def _find(self, path: str) -> Document | None:
        if path not in self._documents:
            exists = self._repository.exists(path)
            loaded = self._repository.read_documents(path) if exists else ()
            self._documents[path] = loaded[0] if len(loaded) == 1 else None
        return self._documents[path]


def _read_calls(evaluated: Evaluated) -> Iterator[Produced]:
    """Yield what the calls of a program write: those that it reaches, else those of its functions."""
    found = list(programs.read([call for call in evaluated.calls if call.reached]))
    if not found:
        evaluated.enter_rest()
        found = list(programs.read(evaluated.calls))
    yield from found


def _find_inline(command: StartedCommand) -> str:
    """Return the Python program that a command gets as a word or on its standard input; empty if it gets none."""
    name = (command.words[0].text or "").rpartition("/")[2]
    if not re.fullmatch(r"python[\d.]*", name):
        return ""
    given = [word.text for word in command.words[1:]]
    if "-c" in given[:-1]:
        text = given[given.index("-c") + 1] or ""
        return text[:INLINE_MAX]
    return command.here[:INLINE_MAX] if not [word for word in given if word != "-"] else ""
