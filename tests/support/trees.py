"""Folders of files for tests, as a work tree or as a commit."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Callable, Sequence

import commits

from gpulint.source import git
from gpulint.source.repository import Source, Tree
from gpulint.source.repository.git_tree import GitTree

Opener = Callable[..., Tree]


def from_commit(tree: pathlib.Path, exclude: Sequence[str] = ()) -> Tree:
    """A commit of a folder, of which nothing is left on the disk."""
    shutil.rmtree(tree / ".git")
    commits.started(tree)
    commit = commits.committed(tree)
    for path in commits.git(tree, "ls-files", "-z").split("\0")[:-1]:
        (tree / path).unlink()
    return GitTree(git.Git(tree), commit, exclude)


def write(folder: pathlib.Path, *paths: str, content: str = "a: 1\n") -> None:
    """Write files of one content."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)


def names(tree: Tree, *paths: str) -> list[str]:
    """The paths that are read or skipped, in their order, but for excluded ones."""
    found = list(tree.sources(paths))
    return [one.path for one in found if isinstance(one, Source) or one.cause != "excluded"]
