"""A folder that is a repository, and the two ways to open it."""

from __future__ import annotations

import pathlib

import pytest
from trees import Opener, from_commit

from gpulint.source import repository


@pytest.fixture
def tree(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The current folder, with an empty `.git`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.fixture(params=["work tree", "commit"])
def opened(request: pytest.FixtureRequest) -> Opener:
    """Opens a folder as it lies on the disk, or as a commit of it with nothing left on the disk holds it."""
    return repository.WorkTree if request.param == "work tree" else from_commit
