"""Where bytes come from: which files are read, and which never."""

from __future__ import annotations

import os
import pathlib

import pytest
from trees import Opener, from_commit, names, write

from gpulint.pipeline import session
from gpulint.report.model import Skip
from gpulint.source import repository


def test_a_folder_is_walked_in_sorted_order_and_only_known_suffixes_are_read(
    tree: pathlib.Path, opened: Opener
) -> None:
    write(tree, "b/z.yaml", "b/a.yml", "a.json", "c.toml", "README.md", "script.sh", "values.yaml.tpl", "data")
    write(tree, "run", content="#!/bin/bash\n")
    assert names(opened(tree), ".") == [
        "a.json",
        "b/a.yml",
        "b/z.yaml",
        "c.toml",
        "run",
        "script.sh",
        "values.yaml.tpl",
    ]


def test_a_file_named_by_the_user_is_read_whatever_its_suffix(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "job.sbatch", content="x")
    assert list(opened(tree).sources(["job.sbatch"])) == [repository.Source("job.sbatch", b"x")]


def test_what_git_ignores_is_not_read_but_a_named_file_is(tree: pathlib.Path) -> None:
    write(tree, "build/a.yaml", "kept.yaml", "local.yaml", "deep/local.yaml", "deep/important.local.yaml")
    write(tree, ".gitignore", content="build/\n*local.yaml\n!important.local.yaml\n")
    assert names(repository.WorkTree(tree), ".") == ["deep/important.local.yaml", "kept.yaml"]
    assert names(repository.WorkTree(tree), "local.yaml", "build") == ["build/a.yaml", "local.yaml"]


def test_a_nested_gitignore_overrules_the_one_above(tree: pathlib.Path) -> None:
    write(tree, "a.yaml", "sub/a.yaml", "sub/b.yaml")
    write(tree, ".gitignore", content="a.yaml\n")
    write(tree, "sub/.gitignore", content="!a.yaml\nb.yaml\n")
    assert names(repository.WorkTree(tree), ".") == ["sub/a.yaml"]
    assert names(repository.WorkTree(tree), "sub") == ["sub/a.yaml"]


def test_ignore_patterns_that_git_would_not_understand_are_left_out(tree: pathlib.Path) -> None:
    write(tree, "a.yaml", "b.yaml")
    write(tree, ".gitignore", content="!\n[z-a]\n# a.yaml\n" + "*a" * 200 + "\nb.yaml\n")
    assert names(repository.WorkTree(tree), ".") == ["a.yaml"]


@pytest.mark.parametrize(
    ("exclude", "asked", "left"),
    [
        ("templates/", ["."], ["b.yaml", "charts/values.yaml"]),
        ("charts/templates/*.yaml", ["charts/templates/a.yaml", "b.yaml"], ["b.yaml"]),
        ("charts", ["charts"], []),
    ],
)
def test_exclude_holds_for_named_files_too(
    tree: pathlib.Path, opened: Opener, exclude: str, asked: list[str], left: list[str]
) -> None:
    write(tree, "charts/templates/a.yaml", "charts/values.yaml", "b.yaml")
    held = opened(tree, (exclude,))
    assert names(held, *asked) == left
    assert "excluded" in {one.cause for one in held.sources(asked) if isinstance(one, Skip)}


def test_git_node_modules_and_venv_are_not_entered_in_a_work_tree(tree: pathlib.Path) -> None:
    write(tree, ".git/a.yaml", "node_modules/a.yaml", "x/.venv/a.yaml", ".github/a.yaml")
    assert names(repository.WorkTree(tree), ".") == [".github/a.yaml"]


def test_a_commit_holds_node_modules_and_what_gitignore_matches_like_any_other_file(tree: pathlib.Path) -> None:
    write(tree, "node_modules/a.yaml", "x/.venv/a.yaml", "local.yaml")
    held = from_commit(tree)
    assert names(held, ".") == ["local.yaml", "node_modules/a.yaml", "x/.venv/a.yaml"]


def test_the_order_of_the_paths_does_not_matter(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "b/a.yaml", "a/b.yaml", "c.yaml", "a.yaml")
    held = opened(tree)
    expected = ["a/b.yaml", "a.yaml", "b/a.yaml", "c.yaml"]
    assert names(held, "c.yaml", "b", "a.yaml", "a/") == expected
    assert names(held, "a", "a.yaml", "b/../b", "c.yaml") == expected


def test_suffixes_are_compared_whatever_their_case(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a.YAML", "b.Yml", "c.Json", "d.SH", "e.yaml.TPL", "f.MD", "g.YAMLX")
    assert names(opened(tree), ".") == ["a.YAML", "b.Yml", "c.Json", "d.SH", "e.yaml.TPL"]


def test_a_file_is_yielded_once(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "sub/a.yaml")
    assert names(opened(tree), "sub", "sub/a.yaml", ".") == ["sub/a.yaml"]


def test_a_path_outside_the_current_folder_is_shown_in_full(
    tree: pathlib.Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree, "a.yaml", "sub/b.yaml")
    monkeypatch.chdir(tree / "sub")
    assert names(opened(tree), str(tree)) == [f"{tree}/a.yaml", "b.yaml"]


def test_a_path_that_does_not_exist_is_an_error(tree: pathlib.Path, opened: Opener) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file or folder missing"):
        list(opened(tree).sources(["missing.yaml"]))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_skipped_with_its_reason(tree: pathlib.Path) -> None:
    write(tree, "a.yaml")
    (tree / "a.yaml").chmod(0)
    assert list(repository.WorkTree(tree).sources(["."])) == [
        Skip("a.yaml", "cannot be read: permission denied", "unreadable")
    ]


def test_a_file_that_is_too_large_is_skipped(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "a.yaml", content="a" * 5_000_001)
    write(tree, "b.yaml", content="a" * 5_000_000)
    reason = "larger than 5 MB or not a regular file"
    assert list(opened(tree).sources(["."])) == [
        Skip("a.yaml", reason, "limit"),
        repository.Source("b.yaml", b"a" * 5_000_000),
    ]


def test_a_pipe_is_skipped_and_never_opened(tree: pathlib.Path) -> None:
    os.mkfifo(tree / "b.yaml")
    os.mkfifo(tree / "run")
    reason = "larger than 5 MB or not a regular file"
    assert list(repository.WorkTree(tree).sources(["."])) == [Skip("b.yaml", reason, "limit")]


def test_the_first_bytes_of_a_file_of_any_size_are_told(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "model.safetensors", content="head" + "a" * 20_000_000)
    write(tree, "small.bin", content="head and more")
    held = opened(tree)
    assert (held.head("model.safetensors", 4), held.head("small.bin", 4)) == (b"head", b"head")
    assert held.read("model.safetensors") is None


def test_what_lies_beside_a_file_and_in_the_repository_is_found(tree: pathlib.Path, opened: Opener) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\n"
    write(tree, "a/chat.yaml", "b/x.yaml", content="apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\n")
    write(tree, "a/config.yaml", "c/config.yaml", content=config)
    held = opened(tree)
    assert [one.path for one in held.read_siblings("a/chat.yaml")] == ["a/chat.yaml", "a/config.yaml"]
    assert [one.path for one in held.objects("ConfigMap", "flags", "a/chat.yaml")] == ["a/config.yaml"]
    assert [one.path for one in held.objects("ConfigMap", "flags", "b/x.yaml")] == ["a/config.yaml", "c/config.yaml"]
    assert held.search("name: fl", "b/x.yaml") == "a/config.yaml"
    assert [one.path for one in held.gather("^c/", "nothing", "b/x.yaml").documents] == ["c/config.yaml"]
    other = held.rewritten({"c/config.yaml": b"a: 1\n"})
    assert [one.path for one in other.objects("ConfigMap", "flags", "b/x.yaml")] == ["a/config.yaml"]


def test_a_name_that_is_not_utf_8_can_still_be_printed(tree: pathlib.Path, opened: Opener) -> None:
    with open(os.fsencode(tree) + b"/\xff.yaml", "wb") as file:
        file.write(b"a: 1\n")
    assert names(opened(tree), ".") == ["\ufffd.yaml"]


def test_a_sibling_inside_the_root_is_read(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "models/config.json", content="{}")
    work_tree = opened(tree)
    assert work_tree.read("models/config.json") == b"{}"
    assert work_tree.read("models/../models/config.json") == b"{}"
    assert work_tree.exists("models")
    assert work_tree.exists("models/config.json")


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "missing", "models", "link", "linked/a.yaml", "a\0b", "big"]
)
def test_nothing_else_is_read(tree: pathlib.Path, opened: Opener, path: str) -> None:
    (tree.parent / "secret").write_text("x")
    write(tree, "models/a.yaml")
    write(tree, "big", content="a" * 5_000_001)
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "linked").symlink_to(tree / "models")
    assert opened(tree).read(path) is None


def test_links_and_what_lies_outside_do_not_exist(tree: pathlib.Path, opened: Opener) -> None:
    (tree / "link").symlink_to("/etc/passwd")
    work_tree = opened(tree)
    assert not any(work_tree.exists(path) for path in ("link", "../..", "/etc/passwd", "missing"))


def test_the_root_is_the_nearest_folder_that_holds_git(tree: pathlib.Path) -> None:
    write(tree, "a/b/c.yaml")
    assert repository.find_root(tree / "a" / "b") == tree
    write(tree, "a/.git", content="gitdir: ../.git/worktrees/a\n")
    assert repository.find_root(tree / "a" / "b") == tree / "a"


def test_without_git_the_root_is_the_start(tmp_path: pathlib.Path) -> None:
    assert repository.find_root(tmp_path) == tmp_path


def test_the_order_of_paths_in_two_repositories_does_not_matter(tmp_path: pathlib.Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, "x.yaml", ".git/HEAD")
    paths = [str(tmp_path / name / "x.yaml") for name in ("a", "b")]
    assert session.find_folder(paths) == session.find_folder(paths[::-1]) == tmp_path / "a"


def test_a_named_link_does_not_lead_to_the_folder_that_is_searched(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "a/x.yaml")
    (tmp_path / "a" / "out").symlink_to("..")
    assert session.find_folder([str(tmp_path / "a" / "out")]) == tmp_path / "a"
