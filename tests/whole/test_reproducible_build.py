"""The same commit gives the same wheel and source archive, byte for byte, wherever, whenever and by whom it is built."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import checkout
import pytest

pytestmark = pytest.mark.sweep


def built(folder: Path, mask: int, modified: int, seed: str) -> dict[str, str]:
    """The digests of what is built in a fresh copy under a umask, with files of a time."""
    folder.mkdir(parents=True)
    earlier = os.umask(mask)
    try:
        checkout.copied(folder)
        for place in folder.rglob("*"):
            if place.is_file():
                place.chmod(0o666 & ~mask | (0o111 & ~mask if os.access(place, os.X_OK) else 0))
            os.utime(place, (modified, modified))
        variables = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
        variables |= {"PYTHONHASHSEED": seed, "TZ": "UTC" if mask else "Asia/Tokyo"}
        command = [sys.executable, "-m", "hatchling", "build", "-d", "out", "-t", "wheel", "-t", "sdist"]
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    finally:
        os.umask(earlier)
    assert done.returncode == 0, done.stderr
    return {place.name: hashlib.sha256(place.read_bytes()).hexdigest() for place in (folder / "out").iterdir()}


def test_two_builds_of_a_commit_are_the_same_bytes(tmp_path: Path) -> None:
    one = built(tmp_path / "one", 0o022, 1_700_000_000, "1")
    other = built(tmp_path / "some where" / "else", 0o077, 1_800_000_001, "2")
    assert sorted(name.rpartition(".")[2] for name in one) == ["gz", "whl"]
    assert one == other
