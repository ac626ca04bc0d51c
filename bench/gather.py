"""Rows that the simulation gathers per second, compared with a loop that only gathers rows.

One iteration gathers a row for every spring and every repeller of a real graph (default settings).
The plain loops add as many rows to an accumulator, with the same number of threads: once at random
places, once at the places of the simulation (springs, then repellers), which shows the effect of
locality. The three alternate; the median counts. `fraction` is the rate of the simulation divided
by that of the loop. Target: at least 0.6 of the random gather. Above 1, the simulation gains more
by locality (a block shares a pool of repellers) than its arithmetic costs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

import common
from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Floats, Ids, Matrix, Repellers
from pyke.core.parallel import parallel_for
from pyke.core.progress import Progress
from pyke.pipeline import Run
from pyke.pipeline.embed import find_forces
from pyke.simulation import anneal

MIN_FRACTION = 0.6


def _gather(positions: Floats, rows: Ids, begin: int, end: int, out: Floats) -> None:
    """Add positions[y] to out, for y in rows[begin:end]."""
    for j in range(begin, end):
        y = rows[j]
        for i in range(positions.shape[1]):
            out[i] += positions[y, i]


gather: Callable[..., None] = numba.njit(nogil=True)(_gather)


def plain_loop(positions: Floats, rows: Ids, threads: int) -> float:
    """Seconds of the plain loop over all rows."""
    began = time.perf_counter()
    parallel_for(
        threads,
        len(rows),
        lambda begin, end: gather(
            positions, rows, begin, end, np.zeros(positions.shape[1], np.float32)
        ),
    )
    return time.perf_counter() - began


def simulated_rows(springs: Matrix, repellers: Repellers) -> Ids:
    """Rows that an iteration gathers: those of the springs, then those of the repellers."""
    blocks = np.arange(springs.rows) // BLOCK_ROWS
    places = repellers.pool_offsets[blocks, None] + repellers.members
    present: NDArray[Any] = np.arange(repellers.members.shape[1]) < repellers.counts[:, None]
    return np.concatenate([springs.columns, repellers.pool[places[present]]])


class Alternate(Progress):
    """Measures the iterations of a simulation, and runs the plain loops between them."""

    def __init__(self, loops: dict[str, Callable[[], float]]) -> None:
        self.loops = loops
        self.seconds: dict[str, list[float]] = {name: [] for name in ("simulation", *loops)}
        self.began = 0.0

    def iteration(self, number: int, energy: float, objective: float, displacement: float) -> None:  # noqa: ARG002
        """Record an iteration. The first one, which includes the start, does not count."""
        if number > 1:
            self.seconds["simulation"].append(time.perf_counter() - self.began)
        for name, loop in self.loops.items():
            self.seconds[name].append(loop())
        self.began = time.perf_counter()


def measure(name: str, path: Path, options: Any) -> list[dict[str, Any]]:
    """The three rates on a graph."""
    config = Config(on_error="skip", threads=options.threads, max_iterations=options.iterations + 1)
    task = Run(path, config)
    springs, repellers = find_forces(task.read(), task.stages)
    positions = anneal.random_start(springs.rows, config)
    local = simulated_rows(springs, repellers)
    random = np.random.default_rng(0).integers(springs.rows, size=len(local), dtype=np.int32)
    plain_loop(positions, local[:1000], 1)  # compile
    loops = {
        "random rows": lambda: plain_loop(positions, random, config.threads),
        "the same rows": lambda: plain_loop(positions, local, config.threads),
    }
    alternate = Alternate(loops)
    anneal.simulate(springs, repellers, config, alternate)
    rates = {
        loop: len(local) / statistics.median(seconds) / 1e6
        for loop, seconds in alternate.seconds.items()
    }
    return [
        {
            "graph": name,
            "particles": springs.rows,
            "springs": len(springs.columns),
            "repellers": len(local) - len(springs.columns),
        }
        | {"loop": loop, "million rows/s": rate, "fraction": rates["simulation"] / rate}
        for loop, rate in rates.items()
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="*", default=["pleiades", "wordnet30"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=7)
    parser.add_argument("--lubm", type=int, nargs="*", default=[], metavar="N", help="LUBM(N), too")
    options = parser.parse_args()
    paths = {name: common.graph(options.data, name) for name in options.graphs}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.lubm:
            path = paths[f"LUBM({size})"] = Path(folder) / f"lubm{size}.nt.gz"
            common.run(common.pyke("lubm", str(size), "-o", path))
        rows = [row for name, path in paths.items() for row in measure(name, path, options)]
    misses = [
        f"{row['graph']}: {row['fraction']:.2f} of a random gather, target {MIN_FRACTION}"
        for row in rows
        if row["loop"] == "random rows" and row["fraction"] < MIN_FRACTION
    ]
    columns = {
        "graph": "",
        "particles": ",",
        "springs": ",",
        "repellers": ",",
        "loop": "",
        "million rows/s": ".1f",
        "fraction": ".2f",
    }
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
