"""What a run may touch: an audit hook that notes each file, socket and process beyond the package and one folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SYSTEM = ("/usr", "/lib", "/lib64", "/opt", "/etc/localtime", "/etc/ld.so", "/proc/self", "/dev/null", "/dev/urandom")
"""Where an interpreter keeps what it needs itself."""
FORBIDDEN = ("socket.", "os.system", "os.exec", "os.spawn", "os.fork", "pty.", "ctypes.dlopen", "webbrowser.")
"""Events that no check may cause, by the beginning of their names."""
PROCESSES = frozenset({"subprocess.Popen", "os.posix_spawn"})
CHANGES = frozenset(
    {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate"}
)


class Watch:
    """Notes the events of one process that leave the folders that it may read and the files that it may write."""

    def __init__(
        self, readable: Iterable[str | Path], writable: Iterable[str | Path] = (), programs: Iterable[str] = ()
    ) -> None:
        own = (ROOT / "gpulint", ROOT / "rules", ROOT / "schemas", ROOT / "packs", ROOT / "formats", ROOT / "fuzz")
        interpreter = (sys.prefix, sys.base_prefix, *sys.path[1:])
        self._readable = _resolve((*own, *interpreter, *SYSTEM, *readable))
        self._writable = _resolve(writable)
        self._programs = frozenset(programs)
        self.violations: list[str] = []
        self.is_on = True

    def note(self, event: str, details: tuple[object, ...]) -> None:
        """Note an audit event if it is an escape."""
        if not self.is_on:
            return
        if event == "open":
            self._note_open(*details)
        elif event in PROCESSES:
            if Path(os.fsdecode(str(details[0]))).name not in self._programs:
                self.violations.append(f"{event} {details[0]!r}")
        elif event in CHANGES:
            if not _is_below(str(details[0]), self._writable):
                self.violations.append(f"{event} {details[0]!r}")
        elif event.startswith(FORBIDDEN):
            self.violations.append(f"{event} {details[:1]!r}")

    def _note_open(self, path: object, mode: object, flags: object) -> None:
        if not isinstance(path, str | bytes):
            return
        name = os.fsdecode(path)
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if not _is_below(name, self._writable if writes else (*self._readable, *self._writable)):
            self.violations.append(f"{'write' if writes else 'read'} {name!r}")

    def imported_from(self, folder: str | Path) -> list[str]:
        """Return the modules that were imported from a folder."""
        below = _resolve((folder,))
        files = ((name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items()))
        return [name for name, file in files if isinstance(file, str) and _is_below(file, below)]


def _resolve(paths: Iterable[str | Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(path) for path in paths if str(path)))


def _is_below(path: str, folders: Iterable[str]) -> bool:
    place = os.path.realpath(path)
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)
