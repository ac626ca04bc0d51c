"""N-Triples to ids, compared with `pyoxigraph.parse` into a dict, on an uncompressed file.

pyke reads a complete file of more than 200 MB into term ids and rows of ids, with 2 threads.
pyoxigraph reads its first 100 MB, and each IRI and blank node gets an id by `dict.setdefault`. Both
skip bad lines. Runs alternate; the best of each counts. MB per CPU second, of all threads, hardly
depend on the load of the machine. Targets: at least 5 times as fast, and at least 150 MB/s.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph

import common
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.graph import batches, build
from pyke.graph.graph import Census
from pyke.read import find, tokenize

MIN_BYTES, PEER_BYTES = 200_000_000, 100_000_000
MIN_RATIO, MIN_SPEED = 5.0, 150.0


def ours(path: Path, threads: int) -> int:
    """Read a file into ids. Returns the number of lines."""
    config = Config(on_error="skip", threads=threads)
    collector = build.Collector()
    lines = 0
    for batch in tokenize.read_batches(find.find_documents([path]), config, Census(), Progress()):
        collector.add(batch)
        lines += int(batch.state[batches.LINES])
    return lines


def theirs(path: Path) -> int:
    """Read a file with pyoxigraph and a dict. Returns the number of lines."""
    numbers: dict[str, int] = {}
    lines = 0
    parser = pyoxigraph.parse(path=str(path), format=pyoxigraph.RdfFormat.N_TRIPLES)
    while True:
        try:
            for quad in parser:
                lines += 1
                numbers.setdefault(quad.subject.value, len(numbers))
                numbers.setdefault(quad.predicate.value, len(numbers))
                if not isinstance(quad.object, pyoxigraph.Literal):
                    numbers.setdefault(quad.object.value, len(numbers))
            return lines
        except SyntaxError:
            lines += 1  # the parser continues after a bad line


def timed(read: Callable[[], int]) -> tuple[float, float, int]:
    """Seconds, CPU seconds and number of lines."""
    began, cpu_began = time.perf_counter(), time.process_time()
    lines = read()
    return time.perf_counter() - began, time.process_time() - cpu_began, lines


def first_lines(source: Path, target: Path, size: int) -> None:
    """Copy complete lines of about `size` bytes."""
    with open(source, "rb") as file, open(target, "wb") as copy:
        copy.write(file.read(size) + file.readline())


def measure(archives: list[Path], threads: int, repeat: int) -> list[dict[str, float]]:
    """The best run of each reader: MB, seconds, CPU seconds and lines."""
    with tempfile.TemporaryDirectory() as folder:
        complete, start, small = (
            Path(folder) / name for name in ("complete.nt", "start.nt", "small.nt")
        )
        with open(complete, "wb") as file:
            for archive in archives:
                with gzip.open(archive) as unpacked:
                    shutil.copyfileobj(unpacked, file, 1 << 20)
        if complete.stat().st_size < MIN_BYTES:
            common.stop(f"the graphs unpack to less than {MIN_BYTES:,} bytes; name more --graphs")
        first_lines(complete, start, PEER_BYTES)
        first_lines(complete, small, PEER_BYTES // 20)
        ours(small, threads)  # compile
        runs = [
            (timed(lambda: ours(complete, threads)), timed(lambda: theirs(start)))
            for _ in range(repeat)
        ]
        sizes = (complete.stat().st_size / 1e6, start.stat().st_size / 1e6)
    best = map(min, zip(*runs, strict=True))
    return [
        {"MB": size, "seconds": seconds, "cpu": cpu, "lines": lines}
        for size, (seconds, cpu, lines) in zip(sizes, best, strict=True)
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--graphs",
        nargs="+",
        default=["pleiades"],
        help="graphs to unpack into one file [pleiades]",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    archives = [common.graph(options.data, name) for name in options.graphs]
    names = (f"pyke, {options.threads} threads", "pyoxigraph.parse → dict")
    rows: list[dict[str, Any]] = [
        {
            "reader": name,
            "MB": run["MB"],
            "seconds": run["seconds"],
            "MB/s": run["MB"] / run["seconds"],
            "MB/CPU s": run["MB"] / run["cpu"],
            "million lines/s": run["lines"] / run["seconds"] / 1e6,
        }
        for name, run in zip(names, measure(archives, options.threads, options.repeat), strict=True)
    ]
    ratio, speed = rows[0]["MB/s"] / rows[1]["MB/s"], rows[0]["MB/s"]
    rows[0]["ratio"], rows[1]["ratio"] = ratio, 1.0
    misses = [f"{ratio:.1f} times as fast, target {MIN_RATIO:g}"] if ratio < MIN_RATIO else []
    misses += [f"{speed:.0f} MB/s, target {MIN_SPEED:g}"] if speed < MIN_SPEED else []
    columns = {
        "reader": "",
        "MB": ".0f",
        "seconds": ".2f",
        "MB/s": ".0f",
        "MB/CPU s": ".0f",
        "million lines/s": ".2f",
        "ratio": ".1f",
    }
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
