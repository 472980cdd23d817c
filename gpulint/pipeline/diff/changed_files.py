"""Changed: the files that differ between two trees by their bytes, and those that name what such a file holds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator

from gpulint.adapters import nodes as pools
from gpulint.policy.config import settings
from gpulint.report.model import Skip
from gpulint.source import documents
from gpulint.source.repository import Source
from gpulint.source.repository.git_tree import GitTree
from gpulint.source.repository.tree import NAME

Files = Iterable[Source | Skip]
OF_POLICY = frozenset({settings.FILE, settings.PROJECT, settings.BASELINE})
WORD_LEAST, WORDS_MAX = 3, 2_000
"""Names that are shorter stand everywhere; a change of so many names touches everything."""
WITHIN = frozenset({"containers", "initContainers", "env", "ports", "volumeMounts"})
"""Lists whose items have names of their own, such as `vllm`, that are only meant beside them."""
DEPTH = 24


def since(files: Files, commit: GitTree) -> list[Source | Skip]:
    """The files whose bytes a commit does not have at their path; all of them where one is a policy or a rule.

    A file that a checkout gave other line ends has not changed.
    """
    held = list(files)
    new = [one for one in held if isinstance(one, Skip) or not _stands(one, commit)]
    governs = any(isinstance(one, Source) and _governs(one.path, one.content) for one in new)
    return held if governs else new


def between(base: GitTree, head: GitTree) -> Callable[[Files], Iterator[Source | Skip]]:
    """Passes on the files of a side that differ on the other, and those that name what one of these holds.

    All pass where a policy differs, a rule, or a file that may define pools of nodes, which are found by their labels.
    """
    paths = _differing(base, head)
    contents = [(path, content) for path in sorted(paths) for content in _contents(path, base, head)]
    names = {word for path, content in contents for word in _names(path, content)}
    if len(names) > WORDS_MAX or any(_reaches_far(path, content) for path, content in contents):
        return iter
    words = b"|".join(map(re.escape, sorted(names))) or b"(?!)"
    named = re.compile(rb"(?<![\w-])(?:%s)(?![\w-])" % words)

    def touched(files: Files) -> Iterator[Source | Skip]:
        return (
            one
            for one in files
            if isinstance(one, Skip) or head.from_root(one.path) in paths or named.search(one.content)
        )

    return touched


def _stands(one: Source, commit: GitTree) -> bool:
    item = commit.held.items.get(commit.from_root(one.path) or "")
    if item is None or item.kind != "file":
        return False
    return item.id in (_id(one.content, item.id), _id(one.content.replace(b"\r\n", b"\n"), item.id))


def _id(content: bytes, like: str) -> str:
    """The id that git gives to the bytes of a file, in the kind of ids that a repository has."""
    made = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return made(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _differing(base: GitTree, head: GitTree) -> frozenset[str]:
    before, after = base.held.items, head.held.items
    return frozenset(path for path in {*before, *after} if before.get(path) != after.get(path))


def _contents(path: str, *trees: GitTree) -> Iterator[bytes]:
    found = [content for tree in trees if (content := tree.at_root(path)) is not None]
    yield from found or [b""]


def _names(path: str, content: bytes) -> Iterator[bytes]:
    """What another file may call a file, or what it holds, by: its name, that of its folder, and the names of objects in it."""
    *folders, name = path.split("/")
    loaded = documents.load(path, content)
    called = [word for document in loaded.documents for word in _called(document.data, DEPTH)]
    words = [word.encode("utf-8", "surrogateescape") for word in (name, *folders[-1:], *called)]
    torn = NAME.findall(content) if loaded.problems else []
    yield from (word for word in (*words, *torn) if len(word) >= WORD_LEAST)


def _called(data: object, depth: int) -> Iterator[str]:
    """Each `name` anywhere in an object, but of what nobody refers to from outside."""
    if isinstance(data, list):
        for item in data if depth else ():
            yield from _called(item, depth - 1)
    elif isinstance(data, dict):
        for key, value in data.items() if depth else ():
            if key == "name" and isinstance(value, str):
                yield value
            elif key not in WITHIN:
                yield from _called(value, depth - 1)


def _reaches_far(path: str, content: bytes) -> bool:
    return _governs(path, content) or bool(re.search(pools.NAMES, path)) or _may_define_pools(content)


def _may_define_pools(content: bytes) -> bool:
    """Whether one of the words of pools stands as a key or as what an object is; a label of a workload defines nothing."""
    for match in re.finditer(pools.WORDS.encode(), content):
        before = content[content.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        if match[0].endswith(b":") or b"apiVersion" in before or b"kind" in before:
            return True
    return False


def _governs(path: str, content: bytes) -> bool:
    """Whether a file is a policy, a baseline, or one rule of a team."""
    from gpulint.policy.rules import diagnostics as rule_file

    is_rule = rule_file.is_one(path) and b"when:" in content and b"severity:" in content
    return path.rpartition("/")[2] in OF_POLICY or is_rule
