"""N-Triples to ids: our reader beside `pyoxigraph.parse` into a dict of ids, on an uncompressed file of more than 200 MB.

Ours reads the whole file into term ids and rows of ids (2 threads); pyoxigraph reads its first 100 MB, and each IRI and blank
node gets an id by `dict.setdefault`. Both pass over bad lines. The runs alternate, the best of each counts, both in MB/s of text.
MB per CPU second (of all threads) tell what the work costs, even on a machine that others use.
Targets: at least 5 times as fast, and at least 150 MB/s.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph

import common
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.graph import batches, build
from pyke.graph.graph import Census
from pyke.read import find, tokenize

LEAST_BYTES, PEER_BYTES = 200_000_000, 100_000_000
LEAST_RATIO, LEAST_SPEED = 5.0, 150.0


def ours(path: Path, threads: int) -> int:
    """Reads a file into ids; the number of lines."""
    config = Config(on_error="skip", threads=threads)
    collector = build.Collector()
    lines = 0
    for batch in tokenize.read_batches(find.find_documents([path]), config, Census(), Progress()):
        collector.add(batch)
        lines += int(batch.state[batches.LINES])
    return lines


def theirs(path: Path) -> int:
    """The same by pyoxigraph and a dict."""
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
            lines += 1  # the parser goes on behind a bad line


def timed(read: Callable[[], int]) -> tuple[float, float, int]:
    """Seconds, CPU seconds, lines."""
    began, cpu_began = time.perf_counter(), time.process_time()
    lines = read()
    return time.perf_counter() - began, time.process_time() - cpu_began, lines


def first_lines(source: Path, target: Path, size: int) -> None:
    """Copies whole lines of about `size` bytes."""
    with open(source, "rb") as file, open(target, "wb") as copy:
        copy.write(file.read(size) + file.readline())


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--graphs",
        nargs="+",
        default=["pleiades"],
        help="graphs to be unpacked into one file [pleiades]",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    archives = [common.graph(options.data, name) for name in options.graphs]
    with tempfile.TemporaryDirectory() as folder:
        whole, start, small = (Path(folder) / name for name in ("whole.nt", "start.nt", "small.nt"))
        with open(whole, "wb") as file:
            for archive in archives:
                with gzip.open(archive) as unpacked:
                    shutil.copyfileobj(unpacked, file, 1 << 20)
        if whole.stat().st_size < LEAST_BYTES:
            common.stop(f"{' and '.join(options.graphs)} unpack to less than {LEAST_BYTES:,} bytes")
        first_lines(whole, start, PEER_BYTES)
        first_lines(whole, small, PEER_BYTES // 20)
        ours(small, options.threads)  # compiles
        runs = [
            (timed(lambda: ours(whole, options.threads)), timed(lambda: theirs(start)))
            for _ in range(options.repeat)
        ]
        sizes = (whole.stat().st_size / 1e6, start.stat().st_size / 1e6)
    names = (f"pyke, {options.threads} threads", "pyoxigraph.parse → dict")
    rows = []
    for name, size, (seconds, cpu, lines) in zip(
        names, sizes, map(min, zip(*runs, strict=True)), strict=True
    ):
        rows.append(
            {
                "reader": name,
                "MB": size,
                "seconds": seconds,
                "MB/s": size / seconds,
                "MB/CPU s": size / cpu,
                "million lines/s": lines / seconds / 1e6,
            }
        )
    ratio = rows[0]["MB/s"] / rows[1]["MB/s"]
    rows[0]["ratio"], rows[1]["ratio"] = ratio, 1.0
    misses = [f"{ratio:.1f} times as fast, not {LEAST_RATIO:g}"] if ratio < LEAST_RATIO else []
    misses += (
        [f"{rows[0]['MB/s']:.0f} MB/s, not {LEAST_SPEED:g}"]
        if rows[0]["MB/s"] < LEAST_SPEED
        else []
    )
    common.finish(
        {
            "reader": "",
            "MB": ".0f",
            "seconds": ".2f",
            "MB/s": ".0f",
            "MB/CPU s": ".0f",
            "million lines/s": ".2f",
            "ratio": ".1f",
        },
        rows,
        misses,
        options.json,
    )


if __name__ == "__main__":
    main()
