"""Speed of generating LUBM(100), 13.9 million lines, as text and as ids.

Text goes to a synced file (in --folder), as with `pyke lubm`, and to memory. Ids go to batches, and
to the dictionary. The limit is a loop that writes as many existing bytes to the same disk and syncs
them. Runs alternate; the best of each counts. The SHA-256 of the file, and of the lines without
literals, must equal those of the benchmark's own generator.
Targets: equal hashes, and 2 million lines/s to a file, or 0.7 of the limit on a slow disk.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import common
from pyke.core import stored
from pyke.evaluate import lubm
from pyke.evaluate.lubm import Universities
from pyke.graph import build

WHICH = Universities(100)
LINES = 13_876_156  # with the header
H1 = "f545ef3d55644626b346176311f7225c7d60c1a2e578cd28a263e7e57e0b991f"
H3 = "80f4f5e55c82d72017ea87d0ce4efed95461049ba716c585ab0a7df7c37b94a5"
MIN_SPEED, MIN_FRACTION = 2.0, 0.7


def to_file(path: Path) -> None:
    lubm.write(WHICH, path, header=True)


def to_memory(_: Path) -> None:
    for _block in lubm.lines(WHICH, header=True):
        pass


def as_ids(_: Path) -> None:
    for _batch in lubm.batches(WHICH):
        pass


def as_merged_ids(_: Path) -> None:
    collector = build.Collector()
    for batch in lubm.batches(WHICH):
        collector.add(batch)


def write_bytes(path: Path, block: bytes, size: int) -> None:
    """Write a block repeatedly."""
    with open(path, "wb", buffering=0) as file:
        written = 0
        while written < size:
            written += file.write(memoryview(block)[: size - written])
        os.fsync(file.fileno())


def seconds(work: Callable[[Path], None], path: Path) -> float:
    path.unlink(missing_ok=True)  # two files at once would need more page cache
    began = time.perf_counter()
    work(path)
    return time.perf_counter() - began


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument(
        "--folder", type=Path, help="folder for the file of 2.4 GB [a temporary folder]"
    )
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    block = b"".join(lubm.lines(Universities(5)))  # also compiles
    next(lubm.batches(Universities(1)))
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "lubm.nt"
        to_file(path)
        size, hashes = path.stat().st_size, [stored.file_hash(path)]
        works: dict[str, Callable[[Path], None]] = {
            "text, to memory": to_memory,
            "text, to a file": to_file,
            "the same bytes, only written": lambda path: write_bytes(path, block, size),
            "ids, in batches": as_ids,
            "ids, merged": as_merged_ids,
        }
        runs = [[seconds(work, path) for work in works.values()] for _ in range(options.repeat)]
    links = hashlib.sha256()
    for text in lubm.lines(WHICH, literals=False):
        links.update(text)
    hashes.append(links.hexdigest())
    best = dict(zip(works, map(min, zip(*runs, strict=True)), strict=True))
    limit = best["the same bytes, only written"]
    rows = [
        {
            "LUBM(100)": name,
            "seconds": took,
            "million lines/s": LINES / took / 1e6,
            "of the limit": limit / took,
        }
        for name, took in best.items()
    ]
    speed, fraction = LINES / best["text, to a file"] / 1e6, limit / best["text, to a file"]
    misses = (
        ["the text differs from that of the benchmark's generator"] if hashes != [H1, H3] else []
    )
    if speed < MIN_SPEED and fraction < MIN_FRACTION:
        misses.append(
            f"{speed:.1f} million lines/s to a file (target {MIN_SPEED:g}), "
            f"{fraction:.2f} of the limit (target {MIN_FRACTION:g})"
        )
    common.finish(
        {"LUBM(100)": "", "seconds": ".2f", "million lines/s": ".1f", "of the limit": ".2f"},
        rows,
        misses,
        options.json,
    )


if __name__ == "__main__":
    main()
