"""What git tracks is checked although .gitignore matches it."""

from __future__ import annotations

import pathlib

import commits
import pytest
from trees import names, write

from gpulint.source.repository import WorkTree, tracked


@pytest.fixture
def tree(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    commits.started(tmp_path)
    return tmp_path


def add(tree: pathlib.Path, *paths: str) -> None:
    commits.git(tree, "add", "--force", *paths)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_a_tracked_file_is_read_although_it_is_ignored(tree: pathlib.Path, version: str) -> None:
    write(tree, "build/a.yaml", "build/b.yaml", "local.yaml", "other.local.yaml", "node_modules/x/a.yaml", "z.yaml")
    write(tree, "node_modules/x/b.yaml", ".venv/a.yaml", "build/deep/a.yaml")
    write(tree, ".gitignore", content="build/\n*local.yaml\n")
    add(tree, ".gitignore", "build/a.yaml", "build/deep/a.yaml", "local.yaml", "node_modules/x/a.yaml", "z.yaml")
    if version == "3":
        commits.git(tree, "add", "--force", "--intent-to-add", "other.local.yaml")
    commits.git(tree, "update-index", "--index-version", version)
    intended = ["other.local.yaml"] if version == "3" else []
    assert names(WorkTree(tree), ".") == [
        "build/a.yaml",
        "build/deep/a.yaml",
        "local.yaml",
        "node_modules/x/a.yaml",
        *intended,
        "z.yaml",
    ]


def test_what_git_does_not_track_stays_ignored(tree: pathlib.Path) -> None:
    write(tree, "build/a.yaml", "local.yaml", "node_modules/a.yaml", "a.yaml", "alocal.yaml")
    write(tree, ".gitignore", content="build/\nlocal.yaml\n")
    add(tree, ".gitignore", "a.yaml", "alocal.yaml")
    assert names(WorkTree(tree), ".") == ["a.yaml", "alocal.yaml"]


def test_a_linked_work_tree_has_an_index_of_its_own(tree: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree, "local.yaml")
    write(tree, ".gitignore", content="local.yaml\n")
    add(tree, "local.yaml", ".gitignore")
    commits.committed(tree)
    commits.git(tree, "worktree", "add", "--quiet", str(tree / "second"))
    monkeypatch.chdir(tree / "second")
    assert names(WorkTree(tree / "second"), ".") == ["local.yaml"]


def test_a_repository_with_long_ids_is_read(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commits.git(tmp_path, "init", "--quiet", "--object-format=sha256")
    write(tmp_path, "local.yaml")
    write(tmp_path, ".gitignore", content="local.yaml\n")
    add(tmp_path, "local.yaml")
    assert names(WorkTree(tmp_path), ".") == ["local.yaml"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"DIRC",
        b"DIRC\0\0\0\2\xff\xff\xff\xff",
        b"DIRC\0\0\0\4\0\0\0\1" + b"\xff" * 80,
        b"no index, but local.yaml",
        b"DIRC\0\0\0\2\0\0\0\1local.yaml",
    ],
)
def test_an_index_that_cannot_be_read_tracks_nothing(tree: pathlib.Path, content: bytes) -> None:
    write(tree, "local.yaml", "a.yaml")
    write(tree, ".gitignore", content="local.yaml\n")
    (tree / ".git" / "index").write_bytes(content)
    assert names(WorkTree(tree), ".") == ["a.yaml"]


def test_many_ignored_files_are_looked_up_in_one_reading_of_the_index(tree: pathlib.Path) -> None:
    paths = [f"local-{number}.yaml" for number in range(40)]
    write(tree, *paths)
    write(tree, ".gitignore", content="local-*\n")
    add(tree, "local-39.yaml", "local-0.yaml")
    assert names(WorkTree(tree), ".") == ["local-0.yaml", "local-39.yaml"]


def test_paths_of_an_index_are_listed_as_git_lists_them(tree: pathlib.Path) -> None:
    write(tree, "a.yaml", "a/b.yaml", "a/bc.yaml", "é.yaml", "deep/" + "x" * 250 + "/y.yaml")
    add(tree, ".")
    listed = commits.git(tree, "ls-files", "-z").split("\0")[:-1]
    for version in ("2", "4"):
        commits.git(tree, "update-index", "--index-version", version)
        assert [path.decode() for path in tracked.list_paths((tree / ".git/index").read_bytes())] == listed


def test_an_index_behind_a_link_is_not_read(tree: pathlib.Path) -> None:
    write(tree, "local.yaml")
    write(tree, ".gitignore", content="local.yaml\n")
    add(tree, "local.yaml")
    (tree / ".git/index").rename(tree / "moved")
    (tree / ".git/index").symlink_to(tree / "moved")
    assert names(WorkTree(tree), ".") == []
