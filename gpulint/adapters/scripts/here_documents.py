"""The Kubernetes objects that a script passes to kubectl in a here-document."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint import adapters
from gpulint.adapters.objects import embedded
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

HERE = re.compile(r"^(?P<command>[^#\n]*)<<\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<more>[^\n]*)\n", re.MULTILINE)
"""The operator `<<-` is left out: it removes tabs, which YAML does not use."""
APPLIES = re.compile(r"\b(?:kubectl|oc)\b.*\b(?:apply|create|replace)\b.*-f\s*-")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of the objects in each here-document that kubectl gets.

    `$NAME` in them stays a placeholder.
    """
    for start, end in _find_texts(document.text):
        for inner in embedded.load_part(document, start, end):
            yield from adapters.read(inner, repository)


def _find_texts(script: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each text that kubectl applies."""
    for match in HERE.finditer(script):
        if not APPLIES.search(f"{match['command']} {match['more']}"):
            continue
        end = re.compile(rf"^{match['end']}$", re.MULTILINE).search(script, match.end())
        if end:
            yield match.end(), end.start()
