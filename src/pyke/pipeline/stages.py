"""Bookkeeping of a run: announces each stage, measures it, and checks it against the budget."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyke.config import Config
from pyke.core.memory import PeakMemory
from pyke.core.progress import Progress
from pyke.pipeline import budget


@dataclass(frozen=True)
class Stage:
    """Time and peak memory of one finished stage."""

    name: str
    seconds: float
    peak_bytes: int
    cpu_seconds: float = 0.0  # of all threads; hardly affected by other programs


class Stages:
    """The stages of one run, with the settings and the counts that they share."""

    def __init__(
        self, config: Config, progress: Progress | None = None, inputs: Sequence[str] = ()
    ) -> None:
        self.config = config
        self.progress = progress or Progress()
        self.inputs = list(inputs)  # names, for messages and the manifest
        self.sizes = budget.Sizes()
        self.finished: list[Stage] = []

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "") -> Iterator[None]:
        """Announce a stage and measure it."""
        self.progress.stage(name, total, unit)
        began, worked = time.perf_counter(), time.process_time()
        with PeakMemory() as memory:
            yield
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - worked
        self.finished.append(Stage(name, seconds, memory.peak, cpu_seconds))

    def require(self, stage: str, **counts: int) -> None:
        """Record new counts, and raise OverBudget if the stage then exceeds `config.memory`."""
        self.sizes = replace(self.sizes, **counts)
        budget.require(stage, self.sizes, self.config)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The finished stages, for the manifest."""
        return [asdict(stage) for stage in self.finished]
