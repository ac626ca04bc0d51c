"""What takes long is computed once, in the background, and asked for again and again."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from pyke.core import system
from pyke.core.progress import Progress
from pyke.errors import Interrupted, NothingToScore, PykeError
from pyke.use.serve.child import Child, Impossible

Compute = Callable[[Progress], Any]
_LOG = logging.getLogger("pyke.use.serve")


class Computing(Exception):
    """The result is not there yet."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__("not there yet")
        self.state = state


class _Reported(Progress):
    """Keeps how far a job is, and stops it when the server stops or nobody waits for it."""

    def __init__(self, should_stop: Callable[[], bool]) -> None:
        self._should_stop = should_stop
        self.name, self.total, self.done = "", 0, 0

    def stage(self, name: str, total: int | None = None, unit: str = "") -> None:  # noqa: ARG002
        """Remember the stage."""
        self._stop_if_asked()
        self.name, self.total, self.done = name, total or 0, 0

    def advance(self, done: int) -> None:
        """Remember how much is done."""
        self._stop_if_asked()
        self.done = done

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:  # noqa: ARG002
        """Remember the iteration."""
        self.advance(number)

    def _stop_if_asked(self) -> None:
        if self._should_stop():
            raise Interrupted(signal.SIGTERM)


class Job:
    """One result that is computed when it is first asked for.

    A job of a lane with a `patience` stops when nobody has asked for it that long: a page that
    shows another thing does not ask any more. It starts again when someone asks.
    """

    def __init__(self, name: str, compute: Compute, lane: Lane) -> None:
        self.name = name
        self._compute, self._lane = compute, lane
        self._progress = _Reported(self._should_stop)
        self._started = False
        self._asked = time.monotonic()
        self._finished = threading.Event()
        self._result: Any = None
        self._problem = ""

    def start(self) -> None:
        """Start the job, unless it was started; again if the process of its result has ended."""
        self._asked = time.monotonic()
        with self._lane.lock:
            if isinstance(self._result, Child) and self._result.has_ended:
                self._reset()
            if not self._started:
                self._started = True
                self._lane.add(self)

    def result(self) -> Any:
        """Return the result; raise Computing if it is not there yet, or Impossible."""
        self.start()
        if not self._finished.is_set():
            raise Computing(self.state())
        if self._problem:
            raise Impossible(self._problem)
        return self._result

    def ready(self) -> bool:
        """Whether there is a result."""
        return self._finished.is_set() and not self._problem

    def wait(self, seconds: float) -> bool:
        """Wait until the job is finished; False if it takes longer."""
        self.start()
        return self._finished.wait(seconds)

    def state(self) -> dict[str, Any]:
        """How far the job is, for people who wait."""
        report, current = self._progress, self._lane.current
        part = min(report.done / report.total, 1.0) if report.total else None
        stage = report.name
        if current not in (None, self):
            stage, part = f"waiting for {current.name}", None
        return {"status": "computing", "what": self.name, "stage": stage, "part": part}

    def is_abandoned(self) -> bool:
        """Whether nobody has asked for the result for long."""
        return time.monotonic() - self._asked > self._lane.patience

    def _should_stop(self) -> bool:
        return self._lane.stopping.is_set() or self.is_abandoned()

    def run(self) -> None:
        """Compute the result, or keep the reason why there is none."""
        if self.is_abandoned():
            self._forget()
            return
        try:
            self._result = self._compute(self._progress)
        except (NothingToScore, Impossible) as reason:
            self._problem = _sentence(str(reason))
        except Interrupted:
            if not self._lane.stopping.is_set():
                self._forget()
                return
            self._problem = "The server is stopping."
        except (PykeError, MemoryError) as error:
            self._problem = f"This could not be computed ({type(error).__name__})."
        except Exception:
            _LOG.exception("%s could not be computed", self.name)
            self._problem = "This could not be computed: an error in PYKE."
        self._finished.set()

    def _forget(self) -> None:
        """Be as if never started."""
        with self._lane.lock:
            self._reset()

    def _reset(self) -> None:
        self._progress = _Reported(self._should_stop)
        self._started, self._result = False, None
        self._finished.clear()


def _sentence(reason: str) -> str:
    """A reason as the page shows it."""
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."


class Lane:
    """A thread that runs jobs one after another. A server has one for each kind of jobs.

    A lane that comes `after` another starts a job when the other one is idle: their largest arrays
    are not in memory at the same time.
    """

    def __init__(
        self,
        stopping: threading.Event,
        after: Lane | None = None,
        patience: float = math.inf,
    ) -> None:
        self.lock = threading.Lock()
        self.stopping = stopping
        self.patience = patience  # seconds until a job that nobody asks for is stopped
        self.current: Job | None = None
        self.idle = threading.Event()
        self.idle.set()
        self._after = after
        self._waiting: list[Job] = []
        self._thread: threading.Thread | None = None

    def add(self, job: Job) -> None:
        """Append a job; the caller holds the lock."""
        self._waiting.append(job)
        self.idle.clear()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            with self.lock:
                if not self._waiting:
                    self._thread = None
                    self.idle.set()
                    return
                job = self._waiting.pop(0)
            self.current = job
            if self._after:
                self._after.idle.wait()
            job.run()
            self.current = None
            system.release_free_memory()  # the temporary arrays of a job
