"""This checkout as it stands, in a repository of its own: what a hook, an action or a template takes gpulint from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from folders import ROOT


def environment(home: Path) -> dict[str, str]:
    """An environment that keeps git's and pre-commit's own files away from the user's."""
    strange = ("GIT_", "PRE_COMMIT", "VIRTUAL_ENV", "GITHUB_", "CI_", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    identity = {f"GIT_{who}_{what}": "gpulint" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    own = {"HOME": str(home), "PRE_COMMIT_HOME": str(home / "pre-commit"), "GIT_CONFIG_NOSYSTEM": "1"}
    return {**kept, **identity, **own, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def copied(folder: Path) -> None:
    """The files of this checkout, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    if not names:
        pytest.skip("the tests do not run from a git checkout")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def git(folder: Path, variables: Mapping[str, str], *words: str) -> str:
    """What a git command prints."""
    done = subprocess.run(["git", *words], cwd=folder, env=variables, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(folder: Path, variables: Mapping[str, str], message: str = "state") -> str:
    """Commits all that lies in a folder; returns the commit."""
    git(folder, variables, "init", "-q", "-b", "main")
    git(folder, variables, "add", "-A", "-f")
    git(folder, variables, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, variables, "rev-parse", "HEAD")
