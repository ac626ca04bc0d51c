"""Kernels on all cores: they release the interpreter's lock, so plain threads will do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

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


def in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int, depth: int | None = None) -> Iterator[Result]:
    """work(item) for all items, `threads` at a time; the results in the order of the items, at most `depth` (one each, and one) under way."""
    pending: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="pyke-work")
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) >= (depth or threads + 1):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
