"""The program: one guard around every command, so that no fault, interruption or lost output ends as a success."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer

LOST, BROKEN, INTERRUPTED = 2, 3, 130
"""Exit codes: output that nobody received, a fault in gpulint itself, and SIGINT."""


class _Descriptor(io.FileIO):
    """A standard stream that remembers why a write failed; whatever follows goes nowhere."""

    error: OSError | None = None

    def write(self, content: Buffer, /) -> int:
        """Write bytes, or drop them if the stream failed before."""
        if self.error is not None:
            return memoryview(content).nbytes
        try:
            return super().write(content)
        except OSError as error:
            self.error = error
            raise


class _Guard:
    """What happens to a run from outside: an interruption, and a stdout or stderr that takes nothing more."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.streams: dict[str, _Descriptor] = {}

    def interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Stop the run; a second interruption ends the process at once."""
        self.is_interrupted = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        raise KeyboardInterrupt

    def watch(self, name: str, stream: TextIO | None, descriptor: int) -> TextIO:
        """Return a standard stream whose failed writes are remembered; a Windows console stays as it is.

        A character that the encoding of the stream lacks becomes a question mark.
        """
        if stream is not None and os.name == "nt" and stream.isatty():
            return stream
        raw = self.streams[name] = _Descriptor(descriptor, "wb", closefd=False)
        encoding = stream.encoding if stream is not None else "utf-8"
        kept = stream.errors if stream is not None else None
        errors = kept if kept not in (None, "strict") else "replace"
        by_line = name == "stderr" or raw.isatty()
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=by_line)

    def lost(self) -> dict[str, OSError]:
        """Return why each stream that failed did."""
        return {name: raw.error for name, raw in self.streams.items() if raw.error is not None}


def run() -> None:
    """Run the command line and end the process with its exit code."""
    guard = _Guard()
    try:
        _prepare(guard)
        code = _run_command()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:  # the outermost guard: the exit code and a line on stderr say so
        code = LOST if _is_reported(error, guard) else BROKEN
        if code == BROKEN:
            _print_line(describe(error))
    sys.exit(_close(guard, code))


def _prepare(guard: _Guard) -> None:
    """Take over SIGINT and the standard streams; a closed one accepts no write instead of taking the next file's place."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, guard.interrupt)
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            _occupy(descriptor)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = guard.watch("stdout", sys.stdout, 1)
    sys.stderr = guard.watch("stderr", sys.stderr, 2)


def _occupy(descriptor: int) -> None:
    """Open the null device in place of a closed stream: stdin refuses reads, stdout refuses writes, stderr takes all."""
    opened = os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_WRONLY)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)


def _run_command() -> int:
    """Return the exit code of the command that the arguments name."""
    from gpulint.cli import main

    try:
        main.main(prog_name="gpulint")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else BROKEN
    return 0


def _is_reported(error: Exception, guard: _Guard) -> bool:
    """Whether an exception is the failed write of a standard stream, which is reported as such."""
    return any(error is lost or error.__context__ is lost for lost in guard.lost().values())


def describe(error: Exception) -> str:
    """Return one line about an exception that nothing handled: of the operating system, or a fault of gpulint."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"the run could not finish: {place}{error.strerror.lower()}"
    from gpulint.version import PROJECT

    where = f"at {PROJECT}/issues" if PROJECT else "to the maintainers of your copy"
    name = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"internal error{_find_line(error)}: {name}; report this line {where}, with the command and its input"


def _find_line(error: Exception) -> str:
    """Return the module and line of gpulint that raised an exception."""
    trace, found = error.__traceback__, ""
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("gpulint."):
            found = f" in {module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _print_line(text: str) -> None:
    """Print one line to stderr, if stderr can be written."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text.replace("\n", " "))
    try:
        print(f"gpulint: {shown}", file=sys.stderr, flush=True)
    except (OSError, ValueError):  # stderr is closed or full; the exit code remains
        return


def _close(guard: _Guard, code: int) -> int:
    """Write what is left and return the exit code: an interruption and lost output are no success."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # `lost` says so
            continue
    if guard.is_interrupted:
        return INTERRUPTED
    lost = guard.lost()
    for name, error in lost.items():
        if error.errno != errno.EPIPE:
            _print_line(f"{name} could not be written: {(error.strerror or str(error)).lower()}")
    return max(code, LOST) if lost else code


if __name__ == "__main__":
    run()
