"""100,000 neighbour queries on an embedding of WordNet, compared with usearch and matrix products.

Seconds include everything a program needs: building the index, and for `pyke nearest --batch` also
reading names, finding terms and writing the table. `usearch directly` is one index with our
settings, built by one thread, and one search on all cores. Matrix products answer a sample; their
seconds are scaled to all queries. Recall is the fraction of true neighbours found; neighbours at
the same distance count as equal. Target: pyke takes at most twice the time of usearch.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet

import common
from pyke.config import Config
from pyke.embedding.embedding import Embedding, load
from pyke.use.neighbours import search

MAX_RATIO = 2.0  # of the seconds of usearch
SAMPLE = 2_000  # queries for the matrix products


@dataclass(frozen=True)
class Found:
    """Seconds of a program, and the distances of the neighbours it found."""

    seconds: float
    cpu_seconds: float  # of all threads; hardly affected by other programs
    distances: NDArray[Any]


def ours(
    embedding: Embedding, ids: NDArray[np.int64], k: int, exact: bool | None
) -> Callable[[], NDArray[Any]]:
    return lambda: embedding.nearest_of_many(ids, k, exact=exact).distances


def usearch_directly(vectors: NDArray[np.float32], ids: NDArray[np.int64], k: int) -> NDArray[Any]:
    from usearch.index import Index

    index = Index(
        ndim=vectors.shape[1],
        metric="l2sq",
        dtype="f32",
        connectivity=search.CONNECTIVITY,
        expansion_add=search.EXPANSION_ADD,
        expansion_search=search.EXPANSION_SEARCH,
    )
    index.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=search.BUILDING_THREADS)
    found = index.search(vectors[ids], k + 1, threads=Config().threads)
    own = found.keys == ids[:, None].astype(np.uint64)
    own[:, -1] |= ~own.any(axis=1)
    return np.asarray(np.sqrt(found.distances[~own].reshape(len(ids), k)))


def matrix_products(
    vectors: NDArray[np.float32], ids: NDArray[np.int64], k: int, block: int = 100
) -> NDArray[Any]:
    squares = (vectors**2).sum(axis=1)
    nearest = []
    for begin in range(0, len(ids), block):
        queries = ids[begin : begin + block]
        distances = squares - 2 * (vectors[queries] @ vectors.T)
        distances[np.arange(len(queries)), queries] = np.inf
        near = np.argpartition(distances, k - 1, axis=1)[:, :k]
        nearest.append(
            np.sort(np.linalg.norm(vectors[near] - vectors[queries][:, None], axis=2), axis=1)
        )
    return np.concatenate(nearest)


def timed(work: Callable[[], NDArray[Any]], times: float = 1.0) -> Found:
    began, cpu_began = time.perf_counter(), time.process_time()
    distances = work()
    return Found(
        (time.perf_counter() - began) * times, (time.process_time() - cpu_began) * times, distances
    )


def with_command(directory: Path, embedding: Embedding, ids: NDArray[np.int64], k: int) -> Found:
    names, table = directory.with_name("names.txt"), directory.with_name("table.parquet")
    names.write_text("".join(f"{embedding.terms[i]}\n" for i in ids))
    child = common.run(
        common.pyke("nearest", directory, "--batch", names, "-k", str(k), "-o", table)
    )
    return Found(
        child.seconds,
        child.cpu_seconds,
        parquet.read_table(table)["distance"].to_numpy().reshape(len(ids), k),
    )


def measure(directory: Path, queries: int, k: int) -> list[dict[str, Any]]:
    embedding = load(directory)
    vectors = np.array(embedding.vectors)
    ids = np.random.default_rng(0).integers(0, len(vectors), queries)
    for exact in (True, False):
        embedding.nearest_of_many(ids[:100], k, exact=exact)  # compile, and load the library
    programs = {
        "pyke, exact": timed(ours(embedding, ids, k, True)),
        "usearch directly": timed(lambda: usearch_directly(vectors, ids, k)),
        "pyke, default": timed(ours(embedding, ids, k, None)),
        "pyke, approximate": timed(ours(embedding, ids, k, False)),
        "pyke nearest --batch": with_command(directory, embedding, ids, k),
        "matrix products (numpy)": timed(
            lambda: matrix_products(vectors, ids[:SAMPLE], k), queries / min(SAMPLE, queries)
        ),
    }
    truth, base = programs["pyke, exact"].distances, programs["usearch directly"]
    return [
        {
            "program": program,
            "seconds": found.seconds,
            "queries/s": queries / found.seconds,
            "recall": recall(found.distances, truth),
            "× usearch": found.seconds / base.seconds,
            "CPU × usearch": found.cpu_seconds / base.cpu_seconds,
        }
        for program, found in programs.items()
    ]


def recall(distances: NDArray[Any], truth: NDArray[Any]) -> float:
    return float((distances <= truth[: len(distances), -1:] * 1.00001 + 1e-6).mean())


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graph", default="wordnet30")
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument(
        "--embedding",
        type=Path,
        help="an existing embedding directory; the graph is not embedded",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "out"
        if options.embedding:
            os.symlink(options.embedding.resolve(), directory)
        else:
            common.run(
                common.pyke(
                    "embed",
                    common.graph(options.data, options.graph),
                    "-o",
                    directory,
                    "--on-error",
                    "skip",
                )
            )
        rows = measure(directory, options.queries, options.k)
    slow = [
        row for row in rows if row["program"].startswith("pyke") and row["× usearch"] > MAX_RATIO
    ]
    misses = [
        f"{row['program']} takes {row['× usearch']:.1f} times as long as usearch directly"
        for row in slow
    ]
    columns = {
        "program": "",
        "seconds": ".1f",
        "queries/s": ",.0f",
        "recall": ".4f",
        "× usearch": ".2f",
        "CPU × usearch": ".2f",
    }
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
