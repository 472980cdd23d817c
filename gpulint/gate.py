"""The gate: what a change introduces, from the commits of both of its sides."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gpulint import comparison, documents, lint, repository, run
from gpulint.comparison import Known, Side
from gpulint.findings import Report, Skip
from gpulint.git import Git, GitError
from gpulint.policy import subject
from gpulint.policy.rule import Rule
from gpulint.repository import Source
from gpulint.repository.git_tree import GitTree
from gpulint.run import Options, Unusable

Watched = Callable[[Iterable[Source | Skip]], Iterable[Source | Skip]]


class Sides(NamedTuple):
    """The two commits of a change, by the names that they are shown under, and their trees."""

    base_name: str
    head_name: str
    base: GitTree
    head: GitTree


def report(paths: Sequence[str], options: Options, watched: Watched = iter) -> Report:
    """The report on head, in which what stood on base does not count; Unusable where a commit cannot be read."""
    asked = list(paths) or ["."]
    try:
        sides = opened(run.folder(paths), options.base, options.head)
        prepared = run.prepared(paths, options)
        now = lint.lint(watched(_sources(sides.head, sides.base, asked)), sides.head, prepared.given)
        earlier = replace(prepared.given, alternatives=False)
        before = lint.lint(watched(_sources(sides.base, sides.head, asked)), sides.base, earlier)
    except GitError as error:
        raise Unusable(str(error)) from None
    return comparison.compared(
        Side(sides.base_name, before, _holds(sides.base)),
        Side(sides.head_name, now, _holds(sides.head)),
        Known(_renamed(sides), _absorbed(prepared.given.rules)),
    )


def opened(folder: Path, base: str, head: str) -> Sides:
    """Head, and the commit that it has grown from on the way to base."""
    git = Git(repository.root_of(folder))
    newest, target = git.commit(head), git.commit(base)
    start = git.merge_base(target, newest)
    if start is None:
        raise GitError(_unrelated(git, base, head))
    return Sides(
        base if start == target else f"{start[:10]} (where {base} was left)",
        head,
        GitTree(git, start),
        GitTree(git, newest),
    )


def _unrelated(git: Git, base: str, head: str) -> str:
    if not git.is_shallow():
        return f"{base} and {head} have no commit in common"
    branch = base.removeprefix("origin/")
    fetch = f"git fetch --unshallow origin {branch}"
    return f"this clone is too shallow to hold the commit that {head} left {base} at; fetch the rest: {fetch}"


def _sources(tree: GitTree, other: GitTree, paths: Sequence[str]) -> Iterator[Source | Skip]:
    """The files of one side; a path that only the other side has is passed by."""
    for path in paths:
        if not tree.has(path) and not other.has(path):
            raise Unusable(f"neither side has a file or folder {path}")
    return tree.sources([path for path in paths if tree.has(path)])


def _renamed(sides: Sides) -> dict[str, str]:
    """The files of head that base has under another path, which head has no more, by their paths as shown."""
    before = {path: item for path, item in sides.base.held.items.items() if path not in sides.head.held.items}
    left: dict[str, list[str]] = {}
    for path, item in before.items():
        left.setdefault(item.id, []).append(path)
    new = ((path, item) for path, item in sides.head.held.items.items() if path not in sides.base.held.items)
    return {sides.head.shown(path): sides.base.shown(left[item.id].pop(0)) for path, item in new if left.get(item.id)}


class _File(NamedTuple):
    """The objects that a file holds; all of its bytes where not all of it could be read."""

    objects: tuple[str, ...]
    unread: bytes = b""


def _holds(tree: GitTree) -> comparison.Holds:
    """Whether a file of a tree holds an object; where it is none of an API, whether there is the file."""

    @functools.cache
    def file(path: str) -> _File | None:
        content = tree.read(path)
        return None if content is None else _objects(path, content)

    def holds(path: str, named: str) -> bool:
        found = file(path)
        if found is None or " " not in named:
            return found is not None
        words = named.partition(" ")[2].replace("/", " ").split()
        mentioned = found.unread and all(word.encode() in found.unread for word in words)
        return bool(mentioned) or any(named == one or named.startswith(f"{one} ") for one in found.objects)

    return holds


def _objects(path: str, content: bytes) -> _File:
    loaded = documents.load(path, content)
    data = [document.data for document in loaded.documents]
    inner = [item for one in data if isinstance(one, dict) for item in _items(one)]
    whole = not loaded.problems and not loaded.skips
    return _File(tuple(filter(None, map(subject.named, [*data, *inner]))), b"" if whole else content)


def _items(data: dict[str, object]) -> list[object]:
    items = data.get("items")
    return items if isinstance(items, list) else []


def _absorbed(rules: Iterable[Rule]) -> dict[str, frozenset[str]]:
    """The rules that speak instead of each."""
    instead: dict[str, set[str]] = {}
    for rule in rules:
        for name in rule.absorbs:
            instead.setdefault(name, set()).add(rule.name)
    return {name: frozenset(found) for name, found in instead.items()}
