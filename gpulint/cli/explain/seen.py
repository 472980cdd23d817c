"""Seen: at which places of a format's files facts are stated, as its own sample and the samples of the rules show it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from gpulint import adapters
from gpulint.catalog import package_data as shipped
from gpulint.facts.glossary import glossary
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.rules import rule
from gpulint.report.model import Location
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.workload import Origin, Unknown

POD = re.compile(r"^.*?(?=(?:containers\[\]|initContainers\[\]|nodeSelector|volumes\[\]|tolerations|affinity)(?:\.|$))")
"""What stands above the parts of a pod, which are alike in every kind."""
DIRECTIVE = re.compile(r"#(?:SBATCH|PBS|BSUB)\s+(?:--?[\w-]+)")
COMMAND = "words of a command"
WHOLE = "the file as a whole"


def sample(adapter: str) -> str:
    """The small file of a format that comes with gpulint."""
    files = sorted(shipped.folder("formats").glob(f"{adapter}.*"))
    return files[0].read_text(encoding="utf-8") if files else ""


def path_of(adapter: str, text: str) -> str:
    """What the sample of a format is called."""
    named = samples.path_of(text)
    file = next(iter(sorted(shipped.folder("formats").glob(f"{adapter}.*"))), Path(named))
    return file.name if named == samples.PATH else named


@functools.cache
def places(adapter: str) -> Mapping[str, tuple[str, ...]]:
    """The facts that each place of an adapter's documents states."""
    found: dict[str, set[str]] = {}
    for name, place, fact in (*_in_rules(), *_shown(sample(adapter), path_of(adapter, sample(adapter)))):
        if name == adapter:
            found.setdefault(place, set()).add(fact)
    return {place: tuple(sorted(found[place])) for place in sorted(found)}


@functools.cache
def _in_rules() -> tuple[tuple[str, str, str], ...]:
    """Each adapter, place and fact that a sample of a rule shows."""
    texts = (
        str(text) for one in rule.shipped_rules().values() for side in rule.examples(one).values() for text in side
    )
    files = (file for text in texts for file in samples.files_of(text))
    return tuple(dict.fromkeys(shown for file in files for shown in _shown(file.text, file.path)))


def _shown(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    held = documents.load(path, text.encode()).documents
    for document in held:
        if (adapter := adapters.claiming(document)) is not None:
            yield from ((adapters.name(adapter), place, name) for place, name in _stated(adapter, document, held))


def _stated(adapter: ModuleType, document: Document, held: tuple[Document, ...]) -> Iterator[tuple[str, str]]:
    for workload in adapters.workloads(adapter, document, samples.Alone()):
        for role in workload.roles:
            for name, field in role.fields.items():
                origin = field.origins[0] if field.origins else role.anchor
                if origin == role.anchor or isinstance(field.value, Unknown) or name not in glossary():
                    continue
                if place := _place(origin, document, held):
                    yield place, name


def _place(origin: Origin, document: Document, held: tuple[Document, ...]) -> str:
    """Where an origin stands in the file, as people write it: `[]` for any item, without what stands above a pod."""
    if origin.document.path != document.path:
        return ""
    at = origin._replace(span=None).location()
    for one in sorted(held, key=lambda one: one is not document):
        if (steps := _places_of(one).get((at.line, at.column))) is not None:
            told = POD.sub("… ", steps, count=1)
            return told if one is document else f"{told} of {one.get(('kind',))}"
    return _of_line(document, origin.location())


def _of_line(document: Document, at: Location) -> str:
    if document.format in adapters.DATA:
        return WHOLE
    found = DIRECTIVE.match(document.text.splitlines()[at.line - 1])
    return found[0] if found else COMMAND


@functools.lru_cache(maxsize=64)
def _places_of(document: Document) -> Mapping[tuple[int, int], str]:
    """The path of every value of a document by where it stands."""
    return {(at.line, at.column): told for at, told in _walked(document, (), document.data)}


def _walked(document: Document, path: documents.Path, value: object) -> Iterator[tuple[Location, str]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        yield from _walked(document, (*path, step if isinstance(step, int) else str(step)), below)
    if path:
        told = "".join("[]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
        yield document.locate(path), told
        if not isinstance(path[-1], int):
            yield document.locate(path, key=True), told
