"""Partitions that the documents of a repository describe: the accelerator of the nodes of each."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

from gpulint.catalog import hardware
from gpulint.pipeline.enrichment import machine_files
from gpulint.pipeline.enrichment.evidence import Evidence
from gpulint.source.repository import Repository

DOCUMENT = re.compile(r"(?i)(?:[^/]+|docs?/[^/]+)\.md")
FILES_MAX, CHARACTERS_MAX, LINE_MAX = 24, 60_000, 1_000
COLUMN = re.compile(r"[\s*`]*(?:slurm )?(?:partitions?|queues?)[\s*`]*", re.IGNORECASE)
"""The head of a column of partitions."""
DECORATION = " *`\t"


def find(partition: str, path: str, repository: Repository) -> Iterator[Evidence]:
    """Yield the accelerator that all descriptions of a partition name."""
    if not partition or not re.fullmatch(r"[\w.-]{2,60}", partition):
        return
    described = [
        (products, at, document)
        for document, text in _list_documents(machine_files.find_top(path, repository), repository)  # type: ignore[arg-type]
        for products, at in _read(partition, text.splitlines())
    ]
    shared = frozenset.intersection(*(frozenset(products) for products, _, _ in described)) if described else ()
    if shared:
        products, at, document = described[0]
        yield Evidence(tuple(product for product in products if product in shared), f"line {at} of {document}")


@functools.lru_cache(maxsize=4)
def _list_documents(top: str, repository: Repository) -> tuple[tuple[str, str], ...]:
    """Return the documents of the topmost folder and of its folder of documents, with their text."""
    prefix = "" if top in (".", "") else f"{top.rstrip('/')}/"
    found = (path for path in repository.list_files(top) if DOCUMENT.fullmatch(path.removeprefix(prefix)))
    read = ((path, repository.read(path)) for path in itertools.islice(found, FILES_MAX))
    return tuple((path, content[:CHARACTERS_MAX].decode("utf-8", "replace")) for path, content in read if content)


def _read(partition: str, lines: Sequence[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield what each line says of a partition that names it as one, or that has it in its column of partitions."""
    name = re.escape(partition)
    called = re.compile(rf"(?<![\w-]){name}[*`\s]{{0,4}}partition\b|\bpartition[*`:=\s]{{1,4}}{name}(?![\w-])", re.I)
    column = -1
    for at, line in enumerate((line[:LINE_MAX] for line in lines), 1):
        cells = line.strip().strip("|").split("|") if line.lstrip().startswith("|") else []
        heads = [number for number, cell in enumerate(cells) if COLUMN.fullmatch(cell)]
        column = (heads[0] if heads else column) if cells else -1
        is_row = 0 <= column < len(cells) and cells[column].strip(DECORATION).lower() == partition.lower()
        if is_row or called.search(line):
            mentions = [mention for mention in hardware.find_in_sentence(line) if mention.products]
            if len({mention.products for mention in mentions}) == 1:
                yield mentions[0].products, at
