"""Seen: at which places of a format's documents facts are stated, as the samples of the shipped rules show it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint import adapters, documents, facts
from gpulint.documents import Document
from gpulint.findings import Skip
from gpulint.policy import rule
from gpulint.repository import Source
from gpulint.workload import Origin

FILE = re.compile(r"# ([\w-]+\.[a-z]+)\n")
POD = re.compile(r"^.*?(?=(?:containers\[\]|initContainers\[\]|nodeSelector|volumes\[\]|tolerations|affinity)(?:\.|$))")
"""What stands above the parts of a pod, which are alike in every kind."""
SCRIPT = "words of the script"
WHOLE = "the file as a whole"


@functools.cache
def places(adapter: str) -> Mapping[str, tuple[str, ...]]:
    """The facts that each place of an adapter's documents states."""
    found: dict[str, set[str]] = {}
    for name, place, fact in _every():
        if name == adapter:
            found.setdefault(place, set()).add(fact)
    return {place: tuple(sorted(found[place])) for place in sorted(found)}


@functools.cache
def _every() -> tuple[tuple[str, str, str], ...]:
    """Each adapter, place and fact that a sample shows."""
    texts = (
        str(text) for one in rule.shipped_rules().values() for side in rule.examples(one).values() for text in side
    )
    return tuple(dict.fromkeys(shown for text in texts for shown in _shown(text)))


def _shown(text: str) -> Iterator[tuple[str, str, str]]:
    named = FILE.match(text)
    loaded = documents.load(named[1] if named else "spec.yaml", text.encode())
    for document in loaded.documents:
        if (adapter := adapters.claiming(document)) is None:
            continue
        for workload in adapters.workloads(adapter, document, Nothing()):
            for role in workload.roles:
                for name, field in role.fields.items():
                    origin = field.origins[0] if field.origins else role.anchor
                    if origin != role.anchor and origin.document is document and name in facts.glossary():
                        yield adapters.name(adapter), _place(origin), name


def _place(origin: Origin) -> str:
    """A path as people write it: any item of a list is `[]`, and what stands above a pod is left out."""
    if not origin.path:
        return WHOLE if origin.document.format in adapters.DATA else SCRIPT
    steps = "".join("[]" if isinstance(step, int) else f".{step}" for step in origin.path).removeprefix(".")
    return POD.sub("… ", steps, count=1)


class Nothing:
    """A repository without other files."""

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]:
        return iter(())

    def rewritten(self, contents: Mapping[str, bytes]) -> Nothing:
        return self

    def read(self, path: str) -> bytes | None:
        return None

    def at_root(self, path: str) -> bytes | None:
        return None

    def head(self, path: str, length: int) -> bytes | None:
        return None

    def exists(self, path: str) -> bool:
        return False

    def search(self, pattern: str, near: str) -> str | None:
        return None

    def objects(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        return ()

    def neighbours(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        return ()

    def beside(self, near: str) -> Iterator[Source]:
        return iter(())

    def gathered(self, names: str, words: str, near: str) -> tuple[Document, ...]:
        return ()
