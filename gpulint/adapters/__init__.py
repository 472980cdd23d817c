"""Adapters: one module per input format.

Each module has `claims(document)`, `kind(document)` and `workloads(document, repository)`. It is
imported when one of its `MENTIONS` occurs in a document of a sort that it `READS` (an API object,
unless it states otherwise). The strongest claim wins. A document that is claimed without a workload
is of a known format with nothing to check.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from gpulint.adapters.claim import Claim
from gpulint.catalog import package_data, resource_names
from gpulint.source import documents
from gpulint.source.documents import Document, Problem, spellings
from gpulint.source.repository import Repository
from gpulint.workload import Workload

HERE = Path(__file__).parent
DATA = frozenset({"yaml", "json", "toml"})
OF_OBJECTS = ("beta", "ScaledObject", "rayStartParams", "pytorchReplicaSpecs", "backoffLimit")
"""Trigger words: without any of them, no object has a problem of its own."""
OF_NODES = ("guest_accelerator", "mig-configs", "ami_type", "karpenter.sh/", "efaEnabled", "efa_support", "SlurmQueues")
"""Trigger words: without any of them, no document has a problem with its nodes."""
SERVERS = (b"vllm", b"sglang", b"llama-server", b"trtllm-serve", b"text-generation-launcher")
"""Programs that another program may start by their name."""
RECENT_MAX = 4_096
"""The most programs of which it is remembered whether they may compute on GPUs."""
PROGRAMS = ("python", "notebook")
"""What may compute on GPUs without a word about them: it imports other modules of the repository."""
OBJECTS = ("object",)
"""What a module without `READS` reads."""


def mentions_gpus(text: str, further: Iterable[str] = ()) -> bool:
    """Return whether a trigger word of an adapter, an engine or the catalog, or a further word, occurs in
    a text, in any spelling.

    The text may be the bytes of a file in any encoding, each byte as one character.
    """
    if spellings.has_tags(text):
        return True
    plain = spellings.read_plainly(text)
    return has_trigger(plain) or any(word in plain for word in further)


def has_trigger(text: str) -> bool:
    """Return whether a trigger word occurs in a text as it is."""
    lowered = text.lower()
    return any(word in lowered for word in package_data.trigger_words())


def may_concern_gpus(path: str, content: bytes) -> bool:
    """Return whether a file that cannot be read may be a spec.

    Most large files of JSON and TOML are data, so a trigger word must be in a key there.
    """
    text = content.decode("latin-1")
    is_data = documents.find_format(path) in ("json", "toml")
    return (_is_spec(text) or _names_gpu_settings(text)) if is_data else mentions_gpus(text)


def _names_gpu_settings(text: str) -> bool:
    """Return whether a key of a text contains a trigger word, as settings of GPUs have and prose has not."""
    words = "|".join(map(re.escape, package_data.trigger_words()))
    key = rf"(?i)(?:{words})[\w./-]{{0,64}}[\"']?[ \t]*[:=]"
    return any(re.search(key, spelling) for spelling in (text, spellings.read_plainly(text)))


def is_relevant(text: str, format: str) -> bool:
    """Return whether what is wrong with a text is worth a problem.

    Most files of JSON and TOML deploy nothing, so a trigger word alone is not enough there.
    """
    return mentions_gpus(text) and (format in ("", "yaml") or _is_spec(text))


def _is_spec(text: str) -> bool:
    words = f"{text}\n{spellings.read_plainly(text)}" if spellings.has_unusual(text) else text
    return (
        "apiVersion" in words
        or "gpulint" in words
        or re.search(resource_names.pattern("gpus", "slices"), words) is not None
    )


def find_adapter(document: Document) -> ModuleType | None:
    """Return the adapter with the strongest claim to a document; of equal claims that of the first name."""
    found: ModuleType | None = None
    strongest = Claim.NONE
    for name in sorted(_find_mentioned(document.words, _classify(document)), key=_most, reverse=True):
        if _most(name) <= strongest:
            break
        adapter = import_adapter(name)
        if (claim := adapter.claims(document)) > strongest:
            found, strongest = adapter, claim
    return found


@functools.lru_cache(RECENT_MAX)
def is_program_relevant(content: bytes) -> bool:
    """Return whether a program that nothing here starts imports a package of GPU programs, or names a server."""
    return any(name in content for name in SERVERS) or _compile_imports().search(content) is not None


@functools.cache
def _compile_imports() -> re.Pattern[bytes]:
    """Return the pattern of an import of a package that programs for GPUs use."""
    packages = "|".join(map(re.escape, package_data.list_mentions(HERE)["python"]))
    return re.compile(rf"(?:import|from)[ \t]+(?:{packages})\b".encode())  # a `\b` in front takes five times as long


def _most(name: str) -> Claim:
    """Return the strongest claim that an adapter makes of any document, without importing it."""
    stated = package_data.list_declared(HERE, "CLAIMS").get(name)
    return Claim[stated[0].upper()] if stated else Claim.EXACT


def read(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of a document, from the adapter that claims it."""
    adapter = find_adapter(document)
    yield from workloads(adapter, document, repository) if adapter else ()


def workloads(adapter: ModuleType, document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads that an adapter finds in a document.

    Values of other files that the document refers to are merged in.
    """
    if document.mentions("configMap"):
        from gpulint.adapters.objects import references

        references.complete(document, repository)
    yield from adapter.workloads(document, repository)


def problems(adapter: ModuleType, document: Document, repository: Repository) -> Iterator[Problem]:
    """Yield the problems of a document: of its format, as a Kubernetes object, and of its nodes."""
    if document.get(("apiVersion",)) is not None and document.mentions(*OF_OBJECTS):
        from gpulint.adapters.objects import problems as objects_problems

        yield from objects_problems.find_problems(document)
    if document.mentions("gpulint/"):
        from gpulint.adapters.objects import objective_annotations

        yield from objective_annotations.find_malformed(document)
    if document.mentions(*OF_NODES):
        from gpulint.adapters.nodes import problems as nodes_problems

        yield from nodes_problems.find_problems(document, repository)
    yield from adapter.problems(document) if hasattr(adapter, "problems") else ()
    yield from adapter.settle(document, repository) if hasattr(adapter, "settle") else ()


def kind(adapter: ModuleType, document: Document) -> str:
    """Return what a document is: its format's noun, or a Kubernetes object's group and kind."""
    if hasattr(adapter, "kind"):
        return str(adapter.kind(document))
    group = str(document.get(("apiVersion",)) or "").rpartition("/")[0]
    return f"{group}/{document.get(('kind',))}".removeprefix("/")


def name(adapter: ModuleType) -> str:
    """Return the name of an adapter, which is its module's."""
    return adapter.__name__.rpartition(".")[2]


def find_candidates(document: Document) -> Iterator[ModuleType]:
    """Yield the adapters that read such documents and one of whose words occurs in this one.

    The other adapters need not be imported.
    """
    yield from map(import_adapter, _find_mentioned(document.words, _classify(document)))


def import_adapter(name: str) -> ModuleType:
    """Return an adapter by its name."""
    return importlib.import_module(f"{__name__}.{package_data.modules(HERE)[name]}")


def _classify(document: Document) -> str:
    """Return how a document is read: as `object`, as `plain` data, or in its own format."""
    if document.format not in DATA:
        return document.format
    return "object" if document.get(("apiVersion",)) is not None else "plain"


@functools.lru_cache(maxsize=8)
def _find_mentioned(text: str, such: str) -> tuple[str, ...]:
    reads = package_data.list_declared(HERE, "READS")
    return tuple(
        name
        for name, words in package_data.list_mentions(HERE).items()
        if such in reads.get(name, OBJECTS) and (such in PROGRAMS or any(word in text for word in words))
    )
