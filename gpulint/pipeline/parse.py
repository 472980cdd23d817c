"""The parse stage: the documents of one file, each with the adapter that claims it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from gpulint import adapters
from gpulint.adapters import nodes
from gpulint.adapters.programs import console_scripts
from gpulint.catalog import resource_names
from gpulint.pipeline.enrichment import autoscaling
from gpulint.policy.config.settings import FILE, PROJECT
from gpulint.policy.rules import document_rules
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Recognised
from gpulint.source import documents, excess
from gpulint.source.documents import Document, Loaded, Path
from gpulint.source.documents.nodes import DEPTH_MAX
from gpulint.source.repository import Repository, Source

if TYPE_CHECKING:
    from gpulint.policy.waivers.base_branch import PendingMarker
    from gpulint.policy.waivers.declarations import Pending

PATCH = "patch"
PROGRAMS_MAX = 100
"""The most programs that a script may name to be looked at."""
MANY_PROGRAMS = "a script without a word about GPUs names more than {} Python programs"
ENTRY = re.compile(rb"__main__|^@\w|^[A-Za-z_][\w.]*+\(", re.MULTILINE)
"""What a program has that does something, or that a framework calls: a call or a decorator at the start of a line."""
SETTINGS = "sets GPUs or parallelism in an unknown format"
UNREAD = "requests GPUs in an object of an unknown kind"
MACHINE = "names a machine with GPUs, and nothing that gpulint reads runs on it"


class ParsedDocument(NamedTuple):
    """A document and the adapter that claims it, if one does."""

    document: Document
    adapter: ModuleType | None


class ParsedFile(NamedTuple):
    """A file with its text, its documents, its comments, and the reasons for which parts of it were
    not read.

    `pending` are its hints that do not apply, because the --policy-from commit lacks them.
    """

    source: Source
    loaded: Loaded
    documents: tuple[ParsedDocument, ...]
    pending: tuple[Pending, ...] = ()

    @property
    def text(self) -> str:
        """The text that the documents were read from."""
        found = self.loaded.documents
        return found[0].text if found else self.source.content.decode("utf-8-sig", "replace")


def file(source: Source, vouched: PendingMarker | None = None) -> ParsedFile:
    """Read the documents of a file, without the hints that the --policy-from commit lacks."""
    loaded = documents.load(source.path, source.content, adapters.is_relevant)
    pending: tuple[Pending, ...] = ()
    if vouched is not None:
        pending, loaded = vouched.leave_out(source.path, loaded)
    found = (ParsedDocument(document, adapters.find_adapter(document)) for document in loaded.documents)
    return ParsedFile(source, loaded, tuple(found), pending)


def is_relevant(source: Source, rules: Iterable[Rule]) -> bool:
    """Whether any rule can fire on a file: it mentions GPUs, or a rule is about objects of every
    kind.
    """
    if documents.is_program(source.path):
        return adapters.is_program_relevant(source.content)
    if adapters.mentions_gpus(source.content.decode("latin-1"), autoscaling.GROUPS):
        return True
    if documents.find_format(source.path) == "shell":
        return False
    return any(document_rules.reads_object(rule) for rule in rules)


def starts_program(source: Source, repository: Repository) -> bool:
    """Whether a script or program without a word about GPUs starts or imports one of the repository that is for GPUs."""
    if documents.is_program(source.path):
        is_entry = source.path.endswith(".py") and ENTRY.search(source.content) is not None
        is_entry = is_entry or bool(console_scripts.find(source.path, repository))
        return is_entry and _computes(repository.list_imported(source.path), repository)
    if b".py" not in source.content or documents.find_format(source.path) != "shell":
        return False
    if documents.is_build(source.path):
        return False
    names = dict.fromkeys(documents.list_mentioned(source.content))
    paths = [path for name in names for path in repository.find_programs(name, source.path)]
    excess.is_over(len(paths), PROGRAMS_MAX, MANY_PROGRAMS)
    return _computes(paths[:PROGRAMS_MAX], repository)


def _computes(paths: Iterable[str], repository: Repository) -> bool:
    contents = map(repository.read, paths)
    return any(content is not None and adapters.is_program_relevant(content) for content in contents)


def recognise(adapter: ModuleType, document: Document) -> Recognised:
    """Return a document as reports list it."""
    where = document.locate(("kind",))
    return Recognised(where.path, where.line, adapters.kind(adapter, document), adapters.name(adapter))


def find_unread_gpus(parsed: ParsedFile) -> int | None:
    """Return the line at which an object that no adapter reads names an accelerator resource; None if none does."""
    for entry in parsed.documents:
        path = _find_request(entry.document.data, DEPTH_MAX, ()) if _is_unread(entry) else None
        if path is not None:
            return entry.document.locate(path, key=True).line
    return None


def _is_unread(entry: ParsedDocument) -> bool:
    """Whether no adapter reads a document; an adapter that claims it may say so itself. Node pools are read elsewhere."""
    data = entry.document.data
    identity = f"apiVersion: {data.get('apiVersion')}\nkind: {data.get('kind')}" if isinstance(data, dict) else ""
    if re.search(nodes.file_words(), identity):
        return False
    adapter = entry.adapter
    return adapter is None or (hasattr(adapter, "unread") and bool(adapter.unread(entry.document)))


def find_patches(parsed: ParsedFile, repository: Repository) -> Iterator[Document]:
    """Yield the documents that change another object and are not checked as one."""
    for document, adapter in parsed.documents:
        can_tell = adapter is not None and hasattr(adapter, "is_patch")
        if _is_json_patch(document.data) or (can_tell and adapter.is_patch(document, repository)):  # type: ignore[union-attr]
            yield document


def _is_json_patch(data: object) -> bool:
    """Whether data is a JSON patch (RFC 6902), as kustomize applies it to an object."""
    listed = data if isinstance(data, list) else []
    return bool(listed) and all(isinstance(item, dict) and {"op", "path"} <= item.keys() for item in listed)


def find_unread_settings(parsed: ParsedFile) -> int | None:
    """Return the line at which plain data that no adapter reads sets GPUs or parallelism; None if none does.

    An example is the file of arguments of a launcher.
    """
    for document in (entry.document for entry in parsed.documents if entry.adapter is None):
        data = _leave_out_policy(document)
        if not isinstance(data, dict) or data.get("apiVersion") is not None:
            continue
        if (path := _find_gpu_key(data, DEPTH_MAX, ())) is not None:
            return document.locate(path, key=True).line
    return None


def find_idle_machine(parsed: ParsedFile) -> int | None:
    """Return the line at which a document of a known format names a machine with GPUs; its adapter says so in `machines`."""
    for document, adapter in parsed.documents:
        if adapter is not None and hasattr(adapter, "machines"):
            path = next(adapter.machines(document), None)
            if path is not None:
                return document.locate(path).line
    return None


def _leave_out_policy(document: Document) -> object:
    """Return the data of a document without gpulint's own settings, which are read as the policy."""
    name, data, tools = posixpath.basename(document.path), document.data, document.get(("tool",))
    if name == FILE:
        return None
    if name != PROJECT or not isinstance(data, dict) or not isinstance(tools, dict):
        return data
    return {**data, "tool": {key: value for key, value in tools.items() if key != "gpulint"}}


def _find_gpu_key(value: object, depth: int, path: Path) -> Path | None:
    """Return the path of the first key that contains a trigger word, outer keys first."""
    if isinstance(value, dict) and depth:
        named = next(((*path, key) for key in value if isinstance(key, str) and adapters.has_trigger(key)), None)
        if named is not None:
            return named
    inner = ((key, _find_gpu_key(item, depth - 1, (*path, key))) for key, item in _list_items(value, depth))
    return next((found for _, found in inner if found is not None), None)


def _find_request(value: object, depth: int, path: Path) -> Path | None:
    """Return the path of the limits or requests anywhere in an object that name an accelerator resource."""
    for side in ("limits", "requests") if isinstance(value, dict) and depth else ():
        amounts = value.get(side)  # type: ignore[attr-defined]
        for name in amounts if isinstance(amounts, dict) else ():
            if resource_names.counts(str(name)) not in ("", "other"):
                return (*path, side, name)
    inner = ((key, _find_request(item, depth - 1, (*path, key))) for key, item in _list_items(value, depth))
    return next((found for _, found in inner if found is not None), None)


def _list_items(value: object, depth: int) -> Iterator[tuple[str | int, object]]:
    if depth and isinstance(value, dict):
        yield from value.items()
    elif depth and isinstance(value, list):
        yield from enumerate(value)
