"""A job: what all tasks of a distributed run know, and how they pass results to each other.

A stage is a number of tasks that do not depend on each other. A task reads pieces that earlier
stages wrote for it, and writes one file: pieces for tasks of later stages, and a small result for
the client. A task that runs again, because its worker was lost, finds its file or writes the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

from pyke.config import Config
from pyke.core.memory import PeakMemory
from pyke.pipeline.partitions.pieces import Arrays, read_piece, read_result, write_pieces
from pyke.pipeline.partitions.storage import Storage

WRITTEN, CPU, PEAK = "written_bytes", "cpu_seconds", "peak_bytes"  # of a task, in its result
OWN = "own"  # the piece that later tasks of the same number read
Result = dict[str, Any]
Task = Callable[..., tuple[dict[str, Arrays], Result]]


@dataclass(frozen=True)
class Job:
    """The parts of a run that do not change."""

    scratch: Storage
    config: Config
    hash_seed: int  # of the hashes of terms
    readers: int  # number of parts of the input
    partitions: int  # of terms, and of particles

    def read(self, stage: str, number: int, piece: int | str = OWN) -> Arrays:
        """What a task of an earlier stage wrote for a task."""
        return read_piece(self.scratch, _name(stage, number), str(piece))

    def from_all(self, stage: str, producers: int, piece: int) -> Iterator[Arrays]:
        """What all tasks of an earlier stage wrote for a task, in their order."""
        return (self.read(stage, number, piece) for number in range(producers))

    def drop(self, *stages: str) -> None:
        """Remove the files of stages that are no longer needed."""
        for stage in stages:
            self.scratch.remove(stage)


def stage(function: Task) -> Callable[..., Result]:
    """Make a function a task: it writes its pieces, and returns its result.

    The stage has the name of the function. A task that has been done is not done again.
    """

    @wraps(function)
    def task(job: Job, number: int, *arguments: Any) -> Result:
        name = _name(function.__name__, number)
        if job.scratch.exists(name):
            return read_result(job.scratch, name)
        began = time.process_time()
        with PeakMemory() as memory:
            pieces, result = function(job, number, *arguments)
            written = write_pieces(job.scratch, name, pieces, result)
        return result | {WRITTEN: written, CPU: time.process_time() - began, PEAK: memory.peak}

    return task


def _name(stage: str, number: int) -> str:
    return f"{stage}/{number}"
