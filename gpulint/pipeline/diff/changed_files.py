"""Changed files: those that differ between two trees, and those that refer to what such a file
contains.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.adapters import nodes
from gpulint.policy.config import settings
from gpulint.report.model import Skip
from gpulint.source import documents
from gpulint.source.git import Item
from gpulint.source.repository import Source, Tree, mentions
from gpulint.source.repository.git_tree import GitTree
from gpulint.source.repository.tree import NAME

Files = Iterable[Source | Skip]
OF_POLICY = frozenset({settings.FILE, settings.PROJECT, settings.BASELINE})
WORD_LEAST, WORDS_MAX = 3, 2_000
"""Shorter names are too common to search for. More changed names than that touch everything."""
WITHIN = frozenset({"containers", "initContainers", "env", "ports", "volumeMounts"})
"""Lists whose items have local names, such as `vllm`, that other files do not refer to."""
DEPTH = 24
START_BYTES, HASHED_BYTES = 4_096, 1_000_000
COPIES = frozenset(
    {"actual", "bak", "disabled", "dist", "example", "expected", "golden", "off", "old", "orig", "out", "rej", "sample"}
    | {"save", "snap", "want"}
)
"""Suffixes of copies that nothing deploys: back-ups, examples, and what tests compare with."""


class Changed(NamedTuple):
    """The files to check because of a change, and the paths of those that changed themselves."""

    files: Sequence[Source | Skip]
    paths: frozenset[str]


def find_changed(files: Files, commit: GitTree) -> Changed:
    """Return the files that differ from a commit's; all files if a policy or a rule changed.

    A file with other line endings after a checkout counts as unchanged.
    """
    every = list(files)
    new = [source for source in every if not _is_unchanged(source, commit)]
    governs = any(isinstance(source, Source) and _governs(source.path, source.content) for source in new)
    return Changed(every if governs else new, frozenset(source.path for source in new))


def find_changed_texts(tree: Tree, commit: GitTree) -> list[str]:
    """Return the files of variables and of image builds that differ from a commit's, by their shown paths."""
    shown = {commit.render_root_path(path): item for path, item in commit.held.items.items() if mentions.is_text(path)}
    contents = ((path, item, tree.read(path)) for path, item in sorted(shown.items()) if item.kind == "file")
    return [path for path, item, content in contents if content is not None and not _is_same(content, item.id)]


def build_is_changed(tree: Tree, other: GitTree) -> Callable[[str], bool]:
    """Return a function that says whether a file, or a file below a folder, differs in another tree, by its shown path."""
    if not isinstance(tree, GitTree):
        return lambda path: True
    differing = _find_differing(other, tree)
    changed = {*differing, *(above for path in differing for above in _list_folders(path))}
    return lambda path: tree.find_root_path(path) in changed


def _list_folders(path: str) -> Iterator[str]:
    """Yield the folders that a path lies in."""
    while (path := path.rpartition("/")[0]) != "":
        yield path


def find_oddly_named(base: GitTree, head: GitTree, paths: Sequence[str]) -> list[str]:
    """Return the changed files of head below these paths whose text begins like a Kubernetes object
    although their names do not say so.
    """
    inside = [head.find_root_path(path) or "" for path in paths]
    found = []
    for path in sorted(_find_differing(base, head)):
        suffix = path.rpartition(".")[2].lower()
        if documents.find_format(path) or suffix in COPIES or not is_below(path, inside):
            continue
        shown = head.render_root_path(path)
        start = head.head(shown, START_BYTES) or b""
        if documents.is_object(start.decode("utf-8", "replace")):
            found.append(shown)
    return found


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of these or lies below one."""
    return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in folders)


def filter_changed(base: GitTree, head: GitTree) -> Callable[[Files], Iterator[Source | Skip]]:
    """Return a filter for the files of a side that differ on the other side or refer to such a
    file.

    All files pass if a policy, a rule, or a file that may define node pools differs. Pools are
    found by their labels.
    """
    paths = _find_differing(base, head)
    contents = [(path, content) for path in sorted(paths) for content in _read_contents(path, base, head)]
    names = {word for path, content in contents for word in _find_names(path, content)}
    if len(names) > WORDS_MAX or any(_reaches_far(path, content) for path, content in contents):
        return iter
    words = b"|".join(map(re.escape, sorted(names))) or b"(?!)"
    named = re.compile(rb"(?<![\w-])(?:%s)(?![\w-])" % words)
    using = {user for tree in (base, head) for user in _find_users(tree, paths)}

    def filter_touched(files: Files) -> Iterator[Source | Skip]:
        return (
            source
            for source in files
            if isinstance(source, Skip) or _may_differ(head.find_root_path(source.path)) or named.search(source.content)
        )

    def _may_differ(path: str | None) -> bool:
        return path in paths or path in using

    return filter_touched


def _find_users(tree: GitTree, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths from the root of the specs of a commit that may use some of these files."""
    used = [tree.render_root_path(path) for path in sorted(paths) if mentions.is_used(path)]
    found = tree.find_users(used).paths if used else ()
    yield from filter(None, map(tree.find_root_path, found))


def _is_unchanged(source: Source | Skip, commit: GitTree) -> bool:
    item = commit.held.items.get(commit.find_root_path(source.path) or "")
    if isinstance(source, Skip):
        return item is not None and _is_same_entry(commit.base / source.path, item)
    if item is None or item.kind != "file":
        return False
    return _is_same(source.content, item.id)


def _is_same(content: bytes, id: str) -> bool:
    return id in (_compute_id(content, id), _compute_id(content.replace(b"\r\n", b"\n"), id))


def _is_same_entry(place: Path, item: Item) -> bool:
    """Return whether a link or a file that is not read is as a commit has it."""
    try:
        if item.kind == "link":
            return place.is_symlink() and _compute_id(os.fsencode(os.readlink(place)), item.id) == item.id
        status = os.lstat(place)
        if item.kind != "file" or not stat.S_ISREG(status.st_mode):
            return item.kind == "submodule" and place.is_dir()
        with open(place, "rb") as file:
            made = _start_hash(item.id, status.st_size)
            while chunk := file.read(HASHED_BYTES):
                made.update(chunk)
        return made.hexdigest() == item.id
    except OSError:
        return False


def _compute_id(content: bytes, like: str) -> str:
    """Return git's id of a file's content, in the hash format of the repository."""
    made = _start_hash(like, len(content))
    made.update(content)
    return made.hexdigest()


def _start_hash(like: str, size: int) -> hashlib._Hash:
    made = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return made(b"blob %d\0" % size, usedforsecurity=False)


def _find_differing(base: GitTree, head: GitTree) -> frozenset[str]:
    before, after = base.held.items, head.held.items
    return frozenset(path for path in {*before, *after} if before.get(path) != after.get(path))


def _read_contents(path: str, *trees: GitTree) -> Iterator[bytes]:
    found = [content for tree in trees if (content := tree.read_at_root(path)) is not None]
    yield from found or [b""]


def _find_names(path: str, content: bytes) -> Iterator[bytes]:
    """Yield the names by which another file may refer to a file: its own, its folder's and those of
    its objects.
    """
    *folders, name = path.split("/")
    loaded = documents.load(path, content)
    called = [word for document in loaded.documents for word in _find_object_names(document.data, DEPTH)]
    words = [word.encode("utf-8", "surrogateescape") for word in (name, *folders[-1:], *called)]
    torn = NAME.findall(content) if loaded.problems else []
    yield from (word for word in (*words, *torn) if len(word) >= WORD_LEAST)


def _find_object_names(data: object, depth: int) -> Iterator[str]:
    """Yield each `name` anywhere in an object, except local names."""
    if isinstance(data, list):
        for item in data if depth else ():
            yield from _find_object_names(item, depth - 1)
    elif isinstance(data, dict):
        for key, value in data.items() if depth else ():
            if key == "name" and isinstance(value, str):
                yield value
            elif key not in WITHIN:
                yield from _find_object_names(value, depth - 1)


def may_change_pools(base: GitTree, head: GitTree) -> bool:
    """Return whether a file that may define node pools differs."""
    return any(
        _is_of_pools(path, content)
        for path in sorted(_find_differing(base, head))
        for content in _read_contents(path, base, head)
    )


def find_broken_pool_files(tree: GitTree, other: GitTree) -> frozenset[str]:
    """Return the shown paths of differing files that may define node pools and that cannot be read completely."""
    contents = ((path, tree.read_at_root(path)) for path in sorted(_find_differing(other, tree)))
    defining = ((path, content) for path, content in contents if content is not None and _is_of_pools(path, content))
    loaded = ((path, documents.load(path, content)) for path, content in defining)
    return frozenset(tree.render_root_path(path) for path, found in loaded if found.problems or found.skips)


def _is_of_pools(path: str, content: bytes) -> bool:
    return bool(re.search(nodes.file_names(), path)) or _may_define_pools(content)


def _reaches_far(path: str, content: bytes) -> bool:
    return _governs(path, content) or _is_of_pools(path, content)


def _may_define_pools(content: bytes) -> bool:
    """Return whether a word of node pools is used as a key or a kind.

    A label of a workload defines nothing.
    """
    for match in re.finditer(nodes.file_words().encode(), content):
        before = content[content.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if match[0].endswith(b":") or b"apiVersion" in before or b"kind" in before:
            return True
    return False


def _governs(path: str, content: bytes) -> bool:
    """Return whether a file is a policy, a baseline or a team's rule."""
    from gpulint.policy.rules import diagnostics

    is_rule = diagnostics.is_rule_file(path) and b"when:" in content and b"severity:" in content
    return path.rpartition("/")[2] in OF_POLICY or is_rule
