"""Work on several threads: parts of a range, tasks, and results in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from pyke.core import parallel


def test_parallel_for_covers_each_part_of_a_range_once() -> None:
    for threads in (1, 3):
        seen: list[int] = []

        def note(begin: int, end: int, seen: list[int] = seen) -> None:
            seen.extend(range(begin, end))

        parallel.parallel_for(threads, 100, note)
        assert sorted(seen) == list(range(100))


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_run_tasks_returns_results_in_order(threads: int) -> None:
    assert parallel.run_tasks(threads, [partial(pow, i, 2) for i in range(20)]) == [
        i * i for i in range(20)
    ]
    assert parallel.run_tasks(threads, []) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_no_task_starts_after_an_error(threads: int) -> None:
    begun: list[int] = []

    def task(number: int) -> None:
        begun.append(number)
        if number >= 3:
            raise IndexError("from the third on")

    with pytest.raises(IndexError, match="from the third on"):
        parallel.run_tasks(threads, [partial(task, number) for number in range(1000)])
    assert len(begun) <= 3 + threads
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pyke-work")]


def test_threads_end_if_not_all_of_them_could_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if [other for other in threading.enumerate() if other.name == "pyke-work"]:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    release = threading.Event()
    with pytest.raises(RuntimeError, match="can't start"):
        parallel.run_tasks(3, [lambda: release.wait(0.05)] * 100)
    assert not [thread for thread in threading.enumerate() if thread.name == "pyke-work"]


def test_ordered_map_runs_at_most_one_item_per_thread_ahead() -> None:
    begun: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(100):
            begun.append(i)
            yield i

    results = parallel.ordered_map(lambda i: i * i, numbers(), 3)
    assert [next(results) for _ in range(10)] == [i * i for i in range(10)]
    assert len(begun) <= 10 + 4
    results.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pyke-work")]


def test_ordered_map_raises_an_error_in_its_turn() -> None:
    results = parallel.ordered_map(lambda i: 1 // (3 - i), range(10), 2)
    with pytest.raises(ZeroDivisionError):
        list(results)
