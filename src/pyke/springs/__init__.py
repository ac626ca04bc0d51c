"""Graph → springs. A similarity is one file in this folder and one row in the table below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyke import kernels
from pyke.errors import UsageError
from pyke.graph import Graph, Matrix, Similarities
from pyke.springs.contexts import context_similarities
from pyke.springs.ppmi import ppmi_similarities

SIMILARITIES: dict[str, Callable[[Graph], Similarities]] = {
    "context": context_similarities,
    "ppmi": ppmi_similarities,
}


def similarity(name: str) -> Callable[[Graph], Similarities]:
    """The similarity of this name: a graph → all positive similarities between particles."""
    if name not in SIMILARITIES:
        raise UsageError(f"there is no similarity {name!r}; there are: {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]


def by_rows(pairs: Similarities) -> Matrix:
    """Both directions of each pair, by rows."""
    offsets = np.zeros(pairs.particles + 1, np.int64)
    kernels.count_neighbours(pairs.first, pairs.second, offsets)
    np.cumsum(offsets, out=offsets)
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    kernels.fill_rows(pairs.first, pairs.second, pairs.values, offsets[:-1].copy(), columns, values)
    return Matrix(offsets, columns, values)


def strongest(matrix: Matrix, k: int) -> Matrix:
    """P(x): the k strongest springs of each particle, ties by smaller id."""
    offsets = np.zeros(matrix.rows + 1, np.int64)
    np.cumsum(np.minimum(np.diff(matrix.offsets), k), out=offsets[1:])
    columns, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
    kernels.keep_strongest(matrix.offsets, matrix.columns, matrix.values, k, offsets, columns, values)
    return Matrix(offsets, columns, values)
