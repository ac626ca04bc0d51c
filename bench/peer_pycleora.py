"""A typical use of pycleora: `python peer_pycleora.py GRAPH.nt.gz ITERATIONS OUTPUT`.

ITERATIONS 0 is its default. Each triple without a literal is an edge. Vectors and names are
written, as by `pyke embed`. Prints seconds per step as JSON.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pycleora
from pycleora.pycleora import SparseMatrix

DIMENSIONS = 50


def edges(path: str) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            subject, _, target = line.split(" ", 2)
            if target[0] != '"':
                yield f"{subject} {target[:-3].replace(' ', '_')}"


def main(path: str, iterations: str, output: str) -> None:
    began = time.perf_counter()
    matrix = SparseMatrix.from_iterator(edges(path), "complex::reflexive::node")
    built = time.perf_counter()
    vectors = pycleora.embed(
        matrix,
        feature_dim=DIMENSIONS,
        num_iterations=int(iterations) or pycleora.DEFAULT_NUM_ITERATIONS,
    )
    embedded = time.perf_counter()
    np.save(Path(output) / "vectors.npy", vectors)
    (Path(output) / "terms.txt").write_text("\n".join(matrix.entity_ids), encoding="utf-8")
    saved = time.perf_counter()
    print(
        json.dumps(
            {
                "terms": len(vectors),
                "reading": built - began,
                "embedding": embedded - built,
                "writing": saved - embedded,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
