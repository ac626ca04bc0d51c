"""What checkpoints of the positions cost: written between two iterations, or beside the next.

The same simulation on LUBM(N) runs without checkpoints, with one after each iteration that the
simulation waits for, and with one after each iteration that a thread writes. The three alternate;
the median counts. Seconds and CPU seconds are per iteration. Targets: equal vectors, and less time
in the background than in the foreground.
"""

from __future__ import annotations

import hashlib
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import common
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.pipeline import Run
from pyke.pipeline.checkpoints import Checkpoints
from pyke.pipeline.embed import find_forces
from pyke.simulation import anneal
from pyke.simulation.rows import RowCloud

WAYS = ("none", "foreground", "background")


class Foreground(RowCloud):
    """Rows that every step may overwrite: the simulation waits for each checkpoint."""

    def overwrites(self, positions: object) -> bool:
        """Whether the next step writes to these positions."""
        return positions is self.positions


def measure(forces: anneal.Forces, config: Config, way: str, folder: Path) -> tuple[float, ...]:
    """Seconds and CPU seconds of the simulation, and the first digits of its hash."""
    checkpoints = Checkpoints(folder, {}, 0, resume=False)
    keep = None if way == "none" else checkpoints.save_state
    usual = RowCloud.overwrites
    if way == "foreground":
        setattr(RowCloud, "overwrites", Foreground.overwrites)  # noqa: B010
    began, worked = time.perf_counter(), time.process_time()
    try:
        result = anneal.simulate_forces(forces, config, Progress(), None, keep)
    finally:
        setattr(RowCloud, "overwrites", usual)  # noqa: B010
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - worked
    digest = int(hashlib.sha256(result.positions).hexdigest()[:12], 16)
    return seconds / len(result.history), cpu_seconds / len(result.history), digest


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--size", type=int, default=20, metavar="N")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    config = Config(
        threads=options.threads, max_iterations=options.iterations, checkpoint_seconds=0
    )
    found: dict[str, list[tuple[float, ...]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lubm.nt.gz"
        common.run(common.pyke("lubm", str(options.size), "-o", path))
        task = Run(path, config)
        forces = anneal.Forces(*find_forces(task.read(), task.stages), config)
        for way in WAYS * options.repeats:
            found[way].append(measure(forces, config, way, Path(folder)))
    size = 4 * anneal.row_stride(config.dimensions) * forces.particles / 1e9
    rows: list[dict[str, Any]] = [
        {
            "checkpoints": way,
            "GB each": size if way != "none" else 0.0,
            "seconds": statistics.median(seconds for seconds, *_ in found[way]),
            "CPU s": statistics.median(cpu for _, cpu, _ in found[way]),
        }
        for way in WAYS
    ]
    misses = []
    if len({digest for times in found.values() for *_, digest in times}) > 1:
        misses.append("the vectors are not equal")
    if rows[2]["seconds"] >= rows[1]["seconds"]:
        misses.append("the background takes no less time than the foreground")
    columns = {"checkpoints": "", "GB each": ".2f", "seconds": ".3f", "CPU s": ".3f"}
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
