"""Programs: only an absolute folder of the PATH outside the checkout provides one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpulint.source import git, programs

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the tests write a shell script")


def program(folder: Path, name: str = "git") -> str:
    """A program that leaves a mark where it ran."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / name
    place.write_text(f"#!/bin/sh\ntouch {folder}/ran\nexit 1\n", encoding="utf-8")
    place.chmod(0o755)
    return str(place)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout, which is the current folder, with a program of its own."""
    place = tmp_path / "checkout"
    (place / ".git").mkdir(parents=True)
    program(place)
    program(place / "bin")
    monkeypatch.chdir(place)
    return place


# ---- must not be found


@pytest.mark.parametrize(
    "path", ["", ".", ":", "bin", "./bin", "../checkout", "{checkout}", "{checkout}/bin", "{link}"]
)
def test_no_program_of_the_checkout_or_of_a_relative_folder_is_found(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "link").symlink_to(checkout / "bin")
    monkeypatch.setenv("PATH", path.format(checkout=checkout, link=tmp_path / "link"))
    assert programs.find("git", checkout) is None
    assert programs.trusted_path(checkout) == ""


def test_a_link_into_the_checkout_is_not_found(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "git").symlink_to(checkout / "bin" / "git")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    assert programs.find("git", checkout) is None


def test_what_cannot_be_run_is_not_found(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools" / "git").mkdir(parents=True)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "git").write_text("", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:{tmp_path}/more")
    assert programs.find("git", checkout) is None


def test_git_is_not_started_from_the_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f".:bin:{checkout}/bin")
    with pytest.raises(git.GitError, match="git is not installed"):
        git.Git(checkout).commit("HEAD")
    assert not list(checkout.rglob("ran"))


# ---- must be found


def test_the_first_absolute_folder_outside_the_checkout_provides_it(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = program(tmp_path / "tools")
    program(tmp_path / "later")
    monkeypatch.setenv("PATH", f".:{checkout}/bin:{tmp_path}/tools:{tmp_path}/later")
    assert programs.find("git", checkout) == expected
    assert programs.trusted_path(checkout) == f"{tmp_path}/tools:{tmp_path}/later"


def test_a_folder_whose_name_only_begins_like_the_checkout_is_outside_it(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = program(tmp_path / "checkout-tools")
    monkeypatch.setenv("PATH", str(tmp_path / "checkout-tools"))
    assert programs.find("git", checkout) == expected


def test_a_program_that_does_not_start_is_named(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path(program(tmp_path / "tools"))
    place.write_bytes(b"\x7fELF of another machine")
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    with pytest.raises(git.GitError, match=r"tools/git cannot be started: exec format error"):
        git.Git(checkout).commit("HEAD")
