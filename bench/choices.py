"""What the choices for large graphs rest on: row lengths, huge pages, the order of particles, gz.

All loops use one thread and alternate; the best of some repeats counts, because other programs
only make a loop slower. `rate` is in million rows per second, or in GB of text per second.

- rows: random gathers from rows of 64 or 52 numbers, and from quarters of 16 or 13.
- pages: random gathers with and without huge pages (Linux).
- order: the springs of LUBM(N), gathered in the order of PYKE (terms as they are read, then their
  contexts), in reverse Cuthill-McKee order, and in random order.
- gz: inflating LUBM(N) with zlib, and with isal and zlib-ng if they are installed.
"""

from __future__ import annotations

import importlib
import mmap
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import common
from gather import gather
from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Matrix
from pyke.pipeline import Run
from pyke.pipeline.embed import find_forces
from pyke.read.lines import BLOCK_SIZE

Loop = Callable[[], float]  # returns how many rows or bytes it handled
PIECE = 1 << 16  # compressed bytes, as in core/inputs.py


def gather_loop(positions: Floats, rows: Ids) -> Loop:
    """Gather some rows."""

    def loop() -> float:
        gather(positions, rows, 0, len(rows), np.zeros(positions.shape[1], np.float32))
        return len(rows) / 1e6

    return loop


def array(particles: int, length: int, huge: bool = True) -> Floats:
    """Random positions, with or without huge pages."""
    memory = mmap.mmap(-1, 4 * particles * length)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    found: NDArray[Any] = np.frombuffer(memory, np.float32).reshape(particles, length)
    found[:] = 1.0
    return found


def of_rows(size: int, count: int) -> dict[str, Loop]:
    """Random gathers from rows of several lengths."""
    loops = {}
    for length in (64, 52, 16, 13):
        particles = size // (4 * 64 if length > 16 else 4 * 16)  # as many for both lengths
        rows = np.random.default_rng(0).integers(particles, size=count, dtype=np.int32)
        loops[f"rows: {length} numbers"] = gather_loop(array(particles, length), rows)
    return loops


def of_pages(size: int, count: int) -> dict[str, Loop]:
    """Random gathers with and without huge pages."""
    rows = np.random.default_rng(0).integers(size // 256, size=count, dtype=np.int32)
    return {
        f"pages: {name}": gather_loop(array(size // 256, 64, huge), rows)
        for name, huge in (("huge", True), ("small", False))
    }


def of_order(springs: Matrix, count: int) -> dict[str, Loop]:
    """Gathers of springs in several orders of the particles."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    shape = (springs.rows, springs.rows)
    graph = csr_array((springs.values, springs.columns, springs.offsets), shape)
    orders = {
        "of PYKE": np.arange(springs.rows),
        "reverse Cuthill-McKee": reverse_cuthill_mckee(graph, symmetric_mode=True),
        "random": np.random.default_rng(0).permutation(springs.rows),
    }
    positions = array(springs.rows, 64)
    loops = {}
    for name, order in orders.items():
        columns = graph[order][:, order].tocsr().indices.astype(np.int32)
        loops[f"order: {name}"] = gather_loop(positions, columns[:count])
    return loops


def of_gz(path: Path) -> dict[str, Loop]:
    """Inflating a file."""
    packed = path.read_bytes()

    def loop_of(library: Any) -> Loop:
        def loop() -> float:
            stream, size = library.decompressobj(31), 0
            for begin in range(0, len(packed), PIECE):
                rest = packed[begin : begin + PIECE]
                while rest:
                    size += len(stream.decompress(rest, BLOCK_SIZE))
                    rest = stream.unconsumed_tail
                    if stream.eof:  # another stream may follow
                        rest, stream = stream.unused_data, library.decompressobj(31)
            return size / 1e9

        return loop

    loops = {}
    for name in ("zlib", "isal.isal_zlib", "zlib_ng.zlib_ng"):
        try:
            loops[f"gz: {name.split('.')[0]}"] = loop_of(importlib.import_module(name))
        except ImportError:
            continue
    return loops


def measure(loops: dict[str, Loop], repeats: int) -> list[dict[str, Any]]:
    """The best rate of each loop."""
    best = dict.fromkeys(loops, 0.0)
    for loop in loops.values():
        loop()  # compile, and touch all pages
    for _ in range(repeats):
        for name, loop in loops.items():
            began = time.thread_time()
            handled = loop()
            best[name] = max(best[name], handled / (time.thread_time() - began))
    first = next(iter(best.values()))
    return [{"loop": name, "rate": rate, "ratio": rate / first} for name, rate in best.items()]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--size", type=int, default=20, metavar="N", help="of LUBM [20]")
    parser.add_argument("--megabytes", type=int, default=1000, help="of positions [1000]")
    parser.add_argument("--gathered", type=int, default=5_000_000, help="rows per loop [5000000]")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    size, count = 1_000_000 * options.megabytes, options.gathered
    rows = measure(of_rows(size, count), options.repeats)
    rows += measure(of_pages(size, count), options.repeats)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lubm.nt.gz"
        common.run(common.pyke("lubm", str(options.size), "-o", path))
        task = Run(path, Config())
        springs, _ = find_forces(task.read(), task.stages)
        rows += measure(of_order(springs, count), options.repeats)
        rows += measure(of_gz(path), options.repeats)
    common.finish({"loop": "", "rate": ".2f", "ratio": ".2f"}, rows, [], options.json)


if __name__ == "__main__":
    main()
