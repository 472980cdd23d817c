"""Disk: write files completely or not at all, one or several at once."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple


class RefusedError(OSError):
    """A file that is left as it is, and why, in words that follow its name."""


class Change(NamedTuple):
    """A file, its new content, and the content that it must still have; None accepts any, or no file."""

    place: Path
    after: bytes
    before: bytes | None = None


class _Staged(NamedTuple):
    """A change with a file beside its place: the new content to rename, or a copy of what is overwritten."""

    change: Change
    beside: Path
    overwritten: bytes | None
    is_new: bool


def write(place: Path, content: bytes) -> None:
    """Write a file so that no reader sees a part of it; its mode, owner and hard links are kept.

    OSError leaves it as it was.
    """
    replace([Change(place, content)])


def replace(changes: Sequence[Change]) -> None:
    """Write all files, or leave all as they were; OSError says why.

    All of the new content is on the disk before the first file changes. If a file fails after
    that, those before it get their content back. A crash between two files is not covered.
    """
    staged: list[_Staged] = []
    done: list[_Staged] = []
    try:
        for change in changes:
            staged.append(_stage(change))
        for entry in staged:
            _refuse_changed(entry.change)
            _commit(entry)
            done.append(entry)
    except BaseException:
        _restore(done)
        raise
    finally:
        for entry in staged:
            with contextlib.suppress(OSError):
                os.unlink(entry.beside)


def read(place: Path) -> bytes:
    """Return the content of a regular file, through no link."""
    with open(os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
        return file.read()


# ---- before anything changes


def _stage(change: Change) -> _Staged:
    """Write the new content beside a file; beside a file with several names, a copy of what it holds."""
    status = _find_status(change.place)
    is_shared = status is not None and status.st_nlink > 1
    overwritten = read(change.place) if is_shared else None
    handle, name = tempfile.mkstemp(prefix=f".{change.place.name}.", dir=change.place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _write_all(file, change.after if overwritten is None else overwritten)
        if status is None:
            os.chmod(name, 0o666 & ~_find_mask())
        else:
            _keep_owner(name, status)
            os.chmod(name, stat.S_IMODE(status.st_mode))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return _Staged(change, Path(name), overwritten, status is None)


def _find_status(place: Path) -> os.stat_result | None:
    """Return the status of a file that may be overwritten; None if there is none yet."""
    try:
        status = os.lstat(place)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError("it is not a regular file")
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(place, os.W_OK):
        raise RefusedError("it is read-only")
    return status


def _find_mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _keep_owner(name: str, status: os.stat_result) -> None:
    """Give a file its owner and group, as far as the system lets us."""
    if not hasattr(os, "chown"):
        return
    now = os.stat(name)
    if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
        for owner in (status.st_uid, -1):
            with contextlib.suppress(PermissionError):
                os.chown(name, owner, status.st_gid)
                return


def _refuse_changed(change: Change) -> None:
    if change.before is not None and read(change.place) != change.before:
        raise RefusedError("it changed during the check")


# ---- the change


def _commit(entry: _Staged) -> None:
    """Rename the new content over a file; write into a file with several names, so that all show the same."""
    change, beside, overwritten, _ = entry
    if overwritten is None:
        os.replace(beside, change.place)
        return
    with _open_again(change.place) as file:
        try:
            _overwrite(file, change.after)
        except BaseException:
            _undo(file, entry)
            raise


@contextlib.contextmanager
def _open_again(place: Path) -> Iterator[IO[bytes]]:
    """Open a file to change it, through no link."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(place, flags), "r+b", buffering=0) as file:
        yield file


def _overwrite(file: IO[bytes], content: bytes) -> None:
    file.seek(0)
    _write_all(file, content)
    file.truncate(len(content))
    os.fsync(file.fileno())


def _write_all(file: IO[bytes], content: bytes) -> None:
    """Write all bytes to the disk: a raw file may take only some of them at a time."""
    rest = memoryview(content)
    while rest:
        written = file.write(rest)
        if not written:
            raise OSError("no byte could be written")
        rest = rest[written:]
    file.flush()
    os.fsync(file.fileno())


def _undo(file: IO[bytes], entry: _Staged) -> None:
    """Write the earlier content back; if that fails as well, keep its copy and say where it is."""
    try:
        _overwrite(file, entry.overwritten or b"")
    except OSError as error:
        kept = entry.beside.with_suffix(".earlier")
        os.rename(entry.beside, kept)
        raise RefusedError(f"it was written in part, and its earlier content is in {kept.name}") from error


def _restore(done: Sequence[_Staged]) -> None:
    """Give files that were written their earlier content back, and remove those that are new."""
    for entry in reversed(done):
        if entry.is_new:
            os.unlink(entry.change.place)
        if entry.change.before is None:
            continue
        back = Change(entry.change.place, entry.change.before, entry.change.after)
        try:
            replace([back])
        except OSError as error:
            name = entry.change.place.name
            raise RefusedError(f"{name} was already written, and its earlier content could not be restored") from error
