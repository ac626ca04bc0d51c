"""Many embeddings in one process use no more memory, descriptors or threads than a few."""

from __future__ import annotations

import os
import threading
import traceback
from pathlib import Path

import numpy as np

import pyke
from faults.conftest import Figure, times
from faults.runs import call
from graphs import random_graph
from pyke.core.system import resident_bytes

MAX_GROWTH = 8.0  # MB over three quarters of the runs


def test_memory_descriptors_and_threads_stay_constant(tmp_path: Path, figure: Figure) -> None:
    process = call(_soak, tmp_path, times(30, 1000))
    process.join()
    assert process.exitcode == 0, (tmp_path / "error").read_text()
    figure("F16", (tmp_path / "figure").read_text())


def _soak(folder: Path, runs: int) -> None:
    """Runs in a process of its own: other tests use memory, too."""
    try:
        graph = folder / "graph.nt"
        graph.write_text(random_graph(2000))
        resident, descriptors, threads = [], set(), set()
        for _ in range(runs):
            embedding = pyke.embed(graph, dimensions=8)
            embedding.nearest(embedding.terms[0], 3)
            resident.append(resident_bytes() / 1e6)
            descriptors.add(len(os.listdir("/proc/self/fd")))
            threads.add(threading.active_count())
        later = resident[runs // 4 :]
        growth = np.polyfit(range(len(later)), later, 1)[0] * len(later)
        assert growth < MAX_GROWTH, f"memory grows by {growth} MB"
        assert len(descriptors) == 1, descriptors
        assert max(threads) <= min(threads) + 1, threads
        (folder / "figure").write_text(
            f"{runs} embeddings in one process: memory {growth:+.1f} MB, descriptors constant"
        )
    except BaseException:
        (folder / "error").write_text(traceback.format_exc())
        raise
