"""Keep states of a simulation to resume from, beside the simulation and not too often."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyke.config import Config
from pyke.core.parallel import Background
from pyke.simulation.layouts import row_stride
from pyke.simulation.quarters import QuarterCloud
from pyke.simulation.rows import RowCloud

WRITTEN_PER_SECOND = 400e6  # bytes, until it has been measured
SECONDS_BETWEEN_FAILURES = 86_400.0  # an assumption: one failure per day
MAX_CHECKPOINT_SHARE = 0.05  # of the time

Cloud = RowCloud | QuarterCloud


@dataclass(frozen=True)
class Iteration:
    """Figures of one iteration."""

    energy: float  # E
    objective: float  # J, of each particle that moved, before it moved
    displacement: float  # sum of the distances that all particles moved


@dataclass(frozen=True)
class State:
    """Positions (particles, stride) after some iterations."""

    positions: Any  # Floats, or Quarters
    history: tuple[Iteration, ...]


class Keeping:
    """Context manager: passes states to `keep`, in a thread beside the next iterations.

    There is no copy of the positions: they are not overwritten before `keep` returns. An error of
    `keep` is raised at the next state, or at the end.
    """

    def __init__(
        self, keep: Callable[[State], None] | None, particles: int, config: Config
    ) -> None:
        self._keep, self._config = keep, config
        self._background = Background()
        self._positions: Any = None  # that `keep` reads
        self._last = time.monotonic()
        size = 4 * row_stride(config.dimensions) * particles
        self._interval = checkpoint_interval(size / WRITTEN_PER_SECOND, config)

    def before_step(self, cloud: Cloud) -> None:
        """Wait if the next step would overwrite the positions that `keep` reads."""
        if self._positions is not None and cloud.overwrites(self._positions):
            self._wait()

    def if_due(self, state: State) -> None:
        """Keep a state if it is time to."""
        if self._keep is None or not self._is_due:
            return
        self._wait()  # the one before may have taken longer than expected
        if not self._is_due:
            return
        keep, self._last = self._keep, time.monotonic()
        self._positions = state.positions
        self._background.start(lambda: keep(state))

    @property
    def _is_due(self) -> bool:
        return time.monotonic() - self._last >= self._interval

    def now(self, state: State) -> None:
        """Keep a state, and return when it is kept."""
        if self._keep:
            self._wait()
            self._keep(state)

    def _wait(self) -> None:
        """Wait until `keep` returns, and choose the interval by what it cost."""
        if self._positions is None:
            return
        self._positions, began = None, time.monotonic()
        self._background.wait()
        cost = time.monotonic() - began + self._background.cpu_seconds
        self._interval = checkpoint_interval(cost, self._config)

    def __enter__(self) -> Keeping:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._background.wait(silent=error is not None)


def checkpoint_interval(cost: float, config: Config) -> float:
    """Seconds between checkpoints that take `cost` seconds each.

    It is Young's √(2 · cost · mean time between failures), which minimises the expected loss, but
    checkpoints take at most 5 % of the time. `checkpoint_seconds=0` keeps every iteration.
    """
    if config.checkpoint_seconds == 0:
        return 0.0
    young = math.sqrt(2 * cost * SECONDS_BETWEEN_FAILURES)
    return max(config.checkpoint_seconds, young, cost / MAX_CHECKPOINT_SHARE)
