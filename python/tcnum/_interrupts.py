"""Ctrl-C while the library works.

A KeyboardInterrupt that Python raised inside a callback of ctypes would be lost: it arises before the callback's first
line, where nobody can catch it. So while the library works, SIGINT is only noted; callbacks ask whether it was, and it
is delivered when the library has come back.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from . import _library


class Guard:
    """What callbacks of one call ask, and where they leave what was raised in them."""

    def __init__(self) -> None:
        self.signals: list[tuple[int, Any]] = []
        self.error: BaseException | None = None
        self._theirs: Any = None  # who handled SIGINT before
        # For calls that say how far they are, and for fits.
        self.progress = _library.Progress(lambda _, rows: int(self.should_stop()))
        self.fit_progress = _library.FitProgress(lambda _, phase, done, of: int(self.should_stop()))

    def should_stop(self) -> bool:
        return bool(self.signals) or self.error is not None

    def run(self, work: Callable[[], None]) -> int:
        """Runs the caller's own code, with the caller's own handling of SIGINT. Other than 0: stop."""
        if self.should_stop():
            return 1
        try:
            with self._as_before():
                work()
        except BaseException as error:  # noqa: BLE001: it goes on from where the library was called
            self.error = error
        return int(self.should_stop())

    @contextlib.contextmanager
    def _as_before(self) -> Iterator[None]:
        if self._theirs is None:
            yield
            return
        ours = signal.signal(signal.SIGINT, self._theirs)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, ours)


@contextlib.contextmanager
def guarded() -> Iterator[Guard]:
    """Around a call of the library that has callbacks. Afterwards raises what they left."""
    guard = Guard()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(before):
        guard._theirs = before
        signal.signal(signal.SIGINT, lambda number, frame: guard.signals.append((number, frame)))
    try:
        yield guard
    except _library.Stopped:
        if not guard.should_stop():
            raise
    finally:
        if guard._theirs is not None:
            signal.signal(signal.SIGINT, guard._theirs)
    if guard.error is not None:
        raise guard.error
    if guard.signals:
        guard._theirs(*guard.signals[-1])  # KeyboardInterrupt, unless the caller has other plans
        raise KeyboardInterrupt
