"""Symbolic links: never followed; one whose target is read at its own place hides nothing."""

from __future__ import annotations

import pathlib

import pytest
from trees import Opener, names, write

from gpulint.report.model import Skip
from gpulint.source.repository import Source, WorkTree


def link(folder: pathlib.Path, name: str, target: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(target)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("link.yaml", "real/a.yaml"),
        ("sub/link.yaml", "../real/a.yaml"),
        ("linked", "real"),
        ("linked.yaml", "./real/"),
        ("README.md", "notes.txt"),
        ("README.md", "../outside.md"),
        ("LICENSE", "notes.txt"),
        ("notes.html", "missing.html"),
    ],
)
def test_a_link_that_hides_no_spec_is_left_out(tree: pathlib.Path, opened: Opener, name: str, target: str) -> None:
    write(tree, "real/a.yaml", "notes.txt")
    link(tree, name, target)
    assert list(opened(tree).sources(["."])) == [Source("real/a.yaml", b"a: 1\n")]


@pytest.mark.parametrize(
    ("name", "target", "why"),
    [
        ("deploy.yaml", "notes.txt", "leads to a file that this run does not check"),
        ("deploy.yaml", "../other.yaml", "leads out of the repository"),
        ("deploy.yaml", "/etc/passwd", "leads out of the repository"),
        ("charts", "/etc", "leads out of the repository"),
        ("deploy.yaml", "missing.yaml", "leads to nothing"),
        ("deploy.yaml", "deploy.yaml", "leads to itself"),
        ("loop", ".", "leads to a folder that contains it"),
        ("sub/loop", "..", "leads to a folder that contains it"),
        ("deploy.yaml", "hop.yaml", "leads through another link"),
        ("deploy.yaml", "hops/a.yaml", "leads through another link"),
        ("deploy.yaml", "hops/../notes.txt", "leads through another link"),
        ("hidden.yaml", "left_out/a.yaml", "leads to a file that this run does not check"),
        ("hidden", "left_out", "leads to a folder that this run does not check"),
    ],
)
def test_a_link_to_what_is_not_checked_is_named_with_the_reason(
    tree: pathlib.Path, opened: Opener, name: str, target: str, why: str
) -> None:
    write(tree, "real/a.yaml", "left_out/a.yaml", "notes.txt")
    link(tree, "hop.yaml", "real/a.yaml")
    link(tree, "hops", "real")
    link(tree, name, target)
    found = list(opened(tree, ("left_out",)).sources(["."]))
    skips = [one for one in found if isinstance(one, Skip) and one.cause != "excluded"]
    assert skips == [Skip(name, f"a symbolic link that {why}", "link")]
    assert [one.path for one in found if isinstance(one, Source)] == ["real/a.yaml"]


def test_a_named_link_is_harmless_only_if_its_target_is_named_too(tree: pathlib.Path, opened: Opener) -> None:
    write(tree, "real/a.yaml")
    link(tree, "link.yaml", "real/a.yaml")
    held = opened(tree)
    why = "a symbolic link that leads to a file that this run does not check"
    assert list(held.sources(["link.yaml"])) == [Skip("link.yaml", why, "link")]
    assert names(held, "link.yaml", "real") == ["real/a.yaml"]


def test_a_link_that_git_ignores_is_left_out(tree: pathlib.Path) -> None:
    write(tree, ".gitignore", content="result\n")
    link(tree, "result", "/nix/store")
    assert names(WorkTree(tree), ".") == []
