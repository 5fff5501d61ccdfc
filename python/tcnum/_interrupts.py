"""Ctrl-C while the library works.

A KeyboardInterrupt that Python raised inside a callback of ctypes would be lost: it is raised before the callback's first
line, where nothing can catch it. So SIGINT is only recorded while the library works: callbacks look for it, and it is
delivered when the call has returned.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from . import _library

_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


class Guard:
    """The state that the callbacks of one call share: signals that came, and what was raised in them."""

    def __init__(self) -> None:
        self.signals: list[tuple[int, Any]] = []
        self.error: BaseException | None = None
        self._theirs: Any = None  # the previous handler of SIGINT
        # Progress callbacks of products and of fits.
        self.progress = _Progress(lambda _, rows: int(self.should_stop()))
        self.fit_progress = _library.c.tcnum_fit_progress(lambda _, phase, done, of: int(self.should_stop()))

    def should_stop(self) -> bool:
        return bool(self.signals) or self.error is not None

    def run(self, work: Callable[[], None]) -> int:
        """Runs code of the caller under the caller's own handler of SIGINT. Returns 0 to go on."""
        if self.should_stop():
            return 1
        try:
            with self._as_before():
                work()
        except BaseException as error:  # noqa: BLE001: guarded() raises it again
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
    """Surrounds a call of the library that has callbacks, and raises afterwards what was raised in them."""
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
        guard._theirs(*guard.signals[-1])  # KeyboardInterrupt, unless the caller's handler does something else
        raise KeyboardInterrupt
