"""Long computations of the server: who waits for what, and what nobody waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from pyke.core.progress import Progress
from pyke.errors import NothingToScore
from pyke.use.serve.child import Impossible
from pyke.use.serve.jobs import Computing, Job, Lane


def _until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.005)


def _endless(runs: list[int]) -> Callable[[Progress], None]:
    def compute(progress: Progress) -> None:
        runs.append(1)
        progress.stage("turning", 10)
        while True:
            progress.advance(5)
            time.sleep(0.005)

    return compute


def test_a_job_that_nobody_asks_for_stops_and_starts_again_when_asked() -> None:
    lane, runs = Lane(threading.Event(), patience=0.2), []  # type: ignore[var-annotated]
    job = Job("endless", _endless(runs), lane)
    with pytest.raises(Computing):
        job.result()
    _until(lambda: job.state()["part"] == 0.5)
    for _ in range(10):  # someone waits
        time.sleep(0.05)
        with pytest.raises(Computing):
            job.result()
    assert len(runs) == 1
    _until(lane.idle.is_set)  # nobody does
    assert not job.ready()
    with pytest.raises(Computing):
        job.result()
    _until(lambda: len(runs) == 2)
    lane.stopping.set()
    _until(lane.idle.is_set)


def test_a_job_that_waits_too_long_in_the_queue_is_not_started() -> None:
    lane, runs = Lane(threading.Event(), patience=0.2), []  # type: ignore[var-annotated]
    first = Job("first", lambda _: time.sleep(0.6), lane)
    second = Job("second", _endless(runs), lane)
    first.start()
    second.start()
    _until(lambda: second.state()["stage"] == "waiting for first")
    _until(lane.idle.is_set)
    assert runs == []
    assert first.ready()


def test_a_reason_is_a_sentence() -> None:
    def compute(_: Progress) -> None:
        raise NothingToScore("no predicate can be completed")

    job = Job("facts", compute, Lane(threading.Event()))
    assert job.wait(20)
    with pytest.raises(Impossible, match=r"^No predicate can be completed\.$"):
        job.result()


def test_a_job_without_patience_goes_on_unasked() -> None:
    lane = Lane(threading.Event())
    job = Job("index", lambda _: threading.Event().wait(0.3), lane)
    job.start()
    _until(lane.idle.is_set)
    assert job.result() is False
