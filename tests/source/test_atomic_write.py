"""Writing: a file is written completely or stays as it is, with its mode, its owner and its other names."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gpulint.source import atomic_write
from gpulint.source.atomic_write import Change, RefusedError

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    place = tmp_path / "spec.yaml"
    place.write_bytes(b"old\n")
    return place


def names(place: Path) -> list[str]:
    return sorted(entry.name for entry in place.parent.iterdir())


def fail_at(number: int, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the n-th call of a function of `os` fail as on a full disk."""
    real: Callable[..., object] = getattr(os, name)
    calls = []

    def failing(*words: object, **named: object) -> object:
        calls.append(words)
        if len(calls) == number:
            raise FULL
        return real(*words, **named)

    monkeypatch.setattr(os, name, failing)


# ---- what is kept


def test_the_mode_of_a_file_is_kept(spec: Path) -> None:
    spec.chmod(0o751)
    atomic_write.write(spec, b"new\n")
    assert (spec.read_bytes(), stat.S_IMODE(spec.stat().st_mode)) == (b"new\n", 0o751)


def test_a_new_file_gets_the_mode_of_the_process(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        atomic_write.write(tmp_path / "new", b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_is_kept(spec: Path) -> None:
    os.chown(spec, 1234, 2345)
    spec.chmod(0o640)
    atomic_write.write(spec, b"new\n")
    status = spec.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o640)


def test_an_owner_that_cannot_be_kept_holds_nothing_up(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    monkeypatch.setattr(os, "stat", lambda _: os.lstat("/"))
    atomic_write.write(spec, b"new\n")
    assert spec.read_bytes() == b"new\n"


@pytest.mark.parametrize("content", [b"", b"x", b"longer than before\n"])
def test_all_names_of_a_file_show_the_new_content(spec: Path, content: bytes) -> None:
    other = spec.with_name("other.yaml")
    os.link(spec, other)
    atomic_write.write(spec, content)
    assert (spec.read_bytes(), other.read_bytes(), spec.stat().st_nlink) == (content, content, 2)
    assert names(spec) == ["other.yaml", "spec.yaml"]


# ---- what is refused


def test_a_read_only_file_is_refused(spec: Path) -> None:
    spec.chmod(0o444)
    with pytest.raises(RefusedError, match=r"^it is read-only$"):
        atomic_write.write(spec, b"new\n")
    assert (spec.read_bytes(), names(spec)) == (b"old\n", ["spec.yaml"])


@pytest.mark.parametrize("make", [lambda place: place.symlink_to("spec.yaml"), os.mkfifo])
def test_what_is_no_regular_file_is_refused(spec: Path, make: Callable[[Path], None]) -> None:
    place = spec.with_name("odd")
    make(place)
    with pytest.raises(RefusedError, match=r"^it is not a regular file$"):
        atomic_write.write(place, b"new\n")
    assert (spec.read_bytes(), names(spec)) == (b"old\n", ["odd", "spec.yaml"])


def test_a_file_that_no_longer_has_its_content_is_refused(spec: Path) -> None:
    with pytest.raises(RefusedError, match=r"^it changed during the check$"):
        atomic_write.replace([Change(spec, b"new\n", b"other\n")])
    assert (spec.read_bytes(), names(spec)) == (b"old\n", ["spec.yaml"])


def test_a_file_that_is_gone_is_refused(spec: Path) -> None:
    with pytest.raises(FileNotFoundError):
        atomic_write.replace([Change(spec.with_name("gone.yaml"), b"new\n", b"old\n")])
    assert names(spec) == ["spec.yaml"]


# ---- a disk that fails


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("call", ["fsync", "replace", "chmod", "open", "lstat"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_file_is_new_or_as_it_was_whatever_fails(
    spec: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, linked: bool
) -> None:
    if linked:
        os.link(spec, spec.with_name("other.yaml"))
    fail_at(number, monkeypatch, call)
    failed = False
    try:
        atomic_write.write(spec, b"new and longer\n")
    except OSError as error:
        failed = error.errno == errno.ENOSPC
    monkeypatch.undo()
    assert spec.read_bytes() == (b"old\n" if failed else b"new and longer\n")
    assert names(spec) == ["other.yaml"] * linked + ["spec.yaml"]


def test_of_several_files_all_are_written(spec: Path) -> None:
    other = spec.with_name("other.yaml")
    other.write_bytes(b"old too\n")
    atomic_write.replace([Change(spec, b"new\n", b"old\n"), Change(other, b"new too\n", b"old too\n")])
    assert (spec.read_bytes(), other.read_bytes(), names(spec)) == (
        b"new\n",
        b"new too\n",
        ["other.yaml", "spec.yaml"],
    )


@pytest.mark.parametrize(("call", "number"), [("fsync", 1), ("fsync", 2), ("replace", 1), ("replace", 2)])
def test_of_several_files_none_is_written_if_one_fails(
    spec: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    other = spec.with_name("other.yaml")
    other.write_bytes(b"old too\n")
    fail_at(number, monkeypatch, call)
    with pytest.raises(OSError, match="No space left"):
        atomic_write.replace([Change(spec, b"new\n", b"old\n"), Change(other, b"new too\n", b"old too\n")])
    monkeypatch.undo()
    assert (spec.read_bytes(), other.read_bytes()) == (b"old\n", b"old too\n")
    assert names(spec) == ["other.yaml", "spec.yaml"]


def test_a_copy_of_the_earlier_content_stays_where_nothing_can_be_restored(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(spec, spec.with_name("other.yaml"))
    real, calls = os.fsync, []

    def failing(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 1:
            raise FULL
        real(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(RefusedError, match=r"^it was written in part, and its earlier content is in \.spec\.yaml\."):
        atomic_write.write(spec, b"new\n")
    monkeypatch.undo()
    (kept,) = [entry for entry in spec.parent.iterdir() if entry.suffix == ".earlier"]
    assert kept.read_bytes() == b"old\n"
