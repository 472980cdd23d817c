"""Examples of rules: small files that show what a rule finds and what it lets pass, run through the
whole pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from gpulint.pipeline import check
from gpulint.policy.config.settings import FILE
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Report, Skip
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Gathered, Repository, Source
from gpulint.source.repository.mentions import Mentions, Users

MARK = "# <- here"
NAMED = re.compile(r"# ([\w./-]+\.[a-z]+)\n")
SEVERAL = re.compile(r"^# file: ([\w./-]+)\n", re.MULTILINE)
PATH, SCRIPT = "spec.yaml", "spec.sh"
T = TypeVar("T")


class ExampleRepository:
    """A repository with only the given files."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self.files = files or {}

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]:
        yield from (Source(path, self.files[path]) for path in paths)

    def rewritten(self, contents: Mapping[str, bytes]) -> ExampleRepository:
        return ExampleRepository({**self.files, **contents}) if self.files else self

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def read_documents(self, path: str) -> tuple[Document, ...]:
        return documents.load(path, self.files[path]).documents if path in self.files else ()

    def read_at_root(self, path: str) -> bytes | None:
        return self.files.get(path)

    def head(self, path: str, length: int) -> bytes | None:
        content = self.files.get(path)
        return None if content is None else content[:length]

    def list_files(self, path: str) -> Sequence[str]:
        return tuple(sorted(name for name in self.files if path == "." or name == path or name.startswith(f"{path}/")))

    def exists(self, path: str) -> bool:
        return path in self.files or any(name.startswith(f"{path}/") for name in self.files)

    def find_programs(self, name: str, near: str) -> Sequence[str]:
        return tuple(sorted(path for path in self.files if path.rpartition("/")[2] == name))

    def find_named(self, names: str, near: str) -> Sequence[str]:
        return tuple(sorted(path for path in self.files if re.fullmatch(names, path.rpartition("/")[2])))

    def list_naming(self, path: str) -> Sequence[str]:
        return self._find_mentions().list_naming(path)

    def list_importers(self, path: str) -> Sequence[str]:
        return self._find_mentions().list_importers(path)

    def list_imported(self, path: str) -> Sequence[str]:
        return self._find_mentions().list_imported(path)

    def find_users(self, paths: Sequence[str]) -> Users:
        return self._find_mentions().find_users(paths)

    def _find_mentions(self) -> Mentions:
        specs = tuple(sorted(path for path in self.files if not documents.is_program(path)))
        programs: dict[str, list[str]] = {}
        for path in sorted(path for path in self.files if documents.is_program(path)):
            programs.setdefault(path.rpartition("/")[2], []).append(path)
        return Mentions(specs, self.read, lambda name: self.find_programs(name, ""), lambda: programs)

    def search(self, pattern: str, near: str) -> str | None:
        return next((path for path, content in self.files.items() if re.search(pattern.encode(), content)), None)

    def objects(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        documents_near = self.neighbours(kind, name, near).documents
        return tuple(document for document in documents_near if document.get(("metadata", "name")) == name)

    def read_siblings(self, near: str) -> Iterator[Source]:
        return iter(())

    def neighbours(self, kind: str, name: str, near: str) -> Gathered:
        documents_here = (document for path in self.files for document in self.read_documents(path))
        found = (document for document in documents_here if document.get(("kind",)) == kind and name in document.text)
        return Gathered(tuple(found))

    def keep(self, name: str, build: Callable[[Repository], T], near: str) -> T:
        return build(self)

    def gather(self, names: str, words: str, near: str) -> Gathered:
        held = (
            path for path, content in self.files.items() if re.search(names, path) or re.search(words.encode(), content)
        )
        return Gathered(tuple(document for path in held for document in self.read_documents(path)))


class ExamplePolicies:
    """The files of an example, for reading policies."""

    root = Path("/")

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def names(self, folder: str) -> Iterator[str]:
        return iter(sorted(path for path in self.files if path.startswith(folder)))

    def render_path(self, path: str) -> str:
        return path


class ExampleFile(NamedTuple):
    """One file of an example: its path, its text, and the number of lines of the example
    above it.
    """

    path: str
    text: str
    above: int


def split_files(text: str) -> tuple[ExampleFile, ...]:
    """Split an example into files at `# file: PATH` lines; without any it is one file, which its
    first line may name.
    """
    heads = list(SEVERAL.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        return (ExampleFile(find_path(text), text, 0),)
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return tuple(
        ExampleFile(head[1], text[head.end() : end], text.count("\n", 0, head.end()))
        for head, end in zip(heads, ends, strict=True)
    )


def find_path(text: str) -> str:
    """Return the path of an example of one file: the one in its first comment, else a script or a YAML file."""
    named = NAMED.match(text)
    return named[1] if named else SCRIPT if text.startswith("#!") else PATH


def find_marked_lines(text: str) -> tuple[int, ...]:
    """Return the line numbers that carry the mark."""
    return tuple(number for number, line in enumerate(text.splitlines(), 1) if line.endswith(MARK))


def load_sources(text: str) -> tuple[list[Source], ExampleRepository]:
    """Return the files of an example and a repository that holds them, if there are several."""
    files = {file.path: file.text.encode() for file in split_files(text)}
    return [Source(path, content) for path, content in files.items()], ExampleRepository(
        files if len(files) > 1 else None
    )


def report(text: str, given: ResolvedPolicy) -> Report:
    """Run the pipeline on an example."""
    sources, repository = load_sources(text)
    return check.check_files(sources, repository, resolve_policy(text, given))


def resolve_policy(text: str, given: ResolvedPolicy) -> ResolvedPolicy:
    """Return the resolved policy of an example, including that of a gpulint.yaml among its
    files.
    """
    files = {file.path: file.text.encode() for file in split_files(text)}
    if FILE not in files:
        return given
    from gpulint.policy.config import availability
    from gpulint.policy.config.discovery import Policies

    policies = Policies(ExamplePolicies(files))

    def resolve(path: str) -> ResolvedPolicy:
        found = policies.resolve(path)
        about = found.governance.select(lambda lines: policies.matches(lines, path))
        return replace(
            given, governance=about.read_whole(), available=availability.load_available(found), facility=found.facility
        )

    whole = policies.nearest("")
    return replace(given, governance=whole.governance.read_whole(), facility=whole.facility, governed=resolve)


def build_policy(rules: Sequence[Rule], all_rules: Sequence[Rule], alternatives: bool = True) -> ResolvedPolicy:
    """Return the resolved policy with these rules and the names of all known ones."""
    return ResolvedPolicy(
        tuple(rules), tuple(dict.fromkeys(rule.name for rule in all_rules)), alternatives=alternatives
    )
