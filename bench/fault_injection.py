"""One call of the operating system that fails: the n-th open, read, write, listing, rename or git of a run.

`Shim` replaces the functions of Python that a run reaches the system through, counts their calls on a
folder by kind, and lets one of them fail.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from unittest import mock

if TYPE_CHECKING:
    from typing_extensions import Buffer

FAULTS = {
    "open": ("EACCES", "EIO"),
    "create": ("EACCES", "ENOSPC"),
    "read": ("EIO", "short"),
    "write": ("EIO", "ENOSPC"),
    "fsync": ("EIO", "ENOSPC"),
    "rename": ("EACCES", "EIO"),
    "mkdir": ("EACCES", "ENOSPC"),
    "list": ("EACCES", "EIO"),
    "git": ("missing", "exit 128", "killed"),
    "data": ("EIO",),
}
"""What a call of each kind can fail with; `data` is an open of a file that gpulint is shipped with."""
GIT_INSTEAD = {"exit 128": ("sh", "-c", "exit 128"), "killed": ("sh", "-c", f"kill -{int(signal.SIGKILL)} $$")}


class Fault(NamedTuple):
    """The call that fails: the n-th of a kind, and how. The number 0 only counts."""

    kind: str = ""
    number: int = 0
    how: str = ""


class Shim:
    """Counts the calls on the files below a folder, and on the data of gpulint, and lets one fail."""

    def __init__(self, folder: str, data: str, fault: Fault) -> None:
        self.folder, self.data, self.fault = folder + os.sep, data + os.sep, fault
        self.calls: Counter[str] = Counter()

    def reach(self, kind: str, place: object) -> bool:
        """Count a call; raise its error, or return True if it is to fail in another way."""
        self.calls[kind] += 1
        if (kind, self.calls[kind]) != self.fault[:2]:
            return False
        code = getattr(errno, self.fault.how, None)
        if code is not None:
            raise OSError(code, os.strerror(code), place)
        return True

    def holds(self, place: object) -> bool:
        """Whether a path or descriptor belongs to the folder."""
        return self._locate(place).startswith(self.folder)

    def is_data(self, place: object) -> bool:
        """Whether a path belongs to gpulint and is not one of its modules."""
        found = self._locate(place)
        return found.startswith(self.data) and not found.endswith((".py", ".pyc", "__pycache__"))

    def _locate(self, place: object) -> str:
        if isinstance(place, int):
            try:
                return os.readlink(f"/proc/self/fd/{place}")
            except OSError:
                return ""
        return os.path.abspath(os.fsdecode(place)) if isinstance(place, str | bytes | os.PathLike) else ""

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the functions as long as the context lasts."""
        opening = self._build_open()
        with ExitStack() as replaced:
            for name, function in self._build_functions().items():
                replaced.enter_context(mock.patch.object(os, name, function))
            for module in (builtins, io):
                replaced.enter_context(mock.patch.object(module, "open", opening))
            replaced.enter_context(mock.patch.object(subprocess, "Popen", self._build_popen()))
            yield

    def _build_functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of `os` that take a path or a descriptor first."""
        kinds = {"fsync": "fsync", "mkdir": "mkdir", "scandir": "list", "listdir": "list"}
        kinds |= dict.fromkeys(("rename", "replace", "link"), "rename")
        built = {name: self._wrap(kind, getattr(os, name)) for name, kind in kinds.items()}
        return {**built, "open": self._wrap_open(os.open), "read": self._wrap_read(os.read)}

    def _wrap(self, kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(place: Any = ".", *words: Any, **named: Any) -> Any:
            if self.holds(place) or self.holds(f"{self._locate(place)}{os.sep}."):
                self.reach(kind, place)
            return real(place, *words, **named)

        return call

    def _wrap_open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(place: Any, flags: int, *words: Any, **named: Any) -> int:
            if self.holds(place):
                self.reach("create" if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else "open", place)
            return real(place, flags, *words, **named)

        return call

    def _wrap_read(self, real: Callable[[int, int], bytes]) -> Callable[[int, int], bytes]:
        ended: set[int] = set()

        def call(descriptor: int, length: int) -> bytes:
            if descriptor in ended:
                ended.discard(descriptor)
                return b""
            if self.holds(descriptor) and self.reach("read", None):
                ended.add(descriptor)
                return real(descriptor, length)[: length // 2 or 1][:16]
            return real(descriptor, length)

        return call

    def _build_open(self) -> Callable[..., IO[Any]]:
        real, shim = io.open, self

        class Raw(io.FileIO):
            """A file of the folder whose reads and writes are counted."""

            ended = False

            def _is_cut(self) -> bool:
                """Count a read; return whether the file seems to end here."""
                self.ended = self.ended or shim.reach("read", None)
                return self.ended

            def readall(self) -> bytes:
                content = super().readall()
                return content[: len(content) // 2] if self._is_cut() else content

            def readinto(self, buffer: Buffer, /) -> int:
                was_ended = self.ended
                length = super().readinto(memoryview(buffer)[:16] if self._is_cut() else buffer)
                return 0 if was_ended else length or 0

            def write(self, content: Buffer, /) -> int:
                shim.reach("write", None)
                return super().write(content)

        def call(place: Any, mode: str = "r", buffering: int = -1, *words: Any, **named: Any) -> IO[Any]:
            if not shim.holds(place):
                if shim.is_data(place):
                    shim.reach("data", place)
                return real(place, mode, buffering, *words, **named)
            writes = not set(mode).isdisjoint("wxa+")
            if not isinstance(place, int):
                shim.reach("create" if writes else "open", place)
            raw = Raw(place, mode.replace("b", "").replace("t", ""), named.pop("closefd", True))
            binary: Any = (
                raw
                if buffering == 0
                else (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
                if writes
                else io.BufferedReader(raw)
            )
            return binary if "b" in mode else io.TextIOWrapper(binary, *words, **named)

        return call

    def _build_popen(self) -> type[subprocess.Popen[bytes]]:
        shim = self

        class Popen(subprocess.Popen[bytes]):
            """A program that is missing, fails or is killed."""

            def __init__(self, command: Any, *words: Any, **named: Any) -> None:
                if shim.reach("git", command[0]):
                    if shim.fault.how == "missing":
                        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
                    command = GIT_INSTEAD[shim.fault.how]
                super().__init__(command, *words, **named)

        return Popen
