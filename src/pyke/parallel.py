"""Kernels on all cores: they release the interpreter's lock, so plain threads will do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

TASKS_PER_THREAD = 8  # small enough parts that hubs in one of them do not leave the other threads idle


def in_parts(threads: int, size: int, work: Callable[[int, int], None]) -> None:
    """Calls work(begin, end) for parts of range(size), `threads` at a time."""
    parts = min(size, threads * TASKS_PER_THREAD)
    borders = [size * part // parts for part in range(parts + 1)] if parts else []
    if threads == 1 or parts <= 1:
        for begin, end in pairwise(borders):
            work(begin, end)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, borders[:-1], borders[1:]))
