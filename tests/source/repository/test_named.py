"""Files of any format are found by their names: those that git tracks, or those of a folder without git."""

from __future__ import annotations

from pathlib import Path

import commits
import pytest
import trees

from gpulint.source.repository import Tree, WorkTree

NAMES = r"Dockerfile(?:\.\w+)?"
FILES = ("Dockerfile", "a/Dockerfile.gpu", "a/Dockerfile/x.yaml", "b/other")


def find(tree: Tree) -> list[str]:
    return list(tree.find_named(NAMES, "b/other"))


def test_a_folder_without_git_is_searched(tmp_path: Path) -> None:
    trees.write(tmp_path, *FILES)
    assert find(WorkTree(tmp_path, base=tmp_path)) == []
    assert list(WorkTree(tmp_path, base=tmp_path).find_named(NAMES, "a/Dockerfile.gpu")) == ["a/Dockerfile.gpu"]


def test_the_files_that_git_tracks_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commits.started(tmp_path)
    trees.write(tmp_path, *FILES)
    commits.committed(tmp_path)
    trees.write(tmp_path, "c/Dockerfile")
    assert find(WorkTree(tmp_path)) == ["Dockerfile", "a/Dockerfile.gpu"]
    assert find(trees.from_commit(tmp_path)) == ["Dockerfile", "a/Dockerfile.gpu", "c/Dockerfile"]


def test_excluded_files_are_left_out(tmp_path: Path) -> None:
    commits.started(tmp_path)
    trees.write(tmp_path, *FILES)
    commits.committed(tmp_path)
    assert find(WorkTree(tmp_path, ["a/"], base=tmp_path)) == ["Dockerfile"]
