"""Run a function with a deadline.

The timeout of a socket limits the wait for the next byte. A server that sends a byte now and then,
in a header, in the size of a chunk, or as endless `100 Continue`, never exceeds it, and nothing
limits the lookup of a name. Here the work runs in another thread, and the caller stops waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

TICK = 0.2  # seconds: the longest delay of a signal

T = TypeVar("T")


class DeadlineExceeded(Exception):
    """The work took too long."""


def within(seconds: float, work: Callable[[], T], tick: Callable[[], None]) -> T:
    """Return `work()`, or raise DeadlineExceeded; call `tick` before, and while waiting.

    After the deadline the thread continues unnoticed until its own next timeout.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    tick()
    deadline = time.monotonic() + seconds
    threading.Thread(target=run, daemon=True).start()
    while (remaining := deadline - time.monotonic()) > 0:
        if wait([future], min(TICK, remaining)).done:
            return future.result()
        tick()
    raise DeadlineExceeded
