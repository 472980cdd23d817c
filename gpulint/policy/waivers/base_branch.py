"""Committed: policies and waivers as a commit has them, whatever a change makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpulint.policy.config import files as reader
from gpulint.policy.config.files import Refused
from gpulint.policy.rules import identity as subject
from gpulint.policy.waivers import comments as directives
from gpulint.policy.waivers.waivers import Suppression
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository.git_tree import GitTree
from gpulint.source.repository.tree import NEVER_ENTERED


class Commit:
    """The files of a commit, as a Reader of policies; where the commit has a `name`, they are shown as files of that."""

    def __init__(self, tree: GitTree, name: str = "") -> None:
        self.tree = tree
        self.name = name
        self.root: Path = tree.root

    def read(self, path: str) -> bytes | None:
        """A file, None where there is none; Refused where it is a link or too large."""
        item = self.tree.held.items.get(path)
        if item is not None and item.kind == "link":
            raise Refused(f"{self.shown(path)}: a symbolic link, which gpulint does not follow")
        if item is None or item.kind != "file":
            return None
        if self.tree.git.size(item.id) > reader.BYTES_MAX:
            limit = reader.BYTES_MAX // 1_000_000
            raise Refused(f"{self.shown(path)}: larger than {limit} MB, more than is read of such a file")
        return self.tree.git.content(item.id)

    def names(self, folder: str) -> Iterator[str]:
        """The paths of all files below a folder, in sorted order, links among them."""
        start = f"{folder}/" if folder not in ("", ".") else ""
        below = (path for path in sorted(self.tree.held.items) if path.startswith(start))
        return (path for path in below if NEVER_ENTERED.isdisjoint(path.split("/")))

    def shown(self, path: str) -> str:
        """A file from the current folder, or as git names it."""
        return f"{self.name}:{path}" if self.name else self.tree.shown(path)


class Vouching:
    """Which waivers of files a commit has too: those that it lacks do not count yet."""

    def __init__(self, tree: GitTree, name: str, renamed: Mapping[str, str]) -> None:
        self.tree = tree
        self.renamed = renamed
        self.pending = f"waived in this change; it counts once {name} has the waiver"

    def __call__(self, path: str, found: Sequence[Suppression], held: Sequence[Document]) -> Sequence[Suppression]:
        """The waivers of a file, with those marked that no file of the commit has for the same object."""
        if not found:
            return found
        known: Counter[object] = Counter()
        for place in dict.fromkeys(self._places(path, held)):
            known.update(self._known(place, {one.rule for one in found}))
        marked = []
        for one in found:
            identity = _identity(one, held)
            marked.append(one if known[identity] > 0 else one._replace(pending=self.pending))
            known[identity] -= 1
        return marked

    def _places(self, path: str, held: Sequence[Document]) -> Iterator[str]:
        """The file itself, or where the commit has it, or has what it holds."""
        here = next(
            (one for one in (path, self.renamed.get(path, "")) if one and self.tree.read(one) is not None), None
        )
        if here is not None:
            yield here
            return
        for document in held:
            name = document.get(("metadata", "name"))
            if isinstance(name, str) and subject.named(document.data):
                same = self.tree.objects(str(document.get(("kind",))), name, path)
                yield from (one.path for one in same if subject.named(one.data) == subject.named(document.data))

    def _known(self, path: str, names: set[str]) -> list[object]:
        content = self.tree.read(path) or b""
        loaded = documents.load(path, content)
        text = loaded.documents[0].text if loaded.documents else content.decode("utf-8-sig", "replace")
        found, _ = directives.read(path, text, loaded.documents, loaded.comments, names)
        return [_identity(one, loaded.documents) for one in found]


def _identity(one: Suppression, held: Sequence[Document]) -> object:
    """What a waiver says, and of which object it says so."""
    waiver = one.waiver
    named = subject.at(waiver.location, held).object if waiver.location else ""
    return one.rule, waiver.kind, waiver.reason, waiver.owner, waiver.until, waiver.bound, named if " " in named else ""
