"""Run kernels on several threads; they release the interpreter's lock."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

TASKS_PER_THREAD = 8  # small tasks: one task with many hubs does not keep other threads waiting


def split_range(threads: int, size: int, min_size: int = 1) -> list[tuple[int, int]]:
    """range(size) in parts of at least `min_size`, several per thread."""
    number = max(1, min(size // min_size, threads * TASKS_PER_THREAD))
    return list(pairwise(size * part // number for part in range(number + 1)))


def parallel_for(threads: int, size: int, work: Callable[[int, int], None]) -> None:
    """Call work(begin, end) for parts of range(size), on several threads."""
    run_tasks(threads, [partial(work, begin, end) for begin, end in split_range(threads, size)])


def run_tasks(threads: int, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run tasks on several threads, including the calling one; return their results in order.

    The first error is raised, and no task starts after it. This does not use a thread pool: setting
    one up takes longer than an iteration on a small graph.
    """
    waiting = deque(enumerate(tasks))
    results: dict[int, Result] = {}
    errors: list[BaseException] = []

    def work() -> None:
        with suppress(IndexError):
            while True:
                number, task = waiting.popleft()
                try:
                    results[number] = task()
                except BaseException as error:
                    errors.append(error)
                    waiting.clear()

    helpers = [
        threading.Thread(target=work, name="pyke-work") for _ in range(min(threads, len(tasks)) - 1)
    ]
    try:
        for helper in helpers:
            helper.start()
        work()
    finally:
        waiting.clear()
        for helper in helpers:
            if helper.ident is not None:  # it has started
                helper.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(tasks))]


class Background:
    """Runs one task at a time in a thread of its own."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self.cpu_seconds = 0.0  # of the last task

    def start(self, task: Callable[[], object]) -> None:
        """Start a task; the one before must have been awaited."""

        def work() -> None:
            began = time.thread_time()
            try:
                task()
            except BaseException as error:
                self._error = error
            self.cpu_seconds = time.thread_time() - began

        self._thread = threading.Thread(target=work, name="pyke-background")
        self._thread.start()

    def wait(self, silent: bool = False) -> None:
        """Wait until the task has ended, and raise its error, unless `silent`."""
        if thread := self._thread:
            thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error and not silent:
            raise error


def ordered_map(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int, depth: int | None = None
) -> Iterator[Result]:
    """Yield work(item) for all items in their order, computed on several threads.

    At most `depth` items are computed at a time; the default is one per thread and one more.
    """
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
