"""Policies and waivers of a commit, independent of what a change makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpulint.policy.config import files
from gpulint.policy.config.files import RefusedFileError
from gpulint.policy.rules import identity as rules_identity
from gpulint.policy.waivers import comments, declarations
from gpulint.policy.waivers.declarations import Declaration, Pending
from gpulint.policy.waivers.waivers import Suppression
from gpulint.source import documents
from gpulint.source.documents import Document, Loaded
from gpulint.source.repository.git_tree import GitTree
from gpulint.source.repository.tree import NEVER_ENTERED


class CommitReader:
    """A Reader over the files of a commit. If the commit has a `name`, displayed paths start with it."""

    def __init__(self, tree: GitTree, name: str = "") -> None:
        self.tree = tree
        self.name = name
        self.root: Path = tree.root

    def read(self, path: str) -> bytes | None:
        """Return a file, or None if there is none; raise Refused for a link or an oversized file."""
        item = self.tree.held.items.get(path)
        if item is not None and item.kind == "link":
            raise RefusedFileError(f"{self.render_path(path)}: gpulint does not follow symbolic links")
        if item is None or item.kind != "file":
            return None
        if self.tree.git.size(item.id) > files.BYTES_MAX:
            limit = files.BYTES_MAX // 1_000_000
            raise RefusedFileError(f"{self.render_path(path)}: larger than the limit of {limit} MB for such a file")
        return self.tree.git.content(item.id)

    def names(self, folder: str) -> Iterator[str]:
        """Return the paths of all files below a folder in sorted order, including links."""
        start = f"{folder}/" if folder not in ("", ".") else ""
        below = (path for path in sorted(self.tree.held.items) if path.startswith(start))
        return (path for path in below if NEVER_ENTERED.isdisjoint(path.split("/")))

    def render_path(self, path: str) -> str:
        """Return a path relative to the current folder, or as git names it."""
        return f"{self.name}:{path}" if self.name else self.tree.render_root_path(path)


class PendingMarker:
    """Marks the waivers and hints of a change that the reference commit lacks as pending."""

    def __init__(self, tree: GitTree, name: str, renamed: Mapping[str, str]) -> None:
        self.tree = tree
        self.name = name
        self.renamed = renamed
        self._last: dict[str, Loaded] = {}
        self.pending = f"the waiver is new in this change and takes effect once {name} has it"

    def __call__(self, path: str, found: Sequence[Suppression], held: Sequence[Document]) -> Sequence[Suppression]:
        """Return the waivers of a file; those that the commit lacks for the same object are marked as pending."""
        if not found:
            return found
        known: Counter[object] = Counter()
        for place in dict.fromkeys(self._places(path, held)):
            known.update(self._identities(place, {suppression.rule for suppression in found}))
        marked = []
        for suppression in found:
            identity = _identity(suppression, held)
            is_known = known[identity] > 0
            marked.append(suppression if is_known else suppression._replace(pending=self.pending))
            known[identity] -= 1
        return marked

    def leave_out(self, path: str, loaded: Loaded) -> tuple[tuple[Pending, ...], Loaded]:
        """Return the hints of a file that the commit lacks for the same object, and the file as the commit allows it.

        A value that the commit has for the same hint applies instead.
        """
        found = declarations.list_declarations(loaded)
        known: dict[object, list[str]] = {}
        for place in dict.fromkeys(self._places(path, loaded.documents)) if found else ():
            for declaration in declarations.list_declarations(self._load(place)):
                known.setdefault(declaration.key, []).append(declaration.value)
        new = list(_take_known(found, known))
        pending = tuple(
            Pending(entry, self.name, _take_first(known.get(entry.key)) if entry.kind != declarations.TEXT else None)
            for entry in new
        )
        return pending, declarations.replace(loaded, {entry.declaration: entry.instead for entry in pending})

    def _load(self, path: str) -> Loaded:
        """Return a file of the commit; the last one is kept, because suggestions check the same file again."""
        if path not in self._last:
            self._last = {path: documents.load(path, self.tree.read(path) or b"")}
        return self._last[path]

    def _places(self, path: str, held: Sequence[Document]) -> Iterator[str]:
        """Yield the file itself, its path in the commit, or the files that have the same objects there."""
        candidates = (path, self.renamed.get(path, ""))
        here = next((file for file in candidates if file and self.tree.read(file) is not None), None)
        if here is not None:
            yield here
            return
        for document in held:
            name = document.get(("metadata", "name"))
            if isinstance(name, str) and rules_identity.identify_object(document.data):
                same = self.tree.objects(str(document.get(("kind",))), name, path)
                yield from (
                    other.path
                    for other in same
                    if rules_identity.identify_object(other.data) == rules_identity.identify_object(document.data)
                )

    def _identities(self, path: str, names: set[str]) -> list[object]:
        loaded = self._load(path)
        text = (
            loaded.documents[0].text
            if loaded.documents
            else (self.tree.read(path) or b"").decode("utf-8-sig", "replace")
        )
        found, _ = comments.read(path, text, loaded.documents, loaded.comments, names)
        return [_identity(suppression, loaded.documents) for suppression in found]


def _take_known(found: Sequence[Declaration], known: Mapping[object, list[str]]) -> Iterator[Declaration]:
    """Take the values of hints from those known for their object and word; yield the hints whose value is not left."""
    for declaration in found:
        values = known.get(declaration.key, [])
        if declaration.value in values:
            values.remove(declaration.value)
        else:
            yield declaration


def _take_first(values: list[str] | None) -> str | None:
    return values.pop(0) if values else None


def _identity(suppression: Suppression, held: Sequence[Document]) -> object:
    """Return what a waiver says and which object it is about."""
    waiver = suppression.waiver
    owner = rules_identity.locate_subject(waiver.location, held).object if waiver.location else ""
    return (
        suppression.rule,
        waiver.kind,
        waiver.reason,
        waiver.owner,
        waiver.until,
        waiver.bound,
        owner if " " in owner else "",
    )
