"""Samples: the small files of a rule that show what it finds and what it lets pass, each through the whole pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gpulint.pipeline import check
from gpulint.policy.config.settings import FILE
from gpulint.policy.resolved import Given
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Report, Skip
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Source

MARK = "# <- here"
NAMED = re.compile(r"# ([\w./-]+\.[a-z]+)\n")
SEVERAL = re.compile(r"^# file: ([\w./-]+)\n", re.MULTILINE)
PATH = "spec.yaml"


class Alone:
    """A repository that holds other files only when they are given."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self.files = files or {}

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]:
        yield from (Source(path, self.files[path]) for path in paths)

    def rewritten(self, contents: Mapping[str, bytes]) -> Alone:
        return Alone({**self.files, **contents}) if self.files else self

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def at_root(self, path: str) -> bytes | None:
        return self.files.get(path)

    def head(self, path: str, length: int) -> bytes | None:
        content = self.files.get(path)
        return None if content is None else content[:length]

    def below(self, path: str) -> Sequence[str]:
        return tuple(sorted(one for one in self.files if one == path or one.startswith(f"{path}/")))

    def exists(self, path: str) -> bool:
        return path in self.files

    def search(self, pattern: str, near: str) -> str | None:
        return next((path for path, content in self.files.items() if re.search(pattern.encode(), content)), None)

    def objects(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        held = self.neighbours(kind, name, near)
        return tuple(one for one in held if one.get(("metadata", "name")) == name)

    def beside(self, near: str) -> Iterator[Source]:
        return iter(())

    def neighbours(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        held = (one for path, content in self.files.items() for one in documents.load(path, content).documents)
        return tuple(one for one in held if one.get(("kind",)) == kind and name in one.text)

    def gathered(self, names: str, words: str, near: str) -> tuple[Document, ...]:
        held = (
            (path, content)
            for path, content in self.files.items()
            if re.search(names, path) or re.search(words.encode(), content)
        )
        return tuple(one for path, content in held for one in documents.load(path, content).documents)


class Held:
    """The files of a sample, as policies are read."""

    root = Path("/")

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def names(self, folder: str) -> Iterator[str]:
        return iter(sorted(path for path in self.files if path.startswith(folder)))

    def shown(self, path: str) -> str:
        return path


class File(NamedTuple):
    """One file of a sample: its path, its text, and how many lines of the sample stand above it."""

    path: str
    text: str
    above: int


def files_of(text: str) -> tuple[File, ...]:
    """The files of a sample: one for each line `# file: PATH`, else one, which a comment on its first line may name."""
    heads = list(SEVERAL.finditer(text))
    if not heads or text[: heads[0].start()].strip():
        return (File(path_of(text), text, 0),)
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return tuple(
        File(head[1], text[head.end() : end], text.count("\n", 0, head.end()))
        for head, end in zip(heads, ends, strict=True)
    )


def path_of(text: str) -> str:
    """The path of a sample of one file: the one that its first line names in a comment, else a YAML file."""
    named = NAMED.match(text)
    return named[1] if named else PATH


def marked_lines(text: str) -> tuple[int, ...]:
    """The lines that carry the mark."""
    return tuple(number for number, line in enumerate(text.splitlines(), 1) if line.endswith(MARK))


def sources_of(text: str) -> tuple[list[Source], Alone]:
    """The files of a sample, and the repository that holds them: nothing else where there are several, else nothing."""
    files = {one.path: one.text.encode() for one in files_of(text)}
    return [Source(path, content) for path, content in files.items()], Alone(files if len(files) > 1 else None)


def report(text: str, given: Given) -> Report:
    """What the pipeline says of a sample."""
    sources, repository = sources_of(text)
    return check.check_files(sources, repository, under(text, given))


def under(text: str, given: Given) -> Given:
    """What a sample is checked with, and what a gpulint.yaml among its files demands besides."""
    files = {one.path: one.text.encode() for one in files_of(text)}
    if FILE not in files:
        return given
    from gpulint.policy.config import availability
    from gpulint.policy.config.discovery import Policies

    policies = Policies(Held(files))

    def governed(path: str) -> Given:
        found = policies.at(path)
        about = found.governance.about(lambda lines: policies.matches(lines, path))
        return replace(given, governance=about.read_whole(), available=availability.of(found), facility=found.facility)

    whole = policies.nearest("")
    return replace(given, governance=whole.governance.read_whole(), facility=whole.facility, governed=governed)


def given(rules: Sequence[Rule], known: Sequence[Rule], alternatives: bool = True) -> Given:
    """What a sample is checked with: these rules, and the names of all that are known."""
    return Given(tuple(rules), tuple(dict.fromkeys(one.name for one in known)), alternatives=alternatives)
