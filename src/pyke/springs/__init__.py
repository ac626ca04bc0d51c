"""Graph → springs. A similarity is one file in this folder and one row in the table below."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pyke import kernels
from pyke.config import Config
from pyke.errors import UsageError
from pyke.graph import Around, Graph, Matrix, Similarities
from pyke.parallel import all_at_once, in_parts
from pyke.springs.contexts import context_similarities
from pyke.springs.ppmi import ppmi_similarities

Similarity = Callable[[Graph, int, Around | None], Similarities]

SIMILARITIES: dict[str, Similarity] = {
    "context": context_similarities,
    "ppmi": ppmi_similarities,
}


def similarity(name: str) -> Similarity:
    """The similarity of this name: a graph, and how many threads → all positive similarities between particles, or those around some terms."""
    if name not in SIMILARITIES:
        raise UsageError(f"there is no similarity {name!r}; there are: {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]


def attracting_around(graph: Graph, terms: NDArray[np.bool_], config: Config) -> Matrix:
    """P(x) of some terms and of all that they are tied to; other rows are not complete."""
    pairs = similarity(config.similarity)(graph, config.threads, Around(terms, config.k))
    return strongest(by_rows(pairs, config.threads), config.k, config.threads)


def by_rows(pairs: Similarities, threads: int = 1) -> Matrix:
    """Both directions of each pair, by rows: in a row first those that it is second in."""
    directions = ((pairs.second, pairs.first), (pairs.first, pairs.second))
    counts = np.zeros((2, pairs.particles), np.int64)
    all_at_once(threads, [partial(kernels.count_rows, rows, count) for (rows, _), count in zip(directions, counts, strict=True)])
    offsets = np.zeros(pairs.particles + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=offsets[1:])
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    ends = (offsets[:-1].copy(), offsets[:-1] + counts[0])
    fills = [partial(kernels.fill_rows, *pair, pairs.values, end, columns, values) for pair, end in zip(directions, ends, strict=True)]
    all_at_once(threads, fills)
    return Matrix(offsets, columns, values)


def strongest(matrix: Matrix, k: int, threads: int = 1) -> Matrix:
    """P(x): the k strongest springs of each particle, ties by smaller id."""
    offsets = np.zeros(matrix.rows + 1, np.int64)
    np.cumsum(np.minimum(np.diff(matrix.offsets), k), out=offsets[1:])
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)

    def keep(begin: int, end: int) -> None:
        kernels.keep_strongest(matrix.offsets, matrix.columns, matrix.values, k, begin, end, offsets, columns, values)

    in_parts(threads, matrix.rows, keep)
    return Matrix(offsets, columns, values)
