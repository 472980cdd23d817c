"""Locations at which a format's files declare facts, from its own sample and the samples of the rules."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from gpulint import adapters
from gpulint.catalog import package_data
from gpulint.facts.glossary import glossary
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.rules import rule
from gpulint.report.model import Location
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.workload import Origin, Unknown

POD = re.compile(r"^.*?(?=(?:containers\[\]|initContainers\[\]|nodeSelector|volumes\[\]|tolerations|affinity)(?:\.|$))")
"""The path above the parts of a pod, which are the same in every kind."""
DIRECTIVE = re.compile(r"#(?:SBATCH|PBS|BSUB)\s+(?:--?[\w-]+)")
COMMAND = "words of a command"
WHOLE = "the file as a whole"


def find_sample(adapter: str) -> str:
    """Return the example file of a format."""
    files = sorted(package_data.find_folder("formats").glob(f"{adapter}.*"))
    return files[0].read_text(encoding="utf-8") if files else ""


def render_path(adapter: str, text: str) -> str:
    """Return the file name of a format's example."""
    named = samples.find_path(text)
    file = next(iter(sorted(package_data.find_folder("formats").glob(f"{adapter}.*"))), Path(named))
    return file.name if named == samples.PATH else named


@functools.cache
def list_locations(adapter: str) -> Mapping[str, tuple[str, ...]]:
    """Return the facts that each location of an adapter's documents declares."""
    found: dict[str, set[str]] = {}
    for name, place, fact in (
        *_list_rule_locations(),
        *_list_shown(find_sample(adapter), render_path(adapter, find_sample(adapter))),
    ):
        if name == adapter:
            found.setdefault(place, set()).add(fact)
    return {place: tuple(sorted(found[place])) for place in sorted(found)}


@functools.cache
def _list_rule_locations() -> tuple[tuple[str, str, str], ...]:
    """Return each adapter, location and fact in a sample of a rule."""
    texts = (
        str(text) for one in rule.load_shipped().values() for side in rule.load_examples(one).values() for text in side
    )
    files = (file for text in texts for file in samples.split_files(text))
    return tuple(dict.fromkeys(shown for file in files for shown in _list_shown(file.text, file.path)))


def _list_shown(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    held = documents.load(path, text.encode()).documents
    for document in held:
        if (adapter := adapters.find_adapter(document)) is not None:
            yield from (
                (adapters.name(adapter), place, name) for place, name in _list_declared(adapter, document, held)
            )


def _list_declared(adapter: ModuleType, document: Document, held: tuple[Document, ...]) -> Iterator[tuple[str, str]]:
    repository = samples.ExampleRepository()
    for found in adapters.workloads(adapter, document, repository):
        workload = enrichment.apply_repository(found, repository)
        for role in workload.roles:
            for name, field in role.fields.items():
                origin = field.origins[0] if field.origins else role.anchor
                if origin == role.anchor or isinstance(field.value, Unknown) or name not in glossary():
                    continue
                if place := _place(origin, document, held):
                    yield place, name


def _place(origin: Origin, document: Document, held: tuple[Document, ...]) -> str:
    """Return the path of an origin: `[]` for any item, without the path above a pod."""
    if origin.document.path != document.path:
        return ""
    location = origin._replace(span=None).location()
    for candidate in sorted(held, key=lambda other: other is not document):
        if (steps := _index_paths(candidate).get((location.line, location.column))) is not None:
            path = POD.sub("… ", steps, count=1)
            return path if candidate is document else f"{path} of {candidate.get(('kind',))}"
    return _describe_line(document, origin.location())


def _describe_line(document: Document, at: Location) -> str:
    if document.format in adapters.DATA:
        return WHOLE
    found = DIRECTIVE.match(document.text.splitlines()[at.line - 1])
    return found[0] if found else COMMAND


@functools.lru_cache(maxsize=64)
def _index_paths(document: Document) -> Mapping[tuple[int, int], str]:
    """Return the path of every value of a document by its position."""
    return {(at.line, at.column): told for at, told in _walk(document, (), document.data)}


def _walk(document: Document, path: documents.Path, value: object) -> Iterator[tuple[Location, str]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        yield from _walk(document, (*path, step if isinstance(step, int) else str(step)), below)
    if path:
        told = "".join("[]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
        yield document.locate(path), told
        if not isinstance(path[-1], int):
            yield document.locate(path, key=True), told
