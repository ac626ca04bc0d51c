"""Work on several threads: in parts, and in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from pyke.core import parallel


def test_every_part_of_a_range_is_worked_on_once() -> None:
    for threads in (1, 3):
        seen: list[int] = []

        def note(begin: int, end: int, seen: list[int] = seen) -> None:
            seen.extend(range(begin, end))

        parallel.parallel_for(threads, 100, note)
        assert sorted(seen) == list(range(100))


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_tasks_at_once_give_their_results_in_order(threads: int) -> None:
    assert parallel.run_tasks(threads, [partial(pow, i, 2) for i in range(20)]) == [
        i * i for i in range(20)
    ]
    assert parallel.run_tasks(threads, []) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_after_an_error_no_task_is_begun(threads: int) -> None:
    begun: list[int] = []

    def task(number: int) -> None:
        begun.append(number)
        if number >= 3:
            raise IndexError("from the third on")

    with pytest.raises(IndexError, match="from the third on"):
        parallel.run_tasks(threads, [partial(task, number) for number in range(1000)])
    assert len(begun) <= 3 + threads
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pyke-work")]


def test_helpers_do_not_outlive_a_call_that_could_not_start_them_all(
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


def test_results_come_in_order_and_no_further_ahead_than_there_are_threads() -> None:
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


def test_an_error_at_work_is_raised_in_its_turn() -> None:
    results = parallel.ordered_map(lambda i: 1 // (3 - i), range(10), 2)
    with pytest.raises(ZeroDivisionError):
        list(results)
