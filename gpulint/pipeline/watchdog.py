"""The watchdog: how much CPU time the check of one file, and of all files of a run, may take.

Limits of gpulint count work, so that results do not depend on the machine. The watchdog is the last resort.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, TypeVar

AGAIN_S = 1.0
"""The timer fires again after this time, because Python ignores an exception inside a finaliser."""
T = TypeVar("T")


class OutOfTime(BaseException):
    """Why a check was cut short, and by whom: a check within the check must not take it for its own.

    It is no Exception, so that nothing on the way takes it for a fault of its own.
    """

    def __init__(self, reason: str, watchdog: Watchdog) -> None:
        super().__init__(reason)
        self.watchdog = watchdog


class Watchdog:
    """The CPU seconds that a file and a run may take; 0 is no limit.

    In the main thread of a process on a POSIX system, a timer of CPU time interrupts the check. Elsewhere the time is
    looked at between the stages of a file. `has_stopped` says whether anything was cut short.
    """

    def __init__(self, file_s: float = 0, run_s: float = 0) -> None:
        self._file_s = file_s
        self._run_s = run_s
        self._began = time.process_time()
        self._until = 0.0
        self._reason = ""
        self._is_armed = False
        self._is_last = False
        self._is_over = False
        self.has_stopped = False

    def watch(self, action: Callable[[], T]) -> T:
        """Return the result of an action; raise OutOfTime with the reason if its time is up."""
        left_s = self._allot()
        if not left_s:
            return action()
        self._until = time.process_time() + left_s
        try:
            self._arm(left_s)
            return action()
        finally:
            self.rest()

    def look(self) -> None:
        """Raise OutOfTime if the time of the present file is up."""
        if self._until and time.process_time() > self._until:
            self._stop()

    def rest(self) -> None:
        """Stop watching."""
        self._is_armed = False
        self._until = 0.0
        if _has_timer():
            import signal

            signal.setitimer(signal.ITIMER_PROF, 0)

    def _allot(self) -> float:
        """Return the seconds for the next file, 0 for no limit; raise OutOfTime if the run has none left."""
        allowed = f"{self._file_s:g} s of CPU time"
        self._reason = f"its check took more than {allowed}. Split the file, or allow more with --file-timeout"
        if not self._run_s:
            return self._file_s
        left_s = self._run_s - (time.process_time() - self._began)
        over = (
            f"the run used its {self._run_s:g} s of CPU time. Check fewer files at once, or allow more with --timeout"
        )
        if self._is_over or left_s <= 0:
            self.has_stopped = True
            raise OutOfTime(over, self)
        if self._file_s and self._file_s <= left_s:
            return self._file_s
        self._reason, self._is_last = over, True
        return left_s

    def _arm(self, seconds: float) -> None:
        if not _has_timer():
            return
        import signal

        self._is_armed = True
        signal.signal(signal.SIGPROF, self._interrupt)
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_S)

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        if self._is_armed:
            self._stop()

    def _stop(self) -> NoReturn:
        """End the check of a file, and that of all further ones if it took what was left of the run."""
        self._is_over = self._is_last
        self.has_stopped = True
        raise OutOfTime(self._reason, self)


def _has_timer() -> bool:
    """Whether this platform has a timer of CPU time, and this thread may use it."""
    import signal

    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


NONE = Watchdog()
"""No limit."""
