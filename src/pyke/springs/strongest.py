"""The strongest springs P(x) of each particle."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from pyke.config import Config
from pyke.core.arrays import Ids, Matrix
from pyke.core.counts import count_rows
from pyke.core.parallel import parallel_for, run_tasks
from pyke.graph.graph import NO_CLUSTERS, Graph
from pyke.springs import _selection
from pyke.springs.find import find_similarities
from pyke.springs.similarity import Around, Similarities


def symmetric_matrix(pairs: Similarities, threads: int = 1) -> Matrix:
    """Symmetric CSR of the pairs; in row x, entries where x was `second` come first."""
    directions = ((pairs.second, pairs.first), (pairs.first, pairs.second))
    counts = np.zeros((2, pairs.particles), np.int64)
    run_tasks(
        threads,
        [
            partial(count_rows, rows, count)
            for (rows, _), count in zip(directions, counts, strict=True)
        ],
    )
    offsets = np.zeros(pairs.particles + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=offsets[1:])
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    ends = (offsets[:-1].copy(), offsets[:-1] + counts[0])
    fills = [
        partial(_selection.fill_rows, *pair, pairs.values, end, columns, values)
        for pair, end in zip(directions, ends, strict=True)
    ]
    run_tasks(threads, fills)
    return Matrix(offsets, columns, values)


def strongest_springs(matrix: Matrix, k: int, threads: int = 1) -> Matrix:
    """P(x): the k strongest springs of each particle; smaller ids win ties."""
    offsets = np.zeros(matrix.rows + 1, np.int64)
    np.cumsum(np.minimum(np.diff(matrix.offsets), k), out=offsets[1:])
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)

    def keep(begin: int, end: int) -> None:
        _selection.keep_strongest(
            matrix.offsets, matrix.columns, matrix.values, k, begin, end, offsets, columns, values
        )

    parallel_for(threads, matrix.rows, keep)
    return Matrix(offsets, columns, values)


def springs_around(
    graph: Graph, terms: NDArray[np.bool_], config: Config, clusters: Ids = NO_CLUSTERS
) -> Matrix:
    """P(x) of some terms and of the particles linked to them; other rows are incomplete."""
    pairs = find_similarities(graph, config, clusters, Around(terms, config.k))
    return strongest_springs(symmetric_matrix(pairs, config.threads), config.k, config.threads)
